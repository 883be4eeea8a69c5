import re
from itertools import islice

import numpy as np
import pytest

from azero.games.breakthrough import Breakthrough
from azero.games.check import check_game
from azero.games.game import result_text, state_after
from azero.search.alphabeta import AlphaBeta, Limits
from tests.games.playing import layers, random_game, states_along
from tests.naive.breakthrough import Breakthrough as Naive
from tests.naive.minimax import minimax

GAME = Breakthrough()
SMALL = Breakthrough(rows=4, columns=3, ranks=1)
# Every line of play, by the naive twin: the first player's value, and the plies to the end.
SMALL_BOARDS = {(3, 3, 1): (1, 5), (4, 2, 1): (-1, 6), (4, 2, 2): (-1, 8), (4, 3, 1): (1, 9), (5, 2, 1): (1, 7)}


def played(game, text):
    """The state after actions such as "a2b b7b"."""
    return state_after(game, map(game.parse_action, text.split()))


def legal(game, state):
    return " ".join(map(game.action_text, game.legal_actions(state)))


@pytest.mark.parametrize(
    ("game", "counts"),
    [(GAME, [1, 22, 484, 11132]), (Breakthrough(rows=6, columns=4), [1, 10, 100, 1074, 11232])],
    ids=["8 x 8", "6 x 4"],
)
def test_there_are_as_many_lines_of_play_as_open_spiel_counts(game, counts):
    assert [sum(ply.values()) for ply in islice(layers(game), len(counts))] == counts


@pytest.mark.parametrize(("size", "result"), SMALL_BOARDS.items(), ids=str)
def test_small_boards_are_won_by_whom_brute_force_says(size, result):
    twin, game = Naive(*size), Breakthrough(*size)
    assert minimax(twin, twin.initial_state(), -1, {}) == result
    solution = AlphaBeta(game).search(game.initial_state(), Limits())
    assert solution.value == result[0]
    assert max(solution.plies) == result[1]


@pytest.mark.parametrize(
    "size", [(2, 2, 1), (4, 3, 1), (5, 5, 2), (6, 8, 2), (8, 4, 3)], ids=lambda size: "{} x {}, {} ranks".format(*size)
)
def test_the_laws_hold_and_the_naive_twin_agrees_on_other_boards(size):
    game, twin = Breakthrough(*size), Naive(*size)
    assert check_game(game, num_games=2, seed=1) > 0
    for seed in range(20):
        actions = random_game(game, seed)
        for state, other in zip(states_along(game, actions), states_along(twin, actions), strict=True):
            assert game.legal_actions(state) == twin.legal_actions(other)
            assert game.state_text(state) == twin.picture(other)


def test_pieces_step_forward_straight_or_diagonally_and_capture_diagonally_only():
    state = SMALL.parse_state(
        """
        4 . . O
        3 . O .
        2 . X .
        1 X . X
          a b c
        X next"""
    )
    assert legal(SMALL, state) == "a1a c1c b2a b2c"  # b2 is blocked ahead, and a1 and c1 do not take their own
    after = SMALL.step(state, SMALL.parse_action("b2a"))
    assert legal(SMALL, after) == "b3a b3b b3c c4c"


def test_a_capture_removes_the_piece():
    state = played(SMALL, "a1a c4b")
    assert SMALL.state_text(state) == "4 O O .\n3 . O .\n2 X . .\n1 . X X\n  a b c\nX next"
    after = SMALL.step(state, SMALL.parse_action("a2b"))
    assert SMALL.state_text(after) == "4 O O .\n3 . X .\n2 . . .\n1 . X X\n  a b c\nO next"


def test_who_reaches_the_last_row_has_won():
    for moves, name in [("a1a c4c a2a c3c a3b", "X wins"), ("a1a c4c a2a c3c b1b c2b", "O wins")]:
        last = played(SMALL, moves)
        assert legal(SMALL, last) == ""
        assert SMALL.outcome(last) == -1
        assert result_text(SMALL, last) == name


def test_who_has_no_piece_left_has_lost():
    text = "4 . . .\n3 . O .\n2 X . .\n1 . . .\n  a b c\nX next"
    last = SMALL.step(SMALL.parse_state(text), SMALL.parse_action("a2b"))
    assert last.lost
    assert result_text(SMALL, last) == "X wins"
    assert SMALL.parse_state(SMALL.state_text(last)) == last


def test_somebody_can_always_move_until_somebody_has_won():
    for seed in range(200):
        actions = random_game(SMALL, seed)
        *_, last = states_along(SMALL, actions)
        assert last.lost
        assert len(actions) <= SMALL.max_game_length


def test_the_corners_of_the_full_board_are_the_ends_of_a_word():
    state = GAME.initial_state()
    assert state.other < 0  # h8 is bit 63, the sign
    assert GAME.state_text(state).splitlines()[0] == "8 O O O O O O O O"
    moved = played(GAME, "a2a h7h b2b h8h")
    assert GAME.state_text(moved).splitlines()[:2] == ["8 O O O O O O O .", "7 O O O O O O O O"]


def test_an_observation_shows_the_movers_pieces_first_and_which_way_they_go():
    first = GAME.observation(GAME.initial_state())
    assert first[:, -1].tolist() == [[1] * 8, [0] * 8, [0] * 8]
    second = GAME.observation(played(GAME, "a2a"))
    assert second[:, 0].tolist() == [[1] * 8, [0] * 8, [1] * 8]
    assert second[1, :, 0].tolist() == [0, 0, 0, 0, 0, 1, 0, 1]


def test_the_mirror_image_moves_pieces_and_actions_and_one_of_both_is_canonical():
    (mirror,) = GAME.symmetries()
    state = played(GAME, "a2b h7h c2c")
    image = mirror.state(state)
    assert image == played(GAME, "h2g a7a f2f")
    assert GAME.action_text(mirror.actions[GAME.parse_action("a2b")]) == "h2g"
    assert GAME.rules.canonical(image) == GAME.rules.canonical(state)
    assert np.array_equal(GAME.observation(image), GAME.observation(state)[:, :, ::-1])


def test_an_action_is_the_cell_of_a_piece_and_its_next_column():
    texts = [GAME.action_text(action) for action in range(GAME.num_actions)]
    assert len(set(texts)) == 192
    assert texts[:3] == ["a1<", "a1a", "a1b"]
    assert texts[-3:] == ["h8g", "h8h", "h8>"]
    assert GAME.parse_action("a2b3") == GAME.parse_action("a2b") == texts.index("a2b")
    assert GAME.parse_action("a7b6") == texts.index("a7b")
    for wrong in ("a2b4", "a2b2", "a2c3", "a9a8"):
        with pytest.raises(ValueError, match=f"'{wrong}' is no action of breakthrough: write the cell of a piece and"):
            GAME.parse_action(wrong)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is a picture like\n4 O O O\n3 . . .\n2 . . .\n1 X X X\n  a b c\nX next\nnot\n"),
        ("4 O O O\n3 . . .\n1 X X X\n  a b c\nX next", "is a picture like"),
        ("4 O O O\n3 . . .\n2 . # .\n1 X X X\n  a b c\nX next", "is a picture like"),
        ("4 O O O\n3 . . .\n2 . . .\n1 X X X\n  a b c\n", "is a picture like"),
        ("4 O O O\n3 . . .\n2 . X .\n1 X X X\n  a b c\nX next", "each side has at most 3 pieces"),
        ("4 O X O\n3 . . .\n2 . . .\n1 X . X\n  a b c\nX next", "has won already"),
        ("4 O . O\n3 . . .\n2 . . .\n1 X O X\n  a b c\nO next", "has won already"),
        ("4 . . .\n3 . . .\n2 . . .\n1 X . X\n  a b c\nX next", "has won already"),
    ],
)
def test_a_picture_of_no_state_is_refused(text, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        SMALL.parse_state(text)


@pytest.mark.parametrize("size", [(9, 8, 2), (8, 9, 2), (1, 8, 1), (8, 1, 2), (8, 8, 0), (5, 5, 3)])
def test_a_board_that_cannot_be_played_is_refused(size):
    said = "got {} rows, {} columns, {} ranks".format(*size)
    with pytest.raises(ValueError, match=f"rows and columns must be 2 to 8, and ranks 1 to half the rows; {said}"):
        Breakthrough(*size)
