"""python -m azero.arena: who is stronger? Matches between two players or more."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import combinations, count
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from azero.config import command
from azero.evaluators.weights import checkpoint_number, checkpoints
from azero.games import file_name, load_game
from azero.games.game import Game
from azero.players.match import MatchReport, MatchSettings, play_match, report
from azero.players.perfect import knows_perfect_play
from azero.players.rating import fit_ratings
from azero.players.record import GameRecord, write_records
from azero.players.spec import PlayerSpec, parse_player
from azero.players.sprt import PAIR_SCORES, SPRT, pentanomial
from azero.screen import progress_bar, report_console, text_table

_LADDER = ("uct:100", "uct:1000", "uct:10000")
_Matches = dict[tuple[int, int], list[GameRecord]]  # the games of each two players, by their places in the list


@dataclass(frozen=True)
class ArenaSettings(MatchSettings):
    """What the arena is asked to do."""

    game: str = "connect4"  # a name, path/to/file.py:Class or openspiel:name; parameters in parentheses, in quotes
    players: tuple[str, ...] = ()  # two or more, such as uct:1000 or azero:PATH@200
    anchor: str | None = None  # the player whose rating is 0, of three or more; null: the first, in a ladder uct:100
    ladder: str | None = None  # a run: its checkpoints join, with search, and players that never change
    ladder_simulations: int = 100  # of the searches of the run's checkpoints, >= 1
    # Two Elo differences, as [0,20]: the match of two ends as soon as pairs of games tell, with 5 % error, which of the
    # two is true; num_games is then the most that are played.
    sprt: tuple[float, ...] | None = None
    record: str | None = None  # a new file for the games, FILE.sgf for SGF; null: one under checkpoints/arena

    def __post_init__(self) -> None:
        """Raises ValueError for what cannot be played."""
        super().__post_init__()
        if self.ladder_simulations < 1:
            raise ValueError(f"ladder_simulations must be at least 1, got {self.ladder_simulations}")
        if self.ladder is None and len(self.players) < 2:
            raise ValueError("name two players or more, as in: python -m azero.arena game=connect4 uct:1000 uct:100")
        if self.sprt is not None and (len(self.sprt) != 2 or len(self.players) != 2 or self.ladder is not None):
            raise ValueError("sprt=[0,20], two Elo differences, is for a match of two players")

    def all_players(self, game: Game[Any]) -> tuple[str, ...]:
        """The players and, with a ladder, the run's checkpoints from the oldest on and the players that never change.

        The perfect player is among those where it need not search for long. Raises ValueError if the run has no
        checkpoint, or the anchor is none of them.
        """
        players = self.players
        if self.ladder is not None:
            steps = [path for path in reversed(checkpoints(Path(self.ladder))) if checkpoint_number(path)]
            if not steps:
                raise ValueError(f"{self.ladder} has no checkpoint that has learned anything")
            players += tuple(f"azero:{path}@{self.ladder_simulations}" for path in steps)
            fixed = (*_LADDER, "perfect") if knows_perfect_play(game) else _LADDER
            players += tuple(player for player in fixed if player not in players)
        if self.anchor is not None and self.anchor not in players:
            raise ValueError(f"anchor={self.anchor} must be one of the players: {', '.join(players)}")
        return players


@command(ArenaSettings, "arena", positional="players")
def main(settings: ArenaSettings) -> None:
    """Play matches between two players or more, and report who is stronger.

        python -m azero.arena game=connect4 uct:1000 uct:100 num_games=200

    A player is random, flat:100 (rollouts a move), uct:1000 (simulations a move) or uct:0.5s (seconds a move),
    azero:PATH@200 (a trained network and search) or network:PATH (without search). Games come in pairs: the same random
    opening, seats swapped. Of more than two players each meets each, and ratings are fitted to all games together.

        python -m azero.arena game=connect4 ladder=RUN anchor=uct:1000
        python -m azero.arena game=connect4 azero:RUN@200 azero:OTHER@200 sprt=[0,20] num_games=2000
    """
    game = load_game(settings.game)
    test = SPRT(*settings.sprt) if settings.sprt is not None else None
    players = settings.all_players(game)
    anchor = players.index(settings.anchor or (players[0] if settings.ladder is None else _LADDER[0]))
    specs = [parse_player(text) for text in players]
    for spec in specs:
        spec.make(game)  # better to hear of a network that cannot be read before the first match than after
    path = Path(settings.record) if settings.record else _new_path(game)
    if path.exists():
        raise ValueError(f"{path} is there already: record= takes the name of a new file")
    matches: _Matches = {}
    try:
        write_records(path, game, _play(game, specs, settings, test, matches))
    finally:
        if matches:
            console = report_console()
            _show(console, game, [spec.name for spec in specs], anchor, matches)
            if test is not None:
                _show_test(console, test, matches[0, 1])
            console.print(f"The games are in {escape(str(path.absolute()))}")


def _new_path(game: Game[Any]) -> Path:
    stem = f"{file_name(game.name)}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (f"{stem}{f'-{number}' * (number > 1)}.txt" for number in count(1))
    return next(path for path in (Path("checkpoints/arena") / name for name in names) if not path.exists())


def _play(
    game: Game[Any], specs: Sequence[PlayerSpec], settings: MatchSettings, test: SPRT | None, matches: _Matches
) -> Iterator[GameRecord]:
    """Play all matches, putting every game into `matches` as it ends, with a progress bar; a test may end them."""
    counts = [0] * len(PAIR_SCORES)
    with progress_bar() as progress:
        for pair in combinations(range(len(specs)), 2):
            first, second = (specs[place] for place in pair)
            task = progress.add_task(f"{escape(first.name)} - {escape(second.name)}", total=settings.num_games)
            makers = [partial(spec.make, game) for spec in (first, second)]
            with closing(play_match(game, makers, settings)) as records:
                for record in records:
                    matches.setdefault(pair, []).append(record)
                    progress.advance(task)
                    yield record
                    if test is not None and record.index % 2:  # games come in order: with it a pair is complete
                        counts = [a + b for a, b in zip(counts, pentanomial(matches[pair][-2:]), strict=True)]
                        if test.verdict(counts):
                            return


def _show(console: Console, game: Game[Any], names: Sequence[str], anchor: int, matches: _Matches) -> None:
    points = [[0.0] * len(names) for _ in names]
    for (first, second), records in matches.items():
        summary = report(records)
        points[first][second] = summary.score.points
        points[second][first] = summary.score.reversed().points
        _show_match(console, game, (names[first], names[second]), summary)
        for record in [record for record in records if record.forfeited_by is not None][:3]:
            console.print(f"game {record.index}: {escape(record.ending)}", style="red")
        console.print()
    if len(names) > 2:
        console.print("[bold]all games together[/]")
        table = text_table("player", "points", "Elo, 95 %")
        ratings = fit_ratings(points, anchor)
        for place in sorted(range(len(names)), key=lambda place: -ratings[place].elo):
            table.add_row(escape(names[place]), f"{sum(points[place]):g}", ratings[place].text())
        console.print(table)


def _show_match(console: Console, game: Game[Any], names: tuple[str, str], summary: MatchReport) -> None:
    num_games = summary.score.num_games + summary.num_cut_short
    console.print(f"[bold]{escape(names[0])} against {escape(names[1])}[/], {game.name}, {num_games} games")
    results = text_table("", "won", "drawn", "lost", "score, 95 %", "Elo, 95 %")
    for seat, score in enumerate((summary.as_first, summary.as_second)):
        results.add_row(f"as {game.player_names[seat]}", *map(str, score), score.text())
    results.add_row("together", *map(str, summary.score), summary.score.text(), summary.score.elo_text())
    console.print(results)
    costs = text_table("player", "simulations/move", "ms/move", "forfeits")
    for name, spent, num_forfeits in zip(names, summary.spent, summary.num_forfeits, strict=True):
        means = f"{spent.simulations_per_move:.0f}", f"{1000 * spent.seconds_per_move:.1f}"
        costs.add_row(escape(name), *means, str(num_forfeits))
    console.print(costs)
    repeats = "; repeats are no new evidence: the intervals are too narrow" * (2 * summary.num_distinct < num_games)
    console.print(f" distinct games: {summary.num_distinct} of {num_games}{repeats}")
    if summary.num_cut_short:
        console.print(f" cut short, without a result and not in the score: {summary.num_cut_short}")


def _show_test(console: Console, test: SPRT, records: Sequence[GameRecord]) -> None:
    pairs = pentanomial(records)
    ratio, verdict = test.log_likelihood_ratio(pairs), test.verdict(pairs)
    found = {"elo0": f"{test.elo0:+g} is accepted", "elo1": f"{test.elo1:+g} is accepted", None: "undecided"}[verdict]
    console.print(
        f"SPRT of {test.elo0:+g} against {test.elo1:+g} Elo: {found} after {sum(pairs)} pairs; "
        f"log-likelihood ratio {ratio:+.2f} of ±{test.bound:.2f}; pairs of 0, ½, 1, 1½, 2 points: "
        f"{' '.join(map(str, pairs))}"
    )


if __name__ == "__main__":
    main()
