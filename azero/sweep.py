"""python -m azero.sweep: strength and speed over a parameter, as tables and a picture."""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from azero.config import command
from azero.games import file_name, load_game
from azero.games.game import Game
from azero.players.match import MatchSettings
from azero.players.points import PLACE, SELF, Point, Template, measured
from azero.players.rating import Score
from azero.players.record import Spent
from azero.players.series import Series, open_series
from azero.players.spec import parse_player
from azero.screen import markdown_table, progress_bar, text_table


@dataclass(frozen=True)
class SweepSettings(MatchSettings):
    """What a sweep is asked to measure."""

    game: str = "connect4"  # a name, path/to/file.py:Class or openspiel:name; parameters in parentheses, in quotes
    players: tuple[str, ...] = ()  # those measured, such as uct:1000,c={}; {} stands for the parameter
    values: tuple[str, ...] = ()  # of the parameter: numbers or words
    opponents: tuple[str, ...] = ("random",)  # whom each player meets; {} as above, self: the player itself
    parameter: str = "parameter"  # what the values are, for the picture
    name: str = "sweep"  # of the results
    run: str | None = None  # the directory of the results; null: checkpoints/sweep/GAME-NAME

    def __post_init__(self) -> None:
        """Raises ValueError for what cannot be measured."""
        super().__post_init__()
        if not any(PLACE in player for player in self.players):
            raise ValueError("name a player with {} in place of the parameter, as in: python -m azero.sweep uct:{}")
        if not re.fullmatch(r"[\w.-]*\w", self.name):
            raise ValueError(f"name must be of letters, digits, dots and dashes, not {self.name!r}; run= is for a path")
        for name in ("values", "opponents"):
            if not getattr(self, name):
                raise ValueError(f"{name} must not be empty")

    def matches(self, opponent: str) -> list[tuple[Template, str]]:
        """An opponent's matches, each with the parameter's value; for one that does not depend on it, any."""
        return [
            (template, value)
            for template in (Template(player, opponent) for player in self.players)
            for value in (self.values[:1] if template.is_constant else self.values)
        ]


@command(SweepSettings, "sweep", positional="players")
def main(settings: SweepSettings) -> None:
    """Measure strength and speed over a parameter: a table for each opponent, and a picture.

        python -m azero.sweep game=tictactoe
        python -m azero.sweep game=connect4 sweep=c
        python -m azero.sweep "uct:{}" "uct:{},c=0.5" values=[10,100] opponents=[random,uct:1000] name=mine

    A player or an opponent is written as in azero.arena; where it has {}, the values of the parameter go. Games are
    kept: the same command goes on where one was stopped, and more values, opponents or games add to what is there.
    What is not given is as in sweep=simulations, whose games have no random openings: num_opening_moves=2 makes some.
    Times are the clock's: to compare times, leave the machine alone and take num_workers=1.
    """
    pairs = [template.pair(value) for opponent in settings.opponents for template, value in settings.matches(opponent)]
    game = load_game(settings.game)
    for name in dict.fromkeys(chain.from_iterable(pairs)):
        parse_player(name).make(game)  # better to hear of a wrong one now than after hours
    game_name = file_name(settings.game.rpartition(":")[2].lower())
    directory = Path(settings.run or f"checkpoints/sweep/{game_name}-{settings.name}").absolute()
    console = _console()
    with open_series(directory, settings.game, settings) as series, closing(series.play(pairs)) as games:
        try:
            for opponent in settings.opponents:
                try:
                    _play(games, series, settings, opponent)
                finally:
                    _show(console, series.game, opponent, _points(series, settings, opponent))
        finally:
            points = [point for opponent in settings.opponents for point in _points(series, settings, opponent)]
            if points:
                _write(directory, series.game, settings, points)
                if not series.is_current:
                    console.print("Some games are of another version of azero: to measure this one, name another run")
                console.print(f"The picture, the table and the games are in {escape(str(directory))}")


def _console() -> Console:
    """Standard output, where a table that goes to a file is as wide as it must be; and a colon makes no picture."""
    console = Console(highlight=False, soft_wrap=True, emoji=False)
    console.width = console.width if console.is_terminal else 200
    return console


def _play(games: Iterator[object], series: Series, settings: SweepSettings, opponent: str) -> None:
    """Wait for the games that an opponent's matches lack, which come next, with a progress bar."""
    pairs = {template.pair(value) for template, value in settings.matches(opponent)}
    total = len(pairs) * settings.num_games
    num_kept = sum(len(series.records(pair, settings.num_games)) for pair in pairs)
    with progress_bar() as progress:
        task = progress.add_task(f"against {escape(opponent)}", total=total, completed=num_kept)
        for _ in islice(games, total - num_kept):
            progress.advance(task)


def _points(series: Series, settings: SweepSettings, opponent: str) -> list[Point]:
    """What the games so far say; a match without a game is left out."""
    points = [
        measured(template, value, series.records(template.pair(value), settings.num_games))
        for template, value in settings.matches(opponent)
    ]
    return [point for point in points if point.score.num_games or point.num_cut_short]


def _show(console: Console, game: Game[Any], opponent: str, points: Sequence[Point]) -> None:
    if not points:
        return
    against = "itself" if opponent == SELF else escape(opponent)
    console.print(f"[bold]against {against}[/], {game.name}; won/drawn/lost in %")
    seats = [f"as {name}" for name in game.player_names]
    table = text_table("player", *seats, "score, 95 %", "games", "ms/move", "simulations/s", "opponent's ms")
    for point in points:
        speed = _milliseconds(point.spent), f"{point.spent.simulations_per_second:,.0f}"
        others = _milliseconds(point.opponent_spent)
        table.add_row(escape(point.player), *_results(point, 0), f"{point.score.num_games}", *speed, others)
    console.print(table)
    for point in points:
        _show_remarks(console, point)
    console.print()


def _show_remarks(console: Console, point: Point) -> None:
    name, num_games = escape(point.player), point.score.num_games
    if point.template.opponent == SELF:
        console.print(
            f" {name} against itself: {num_games - point.score.draws or 'none'} of {num_games} games decisive"
        )
    # From one opening a player that meets itself plays two games of the same seats.
    if 2 * point.num_distinct < num_games + point.template.is_mirror:
        console.print(f" {name}: only {point.num_distinct} different games among {num_games}")
    if point.num_forfeits:
        console.print(f" {name}: {point.num_forfeits} games were forfeits", style="red")
    if point.num_cut_short:
        console.print(f" {name}: {point.num_cut_short} games more were cut short; they do not count")


def _results(point: Point, digits: int) -> tuple[str, str, str]:
    """Percentages as first and as second player, and the score; against itself, that of who moves first."""
    return _shares(point.as_first, digits), _shares(point.as_second, digits), point.score.text()


def _shares(score: Score, digits: int) -> str:
    return "/".join(f"{100 * count / score.num_games:.{digits}f}" for count in score) if score.num_games else "-"


def _milliseconds(spent: Spent) -> str:
    return f"{1000 * spent.seconds_per_move:.3f}"


def _write(directory: Path, game: Game[Any], settings: SweepSettings, points: Sequence[Point]) -> None:
    """Put the table and the picture beside the games."""
    from azero.players.plots import draw_sweep  # only here: it brings matplotlib

    (directory / "table.md").write_text(_markdown(game, points), encoding="utf-8")
    title = f"{game.name}, {settings.num_games} games a point, 95 % intervals"
    draw_sweep(directory / "picture.png", points, title, settings.parameter, game.player_names)


def _markdown(game: Game[Any], points: Sequence[Point]) -> str:
    """All results in one table: a row for each player, columns for each opponent."""
    opponents = list(dict.fromkeys(point.template.opponent for point in points))
    met = {(point.template.player, point.value, point.template.opponent): point for point in points}
    header = ["player"]
    for opponent in opponents:
        against = "itself" if opponent == SELF else opponent
        header += [f"against {against}: as {game.player_names[0]}", f"as {game.player_names[1]}", "score, 95 %"]
    rows = []
    for player, value in dict.fromkeys((player, value) for player, value, _ in met):
        mine = [met.get((player, value, opponent)) for opponent in opponents]
        known = [point for point in mine if point]
        cells = [cell for point in mine for cell in (_results(point, 1) if point else ("-",) * 3)]
        rows.append([known[0].player, *cells, _milliseconds(known[0].spent)])
    return markdown_table([*header, "ms a move"], rows)


if __name__ == "__main__":
    main()
