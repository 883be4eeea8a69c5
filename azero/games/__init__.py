"""The games, and the way to any other: `load_game`."""

import importlib
import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from inspect import Parameter, signature
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard, cast

from azero.games.blame import watch
from azero.games.compiled import own_sources
from azero.games.game import Game, full_name, parameter_text
from azero.games.openspiel import OpenSpielGame
from azero.games.suggest import suggestion

GAMES = {  # the names of games, and of ready games with parameters: "module:Class(name=value)"
    "breakthrough": "azero.games.breakthrough:Breakthrough",
    "connect4": "azero.games.connect4:Connect4",
    "dots_and_boxes": "azero.games.dots_and_boxes:DotsAndBoxes",
    "five-stones": "azero.games.nim:Nim(heaps=5,take=2)",
    "gomoku": "azero.games.mnk:MNK(rows=15,columns=15,line=5)",
    "hex": "azero.games.hex:Hex",
    "mnk": "azero.games.mnk:MNK",
    "nim": "azero.games.nim:Nim",
    "othello": "azero.games.othello:Othello",
    "othello6": "azero.games.othello:Othello(size=6)",
    "tictactoe": "azero.games.tictactoe:TicTacToe",
}


def load_game(spec: str) -> Game[Any]:
    """The game called `spec`: a name in GAMES, "path/to/file.py:Class", "package.module:Class" or "openspiel:name".

    Parameters may follow, as in "othello(size=6)" or "nim(heaps=3-4-5,misere=yes)": keyword arguments of the class, a
    number, yes or no, or text, as the default is; over those of a ready game. Raises ValueError, saying what there is,
    if there is no such name, file, module, class or parameter, or if the class refuses a value.
    """
    if not spec.isprintable():
        raise ValueError(f"{spec!r} is no game: the name of one has no line breaks or control characters")
    if spec.startswith("openspiel:"):
        return OpenSpielGame(spec.removeprefix("openspiel:"))
    name, given = _split(spec)
    place, parameters = _split(GAMES.get(name, name))
    place, _, class_name = place.rpartition(":")
    if not place:
        if name.endswith(".py"):
            places = ", ".join(f"{name}:{game}" for game in _games_in(_load_file(Path(name)))) or "it defines no game"
            raise ValueError(f"{name} needs the name of a class after it: {places}")
        raise ValueError(
            f"unknown game {name!r}:{suggestion(name, GAMES)} azero has {', '.join(sorted(GAMES))}; "
            "your own is 'path/to/file.py:Class', OpenSpiel's are 'openspiel:name'"
        )
    game_class = _find_class(place, class_name)
    arguments = _arguments(game_class, name, parameters | given)
    game = game_class(**arguments)
    _check_declarations(game, place)
    if arguments and game.name == getattr(game_class, "name", None):
        game.name = full_name(game, **arguments)
    return game


def file_name(spec: str) -> str:
    """The name of a game as part of a file's: "othello-size-6". Letters, digits, - and _ only, never empty."""
    name = re.sub(r"^(?:.*/)?([^/]*)\.py:", r"\1-", spec)  # of a path only the file
    return re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-") or "game"


def _split(spec: str) -> tuple[str, dict[str, str]]:
    """What stands before the parameters, and the parameters. Raises ValueError for any that are not name=value."""
    match = re.fullmatch(r"(.*)\(([^()]*)\)\s*", spec, re.DOTALL)
    if match is None:
        if spec.count("(") > spec.count(")"):
            raise ValueError(f"{spec!r} has a '(' that no ')' closes; a game with parameters is 'name(name=value)'")
        return spec, {}
    parameters: dict[str, str] = {}
    for word in filter(None, map(str.strip, match[2].split(","))):
        key, equals, value = map(str.strip, word.partition("="))
        if not key or not equals:
            raise ValueError(f"{spec}: {word!r} is no parameter; they are written {match[1]}(name=value,name=value)")
        if key in parameters:
            raise ValueError(f"{spec}: {key} is given twice")
        parameters[key] = value
    return match[1], parameters


def _find_class(place: str, class_name: str) -> type[Game[Any]]:
    is_file = place.endswith(".py") or "/" in place
    module = _load_file(Path(place)) if is_file else _load_module(place)
    if not module.__name__.startswith("azero."):
        watch(own_sources(module.__name__))
    game_class = getattr(module, class_name, None)
    if not _is_game(game_class):
        own = _games_in(module)
        kin = f", only a class that does not begin class {class_name}(Game)" if isinstance(game_class, type) else ""
        raise ValueError(
            f"{place} has no game {class_name!r}{kin}; subclasses of Game there: {', '.join(own) or 'none'}"
        )
    unwritten = ", ".join(sorted(game_class.__abstractmethods__))
    if unwritten:
        raise ValueError(f"{place}: {class_name} must also define {unwritten}")
    return game_class


def _arguments(game_class: type[Game[Any]], name: str, given: dict[str, str]) -> dict[str, Any]:
    """The parameters as arguments of the class. Raises ValueError for one that it does not take, or of another kind."""
    known = {key: parameter.default for key, parameter in signature(game_class).parameters.items()}
    takes = [key if value is Parameter.empty else f"{key}={parameter_text(value)}" for key, value in known.items()]
    for key in given:
        if key not in known:
            allowed = f"its parameters: {', '.join(takes)}" if takes else "it has none"
            raise ValueError(f"{name} has no parameter {key!r};{suggestion(key, known)} {allowed}")
    missing = [key for key, value in known.items() if value is Parameter.empty and key not in given]
    if missing:
        raise ValueError(f"{name} needs its parameters: {name}({','.join(f'{key}=...' for key in missing)})")
    return {key: _argument(f"{name}: {key}", value, known[key]) for key, value in given.items()}


def _argument(what: str, text: str, default: Any) -> Any:
    """A parameter's value, of its default's kind; where there is none, of the kind that it looks like."""
    truth = {"yes": True, "no": False}.get(text)
    whole = re.fullmatch(r"[+-]?\d+", text) is not None
    if isinstance(default, bool):
        if truth is None:
            raise ValueError(f"{what} must be yes or no, got {text!r}")
        return truth
    if isinstance(default, int) and not whole:
        raise ValueError(f"{what} must be a whole number, got {text!r}")
    if isinstance(default, str):
        return text
    return int(text) if whole else text if truth is None else truth


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
    legal = game.legal_actions(game.initial_state())
    if not isinstance(legal, Sequence):
        raise ValueError(f"{place}: {type(game).__name__}.legal_actions must return a list of actions, not {legal!r}")


def _games_in(module: ModuleType) -> list[str]:
    """The names of the games that a module defines."""
    return [name for name, value in vars(module).items() if _is_game(value) and value.__module__ == module.__name__]


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
    watch([str(path)])
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # so that it can import what lies beside it
    loader = SourceFileLoader(name, str(path))
    module = module_from_spec(cast(ModuleSpec, spec_from_loader(name, loader)))
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
