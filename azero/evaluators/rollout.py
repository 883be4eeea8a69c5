"""Rollouts: a leaf is worth what random play from it brings.

Written once over the rules; compiled where they are, interpreted for games in plain Python.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from azero._jit import below, compilable, dispatched, draw, kernel, unpack
from azero.evaluators.evaluator import Evaluation
from azero.games.batch import StateBatch
from azero.games.compiled import CompiledGame, PackedStates, current_player, outcome, step, write_legal_actions
from azero.games.game import Game

S = TypeVar("S", bound=Hashable)

NUM_BUFFERS = 5  # rows of scratch, int32[NUM_BUFFERS, A], that a rollout needs
FIRST_TRACE = 3  # the row where TracingPolicy notes player 0's actions; the next is player 1's


@dispatched
def choose_action(policy: Any, rules: Any, state: Any, actions: Any, buffers: Any, number: int) -> int:
    """The next action of a rollout, out of the legal `actions`; `number` is freshly drawn."""
    raise NotImplementedError


class RandomPolicy(NamedTuple):
    """Every legal action is equally likely."""

    def choose_action(self, rules: Any, state: Any, actions: Any, buffers: Any, number: int) -> int:
        """See the class."""
        return int(actions[below(number, len(actions))])


class HeuristicPolicy(NamedTuple):
    """Take an immediate win; else play at random among the actions that leave the opponent none, if there are any."""

    def choose_action(self, rules: Any, state: Any, actions: Any, buffers: Any, number: int) -> int:
        """See the class."""
        for action in actions:
            if _wins(rules, state, int(action), buffers[1]):
                return int(action)
        num_safe = 0
        for i in range(len(actions)):
            if not _allows_win(rules, state, int(actions[i]), buffers):
                actions[i], actions[num_safe] = actions[num_safe], actions[i]
                num_safe += 1
        return int(actions[below(number, num_safe if num_safe > 0 else len(actions))])


class TracingPolicy(NamedTuple):
    """Plays by another policy and notes in the last two rows of scratch which actions each player took."""

    policy: Any

    def choose_action(self, rules: Any, state: Any, actions: Any, buffers: Any, number: int) -> int:
        """See the class."""
        action = choose_action(self.policy, rules, state, actions, buffers, number)
        buffers[FIRST_TRACE + current_player(rules, state), action] = 1
        return action


@compilable
def _wins(rules: Any, state: Any, action: int, buffer: Any) -> bool:
    after = step(rules, state, action)
    if write_legal_actions(rules, after, buffer) > 0:
        return False
    result = outcome(rules, after)
    return result > 0 if current_player(rules, after) == current_player(rules, state) else result < 0


@compilable
def _allows_win(rules: Any, state: Any, action: int, buffers: Any) -> bool:
    """Whether the opponent, if he moves after `action`, can win at once."""
    after = step(rules, state, action)
    if current_player(rules, after) == current_player(rules, state):
        return False
    for i in range(write_legal_actions(rules, after, buffers[1])):
        if _wins(rules, after, int(buffers[1, i]), buffers[2]):
            return True
    return False


@compilable
def rollout(policy: Any, rules: Any, state: Any, stream: int, buffers: Any) -> float:
    """The result, for the player to move in `state`, of one game played to its end by the policy."""
    player = current_player(rules, state)
    length = 0
    num_legal = write_legal_actions(rules, state, buffers[0])
    while num_legal > 0:
        action = choose_action(policy, rules, state, buffers[0, :num_legal], buffers, draw(stream, length))
        state = step(rules, state, action)
        length += 1
        num_legal = write_legal_actions(rules, state, buffers[0])
    result = outcome(rules, state)
    return result if current_player(rules, state) == player else -result


@compilable
def mean_rollout(policy: Any, rules: Any, state: Any, stream: int, num_rollouts: int, buffers: Any) -> float:
    """The mean result of `num_rollouts` rollouts, each with a random stream of its own."""
    total = 0.0
    for i in range(num_rollouts):
        total += rollout(policy, rules, state, draw(stream, i), buffers)
    return total / num_rollouts


@compilable
def take_trace(buffers: Any, played: Any) -> None:
    """Move what TracingPolicy noted into `played`, int32[2, A], and forget it."""
    for player in range(2):
        for action in range(buffers.shape[1]):
            played[player, action] = buffers[FIRST_TRACE + player, action]
            buffers[FIRST_TRACE + player, action] = 0


@kernel
def _evaluate_rows(
    policy: Any, rules: Any, batch: Any, num_rollouts: int, buffers: Any, values: Any, played: Any
) -> None:
    like, rows, streams = batch
    for b in range(len(rows)):
        values[b] = mean_rollout(policy, rules, unpack(like, rows[b]), streams[b], num_rollouts, buffers)
        take_trace(buffers, played[b])


class PlainRules(Generic[S]):
    """A game in plain Python, seen as rules, so that rollouts can be interpreted on it."""

    def __init__(self, game: Game[S]) -> None:
        self.current_player = game.current_player
        self.step = game.step
        self.outcome = game.outcome
        self._legal_actions = game.legal_actions
        self._symmetries = [symmetry.state for symmetry in game.symmetries()]
        self._numbers: dict[S, int] = {}

    def forget(self) -> None:
        """Number states anew."""
        self._numbers.clear()

    def mean_random_rollout(self, state: S, stream: int, num_rollouts: int) -> float:
        """What `mean_rollout` is by RandomPolicy, in half the time."""
        player, start, total = self.current_player(state), state, 0.0
        for i in range(num_rollouts):
            state, length, numbers = start, 0, draw(stream, i)
            while actions := self._legal_actions(state):
                state = self.step(state, actions[below(draw(numbers, length), len(actions))])
                length += 1
            result = self.outcome(state)
            total += result if self.current_player(state) == player else -result
        return total / num_rollouts

    def canonical(self, state: S) -> S:
        """See `azero.games.compiled.canonical`."""
        return min((state, *(move(state) for move in self._symmetries)), key=repr)

    def write_key(self, state: S, row: Any) -> None:
        """A state's number: how many others were seen before it."""
        row[0] = self._numbers.setdefault(state, len(self._numbers))

    def write_legal_actions(self, state: S, out: Any) -> int:
        """See `azero.games.compiled.write_legal_actions`."""
        actions = self._legal_actions(state)
        out[: len(actions)] = actions
        return len(actions)


def rules_of(game: Game[Any]) -> Any:
    """What kernels play a game by, or, where it is in plain Python, what the same functions do uncompiled."""
    return game.rules if isinstance(game, CompiledGame) else PlainRules(game)


_RANDOM = RandomPolicy()


class RolloutEvaluator:
    """Values a state by rollouts, all legal actions weighing the same."""

    def __init__(self, policy: RandomPolicy | HeuristicPolicy = _RANDOM, num_rollouts: int = 1) -> None:
        """`policy` plays the rollouts, `num_rollouts` >= 1 of them for each leaf; more are slower and less noisy."""
        if num_rollouts < 1:
            raise ValueError(f"num_rollouts must be at least 1, got {num_rollouts}")
        self.policy = policy
        self.num_rollouts = num_rollouts

    def evaluate(self, batch: StateBatch[Any]) -> Evaluation:
        """The mean rollout of every state, each from its own stream."""
        num_actions = batch.game.num_actions
        values, buffers = np.empty(len(batch), np.float32), np.zeros((NUM_BUFFERS, num_actions), np.int32)
        policy: Any = self.policy if batch.played is None else TracingPolicy(self.policy)
        played = np.empty((len(batch), 2, num_actions), np.int32) if batch.played is None else batch.played
        states: Sequence[Any] = batch.states
        if isinstance(states, PackedStates) and isinstance(batch.game, CompiledGame):
            packed = (states.like, states.rows, batch.streams)
            _evaluate_rows(policy, batch.game.rules, packed, self.num_rollouts, buffers, values, played)
        else:
            rules = PlainRules(batch.game)
            for b, (state, stream) in enumerate(zip(states, batch.streams.tolist(), strict=True)):
                if isinstance(policy, RandomPolicy):
                    values[b] = rules.mean_random_rollout(state, stream, self.num_rollouts)
                else:
                    values[b] = mean_rollout(policy, rules, state, stream, self.num_rollouts, buffers)
                    take_trace(buffers, played[b])
        return Evaluation(batch.legal.astype(np.float32), values)
