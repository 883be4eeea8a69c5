import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from azero.evaluators.cached import CachedEvaluator
from azero.evaluators.evaluator import Evaluation, EvaluatorError
from azero.evaluators.scripted import ScriptedEvaluator
from azero.games.batch import StateBatch, batch_of
from azero.games.compiled import PackedStates
from azero.games.connect4 import Connect4, State
from azero.games.game import state_after
from tests.games.plain import Heap

GAME = Connect4()


def answer(state: State) -> tuple[list[float], float]:
    """An answer that tells the states apart."""
    generator = np.random.default_rng(abs(hash(state)))
    policy = generator.random(7)
    return list(policy / policy.sum()), float(generator.uniform(-1, 1))


class Watched(ScriptedEvaluator[State]):
    """Remembers the states that it was asked for."""

    def __init__(self) -> None:
        super().__init__(answer)
        self.asked: list[list[State]] = []

    def evaluate(self, batch: StateBatch[State]) -> Evaluation:
        self.asked.append(list(batch.states))
        return super().evaluate(batch)


def states(*openings: list[int]) -> list[State]:
    return [state_after(GAME, actions) for actions in openings]


A, B, C, D = states([0], [1], [2], [3])


def same(evaluation: Evaluation, asked: list[State]) -> None:
    policies, values = zip(*map(answer, asked), strict=True)
    np.testing.assert_allclose(evaluation.policy, policies, rtol=1e-6)
    np.testing.assert_allclose(evaluation.value, values, rtol=1e-6)


def test_answers_are_those_of_the_evaluator_in_the_order_asked() -> None:
    cached = CachedEvaluator(Watched(), capacity=10)
    for asked in ([A, B], [B, C, A], [D, D, A], [C]):
        same(cached.evaluate(batch_of(GAME, asked)), asked)


def test_states_of_a_game_in_plain_python_are_remembered_too() -> None:
    asked: list[int] = []

    def script(state: tuple[int, int]) -> tuple[list[float], float]:
        asked.append(state[0])
        return [0.0, 1.0, 1.0], state[0] / 5

    cached = CachedEvaluator(ScriptedEvaluator(script), capacity=10)
    for _ in range(2):
        np.testing.assert_allclose(cached.evaluate(batch_of(Heap(), [(5, 0), (3, 1)])).value, [1.0, 0.6])
    assert asked == [5, 3]


def test_only_states_not_seen_before_are_passed_on_in_one_batch() -> None:
    watched = Watched()
    cached = CachedEvaluator(watched, capacity=10)
    for asked in ([A, B], [B, A], [A, C, B, D]):
        cached.evaluate(batch_of(GAME, asked))
    assert watched.asked == [[A, B], [C, D]]


def test_equal_states_of_one_batch_are_evaluated_once() -> None:
    watched = Watched()
    cached = CachedEvaluator(watched, capacity=10)
    same(cached.evaluate(batch_of(GAME, [A, B, A, A])), [A, B, A, A])
    assert [len(asked) for asked in watched.asked] == [2]


def test_transpositions_share_an_answer() -> None:
    watched = Watched()
    one_way, other_way = states([0, 1, 2], [2, 1, 0])
    CachedEvaluator(watched, capacity=10).evaluate(batch_of(GAME, [one_way, other_way]))
    assert len(watched.asked[0]) == 1


def test_packed_states_find_what_is_remembered_of_them() -> None:
    watched = Watched()
    cached = CachedEvaluator(watched, capacity=10)
    plain = batch_of(GAME, [A, B])
    packed = StateBatch(GAME, PackedStates(A, np.array([A, B], np.int64)), plain.legal, plain.streams)
    for _ in range(2):
        same(cached.evaluate(packed), [A, B])
    assert len(watched.asked) == 1


def test_it_counts_what_was_asked_and_what_was_evaluated() -> None:
    cached = CachedEvaluator(Watched(), capacity=10)
    for asked in ([A, B, A], [A, C]):
        cached.evaluate(batch_of(GAME, asked))
    assert (cached.num_requests, cached.num_evaluations, len(cached)) == (5, 3, 3)


def test_it_never_holds_more_than_its_capacity_and_drops_the_oldest_first() -> None:
    watched = Watched()
    cached = CachedEvaluator(watched, capacity=3)
    for asked in ([A, B], [C, D]):  # A is dropped
        cached.evaluate(batch_of(GAME, asked))
    assert len(cached) == 3
    same(cached.evaluate(batch_of(GAME, [B, C, D])), [B, C, D])
    assert len(watched.asked) == 2
    cached.evaluate(batch_of(GAME, [A]))
    assert watched.asked[-1] == [A]
    cached.evaluate(batch_of(GAME, [B]))  # dropped in its turn
    assert watched.asked[-1] == [B]


def test_a_batch_larger_than_the_cache_is_answered_in_full() -> None:
    cached = CachedEvaluator(Watched(), capacity=2)
    for _ in range(2):
        same(cached.evaluate(batch_of(GAME, [A, B, C, D, A])), [A, B, C, D, A])
    assert len(cached) == 2


def test_a_bad_answer_is_refused_in_the_name_of_the_evaluator_that_gave_it_and_not_remembered() -> None:
    answers: Iterator[Any] = iter([([np.nan] * 7, 0.0), ([1.0] * 7, 0.0)])
    cached = CachedEvaluator(ScriptedEvaluator[State](lambda _state: next(answers)), capacity=10)
    with pytest.raises(EvaluatorError, match="ScriptedEvaluator answered"):
        cached.evaluate(batch_of(GAME, [A]))
    assert cached.evaluate(batch_of(GAME, [A])).value[0] == 0


def test_a_cache_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="capacity=0"):
        CachedEvaluator(Watched(), capacity=0)


def test_threads_that_share_a_small_cache_all_get_right_answers() -> None:
    cached = CachedEvaluator(ScriptedEvaluator(answer), capacity=20)
    known = [state_after(GAME, [a, b, c]) for a in range(7) for b in range(7) for c in range(7)]
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        try:
            for _ in range(60):
                asked = [known[i] for i in generator.integers(60, size=8)]
                same(cached.evaluate(batch_of(GAME, asked)), asked)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(cached) == 20
