"""Games on boards that are tuples of "X", "O" and ".", as one would write them without a thought for speed.

A state is (cells, player to move); the cells run row by row from the top left, as they are printed.
"""

SYMBOLS = ("X", "O")


def all_lines(rows, columns, length):
    """Every straight line of `length` cells, as a list of cells."""
    lines = []
    for row in range(rows):
        for column in range(columns):
            for down, right in [(0, 1), (1, 0), (1, 1), (1, -1)]:
                places = [(row + i * down, column + i * right) for i in range(length)]
                if all(0 <= r < rows and 0 <= c < columns for r, c in places):
                    lines.append([r * columns + c for r, c in places])
    return lines


class TicTacToe:
    """Three in a row on 3 x 3."""

    rows, columns = 3, 3
    lines = all_lines(3, 3, 3)

    def initial_state(self):
        return (".",) * (self.rows * self.columns), 0

    def current_player(self, state):
        return state[1]

    def legal_actions(self, state):
        cells, _ = state
        if self.has_line(cells, "X") or self.has_line(cells, "O"):
            return []
        return [cell for cell in range(9) if cells[cell] == "."]

    def step(self, state, action):
        cells, player = state
        return (*cells[:action], SYMBOLS[player], *cells[action + 1 :]), 1 - player

    def outcome(self, state):
        cells, player = state
        if self.has_line(cells, SYMBOLS[player]):
            return 1.0
        return -1.0 if self.has_line(cells, SYMBOLS[1 - player]) else 0.0

    def has_line(self, cells, symbol):
        return any(all(cells[cell] == symbol for cell in line) for line in self.lines)

    def observation(self, state):
        cells, player = state
        return [self.in_rows([float(cell == SYMBOLS[p]) for cell in cells]) for p in (player, 1 - player)]

    def picture(self, state):
        return "\n".join(" ".join(row) for row in self.in_rows(state[0]))

    def in_rows(self, cells):
        return [list(cells[row * self.columns : (row + 1) * self.columns]) for row in range(self.rows)]


class Connect4(TicTacToe):
    """Four in a row on 6 x 7, where stones fall."""

    rows, columns = 6, 7
    lines = all_lines(6, 7, 4)

    def legal_actions(self, state):
        cells, _ = state
        if self.has_line(cells, "X") or self.has_line(cells, "O"):
            return []
        return [column for column in range(7) if cells[column] == "."]

    def step(self, state, action):
        cells, _ = state
        lowest = max(cell for cell in range(action, 42, 7) if cells[cell] == ".")
        return super().step(state, lowest)
