"""THE evaluator contract: what the search asks of a leaf, and what an answer must be.

An evaluator is anything with `evaluate(batch)`: random rollouts, a network, a table, a formula. It sees only
unfinished states; finished ones have the value their rules give.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

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
    policy, value = evaluator.evaluate(batch)
    name = type(evaluator).__name__
    shape = (len(batch), batch.game.num_actions)
    if np.shape(policy) != shape or np.shape(value) != shape[:1]:
        raise EvaluatorError(
            f"{name} answered with policy {np.shape(policy)} and value {np.shape(value)}; "
            f"{len(batch)} states of {batch.game.name} need {shape} and {shape[:1]}"
        )
    # Written so that NaN fails the comparison.
    bad = ~((policy >= 0) & np.isfinite(policy)).all(axis=1) | ~(np.abs(value) <= 1)
    if bad.any():
        first = int(np.argmax(bad))
        raise EvaluatorError(
            f"{name} answered with policy {policy[first]} and value {value[first]}; weights must be finite and not "
            f"negative, values in [-1, 1]. The state:\n{batch.game.state_text(batch.states[first])}"
        )
    policy = np.where(batch.legal, policy, np.float32(0))
    total = policy.sum(axis=1, keepdims=True)
    policy = np.where(total > 0, policy, batch.legal)
    return Evaluation((policy / policy.sum(axis=1, keepdims=True)).astype(np.float32), value.astype(np.float32))
