"""m,n,k games: a given number of stones in a row, on a board of any size; tic-tac-toe is 3,3,3, Gomoku 15,15,5.

Players: X (player 0) and O.
Actions: 9, or rows x columns: the cells row by row from the top left, written a3 to c1 (column, row from the bottom).
Observation: float32[2, 3, 3], or [2, rows, columns]; plane 0 the mover's stones, plane 1 the opponent's.
Outcome: -1 for the player to move when the opponent has a line; 0 when the board is full.
End: a line across, down or diagonally, longer ones too (in Gomoku: free style), or 9 stones: a full board.
Symmetries: 8, those of the square; of a rectangle four.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from azero._jit import compilable, with_field
from azero.games.board import StoneGame, cells_in, read_cell, square_grid, words_of, write_cell
from azero.games.game import full_name

_LARGEST = 19  # rows and columns: what the words of a state hold
_WIDTH, _CELLS_IN_WORD = 2, 31  # bits of a cell, cells of a word
_LETTERS = "abcdefghijklmnopqrs"
_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))  # rows down, columns to the right


class State(NamedTuple):
    """Cell c is in word c // 31, at bit 2 * (c % 31): 0 is empty, 1 a stone of X, 2 of O."""

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
    w10: int
    w11: int
    num_stones: int
    lost: int  # 1 if the opponent has a line


_NUM_WORDS = _NUM_STONES = State._fields.index("num_stones")
_LOST = State._fields.index("lost")


class Rules(NamedTuple):
    """The size of the board, and how many stones in a row win."""

    rows: int
    columns: int
    line: int

    def initial_state(self) -> State:
        """The empty board."""
        return State(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

    def current_player(self, state: State) -> int:
        """X moves on even stone counts."""
        return state.num_stones & 1

    def outcome(self, state: State) -> float:
        """The mover of a finished game has lost it or drawn it."""
        return -1.0 if state.lost else 0.0

    def write_legal_actions(self, state: State, out: Any) -> int:
        """The empty cells of an unfinished game."""
        if state.lost:
            return 0
        num_legal, word = 0, 0
        for cell in range(self.rows * self.columns):  # without a branch that could be mispredicted
            if cell % _CELLS_IN_WORD == 0:
                word = state[cell // _CELLS_IN_WORD]
            out[num_legal] = cell
            num_legal += 1 if word & 3 == 0 else 0
            word >>= 2
        return num_legal

    def step(self, state: State, action: int) -> State:
        """Put a stone, which alone can make a line."""
        after: State = write_cell(state, action, _WIDTH, 1 + (state.num_stones & 1))
        after = with_field(after, _NUM_STONES, state.num_stones + 1)
        return with_field(after, _LOST, 1 if _in_line(self, after, action) else 0)

    @property
    def key_width(self) -> int:
        """The words in use."""
        return -(-self.rows * self.columns // _CELLS_IN_WORD)

    def write_key(self, state: State, key: Any) -> None:
        """The words of the board, which tell also the rest."""
        for word in range(len(key)):
            key[word] = state[word]

    def write_observation(self, state: State, planes: Any) -> None:
        """The stones of the mover, and those of the opponent."""
        own = 1 + (state.num_stones & 1)
        for cell in range(self.rows * self.columns):
            stone = read_cell(state, cell, _WIDTH)
            if stone:
                planes[0 if stone == own else 1, cell // self.columns, cell % self.columns] = 1


@compilable
def _run(rules: Rules, state: State, cell: int, down: int, right: int) -> int:
    """How many stones like the one in the cell follow it without a gap."""
    stone, length = read_cell(state, cell, _WIDTH), 0
    row, column = cell // rules.columns + down, cell % rules.columns + right
    while 0 <= row < rules.rows and 0 <= column < rules.columns:
        if read_cell(state, row * rules.columns + column, _WIDTH) != stone:
            break
        row, column, length = row + down, column + right, length + 1
    return length


@compilable
def _in_line(rules: Rules, state: State, cell: int) -> bool:
    """Whether the stone in the cell is part of a line."""
    for down, right in _DIRECTIONS:
        if 1 + _run(rules, state, cell, down, right) + _run(rules, state, cell, -down, -right) >= rules.line:
            return True
    return False


class MNK(StoneGame[State]):
    """An m,n,k game."""

    name = "mnk"

    def __init__(self, rows: int = 3, columns: int = 3, line: int = 3) -> None:
        """`line` stones in a row win. Raises ValueError for a board beyond 19 x 19, or a line that does not fit."""
        for what, value, most in (
            ("rows", rows, _LARGEST), ("columns", columns, _LARGEST), ("line", line, max(rows, columns)),
        ):  # fmt: skip
            if not 1 <= value <= most:
                raise ValueError(f"mnk: {what} must be from 1 to {most}, got {value}")
        self.name = full_name(self, rows=rows, columns=columns, line=line)
        self.rules = Rules(rows, columns, line)
        self.grid = square_grid(rows, columns)
        self.num_actions = self.max_game_length = rows * columns
        self.observation_shape = (2, rows, columns)

    def boards(self, state: State) -> tuple[int, int]:
        """The stones of X and of O."""
        stones = self._stones(state)
        first, second = (sum(1 << cell for cell, stone in enumerate(stones) if stone == which) for which in (1, 2))
        return first, second

    def with_boards(self, first: int, second: int) -> State:
        """The state with these stones."""
        stones = [(first >> cell & 1) + 2 * (second >> cell & 1) for cell in range(self.num_actions)]
        state = State._make([*words_of(stones, _WIDTH, _NUM_WORDS), sum(map(bool, stones)), 0])
        lines = {stone for cell, stone in enumerate(stones) if stone and _in_line(self.rules, state, cell)}
        if 1 + self.current_player(state) in lines:
            raise ValueError(f"the player to move already has {self.rules.line} in a row: the game ended before")
        return state._replace(lost=len(lines))

    def moved(self, state: State, cells: Sequence[int]) -> State:
        """The same state elsewhere: who has a line, and how many stones there are, stays."""
        image = [0] * len(cells)
        for cell, stone in zip(cells, self._stones(state), strict=True):
            image[cell] = stone
        return State._make([*words_of(image, _WIDTH, _NUM_WORDS), state.num_stones, state.lost])

    def _stones(self, state: State) -> list[int]:
        return cells_in(state[:_NUM_WORDS], _WIDTH)[: self.num_actions]

    def action_text(self, action: int) -> str:
        """Column and row, as people write it in Gomoku: a1 is the cell at the bottom left."""
        row, column = divmod(action, self.rules.columns)
        return f"{_LETTERS[column]}{self.rules.rows - row}"

    def state_text(self, state: State) -> str:
        """Rows of X, O and dots with their numbers, above the columns' letters."""
        lines = super().state_text(state).splitlines()
        numbered = [f"{len(lines) - i:2} {line}" for i, line in enumerate(lines)]
        return "\n".join([*numbered, "   " + " ".join(_LETTERS[: self.rules.columns])])
