"""A look some plies ahead of every new leaf by alpha-beta, so that what is near the end needs no evaluation.

A network takes as long for a leaf as alpha-beta for a hundred states, and is worst at what that sees at once: that
somebody wins by force. One of the MCTS-minimax hybrids of Baier, Winands 2015 ("MCTS-Minimax Hybrids", IEEE TCIAIG 7).
"""

from collections.abc import Hashable
from typing import Any, NamedTuple, TypeVar

from azero._jit import dispatched
from azero.games.compiled import current_player
from azero.games.game import Game
from azero.search.negamax import INFINITY, Line, new_line, result_of_root, search, set_all_actions
from azero.search.positions import new_memory, write_state
from azero.search.tree import MAX_PLIES

S = TypeVar("S", bound=Hashable)


@dispatched
def look_ahead(lookahead: Any, rules: Any, state: Any, actions: Any) -> tuple[float, int]:
    """The value of an unfinished state with these legal actions, and the plies to the end at most; -1: not proven."""
    return 0.0, -1


class NoLookahead(NamedTuple):
    """Every leaf of an unfinished game is evaluated."""


class Lookahead(NamedTuple):
    """Alpha-beta without a table, so that what it finds out about a leaf depends on nothing else."""

    depth: int  # plies
    memory: Any
    line: Line

    def look_ahead(self, rules: Any, state: Any, actions: Any) -> tuple[float, int]:
        """See above."""
        write_state(self.memory, 0, state)
        set_all_actions(self.line, current_player(rules, state), actions, self.depth)
        search(rules, self.memory, self.line, True, INFINITY)
        return result_of_root(self.line)


def new_lookahead(game: Game[S], depth: int) -> NoLookahead | Lookahead:
    """Room for looking `depth` plies ahead, 0 for none; the kernels of one search use it at a time."""
    if depth == 0:
        return NoLookahead()
    depth = min(depth, game.max_game_length, MAX_PLIES)
    return Lookahead(depth, new_memory(game, depth + 1, 0), new_line(depth + 1, game.num_actions))
