"""Does a long run stay as it was? Trains for hours at small size and watches: python scripts/soak.py RUN minutes=30

Everything is an option of azero.train. Prints a table, a row for each tenth of the time: what an iteration takes, and
the process's resident memory, open files and threads, which must not grow once the replay is full.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from azero.evaluators.weights import checkpoint_number, checkpoints
from azero.learning.metrics import METRICS_FILE, read_metrics
from azero.screen import markdown_table

SMALL = [
    "game=tictactoe", "iterations=1000000", "selfplay.games=32", "selfplay.threads=1", "learner.threads=1",
    "learner.batch_size=256", "replay.capacity=2000", "matches.every=10", "matches.games=4",
    "matches.opponents=[uct:100]", "matches.positions=100",
]  # fmt: skip
ROWS = 10


class Sample(NamedTuple):
    """The process at one moment."""

    seconds: float  # since its start
    cpu_seconds: float
    iterations: int
    memory: float  # resident, MB
    files: int
    threads: int


def sample(pid: int, started: float, iterations: int) -> Sample | None:
    """What the system says of a process; None when it has ended."""
    proc = Path(f"/proc/{pid}")
    try:
        fields = (proc / "stat").read_text().rpartition(")")[2].split()
        pages = int((proc / "statm").read_text().split()[1])
        files = len(list((proc / "fd").iterdir()))
    except (OSError, IndexError):
        return None
    ticks = int(fields[11]) + int(fields[12])
    return Sample(
        time.monotonic() - started,
        ticks / os.sysconf("SC_CLK_TCK"),
        iterations,
        pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
        files,
        int(fields[17]),
    )


def num_iterations(run: Path) -> int:
    """How many iterations a run has committed."""
    return max((checkpoint_number(path) or 0 for path in checkpoints(run)), default=0) if run.is_dir() else 0


def watch(run: Path, words: list[str]) -> list[Sample]:
    """Train, and look at the process four times a second. Raises CalledProcessError if it fails."""
    started = time.monotonic()
    command = [sys.executable, "-m", "azero.train", *SMALL, "keep=3", *words, f"run={run}"]
    samples = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            samples.append(sample(process.pid, started, num_iterations(run)))
            time.sleep(0.25)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    found = [some for some in samples if some]
    if not found:
        sys.exit("nothing could be seen of the process: /proc is needed, as Linux has it")
    return [*found[:-1], found[-1]._replace(iterations=num_iterations(run))]


def table(samples: list[Sample]) -> str:
    """A row for each part of the time."""
    header = ["minutes", "iterations", "ms an iteration", "CPU ms an iteration", "memory, MB", "files", "threads"]
    lines = []
    for i in range(ROWS):
        part = samples[len(samples) * i // ROWS : len(samples) * (i + 1) // ROWS + 1]
        first, last = part[0], part[-1]
        count = max(last.iterations - first.iterations, 1)
        lines.append(
            [
                f"{last.seconds / 60:.1f}",
                f"{last.iterations}",
                f"{1000 * (last.seconds - first.seconds) / count:.0f}",
                f"{1000 * (last.cpu_seconds - first.cpu_seconds) / count:.0f}",
                f"{median(some.memory for some in part):.1f}",
                f"{max(some.files for some in part)}",
                f"{max(some.threads for some in part)}",
            ]
        )
    return markdown_table(header, lines, num_names=0)


def main(run: str, *words: str) -> None:
    """Train and tell."""
    print(table(watch(Path(run), list(words))), end="")
    assert len(read_metrics(Path(run) / METRICS_FILE)) == num_iterations(Path(run))


if __name__ == "__main__":
    if len(sys.argv) < 2 or "=" in sys.argv[1] or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
