"""m,n,k games as one would write them without a thought for speed."""

from tests.naive.games import TicTacToe, all_lines


class Mnk(TicTacToe):
    """`line` in a row on any board, whose picture has the numbers of its rows and the letters of its columns."""

    def __init__(self, rows=3, columns=3, line=3):
        self.rows, self.columns = rows, columns
        self.lines = all_lines(rows, columns, line)

    def legal_actions(self, state):
        cells, _ = state
        if self.has_line(cells, "X") or self.has_line(cells, "O"):
            return []
        return [cell for cell, symbol in enumerate(cells) if symbol == "."]

    def has_line(self, cells, symbol):
        return any(cells[line[0]] == symbol and all(cells[cell] == symbol for cell in line) for line in self.lines)

    def picture(self, state):
        rows = super().picture(state).split("\n")
        numbered = [f"{self.rows - i}".rjust(2) + " " + row for i, row in enumerate(rows)]
        return "\n".join(numbered) + "\n   " + " ".join("abcdefghijklmnopqrs"[: self.columns])
