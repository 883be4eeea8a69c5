"""Holds the perfect Connect Four player to all 6,000 positions of Pascal Pons, and times its moves.

    python scripts/check_solver.py [POSITIONS]

prints, of each set or so many positions of it, how many answers were wrong (the best score, or which actions reach
it) and how long they took, each with an empty table as at the start of a game.
"""

import statistics
import sys
import time

from rich.console import Console

from azero.games.connect4 import Connect4, State
from azero.players.connect4_solver import Connect4Solver
from azero.players.exact import Position, pons_sets, thinned
from azero.screen import text_table


def answer_in_time(position: Position[State]) -> tuple[bool, float]:
    """Whether a new solver's answer is right, and the seconds it took."""
    solver = Connect4Solver()
    start = time.perf_counter()
    found = solver.best_actions(position.state)
    seconds = time.perf_counter() - start
    return found == (position.best_actions(), max(position.scores.values())), seconds


def main(num_positions: int) -> None:
    """Print the table; the exit status is 1 if an answer was wrong."""
    Connect4Solver().best_actions(Connect4().initial_state())  # compiles
    table, num_wrong = text_table("positions", "", "wrong", "median, s", "slowest, s"), 0
    for known in pons_sets():
        some = thinned(known, num_positions)
        answers = [answer_in_time(position) for position in some.positions]
        wrong, times = sum(not right for right, _ in answers), [seconds for _, seconds in answers]
        num_wrong += wrong
        table.add_row(known.name, str(len(times)), str(wrong), f"{statistics.median(times):.4f}", f"{max(times):.2f}")
    Console(highlight=False).print(table)
    sys.exit(num_wrong > 0)


if __name__ == "__main__":
    if not all(word.isdecimal() for word in sys.argv[1:]):
        sys.exit(__doc__)
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
