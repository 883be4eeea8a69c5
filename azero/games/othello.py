"""Othello.

Players: X (player 0) and O.
Actions: 65, the cells a1, b1 ... row by row from the top left, and last "pass", if no stone can be put; on 6x6: 37.
Observation: float32[2, 8, 8], row 1 at the top; plane 0 the mover's stones, plane 1 the opponent's.
Outcome: for the player to move 1 with more stones than the opponent, -1 with fewer, 0 with as many.
End: neither player can put a stone, after 120 actions at most; nobody passes then.
Symmetries: 8, those of the square; to pass stays to pass.

X is Black. These are the figures of 8x8 cells; there are 6x6 and 4x4, too.

A board is a word of 64 bits, a bit a cell; smaller boards lie in its middle, so that all start with the same words:

     0  1  2  3  4  5  6  7   row 1
     8  9 10 11 12 13 14 15
    16 17 18 19 20 21 22 23
    24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39
    40 41 42 43 44 45 46 47
    48 49 50 51 52 53 54 55
    56 57 58 59 60 61 62 63   row 8
"""

import re
from functools import partial
from typing import Any, NamedTuple

from azero._jit import compilable, count_bits, drop_lowest_bit, inlined, lowest_bit, shift_left, shift_right
from azero.games.compiled import CompiledGame
from azero.games.game import Symmetry, full_name

_WIDTH = 8
_ACROSS, _UPWARD, _DOWN, _DOWNWARD = 1, 7, 8, 9  # bit steps along the four directions
_INNER = 0x7E7E7E7E7E7E7E7E  # without the outer columns: no line that captures goes on through them
_CENTRE = 0x0000001818000000  # always taken
_CORNER = 1 << 27  # of the centre
_NUM_SYMMETRIES = 8
_LETTERS = "abcdefgh"


class State(NamedTuple):
    """See the picture in the module's text for the bits; a word with bit 63 is negative."""

    own: int  # the mover's stones
    other: int  # the opponent's
    free: int  # where the mover can put a stone
    player: int  # the mover


@compilable
def _bit_of(cell: int, size: int) -> int:
    """The bit of a cell, counted row by row on its board."""
    if size == _WIDTH:  # spares the arithmetic
        return cell
    margin = (_WIDTH - size) // 2
    return (cell // size + margin) * _WIDTH + cell % size + margin


@compilable
def _cell_of(bit: int, size: int) -> int:
    """The cell of a bit."""
    if size == _WIDTH:
        return bit
    margin = (_WIDTH - size) // 2
    return (bit // _WIDTH - margin) * size + bit % _WIDTH - margin


@compilable
def _rows(start: int, other: int, step: int) -> tuple[int, int]:
    """The unbroken rows of `other` that begin beside `start`, both ways along a direction."""
    up, down = other & shift_left(start, step), other & shift_right(start, step)
    up |= other & shift_left(up, step)
    down |= other & shift_right(down, step)
    pairs = other & shift_left(other, step)
    pairs_down = shift_right(pairs, step)
    up |= pairs & shift_left(up, 2 * step)
    down |= pairs_down & shift_right(down, 2 * step)
    up |= pairs & shift_left(up, 2 * step)
    down |= pairs_down & shift_right(down, 2 * step)
    return up, down


@compilable
def _ends(own: int, other: int, step: int) -> int:
    """The cells beyond the rows of `other` that begin beside `own`."""
    up, down = _rows(own, other, step)
    return shift_left(up, step) | shift_right(down, step)


@compilable
def _captured_along(stone: int, own: int, other: int, step: int) -> int:
    """The rows of `other` between a new stone and `own`."""
    up, down = _rows(stone, other, step)
    return (up if own & shift_left(up, step) else 0) | (down if own & shift_right(down, step) else 0)


@inlined
def _captured(stone: int, own: int, other: int) -> int:
    """What a new stone turns."""
    inner = other & _INNER
    captured = _captured_along(stone, own, inner, _ACROSS) | _captured_along(stone, own, inner, _UPWARD)
    return captured | _captured_along(stone, own, other, _DOWN) | _captured_along(stone, own, inner, _DOWNWARD)


@inlined
def _free(own: int, other: int, cells: int) -> int:
    """The cells of the board where a stone captures."""
    inner = other & _INNER
    ends = _ends(own, inner, _ACROSS) | _ends(own, inner, _UPWARD)
    ends |= _ends(own, other, _DOWN) | _ends(own, inner, _DOWNWARD)
    return ends & cells & ~(own | other)


@compilable
def _swapped(bits: int, mask: int, step: int) -> int:
    """The word with the bits of the mask and those `step` above them exchanged (Knuth, TAOCP 7.1.3)."""
    changed = (bits ^ shift_right(bits, step)) & mask
    return bits ^ changed ^ shift_left(changed, step)


@compilable
def _reflected(bits: int, number: int) -> int:
    """The board with its columns in the opposite order or, for an odd number, as rows."""
    if number & 1:
        bits = _swapped(bits, 0x00AA00AA00AA00AA, 7)
        bits = _swapped(bits, 0x0000CCCC0000CCCC, 14)
        return _swapped(bits, 0x00000000F0F0F0F0, 28)
    bits = _swapped(bits, 0x5555555555555555, 1)
    bits = _swapped(bits, 0x3333333333333333, 2)
    return _swapped(bits, 0x0F0F0F0F0F0F0F0F, 4)


@inlined
def _image(bits: int, number: int) -> int:
    """The board after so many reflections, 0 to 7: by turns, the two make all eight images."""
    for i in range(number):
        bits = _reflected(bits, i)
    return bits


class Rules(NamedTuple):
    """Othello on a square board."""

    size: int  # 4, 6 or 8
    cells: int  # its cells, as a word

    def initial_state(self) -> State:
        """Two stones each on the diagonals of the centre, and X to move."""
        own, other = 0x0000000810000000, 0x0000001008000000
        return State(own, other, _free(own, other, self.cells), 0)

    def current_player(self, state: State) -> int:
        """As the state has it."""
        return state.player

    def write_legal_actions(self, state: State, out: Any) -> int:
        """Where a stone captures; if nowhere, to pass, unless the opponent could not move either."""
        if state.free == 0:
            if _free(state.other, state.own, self.cells) == 0:
                return 0
            out[0] = self.size * self.size
            return 1
        num_legal, free = 0, state.free
        while free != 0:
            out[num_legal] = _cell_of(lowest_bit(free), self.size)
            num_legal += 1
            free = drop_lowest_bit(free)
        return num_legal

    def step(self, state: State, action: int) -> State:
        """Put a stone and turn what it captures, or pass."""
        own, other = state.own, state.other
        if action < self.size * self.size:
            stone = shift_left(1, _bit_of(action, self.size))
            captured = _captured(stone, own, other)
            own |= stone | captured
            other ^= captured
        return State(other, own, _free(other, own, self.cells), 1 - state.player)

    def outcome(self, state: State) -> float:
        """Who has more stones has won."""
        lead = count_bits(state.own) - count_bits(state.other)
        return 1.0 if lead > 0 else -1.0 if lead < 0 else 0.0

    @property
    def key_width(self) -> int:
        """Two numbers."""
        return 2

    def write_key(self, state: State, key: Any) -> None:
        """Both boards; as a corner of the centre is always taken, one of them has room for the mover there."""
        key[0] = state.own
        key[1] = state.other | _CORNER if state.player else state.other & ~_CORNER

    def canonical(self, state: State) -> State:
        """The image with the smallest boards."""
        image = least = state
        for i in range(_NUM_SYMMETRIES - 1):
            own, other, free = _reflected(image.own, i), _reflected(image.other, i), _reflected(image.free, i)
            image = State(own, other, free, state.player)
            if (image.own, image.other) < (least.own, least.other):
                least = image
        return least

    def write_observation(self, state: State, planes: Any) -> None:
        """The two boards."""
        for cell in range(self.size * self.size):
            bit = _bit_of(cell, self.size)
            planes[0, cell // self.size, cell % self.size] = shift_right(state.own, bit) & 1
            planes[1, cell // self.size, cell % self.size] = shift_right(state.other, bit) & 1


class Othello(CompiledGame[State]):
    """Othello on 4x4, 6x6 or 8x8 cells."""

    name = "othello"

    def __init__(self, size: int = 8) -> None:
        """`size` is the number of rows and columns: 4, 6 or 8. Raises ValueError for any other."""
        if size not in (4, 6, 8):
            raise ValueError(f"size must be 4, 6 or 8, got {size}")
        self._bits = tuple(_bit_of(cell, size) for cell in range(size * size))
        cells = 0
        for bit in self._bits:
            cells |= shift_left(1, bit)
        self.rules = Rules(size, cells)
        self.name = full_name(self, size=size)
        self.num_actions = size * size + 1
        self.max_game_length = 2 * (size * size - 4)
        self.observation_shape = (2, size, size)

    def symmetries(self) -> list[Symmetry[State]]:
        """The seven rotations and reflections other than the identity."""
        symmetries = []
        for number in range(1, _NUM_SYMMETRIES):
            cells = tuple(self._bits.index(lowest_bit(_image(shift_left(1, bit), number))) for bit in self._bits)
            symmetries.append(Symmetry(partial(_moved, number), (*cells, self.num_actions - 1), cells))
        return symmetries

    def action_text(self, action: int) -> str:
        """A cell's column and row, "d3", or "pass"."""
        if action == self.num_actions - 1:
            return "pass"
        row, column = divmod(action, self.rules.size)
        return f"{_LETTERS[column]}{row + 1}"

    def state_text(self, state: State) -> str:
        """The board between letters and numbers, and below it the stones and whose turn it is."""
        size = self.rules.size
        boards = (state.own, state.other) if state.player == 0 else (state.other, state.own)
        symbols = ["X" if boards[0] >> bit & 1 else "O" if boards[1] >> bit & 1 else "." for bit in self._bits]
        rows = [f"{row + 1} {' '.join(symbols[size * row : size * (row + 1)])}" for row in range(size)]
        counts = f"X {symbols.count('X'):2}, O {symbols.count('O'):2}"
        mover = self.player_names[state.player]
        legal = self.legal_actions(state)
        turn = "over, {} next" if not legal else "{} to pass" if state.free == 0 else "{} to move"
        return "\n".join([f"  {' '.join(_LETTERS[:size])}", *rows, f"{counts}; {turn.format(mover)}"])

    def parse_state(self, text: str) -> State:
        """The state that `state_text` showed: of the last line only the last X or O counts, who is next.

        Letters, numbers and spaces may be left out. Raises ValueError for another board or an empty cell in the centre.
        """
        *rows, last = text.strip().splitlines() or [""]
        symbols = re.sub(r"[\sa-h1-8]", "", "".join(rows))
        mover = re.fullmatch(r".*\b([XO])\b.*?", last)
        if mover is None or re.fullmatch(rf"[XO.]{{{len(self._bits)}}}", symbols) is None:
            size = self.rules.size
            raise ValueError(
                f"{size} rows of {size} cells, each X, O or ., and a line such as 'X to move' are needed, got {text!r}"
            )
        words = {"X": 0, "O": 0, ".": 0}
        for symbol, bit in zip(symbols, self._bits, strict=True):
            words[symbol] |= shift_left(1, bit)
        if words["."] & _CENTRE:
            raise ValueError("the four cells of the centre are never empty")
        player = self.player_names.index(mover[1])
        own, other = words["XO"[player]], words["OX"[player]]
        return State(own, other, _free(own, other, self.rules.cells), player)


def _moved(number: int, state: State) -> State:
    own, other, free = (_image(word, number) for word in (state.own, state.other, state.free))
    return State(own, other, free, state.player)
