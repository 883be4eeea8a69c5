"""Files that survive a kill or a power cut: either the old contents or the new, never half of one; and a lock."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]


def write_durably(path: Path, contents: bytes) -> None:
    """Put `contents` in the file at `path`, all of it or nothing.

    Raises OSError, which names the path, leaving what was there.
    """
    temporary = path.with_name(f".{path.name}.partial")
    try:
        with temporary.open("wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_directory(path.parent)
    except OSError as error:  # that of a full disk names no file
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def append_durably(path: Path, contents: bytes) -> None:
    """Add `contents` to the end of a file, perhaps, when killed, only the beginning of them.

    Raises OSError, which names the path.
    """
    try:
        with path.open("ab") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def remove_directory(directory: Path) -> None:
    """Remove a directory, all of it at once under its name; what cannot be removed stays under a hidden name."""
    doomed = directory.with_name(f".{directory.name}.old.partial")
    shutil.rmtree(doomed, ignore_errors=True)
    directory.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def remove_partials(directory: Path) -> None:
    """Remove what writing and removing left half-done in a directory when it was killed. Raises OSError."""
    for path in directory.glob(".*.partial"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def sync_directory(directory: Path) -> None:
    """Make names that appeared in a directory, or left it, durable, where the system lets one do so."""
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except PermissionError:  # as on Windows
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_contents(path: Path, sha256: str | None) -> str:
    """The checksum of a file's contents.

    Raises ValueError, which names the file, if another one is expected; OSError if it cannot be read.
    """
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 not in (None, found):
        raise ValueError(f"{path.name} is not what was written")
    return found


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other processes out of a directory; the system opens the lock when this one ends, however it does.

    Raises ValueError if another process has locked it.
    """
    with (directory / ".lock").open("w") as file:
        if fcntl:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(f"another process is at work in {directory}") from None
        yield
