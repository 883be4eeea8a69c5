"""The evaluator that says what it is told to: a test double, and the short way to an evaluator of one's own."""

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

import numpy as np

from azero.evaluators.evaluator import Evaluation
from azero.games.batch import StateBatch

S = TypeVar("S", bound=Hashable)


class ScriptedEvaluator(Generic[S]):
    """Asks a function for the policy and value of one state at a time."""

    def __init__(self, script: Callable[[S], tuple[Sequence[float], float]]) -> None:
        """`script(state)` gives A weights, of any scale, and a value in [-1, 1] for the player to move."""
        self.script = script

    def evaluate(self, batch: StateBatch[S]) -> Evaluation:
        """What the script says of each state."""
        answers = [self.script(state) for state in batch.states]
        policy = np.array([policy for policy, _ in answers], np.float32)
        return Evaluation(policy, np.array([value for _, value in answers], np.float32))
