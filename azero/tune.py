"""python -m azero.tune: which settings of a player are best? A race of candidates, and a match that confirms it."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from azero.config import command
from azero.games import file_name, load_game
from azero.players.match import MatchSettings, report
from azero.players.rating import wilson_interval
from azero.players.series import Pair, Series, open_series
from azero.players.spec import parse_player
from azero.players.tuning import Interval, Race, RaceSettings, common_player, expand, run_race
from azero.screen import progress_bar, text_table


@dataclass(frozen=True)
class TuneSettings(RaceSettings, MatchSettings):
    """Who is compared, and how."""

    game: str = "connect4"  # a name, path/to/file.py:Class or openspiel:name; parameters in parentheses, in quotes
    players: tuple[str, ...] = ()  # the candidates, such as 'uct:1000,c={0.7,1,1.4}'
    default: str | None = None  # whom to beat, in the race and at its end; null: the player without what is in braces
    opponents: tuple[str, ...] = ()  # further ones, whom every candidate plays
    confirm_games: int = 400  # of the match at the end, between the best and the default; even, >= 2
    run: str | None = None  # the directory of the games; null: checkpoints/tune/GAME

    def __post_init__(self) -> None:
        """Raises ValueError for what cannot be compared."""
        RaceSettings.__post_init__(self)
        MatchSettings.__post_init__(self)
        if self.confirm_games < 2 or self.confirm_games % 2:
            raise ValueError(f"confirm_games must be even, and at least 2; got {self.confirm_games}")
        expand(self.players)


@command(TuneSettings, "tune", positional="players")
def main(settings: TuneSettings) -> None:
    """Find out which of many settings of a player are best.

        python -m azero.tune game=connect4 'uct:1000,c={0.25,0.5,1,2,4}'

    Values in braces are tried in every combination. All candidates play the default from the same openings, in a race:
    who is proven to be worse than another leaves, so that the games go to those in front. The proof allows for many
    looks at many candidates. As the winner of many owes something to luck, new games against the default tell in the
    end how good it is. The same command goes on where one was stopped, and with more games it goes further.
    """
    candidates = expand(settings.players)
    game = load_game(settings.game)
    for name in (*candidates, *settings.opponents):
        parse_player(name).make(game)  # better to hear of a wrong one now than after an hour
    default = settings.default or common_player(candidates)
    try:
        parse_player(default).make(game)
    except ValueError as error:
        made = "; it is the candidates without what is in braces: name another, default=PLAYER"
        raise ValueError(f"whom to beat: {error}{made * (settings.default is None)}") from None
    opponents = list(dict.fromkeys((default, *settings.opponents)))
    directory = Path(settings.run or f"checkpoints/tune/{file_name(game.name)}")
    console = Console(highlight=False, soft_wrap=True, emoji=False)
    console.print(escape(f"{game.name}: {len(candidates)} candidates, each against {', '.join(opponents)}"))
    with open_series(directory, settings.game, settings) as series:
        try:
            race = _race(console, series, candidates, opponents, settings)
            _confirm(console, series, (candidates[race.leader], default), race, settings.confirm_games)
        finally:
            if not series.is_current:
                console.print("Some games are of another version of azero: to tune this one, name another run")
            console.print(f"The games are in {escape(str(directory.absolute()))}")


def _race(
    console: Console, series: Series, candidates: Sequence[str], opponents: Sequence[str], settings: TuneSettings
) -> Race:
    """Run the race to its end, and show its state then, or where it was interrupted."""
    with progress_bar() as progress:
        task = progress.add_task("race", total=settings.num_games)
        races = run_race(series, candidates, opponents, settings, lambda: progress.advance(task))
        race = next(races)
        try:
            for _ in races:
                text = f"{len(race.running)} in the race, {candidates[race.leader]} leads"
                num_openings = sum(map(race.num_openings, range(len(candidates))))
                progress.update(task, description=escape(text), completed=2 * len(opponents) * num_openings)
        finally:
            progress.stop()
            played = [
                record
                for candidate, name in enumerate(candidates)
                for opponent in opponents
                for record in series.records((name, opponent), 2 * race.num_openings(candidate))
            ]
            _show_race(console, candidates, race, sum(record.points is None for record in played))
    return race


def _show_race(console: Console, candidates: Sequence[str], race: Race, num_cut_short: int) -> None:
    """A table of all candidates, the best first."""
    table = text_table("candidate", "openings", "score", "behind the leader", "")
    for candidate in sorted(range(len(candidates)), key=lambda c: (c not in race.running, -race.score(c).mean)):
        behind = "" if candidate == race.leader else _text(race.lead(candidate))
        out = "" if candidate in race.running else "out"
        row = str(race.num_openings(candidate)), _text(race.score(candidate)), behind, out
        table.add_row(escape(candidates[candidate]), *row)
    console.print(table)
    if num_cut_short:
        console.print(f" {num_cut_short} games were cut short; here they count as drawn")
    left = "one is left" if len(race.running) == 1 else f"{len(race.running)} are left, not told apart by these games"
    console.print(f" {left}; the best of all is not out, with {1 - race.error:.0%} confidence, however often one looks")


def _text(interval: Interval) -> str:
    return f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def _confirm(console: Console, series: Series, pair: Pair, race: Race, num_games: int) -> None:
    """Measure the best by a match that begins where the race's games ended, from openings that were not in it."""
    winner, default = pair
    if winner == default:
        console.print(f"The best is the default itself, {escape(default)}")
        return
    num_before = 2 * race.num_openings(race.leader)
    with progress_bar() as progress, closing(series.play([pair], num_before + num_games)) as games:
        task = progress.add_task("confirming match", total=num_games)
        for _ in games:
            progress.advance(task)
    summary = report(series.records(pair, num_before + num_games)[num_before:])
    score = summary.score
    low, high = wilson_interval(score.points, score.num_games)
    verdict = "better" if low > 0.5 else "worse" if high < 0.5 else "not shown to differ"
    distinct = f"{num_games} new games, {summary.num_distinct} of them distinct"
    if summary.num_cut_short:
        distinct += f", {summary.num_cut_short} cut short, which do not count"
    console.print(f"[bold]{escape(winner)} against {escape(default)}[/], in {distinct}: {verdict}")
    console.print(
        f" {score.wins} won, {score.draws} drawn, {score.losses} lost: score {score.text()}, Elo {score.elo_text()}"
    )
    for name, spent, num_forfeits in zip(pair, summary.spent, summary.num_forfeits, strict=True):
        forfeits = f", {num_forfeits} games were forfeits" * (num_forfeits > 0)
        per_move = f"{spent.simulations_per_move:.0f} simulations and {1000 * spent.seconds_per_move:.2f} ms a move"
        console.print(escape(f" {name}: {per_move}{forfeits}"))


if __name__ == "__main__":
    main()
