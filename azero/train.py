"""python -m azero.train: learn a game by self-play."""

import itertools
import os
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any, TextIO, cast

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from azero.config import command, exit_status, saved_words, settings_changes, settings_text
from azero.files import locked, write_durably
from azero.games import file_name, load_game
from azero.learning.checkpoint import latest_settings
from azero.learning.trainer import Trainer, TrainingSettings
from azero.resources import resource_directory

CONFIG_FILE = "config.yaml"
_SHOW_CURSOR = "\x1b[?25h"  # which the progress bar hides


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
        python -m azero.train resume=checkpoints/connect4-20260101-120000 minutes=120

    Each iteration plays games against itself, learns from them, and commits a checkpoint. Everything a run makes lies
    in one directory. Ctrl-C stops it; what was committed stays, and `resume` goes on from there. Watch the curves with
    tensorboard --logdir checkpoints, meet the player with python -m azero.play game=connect4 azero:RUN@200.
    """
    console = Console(file=cast(TextIO, _Lasting(sys.stderr)), soft_wrap=True, highlight=False)
    game = load_game(settings.game)
    place, _, class_name = settings.game.rpartition(":")
    if place.endswith(".py"):  # so that the run can be resumed from anywhere
        settings = replace(settings, game=f"{Path(place).absolute()}:{class_name}")
    directory = _run_directory(settings)
    with locked(directory):
        console.print(f"{'Going on with' if settings.resume else 'Training'} {game.name} in {escape(str(directory))}")
        if not settings.resume:
            _save_settings(directory, settings)
        trainer: Trainer[Any] | None = None
        try:
            with _silent_threads(), _Screen(console, settings) as screen, _signals_to(screen, directory):
                trainer = Trainer(game, settings, directory, screen)
                kept = _save_settings(directory, settings)  # what does not fit the run is refused by now
                for change in settings_changes(trainer.settings_before or kept, settings_text(settings)):
                    console.print(escape(f"Changed: {change}"))
                trainer.run()
        except (KeyboardInterrupt, SystemExit) as stop:
            saved = f"all up to iteration {trainer.iteration} is saved" if trainer else "nothing was learned yet"
            console.print(escape(f"Stopped; {saved}. Go on with {_resuming(directory)}"))
            sys.exit(130 if isinstance(stop, KeyboardInterrupt) else stop.code)
        except BaseException:
            console.print(escape(f"Stopped by an error; what was committed is in {directory}"))
            raise
    minutes = trainer.counters["seconds"] / 60
    chosen, player = shlex.quote(f"game={settings.game}"), shlex.quote(f"azero:{directory}@200")
    console.print(
        escape(
            f"{trainer.iteration} iterations, {trainer.counters['games']} games, {minutes:.1f} minutes: {directory}\n"
            f"Play against it:   python -m azero.play {chosen} {player}\n"
            f"Measure it:        python -m azero.arena {chosen} {player} uct:1000\n"
            f"See its curves:    tensorboard --logdir {shlex.quote(str(directory))}"
        )
    )


def _with_saved_settings(words: Sequence[str]) -> list[str]:
    """The command line, after the settings of the run that it resumes, if any: what is given now wins."""
    resumed = [Path(word.partition("=")[2]) for word in words if word.lstrip("+").startswith("resume=")]
    if not resumed:
        return list(words)
    chosen = [word.replace("=", "/") + ".yaml" for word in words if word.startswith("search=")]
    files = [resumed[-1] / CONFIG_FILE, *(resource_directory("configs") / name for name in chosen)]
    saved = saved_words(latest_settings(resumed[-1]))  # should the file have lost some
    for file in files:
        if file.is_file():
            try:
                saved += saved_words(file)
            except ValueError as error:
                warnings.warn(f"{error}; the newest checkpoint has settings too", stacklevel=2)
    return [*saved, *words]


def _resuming(directory: Path) -> str:
    """The word that goes on with a run, as one writes it in a shell."""
    return shlex.quote(f"resume={directory}")


def _run_directory(settings: TrainSettings) -> Path:
    """The run's own directory: the one to go on with, or a new one. Raises ValueError for one of another run."""
    if settings.resume is not None:
        directory = Path(settings.resume).absolute()
        if not (directory / CONFIG_FILE).is_file():
            raise ValueError(
                f"{directory} is no run: it has no {CONFIG_FILE}; resume=... names what azero.train printed"
            )
        return directory
    if settings.run is not None:
        directory = Path(settings.run).absolute()
        if directory.exists() and any(path.name[0] != "." for path in directory.iterdir()):
            raise ValueError(
                f"{directory} is not empty: two runs never share one; to go on with it, {_resuming(directory)}"
            )
        directory.mkdir(parents=True, exist_ok=True)
        return directory
    name = f"{file_name(settings.game)}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    for suffix in itertools.chain([""], (f"-{number}" for number in itertools.count(2))):
        directory = Path("checkpoints").absolute() / f"{name}{suffix}"
        with suppress(FileExistsError):
            directory.mkdir(parents=True)
            break
    return directory


def _save_settings(directory: Path, settings: TrainSettings) -> str:
    """Keep the settings in the run's directory, and those they replace beside them; returns the latter.

    Where they are damaged it returns the new ones.
    """
    path, text = directory / CONFIG_FILE, settings_text(settings)
    contents = text.encode()
    before = path.read_bytes() if path.exists() else contents
    if before != contents:
        number = next(n for n in itertools.count(1) if not (directory / f"config-{n}.yaml").exists())
        write_durably(directory / f"config-{number}.yaml", before)
    try:
        saved_words(path)
        text = before.decode()
    except ValueError:
        pass
    write_durably(path, contents)
    return text


@contextmanager
def _silent_threads() -> Iterator[None]:
    """Print no trace of an error in a thread of TensorBoard's or of the progress bar's, as of a full disk.

    What matters of it reaches the main thread, where it is told in a line.
    """
    before, threading.excepthook = threading.excepthook, lambda _: None
    try:
        yield
    finally:
        threading.excepthook = before


@contextmanager
def _signals_to(screen: "_Screen", directory: Path) -> Iterator[None]:
    """Tell the screen of Ctrl-C and of a polite request to terminate; it stops the run at the next step.

    Raised at once, the exception could land in a finaliser, where Python drops it, or amid a file's writing. A second
    signal ends the process as a kill does: where the network or a game hangs, there is no next step.
    """

    def note(number: int, _frame: FrameType | None) -> None:
        if screen.signal:
            with suppress(OSError):
                os.write(2, f"{_SHOW_CURSOR}\nStopped at once. Go on with {_resuming(directory)}\n".encode())
            os._exit(128 + number)
        screen.signal = number

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Lasting:
    """A stream that may break: a run does not end because nobody reads what it says, or a log is on a full disk."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what can be written."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Screen:
    """The terminal as the trainer's watcher: a bar for the part of an iteration, a line for each that is done."""

    def __init__(self, console: Console, settings: TrainSettings) -> None:
        self.signal = 0  # the first one received that asks to stop
        self._console = console
        self._opponents = settings.matches.opponents
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

    def on_phase(self, iteration: int, name: str, total: int) -> None:
        """See `Watcher`."""
        self.on_wait()
        self._progress.reset(self._task, total=total, description=f"iteration {iteration}: {name}")

    def on_step(self) -> None:
        """See `Watcher`."""
        self._progress.advance(self._task)

    def on_wait(self) -> None:
        """See `Watcher`. Raises what stops the run if a signal has asked for it."""
        if self.signal == signal.SIGINT:
            raise KeyboardInterrupt
        if self.signal:
            raise SystemExit(128 + self.signal)

    def on_iteration(self, iteration: int, metrics: dict[str, float]) -> None:
        """One line: what was played, how the losses are, and the score if there was a match."""
        line = (
            f"iteration {iteration:4d}  {metrics['run/seconds']:6.0f} s  "
            f"{metrics['speed/positions_per_second']:5.0f} positions/s  "
            f"first player wins {metrics['selfplay/first_player_wins']:4.0%}, draws {metrics['selfplay/draws']:4.0%}  "
        )
        if metrics["learning/gradient_steps"]:
            line += f"loss: policy {metrics['learning/policy_loss']:.3f}, value {metrics['learning/value_loss']:.3f}"
        scores = {opponent: metrics.get(f"score/{opponent}") for opponent in self._opponents}
        measured = ", ".join(f"{opponent} {score:.0%}" for opponent, score in scores.items() if score is not None)
        self._console.print(escape(f"{line}  score against {measured}" if measured else line), highlight=False)


if __name__ == "__main__":
    with exit_status("train"):
        main(_with_saved_settings(sys.argv[1:]))
