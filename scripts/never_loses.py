"""Does a player ever lose? Tries every line of play of its opponent, in both seats.

    python scripts/never_loses.py tictactoe azero:checkpoints/RUN@25 network:checkpoints/RUN

For games small enough to enumerate. Prints the losing lines; the exit status is 1 if there are any.
"""

import sys

from azero.games import load_game
from azero.players.exhaustive import losing_lines
from azero.players.spec import parse_player


def main(game_name: str, *players: str) -> int:
    """Check each player; the number of losing lines decides the status."""
    game = load_game(game_name)
    num_losses = 0
    for spec in players:
        for seat in (0, 1):
            lines = list(losing_lines(game, parse_player(spec).make(game), seat))
            num_losses += len(lines)
            print(f"{spec} as {game.player_names[seat]}: {len(lines)} losing lines")
            for line in lines:
                print("   ", " ".join(map(game.action_text, line)))
    return int(num_losses > 0)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
