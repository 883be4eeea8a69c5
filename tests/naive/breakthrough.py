"""Breakthrough on a dictionary, as one would write it without a thought for speed.

A state is (pieces, player), the pieces a tuple of "X", "O" and "." by cell, row by row from a1.
"""


class Breakthrough:
    def __init__(self, rows=8, columns=8, ranks=2):
        self.rows, self.columns, self.ranks = rows, columns, ranks

    def initial_state(self):
        empty = (self.rows - 2 * self.ranks) * self.columns
        pieces = self.ranks * self.columns
        return ("X",) * pieces + (".",) * empty + ("O",) * pieces, 0

    def current_player(self, state):
        return state[1]

    def is_won(self, cells, player):
        last = cells[-self.columns :] if player == 0 else cells[: self.columns]
        return "XO"[player] in last or "XO"[1 - player] not in cells

    def target(self, state, action):
        """Row and column where a piece would arrive."""
        row, column = divmod(action // 3, self.columns)
        return row + (1, -1)[state[1]], column + action % 3 - 1

    def legal_actions(self, state):
        cells, player = state
        if self.is_won(cells, 1 - player):
            return []
        return [action for action in range(3 * len(cells)) if self.is_legal(state, action)]

    def is_legal(self, state, action):
        cells, player = state
        row, column = self.target(state, action)
        if cells[action // 3] != "XO"[player] or not 0 <= column < self.columns:
            return False
        there = cells[row * self.columns + column]
        return there == "." or (there == "XO"[1 - player] and action % 3 != 1)

    def step(self, state, action):
        cells, player = state
        row, column = self.target(state, action)
        after = list(cells)
        after[action // 3] = "."
        after[row * self.columns + column] = "XO"[player]
        return tuple(after), 1 - player

    def outcome(self, state):
        return -1.0

    def observation(self, state):
        cells, player = state
        rows = [cells[row * self.columns : (row + 1) * self.columns] for row in reversed(range(self.rows))]
        boards = [[[float(cell == "XO"[p]) for cell in row] for row in rows] for p in (player, 1 - player)]
        return [*boards, [[float(player)] * self.columns for _ in rows]]

    def picture(self, state):
        cells, player = state
        rows = [cells[row * self.columns : (row + 1) * self.columns] for row in range(self.rows)]
        lines = [f"{number + 1} {' '.join(row)}" for number, row in enumerate(rows)][::-1]
        return "\n".join([*lines, "  " + " ".join("abcdefgh"[: self.columns]), f"{'XO'[player]} next"])
