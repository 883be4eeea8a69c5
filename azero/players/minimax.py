"""The player that looks ahead in every line: minimax, or alpha-beta, which comes to the same in less time."""

from collections.abc import Hashable
from typing import TypeVar

from azero._jit import below
from azero.games.game import Game
from azero.players.player import Player
from azero.search.alphabeta import AlphaBeta, Limits

S = TypeVar("S", bound=Hashable)


class MinimaxPlayer(Player[S]):
    """Plays for the best result that it can see, the soonest win and the latest loss; any of several as good.

    `num_simulations` are the states that it visited; `value` is 0 where it did not see the end, and None after a forced
    action, which it plays without looking.
    """

    def __init__(self, game: Game[S], search: AlphaBeta[S], limits: Limits) -> None:
        self._game = game
        self._search = search
        self._limits = limits

    def start(self, stream: int) -> None:
        """Begin a new game, with nothing left of the last one."""
        super().start(stream)
        self._search.reset()

    def choose(self, state: S) -> int:
        """See the class."""
        stream = self._next_stream()
        actions = tuple(self._game.legal_actions(state))
        self.num_simulations, self.value = 0, None
        if len(actions) > 1:
            solution = self._search.search(state, self._limits)
            self.num_simulations, self.value, actions = solution.num_nodes, solution.value, solution.best_actions
        return int(actions[below(stream, len(actions))])
