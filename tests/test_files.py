"""Files that survive: all of the new contents or all of the old, and errors that name the path."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from azero.files import write_durably


@contextmanager
def a_disk_with_room_for(num_bytes: int) -> Iterator[None]:
    """Let no file grow beyond a number of bytes, which fails as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_new_contents_take_the_place_of_the_old(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    for contents in (b"old", b"new and longer"):
        write_durably(path, contents)
        assert path.read_bytes() == contents
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_an_error_that_names_the_file_and_leaves_the_old_contents(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    write_durably(path, b"old")
    with a_disk_with_room_for(100), pytest.raises(OSError, match=r"File too large: .*/a\.bin'$"):
        write_durably(path, bytes(1000))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_directory_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone/a\.bin'$"):
        write_durably(tmp_path / "gone" / "a.bin", b"new")


def test_a_system_that_opens_no_directories_can_write_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Any, *_: Any) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)
    write_durably(tmp_path / "a.bin", b"new")
    assert (tmp_path / "a.bin").read_bytes() == b"new"
