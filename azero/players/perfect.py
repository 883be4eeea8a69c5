"""The player that knows how perfect play ends."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeVar

from azero._jit import below
from azero.games.connect4 import Connect4
from azero.games.game import Game, exact_values
from azero.players.connect4_solver import Connect4Solver
from azero.players.exact import known_sets
from azero.players.minimax import MinimaxPlayer
from azero.players.player import Player
from azero.search.alphabeta import AlphaBeta, Limits

S = TypeVar("S", bound=Hashable)


class PerfectPlayer(Player[S]):
    """Plays the best action there is; any of several as good."""

    def __init__(self, solve: Callable[[S], tuple[Sequence[int], float]]) -> None:
        """`solve` tells of an unfinished state the best actions, and their value for the player to move."""
        self._solve = solve

    def choose(self, state: S) -> int:
        """See the class."""
        actions, self.value = self._solve(state)
        return actions[below(self._next_stream(), len(actions))]


def perfect_player(game: Game[S]) -> Player[S]:
    """A player that never gives a result away.

    It goes by the game's theory, if there is one. In Connect Four it takes the soonest win and the latest loss, by a
    solver and a book; in other games likewise, by alpha-beta, which takes long where they are large.
    """
    if isinstance(game, Connect4):
        return PerfectPlayer(partial(_by_solver, Connect4Solver()))
    if game.exact_value(game.initial_state()) is not None:
        return PerfectPlayer(partial(_by_theory, game))
    return MinimaxPlayer(game, AlphaBeta(game), Limits())


def knows_perfect_play(game: Game[Any]) -> bool:
    """Whether the perfect player need not search for long: there is a theory or a book, or the game is small."""
    return game.exact_value(game.initial_state()) is not None or bool(known_sets(game))


def _by_theory(game: Game[S], state: S) -> tuple[Sequence[int], float]:
    values = exact_values(game, state)
    best = max(values.values())
    return [action for action, value in values.items() if value == best], best


def _by_solver(solver: Connect4Solver, state: Any) -> tuple[Sequence[int], float]:
    actions, score = solver.best_actions(state)
    return actions, float((score > 0) - (score < 0))
