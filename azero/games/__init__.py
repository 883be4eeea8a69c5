"""The games, and the way to any other: `load_game`."""

import difflib
import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from azero.games.game import Game

GAMES = {"connect4": "azero.games.connect4:Connect4", "tictactoe": "azero.games.tictactoe:TicTacToe"}


def load_game(spec: str) -> Game[Any]:
    """The game called `spec`: a name in GAMES, or "path/to/file.py:Class", or "package.module:Class".

    Raises ValueError with the names that exist for an unknown one.
    """
    place, _, class_name = GAMES.get(spec, spec).rpartition(":")
    if not place:
        close = difflib.get_close_matches(spec, GAMES, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(
            f"unknown game {spec!r}: {hint}azero has {', '.join(sorted(GAMES))}; your own is 'path/to/file.py:Class'"
        )
    module = _load_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    if not hasattr(module, class_name):
        raise ValueError(f"{place} has no class {class_name!r}")
    game: Game[Any] = getattr(module, class_name)()
    return game


def _load_file(path: Path) -> Any:
    """The module in a file, under the file's own name, so that kernels compiled for its rules are found again."""
    if not path.is_file():
        raise ValueError(f"no such file: {path.resolve()}")
    name = path.stem
    module_spec = importlib.util.spec_from_file_location(name, path)
    if module_spec is None or module_spec.loader is None:
        raise ValueError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[name] = module
    module_spec.loader.exec_module(module)
    return module
