"""python -m azero.check: whether a game keeps the laws of the contract."""

from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from azero.config import command
from azero.games import load_game
from azero.games.check import check_game


@dataclass(frozen=True)
class CheckSettings:
    """Which game to check, and how long."""

    game: str = "connect4"  # a name, or path/to/file.py:Class
    num_games: int = 20  # random games to play, at least 1
    seed: int = 0  # which ones

    def __post_init__(self) -> None:
        """Raises ValueError for what cannot be checked."""
        if self.num_games < 1:
            raise ValueError(f"num_games must be at least 1, got {self.num_games}")


@command(CheckSettings, "check")
def main(settings: CheckSettings) -> None:
    """Play random games and hold every state against the laws that azero/games/game.py lists.

        python -m azero.check game=path/to/file.py:Class

    The first law broken is an error, which names the state.
    """
    game = load_game(settings.game)
    console = Console(markup=False, highlight=False, soft_wrap=True)
    with console.status(Text(f"playing {settings.num_games} random games of {game.name}")):
        num_states = check_game(game, settings.num_games, settings.seed)
    console.print(f"{game.name} keeps every law in {num_states} states of {settings.num_games} random games")


if __name__ == "__main__":
    main()
