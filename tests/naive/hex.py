"""Hex on boards that are tuples of "X", "O" and ".", whose winner is looked for from scratch."""

SYMBOLS = ("X", "O")


class Hex:
    """A state is (cells row by row, player to move, whether O has swapped)."""

    def __init__(self, size=11, swap=False):
        self.size, self.swap = size, swap

    def initial_state(self):
        return (".",) * self.size**2, 0, False

    def current_player(self, state):
        return state[1]

    def legal_actions(self, state):
        cells, player, _ = state
        if self.has_joined(cells, 1 - player):
            return []
        empty = [cell for cell, symbol in enumerate(cells) if symbol == "."]
        return [*empty, self.size**2] if self.swap and player == 1 and len(empty) == self.size**2 - 1 else empty

    def step(self, state, action):
        cells, player, swapped = state
        if action == self.size**2:
            row, column = divmod(cells.index("X"), self.size)
            cells, action, swapped = (".",) * self.size**2, column * self.size + row, True
        return (*cells[:action], SYMBOLS[player], *cells[action + 1 :]), 1 - player, swapped

    def outcome(self, state):
        cells, player, _ = state
        return 1.0 if self.has_joined(cells, player) else -1.0

    def has_joined(self, cells, player):
        places = [divmod(cell, self.size) for cell, symbol in enumerate(cells) if symbol == SYMBOLS[player]]
        reached = {place for place in places if place[player] == 0}
        growing = True
        while growing:
            near = {(r + i, c + j) for r, c in reached for i in (-1, 0, 1) for j in (-1, 0, 1) if i != j}
            grown = reached | (near & set(places))
            growing, reached = grown != reached, grown
        return any(place[player] == self.size - 1 for place in reached)

    def observation(self, state):
        cells, player, _ = state
        planes = [[float(cell == SYMBOLS[p]) for cell in cells] for p in (player, 1 - player)]
        planes.append([float(player)] * self.size**2)
        return [[plane[row * self.size : (row + 1) * self.size] for row in range(self.size)] for plane in planes]

    def picture(self, state):
        lines = ["   " + " ".join("abcdefghijklmn"[: self.size])]
        for row in range(self.size):
            lines.append(" " * row + f"{row + 1}".rjust(2) + " " + " ".join(state[0][row * self.size :][: self.size]))
        return "\n".join(lines + ["swapped"] * state[2])
