"""python -m azero.evaluate: what players give away in positions whose perfect play is known."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.markup import escape

from azero.config import command
from azero.games import load_game
from azero.games.game import Game
from azero.players.exact import Figures, PositionSet, measure, position_sets, thinned
from azero.players.spec import PlayerSpec, parse_player
from azero.screen import progress_bar, report_console, text_table

_FIGURES = ("lose value", "... unless lost", "not exactly best", "value right")
_LEGEND = """
lose value: moves that make less of the position than perfect play. ... unless lost: the same where the position is not
lost already. not exactly best: slower wins and faster losses too. value right: of won and lost positions, those whose
value the player has on the right side of 0. In per cent of positions, with 95 % intervals."""


@dataclass(frozen=True)
class EvaluateSettings:
    """What to measure."""

    game: str = "connect4"  # a name, path/to/file.py:Class or openspiel:name; parameters in parentheses, in quotes
    players: tuple[str, ...] = ()  # one or more, such as network:RUN, azero:RUN@600 or uct:1000
    player: str | None = None  # one more, for those who write player=...
    positions: int | None = None  # at most so many of each set, spread over it; null: all
    threads: int = 1  # positions looked at side by side

    def __post_init__(self) -> None:
        """Raises ValueError for what cannot be measured."""
        if not self.players and self.player is None:
            raise ValueError("name a player, as in: python -m azero.evaluate game=connect4 azero:RUN@600")
        for name in ("positions", "threads"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise ValueError(f"{name} must be at least 1, got {number}")


@command(EvaluateSettings, "evaluate", positional="players")
def main(settings: EvaluateSettings) -> None:
    """Measure players against perfect play, with 95 % intervals.

        python -m azero.evaluate game=connect4 network:RUN azero:RUN@600

    Connect Four: the six sets of Pascal Pons, a thousand positions each. Of small games every state; of others,
    positions near the end that alpha-beta can solve. Every position is looked at as at the start of a game. The value
    of network:RUN is the network's own; of players that search, the search's.
    """
    game = load_game(settings.game)
    names = (*settings.players, *([settings.player] if settings.player else []))
    specs = [parse_player(text) for text in names]
    for spec in specs:
        spec.make(game)  # better to hear of a network that cannot be read before than after
    console = report_console()
    with console.status(f"looking for positions of {escape(game.name)} whose perfect play is known"):
        sets = [thinned(known, settings.positions or len(known.positions)) for known in position_sets(game)]
    results: dict[str, list[Figures]] = {}
    for spec in specs:
        results[spec.name] = [_measure(game, spec, known, settings.threads) for known in sets]
        console.print(f"[bold]{escape(spec.name)}[/], {game.name}")
        table = text_table("positions", "", *_FIGURES)
        for known, found in zip(sets, results[spec.name], strict=True):
            table.add_row(known.name, str(len(known.positions)), *(count.text() for count in found))
        console.print(table)
        console.print()
    if len(sets) > 1:
        console.print("[bold]Moves that lose value, %[/]")
        table = text_table("player", *(known.name.replace("-", "\n") for known in sets), "mean")
        for name, row in results.items():
            shares = [100 * found.lost_value.share for found in row]
            table.add_row(escape(name), *(f"{share:.2f}" for share in (*shares, sum(shares) / len(shares))))
        console.print(table)
    console.print(_LEGEND, style="dim")


def _measure(game: Game[Any], spec: PlayerSpec, known: PositionSet[Any], num_threads: int) -> Figures:
    """The figures of a player in one set, with a progress bar."""
    with progress_bar() as progress:
        task = progress.add_task(escape(f"{spec.name}, {known.name}"), total=len(known.positions))
        return measure(partial(spec.make, game), known.positions, num_threads, partial(progress.advance, task))


if __name__ == "__main__":
    main()
