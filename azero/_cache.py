"""Where compiled kernels are kept from process to process.

Numba notices an edit of the file a kernel stands in, but not of the files it calls, so the directory is named after a
hash of every azero source, and of a user's own compiled rules.
"""

import atexit
import hashlib
import os
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

TEMPORARY = "azero-kernels-"
SOURCES: set[Path] = set(Path(__file__).parent.rglob("*.py"))  # and those that `azero._jit.add_source` has added
_NUM_CACHES_KEPT = 8  # the latest used: each version, and each set of users' rules, has its own
_CACHE_NAME = re.compile("[0-9a-f]{16}")


def cache_directory() -> Path:
    """Where kernels of these sources are kept; one that begins with `TEMPORARY` is of this process alone."""
    root = Path(os.environ.get("AZERO_CACHE_DIR") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "azero")
    try:
        directory = root.expanduser() / "kernels" / _digest(frozenset(SOURCES))[:16]
        directory.mkdir(parents=True, exist_ok=True)
        os.utime(directory)
        caches = [other for other in directory.parent.iterdir() if _CACHE_NAME.fullmatch(other.name)]
        caches.sort(key=lambda cache: cache.stat().st_mtime, reverse=True)
    except (OSError, RuntimeError):  # not ours to write, or no home: this process compiles for itself
        return _temporary_directory()
    for old in caches[_NUM_CACHES_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return directory


@cache
def _digest(sources: frozenset[Path]) -> str:
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(str(source).encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()


@cache
def _temporary_directory() -> Path:
    directory = Path(tempfile.mkdtemp(prefix=TEMPORARY))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory
