"""The games, and the way to any other: `load_game`."""

import importlib
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard, cast

from azero.games.game import Game
from azero.games.suggest import suggestion

GAMES = {"connect4": "azero.games.connect4:Connect4", "tictactoe": "azero.games.tictactoe:TicTacToe"}


def load_game(spec: str) -> Game[Any]:
    """The game called `spec`: a name in GAMES, or "path/to/file.py:Class", or "package.module:Class".

    Raises ValueError, saying what there is, if there is no such name, file, module or class.
    """
    place, _, class_name = GAMES.get(spec, spec).rpartition(":")
    if not place:
        raise ValueError(
            f"unknown game {spec!r}:{suggestion(spec, GAMES)} azero has {', '.join(sorted(GAMES))}; "
            "your own is 'path/to/file.py:Class'"
        )
    is_file = place.endswith(".py") or "/" in place
    module = _load_file(Path(place)) if is_file else _load_module(place)
    game_class = getattr(module, class_name, None)
    if not _is_game(game_class):
        own = [name for name, value in vars(module).items() if _is_game(value) and value.__module__ == module.__name__]
        raise ValueError(f"{place} has no game {class_name!r}; subclasses of Game there: {', '.join(own) or 'none'}")
    unwritten = ", ".join(sorted(game_class.__abstractmethods__))
    if unwritten:
        raise ValueError(f"{place}: {class_name} must also define {unwritten}")
    game: Game[Any] = game_class()
    _check_declarations(game, place)
    return game


def _check_declarations(game: Game[Any], place: str) -> None:
    declared = {"name": str, "num_actions": int, "max_game_length": int}
    for attribute, kind in declared.items():
        value = getattr(game, attribute, None)
        if not isinstance(value, kind) or not value:
            needed = "some text" if kind is str else "a whole number above 0"
            raise ValueError(f"{place}: {type(game).__name__}.{attribute} must be {needed}, not {value!r}")
    shape = getattr(game, "observation_shape", (1, 1, 1))
    if len(shape) != 3:
        raise ValueError(
            f"{place}: {type(game).__name__}.observation_shape must be (planes, rows, columns), not {shape}; "
            "a game on a line has one row"
        )


def _is_game(value: Any) -> TypeGuard[type[Game[Any]]]:
    return isinstance(value, type) and issubclass(value, Game)


def _load_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise  # the module is there, but not one that it imports
        raise ValueError(f"no such module: {name!r}; a game in a file is 'path/to/file.py:Class'") from None


def _load_file(path: Path) -> ModuleType:
    """The module in a file, under the file's own name, so that kernels compiled for its rules are found again."""
    path = path.resolve()
    if not path.is_file():
        raise ValueError(f"no such file: {path}")
    name = path.stem
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    if known is not None or name in sys.stdlib_module_names:
        raise ValueError(f"{path} needs another name: Python has a module {name!r} already")
    loader = SourceFileLoader(name, str(path))
    module = module_from_spec(cast(ModuleSpec, spec_from_loader(name, loader)))
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
