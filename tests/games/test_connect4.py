from itertools import combinations, islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers, sets

from azero.games import load_game
from azero.games.connect4 import Connect4, has_four
from azero.games.game import IllegalActionError, result_text, state_after, winner
from tests.games.playing import layers, random_game, states_along
from tests.naive import games as naive

GAME = Connect4()
CELLS = [7 * column + row for row in reversed(range(6)) for column in range(7)]  # the bit of each printed cell
LAST_STONE_WINS = [int(column) - 1 for column in "211131416572345677654327654322345677654321"]
DRAW = [int(column) for column in "131111135230432552606400042630542244655663"]


def bits(cells):
    return sum(1 << CELLS[cell] for cell in cells)


def test_the_tree_has_the_known_numbers_of_move_sequences_and_positions():
    plies = list(islice(layers(GAME), 8))
    assert [sum(ply.values()) for ply in plies] == [1, 7, 49, 343, 2401, 16807, 117649, 823536]
    assert [len(ply) for ply in plies[:7]] == [1, 7, 49, 238, 1120, 4263, 16422]


def test_of_all_boards_of_four_stones_exactly_the_69_lines_are_four_in_a_row():
    lines = {tuple(sorted(line)) for line in naive.Connect4.lines}
    assert len(lines) == 69
    assert {cells for cells in combinations(range(42), 4) if has_four(bits(cells))} == lines


def test_three_of_the_four_stones_of_a_line_are_not_enough():
    for line in naive.Connect4.lines:
        for missing in line:
            assert not has_four(bits(set(line) - {missing}))


@given(sets(integers(0, 41), min_size=8, max_size=24))
def test_any_board_has_four_in_a_row_if_it_contains_one_of_the_69_lines(cells):
    assert has_four(bits(cells)) == any(cells.issuperset(line) for line in naive.Connect4.lines)


def test_five_six_and_seven_in_a_row_count_as_four():
    for line in naive.all_lines(6, 7, 5) + naive.all_lines(6, 7, 6) + naive.all_lines(6, 7, 7):
        assert has_four(bits(line))


def test_the_42nd_stone_may_win():
    *before, last = states_along(GAME, LAST_STONE_WINS)
    assert len(before) == 42
    assert not any(map(GAME.is_terminal, before))
    assert GAME.outcome(last) == -1
    assert result_text(GAME, last) == "O wins"


def test_42_stones_without_a_four_are_a_draw_for_both():
    *before, last = states_along(GAME, DRAW)
    assert len(before) == 42
    assert not any(map(GAME.is_terminal, before))
    assert GAME.is_terminal(last)
    assert GAME.outcome(last) == 0
    assert winner(GAME, last) is None


@pytest.mark.parametrize(
    ("actions", "result"),
    [
        ([0, 3, 0, 5, 0, 1, 4, 3, 0], "X wins"),  # column 0, rows 0-3
        ([6, 3, 6, 6, 2, 6, 3, 6, 5, 5, 4, 6], "O wins"),  # column 6, rows 2-5
    ],
)
def test_four_upwards_wins_with_its_last_stone_at_any_height(actions, result):
    *before, last = states_along(GAME, actions)
    assert not any(map(GAME.is_terminal, before))
    assert result_text(GAME, last) == result


def test_a_full_column_is_not_legal():
    full = state_after(GAME, [0] * 6)
    assert GAME.legal_actions(full) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(IllegalActionError, match="connect4: 0 is not legal here; legal: 1 2 3 4 5 6"):
        GAME.step(full, 0)


def test_the_mirror_takes_column_0_to_column_6_in_state_policy_and_observation():
    (mirror,) = GAME.symmetries()
    assert mirror.actions == (6, 5, 4, 3, 2, 1, 0)
    state, image = state_after(GAME, [0, 0, 1]), state_after(GAME, [6, 6, 5])
    assert mirror.state(state) == image
    assert np.array_equal(GAME.observation(state)[:, :, ::-1], GAME.observation(image))
    assert np.array_equal(
        GAME.observation(state).reshape(2, 42)[:, mirror.cells], GAME.observation(image).reshape(2, 42)
    )


def test_the_observation_shows_the_movers_stones_first_and_the_top_row_first():
    planes = GAME.observation(state_after(GAME, [3, 3, 0]))
    assert np.argwhere(planes[0]).tolist() == [[4, 3]]
    assert np.argwhere(planes[1]).tolist() == [[5, 0], [5, 3]]


def test_a_picture_has_x_o_dots_and_column_numbers():
    assert GAME.state_text(state_after(GAME, [3, 3, 0])) == (
        ". . . . . . .\n. . . . . . .\n. . . . . . .\n. . . . . . .\n. . . O . . .\nX . . X . . .\n0 1 2 3 4 5 6"
    )


EMPTY_ROWS = ". . . . . . .\n" * 4


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (". . .\n. . .\n. . .", "6 rows and 7 columns is needed"),
        (EMPTY_ROWS + ". . . . . . .\n. . 1 . . . .", "X, O or ., not '1'"),
        (EMPTY_ROWS + ". . . . . . .\n. . O . . . .", "X moves first"),
        (EMPTY_ROWS + ". . X . . . .\n. . . . . . .", "hangs in the air"),
        (EMPTY_ROWS + "O O O . . . .\nX X X X O . .", "already has four in a row"),
    ],
)
def test_a_picture_of_no_position_is_refused(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        GAME.parse_state(text)


@pytest.mark.parametrize("seed", range(50))
def test_what_the_benchmark_plays_in_plain_python_is_connect_four(seed):
    plain = load_game(f"{Path(__file__).parents[2] / 'scripts' / 'plain_connect4.py'}:Connect4")
    actions = random_game(GAME, seed)
    for other, state in zip(states_along(plain, actions), states_along(GAME, actions), strict=True):
        assert plain.current_player(other) == GAME.current_player(state)
        assert list(plain.legal_actions(other)) == list(GAME.legal_actions(state))
    assert plain.outcome(other) == GAME.outcome(state)
