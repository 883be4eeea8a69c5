"""The evaluator that knows nothing: every action alike, every value even."""

from typing import Any

import numpy as np

from azero.evaluators.evaluator import Evaluation
from azero.games.batch import StateBatch


class UniformEvaluator:
    """Gives every action the same weight and every state the value 0."""

    def evaluate(self, batch: StateBatch[Any]) -> Evaluation:
        """The same answer for every state."""
        return Evaluation(np.ones(batch.legal.shape, np.float32), np.zeros(len(batch), np.float32))
