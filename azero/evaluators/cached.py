"""A memory in front of a slow evaluator, for all games and threads that share it."""

import threading
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from azero.evaluators.evaluator import Evaluation, Evaluator, checked
from azero.games.batch import StateBatch
from azero.games.game import FloatArray


class CachedEvaluator:
    """Remembers the answers of an evaluator whose answer depends on the state alone, such as a network.

    It holds the `capacity` states evaluated last and drops the oldest first; a network with other weights needs another
    cache. Any number of threads may call at once; the evaluator itself is called outside the lock.
    """

    def __init__(self, evaluator: Evaluator, capacity: int) -> None:
        """Raises ValueError for a capacity below 1."""
        if capacity < 1:
            raise ValueError(f"a cache holds at least 1 state, got capacity={capacity}")
        self.num_requests = 0  # states asked for
        self.num_evaluations = 0  # of them passed on to the evaluator
        self._lock = threading.Lock()
        self._evaluator = evaluator
        self._memory = _Memory(capacity)

    def __len__(self) -> int:
        return len(self._memory.rows)

    def evaluate(self, batch: StateBatch[Any]) -> Evaluation:
        """The evaluator's answers, `checked`. States not remembered are passed on, each once, in one batch."""
        keys = batch.keys()
        with self._lock:
            rows, answers = self._memory.look_up(keys, batch.legal.shape[1])
            self.num_requests += len(keys)
        missing = {keys[i]: i for i, row in enumerate(rows) if row < 0}
        if missing:
            fresh = np.column_stack(checked(self._evaluator, batch.take([*missing.values()])))
            place = {key: i for i, key in enumerate(missing)}
            gaps = [i for i, row in enumerate(rows) if row < 0]
            answers[gaps] = fresh[[place[keys[i]] for i in gaps]]
            with self._lock:
                self.num_evaluations += len(missing)
                self._memory.add(list(missing), fresh)
        return Evaluation(answers[:, :-1], answers[:, -1])


class _Memory:
    """A ring of answers, float32[capacity, A + 1]: the policy, then the value."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.rows: dict[Hashable, int] = {}  # where the answer of a state is
        self.keys: list[Hashable] = []  # the state of each row in use
        self.oldest = 0  # the row to be used again next, once all are in use
        self.answers: FloatArray = np.empty((0, 0), np.float32)

    def look_up(self, keys: Sequence[Hashable], num_actions: int) -> tuple[list[int], FloatArray]:
        """The row of each state, -1 where it is not remembered, and the answers; anything in place of those."""
        if len(self.answers) == 0:
            self.answers = np.empty((self.capacity, num_actions + 1), np.float32)
        find = self.rows.get
        rows = [find(key, -1) for key in keys]
        return rows, self.answers[rows]

    def add(self, keys: list[Hashable], answers: FloatArray) -> None:
        """Remember the states that another thread has not added meanwhile."""
        for key, answer in zip(keys, answers, strict=True):
            if key in self.rows:
                continue
            if len(self.keys) < self.capacity:
                row = len(self.keys)
                self.keys.append(key)
            else:
                row, self.oldest = self.oldest, (self.oldest + 1) % self.capacity
                del self.rows[self.keys[row]]
                self.keys[row] = key
            self.rows[key] = row
            self.answers[row] = answer
