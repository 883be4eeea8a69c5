"""python -m azero.train: learn a game by self-play."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from azero.config import command, saved_words, settings_text
from azero.games import load_game
from azero.learning.trainer import Trainer, TrainingSettings

CONFIG_FILE = "config.yaml"


@dataclass(frozen=True)
class TrainSettings(TrainingSettings):
    """What `azero.train` is asked to do."""

    run: str | None = None  # a new directory for all the run makes; null: one under checkpoints/, by game and time
    resume: str | None = None  # the directory of a run to go on with; it ends at the limits given now


@command(TrainSettings, "train")
def main(settings: TrainSettings) -> None:
    """Learn a game by self-play, watching a progress bar.

        python -m azero.train game=tictactoe
        python -m azero.train game=connect4 minutes=60 network.channels=64
        python -m azero.train game=connect4 resume=checkpoints/connect4-20260101-120000 minutes=120

    Each iteration plays games against itself, learns from them, and commits a checkpoint. Everything a run makes lies
    in one directory. Ctrl-C stops it; what was committed stays, and `resume` goes on from there. Watch the curves with
    tensorboard --logdir checkpoints, meet the player with python -m azero.play game=connect4 azero:RUN@200.
    """
    console = Console(stderr=True)
    game = load_game(settings.game)
    directory = _run_directory(settings)
    console.print(f"{'Going on with' if settings.resume else 'Training'} {game.name} in [bold]{directory}[/bold]")
    with _interruptible(), _Screen(console, settings) as screen:
        trainer = Trainer(game, settings, directory, screen)
        (directory / CONFIG_FILE).write_text(settings_text(settings))
        try:
            trainer.run()
        except (KeyboardInterrupt, SystemExit) as stop:
            console.print(f"Stopped; all up to iteration {trainer.iteration} is saved. Go on with resume={directory}")
            sys.exit(130 if isinstance(stop, KeyboardInterrupt) else stop.code)
    console.print(
        f"{trainer.iteration} iterations, {trainer.counters['games']:.0f} games, "
        f"{trainer.counters['seconds'] / 60:.1f} minutes: [bold]{directory}[/bold]\n"
        f"Play against it:  python -m azero.play game={settings.game} azero:{directory}@200"
    )


def _with_saved_settings(words: Sequence[str]) -> list[str]:
    """The command line, after the settings of the run that it resumes, if any: what is given now wins."""
    resumed = [word.partition("=")[2] for word in words if word.startswith("resume=")]
    config = Path(resumed[-1]) / CONFIG_FILE if resumed else None
    return [*(saved_words(config) if config and config.is_file() else []), *words]


def _run_directory(settings: TrainSettings) -> Path:
    """The run's own directory: the one to go on with, or a new one. Raises ValueError for one of another run."""
    if settings.resume is not None:
        directory = Path(settings.resume).absolute()
        if not (directory / CONFIG_FILE).is_file():
            raise ValueError(
                f"{directory} is no run: it has no {CONFIG_FILE}; resume=... names what azero.train printed"
            )
        return directory
    name = f"{Path(settings.game.partition(':')[0]).stem}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    directory = Path(settings.run or Path("checkpoints") / name).absolute()
    if settings.run is not None and directory.exists() and any(directory.iterdir()):
        raise ValueError(
            f"{directory} is not empty: two runs never share a directory; to go on with it, resume={directory}"
        )
    while settings.run is None and directory.exists():
        directory = directory.with_name(f"{directory.name}-")
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let a polite request to terminate stop the run as Ctrl-C does; only the exit status differs."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class _Screen:
    """The terminal as the trainer's watcher: a bar for the part of an iteration, a line for each that is done."""

    def __init__(self, console: Console, settings: TrainSettings) -> None:
        self._console = console
        self._opponent = settings.matches.opponent
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            console=console, transient=True,
        )  # fmt: skip
        self._task = self._progress.add_task("starting", total=None)

    def __enter__(self) -> "_Screen":
        self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._progress.stop()

    def on_phase(self, iteration: int, name: str, total: int | None) -> None:
        """See `Watcher`."""
        self._progress.reset(self._task, total=total, description=f"iteration {iteration}: {name}")

    def on_step(self) -> None:
        """See `Watcher`."""
        self._progress.advance(self._task)

    def on_iteration(self, iteration: int, metrics: dict[str, float]) -> None:
        """One line: what was played, how the losses are, and the score if there was a match."""
        line = (
            f"iteration {iteration:4d}  {metrics['run/seconds']:6.0f} s  "
            f"{metrics['speed/positions_per_second']:5.0f} positions/s  "
            f"first player wins {metrics['selfplay/first_player_wins']:4.0%}, draws {metrics['selfplay/draws']:4.0%}  "
        )
        if metrics["learning/gradient_steps"]:
            line += f"loss: policy {metrics['learning/policy_loss']:.3f}, value {metrics['learning/value_loss']:.3f}"
        score = metrics.get(f"score/{self._opponent}")
        self._console.print(
            line if score is None else f"{line}  score against {self._opponent}: {score:.0%}", highlight=False
        )


if __name__ == "__main__":
    main(_with_saved_settings(sys.argv[1:]))
