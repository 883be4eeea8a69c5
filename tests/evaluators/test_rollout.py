"""Rollouts where a player may move twice in a row, and what the evaluator refuses."""

import pytest

from azero.evaluators.rollout import HeuristicPolicy, RandomPolicy, RolloutEvaluator
from azero.games.batch import batch_of
from azero.games.check import check_game
from azero.games.game import Game


class Encore(Game):
    """Take one of a heap and move again, or two and hand over; who takes the last has won."""

    name = "encore"
    num_actions = 2
    max_game_length = 5

    def initial_state(self):
        return 5, 0, 0  # what is left, who is to move, who moved last

    def current_player(self, state):
        return state[1]

    def legal_actions(self, state):
        return range(min(2, state[0]))

    def step(self, state, action):
        left, player, _ = state
        return left - action - 1, player ^ action, player

    def outcome(self, state):
        return 1.0 if state[1] == state[2] else -1.0


def test_the_game_of_these_tests_keeps_the_laws() -> None:
    check_game(Encore())


@pytest.mark.parametrize("left", [1, 2, 3, 4])
@pytest.mark.parametrize("player", [0, 1])
def test_a_player_who_moves_again_wins_for_himself(left: int, player: int) -> None:
    states = [(left, player, 1 - player)] * 20
    assert set(RolloutEvaluator(HeuristicPolicy()).evaluate(batch_of(Encore(), states)).value) == {1.0}


def test_a_careless_player_hands_the_win_over() -> None:
    states = [(3, 0, 1)] * 20
    assert set(RolloutEvaluator(RandomPolicy()).evaluate(batch_of(Encore(), states)).value) == {1.0, -1.0}


@pytest.mark.parametrize("num_rollouts", [0, -1])
def test_no_rollouts_are_refused(num_rollouts: int) -> None:
    with pytest.raises(ValueError, match=f"num_rollouts must be at least 1, got {num_rollouts}"):
        RolloutEvaluator(RandomPolicy(), num_rollouts)
