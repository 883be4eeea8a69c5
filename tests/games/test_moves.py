import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers

from azero.games import load_game
from azero.games.connect4 import Connect4
from azero.games.game import IllegalActionError, state_after
from azero.games.moves import moves_text, moves_words, parse_moves
from azero.games.tictactoe import TicTacToe
from tests.games.playing import ALL_GAMES, random_game

C4 = Connect4()
OTHELLO = load_game("othello")
PASSING = load_game("othello(size=4)")


class Worded(TicTacToe):
    """Tic-tac-toe whose actions are several words, and which takes numbers too."""

    def action_text(self, action):
        return f"Cell {action + 1} of 9"

    def parse_action(self, text):
        return int(text) if text.isdecimal() else super().parse_action(text)


@pytest.mark.parametrize("text", ["3 3 2 0", "3320", "33 20", " 3\n32\t0 "])
def test_moves_may_stand_apart_or_run_together(text):
    assert parse_moves(C4, text) == ([3, 3, 2, 0], state_after(C4, [3, 3, 2, 0]))


def test_othello_is_written_as_people_write_it():
    actions, state = parse_moves(OTHELLO, "f5d6c3d3")
    assert state == state_after(OTHELLO, actions)
    assert moves_text(OTHELLO, actions) == "f5d6c3d3"
    assert parse_moves(OTHELLO, "F5 d6 C3 d3")[0] == parse_moves(OTHELLO, "F5D6C3D3")[0] == actions


def test_long_numbers_are_not_taken_for_short_ones():
    game = load_game("gomoku")
    texts = [game.action_text(action) for action in parse_moves(game, "h8h10a1a11")[0]]
    assert texts == ["h8", "h10", "a1", "a11"]
    assert moves_text(game, map(game.parse_action, texts)) == "h8 h10 a1 a11"


def games_with_a_pass():
    for seed in range(50):
        actions = random_game(PASSING, seed)
        if PASSING.num_actions - 1 in actions:
            yield actions


def test_forced_passes_may_be_written_or_left_out():
    games = list(games_with_a_pass())
    assert games
    for actions in games:
        assert "pass" not in moves_text(PASSING, actions)
        assert "pass" in moves_words(PASSING, actions)
        assert parse_moves(PASSING, moves_words(PASSING, actions))[0] == actions
        assert parse_moves(PASSING, moves_text(PASSING, actions))[0] == actions


def test_moves_go_on_from_a_state():
    start = state_after(C4, [3, 3])
    assert parse_moves(C4, "20", start) == ([2, 0], state_after(C4, [3, 3, 2, 0]))
    assert parse_moves(C4, "", start) == ([], start)


def test_actions_of_several_words_are_written_as_one():
    assert moves_words(Worded(), [3, 0]) == moves_text(Worded(), [3, 0]) == "Cell_4_of_9 Cell_1_of_9"
    assert parse_moves(Worded(), "cell_4_of_9 Cell_1_of_9")[0] == [3, 0]
    assert parse_moves(Worded(), "3 0")[0] == [3, 0]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("3 7", "'7' is no action of connect4; allowed: 0 1 2"), ("33x2", "'33x2' is no action"), ("4a", "'4a' is no")],
)
def test_what_is_no_action_is_refused(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_moves(C4, text)


def test_what_the_rules_do_not_allow_is_refused():
    with pytest.raises(IllegalActionError, match="3 is not legal here; legal: 0 1 2 4 5 6"):
        parse_moves(C4, "3333333")
    with pytest.raises(IllegalActionError, match="the game is over"):
        parse_moves(C4, "01010101")


@pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.name)
@settings(max_examples=10)
@given(seed=integers(0, 1000))
def test_every_game_is_read_back_from_both_ways_to_write_it(game, seed):
    actions = random_game(game, seed)
    assert parse_moves(game, moves_words(game, actions))[0] == actions
    for number in range(max(0, len(actions) - 3), len(actions) + 1):
        assert parse_moves(game, moves_text(game, actions[:number]))[0] == actions[:number]


def test_a_pass_that_nothing_follows_is_written():
    game, text = load_game("othello"), "e6f6c4c5c6d6g7f4g4g6e7h8h6g5g8f8pass"
    actions, state = parse_moves(game, text)
    assert len(actions) == 17
    assert game.current_player(state) == 1 - game.current_player(parse_moves(game, text.removesuffix("pass"))[1])
    assert moves_text(game, actions) == text
