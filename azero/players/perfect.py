"""The player that knows how perfect play ends."""

from collections.abc import Hashable
from typing import TypeVar

from azero._jit import below
from azero.games.game import Game, exact_values
from azero.players.player import Player

S = TypeVar("S", bound=Hashable)


class PerfectPlayer(Player[S]):
    """Plays for the best result by the theory of its game, without a search; any of several actions as good."""

    def __init__(self, game: Game[S]) -> None:
        """The game must have an `exact_value`."""
        self._game = game

    def choose(self, state: S) -> int:
        """See the class."""
        values = exact_values(self._game, state)
        self.value = max(values.values())
        best = [action for action, value in values.items() if value == self.value]
        return best[below(self._next_stream(), len(best))]
