"""The bugs of `scripts/lesson.py` are real ones, and azero's own checks find each of them without any match."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from azero.evaluators.rollout import RolloutEvaluator
from azero.games.batch import batch_of
from azero.games.check import LawError, check_game
from azero.games.game import state_after, winner
from azero.games.tictactoe import TicTacToe
from azero.players.exhaustive import losing_lines
from azero.players.player import RandomPlayer
from azero.search.mcts import MCTS, Budget
from azero.search.result import best_action
from azero.search.uct import UCT

SCRIPT = Path(__file__).parents[1] / "scripts" / "lesson.py"
LESSON = runpy.run_path(str(SCRIPT))
BUGS, UNPROVEN = LESSON["BUGS"], LESSON["UNPROVEN"]
WRONG = [bug for bug in BUGS if bug != "none"]
WIN_IN_ONE = state_after(TicTacToe(), [0, 3, 1, 4])  # X takes cell 2


def search(bug, state, num_simulations):
    game, evaluator = BUGS[bug]
    return MCTS(game(), evaluator(), UCT(), UNPROVEN).search(state, Budget(num_simulations), stream=5)


def value_of(result, action):
    return float(result.q[list(result.actions).index(action)])


def test_without_a_bug_the_tree_is_that_of_azeros_game():
    true = MCTS(TicTacToe(), RolloutEvaluator(), UCT(), UNPROVEN).search(WIN_IN_ONE, Budget(300), stream=5)
    assert search("none", WIN_IN_ONE, 300).visit_counts.tolist() == true.visit_counts.tolist()


@pytest.mark.parametrize("bug", WRONG)
def test_every_bug_grows_another_tree(bug):
    assert search(bug, WIN_IN_ONE, 300).visit_counts.tolist() != search("none", WIN_IN_ONE, 300).visit_counts.tolist()


def test_the_checker_refuses_legal_actions_after_the_end():
    check_game(BUGS["none"][0]())
    with pytest.raises(
        LawError, match=r"is_terminal\(\) is True where legal are \[.*\], but a state is terminal if and"
    ):
        check_game(BUGS["terminal nodes"][0]())


def test_past_the_end_a_won_game_is_not_quite_won():
    assert value_of(search("none", WIN_IN_ONE, 1000), 2) == 1
    assert value_of(search("terminal nodes", WIN_IN_ONE, 1000), 2) < 0.99


def test_past_the_end_more_search_walks_into_a_loss_in_one_move():
    state = state_after(TicTacToe(), [4, 0, 8, 1])  # O is about to take cell 2
    for num_simulations in (100, 3000):
        assert best_action(search("none", state, num_simulations), stream=0) == 2
    few, many = (search("terminal nodes", state, number) for number in (100, 3000))
    assert best_action(few, stream=0) == 2
    assert best_action(many, stream=0) == 6
    assert value_of(many, 6) > 0.95


@pytest.mark.parametrize("bug", ["sign of finished games", "sign of both"])
def test_with_the_outcome_of_the_other_player_a_win_in_one_looks_lost(bug):
    assert value_of(search(bug, WIN_IN_ONE, 300), 2) == -1


@pytest.mark.parametrize("bug", ["sign of finished games", "sign of both"])
def test_random_games_show_whose_outcome_it_is(bug):
    num_first_wins = {}
    for name in ("none", bug):
        game = BUGS[name][0]()
        player = RandomPlayer(game)
        won = []
        for number in range(300):
            player.start(number)
            state = game.initial_state()
            while not game.is_terminal(state):
                state = game.step(state, player.choose(state))
            won.append(winner(game, state) == 0)
        num_first_wins[name] = sum(won)
    assert num_first_wins["none"] / 300 == pytest.approx(0.585, abs=0.08)
    assert num_first_wins[bug] / 300 == pytest.approx(0.288, abs=0.08)


@pytest.mark.parametrize("bug", ["sign of rollouts", "sign of both"])
def test_a_rollout_of_the_other_player_is_bad_where_the_mover_wins(bug):
    sound, swapped = (BUGS[name][1]() for name in ("none", bug))
    batch = batch_of(TicTacToe(), [WIN_IN_ONE] * 30)
    assert sound.evaluate(batch).value.mean() > 0
    assert swapped.evaluate(batch).value.mean() == -sound.evaluate(batch).value.mean()


@pytest.mark.parametrize("bug", BUGS)
def test_with_a_bug_there_are_lines_of_play_that_lose(bug):
    lines = list(losing_lines(TicTacToe(), LESSON["make_player"](bug, 100), seat=0))
    assert bool(lines) == (bug != "none")


@pytest.mark.compiled
def test_the_lesson_runs_and_is_drawn(tmp_path):
    picture = tmp_path / "lesson.png"
    command = [sys.executable, str(SCRIPT), "--games=2", f"--picture={picture}"]
    environment = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[1])}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    assert all(done.stdout.count(f" {bug} ") == 2 for bug in BUGS)
    assert picture.read_bytes().startswith(b"\x89PNG")
