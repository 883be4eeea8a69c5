"""Whose fault an error is: a user's own file's, told in one line instead of a trace of azero, or the machine's."""

import linecache
import os
import traceback
from collections.abc import Iterable
from pathlib import Path

_AZERO = str(Path(__file__).parents[1]) + os.sep
_REFUSING = ("__init__", "__post_init__", "parse_action", "parse_state")  # methods that are given what people write
_files: set[str] = set()


def watch(files: Iterable[str]) -> None:
    """These files are the user's."""
    _files.update(files)


def watched() -> list[str]:
    """The names of the user's files."""
    return sorted(Path(file).name for file in _files)


def told(error: BaseException) -> str | None:
    """Where in a user's file an error comes from, and what it is: "mygame.py, line 3, in step: NameError: ...".

    None for one that comes from elsewhere, and for a ValueError by which the file refuses a parameter or what somebody
    typed: its text says enough. An answer stays with the error, to be found again where another process gets it,
    without its traceback.
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
    frames = list(traceback.walk_tb(error.__traceback__))
    refusing = any(frame.f_code.co_name in _REFUSING for frame, _ in frames if frame.f_code.co_filename in _files)
    for frame, line in reversed(frames):
        file = frame.f_code.co_filename
        if file in _files:
            raised = linecache.getline(file, line).lstrip().startswith("raise ")
            meant = refusing and raised and isinstance(error, ValueError)
            return None if meant else f"{Path(file).name}, line {line}, in {frame.f_code.co_name}"
        if file.startswith(_AZERO):
            return None
    return None


def is_shortage(error: BaseException) -> bool:
    """Whether the machine, or its graphics card, has no memory left, as Python, NumPy or PyTorch say it."""
    words = ("out of memory", "allocate memory", "bad_alloc", "start new thread", "MemoryError")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)
