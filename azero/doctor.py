"""python -m azero.doctor: whether the installation is sound, on one page."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np
from packaging.requirements import Requirement
from rich.console import Console
from rich.text import Text

from azero._cache import TEMPORARY, cache_directory
from azero.config import command
from azero.evaluators.network import NetworkEvaluator, check_device
from azero.evaluators.rollout import RolloutEvaluator
from azero.evaluators.weights import Network, NetworkSettings
from azero.games.batch import batch_of
from azero.games.blame import is_shortage
from azero.games.connect4 import Connect4
from azero.learning.cores import num_cores
from azero.learning.selfplay import SelfPlay, SelfPlaySettings
from azero.machine import machine_text
from azero.search.mcts import MCTS, Budget
from azero.search.puct import PUCT
from azero.search.uct import UCT

_BATCH = 256  # states for each call of the network
_REPEATS = 15  # of what is timed; the fastest counts
_LEAST_SHARE = 0.3  # of the speed of a matrix product, which the network should reach; measured on an idle machine: 1.1
_LEAST_SIMULATIONS = 100_000  # a second, of UCT on Connect Four; plain Python does a tenth of that
_LEAST_FREE = 1 << 30  # bytes


@dataclass(frozen=True)
class DoctorSettings:
    """How long to look, and where."""

    seconds: float = 10.0  # of self-play, above 0, at most 3600
    directory: str = "checkpoints"  # where runs are to be kept

    def __post_init__(self) -> None:
        """Raises ValueError for a time out of range."""
        if not 0 < self.seconds <= 3600:
            raise ValueError(f"seconds must be above 0 and at most 3600, got {self.seconds}")


class Finding(NamedTuple):
    """What a line of the page says."""

    text: str
    advice: str = ""  # what to do; empty: it is good


@command(DoctorSettings, "doctor")
def main(settings: DoctorSettings) -> None:
    """Look whether the installation is sound, and say of what is not what to do. The exit status is 1 then.

        python -m azero.doctor seconds=10

    Looks at the versions, cores, the graphics card, the compiled kernels, the speed of the network beside
    that of a matrix product, and where runs are kept, and plays some games against itself.
    """
    console = Console(markup=False, highlight=False, soft_wrap=True)
    num_bad = 0
    for name, examine in checks(settings):
        with console.status(Text(name)):
            finding = _examined(examine)
        num_bad += bool(finding.advice)
        mark = Text("! ", "bold red") if finding.advice else Text("  ", "green")
        console.print(mark, Text(f"{name:<12}"), Text(finding.text), sep="")
        if finding.advice:
            console.print(Text(f"{'':<14}{finding.advice}", "bold"))
    console.print("All is well." if num_bad == 0 else f"{num_bad} of these need something done.")
    if num_bad:
        sys.exit(1)


def checks(settings: DoctorSettings) -> Iterator[tuple[str, Callable[[], Finding]]]:
    """What is looked at, in order."""
    yield "machine", lambda: Finding(machine_text())
    yield "packages", packages
    yield "cores", cores
    yield "GPU", gpu
    yield "kernels", kernels
    yield "search", search_speed
    yield "network", network_speed
    yield "directory", lambda: directory(Path(settings.directory))
    yield "self-play", lambda: selfplay(settings.seconds)


def _examined(examine: Callable[[], Finding]) -> Finding:
    """What a check finds; one that fails is a finding, too."""
    try:
        return examine()
    except Exception as error:  # whatever is broken, the other lines are to be told
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        advice = "free some memory" if is_shortage(error) else "install azero anew: pip install -c constraints.txt -e ."
        return Finding(f"failed: {reason}", advice)


def packages() -> Finding:
    """Whether all that azero needs is there, in versions that it knows."""
    wrong = []
    needed = [Requirement(text) for text in metadata.requires("azero") or []]
    needed = [requirement for requirement in needed if requirement.marker is None or requirement.marker.evaluate()]
    for requirement in needed:
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            wrong.append(f"{requirement.name} is missing")
            continue
        if not requirement.specifier.contains(version.partition("+")[0], prereleases=True):
            wrong.append(f"{requirement.name} {version} is not {requirement.specifier}")
    text = f"azero {metadata.version('azero')} and the {len(needed)} packages that it needs"
    return Finding("; ".join(wrong) or text, "pip install -c constraints.txt -e ." if wrong else "")


def cores() -> Finding:
    """How many cores there are to use, and whether others use them."""
    number, total = num_cores(), os.cpu_count() or 1
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    text = f"{number} of {total} may be used; load {load:.1f}"
    busy = load > 0.5 * total + 0.5
    return Finding(text, "other programs take them: training will be slower by as much" if busy else "")


def gpu() -> Finding:
    """Whether PyTorch sees a graphics card, and whether one is there that it does not see."""
    try:
        check_device("cuda")
    except ValueError:
        if shutil.which("nvidia-smi") is None:
            return Finding("none: the processor does everything")
        advice = f"torch {metadata.version('torch')} may be a build for the processor alone"
        return Finding("a driver is there, but PyTorch sees no card", advice)
    return Finding("PyTorch sees one: device=cuda uses it")


def kernels() -> Finding:
    """Whether compiled kernels are kept from process to process."""
    place = cache_directory()
    if place.name.startswith(TEMPORARY):
        advice = "compiled again in each process; set AZERO_CACHE_DIR to a directory that can be written"
        return Finding("their cache cannot be written", advice)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return Finding("Numba's compiler is off", "unset NUMBA_DISABLE_JIT")
    return Finding(f"kept in {place}")


def search_speed() -> Finding:
    """The simulations a second of UCT on Connect Four, on one core."""
    game = Connect4()
    start = time.perf_counter()
    searcher = MCTS(game, RolloutEvaluator(), UCT())
    ready = time.perf_counter() - start
    result = searcher.search(game.initial_state(), Budget(seconds=1.0), stream=0)
    speed = result.num_simulations / result.seconds
    text = f"ready in {ready:.1f} s; UCT on Connect Four: {speed:,.0f} simulations a second"
    slow = speed < _LEAST_SIMULATIONS
    return Finding(text, "far too slow: are other programs at work, or is the compiler off?" if slow else "")


def network_speed() -> Finding:
    """The states a second that the network values, beside what the processor can do in a matrix product."""
    game, network = Connect4(), untrained()
    evaluator, batch = NetworkEvaluator(network), batch_of(game, [game.initial_state()] * _BATCH)
    cells = game.observation_shape[1] * game.observation_shape[2]
    work = sum(np.prod(shape) * (cells if len(shape) == 4 else 1) for shape in network.layers().values())
    network_rate = _BATCH * work / _least_seconds(lambda: evaluator.evaluate(batch))
    product_rate = 512**3 / product_seconds()
    share = network_rate / product_rate
    text = f"{network_rate / work:,.0f} states a second on one core, at {share:.0%} of the speed of a matrix product"
    slow = share < _LEAST_SHARE
    return Finding(text, "too slow: is onnxruntime a build for this processor?" if slow else "")


def _least_seconds(run: Callable[[], object]) -> float:
    times = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def untrained() -> Network:
    """A network for Connect Four of the default size."""
    from azero.learning.learner import Learner, LearnerSettings  # with PyTorch, which may be what is broken

    return Learner(Connect4(), NetworkSettings(), LearnerSettings(), seed=0).network(0)


def product_seconds() -> float:
    """What the product of two matrices of 512 rows and columns takes on one core."""
    limits = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    code = f"""
import time, numpy
square, times = numpy.ones((512, 512), numpy.float32), []
for _ in range({_REPEATS}):
    start = time.perf_counter()
    square @ square
    times.append(time.perf_counter() - start)
print(min(times))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | dict.fromkeys(limits, "1"), capture_output=True, check=True
    )
    return float(done.stdout)


def directory(path: Path) -> Finding:
    """Whether runs can be kept there."""
    path = path.absolute()
    parent = next(above for above in (path, *path.parents) if above.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=parent) as file:
            file.write(b"azero")
    except OSError as error:
        return Finding(f"{parent} cannot be written: {error.strerror}", "train elsewhere, with run=PATH")
    free = shutil.disk_usage(parent).free
    text = f"{path} can be written; {free / 2**30:.0f} GiB are free"
    return Finding(text, "make room: a run takes some hundred MiB" if free < _LEAST_FREE else "")


def selfplay(seconds: float) -> Finding:
    """Games against itself with an untrained network, as in training."""
    game = Connect4()
    evaluator = NetworkEvaluator(untrained())
    settings = SelfPlaySettings(games=4 * num_cores(), parallel_games=4, simulations=16)
    num_games = num_positions = 0
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        games, counts = SelfPlay(game, PUCT(), settings).play(evaluator, stream=0, first=num_games)
        num_games, num_positions = num_games + len(games), num_positions + counts.positions
    return Finding(f"{num_games} games, {num_positions / passed:,.0f} positions a second")


if __name__ == "__main__":
    main()
