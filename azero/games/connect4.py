"""Connect Four.

Players: X (player 0) and O.
Actions: 7, the columns 0-6 from the left; a stone falls to the lowest free cell.
Observation: float32[2, 6, 7], row 0 at the top; plane 0 the mover's stones, plane 1 the opponent's.
Outcome: -1 for the player to move when the opponent has four in a row; 0 when the board is full.
End: four in a row across, up or diagonally, or 42 stones.
Symmetries: 2, the identity and the mirror image.

A board is an integer, seven bits a column; the seventh bit stays free, so that no line wraps around an edge:

     6 13 20 27 34 41 48   always 0
     5 12 19 26 33 40 47   top row
     4 11 18 25 32 39 46
     3 10 17 24 31 38 45
     2  9 16 23 30 37 44
     1  8 15 22 29 36 43
     0  7 14 21 28 35 42   bottom row
"""

from typing import Any, NamedTuple

from azero._jit import compilable
from azero.games.board import StoneRules, board_text, parse_board
from azero.games.compiled import CompiledGame
from azero.games.game import Symmetry

_ROWS, _COLUMNS, _HEIGHT = 6, 7, 7
_GRID = tuple(tuple(_HEIGHT * column + row for column in range(_COLUMNS)) for row in reversed(range(_ROWS)))
_UP, _ACROSS, _DOWNWARD, _UPWARD = 1, _HEIGHT, _HEIGHT - 1, _HEIGHT + 1  # bit steps along the four directions
_MIRROR_CELLS = tuple(row * _COLUMNS + _COLUMNS - 1 - column for row in range(_ROWS) for column in range(_COLUMNS))


class State(NamedTuple):
    """See the picture in the module's text for the bits."""

    own: int  # the mover's stones
    taken: int  # all stones
    num_stones: int
    lost: int  # 1 if the opponent has four in a row


@compilable
def has_four(stones: int) -> bool:
    """Whether a board has four stones in a line: pairs of neighbours, then pairs of pairs, in each direction."""
    pairs = stones & (stones >> _UP)
    if pairs & (pairs >> 2 * _UP):
        return True
    pairs = stones & (stones >> _ACROSS)
    if pairs & (pairs >> 2 * _ACROSS):
        return True
    pairs = stones & (stones >> _DOWNWARD)
    if pairs & (pairs >> 2 * _DOWNWARD):
        return True
    pairs = stones & (stones >> _UPWARD)
    return pairs & (pairs >> 2 * _UPWARD) != 0


@compilable
def mirrored(stones: int) -> int:
    """The board with its columns in the opposite order."""
    image = 0
    for _ in range(_COLUMNS):
        image = (image << _HEIGHT) | (stones & ((1 << _HEIGHT) - 1))
        stones >>= _HEIGHT
    return image


class Rules(StoneRules):
    """Connect Four has no parameters."""

    def initial_state(self) -> State:
        """The empty board."""
        return State(0, 0, 0, 0)

    def write_legal_actions(self, state: State, out: Any) -> int:
        """The columns of an unfinished game whose top cell is free."""
        if state.lost:
            return 0
        num_legal = 0
        for column in range(_COLUMNS):
            if not (state.taken >> (_HEIGHT * column + _ROWS - 1)) & 1:
                out[num_legal] = column
                num_legal += 1
        return num_legal

    def step(self, state: State, action: int) -> State:
        """Drop a stone: adding 1 at the foot of a column carries to its lowest free cell."""
        taken = state.taken | (state.taken + (1 << (_HEIGHT * action)))
        stones = taken ^ (state.taken ^ state.own)
        return State(state.taken ^ state.own, taken, state.num_stones + 1, 1 if has_four(stones) else 0)

    @property
    def key_width(self) -> int:
        """One number."""
        return 1

    def write_key(self, state: State, key: Any) -> None:
        """A column of h stones has 2 ** h - 1 and the mover's stones in it: another number for any other column."""
        key[0] = state.own + state.taken

    def canonical(self, state: State) -> State:
        """The one with the smaller boards of the state and its mirror image."""
        own, taken = mirrored(state.own), mirrored(state.taken)
        return State(own, taken, state.num_stones, state.lost) if (own, taken) < (state.own, state.taken) else state

    def write_observation(self, state: State, planes: Any) -> None:
        """The two boards."""
        for row in range(_ROWS):
            for column in range(_COLUMNS):
                bit = _HEIGHT * column + _ROWS - 1 - row
                planes[0, row, column] = (state.own >> bit) & 1
                planes[1, row, column] = ((state.taken ^ state.own) >> bit) & 1


class Connect4(CompiledGame[State]):
    """Connect Four on 7 columns of 6 cells."""

    name = "connect4"
    rules = Rules()
    num_actions = _COLUMNS
    max_game_length = _ROWS * _COLUMNS
    observation_shape = (2, _ROWS, _COLUMNS)

    def symmetries(self) -> list[Symmetry[State]]:
        """The mirror image."""
        return [Symmetry(_mirror, tuple(reversed(range(_COLUMNS))), _MIRROR_CELLS)]

    def state_text(self, state: State) -> str:
        """Six rows of X, O and dots above the column numbers."""
        boards = (state.own, state.taken ^ state.own)
        mover = self.current_player(state)
        return board_text(_GRID, boards[mover], boards[1 - mover]) + "\n0 1 2 3 4 5 6"

    def parse_state(self, text: str) -> State:
        """The board that `state_text` drew, the mover by its counts. Raises ValueError for an impossible one."""
        boards = parse_board(_GRID, text)
        taken = boards[0] | boards[1]
        mover = taken.bit_count() & 1
        if any(taken >> bit & 1 and not taken >> (bit - 1) & 1 for row in _GRID[:-1] for bit in row):
            raise ValueError("a stone hangs in the air: every cell below a stone must be taken")
        if has_four(boards[mover]):
            raise ValueError("the player to move already has four in a row: the game ended before")
        return State(boards[mover], taken, taken.bit_count(), int(has_four(boards[1 - mover])))


def _mirror(state: State) -> State:
    return state._replace(own=mirrored(state.own), taken=mirrored(state.taken))
