"""Hex.

Players: X (player 0) and O.
Actions: 121, the cells row by row, written a1 to k11 (column, row from the top); with the swap rule, `swap` comes last.
Observation: float32[3, 11, 11]; plane 0 the mover's stones, plane 1 the opponent's, plane 2 all ones for O to move.
Outcome: -1 for the player to move: the other has joined his edges. No game is drawn.
End: stones that join the top and the bottom edge (X), or the left and the right (O), at the latest with 121 of them.
Symmetries: 2, the identity and the half turn.

A cell has six neighbours; on 4 x 4, those of b2 are b1, c1, a2, c2, a3 and b3:

       a b c d
     1 . x x .
      2 x * x .
       3 x x . .
        4 . . . .

With the swap rule, O may answer the first stone by taking the position over: the stone becomes his, in the cell
mirrored at the long diagonal, so that it is to his edges what it was to those of X (as in OpenSpiel, and `swap-pieces`
in HexGui). 11 x 11 is the size most played, the second player wins on any with the swap rule, the first without.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from azero._jit import compilable, lowest_bit, with_field
from azero.games.board import (
    board_text,
    cells_in,
    parse_board,
    read_cell,
    square_grid,
    without_labels,
    words_of,
    write_cell,
)
from azero.games.compiled import CompiledGame
from azero.games.game import Symmetry, full_name

_LARGEST = 14  # what the words of a state hold
_WIDTH, _CELLS_IN_WORD = 3, 21  # bits of a cell, cells of a word
_LETTERS = "abcdefghijklmn"
_NEIGHBOURS = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))  # rows down, columns to the right
_FIRST_EDGE, _SECOND_EDGE, _REACHED = 1, 2, 7
_LOW = sum(1 << bit for bit in range(0, 3 * _CELLS_IN_WORD, 3))  # the lowest bit of each cell


class State(NamedTuple):
    """Cell c is in word c // 21, at bit 3 * (c % 21).

    0 is empty, 1 a stone of X, 2 one that hangs together with the top edge, 3 with the bottom; 4, 5 and 6 are the same
    for O and the left and right edges. In a finished game, where this has done its work, stones are 1 and 4.
    """

    w0: int
    w1: int
    w2: int
    w3: int
    w4: int
    w5: int
    w6: int
    w7: int
    w8: int
    w9: int
    num_played: int  # actions, a swap among them
    lost: int  # 1 if the opponent has joined his edges


_MARKS = (1, 2, 3), (4, 5, 6)  # of X and of O
_NUM_WORDS = _NUM_PLAYED = State._fields.index("num_played")
_LOST = State._fields.index("lost")


@compilable
def _edges_at(state: State, cell: int, size: int, stone: int) -> int:
    """Which edges a stone in the cell touches, or its neighbours hang together with: bits 1 and 2."""
    row, column = cell // size, cell % size
    place = row if stone == 1 else column
    edges = (_FIRST_EDGE if place == 0 else 0) | (_SECOND_EDGE if place == size - 1 else 0)
    for down, right in _NEIGHBOURS:
        if 0 <= row + down < size and 0 <= column + right < size:
            mark = read_cell(state, cell + down * size + right, _WIDTH)
            if stone < mark <= stone + 2:
                edges |= mark - stone
    return edges


@compilable
def _hung_together(state: State, cell: int, size: int, mark: int) -> State:
    """The state with this mark on the stone in the cell and on all of its player's that can be reached from it.

    Stones whose neighbours are still to be looked at have a mark of their own meanwhile.
    """
    stone = 1 if mark <= 3 else 4
    state = write_cell(state, cell, _WIDTH, _REACHED)
    word = 0
    while word < _NUM_WORDS:
        reached = state[word] & state[word] >> 1 & state[word] >> 2 & _LOW
        if reached == 0:
            word += 1
            continue
        cell = _CELLS_IN_WORD * word + lowest_bit(reached) // 3
        state = write_cell(state, cell, _WIDTH, mark)
        for down, right in _NEIGHBOURS:
            row, column = cell // size + down, cell % size + right
            if 0 <= row < size and 0 <= column < size and read_cell(state, row * size + column, _WIDTH) == stone:
                state = write_cell(state, row * size + column, _WIDTH, _REACHED)
        word = 0
    return state


@compilable
def _with_stone(state: State, cell: int, size: int, stone: int) -> State:
    """The state with one more stone, 1 of X or 4 of O; `lost` is 1 if it joins two edges."""
    edges = _edges_at(state, cell, size, stone)
    if edges == _FIRST_EDGE | _SECOND_EDGE:
        return with_field(_without_edges(write_cell(state, cell, _WIDTH, stone)), _LOST, 1)
    return _hung_together(state, cell, size, stone + edges) if edges else write_cell(state, cell, _WIDTH, stone)


@compilable
def _without_edges(state: State) -> State:
    """The state with all marks 1 and 4, so that a finished game is told by its stones."""
    for word in range(_NUM_WORDS):
        marks = state[word]
        second = marks >> 2 & _LOW
        state = with_field(state, word, second << 2 | (marks | marks >> 1) & _LOW & ~second)
    return state


class Rules(NamedTuple):
    """The size of the board, and whether O may swap."""

    size: int
    swap: bool

    def initial_state(self) -> State:
        """The empty board."""
        return State(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

    def current_player(self, state: State) -> int:
        """The players take turns."""
        return state.num_played & 1

    def outcome(self, state: State) -> float:
        """Who joins his edges has won at once."""
        return -1.0

    def write_legal_actions(self, state: State, out: Any) -> int:
        """The empty cells of an unfinished game, and the swap as its second action."""
        if state.lost:
            return 0
        num_legal, word, num_cells = 0, 0, self.size * self.size
        for cell in range(num_cells):  # without a branch that could be mispredicted
            if cell % _CELLS_IN_WORD == 0:
                word = state[cell // _CELLS_IN_WORD]
            out[num_legal] = cell
            num_legal += 1 if word & 7 == 0 else 0
            word >>= 3
        if self.swap and state.num_played == 1:
            out[num_legal] = num_cells
            num_legal += 1
        return num_legal

    def step(self, state: State, action: int) -> State:
        """Put a stone, or take over the only one."""
        after = state
        if action < self.size * self.size:
            after = _with_stone(state, action, self.size, 1 + 3 * (state.num_played & 1))
        else:
            cell = 0
            while read_cell(state, cell, _WIDTH) == 0:
                cell += 1
            after = write_cell(state, cell, _WIDTH, 0)
            after = _with_stone(after, cell % self.size * self.size + cell // self.size, self.size, 4)
        return with_field(after, _NUM_PLAYED, state.num_played + 1)

    @property
    def key_width(self) -> int:
        """The words in use, and the mover."""
        return 1 - (-self.size * self.size // _CELLS_IN_WORD)

    def write_key(self, state: State, key: Any) -> None:
        """The board tells all else: edges follow from stones, and a swap from their number and the mover."""
        for word in range(len(key) - 1):
            key[word] = state[word]
        key[len(key) - 1] = state.num_played & 1

    def write_observation(self, state: State, planes: Any) -> None:
        """The stones of the mover, those of the opponent, and whose edges are whose."""
        player = state.num_played & 1
        for cell in range(self.size * self.size):
            row, column, mark = cell // self.size, cell % self.size, read_cell(state, cell, _WIDTH)
            if mark:
                planes[(1 if mark >= 4 else 0) ^ player, row, column] = 1
            planes[2, row, column] = player


class Hex(CompiledGame[State]):
    """Hex, with or without the swap rule."""

    name = "hex"

    def __init__(self, size: int = 11, swap: bool = False) -> None:
        """A board of size x size cells. Raises ValueError for one that is not from 2 x 2 to 14 x 14."""
        if not 2 <= size <= _LARGEST:
            raise ValueError(f"hex: size must be from 2 to {_LARGEST}, got {size}")
        self.name = full_name(self, size=size, swap=swap)
        self.rules = Rules(size, swap)
        self.num_actions = self.max_game_length = size * size + swap
        self.observation_shape = (3, size, size)
        self._cells = size * size
        self._grid = square_grid(size, size)

    def symmetries(self) -> list[Symmetry[State]]:
        """The half turn: the top edge becomes the bottom edge, the left one the right one."""
        cells = tuple(reversed(range(self._cells)))
        return [
            Symmetry(partial(_half_turned, self._cells), cells + tuple(range(self._cells, self.num_actions)), cells)
        ]

    def action_text(self, action: int) -> str:
        """Column and row, a1 at the top left, or swap."""
        row, column = divmod(action, self.rules.size)
        return "swap" if action == self._cells else f"{_LETTERS[column]}{row + 1}"

    def state_text(self, state: State) -> str:
        """A slanted board of X, O and dots with its rows' numbers and columns' letters, and whether O has swapped."""
        marks = cells_in(state[:_NUM_WORDS], _WIDTH)[: self._cells]
        first, second = (sum(1 << cell for cell, mark in enumerate(marks) if mark in own) for own in _MARKS)
        lines = board_text(self._grid, first, second).splitlines()
        rows = [f"{' ' * row}{row + 1:2} {line}" for row, line in enumerate(lines)]
        swapped = ["swapped"] if state.num_played > (first | second).bit_count() else []
        return "\n".join(["   " + " ".join(_LETTERS[: self.rules.size]), *rows, *swapped])

    def parse_state(self, text: str) -> State:
        """The board that `state_text` drew, the mover by its counts. Raises ValueError for an impossible one."""
        swapped = text.rstrip().endswith("swapped")
        if swapped and not self.rules.swap:
            raise ValueError(f"{self.name} has no swap rule; hex(swap=yes) has it")
        picture, exchanged = without_labels(text), str.maketrans("XO", "OX")
        boards = parse_board(self._grid, picture.translate(exchanged) if swapped else picture)
        num_stones = sum(board.bit_count() for board in boards)
        if swapped and not num_stones:
            raise ValueError("O cannot have swapped before the first stone")
        first, second = reversed(boards) if swapped else boards
        stones = [(first >> cell & 1) + 4 * (second >> cell & 1) for cell in range(self._cells)]
        return self._with_stones(stones, num_stones + swapped)

    def _with_stones(self, stones: Sequence[int], num_played: int) -> State:
        state, last = self.initial_state(), 0
        for cell, stone in enumerate(stones):
            if stone and not state.lost:
                state, last = _with_stone(state, cell, self.rules.size, stone), stone
        if not state.lost:
            return state._replace(num_played=num_played)
        if last == 1 + 3 * (num_played & 1):
            raise ValueError("the player to move has joined his edges already: the game ended before")
        return State._make([*words_of(stones, _WIDTH, _NUM_WORDS), num_played, 1])


def _half_turned(num_cells: int, state: State) -> State:
    image = [(0, 1, 3, 2, 4, 6, 5)[mark] for mark in reversed(cells_in(state[:_NUM_WORDS], _WIDTH)[:num_cells])]
    return State._make([*words_of(image, _WIDTH, _NUM_WORDS), state.num_played, state.lost])
