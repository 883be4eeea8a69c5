"""The replay: a growing window of recent samples, and how training batches are drawn from it."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from azero.files import check_contents
from azero.games.game import Game, Symmetry
from azero.learning.samples import Samples, concatenate, read_samples, write_samples

_EXPONENT, _SLOPE = 0.75, 0.4  # KataGo (Wu 2019, appendix C): how the window grows with all samples made so far


@dataclass(frozen=True)
class ReplaySettings:
    """How many recent samples are learned from: all of the first `window`, then a shrinking share of what was made."""

    window: int = 25_000  # samples kept before the window grows more slowly than they are made, >= 1; KataGo: 250,000
    capacity: int = 500_000  # samples kept at most, >= 1; AlphaGo Zero: those of 500,000 games

    def __post_init__(self) -> None:
        """Raises ValueError for a value out of range."""
        for name in ("window", "capacity"):
            if getattr(self, name) < 1:
                raise ValueError(f"replay.{name} must be at least 1, got {getattr(self, name)}")

    def num_kept(self, num_made: int) -> int:
        """The samples in the window once `num_made` have been made."""
        growth = (max(num_made / self.window, 1) ** _EXPONENT - 1) / _EXPONENT
        return min(self.capacity, int(self.window * (1 + _SLOPE * growth)))


class Replay:
    """Recent samples, iteration by iteration, in memory and in one file for each iteration."""

    def __init__(self, game: Game[Any], settings: ReplaySettings, directory: Path) -> None:
        """`directory` is made if need be; what it holds is read by `restore` only."""
        self.game = game
        self.settings = settings
        self.directory = directory
        self.num_made = 0  # samples ever added
        self._parts: dict[int, Samples] = {}  # by iteration, the oldest first
        self._checksums: dict[int, str] = {}  # of the files that the parts are in
        directory.mkdir(parents=True, exist_ok=True)

    def __len__(self) -> int:
        return sum(map(len, self._parts.values()))

    def add(self, iteration: int, samples: Samples) -> None:
        """Take in the samples of an iteration, on disk first, and drop the oldest that leave the window.

        Raises ValueError, keeping nothing, for samples that cannot be learned from.
        """
        samples.check(self.game)
        samples = samples.compact()
        self._checksums[iteration] = write_samples(replay_file(self.directory, iteration), samples)
        self._parts[iteration] = samples
        self.num_made += len(samples)
        self._drop_oldest()

    def state(self) -> dict[str, Any]:
        """What `restore` needs besides the files, in plain JSON, with a checksum of each file."""
        iterations = list(self._parts)
        return {
            "num_made": self.num_made,
            "iterations": iterations,
            "sha256": [self._checksums[iteration] for iteration in iterations],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Read the window that `state()` described back from its files.

        A file that is missing or damaged is named in a warning, and its samples are missing from the window.
        """
        self.num_made = state["num_made"]
        self._parts, self._checksums = {}, {}
        for iteration, sha256 in _files_of(state):
            path = replay_file(self.directory, iteration)
            try:
                self._checksums[iteration] = check_contents(path, sha256)
                self._parts[iteration] = read_samples(path, self.game)
            except (OSError, ValueError) as error:
                warnings.warn(f"training goes on with fewer samples: {error}", stacklevel=2)
        self._drop_oldest()

    def training_set(self) -> "TrainingSet":
        """The window as it is now, to draw from."""
        return TrainingSet(concatenate(list(self._parts.values())), self.game.symmetries())

    def _drop_oldest(self) -> None:
        excess = len(self) - self.settings.num_kept(self.num_made)
        for iteration, samples in list(self._parts.items()):
            if excess <= 0:
                return
            if excess < len(samples):
                self._parts[iteration] = samples.take(slice(excess, None))
            else:
                del self._parts[iteration], self._checksums[iteration]
            excess -= len(samples)


def check_window(state: Any) -> None:
    """Raises KeyError, TypeError or ValueError unless this is what `Replay.state` returns, now or before checksums."""
    numbers = [state["num_made"], *state["iterations"]]
    if any(type(number) is not int or number < 0 for number in numbers):
        raise ValueError(f"the replay's window must be of whole numbers, found {numbers}")
    if not all(isinstance(sha256, str | None) for _, sha256 in _files_of(state)):
        raise ValueError("the replay's checksums must be text")


def damaged_files(directory: Path, state: dict[str, Any]) -> list[str]:
    """What is wrong with files of the window that `Replay.state` described: a line for each that is not as written."""
    found = []
    for iteration, sha256 in _files_of(state):
        try:
            check_contents(replay_file(directory, iteration), sha256)
        except (OSError, ValueError) as error:
            found.append(str(error))
    return found


def _files_of(state: dict[str, Any]) -> list[tuple[int, str | None]]:
    """The iterations of a window, each with the checksum of its file, which early versions did not keep."""
    iterations = state["iterations"]
    return list(zip(iterations, state.get("sha256", [None] * len(iterations)), strict=True))


def replay_file(directory: Path, iteration: int) -> Path:
    """Where the samples of an iteration are kept."""
    return directory / f"iteration-{iteration:06d}.npz"


def replay_files(directory: Path) -> dict[int, Path]:
    """The files of samples there are, by iteration."""
    names = ((re.fullmatch(r"iteration-(\d{1,12})\.npz", path.name), path) for path in directory.glob("*.npz"))
    return {int(match[1]): path for match, path in names if match}


class TrainingSet:
    """The distinct positions of some samples, each with the mean of its targets.

    A position seen n times counts 1 + log2(n) times as much as one seen once, as in AlphaZero.jl: openings recur
    hundreds of times, and deserve exact targets more than most of the training. How its games ended on the board is
    not averaged but drawn, which takes bytes only.
    """

    def __init__(self, samples: Samples, symmetries: Sequence[Symmetry[Any]]) -> None:
        self.samples, group, self._counts = _merged(samples)
        self._weights = np.cumsum(1 + np.log2(self._counts))
        self._last, self._occurrences = samples.last, np.argsort(group, kind="stable")  # those of a row are together
        self._first = np.cumsum(self._counts) - self._counts
        identity = (tuple(range(samples.observations[0, 0].size)), tuple(range(samples.legal.shape[1])))
        moves = [identity, *((symmetry.cells, symmetry.actions) for symmetry in symmetries)]
        # Entry i of a moved array comes from the place that moves to i.
        self._cells = np.argsort([cells for cells, _ in moves], axis=1)
        self._actions = np.argsort([actions for _, actions in moves], axis=1)

    def __len__(self) -> int:
        return len(self.samples)

    def draw(self, size: int, generator: np.random.Generator) -> Samples:
        """`size` samples, drawn with replacement, each under a symmetry of the game drawn for it; in float32."""
        rows = np.searchsorted(self._weights, generator.random(size) * self._weights[-1], side="right")
        symmetries = generator.integers(len(self._cells), size=size)
        return self.moved(rows, symmetries, generator.integers(self._counts[rows]))

    def moved(
        self, rows: npt.NDArray[np.int64], symmetries: npt.NDArray[np.int64], occurrences: npt.NDArray[np.int64]
    ) -> Samples:
        """Some rows, each under a symmetry: 0 is the identity, then those of the game in order.

        The last state is that of the game in which the position occurred so many times after its first, from 0.
        """
        samples = self.samples
        cells, actions = self._cells[symmetries], self._actions[symmetries]

        def moved_planes(planes: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
            flat = planes.reshape(*planes.shape[:2], -1).astype(np.float32)
            return np.take_along_axis(flat, cells[:, None, :], axis=2).reshape(planes.shape)

        return Samples(
            observations=moved_planes(samples.observations[rows]),
            legal=np.take_along_axis(samples.legal[rows], actions, axis=1),
            policy=np.take_along_axis(samples.policy[rows], actions, axis=1),
            outcome=samples.outcome[rows],
            value=samples.value[rows],
            last=moved_planes(self._last[self._occurrences[self._first[rows] + occurrences]]),
        )


def _merged(samples: Samples) -> tuple[Samples, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """One sample for each distinct position, with mean targets; which of them each sample is; how often each occurred.

    Positions that look alike but differ in their legal actions are not one: the mean policy would be illegal in part.
    """
    rows = np.hstack([samples.observations.reshape(len(samples), -1).view(np.uint8), samples.legal.view(np.uint8)])
    first, group, counts = _groups(rows)

    def mean(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.bincount(group, column, len(first)) / counts

    policy = np.stack([mean(column) for column in samples.policy.T], axis=1)
    total = policy.sum(axis=1, keepdims=True)  # below 1 where some occurrences had no policy to learn
    merged = Samples(
        observations=samples.observations[first],
        legal=samples.legal[first],
        policy=np.divide(policy, total, out=policy, where=total > 0).astype(np.float32),
        outcome=mean(samples.outcome).astype(np.float32),
        value=mean(samples.value).astype(np.float32),
        last=samples.last[first],
    )
    return merged, group, counts


def _groups(rows: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Which rows, uint8[N, K], are the same: a row of each group, the group of each row, and the size of each group.

    They are told apart by hashes, which sort six times faster; should two rows have the same one, by themselves.
    """
    if rows.max() <= 1:
        rows = np.packbits(rows, axis=1)
    words = np.pad(rows, ((0, 0), (0, -rows.shape[1] % 8))).view(np.uint64)
    _, first, group, counts = np.unique(_hashes(words), return_index=True, return_inverse=True, return_counts=True)
    if not np.array_equal(rows[first][group], rows):
        keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1])))[:, 0]
        _, first, group, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    return first, group, counts


def _hashes(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A hash of each row of uint64[N, K]."""
    factors = np.random.default_rng(0).integers(1, 2**64, words.shape[1], np.uint64)
    mixed = (words ^ (words >> np.uint64(29))) * factors
    hashes: npt.NDArray[np.uint64] = (mixed ^ (mixed >> np.uint64(32))).sum(axis=1, dtype=np.uint64)
    return hashes
