import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists, permutations, sampled_from

from azero.games.board import (
    board_text,
    parse_board,
    permute_bits,
    rectangle_symmetries,
    square_grid,
    without_labels,
)

GRID = square_grid(2, 3)


def test_a_square_grid_counts_row_by_row():
    assert GRID == ((0, 1, 2), (3, 4, 5))


def test_a_picture_shows_the_first_board_as_x_and_the_second_as_o():
    assert board_text(GRID, 0b000001, 0b100010) == "X O .\n. . O"
    assert board_text(GRID, 0b000001, 0b100010, empty="_") == "X O _\n_ _ O"


@given(
    lists(sampled_from([0, 1, 2]), min_size=6, max_size=6).filter(
        lambda cells: cells.count(0) - cells.count(1) in (0, 1)
    )
)
def test_a_picture_is_read_back_whatever_stands_below_it(cells):
    boards = tuple(sum(1 << bit for bit, cell in enumerate(cells) if cell == player) for player in (0, 1))
    assert parse_board(GRID, board_text(GRID, *boards) + "\n0 1 2") == boards


@pytest.mark.parametrize("text", ["X O", "X O .\n. . . .", "XO.\n...", "", "X O ."])
def test_a_picture_of_another_size_is_refused(text):
    with pytest.raises(ValueError, match="a board of 2 rows and 3 columns is needed, got "):
        parse_board(GRID, text)


@given(integers(0, 2**6 - 1), permutations(range(6)))
def test_bits_move_to_their_destinations_and_back(bits, destinations):
    moved = permute_bits(bits, destinations)
    assert all(bits >> bit & 1 == moved >> destinations[bit] & 1 for bit in range(6))
    assert permute_bits(moved, {destination: bit for bit, destination in enumerate(destinations)}) == bits


def test_a_square_has_three_rotations_and_four_reflections():
    corners_and_centre = [(moves[0], moves[2], moves[4], moves[8]) for moves in rectangle_symmetries(3, 3)]
    rotations, reflections = corners_and_centre[:3], corners_and_centre[3:]
    assert rotations == [(2, 8, 4, 6), (8, 6, 4, 0), (6, 0, 4, 2)]
    assert set(reflections) == {(2, 0, 4, 6), (6, 8, 4, 2), (0, 6, 4, 8), (8, 2, 4, 0)}


@pytest.mark.parametrize("size", [2, 3, 8])
def test_symmetries_of_a_square_are_different_permutations_that_keep_neighbours(size):
    symmetries = rectangle_symmetries(size, size)
    assert len({tuple(range(size * size)), *symmetries}) == 8
    for moves in symmetries:
        assert sorted(moves) == list(range(size * size))
        for cell in range(size * size - 1):
            (row, column), (next_row, next_column) = divmod(moves[cell], size), divmod(moves[cell + 1], size)
            is_neighbour = abs(row - next_row) + abs(column - next_column) == 1
            assert is_neighbour == (cell % size != size - 1)


@pytest.mark.parametrize(("rows", "columns", "number"), [(2, 3, 3), (3, 2, 3), (1, 4, 1), (4, 1, 1), (1, 1, 0)])
def test_a_rectangle_has_a_rotation_and_two_reflections_of_which_a_line_has_one(rows, columns, number):
    symmetries = rectangle_symmetries(rows, columns)
    assert len({*symmetries, tuple(range(rows * columns))}) == number + 1
    assert all(sorted(moves) == list(range(rows * columns)) for moves in symmetries)


def test_a_rectangle_turned_or_reflected():
    assert rectangle_symmetries(2, 3) == [(5, 4, 3, 2, 1, 0), (2, 1, 0, 5, 4, 3), (3, 4, 5, 0, 1, 2)]


def test_numbers_and_letters_around_a_board_are_left_out():
    assert without_labels("   a b x\n10 X . O\n 9 . . .\n   a b x").split("\n")[1:3] == ["X . O", ". . ."]
    assert parse_board(GRID, without_labels("  a b c\n 1 X O .\n  2 . . X\n")) == (0b100001, 0b000010)
