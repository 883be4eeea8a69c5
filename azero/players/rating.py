"""What results say about strength: scores, Elo differences, and ratings of many players fitted together.

A score is wins plus half the draws, over the games. Its interval is Wilson's with 95 % confidence, each game counted
as `score` of a win. A draw varies less than a win or a loss, and paired openings with colours swapped cancel part of
the luck (unless a player meets itself), so the interval is wider than it need be. It does presume that games differ: a
game played twice is evidence once, which is why reports say how many games were distinct.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_Z = 1.959963984540054  # standard deviations that hold 95 % of a normal distribution
_ELO = 400 / math.log(10)  # Elo points in one unit of log-odds


class Score(NamedTuple):
    """Results of one player."""

    wins: int
    draws: int
    losses: int

    @property
    def num_games(self) -> int:
        """Games that came to a result."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """One for a win, half for a draw."""
        return self.wins + self.draws / 2

    @property
    def mean(self) -> float:
        """Points per game, in [0, 1]. Raises ValueError when there is no game."""
        if not self.num_games:
            raise ValueError("no games, so no score")
        return self.points / self.num_games

    def plus(self, other: "Score") -> "Score":
        """The results of both together."""
        return Score(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)

    def reversed(self) -> "Score":
        """The same games from the opponent's side."""
        return Score(self.losses, self.draws, self.wins)

    def text(self) -> str:
        """The score and its interval: "0.600 [0.446, 0.737]"; "no games" when there is none."""
        if not self.num_games:
            return "no games"
        low, high = wilson_interval(self.points, self.num_games)
        return f"{self.mean:.3f} [{low:.3f}, {high:.3f}]"

    def elo_text(self) -> str:
        """The Elo difference and its interval: "+70 [-38, +179]".

        A score of 0 or 1 fits an infinite difference: only the end of the interval that is finite is given then.
        """
        if not self.num_games:
            return "no games"
        low, high = (elo_difference(bound) for bound in wilson_interval(self.points, self.num_games))
        if self.mean == 1:
            return f"above {low:+.0f} (lost nothing)"
        if self.mean == 0:
            return f"below {high:+.0f} (won nothing)"
        return f"{elo_difference(self.mean):+.0f} [{low:+.0f}, {high:+.0f}]"


def wilson_interval(points: float, num_games: int) -> tuple[float, float]:
    """Wilson's 95 % interval for a score (E. B. Wilson 1927); all of [0, 1] when there is no game.

    Raises ValueError unless 0 <= points <= num_games.
    """
    if not 0 <= points <= num_games:
        raise ValueError(f"{points} points in {num_games} games; points must be between 0 and the number of games")
    if num_games == 0:
        return 0.0, 1.0
    mean, weight = points / num_games, _Z**2 / num_games
    centre = (mean + weight / 2) / (1 + weight)
    reach = math.sqrt(weight * (mean * (1 - mean) + weight / 4)) / (1 + weight)
    return (0.0 if points == 0 else centre - reach), (1.0 if points == num_games else centre + reach)


def elo_difference(score: float) -> float:
    """The Elo difference at which a player is expected to score `score`; infinite at 0 and 1.

    Raises ValueError outside [0, 1].
    """
    if not 0 <= score <= 1:
        raise ValueError(f"a score is between 0 and 1, got {score}")
    if score in (0, 1):
        return math.copysign(math.inf, score - 0.5)
    return _ELO * math.log(score / (1 - score))


def expected_score(elo: float) -> float:
    """The score that is expected at an Elo difference."""
    return 1 / (1 + math.exp(-elo / _ELO))


class Rating(NamedTuple):
    """A player's Elo points above the anchor."""

    elo: float  # infinite if points went one way only between him and the anchor, NaN if no results connect them
    margin: float  # half the width of the 95 % interval; 0 for the anchor and where `elo` is not finite

    def text(self) -> str:
        """The rating for people: "+70 ± 35", or in words where no number can be given."""
        if math.isnan(self.elo):
            return "not comparable"
        if math.isinf(self.elo):
            return "above, too far to measure" if self.elo > 0 else "below, too far to measure"
        return f"{self.elo:+.0f} ± {self.margin:.0f}" if self.margin else f"{self.elo:.0f} (anchor)"


def fit_ratings(points: Sequence[Sequence[float]], anchor: int = 0) -> list[Rating]:
    """Ratings that make all results together most likely (Bradley, Terry 1952), `anchor` being 0.

    `points[i][j]` is what player i scored against player j; a draw gives half to each. Where points went one way only
    between two groups of players, no finite difference fits, and the groups do not disturb each other's ratings.
    """
    won = np.asarray(points, np.float64)
    scored = (won > 0) | np.eye(len(won), dtype=np.bool_)
    for middle in range(len(won)):  # who scored on whom, directly or through others (Warshall's closure)
        scored |= scored[:, [middle]] & scored[[middle], :]
    ratings = []
    connected = np.flatnonzero(scored[anchor] & scored[:, anchor])
    elo, margin = _fit(won[np.ix_(connected, connected)], int(np.searchsorted(connected, anchor)))
    fitted = {int(player): Rating(float(e), float(m)) for player, e, m in zip(connected, elo, margin, strict=True)}
    for player in range(len(won)):
        above, below = scored[player, anchor], scored[anchor, player]
        beyond = Rating(math.inf if above else -math.inf if below else math.nan, 0.0)
        ratings.append(fitted.get(player, beyond))
    return ratings


def _fit(won: FloatArray, anchor: int) -> tuple[FloatArray, FloatArray]:
    """Elo and margins by Newton's method on the log-likelihood, which is strictly concave once the anchor is held."""
    num_games = won + won.T
    free = np.arange(len(won)) != anchor
    strength: FloatArray = np.zeros(len(won))
    covariance: FloatArray = np.zeros((0, 0))
    for _ in range(200):
        expected = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
        information = -num_games * expected * (1 - expected)
        np.fill_diagonal(information, 0)
        np.fill_diagonal(information, -information.sum(axis=1))
        gradient = (won - num_games * expected).sum(axis=1)
        covariance = np.asarray(np.linalg.inv(information[np.ix_(free, free)]), np.float64)
        change = covariance @ gradient[free]
        largest = np.abs(change).max(initial=0.0)
        strength[free] += change / max(1.0, largest)  # short steps at first: a full one may leap too far
        if largest < 1e-10:
            break
    margin = np.zeros(len(won))
    margin[free] = _Z * _ELO * np.sqrt(np.diag(covariance))
    return _ELO * strength, margin
