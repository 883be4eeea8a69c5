"""What training does when things go wrong, as a table: python scripts/faults.py [--kills 200] [--only WORDS]

Each fault is injected into runs of tic-tac-toe at tiny size, or a sweep of Connect Four. After each, no process may be
left, all that was committed must be there, and the run, resumed without the fault, must end with the bytes of one that
nothing happened to, a row of metrics for each iteration. The first fault that ends otherwise ends the script with a
trace.

Runs are forked from this process, which has loaded everything, so that a fault takes a second.
"""

import argparse
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from injections import (
    Hook,
    at_change,
    at_phase,
    broken,
    clock_back,
    crowd_out_the_events,
    die_amid_a_write,
    evaluator,
    hanging,
    in_phase,
    no_descriptor,
    no_room,
    not_a_number,
    output_to,
    read_only,
    signalled,
    starve,
    when_opened,
)
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from azero import sweep, train
from azero.config import exit_status
from azero.evaluators.weights import checkpoint_number, checkpoints
from azero.games import load_game
from azero.learning.checkpoint import checkpoint_directory
from azero.learning.metrics import METRICS_FILE, read_metrics
from azero.players.record import read_records

ITERATIONS = 6
PATIENCE = 120  # seconds, with a run that should have ended
TINY = [
    "game=tictactoe", f"iterations={ITERATIONS}", "minutes=null", "keep=2", "rollout_simulations=20",
    "selfplay.games=8", "selfplay.simulations=8", "selfplay.threads=1", "selfplay.proven_values=false",
    "selfplay.records=true", "network.channels=8", "network.blocks=1", "network.value_hidden=8",
    "network.head_channels=4", "learner.batch_size=32", "learner.threads=1", "matches.games=2", "matches.every=2",
    "matches.simulations=4", "matches.opponents=[random]", "matches.positions=0",
]  # fmt: skip


class Ended(NamedTuple):
    """How a run ended."""

    status: int  # as a shell sees it
    said: str
    left: list[int]  # processes that it left behind


# --- runs

COMMANDS = {"train": lambda words: train.main(train._with_saved_settings(words)), "sweep": sweep.main}


def start(words: list[str], hook: Hook = lambda: None, command: str = "train") -> tuple[int, int]:
    """`python -m azero.train words` in a process of its own, after `hook`; its number, and where to read its output."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    status = 1
    try:
        os.setsid()
        for descriptor in (1, 2):
            os.dup2(writing, descriptor)
        os.close(reading)
        hook()
        with exit_status(command):
            COMMANDS[command](words)
        status = 0
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def ended(run: tuple[int, int]) -> Ended:
    """Wait for the end of a run."""
    pid, reading = run
    deadline = threading.Timer(PATIENCE, partial(os.killpg, pid, signal.SIGKILL))
    deadline.start()
    with os.fdopen(reading, errors="replace") as file:
        said = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    deadline.cancel()
    patience = time.monotonic() + 5  # with those that end because it has
    while session_of(pid) and time.monotonic() < patience:
        time.sleep(0.01)
    return Ended(128 - status if status < 0 else status, said, session_of(pid))


def wait_until(condition: Callable[[], bool], run: tuple[int, int]) -> None:
    """Wait for something that a run does. Raises AssertionError if it has not done so in time; it is killed then."""
    patience = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > patience:
            os.killpg(run[0], signal.SIGKILL)
            raise AssertionError(f"it does not go on: {ended(run).said}")
        time.sleep(0.01)


def session_of(pid: int) -> list[int]:
    """The processes that a run consists of, or has left behind."""
    return [int(stat.parent.name) for stat in Path("/proc").glob("[0-9]*/stat") if _session(stat) == pid]


def _session(stat: Path) -> int | None:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[3])
    except OSError:
        return None


def begin(run: Path) -> list[str]:
    """The words that begin a run in a directory, or go on with it."""
    return [f"resume={run}"] if (run / "config.yaml").exists() else [f"run={run}", *TINY]


def committed(run: Path) -> int:
    """The newest iteration that has its name."""
    return max((checkpoint_number(path) or 0 for path in checkpoints(run)), default=-1) if run.is_dir() else -1


class Figures:
    """What a run must end with, and whether it does."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
            train.main(begin(self.new("warm")))  # loads what the forked ones need
        run = self.new("straight")
        started = time.monotonic()
        assert ended(start(begin(run))).status == 0
        self.seconds = time.monotonic() - started
        self.final = self._bytes(run)
        self.rows = self._rows(run)

    def new(self, name: str) -> Path:
        """A directory for a run."""
        run = self.scratch / re.sub(r"\W+", "-", name)
        shutil.rmtree(run, ignore_errors=True)
        return run

    def check(self, run: Path) -> str:
        """Resume a run and hold it to what it must end with; returns what was said."""
        done = ended(start(begin(run)))
        assert done.status == 0, done.said
        assert done.left == []
        assert self._bytes(run) == self.final, f"{run} ended with other bytes: {done.said}"
        assert self._rows(run) == self.rows, f"{run} has other metrics"
        assert not list(run.rglob(".*.partial"))
        return done.said

    def check_steps(self, run: Path) -> None:
        """Hold TensorBoard to one step for each iteration, in order."""
        events = EventAccumulator(str(run / "tensorboard")).Reload()
        assert [event.step for event in events.Scalars("run/seconds")] == [*range(1, ITERATIONS + 1)]

    @staticmethod
    def _bytes(run: Path) -> dict[str, bytes]:
        newest = checkpoint_directory(run, ITERATIONS)
        files = [newest / "weights.safetensors", newest / "training.safetensors", *sorted(run.glob("replay/*"))]
        return {path.name: path.read_bytes() for path in [*files, *sorted(run.glob("games/*"))]}

    @staticmethod
    def _rows(run: Path) -> list[dict[str, str]]:
        rows = read_metrics(run / METRICS_FILE)
        return [{name: row[name] for name in sorted(row) if "second" not in name or "player" in name} for row in rows]


# --- faults


class Fault(NamedTuple):
    """Something that happens to a run, and how the run must end for it."""

    name: str
    place: str  # where, for those that have one name
    hook: Callable[[Path], Any]
    status: int
    says: str  # a pattern


FILES = ["config.yaml", "weights.safetensors", "training.safetensors", "state.json", "replay/", "metrics.csv", "games/"]
SAVED = "Stopped; all up to iteration . is saved. Go on with resume=RUN"
AT_ONCE = "Stopped at once. Go on with resume=RUN"


def faults() -> Iterator[Fault]:
    """Those that happen to a run while it is at work."""
    for file in FILES:
        hook = partial(when_opened, file, no_room, 1 if file == "config.yaml" else 2)
        yield Fault("the disk is full while it writes", file, whatever_the_run(hook), 2, "error: .*File too large")
    yield Fault("the disk is full while it writes", "tensorboard/", crowd_out_the_events, 2, "error: .*File too large")
    for phase in ("self-play", "learning", "match"):
        for name, numbers, says in (
            ("SIGINT", [2], SAVED),
            ("SIGINT twice", [2, 2], "Stopped"),
            ("SIGTERM", [15], SAVED),
        ):
            hook = partial(at_phase, phase, partial(signalled, *numbers))
            yield Fault(name, phase, whatever_the_run(hook), 128 + numbers[0], says)
    for name, number, status in (("SIGINT", 2, 130), ("SIGTERM", 15, 143)):
        for place, file, nth, says in (("start", ".lock", 1, "interrupted|^$"), ("commit", "state.json", 3, SAVED)):
            hook = partial(when_opened, file, partial(signalled, number), nth)
            yield Fault(name, place, whatever_the_run(hook), status, says)
    yield Fault("the directory becomes read-only", "", partial(in_phase, "learning", read_only), 2, "Permission denied")
    yield Fault("the network answers NaN", "", lambda _: evaluator(not_a_number), 2, "error: NetworkEvaluator answered")
    yield Fault("the network fails", "", lambda _: evaluator(broken), 2, "error: the network could not be evaluated")
    yield Fault("the network hangs; SIGINT twice", "", lambda _: evaluator(hanging), 130, AT_ONCE)
    yield Fault("the clock jumps back by an hour", "", partial(in_phase, "learning", clock_back), 0, "")
    for name, lack, says in (
        ("no further file can be opened", no_descriptor, "error: .*Too many open files"),
        ("no memory is left", starve, "error: out of memory"),
    ):
        moments = {"start": partial(when_opened, "config.yaml", lack, 1)}
        moments |= {phase: partial(at_phase, phase, lack) for phase in ("self-play", "learning")}
        for place, hook in moments.items():
            yield Fault(name, place, whatever_the_run(hook), 2, says)
    yield Fault("nobody reads its output", "a broken pipe", lambda _: output_to(None), 0, "")
    yield Fault("nobody reads its output", "a full disk", lambda _: output_to("/dev/full"), 0, "")


def whatever_the_run(hook: Hook) -> Callable[[Path], Any]:
    """A hook that need not know the run's directory."""
    return lambda _run: hook()


def inject(fault: Fault, figures: Figures) -> str:
    """Let a fault happen, check what must hold, and say how the run ended."""
    run = figures.new(f"run-{fault.name}-{fault.place}")
    done = ended(start(begin(run), partial(fault.hook, run)))
    run.chmod(0o755)
    said = done.said.replace(str(run), "RUN")
    found = re.search(fault.says, said)
    assert done.status == fault.status, f"status {done.status}, not {fault.status}: {said}"
    assert found, said
    assert "Traceback" not in said, said
    assert done.left == []
    figures.check(run)
    return f"status {done.status}" + (f": {found.group()}" if found.group() else "")


def halve(path: Path, _other: Path) -> None:
    """Cut a file short."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path, _other: Path) -> None:
    """Leave nothing in a file."""
    path.write_bytes(b"")


def flip(path: Path, _other: Path) -> None:
    """Change a bit of a file."""
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 1
    path.write_bytes(contents)


def swap(path: Path, other: Path) -> None:
    """Let a file change places with another."""
    contents, others = path.read_bytes(), other.read_bytes()
    path.write_bytes(others)
    other.write_bytes(contents)


def stopped(figures: Figures, name: str) -> Path:
    """A run that was stopped in its last iteration."""
    run = figures.new(name)
    interrupt = partial(at_phase, "self-play", partial(signalled, signal.SIGINT), ITERATIONS)
    assert ended(start(begin(run), interrupt)).status == 130
    return run


def damage(kind: Callable[[Path, Path], Any], file: str, figures: Figures) -> str:
    """Stop a run, damage a file of it, and go on: to the same bytes, saying what was passed over."""
    run = stopped(figures, f"run-damaged-{file}")
    kind(*(run / file.replace("N", f"{i:06d}") for i in (ITERATIONS - 1, ITERATIONS - 2)))
    said = figures.check(run)
    told = re.findall(r"passed over a checkpoint|newest .* all its samples|no settings", said)
    assert told, said
    return f"status 0: {told[-1]}"


SAMPLES = "replay/iteration-N.npz"
DAMAGED = ["iteration-N/weights.safetensors", "iteration-N/training.safetensors", "iteration-N/state.json"]
DAMAGED += [SAMPLES]


def damages() -> Iterator[tuple[str, str, Callable[[Figures], str]]]:
    """What may have happened to the files of a run that was stopped."""
    kinds = {"cut short": halve, "emptied": empty, "changed in one bit": flip, "swapped with its namesake": swap}
    for name, kind in kinds.items():
        for file in DAMAGED + ["config.yaml"] * (kind in (halve, empty)):
            yield f"a file was {name}", file.replace("iteration-N/", ""), partial(damage, kind, file)


def two_processes(figures: Figures) -> str:
    """Resume a run that is at work; then kill it, and resume it at once."""
    run = figures.new("run-two")
    first = start(begin(run), partial(at_phase, "learning", partial(time.sleep, 60)))
    wait_until(lambda: committed(run) >= 1, first)
    second = ended(start(begin(run)))
    os.kill(first[0], signal.SIGKILL)
    ended(first)
    assert second.status == 2, second.said
    assert "another process is at work" in second.said
    figures.check(run)
    return "status 2: another process is at work"


def moved(figures: Figures) -> str:
    """Resume a run elsewhere."""
    elsewhere = figures.new("run-elsewhere")
    stopped(figures, "run-moved").rename(elsewhere)
    figures.check(elsewhere)
    return "status 0"


def worker(figures: Figures, hurt: Callable[[int], Any], number: int, status: int, says: str) -> str:
    """Do something to a process that plays games of a sweep, then send the sweep a signal, 0 for none; and go on."""
    game, directory = load_game("connect4"), figures.new("sweep")
    words = ["game=connect4", "values=[100000]", "opponents=[random]", "num_workers=2", f"run={directory}"]

    def games() -> list[tuple[int, ...]]:
        file = directory / "games.txt"
        return [record.actions for record in read_records(file, game)] if file.exists() else []

    sweeping = start([*words, "num_games=100"], command="sweep")
    wait_until(lambda: len(games()) >= 2, sweeping)
    hurt(max(session_of(sweeping[0])))
    time.sleep(0.2)
    os.kill(sweeping[0], number)
    done, kept = ended(sweeping), games()
    found = re.search(says, done.said)
    assert done.status == status, f"status {done.status}, not {status}: {done.said}"
    assert found, done.said
    assert "Traceback" not in done.said, done.said
    assert done.left == []
    more = ended(start([*words, f"num_games={len(kept) // 2 * 2 + 2}"], command="sweep"))
    assert more.status == 0, more.said
    assert games()[: len(kept)] == kept
    return f"status {done.status}: {found.group()}"


def no_memory_for(pid: int) -> None:
    """Let a process have no memory beyond what it has."""
    resource.prlimit(pid, resource.RLIMIT_AS, (2**20, 2**20))


def kill(figures: Figures, num_kills: int, seed: int = 0) -> str:
    """Kill runs, each again and again until it ends, at random instants: of time, of its changes to files, and amid
    writes. No iteration that was committed may be lost.
    """
    chance, done, num_runs = random.Random(seed), 0, 0
    while done < num_kills:
        run, num_runs = figures.new(f"run-killed-{num_runs}"), num_runs + 1
        while committed(run) < ITERATIONS and done < num_kills:
            before = committed(run)
            done += _kill_once(run, figures.seconds, chance)
            assert committed(run) >= before
        figures.check(run)
        figures.check_steps(run)
    return f"status 0, in {num_runs} runs"


def _kill_once(run: Path, seconds: float, chance: random.Random) -> int:
    """Whether a kill came before the run's end."""
    die = partial(signalled, signal.SIGKILL)
    hooks = [
        partial(time.sleep, 0),
        partial(at_change, chance.randrange(1, 150), die),
        partial(die_amid_a_write, chance.choice(["self-play", "learning"]), chance.randrange(1, ITERATIONS + 1)),
    ]
    way = chance.randrange(3)
    started = start(begin(run), hooks[way])
    if way == 0:
        time.sleep(chance.uniform(0.05, 1.2 * seconds))
        os.kill(started[0], signal.SIGKILL)
    done = ended(started)
    assert done.status in (0, 128 + signal.SIGKILL, 128 + signal.SIGXFSZ), done.said
    assert not re.search("passed over|lost|fewer", done.said), done.said  # of what the kill before left
    return done.status != 0


def cases(num_kills: int) -> Iterator[tuple[str, str, Callable[[Figures], str]]]:
    """Every fault: its name, its place, and what injects it."""
    yield f"killed (SIGKILL) at {num_kills} instants", "", partial(kill, num_kills=num_kills)
    for fault in faults():
        yield fault.name, fault.place, partial(inject, fault)
    yield from damages()
    lost, short = "error: a process that played games has died", "error: out of memory"
    for name, hurt, number, status, says in (
        ("is killed", lambda pid: os.kill(pid, signal.SIGKILL), 0, 2, lost),
        ("has no memory left", no_memory_for, 0, 2, short),
        ("hangs; SIGINT", lambda pid: os.kill(pid, signal.SIGSTOP), signal.SIGINT, 130, "interrupted"),
    ):
        case = partial(worker, hurt=hurt, number=number, status=status, says=says)
        yield f"a process that plays games of a sweep {name}", "", case
    yield "two processes in one directory", "", two_processes
    yield "the directory was moved", "", moved


def table(num_kills: int, only: str = "") -> Iterator[str]:
    """The lines of the table, those that end alike in one."""
    ends: dict[tuple[str, str], list[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        figures = Figures(Path(scratch))
        for name, place, case in cases(num_kills):
            if not re.search(only, f"{name} {place}"):
                continue
            try:
                ends.setdefault((name, case(figures)), []).append(place)
            except AssertionError as error:
                raise AssertionError(f"{name} {place}: {error}") from None
    yield from ("| what happens | where | how it ends |", "| --- | --- | --- |")
    for (name, end), places in ends.items():
        yield f"| {name} | {', '.join(places)} | {end} |"


def main() -> None:
    """Inject faults and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10, help="how often runs are killed")
    parser.add_argument("--only", default="", help="only faults whose name and place match this pattern")
    options = parser.parse_args()
    for line in table(options.kills, options.only):
        print(line)


if __name__ == "__main__":
    main()
