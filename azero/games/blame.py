"""Errors that come from a user's own files, told in one line instead of a trace of azero."""

import linecache
import traceback
from collections.abc import Iterable
from pathlib import Path

_AZERO = str(Path(__file__).parents[1])
_files: set[str] = set()


def watch(files: Iterable[str]) -> None:
    """These files are the user's."""
    _files.update(files)


def is_watching() -> bool:
    """Whether any file is the user's."""
    return bool(_files)


def told(error: BaseException) -> str | None:
    """Where in a user's file an error comes from, and what it is: "mygame.py, line 3, in step: NameError: ...".

    None for one that comes from elsewhere, and for a ValueError that the file raises itself: its text says enough. An
    answer stays with the error, to be found again where another process gets it, without its traceback.
    """
    if not hasattr(error, "told"):
        place = _place(error)
        said = traceback.format_exception_only(error)[-1].strip()
        vars(error)["told"] = f"{place}: {said}" if place else None
    answer: str | None = vars(error)["told"]
    return answer


def _place(error: BaseException) -> str | None:
    if isinstance(error, SyntaxError) and error.filename in _files:
        return f"{Path(error.filename).name}, line {error.lineno}"
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        file = frame.f_code.co_filename
        if file in _files:
            meant = isinstance(error, ValueError) and linecache.getline(file, line).lstrip().startswith("raise ")
            return None if meant else f"{Path(file).name}, line {line}, in {frame.f_code.co_name}"
        if file.startswith(_AZERO):
            return None
    return None
