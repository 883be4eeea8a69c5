"""THE evaluator contract: what the search asks of a leaf, and what an answer must be.

An evaluator is anything with `evaluate(batch)`: random rollouts, a network, a table, a formula. It sees only
unfinished states; finished ones have the value their rules give.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from azero._jit import kernel
from azero.games.batch import StateBatch
from azero.games.game import FloatArray

S = TypeVar("S", bound=Hashable)


class EvaluatorError(RuntimeError):
    """An evaluator gave an answer that no search can use; the message names it, the fault and the state."""


class Evaluation(NamedTuple):
    """An evaluator's answer for B states."""

    policy: FloatArray  # float32[B, A], >= 0: the weight of each action; illegal ones are ignored, scale is free
    value: FloatArray  # float32[B], in [-1, 1], for the player to move in each state


class Evaluator(Protocol):
    """Values states and weighs their actions."""

    def evaluate(self, batch: StateBatch[Any], /) -> Evaluation:
        """The policy and value of every state of the batch, each independent of the others."""


def checked(evaluator: Evaluator, batch: StateBatch[S]) -> Evaluation:
    """The evaluator's answer, its policy reduced to legal actions and summing to 1.

    Where a policy gives all legal actions together no weight, they share it evenly. Raises EvaluatorError for a wrong
    shape, NaN or infinity, a negative weight, or a value outside [-1, 1].
    """
    name, shape = type(evaluator).__name__, (len(batch), batch.game.num_actions)
    given_answer = evaluator.evaluate(batch)
    if not isinstance(given_answer, tuple) or len(given_answer) != 2:
        raise EvaluatorError(
            f"{name} answered with a {type(given_answer).__name__}; Evaluation(policy, value) is needed"
        )
    answer = Evaluation(*given_answer)
    if np.shape(answer.policy) != shape or np.shape(answer.value) != shape[:1]:
        raise EvaluatorError(
            f"{name} answered with policy {np.shape(answer.policy)} and value {np.shape(answer.value)}; "
            f"{len(batch)} states of {batch.game.name} need {shape} and {shape[:1]}"
        )
    given = Evaluation(*(np.ascontiguousarray(array, np.float32) for array in answer))
    policy = np.zeros(shape, np.float32)
    bad = _write_legal_policy(given, batch.legal, policy)
    if bad >= 0:
        raise EvaluatorError(
            f"{name} answered with policy {given.policy[bad]} and value {given.value[bad]}; weights must be finite and "
            f"not negative, values in [-1, 1]. The state:\n{batch.game.state_text(batch.states[bad])}"
        )
    return Evaluation(policy, given.value)


@kernel
def _write_legal_policy(given: Evaluation, legal: Any, policy: Any) -> int:
    """Fill the zeros of `policy` where actions are legal; returns the first row whose answer is unusable, else -1."""
    for b in range(len(policy)):
        usable = abs(given.value[b]) <= 1  # so written, NaN is not
        total, num_legal = 0.0, 0
        for action in range(policy.shape[1]):
            weight = given.policy[b, action]
            usable = usable and 0 <= weight < np.inf
            if legal[b, action]:
                total += weight
                num_legal += 1
        if not usable:
            return b
        for action in range(policy.shape[1]):
            if legal[b, action]:
                policy[b, action] = given.policy[b, action] / total if total > 0 else 1 / num_legal
    return -1
