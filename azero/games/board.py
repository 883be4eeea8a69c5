"""What games of stones have in common whose boards are integers, one bit a cell: rules, pictures, parsing, symmetries.

A `Grid` names the bit of each cell as people see the board: rows from the top, columns from the left.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from azero._jit import compilable, with_field
from azero.games.compiled import CompiledGame
from azero.games.game import Symmetry

S = TypeVar("S", bound=Hashable)
Grid = Sequence[Sequence[int]]


class StoneRules(NamedTuple):
    """Rules, without parameters, by which X and O put stones in turn until one has a line: the part all share.

    A state has `num_stones` on the board, and `lost`, 1 if the player who has just moved has a line.
    """

    def current_player(self, state: Any) -> int:
        """X moves on even stone counts."""
        player: int = state.num_stones & 1
        return player

    def outcome(self, state: Any) -> float:
        """The mover of a finished game has lost it or drawn it."""
        return -1.0 if state.lost else 0.0


class StoneGame(CompiledGame[S]):
    """A game whose states are told by which stones lie where, on cells that are the actions, counted row by row."""

    grid: Grid

    def boards(self, state: S) -> tuple[int, int]:
        """The stones of player 0 and of player 1."""
        raise NotImplementedError

    def with_boards(self, first: int, second: int) -> S:
        """The state with these stones. Raises ValueError if the game had ended before the last of them."""
        raise NotImplementedError

    def symmetries(self) -> list[Symmetry[S]]:
        """Those of the board."""
        images = rectangle_symmetries(len(self.grid), len(self.grid[0]))
        return [Symmetry(partial(self.moved, cells=cells), cells, cells) for cells in images]

    def moved(self, state: S, cells: Sequence[int]) -> S:
        """The state with every stone moved to where `cells` sends its cell."""
        first, second = self.boards(state)
        return self.with_boards(permute_bits(first, cells), permute_bits(second, cells))

    def state_text(self, state: S) -> str:
        """Rows of X, O and dots."""
        return board_text(self.grid, *self.boards(state))

    def parse_state(self, text: str) -> S:
        """The board that `state_text` drew, the mover by its counts. Raises ValueError for an impossible one."""
        return self.with_boards(*parse_board(self.grid, without_labels(text)))


def square_grid(rows: int, columns: int) -> Grid:
    """The grid whose bits count the cells row by row from the top left."""
    return tuple(tuple(range(row * columns, (row + 1) * columns)) for row in range(rows))


def board_text(grid: Grid, first: int, second: int, empty: str = ".") -> str:
    """A picture of two boards: X for the first player's stones, O for the second's."""

    def symbol(bit: int) -> str:
        return "X" if first >> bit & 1 else "O" if second >> bit & 1 else empty

    return "\n".join(" ".join(map(symbol, row)) for row in grid)


def parse_board(grid: Grid, text: str) -> tuple[int, int]:
    """The two boards in a picture, as integers; lines below the board are ignored.

    Raises ValueError if the picture has another size, another symbol, or stone counts that X, moving first and
    alternately with O, cannot reach.
    """
    lines = [line.split() for line in text.strip().splitlines()][: len(grid)]
    if [len(line) for line in lines] != [len(row) for row in grid]:
        raise ValueError(f"a board of {len(grid)} rows and {len(grid[0])} columns is needed, got {text!r}")
    boards = {"X": 0, "O": 0, ".": 0}
    for row, line in zip(grid, lines, strict=True):
        for bit, symbol in zip(row, line, strict=True):
            if symbol not in boards:
                raise ValueError(f"a cell is X, O or ., not {symbol!r}")
            boards[symbol] |= 1 << bit
    if boards["X"].bit_count() - boards["O"].bit_count() not in (0, 1):
        raise ValueError("X moves first, so it has as many stones as O or one more")
    return boards["X"], boards["O"]


@compilable
def read_cell(state: Any, cell: int, width: int) -> int:
    """What is in a cell of a board whose cells are `width` bits each, in words of 63 bits: the state's first fields."""
    content: int = state[cell // (63 // width)] >> width * (cell % (63 // width)) & (1 << width) - 1
    return content


@compilable
def write_cell(state: Any, cell: int, width: int, content: int) -> Any:
    """The state with this in the cell."""
    word, change = cell // (63 // width), read_cell(state, cell, width) ^ content
    return with_field(state, word, state[word] ^ change << width * (cell % (63 // width)))


def cells_in(words: Iterable[int], width: int) -> list[int]:
    """What is in all cells of such a board."""
    return [word >> bit & (1 << width) - 1 for word in words for bit in range(0, 63 // width * width, width)]


def words_of(cells: Sequence[int], width: int, num_words: int) -> list[int]:
    """The words of such a board."""
    length = 63 // width
    parts = [cells[start : start + length] for start in range(0, num_words * length, length)]
    return [sum(content << width * i for i, content in enumerate(part)) for part in parts]


def without_labels(picture: str) -> str:
    """A picture without the numbers before its rows and the letters above its columns."""
    return re.sub(r"(?m)^\s*(\d+\s|[a-z ]+$)", "", picture)


def permute_bits(bits: int, destinations: Sequence[int] | dict[int, int]) -> int:
    """The integer with bit i of `bits` moved to bit `destinations[i]`."""
    moved = 0
    while bits:
        lowest = bits & -bits
        moved |= 1 << destinations[lowest.bit_length() - 1]
        bits ^= lowest
    return moved


def rectangle_symmetries(rows: int, columns: int) -> list[tuple[int, ...]]:
    """Where each cell goes, counted row by row, under the symmetries of a board other than the identity.

    A rectangle has three of them, a square seven, and a single line one.
    """
    bottom, right = rows - 1, columns - 1
    moves: list[Callable[[int, int], tuple[int, int]]] = [
        lambda row, column: (column, bottom - row),
        lambda row, column: (bottom - row, right - column),
        lambda row, column: (right - column, row),
        lambda row, column: (row, right - column),
        lambda row, column: (bottom - row, column),
        lambda row, column: (column, row),
        lambda row, column: (right - column, bottom - row),
    ]
    if rows != columns:  # a quarter turn has no place
        moves = [moves[1], moves[3], moves[4]]
    cells = [divmod(cell, columns) for cell in range(rows * columns)]
    images = [tuple(row * columns + column for row, column in (move(*cell) for cell in cells)) for move in moves]
    return [image for image in dict.fromkeys(images) if image != tuple(range(rows * columns))]
