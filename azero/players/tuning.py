"""Who is best of many candidates? A race: all play the same openings, and who is provably behind leaves.

Every candidate plays every opponent from the same openings, from both sides; its mean result in all games of one
opening is one observation. Two candidates are compared by the differences of their observations, opening by opening,
so that what an opening does to both cancels.

A candidate leaves when a bet against it has paid off (testing by betting: Ville 1939; Waudby-Smith, Ramdas 2024). The
bettor begins with a capital of 1 and stakes a share of it on each opening, on the rival doing better there. If the
rival is not better on average, the capital does not grow on average, and the chance that it ever reaches 1 / d is at
most d: however often one looks, and whatever the results are distributed like. With d = error / (candidates - 1) the
best candidate is ever lost with a probability of at most `error`.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from azero.players.record import GameRecord
from azero.players.series import Series

FloatArray = npt.NDArray[np.float64]

_STAKES = 0.5 ** np.arange(1, 5)  # shares of the capital; it is spread evenly over these bettors
_GROWTH = 1.5  # each round takes the openings to so many times those before


@dataclass(frozen=True)
class RaceSettings:
    """How long a race is, and how sure it is to keep the best."""

    num_games: int = 4000  # that the race may take, all candidates together, >= 1
    first_openings: int = 10  # of each candidate before anyone may leave, >= 1; each played from both sides
    error: float = 0.05  # how probable it may be that the best candidate is lost on the way, in (0, 1)

    def __post_init__(self) -> None:
        """Raises ValueError for a number out of its range."""
        for name in ("num_games", "first_openings"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 < self.error < 1:
            raise ValueError(f"error must be a probability between 0 and 1, such as 0.05; got {self.error}")


class Interval(NamedTuple):
    """A mean and the bounds between which it is."""

    mean: float
    low: float
    high: float


def mean_interval(values: FloatArray, error: float) -> Interval:
    """What independent draws, each in [-1, 1], say of their expectation.

    Each bound fails with a probability of at most `error`, at any number of draws, even one chosen by the draws.
    """
    if not len(values):
        return Interval(0.0, -1.0, 1.0)
    return Interval(float(values.mean()), _lower_bound(values, error), -_lower_bound(-values, error))


def _lower_bound(values: FloatArray, error: float) -> float:
    """The largest mean against which betting on a larger one would have won 1 / error."""
    low, high = -1.0, float(values.mean())
    for _ in range(40 if high > low else 0):
        middle = (low + high) / 2
        scaled = (values - middle) / (1 + middle)  # at least -1, so that a bettor keeps what he does not stake
        gains = np.log1p(np.multiply.outer(_STAKES, scaled)).sum(axis=-1)
        if _log_mean(gains) >= -math.log(error):
            low = middle
        else:
            high = middle
    return low


def _log_mean(logarithms: FloatArray) -> FloatArray:
    """The logarithm of the mean, over the first axis, of what the logarithms stand for."""
    largest: FloatArray = logarithms.max(axis=0)
    mean: FloatArray = largest + np.log(np.exp(logarithms - largest).mean(axis=0))
    return mean


class Race:
    """The results so far, and who is still in the race."""

    def __init__(self, num_candidates: int, error: float) -> None:
        """`error` is the probability, at most, that the best candidate leaves, in (0, 1)."""
        self.running = list(range(num_candidates))
        self._points = [np.empty(0) for _ in range(num_candidates)]
        self.error = error
        self._log_capital = np.zeros((len(_STAKES), num_candidates, num_candidates))

    @property
    def leader(self) -> int:
        """Who has done best of those in the race, who have all played the same openings; of several the first."""
        return max(self.running, key=lambda candidate: float(self._points[candidate].sum()))

    def add(self, points: FloatArray) -> None:
        """Take the results of further openings, float64[R, openings] in [0, 1], row i being that of `running[i]`.

        Whoever is proven to be worse than another leaves. The leader never does.
        """
        ahead = points[:, None] - points[None, :]  # [R, R, openings]: by how much the first does better
        pairs = np.ix_(range(len(_STAKES)), self.running, self.running)
        self._log_capital[pairs] += np.log1p(np.multiply.outer(_STAKES, ahead)).sum(axis=-1)
        for candidate, row in zip(self.running, points, strict=True):
            self._points[candidate] = np.concatenate([self._points[candidate], row])
        beaten = _log_mean(self._log_capital[pairs]).max(axis=0) >= -math.log(self._rival_error)
        self.running = [candidate for candidate, out in zip(self.running, beaten, strict=True) if not out]

    def num_openings(self, candidate: int) -> int:
        """How many openings a candidate has played."""
        return len(self._points[candidate])

    def score(self, candidate: int) -> Interval:
        """A candidate's mean result. The bounds of all candidates hold together, but for the race's error."""
        error = self.error / (2 * len(self._points))
        return Interval(*((1 + bound) / 2 for bound in mean_interval(2 * self._points[candidate] - 1, error)))

    def lead(self, candidate: int) -> Interval:
        """By how much the leader does better than a candidate, in the openings that both have played.

        The lower bound is above 0 if the leader alone is reason to leave.
        """
        points = self._points[candidate]
        return mean_interval(self._points[self.leader][: len(points)] - points, self._rival_error)

    @property
    def _rival_error(self) -> float:
        """How probable it may be that one certain rival drives the best candidate out."""
        return self.error / max(1, len(self._points) - 1)


def expand(words: Sequence[str]) -> list[str]:
    """The candidates that the words stand for, as a shell would read them: "uct:100,c={0.7,1}" is two.

    Several braces in one word give every combination. Raises ValueError for fewer than two candidates, and for a brace
    that is not closed.
    """
    candidates: dict[str, None] = {}
    for word in words:
        parts = re.split(r"\{([^{}]*)\}", word)
        if any(brace in part for part in parts for brace in "{}"):
            raise ValueError(f"{word!r}: braces hold the values to try, as in uct:1000,c={{0.7,1,1.4}}")
        choices = [part.split(",") if place % 2 else [part] for place, part in enumerate(parts)]
        candidates |= dict.fromkeys("".join(chosen) for chosen in product(*choices))
    if len(candidates) < 2:
        raise ValueError("name two candidates or more, as in: python -m azero.tune 'uct:1000,c={0.7,1,1.4}'")
    return list(candidates)


def common_player(candidates: Sequence[str]) -> str:
    """The player without the settings in which the candidates differ. Raises ValueError if they differ otherwise."""
    common = [setting for setting in candidates[0].split(",") if all(setting in c.split(",") for c in candidates)]
    if not candidates[0].startswith(common[0] if common else ",") or any(
        "=" not in setting for c in candidates for setting in c.split(",") if setting not in common
    ):
        raise ValueError("the candidates differ in more than settings: say whom to compare them with, default=PLAYER")
    return ",".join(common)


def opening_points(matches: Sequence[Sequence[GameRecord]]) -> FloatArray:
    """What a player made of each opening, float64[openings] in [0, 1]: the mean result of all games from it.

    Each match is against another opponent, its games in order, two from each opening; the player is the first one in
    even games. A game that was cut short counts as drawn.
    """
    means = [
        [0.5 if record.points is None else abs(record.index % 2 - record.points) for record in match]
        for match in matches
    ]
    by_opening: FloatArray = np.asarray(means, np.float64).reshape(len(matches), -1, 2).mean(axis=(0, 2))
    return by_opening


def run_race(
    series: Series,
    candidates: Sequence[str],
    opponents: Sequence[str],
    settings: RaceSettings,
    on_game: Callable[[], None] = lambda: None,
) -> Iterator[Race]:
    """Race the candidates: gives the race at its start and after each round, and plays no game that the series has.

    It ends when one is left, or when the games that are left do not suffice for one more opening of each. `on_game` is
    called whenever a game ends. Raises ValueError if the games do not suffice for any opening.
    """
    least = 2 * len(candidates) * len(opponents)
    if settings.num_games < least:
        raise ValueError(
            f"one opening of all candidates takes {least} games: num_games={settings.num_games} is too few"
        )
    race = Race(len(candidates), settings.error)
    yield race
    games_left, before = settings.num_games, 0
    while len(race.running) > 1:
        affordable = games_left // (2 * len(opponents) * len(race.running))
        new = min(affordable, max(settings.first_openings, math.ceil((_GROWTH - 1) * before)))
        if new == 0:
            return
        names = [candidates[candidate] for candidate in race.running]
        pairs = [(name, opponent) for name in names for opponent in opponents]
        after = before + new
        with closing(series.play(pairs, 2 * after)) as games:
            for _ in games:
                on_game()
        matches = [
            [series.records((name, opponent), 2 * after)[2 * before :] for opponent in opponents] for name in names
        ]
        games_left -= 2 * new * len(pairs)
        before = after
        race.add(np.array([opening_points(match) for match in matches]))
        yield race
