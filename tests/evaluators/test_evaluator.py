"""The evaluator contract: what `checked` mends, and what it refuses by name."""

import numpy as np
import pytest

from azero.evaluators.evaluator import Evaluation, EvaluatorError, checked
from azero.evaluators.scripted import ScriptedEvaluator
from azero.evaluators.uniform import UniformEvaluator
from azero.games import load_game
from azero.games.batch import StateBatch, batch_of
from azero.games.connect4 import Connect4, State
from azero.games.game import state_after

GAME = Connect4()
FULL_COLUMN = state_after(GAME, [0] * 6)  # column 0 is full


def answering(policy: list[float], value: float = 0.0) -> ScriptedEvaluator[State]:
    return ScriptedEvaluator(lambda _state: (policy, value))


def one_state() -> StateBatch[State]:
    return batch_of(GAME, [FULL_COLUMN])


def test_a_policy_that_is_all_on_illegal_actions_becomes_uniform_over_the_legal_ones() -> None:
    policy, _ = checked(answering([1, 0, 0, 0, 0, 0, 0]), one_state())
    np.testing.assert_allclose(policy, [[0, *[1 / 6] * 6]])


def test_a_policy_is_cut_to_legal_actions_and_scaled_to_sum_to_one() -> None:
    policy, _ = checked(answering([7, 1, 3, 0, 0, 0, 0]), one_state())
    np.testing.assert_allclose(policy, [[0, 0.25, 0.75, 0, 0, 0, 0]])
    assert policy.dtype == np.float32


def test_a_tiny_or_huge_scale_of_the_policy_does_not_matter() -> None:
    for scale in (1e-30, 1e30):
        policy, _ = checked(answering([0, scale, scale, 0, 0, 0, 0]), one_state())
        np.testing.assert_allclose(policy, [[0, 0.5, 0.5, 0, 0, 0, 0]])


@pytest.mark.parametrize(
    ("policy", "value"),
    [
        ([np.nan] * 7, 0.0),
        ([0, np.inf, 0, 0, 0, 0, 0], 0.0),
        ([0, -0.1, 1.1, 0, 0, 0, 0], 0.0),
        ([1.0] * 7, np.nan),
        ([1.0] * 7, 1.01),
        ([1.0] * 7, -np.inf),
    ],
)
def test_an_answer_no_search_can_use_is_refused_with_the_evaluator_and_the_state(
    policy: list[float], value: float
) -> None:
    with pytest.raises(EvaluatorError, match="ScriptedEvaluator answered") as error:
        checked(answering(policy, value), one_state())
    assert GAME.state_text(FULL_COLUMN) in str(error.value)


def test_the_state_at_fault_is_named_among_the_others() -> None:
    start, after = GAME.initial_state(), state_after(GAME, [3])
    evaluator = ScriptedEvaluator[State](lambda state: ([1.0] * 7, np.nan if state == after else 0.0))
    with pytest.raises(EvaluatorError) as error:
        checked(evaluator, batch_of(GAME, [start, after, start]))
    assert GAME.state_text(after) in str(error.value)


def test_a_wrong_shape_is_refused_with_the_right_one() -> None:
    with pytest.raises(EvaluatorError, match=r"\(1, 9\).*connect4 need \(1, 7\) and \(1,\)"):
        checked(answering([1.0] * 9), one_state())


def test_values_in_a_column_are_refused_not_broadcast() -> None:
    class Columns:
        def evaluate(self, batch: StateBatch[State], /) -> Evaluation:
            return Evaluation(np.ones((len(batch), 7), np.float32), np.zeros((len(batch), 1), np.float32))

    with pytest.raises(EvaluatorError, match="Columns answered"):
        checked(Columns(), one_state())


def test_a_scripted_evaluator_answers_state_by_state() -> None:
    start, after = GAME.initial_state(), state_after(GAME, [3])
    evaluator = ScriptedEvaluator[State](lambda state: (range(7), 0.5 if state == start else -0.25))
    policy, value = evaluator.evaluate(batch_of(GAME, [start, after]))
    np.testing.assert_array_equal(policy, [range(7), range(7)])
    np.testing.assert_array_equal(value, np.array([0.5, -0.25], np.float32))


@pytest.mark.parametrize("name", ["tictactoe", "connect4"])
def test_the_uniform_evaluator_prefers_no_action_and_no_player(name: str) -> None:
    game = load_game(name)
    states = [game.initial_state(), state_after(game, [0, 1, 0])] if name == "connect4" else [game.initial_state()]
    batch = batch_of(game, states)
    policy, value = checked(UniformEvaluator(), batch)
    np.testing.assert_allclose(policy, batch.legal / batch.legal.sum(axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_array_equal(value, np.zeros(len(states)))
