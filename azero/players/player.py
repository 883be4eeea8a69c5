"""THE player contract, and the players of every kind but the human.

A player chooses an action where an evaluator values a state. It serves one game at a time: games that run side by
side need players of their own. In play there is no noise, and the best action is taken, unless a player is told to
sample its first moves.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from azero._jit import below, draw
from azero.evaluators.evaluator import Evaluation, Evaluator, checked
from azero.evaluators.rollout import RolloutEvaluator
from azero.games.batch import batch_of
from azero.games.game import Game
from azero.search.forest import Forest
from azero.search.mcts import MCTS, Budget, SearchResult, best_action, sample_action

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


class FlatPlayer(Player[S]):
    """Flat Monte Carlo: evenly many rollouts after each legal action; the best mean is played."""

    def __init__(self, game: Game[S], evaluator: RolloutEvaluator, num_rollouts: int) -> None:
        """`num_rollouts` >= 1, of the evaluator, for a move in total; an action that ends the game needs none.

        Compiles what it needs, so that the first move is not late.
        """
        self._game = game
        self._evaluator = evaluator
        self._num_rollouts = num_rollouts
        self._mean_rollouts([game.initial_state()], 0)

    def choose(self, state: S) -> int:
        """See the class."""
        game, stream = self._game, self._next_stream()
        mover = game.current_player(state)
        actions = game.legal_actions(state)
        after = [game.step(state, action) for action in actions]
        ended = np.array([game.is_terminal(child) for child in after])
        values = np.empty(len(after))
        values[ended] = [game.outcome(child) for child in after if game.is_terminal(child)]
        self.num_simulations = 0 if ended.all() else self._num_rollouts
        if self.num_simulations:
            values[~ended] = self._mean_rollouts([after[i] for i in np.flatnonzero(~ended)], draw(stream, 0))
        values *= [1 if game.current_player(child) == mover else -1 for child in after]
        weights = np.where(ended, 1.001 * values, values)  # a certain win is worth more than one in every rollout
        best = np.flatnonzero(weights == np.nanmax(weights))
        self.value = float(values[best[0]])
        return int(actions[best[below(draw(stream, 1), len(best))]])

    def _mean_rollouts(self, states: Sequence[S], stream: int) -> npt.NDArray[np.float64]:
        """The mean of each state's rollouts, for its mover; NaN where there are not enough for every state."""
        # One row of the batch is one rollout; the states take turns, a random one first.
        first = below(draw(stream, 0), len(states))
        rows = np.resize(np.roll(np.arange(len(states)), -first), self._num_rollouts)
        streams = np.arange(self._num_rollouts) + (stream >> 1)
        batch = replace(batch_of(self._game, states).take(rows), streams=streams)
        total = np.bincount(rows, self._evaluator.evaluate(batch).value, len(states))
        visits = np.bincount(rows, minlength=len(states))
        means = np.full(len(states), np.nan)
        np.divide(total, visits, out=means, where=visits > 0)
        return means


class SearchPlayer(Player[S]):
    """Searches a tree and plays the most visited action; what it learned about the game's next states it keeps."""

    def __init__(self, mcts: MCTS[S], budget: Budget, num_sampled_moves: int = 0) -> None:
        """Its first `num_sampled_moves` of a game are drawn in proportion to the visits, for variety."""
        self._mcts = mcts
        self._budget = budget
        self._num_sampled_moves = num_sampled_moves

    @property
    def forest(self) -> Forest[S]:
        """The tree of the last search, number 0, to be looked at."""
        return self._mcts._forest

    def start(self, stream: int) -> None:
        """Begin a new game with an empty tree."""
        super().start(stream)
        self._mcts.reset()

    def search(self, state: S, stream: int) -> SearchResult:
        """What the search finds in `state`."""
        result = self._mcts.search(state, self._budget, stream)
        self.num_simulations, self.value = result.num_simulations, result.value
        return result

    def choose(self, state: S) -> int:
        """See the class."""
        stream = self._next_stream()
        result = self.search(state, draw(stream, 0))
        if self._num_moves <= self._num_sampled_moves:
            return sample_action(result, 1.0, draw(stream, 1))
        return best_action(result, draw(stream, 1))

    def observe(self, action: int) -> None:
        """Keep what the tree holds below the action."""
        self._mcts.advance(action)


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
