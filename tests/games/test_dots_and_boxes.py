import re

import numpy as np
import pytest

from azero._jit import kernel, lowest_bit, with_field
from azero.games.check import check_game
from azero.games.compiled import step
from azero.games.dots_and_boxes import DotsAndBoxes, State
from azero.games.game import result_text, state_after
from tests.games.playing import random_game, states_along
from tests.naive.dots_and_boxes import DotsAndBoxes as Naive
from tests.naive.minimax import minimax

GAME = DotsAndBoxes()


def played(game, text):
    """The state after actions such as "a1b1 a1a2"."""
    return state_after(game, map(game.parse_action, text.split()))


@kernel
def solve(rules, start, best):
    """For each set of lines drawn, by how many boxes the mover gets more of the rest than the opponent."""
    full = len(best) - 1
    for lines in range(full - 1, -1, -1):
        most, remaining = -1000, full & ~lines
        while remaining:
            line = lowest_bit(remaining)
            remaining ^= 1 << line
            after = step(rules, with_field(start, 0, lines), line)
            rest = best[after.lines]
            most = max(most, after.margin + rest if after.player == 0 else -rest)
        best[lines] = most


def margin(rows, columns):
    """By how many boxes the first player wins, if both play as well as can be."""
    game = DotsAndBoxes(rows, columns)
    best = np.zeros(1 << game.num_actions, np.int8)
    solve(game.rules, game.initial_state(), best)
    return best[0]


@pytest.mark.parametrize(
    ("rows", "columns", "boxes"),
    [
        (1, 1, -1),  # the fourth line is the second player's
        (1, 2, 0),
        (2, 2, 2),  # 3 to 1: Berlekamp, Conway, Guy, "Winning Ways", chapter 16; Wikipedia, "Dots and boxes"
        (1, 3, -1),
        (1, 4, 0),
    ],
)
def test_small_boards_have_their_known_values(rows, columns, boxes):
    assert margin(rows, columns) == margin(columns, rows) == boxes


@pytest.mark.compiled
def test_the_second_player_wins_the_default_board_by_three_boxes():
    assert margin(3, 3) == -3


def test_the_first_line_on_2_x_2_must_be_an_outer_one():
    """An inner one lets the opponent mirror every action: puzzling.stackexchange.com, "Optimal Play for 2 by 2"."""
    game, twin, memory = DotsAndBoxes(2, 2), Naive(2, 2), {}
    for action in range(12):
        value, _ = minimax(twin, twin.step(twin.initial_state(), action), -1, memory)
        is_inner = "b2" in game.action_text(action)
        assert value == (0 if is_inner else -1)


def test_who_closes_a_box_moves_again_and_two_boxes_at_once_count_as_two():
    game = DotsAndBoxes(1, 2)
    state = played(game, "a1b1 b1c1 a2b2 b2c2 a1a2 c1c2")
    assert (game.current_player(state), game.num_boxes(state)) == (0, (0, 0))
    last = game.step(state, game.parse_action("b1b2"))
    assert (game.current_player(last), game.num_boxes(last)) == (0, (2, 0))
    assert (game.legal_actions(last), game.outcome(last), result_text(game, last)) == ([], 1, "X wins")
    one = played(game, "a1b1 a1a2 a2b2 b1b2")
    assert (game.current_player(one), one.margin, game.num_boxes(one)) == (1, 1, (0, 1))
    other = game.step(one, game.parse_action("b1c1"))
    assert (game.current_player(other), other.margin) == (0, -1)


def test_as_many_boxes_for_both_are_a_draw():
    game = DotsAndBoxes(1, 2)
    last = played(game, "a1b1 a1a2 b1c1 a2b2 b1b2 b2c2 c1c2")
    assert game.num_boxes(last) == (1, 1)
    assert game.outcome(last) == 0
    assert result_text(game, last) == "draw"


@pytest.mark.parametrize("size", [(1, 1), (1, 20), (2, 3), (5, 5)], ids=lambda size: f"{size[0]} x {size[1]} boxes")
def test_the_laws_hold_and_the_naive_twin_agrees_on_other_boards(size):
    game, twin = DotsAndBoxes(*size), Naive(*size)
    assert check_game(game, num_games=1, seed=1) > 0
    actions = random_game(game, seed=2)
    for state, other in zip(states_along(game, actions), states_along(twin, actions), strict=True):
        assert game.num_boxes(state) == other[1]
        assert game.state_text(state) == twin.picture(other)
        assert game.legal_actions(state) == twin.legal_actions(other)
        assert game.observation(state).tolist() == np.float32(twin.observation(other)).tolist()
    assert game.outcome(state) == twin.outcome(other)


def test_a_board_is_drawn_with_its_dots_named_and_read_back():
    state = played(GAME, "a1b1 a2b2 a1a2 b1b2 b1c1")
    picture = [
        "   a   b   c   d",
        "1  +---+---+   +",
        "   |   |",
        "2  +---+   +   +",
        "",
        "3  +   +   +   +",
        "",
        "4  +   +   +   +",
        "X 0, O 1, X next",
    ]
    assert [row.rstrip() for row in GAME.state_text(state).splitlines()] == picture
    assert GAME.parse_state("\n" + "\n".join(f"{row}  " for row in picture) + "\n") == state


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("X 0, O 1", "X 0, O 2"),  # more boxes than are closed
        ("X 0, O 1", "X 0, O 0"),  # fewer
        ("X next", "Z next"),
        ("X next", ""),
        ("2  +---+", "2  +-- +"),
        ("4  +   +   +   +\n", ""),
        ("   a   b", "   b   a"),
    ],
)
def test_a_picture_of_no_state_is_refused(old, new):
    text = GAME.state_text(played(GAME, "a1b1 a2b2 a1a2 b1b2 b1c1"))
    with pytest.raises(ValueError, match=r"a state of dots_and_boxes is a picture like\n   a   b   c   d\n1  \+   \+"):
        GAME.parse_state(text.replace(old, new))
    with pytest.raises(ValueError, match="is a picture like"):
        GAME.parse_state("")


@pytest.mark.parametrize("size", [(0, 3), (3, 0), (-2, -2), (5, 6), (1, 21)])
def test_a_board_that_cannot_be_played_is_refused(size):
    complaint = f"a board of {size[0]} x {size[1]} boxes cannot be played: it needs at least one box, and at most 62"
    with pytest.raises(ValueError, match=re.escape(complaint)):
        DotsAndBoxes(*size)


def test_a_square_has_eight_symmetries_a_rectangle_four_and_all_images_one_canonical_state():
    for size, number in [((3, 3), 8), ((2, 3), 4)]:
        game = DotsAndBoxes(*size)
        images = {symmetry.actions for symmetry in game.symmetries()} | {tuple(range(game.num_actions))}
        assert len(images) == number
        assert {tuple(b[a[line]] for line in range(game.num_actions)) for a in images for b in images} == images
        state = state_after(game, random_game(game, seed=3)[:7])
        for symmetry in game.symmetries():
            assert game.rules.canonical(symmetry.state(state)) == game.rules.canonical(state)


def test_the_margin_is_the_movers_and_so_is_the_observation():
    state = played(GAME, "a1b1 a2b2 a1a2 b1b2")
    assert state == State(state.lines, 1, 1)
    planes = GAME.observation(state)
    assert planes[2].tolist() == np.full((7, 7), np.float32(1 / 9)).tolist()
    assert planes[0].sum() == 4
    assert (planes[0] + planes[1]).sum() == 24
    assert GAME.observation(GAME.step(state, 23))[2, 0, 0] == np.float32(-1 / 9)
