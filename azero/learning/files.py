"""Files that survive a kill or a power cut: either the old contents or the new, never half of one."""

import os
from pathlib import Path


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
