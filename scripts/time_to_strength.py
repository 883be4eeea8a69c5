"""How strong is a network after so many minutes of training? Trains from scratch, measures on the way, plots.

    python scripts/time_to_strength.py OUT minutes=15 seeds=0,1,2
    python scripts/time_to_strength.py OUT minutes=15 seeds=0 network.channels=64 selfplay.simulations=128

Everything but `seeds` is an option of azero.train. The clock of the training stands still while a network is measured,
on positions whose perfect play is known (see azero.evaluate): alone on all of them, with search on some. The run of
each seed lies in OUT/seed-N; called again, also with more seeds, the script goes on from where it was; with more
minutes too, unless the learning rate falls towards the end of a run. It writes OUT/strength.csv, a row for each
measurement, and of their medians OUT/strength.md, a table, and OUT/strength.png.
"""

import csv
import io
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from azero.config import compose_settings, settings_changes, settings_text
from azero.files import locked, write_durably
from azero.games import load_game
from azero.games.game import Game
from azero.learning.checkpoint import checkpoint_directory
from azero.learning.cores import num_cores
from azero.learning.metrics import METRICS_FILE, count_evaluations, read_metrics
from azero.learning.trainer import Trainer
from azero.players.exact import known_sets, measure, thinned
from azero.players.spec import parse_player
from azero.screen import markdown_table
from azero.train import CONFIG_FILE, TrainSettings

MINUTES = (1, 2, 3, 5, 7.5, 10, 15, 20, 30, 40, 60, 90, 120, 180, 240)  # of training, when to measure
POSITIONS = 100  # of each set, with search
SIMULATIONS = 600
KINDS = ("network", "search")  # what is measured: the network alone, and with search
CPU_SECONDS = "cpu_seconds"  # the run's counter of what it cost apart from measuring

Row = dict[str, str]


class Stopwatch:
    """Watches a run: measures it when it is time, and counts what the run costs apart from that."""

    def __init__(self, game: Game[Any], run: Path, rows: list[Row]) -> None:
        self.game, self.run, self.rows = game, run, rows
        self.sets = known_sets(game)
        if not self.sets:
            raise ValueError(f"of {game.name} no positions are known whose perfect play is, so nothing can be measured")
        self.trainer: Trainer[Any] | None = None
        self.measured = max((float(row["minutes"]) for row in rows if row["run"] == run.name), default=0.0)
        self.started = time.process_time()

    def on_phase(self, iteration: int, name: str, total: int) -> None:
        """Of no interest."""

    def on_step(self) -> None:
        """Of no interest."""

    def on_wait(self) -> None:
        """Of no interest."""

    def on_iteration(self, iteration: int, metrics: dict[str, float]) -> None:
        """Measure, if a time for it has passed since the last measurement."""
        self.count_cpu()
        minutes = metrics["run/seconds"] / 60
        if any(self.measured < due <= minutes for due in MINUTES):
            self.measure(iteration, minutes)

    def finish(self) -> None:
        """Measure the last network: a run ends a little before its limit."""
        assert self.trainer is not None
        own = [int(row["iteration"]) for row in self.rows if row["run"] == self.run.name]
        if self.trainer.iteration > max(own, default=0):
            self.measure(self.trainer.iteration, self.trainer.counters["seconds"] / 60)

    def measure(self, iteration: int, minutes: float) -> None:
        """Add a row: what the network of an iteration gives away, in per cent of the positions of each set."""
        assert self.trainer is not None
        table = read_metrics(self.run / METRICS_FILE)
        row = {
            "run": self.run.name,
            "iteration": str(iteration),
            "minutes": f"{minutes:.3f}",
            "cpu_seconds": f"{self.trainer.counters.get(CPU_SECONDS, 0.0):.0f}",
            "games": str(self.trainer.counters["games"]),
            "evaluations": str(count_evaluations(table, self.trainer.settings.rollout_iterations)),
        }
        checkpoint = checkpoint_directory(self.run, iteration)
        players = {"network": f"network:{checkpoint}", "search": f"azero:{checkpoint}@{SIMULATIONS}"}
        for name, player in players.items():
            make = partial(parse_player(player).make, self.game)
            for known in self.sets:
                some = known if name == "network" else thinned(known, POSITIONS)
                row[f"{name} {known.name}"] = f"{100 * measure(make, some.positions, num_cores()).lost_value.share:.2f}"
        self.rows.append(row)
        self.measured, self.started = minutes, time.process_time()
        write_rows(self.run.parent / "strength.csv", self.rows)
        print(" ".join(f"{name}={value}" for name, value in row.items()), flush=True)

    def count_cpu(self) -> None:
        """Count the processor's time since the last call or measurement in; the next checkpoint keeps it."""
        assert self.trainer is not None
        counters, now = self.trainer.counters, time.process_time()
        counters[CPU_SECONDS] = counters.get(CPU_SECONDS, 0.0) + now - self.started
        self.started = now


def read_rows(path: Path) -> list[Row]:
    """The measurements so far."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: list[Row]) -> None:
    """Replace the table."""
    contents = io.StringIO(newline="")
    table = csv.DictWriter(contents, list(rows[0]))
    table.writeheader()
    table.writerows(rows)
    write_durably(path, contents.getvalue().encode())


def by_time(rows: list[Row]) -> list[list[Row]]:
    """The rows of each time to measure, one of each run: those that are nearest to it, ordered by time."""
    nearest = {
        (min(MINUTES, key=lambda due: abs(due - float(row["minutes"]))), row["run"]): row for row in rows
    }  # of a run that was ended and went on, the later row counts
    times = sorted({due for due, _ in nearest})
    return [[row for (due, _), row in nearest.items() if due == time] for time in times]


def median_of(rows: list[Row], column: str) -> float:
    """The median of a figure."""
    return median(float(row[column]) for row in rows)


def figure_columns(rows: list[Row], kind: str) -> list[str]:
    """The names of what was measured of the network alone, or with search."""
    return [name for name in rows[0] if name.startswith(f"{kind} ")]


def strength_table(rows: list[Row]) -> str:
    """A row for each time to measure: the medians of the runs, how many runs there are, and what they took.

    Of the network alone there is the mean of the sets; the file of rows has each.
    """
    alone, searching = (figure_columns(rows, kind) for kind in KINDS)
    names = [name.removeprefix("search ") for name in searching]
    header = ["minutes", "runs", "games", "evaluations", "CPU seconds", "network alone", *names]
    lines = []
    for some in by_time(rows):
        costs = [f"{median_of(some, name):,.0f}" for name in ("games", "evaluations", "cpu_seconds")]
        mean = median(sum(float(row[name]) for name in alone) / len(alone) for row in some)
        figures = [f"{figure:.2f}" for figure in (mean, *(median_of(some, name) for name in searching))]
        lines.append([f"{median_of(some, 'minutes'):.1f}", str(len(some)), *costs, *figures])
    return markdown_table(header, lines, num_names=0)


def plot(rows: list[Row], path: Path) -> None:
    """A panel for the network alone and one for search: a line for each set, the median of the runs."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    times = [median_of(some, "minutes") for some in by_time(rows)]
    for panel, kind in zip(panels, KINDS, strict=True):
        for column in figure_columns(rows, kind):
            values = [median_of(some, column) for some in by_time(rows)]
            panel.plot(times, values, marker="o", markersize=3, label=column.removeprefix(f"{kind} "))
        title = "network alone" if kind == "network" else f"with {SIMULATIONS} simulations, {POSITIONS} positions a set"
        panel.set(xlabel="minutes of training", xscale="log", title=title)
        panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.grid(alpha=0.3)
    panels[0].set(ylabel="moves that lose value, %", ylim=(0, None))
    panels[1].legend()
    figure.savefig(path)


def check_alike(settings: TrainSettings, directory: Path) -> None:
    """Raises ValueError if a run in the directory has settings that one curve cannot mix with these.

    Runs differ in their seeds, and in where they end, if the learning rate does not fall towards that.
    """
    free = ["seed:"] + ["minutes:", "iterations:", "games:"] * (settings.learner.final_learning_rate == 1)
    for config in sorted(directory.glob(f"seed-*/{CONFIG_FILE}")):
        changes = settings_changes(config.read_text(), settings_text(settings))
        if others := [change for change in changes if not change.startswith(tuple(free))]:
            raise ValueError(
                f"{config.parent} is of other settings, which one curve cannot mix: {'; '.join(others)}; "
                "another directory is the place for them"
            )


def train(settings: TrainSettings, run: Path, rows: list[Row]) -> None:
    """Begin a run or go on with it, measuring it."""
    write_durably(run / CONFIG_FILE, settings_text(settings).encode())
    game = load_game(settings.game)
    watch = Stopwatch(game, run, rows)
    watch.trainer = Trainer(game, settings, run, watch)
    watch.trainer.run()
    watch.finish()


def main(out: str, *words: str) -> None:
    """Train and measure each seed, then tell of all."""
    directory = Path(out)
    seeds = [word.removeprefix("seeds=") for word in words if word.startswith("seeds=")] or ["0"]
    others = [word for word in words if not word.startswith("seeds=")]
    directory.mkdir(parents=True, exist_ok=True)
    with locked(directory):
        rows = read_rows(directory / "strength.csv")
        for seed in seeds[-1].split(","):
            settings = compose_settings(
                TrainSettings, "train", ["matches.games=0", "matches.positions=0", *others, f"seed={seed}"]
            )
            check_alike(settings, directory)
            run = directory / f"seed-{seed}"
            run.mkdir(exist_ok=True)
            with locked(run):
                train(settings, run, rows)
        if rows:
            plot(rows, directory / "strength.png")
            write_durably(directory / "strength.md", strength_table(rows).encode())
            print(strength_table(rows))


if __name__ == "__main__":
    if len(sys.argv) < 2 or "=" in sys.argv[1] or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
