"""Dots and Boxes: who draws the fourth line around a box has closed it, and must draw another one.

Players: X (player 0) and O.
Actions: 24, the lines between neighbouring dots: across ones row by row, then upright ones; a1b1 joins two dots.
Observation: float32[3, 7, 7], dots, lines and boxes as drawn; plane 0 the lines, plane 1 those still to be drawn,
    plane 2 everywhere the mover's boxes less the opponent's, as a share of all.
Outcome: 1 or -1 for the player to move, who drew the last line, as he has more boxes or fewer; or else a draw.
End: all lines are drawn, after 24 actions.
Symmetries: 8, those of the square; a board with more columns than rows, or fewer, has half of them.

These are the figures of 3 x 3 boxes, the smallest square that is no child's play and yet is solved in seconds, so that
a player can be held against the truth: the second one gets six boxes. Experts play on 5 x 5, the largest square whose
lines fit into one integer. Which player has closed which box does not matter, only how many; a state does not tell.
"""

import re
from functools import partial
from typing import Any, NamedTuple

from azero._jit import compilable, drop_lowest_bit, lowest_bit
from azero.games.compiled import CompiledGame
from azero.games.game import Symmetry, full_name

_MAX_LINES = 62
_FLIP_ROWS, _FLIP_COLUMNS, _TRANSPOSE = 1, 2, 4  # a symmetry is a sum of these, done in this order
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LABEL = 3  # characters before the dots of a row
_BOX = 4  # characters from dot to dot


class State(NamedTuple):
    """Bit l of `lines` is line l."""

    lines: int
    margin: int  # the mover's boxes less the opponent's
    player: int  # to move


class Rules(NamedTuple):
    """The size of the board, in boxes."""

    rows: int
    columns: int

    def initial_state(self) -> State:
        """No line is drawn."""
        return State(0, 0, 0)

    def current_player(self, state: State) -> int:
        """As the state says."""
        return state.player

    def write_legal_actions(self, state: State, out: Any) -> int:
        """The lines that are not drawn."""
        num_legal = 0
        for line in range(_num_lines(self)):
            out[num_legal] = line
            num_legal += 1 - ((state.lines >> line) & 1)
        return num_legal

    def step(self, state: State, action: int) -> State:
        """Draw a line; who closes a box with it stays at move."""
        lines = state.lines | 1 << action
        row, column = _place(self, action)
        if row & 1:  # an upright line, in a row of boxes
            closed = _is_closed(self, lines, row // 2, column // 2 - 1) + _is_closed(self, lines, row // 2, column // 2)
        else:
            closed = _is_closed(self, lines, row // 2 - 1, column // 2) + _is_closed(self, lines, row // 2, column // 2)
        if closed:
            return State(lines, state.margin + closed, state.player)
        return State(lines, -state.margin, 1 - state.player)

    def outcome(self, state: State) -> float:
        """More boxes win."""
        return float((state.margin > 0) - (state.margin < 0))

    @property
    def key_width(self) -> int:
        """Two numbers."""
        return 2

    def write_key(self, state: State, key: Any) -> None:
        """The lines, and the margin beside the player."""
        key[0] = state.lines
        key[1] = 2 * state.margin + state.player

    def canonical(self, state: State) -> State:
        """The image whose lines are the smallest number."""
        lines = state.lines
        for symmetry in range(1, 8 if self.rows == self.columns else 4):
            lines = min(lines, _image(self, state.lines, symmetry))
        return State(lines, state.margin, state.player)

    def write_observation(self, state: State, planes: Any) -> None:
        """Lines where they are on the board, and the margin."""
        for line in range(_num_lines(self)):
            row, column = _place(self, line)
            planes[1 - ((state.lines >> line) & 1), row, column] = 1
        share = state.margin / (self.rows * self.columns)
        for row in range(2 * self.rows + 1):
            for column in range(2 * self.columns + 1):
                planes[2, row, column] = share


@compilable
def _num_lines(rules: Rules) -> int:
    return (rules.rows + 1) * rules.columns + rules.rows * (rules.columns + 1)


@compilable
def _place(rules: Rules, line: int) -> tuple[int, int]:
    """Where a line is, counting rows and columns of dots, lines and boxes: dots are in even ones, boxes in odd ones."""
    num_across = (rules.rows + 1) * rules.columns
    if line < num_across:
        return 2 * (line // rules.columns), 2 * (line % rules.columns) + 1
    line -= num_across
    return 2 * (line // (rules.columns + 1)) + 1, 2 * (line % (rules.columns + 1))


@compilable
def _line(rules: Rules, row: int, column: int) -> int:
    """The line at a place."""
    if row & 1:
        return (rules.rows + 1) * rules.columns + row // 2 * (rules.columns + 1) + column // 2
    return row // 2 * rules.columns + column // 2


@compilable
def _is_closed(rules: Rules, lines: int, row: int, column: int) -> int:
    """1 if the four lines around a box are drawn, else, and outside the board, 0."""
    if row < 0 or column < 0 or row == rules.rows or column == rules.columns:
        return 0
    above, left = row * rules.columns + column, (rules.rows + 1) * rules.columns + row * (rules.columns + 1) + column
    around = 1 << above | 1 << (above + rules.columns) | 1 << left | 1 << (left + 1)
    return 1 if lines & around == around else 0


@compilable
def _moved(rules: Rules, row: int, column: int, symmetry: int) -> tuple[int, int]:
    """Where a symmetry takes a place."""
    if symmetry & _FLIP_ROWS:
        row = 2 * rules.rows - row
    if symmetry & _FLIP_COLUMNS:
        column = 2 * rules.columns - column
    if symmetry & _TRANSPOSE:
        return column, row
    return row, column


@compilable
def _image(rules: Rules, lines: int, symmetry: int) -> int:
    """The lines after a symmetry."""
    image = 0
    while lines:
        row, column = _place(rules, lowest_bit(lines))
        row, column = _moved(rules, row, column, symmetry)
        image |= 1 << _line(rules, row, column)
        lines = drop_lowest_bit(lines)
    return image


class DotsAndBoxes(CompiledGame[State]):
    """Dots and Boxes on a board of rows x columns boxes."""

    name = "dots_and_boxes"

    def __init__(self, rows: int = 3, columns: int = 3) -> None:
        """Raises ValueError for a board without boxes, or with more than 62 lines."""
        self.rules = Rules(rows, columns)
        self.num_actions = _num_lines(self.rules)
        if min(rows, columns) < 1 or self.num_actions > _MAX_LINES:
            raise ValueError(
                f"a board of {rows} x {columns} boxes cannot be played: it needs at least one box, and at most "
                f"{_MAX_LINES} lines, such as 5 x 5 or 4 x 6 boxes"
            )
        self.name = full_name(self, rows=rows, columns=columns)
        self.max_game_length = self.num_actions
        self.observation_shape = (3, 2 * rows + 1, 2 * columns + 1)

    def symmetries(self) -> list[Symmetry[State]]:
        """Reflections and turns of the board."""
        rules, (_, height, width) = self.rules, self.observation_shape
        lines = [_place(rules, line) for line in range(self.num_actions)]
        places = [divmod(cell, width) for cell in range(height * width)]
        found = []
        for symmetry in range(1, 8 if height == width else 4):
            actions = tuple(_line(rules, *_moved(rules, *place, symmetry)) for place in lines)
            cells = [_moved(rules, *place, symmetry) for place in places]
            numbers = tuple(row * width + column for row, column in cells)
            found.append(Symmetry(partial(self._moved_state, symmetry), actions, numbers))
        return found

    def _moved_state(self, symmetry: int, state: State) -> State:
        return state._replace(lines=_image(self.rules, state.lines, symmetry))

    def num_boxes(self, state: State) -> tuple[int, int]:
        """How many boxes player 0 and player 1 have closed."""
        total = self._num_closed(state.lines)
        mover, other = (total + state.margin) // 2, (total - state.margin) // 2
        return (other, mover) if state.player else (mover, other)

    def _num_closed(self, lines: int) -> int:
        rows, columns = self.rules
        return sum(_is_closed(self.rules, lines, *divmod(box, columns)) for box in range(rows * columns))

    def action_text(self, action: int) -> str:
        """The two dots that a line joins: a1b1, with letters for columns and numbers for rows, from the top left."""
        row, column = _place(self.rules, action)
        first = row // 2, column // 2
        second = (row + 1) // 2, (column + 1) // 2
        return "".join(f"{_LETTERS[column]}{row + 1}" for row, column in (first, second))

    def state_text(self, state: State) -> str:
        """The board, and below it the boxes of both players, and who is next."""
        rows, columns = self.rules
        picture = [" " * _LABEL + (" " * (_BOX - 1)).join(_LETTERS[: columns + 1])]
        for row in range(2 * rows + 1):
            label = "" if row & 1 else str(row // 2 + 1)
            picture.append(f"{label:<{_LABEL}}{self._row_text(state.lines, row)}")
        first, second = self.num_boxes(state)
        return "\n".join([*picture, f"X {first}, O {second}, {self.player_names[state.player]} next"])

    def _row_text(self, lines: int, row: int) -> str:
        """A row of dots and lines, or of upright lines and boxes."""
        symbols = []
        for column in range(2 * self.rules.columns + 1):
            if (row + column) & 1:
                drawn = lines >> _line(self.rules, row, column) & 1
                symbols.append(("|" if row & 1 else "-" * (_BOX - 1)) if drawn else " " * (1 if row & 1 else _BOX - 1))
            else:
                symbols.append(" " * (_BOX - 1) if row & 1 else "+")
        return "".join(symbols)

    def parse_state(self, text: str) -> State:
        """The state in such a picture. Raises ValueError if it is none."""
        rows = [row.rstrip() for row in text.strip("\n").splitlines()]
        lines = 0
        for line in range(self.num_actions):
            row, column = _place(self.rules, line)
            at = _LABEL + column // 2 * _BOX + column % 2
            if row + 1 < len(rows) and rows[row + 1][at : at + 1] in ("-", "|"):
                lines |= 1 << line
        said = re.fullmatch(r"X (\d+), O (\d+), ([XO]) next", rows[-1] if rows else "")
        if said:
            first, second, player = int(said[1]), int(said[2]), self.player_names.index(said[3])
            state = State(lines, (second - first) if player else (first - second), player)
            all_counted = first + second == self._num_closed(lines)
            if all_counted and [row.rstrip() for row in self.state_text(state).splitlines()] == rows:
                return state
        raise ValueError(
            f"a state of {self.name} is a picture like\n{self.state_text(self.initial_state())}\nwith --- and | for "
            f"lines, and with all closed boxes counted below it, not\n{text}"
        )
