"""When a match has been played long enough: the sequential probability ratio test on pairs of games.

Two hypotheses, that the first player is `elo0` or `elo1` points stronger, are weighed after every pair of games that
begin with the same opening, seats swapped (Wald 1945). The pair is the unit, for its two games are not independent:
what it brings, 0 to 2 points by halves, has five possible sizes, and how often each comes is fitted under either
hypothesis (Van den Bergh, "The generalized sequential probability ratio test for a multinomial", 2019, as in fishtest).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from azero.players.rating import expected_score
from azero.players.record import GameRecord

PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)  # points of a pair per game
_UNSEEN = 1e-3  # pairs that every size is counted to have had, so that none is impossible
_NUM_HALVINGS = 60


@dataclass(frozen=True)
class SPRT:
    """What is tested, and how sure the answer is to be."""

    elo0: float  # the weaker hypothesis
    elo1: float  # the stronger one
    error: float = 0.05  # how often each is rejected where it is true, above 0, below 0.5

    def __post_init__(self) -> None:
        """Raises ValueError for hypotheses that cannot be told apart, or an error out of range."""
        if not -2000 <= self.elo0 < self.elo1 <= 2000:
            raise ValueError(f"sprt=[0,20] takes Elo differences, the smaller first; got [{self.elo0:g},{self.elo1:g}]")
        if not 0 < self.error < 0.5:
            raise ValueError(f"sprt's error must be above 0 and below 0.5, got {self.error}")

    @property
    def bound(self) -> float:
        """The log-likelihood ratio that accepts `elo1`; minus it accepts `elo0`."""
        return math.log((1 - self.error) / self.error)

    def log_likelihood_ratio(self, pairs: Sequence[int]) -> float:
        """Of `elo1` against `elo0`, given how many pairs brought each of PAIR_SCORES; 0 without pairs."""
        if not any(pairs):
            return 0.0
        counts = [count + _UNSEEN for count in pairs]
        shares = [count / sum(counts) for count in counts]
        fits = [_fitted(shares, expected_score(elo)) for elo in (self.elo0, self.elo1)]
        return math.fsum(count * math.log(q / p) for count, p, q in zip(counts, *fits, strict=True))

    def verdict(self, pairs: Sequence[int]) -> str | None:
        """Which hypothesis is accepted: "elo0" or "elo1"; None while neither is."""
        ratio = self.log_likelihood_ratio(pairs)
        return None if abs(ratio) < self.bound else "elo1" if ratio > 0 else "elo0"


def _fitted(shares: Sequence[float], mean: float) -> list[float]:
    """The most likely probabilities of PAIR_SCORES, given their `shares`, among those with this mean.

    They are share / (1 + t (score - mean)), for the one t that makes the mean right, which is found by bisection.
    """
    low, high = -1 / (1 - mean), 1 / mean  # between them no probability is negative

    def probabilities(t: float) -> list[float]:
        return [share / (1 + t * (score - mean)) for share, score in zip(shares, PAIR_SCORES, strict=True)]

    for _ in range(_NUM_HALVINGS):
        middle = (low + high) / 2
        excess = sum(p * (score - mean) for p, score in zip(probabilities(middle), PAIR_SCORES, strict=True))
        low, high = (middle, high) if excess > 0 else (low, middle)
    return probabilities((low + high) / 2)


def pentanomial(records: Iterable[GameRecord]) -> tuple[int, ...]:
    """How many pairs of a match's games brought its first player each of PAIR_SCORES.

    Games that were cut short, or whose partner is missing, do not count.
    """
    points: dict[int, list[float]] = {}
    for record in records:
        if record.points is not None:
            points.setdefault(record.index // 2, []).append(abs(record.index % 2 - record.points))
    totals = [round(2 * sum(pair)) for pair in points.values() if len(pair) == 2]
    return tuple(totals.count(total) for total in range(len(PAIR_SCORES)))
