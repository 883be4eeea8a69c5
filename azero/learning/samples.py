"""Samples: positions, what is to be learned of each, and the file they are kept in."""

import hashlib
import io
import math
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from azero.files import write_durably
from azero.games.game import FloatArray, Game

Array = npt.NDArray[Any]

_MOST_BYTES = 2**32  # of one array of an iteration


class SamplesFileError(ValueError):
    """A file that holds no usable samples; the message is one line that names it."""


@dataclass(frozen=True, eq=False)
class Samples:
    """n positions, and what is to be learned of each, for its player to move."""

    observations: Array  # [n, C, H, W]: float32, or uint8 where that loses nothing
    legal: npt.NDArray[np.bool_]  # bool[n, A]
    policy: FloatArray  # float32[n, A], sums to 1; a row of zeros where only the value is to be learned
    outcome: FloatArray  # float32[n] in [-1, 1]: how the game ended
    value: FloatArray  # float32[n] in [-1, 1]: what the search thought
    last: Array  # as `observations`: of the last state of its game that the same player had to move in

    def __len__(self) -> int:
        return len(self.outcome)

    def arrays(self) -> dict[str, Array]:
        """The arrays by name, in order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def take(self, rows: Any) -> "Samples":
        """A copy of some of the samples; `rows` as NumPy takes them."""
        return Samples(**{name: array[rows].copy() for name, array in self.arrays().items()})

    def compact(self) -> "Samples":
        """The samples with observations in bytes, if they are whole numbers from 0 to 255."""
        seen = {"observations": self.observations, "last": self.last}
        if not all(((array >= 0) & (array <= 255) & (array % 1 == 0)).all() for array in seen.values()):
            return self
        return Samples(**(self.arrays() | {name: array.astype(np.uint8) for name, array in seen.items()}))

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError for samples of another game, and for a target that nothing good can be learned from."""
        n, num_actions = len(self), game.num_actions
        found = [array.shape for array in self.arrays().values()]
        observed = (n, *game.observation_shape)
        expected = [observed, (n, num_actions), (n, num_actions), (n,), (n,), observed]
        if found != expected:
            raise ValueError(f"the samples are of another game than {game.name}: shapes {found}, expected {expected}")
        total = self.policy.sum(axis=1)
        # Written so that NaN fails the comparison.
        sound = ((self.policy >= 0) & (self.legal | (self.policy == 0))).all(axis=1) & self.legal.any(axis=1)
        sound &= (np.abs(total - 1) < 1e-3) | (total == 0)
        sound &= (np.abs(self.outcome) <= 1) & (np.abs(self.value) <= 1)
        sound &= np.isfinite(self.observations).all(axis=(1, 2, 3)) & np.isfinite(self.last).all(axis=(1, 2, 3))
        if not sound.all():
            i = int(np.argmin(sound))
            raise ValueError(
                f"sample {i} of {n} cannot be learned from: policy {self.policy[i]}, legal {self.legal[i]}, outcome "
                f"{self.outcome[i]}, value {self.value[i]}; some action is legal, a policy is 0 elsewhere and sums "
                "to 1 or 0, outcome and value are in [-1, 1], observations are finite"
            )


def concatenate(parts: Sequence[Samples]) -> Samples:
    """All samples of the parts, in order."""
    arrays = [part.arrays() for part in parts]
    return Samples(**{name: np.concatenate([part[name] for part in arrays]) for name in arrays[0]})


def write_samples(path: Path, samples: Samples) -> str:
    """Write samples to a compressed .npz file, all of it or nothing; returns its SHA-256. Raises OSError."""
    contents = io.BytesIO()
    np.savez_compressed(contents, allow_pickle=False, **samples.arrays())
    write_durably(path, contents.getvalue())
    return hashlib.sha256(contents.getvalue()).hexdigest()


def read_samples(path: Path, game: Game[Any]) -> Samples:
    """The samples in a file. Raises SamplesFileError unless they are all there, of the right types, and of `game`.

    No more memory is taken than samples of one iteration may need, whatever the file says of itself.
    """
    try:
        _check_sizes(path)
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = dict(file.items())
            samples = Samples(**({"last": arrays["observations"]} | arrays))  # early versions kept no last states
        types = {name: array.dtype for name, array in samples.arrays().items()}
        seen = np.uint8 if types["observations"] == np.uint8 else np.float32
        kinds: dict[str, Any] = dict.fromkeys(types, np.float32) | {
            "legal": np.bool_, "observations": seen, "last": seen,
        }  # fmt: skip
        if types != kinds:
            raise ValueError(f"the arrays have types {types}")
        samples.check(game)
    except Exception as error:  # there is no end to what the readers of a damaged archive raise
        reason = str(error).partition("\n")[0]
        raise SamplesFileError(f"{path} holds no samples, or is damaged ({reason})") from None
    return samples


def _check_sizes(path: Path) -> None:
    """Raises ValueError where an array says that it is larger than it is, or than one of an iteration can be.

    It is what an array says that takes the memory; in an archive, a thousandth of that may be all there is.
    """
    with zipfile.ZipFile(path) as archive:
        for name in _expected_names(archive):
            with archive.open(name) as file:
                np.lib.format.read_magic(file)
                shape, _, dtype = np.lib.format.read_array_header_1_0(file)
                declared = file.tell() + math.prod(shape) * dtype.itemsize
            if not declared == archive.getinfo(name).file_size <= _MOST_BYTES:
                raise ValueError(f"{name} says that it has {declared} bytes; at most {_MOST_BYTES} are read")


def _expected_names(archive: zipfile.ZipFile) -> list[str]:
    """Raises ValueError unless the archive holds the arrays of samples, and nothing else."""
    names, expected = archive.namelist(), [f"{field.name}.npy" for field in fields(Samples)]
    if sorted(names) not in (sorted(expected), sorted(set(expected) - {"last.npy"})):
        raise ValueError(f"it holds {names}, expected {expected}")
    return names
