"""Dots and Boxes on dictionaries, as one would write it without a thought for speed.

A line is (kind, row, column) as OpenSpiel writes it, "h" or "v"; a state is (lines drawn, boxes of each, player).
"""


class DotsAndBoxes:
    def __init__(self, rows=3, columns=3):
        self.rows, self.columns = rows, columns
        self.lines = [("h", r, c) for r in range(rows + 1) for c in range(columns)]
        self.lines += [("v", r, c) for r in range(rows) for c in range(columns + 1)]

    def initial_state(self):
        return frozenset(), (0, 0), 0

    def current_player(self, state):
        return state[2]

    def legal_actions(self, state):
        return [number for number, line in enumerate(self.lines) if line not in state[0]]

    def num_closed(self, drawn):
        around = [
            [("h", r, c), ("h", r + 1, c), ("v", r, c), ("v", r, c + 1)]
            for r in range(self.rows)
            for c in range(self.columns)
        ]
        return sum(all(line in drawn for line in box) for box in around)

    def step(self, state, action):
        drawn, boxes, player = state
        after = drawn | {self.lines[action]}
        closed = self.num_closed(after) - self.num_closed(drawn)
        boxes = tuple(count + closed * (owner == player) for owner, count in enumerate(boxes))
        return after, boxes, player if closed else 1 - player

    def outcome(self, state):
        _, boxes, player = state
        mine, theirs = boxes[player], boxes[1 - player]
        return 1.0 if mine > theirs else -1.0 if mine < theirs else 0.0

    def observation(self, state):
        drawn, boxes, player = state
        height, width = 2 * self.rows + 1, 2 * self.columns + 1
        planes = [[[0.0] * width for _ in range(height)] for _ in range(2)]
        for kind, r, c in self.lines:
            row, column = (2 * r, 2 * c + 1) if kind == "h" else (2 * r + 1, 2 * c)
            planes[0 if (kind, r, c) in drawn else 1][row][column] = 1.0
        share = (boxes[player] - boxes[1 - player]) / (self.rows * self.columns)
        return [*planes, [[share] * width for _ in range(height)]]

    def picture(self, state):
        drawn, boxes, player = state
        text = "   " + "   ".join("abcdefghijklmnopqrstuvwxyz"[: self.columns + 1])
        for r in range(self.rows + 1):
            across = "".join("+---" if ("h", r, c) in drawn else "+   " for c in range(self.columns)) + "+"
            text += "\n" + f"{r + 1}".ljust(3) + across
            if r < self.rows:
                upright = "   ".join("|" if ("v", r, c) in drawn else " " for c in range(self.columns + 1))
                text += "\n   " + upright
        return f"{text}\nX {boxes[0]}, O {boxes[1]}, {'XO'[player]} next"
