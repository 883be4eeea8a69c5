"""Does a player ever lose? Tries every line of play of its opponent, in both seats.

    python scripts/never_loses.py tictactoe azero:checkpoints/RUN@25 network:checkpoints/RUN

For games small enough to enumerate. Of a game with a theory of perfect play, such as Nim, every position is tried
instead, and must be won where it can be. Prints the lines that are lost or the positions that are answered wrongly; the
exit status is 1 if there are any.
"""

import sys
from collections.abc import Iterator
from typing import Any

from azero.games import load_game
from azero.games.game import Game
from azero.players.exhaustive import losing_lines, mistakes
from azero.players.player import Player
from azero.players.spec import parse_player


def main(game_name: str, *players: str) -> int:
    """Check each player; the number of its faults decides the status."""
    game = load_game(game_name)
    find = wrong_answers if game.exact_value(game.initial_state()) is not None else lost_games
    num_faults = 0
    for spec in players:
        faults = list(find(game, parse_player(spec).make(game)))
        num_faults += len(faults)
        print(f"{spec}: {len(faults)} {find.__name__.replace('_', ' ')}")
        for fault in faults:
            print("   ", fault)
    return int(num_faults > 0)


def lost_games(game: Game[Any], player: Player[Any]) -> Iterator[str]:
    """The losing lines, by seat."""
    for seat, name in enumerate(game.player_names):
        for line in losing_lines(game, player, seat):
            yield f"as {name}: {' '.join(map(game.action_text, line))}"


def wrong_answers(game: Game[Any], player: Player[Any]) -> Iterator[str]:
    """The positions that could be won, or drawn, and what was played instead."""
    for state, action in mistakes(game, player):
        yield f"{game.state_text(state)}: {game.action_text(action)}"


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
