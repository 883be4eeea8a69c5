"""THE player contract, and the players of every kind but the human.

A player chooses an action where an evaluator values a state. It serves one game at a time: games that run side by
side need players of their own. In play there is no noise, and the best action is taken, unless a player is told to
sample its first moves.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Generic, TypeVar

import numpy as np

from azero._jit import below, draw
from azero.evaluators.evaluator import Evaluation, Evaluator, checked
from azero.games.batch import batch_of
from azero.games.game import Game
from azero.search.forest import Forest
from azero.search.mcts import MCTS, Budget
from azero.search.result import SearchResult, best_action, sample_action

S = TypeVar("S", bound=Hashable)


class Player(ABC, Generic[S]):
    """Chooses actions for one side of a game.

    What it chooses depends on the stream it was started with and on the game so far: on nothing of earlier games and,
    unless its budget is a time, on nothing of the machine.
    """

    name: str = "player"
    num_simulations: int = 0  # spent by the last `choose`; rollouts, for flat Monte Carlo
    value: float | None = None  # what it then expected for its side, in [-1, 1]; None if it does not say

    def start(self, stream: int) -> None:
        """Begin a new game, with a random stream of its own (see `azero._jit.draw`)."""
        self._stream = stream
        self._num_moves = 0

    @abstractmethod
    def choose(self, state: S) -> int:
        """A legal action of `state`, which is not terminal and has this side to move."""

    def observe(self, action: int) -> None:
        """Hear of an action that was played by either side: in the opening, by the opponent, by oneself."""

    def _next_stream(self) -> int:
        """The randomness of the next move."""
        self._num_moves += 1
        return draw(self._stream, self._num_moves)


class RandomPlayer(Player[S]):
    """Every legal action is equally likely."""

    def __init__(self, game: Game[S]) -> None:
        self._game = game

    def choose(self, state: S) -> int:
        """See the class."""
        actions = self._game.legal_actions(state)
        return int(actions[below(self._next_stream(), len(actions))])


class SearchPlayer(Player[S]):
    """Searches a tree and plays the best action; what it learned about the game's next states it keeps."""

    def __init__(
        self,
        mcts: MCTS[S],
        budget: Budget,
        num_sampled_moves: int = 0,
        choice: str = "visits",
        keeps_tree: bool = True,
    ) -> None:
        """`choice` says which action is best (see `rank_actions`).

        Its first `num_sampled_moves` of a game are drawn in proportion to the visits, for variety. If it keeps no
        tree, every search begins with an empty one, and its simulations are all that it knows.
        """
        self._mcts = mcts
        self.budget = budget
        self._num_sampled_moves = num_sampled_moves
        self.choice = choice
        self._keeps_tree = keeps_tree

    @property
    def forest(self) -> Forest[S]:
        """The tree of the last search, number 0, to be looked at."""
        return self._mcts.forest

    def start(self, stream: int) -> None:
        """Begin a new game with an empty tree."""
        super().start(stream)
        self._mcts.reset()

    def search(self, state: S, stream: int) -> SearchResult:
        """What the search finds in `state`."""
        result = self._mcts.search(state, self.budget, stream)
        self.num_simulations, self.value = result.num_simulations, result.value
        return result

    def choose(self, state: S) -> int:
        """See the class."""
        stream = self._next_stream()
        result = self.search(state, draw(stream, 0))
        if self._num_moves <= self._num_sampled_moves:
            return sample_action(result, 1.0, draw(stream, 1))
        return best_action(result, draw(stream, 1), self.choice)

    def observe(self, action: int) -> None:
        """Keep what the tree holds below the action."""
        if self._keeps_tree:
            self._mcts.advance(action)
        else:
            self._mcts.reset()


class NetworkPlayer(Player[S]):
    """Plays the action that the network's policy weighs most, without any search."""

    def __init__(self, game: Game[S], evaluator: Evaluator) -> None:
        """Evaluates once, so that the first move is not late."""
        self._game = game
        self._evaluator = evaluator
        self._evaluate(game.initial_state())

    def choose(self, state: S) -> int:
        """See the class."""
        policy, value = self._evaluate(state)
        self.value = float(value[0])
        best = np.flatnonzero(policy[0] == policy[0].max())
        return int(best[below(self._next_stream(), len(best))])

    def _evaluate(self, state: S) -> Evaluation:
        return checked(self._evaluator, batch_of(self._game, [state]))
