"""Breakthrough (Dan Troyka, 2000): pieces step straight or diagonally forward, and capture diagonally.

Players: X (player 0) and O.
Actions: 192, three for each cell, whence a piece goes to the column left of it, its own, or the next, in the row before
    it; a2b takes the piece on a2 to column b. Cells are counted row by row from a1, where the rows of X begin.
Observation: float32[3, 8, 8], the row of a1 at the bottom; plane 0 the mover's pieces, plane 1 the opponent's, plane 2
    everywhere 1 if the mover is O, whose pieces go down.
Outcome: -1 for the player to move, as the opponent has reached the last row or taken his last piece.
End: as said, after 177 actions or fewer; there is no draw, as the foremost piece can always move.
Symmetries: 2, the identity and the mirror image.

These are the figures of the usual board of 8 x 8 cells, where each side has two full rows of pieces.
"""

import re
from typing import Any, NamedTuple

from azero._jit import compilable, count_bits, drop_lowest_bit, lowest_bit, shift_left
from azero.games.compiled import CompiledGame
from azero.games.game import Symmetry, full_name

_LARGEST = 8
_LETTERS = "abcdefgh"


class State(NamedTuple):
    """Bit row * columns + column of a board is a cell, counted from a1; a board is a word of 64 bits."""

    own: int  # the mover's pieces
    other: int  # the opponent's
    player: int  # to move
    lost: int  # 1 if the opponent has won


class Rules(NamedTuple):
    """The size of the board, and how many full rows of pieces each side has."""

    rows: int
    columns: int
    ranks: int

    def initial_state(self) -> State:
        """The pieces in the first and the last rows."""
        num_pieces = self.ranks * self.columns
        pieces = (1 << num_pieces) - 1
        return State(pieces, shift_left(pieces, self.rows * self.columns - num_pieces), 0, 0)

    def current_player(self, state: State) -> int:
        """As the state says."""
        return state.player

    def write_legal_actions(self, state: State, out: Any) -> int:
        """A step forward: straight onto an empty cell, diagonally also onto an opponent's piece."""
        if state.lost:
            return 0
        num_legal = 0
        ahead = -self.columns if state.player else self.columns
        pieces = state.own
        while pieces:
            cell = lowest_bit(pieces)
            pieces = drop_lowest_bit(pieces)
            column, target = cell % self.columns, cell + ahead
            out[num_legal] = 3 * cell
            num_legal += column > 0 and not _has(state.own, target - 1)
            out[num_legal] = 3 * cell + 1
            num_legal += not _has(state.own | state.other, target)
            out[num_legal] = 3 * cell + 2
            num_legal += column + 1 < self.columns and not _has(state.own, target + 1)
        return num_legal

    def step(self, state: State, action: int) -> State:
        """Move a piece, and take what stands there."""
        cell = action // 3
        target = cell + (-self.columns if state.player else self.columns) + action % 3 - 1
        own = state.own ^ shift_left(1, cell) | shift_left(1, target)
        other = state.other & ~shift_left(1, target)
        arrived = target < self.columns or target >= (self.rows - 1) * self.columns
        return State(other, own, 1 - state.player, 1 if arrived or other == 0 else 0)

    def outcome(self, state: State) -> float:
        """Only who has just moved can have won."""
        return -1.0

    @property
    def key_width(self) -> int:
        """Three numbers."""
        return 3

    def write_key(self, state: State, key: Any) -> None:
        """Both boards and the player; the boards tell whether the game is over."""
        key[0] = state.own
        key[1] = state.other
        key[2] = state.player

    def canonical(self, state: State) -> State:
        """The one with the smaller boards of the state and its mirror image."""
        own, other = _mirrored(self, state.own), _mirrored(self, state.other)
        return State(own, other, state.player, state.lost) if (own, other) < (state.own, state.other) else state

    def write_observation(self, state: State, planes: Any) -> None:
        """The two boards, and which way the mover goes."""
        for row in range(self.rows):
            for column in range(self.columns):
                cell = (self.rows - 1 - row) * self.columns + column
                planes[0, row, column] = (state.own >> cell) & 1
                planes[1, row, column] = (state.other >> cell) & 1
                planes[2, row, column] = state.player


@compilable
def _has(board: int, cell: int) -> bool:
    return (board >> cell) & 1 != 0


@compilable
def _mirrored(rules: Rules, board: int) -> int:
    """The board with its columns in the opposite order."""
    image = 0
    while board:
        cell = lowest_bit(board)
        board = drop_lowest_bit(board)
        column = cell % rules.columns
        image |= shift_left(1, cell - column + rules.columns - 1 - column)
    return image


class Breakthrough(CompiledGame[State]):
    """Breakthrough on a board of up to 8 x 8 cells."""

    name = "breakthrough"

    def __init__(self, rows: int = 8, columns: int = 8, ranks: int = 2) -> None:
        """Each side has `ranks` full rows of pieces. Raises ValueError for a board on which that cannot be played."""
        sizes_allowed = 2 <= rows <= _LARGEST and 2 <= columns <= _LARGEST
        if not (sizes_allowed and 1 <= ranks <= rows // 2):
            raise ValueError(
                f"rows and columns must be 2 to {_LARGEST}, and ranks 1 to half the rows; "
                f"got {rows} rows, {columns} columns, {ranks} ranks"
            )
        self.name = full_name(self, rows=rows, columns=columns, ranks=ranks)
        self.rules = Rules(rows, columns, ranks)
        self.num_actions = 3 * rows * columns
        steps = sum(rows - 2 - row for row in range(ranks))  # of a file's pieces, up to the row before the last
        self.max_game_length = 2 * columns * steps + 1
        self.observation_shape = (3, rows, columns)

    def symmetries(self) -> list[Symmetry[State]]:
        """The mirror image."""
        rows, columns, _ = self.rules
        cells = [row * columns + columns - 1 - column for row in range(rows) for column in range(columns)]
        actions = tuple(3 * cell + 2 - way for cell in cells for way in range(3))
        return [Symmetry(self._mirror, actions, tuple(cells))]

    def _mirror(self, state: State) -> State:
        return state._replace(own=_mirrored(self.rules, state.own), other=_mirrored(self.rules, state.other))

    def action_text(self, action: int) -> str:
        """The cell a piece leaves and the column it goes to: a2b; as a rule people write a2b3, which says no more.

        A way that leads off the board is written as one to column `<` or `>`; it is never legal.
        """
        cell, way = divmod(action, 3)
        row, column = divmod(cell, self.rules.columns)
        return f"{_LETTERS[column]}{row + 1}" + f"<{_LETTERS[: self.rules.columns]}>"[column + way]

    def parse_action(self, text: str) -> int:
        """The action in such a text, or in one like a2b3, whose row is the next or the last. Raises ValueError else."""
        names = {self.action_text(action): action for action in range(self.num_actions)}
        short = re.sub(r"^([a-z])([1-8])([a-z])([1-8])$", _without_row, text.strip())
        if short not in names:
            raise ValueError(
                f"{text.strip()!r} is no action of {self.name}: write the cell of a piece and the cell or column it "
                "goes to, such as a2b3 or a2b"
            )
        return names[short]

    def state_text(self, state: State) -> str:
        """Rows of X, O and dots from the last to the first, the columns' letters, and who is next."""
        rows, columns, _ = self.rules
        first, second = (state.other, state.own) if state.player else (state.own, state.other)
        symbols = ["X" if _has(first, cell) else "O" if _has(second, cell) else "." for cell in range(rows * columns)]
        picture = [
            f"{row + 1} {' '.join(symbols[row * columns : (row + 1) * columns])}" for row in reversed(range(rows))
        ]
        return "\n".join([*picture, f"  {' '.join(_LETTERS[:columns])}", f"{self.player_names[state.player]} next"])

    def parse_state(self, text: str) -> State:
        """The state in such a picture. Raises ValueError for an impossible one."""
        rows, columns, _ = self.rules
        lines = [line.strip() for line in text.strip().splitlines()]
        row_form = re.compile(rf"[1-{_LARGEST}]( [XO.]){{{columns}}}")
        said = re.fullmatch("([XO]) next", lines[-1] if lines else "")
        if len(lines) != rows + 2 or not all(map(row_form.fullmatch, lines[:rows])) or not said:
            raise ValueError(
                f"a state of {self.name} is a picture like\n{self.state_text(self.initial_state())}\nnot\n{text}"
            )
        symbols = "".join(line[1:].replace(" ", "") for line in reversed(lines[:rows]))
        boards = [0, 0]
        for cell, symbol in enumerate(symbols):
            if symbol != ".":
                boards["XO".index(symbol)] |= shift_left(1, cell)
        player = "XO".index(said[1])
        return self._checked(State(boards[player], boards[1 - player], player, 0))

    def _checked(self, state: State) -> State:
        """The state, over if it is. Raises ValueError for too many pieces, or if the mover has won already."""
        rows, columns, ranks = self.rules
        if max(count_bits(state.own), count_bits(state.other)) > ranks * columns:
            raise ValueError(f"each side has at most {ranks * columns} pieces")
        last = shift_left((1 << columns) - 1, (rows - 1) * columns), (1 << columns) - 1
        if not state.other or state.own & last[state.player]:
            raise ValueError("the player to move has won already: the game ended before")
        return state._replace(lost=int(state.own == 0 or state.other & last[1 - state.player] != 0))


def _without_row(move: re.Match[str]) -> str:
    """The move without the row it goes to, if a piece can go there from its own."""
    column, row, next_column, next_row = move.groups()
    return f"{column}{row}{next_column}" if abs(int(next_row) - int(row)) == 1 else move[0]
