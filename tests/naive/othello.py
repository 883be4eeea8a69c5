"""Othello on a board that is a tuple of "X", "O" and ".", as one would write it without a thought for speed.

A state is (cells, player to move); the cells run row by row from the top left.
"""

SYMBOLS = ("X", "O")
DIRECTIONS = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]


class Othello:
    """Othello on size x size cells; the last action is to pass."""

    def __init__(self, size=8):
        self.size = size
        self.pass_action = size * size

    def initial_state(self):
        middle = self.size // 2
        cells = {
            (middle - 1, middle - 1): "O",
            (middle, middle): "O",
            (middle - 1, middle): "X",
            (middle, middle - 1): "X",
        }
        return tuple(cells.get(divmod(cell, self.size), ".") for cell in range(self.size**2)), 0

    def current_player(self, state):
        return state[1]

    def legal_actions(self, state):
        cells, player = state
        if puts := self.puts(cells, player):
            return puts
        return [self.pass_action] if self.puts(cells, 1 - player) else []

    def puts(self, cells, player):
        """The cells where a player's stone captures."""
        return [cell for cell in range(self.size**2) if cells[cell] == "." and self.captured(cells, player, cell)]

    def captured(self, cells, player, cell):
        """What a stone on an empty cell turns."""
        row, column = divmod(cell, self.size)
        return [turned for down, right in DIRECTIONS for turned in self.line(cells, player, (row, column), down, right)]

    def line(self, cells, player, place, down, right):
        """The opponent's stones from a place in a direction, if the player's own stone ends them."""
        line = []
        row, column = place[0] + down, place[1] + right
        while 0 <= row < self.size and 0 <= column < self.size:
            cell = row * self.size + column
            if cells[cell] == SYMBOLS[player]:
                return line
            if cells[cell] == ".":
                return []
            line.append(cell)
            row, column = row + down, column + right
        return []

    def step(self, state, action):
        cells, player = state
        if action == self.pass_action:
            return cells, 1 - player
        turned = {action, *self.captured(cells, player, action)}
        return tuple(SYMBOLS[player] if i in turned else cell for i, cell in enumerate(cells)), 1 - player

    def outcome(self, state):
        lead = self.lead(state)
        return 1.0 if lead > 0 else -1.0 if lead < 0 else 0.0

    def lead(self, state):
        """By how many stones the player to move has more than the other."""
        cells, player = state
        return cells.count(SYMBOLS[player]) - cells.count(SYMBOLS[1 - player])

    def observation(self, state):
        cells, player = state
        return [self.in_rows([float(cell == SYMBOLS[p]) for cell in cells]) for p in (player, 1 - player)]

    def picture(self, state):
        letters = " ".join("abcdefgh"[: self.size])
        rows = [f"{number} {' '.join(row)}" for number, row in enumerate(self.in_rows(state[0]), 1)]
        return "\n".join([f"  {letters}", *rows])

    def in_rows(self, cells):
        return [list(cells[row * self.size : (row + 1) * self.size]) for row in range(self.size)]
