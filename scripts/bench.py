"""Measures azero, beside its peers where there are any, and prints one table: `python scripts/bench.py`.

Everything runs on one core, except what is said to be on two. Contestants take turns in one process, so that what else
the machine does hits them alike: a figure is the median of its runs, a ratio the median of the rounds' ratios. The
peers come with `pip install -c constraints.txt -e '.[bench]'`; one that is missing is said to be.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import peers
from contest import CORES, Bench, Peer, Row, Work, per_second, ratio, seconds, use_cores
from plain_connect4 import Connect4
from rich import box
from rich.console import Console
from rich.table import Table
from signature import signature

from azero._jit import draw
from azero.evaluators.evaluator import Evaluation
from azero.evaluators.network import NetworkEvaluator
from azero.evaluators.rollout import RolloutEvaluator
from azero.evaluators.uniform import UniformEvaluator
from azero.evaluators.weights import Network, NetworkSettings, layer_shapes, training_shapes
from azero.games import load_game
from azero.games.batch import StateBatch
from azero.games.decorator import compiled
from azero.games.game import Game
from azero.learning.checkpoint import checkpoint_directory, load_checkpoint, save_checkpoint
from azero.learning.metrics import METRICS_FILE, read_metrics
from azero.learning.replay import replay_file
from azero.learning.samples import read_samples, write_samples
from azero.learning.selfplay import SelfPlay, SelfPlayCounts, SelfPlaySettings
from azero.machine import machine_text
from azero.search.forest import Forest, SearchOptions
from azero.search.mcts import MCTS, Budget
from azero.search.puct import PUCT
from azero.search.tree import BYTES_PER_EDGE, BYTES_PER_NODE
from azero.search.uct import UCT

UCT_WORK = 200_000  # simulations in a timed run, over as many searches as that takes
PLAIN = SearchOptions(proven_values=False)  # as the peers search
BATCH_GAMES, BATCH_SIMULATIONS = 256, 128
NETWORKS = {"32x3": NetworkSettings(channels=32, blocks=3), "64x5": NetworkSettings(channels=64, blocks=5)}
SELFPLAY = SelfPlaySettings(games=64, simulations=32, parallel_games=64, threads=1)
MEMORY_SIMULATIONS = 500_000
FIRST_SEARCH = """
import time
start = time.CLOCK()
import azero
imported = time.CLOCK()
from azero.evaluators.rollout import RolloutEvaluator
from azero.games.connect4 import Connect4
from azero.search.mcts import MCTS, Budget
from azero.search.uct import UCT
ready = time.CLOCK()
MCTS(Connect4(), RolloutEvaluator(), UCT()).search(Connect4().initial_state(), Budget(simulations=100), stream=1)
print(imported - start, time.CLOCK() - ready)
"""


def uct(bench: Bench) -> Iterator[Row]:
    """Plain UCT with rollouts from the start of a game."""
    openspiel_names = {"tictactoe": "tic_tac_toe", "connect4": "connect_four", "othello": "othello"}
    for name, openspiel_name in openspiel_names.items():
        work_size = UCT_WORK // 20 if name == "othello" else UCT_WORK  # OpenSpiel takes seconds for as much
        for simulations in (size for size in (1_000, 10_000, 100_000) if size <= work_size):
            searches = work_size // simulations
            prepare = partial(peers.openspiel_uct, openspiel_name, simulations, searches)
            yield from bench.against(
                f"UCT, {name}, {simulations:,} simulations",
                uct_searches(load_game(name), simulations, searches),
                Peer("open-spiel", "C++ MCTSBot", prepare),
            )


def plain(bench: Bench) -> Iterator[Row]:
    """UCT of a game in plain Python: beside a search in plain Python, and compiled by one line."""
    game, simulations = Connect4(), 1_000
    yield from bench.against(
        f"UCT, connect4 in plain Python, {simulations:,} simulations",
        uct_searches(game, simulations, 1),
        Peer("open-spiel", "Python MCTSBot", partial(peers.openspiel_python_uct, "connect_four", simulations, 1)),
    )
    fast, slow = bench.contest(uct_searches(compiled(Connect4)(), simulations, 50), uct_searches(game, simulations, 1))
    measured = f"UCT, the same with @compiled, {simulations:,} simulations"
    yield Row(measured, per_second(fast), "without", per_second(slow), ratio(fast, slow))


def uct_searches(game: Game[Any], simulations: int, searches: int, options: SearchOptions = PLAIN) -> Work:
    """The fused driver; its work is simulations."""
    forest = Forest(game, RolloutEvaluator(), UCT(), options=options)

    def work() -> float:
        done = 0
        for stream in range(searches):
            forest.set_root(0, game.initial_state(), stream)
            forest.grow(0, simulations)
            done += int(forest.tree.visits[0, 0])
        return done

    return work


def options(bench: Bench) -> Iterator[Row]:
    """What may be added to a search, beside the search without it; and a second core."""
    added = {
        "proven values": SearchOptions(),
        "shared states": SearchOptions(proven_values=False, transpositions="states"),
        "shared states and mirror images": SearchOptions(proven_values=False, transpositions="symmetries"),
    }
    for name in ("tictactoe", "connect4"):
        game, searches = load_game(name), UCT_WORK // 10_000
        works = [uct_searches(game, 10_000, searches, kind) for kind in (PLAIN, *added.values())]
        plain, *others = bench.contest(*works)
        for kind, rates in zip(added, others, strict=True):
            measured = f"UCT with {kind}, {name}, 10,000 simulations"
            yield Row(measured, per_second(rates), "without", per_second(plain), ratio(rates, plain))
    use_cores(2)
    wall = Bench(bench.num_runs, "perf_counter")
    one, two = wall.contest(*(threaded_searches(threads) for threads in (1, 2)))
    use_cores(1)
    yield Row(
        "UCT on two cores, connect4, 200,000 simulations", per_second(two), "on one", per_second(one), ratio(two, one)
    )


def threaded_searches(threads: int) -> Work:
    """One position, searched by so many threads."""
    game = load_game("connect4")
    search = MCTS(game, RolloutEvaluator(), UCT(), PLAIN, threads)

    def work() -> float:
        search.reset()
        return search.search(game.initial_state(), Budget(UCT_WORK), stream=1).num_simulations

    return work


def batch(bench: Bench) -> Iterator[Row]:
    """Many games searched side by side, with one call of an evaluator that takes no time."""
    game = load_game("connect4")
    states = [random_state(game, stream) for stream in range(BATCH_GAMES)]
    yield from bench.against(
        f"batched PUCT, uniform evaluator, connect4, {BATCH_GAMES} games x {BATCH_SIMULATIONS} simulations",
        batched_search(game, states, BATCH_SIMULATIONS),
        *(
            Peer("gumbel-mcts", search, partial(peers.gumbel_mcts_batch, search, states, BATCH_SIMULATIONS))
            for search in ("PUCT", "GumbelDense")
        ),
    )


def random_state(game: Game[Any], stream: int) -> Any:
    """An unfinished state some random actions, at most 7, from the start."""
    state = game.initial_state()
    for ply in range(draw(stream, 0) % 8):
        legal = game.legal_actions(state)
        after = game.step(state, legal[draw(stream, ply + 1) % len(legal)])
        state = state if game.is_terminal(after) else after
    return state


def batched_search(game: Game[Any], states: Sequence[Any], simulations: int) -> Work:
    """The stepped driver; its work is simulations, beside the evaluation of each root."""
    forest = Forest(game, UniformEvaluator(), PUCT(), len(states), PLAIN)
    trees = np.arange(len(states), dtype=np.int32)

    def work() -> float:
        for b, state in enumerate(states):
            forest.set_root(b, state, stream=b)
        for _ in range(simulations + 1):
            forest.simulate(trees)
        return len(states) * simulations

    return work


class Watched:
    """An evaluator, the time spent in it, and what it was asked."""

    def __init__(self, evaluator: NetworkEvaluator, clock: Callable[[], float]) -> None:
        self.evaluator, self.clock = evaluator, clock
        self.seconds = 0.0
        self.batches: list[StateBatch[Any]] = []

    def evaluate(self, batch: StateBatch[Any]) -> Evaluation:
        """The evaluator's answer."""
        start = self.clock()
        evaluation = self.evaluator.evaluate(batch)
        self.seconds += self.clock() - start
        self.batches.append(batch)
        return evaluation


def selfplay(bench: Bench) -> Iterator[Row]:
    """Self-play of Connect Four with networks of random weights: beside the network alone, and on two cores."""
    game = load_game("connect4")
    for size, settings in NETWORKS.items():
        evaluator = NetworkEvaluator(random_network(game, settings))
        measured = f"self-play, connect4, {size} network"
        yield from beside_the_network(bench, measured, game, evaluator)
        yield from on_two_cores(bench, measured, game, evaluator)


def beside_the_network(bench: Bench, measured: str, game: Game[Any], evaluator: NetworkEvaluator) -> Iterator[Row]:
    """What one core would do if it had nothing but the network to run, on the same states in the same batches."""
    shares = list[float]()
    batches = list[StateBatch[Any]]()
    counts = SelfPlayCounts()

    def play() -> float:
        nonlocal counts
        watched = Watched(evaluator, bench.clock)
        start = bench.clock()
        _, counts = SelfPlay(game, PUCT(), SELFPLAY).play(watched, stream=1, first=0)
        shares.append(watched.seconds / (bench.clock() - start))
        batches[:] = watched.batches
        return counts.evaluations

    def evaluate() -> float:
        for batch in batches:
            evaluator.evaluate(batch)
        return sum(map(len, batches))

    playing, alone = bench.contest(play, evaluate)
    beside = f"the network alone, same batches ({evaluate() / len(batches):.0f} states on average)"
    yield Row(f"{measured}, evaluations", per_second(playing), beside, per_second(alone), ratio(playing, alone))
    positions = [rate * counts.positions / counts.evaluations for rate in playing]
    inside = f"{statistics.median(shares):.0%}"
    yield Row(f"{measured}, positions", per_second(positions), "time inside the network", inside)


def on_two_cores(bench: Bench, measured: str, game: Game[Any], evaluator: NetworkEvaluator) -> Iterator[Row]:
    """What the second core adds to the same games; by the wall clock, for the CPU time of two threads adds up."""

    def play(num_threads: int) -> float:
        use_cores(num_threads)
        parallel_games = SELFPLAY.parallel_games // num_threads
        settings = replace(SELFPLAY, threads=num_threads, parallel_games=parallel_games)
        _, counts = SelfPlay(game, PUCT(), settings).play(evaluator, stream=1, first=0)
        return counts.positions

    measured = f"{measured}, positions, wall clock, on two cores"
    if len(CORES) < 2:
        yield Row(measured, "not two here")
        return
    two, one = Bench(bench.num_runs, "perf_counter").contest(partial(play, 2), partial(play, 1))
    yield Row(measured, per_second(two), "on one core", per_second(one), ratio(two, one))


def random_network(game: Game[Any], settings: NetworkSettings) -> Network:
    """An untrained network whose answers differ from state to state."""
    shapes = training_shapes(layer_shapes(game.observation_shape, game.num_actions, settings))
    generator = np.random.default_rng(1)
    weights: dict[str, Any] = {}
    for name, shape in shapes.items():
        if name.endswith("num_batches_tracked"):
            weights[name] = np.zeros(shape, np.int64)
        elif name.endswith(("norm.weight", "norm.running_var")):
            weights[name] = np.ones(shape, np.float32)
        else:  # He et al. 2015
            deviation = np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0.0
            weights[name] = generator.normal(0, deviation, shape).astype(np.float32)
    return Network(game.name, game.observation_shape, game.num_actions, settings, weights)


def memory(_bench: Bench) -> Iterator[Row]:
    """What a node costs: the records of the node and its edges, and what the process grows by."""
    game = load_game("connect4")
    forest = Forest(game, RolloutEvaluator(), UCT())
    forest.grow(0, 1)
    before = resident_bytes()
    forest.grow(0, MEMORY_SIMULATIONS)
    grown = (resident_bytes() - before) / int(forest.tree.size[0])
    yield Row(
        f"memory for a node with {game.num_actions} edges",
        f"{BYTES_PER_NODE + game.num_actions * BYTES_PER_EDGE} bytes",
        f"growth of the process by {MEMORY_SIMULATIONS:,} simulations, connect4, per node",
        f"{grown:.0f} bytes" if before else "not known here",
    )


def resident_bytes() -> int:
    """The memory that this process occupies, 0 where the system does not tell."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


def startup(bench: Bench) -> Iterator[Row]:
    """From nothing to the first search, each time in a process of its own."""
    with tempfile.TemporaryDirectory() as warm:
        first_search(bench, warm)
        runs = {"warm": [first_search(bench, warm) for _ in range(bench.num_runs)], "cold": []}
    for _ in range(bench.num_runs):
        with tempfile.TemporaryDirectory() as cold:
            runs["cold"].append(first_search(bench, cold))
    yield Row("start-up: import azero", seconds([imported for imported, _, _ in runs["warm"]]))
    for cache, times in runs.items():
        _, first, whole = zip(*times, strict=True)
        measured = f"start-up: first search, connect4, 100 simulations, {cache} compile cache"
        yield Row(measured, seconds(first), "the whole process", seconds(whole))


def first_search(bench: Bench, cache: str) -> tuple[float, float, float]:
    """Seconds for importing azero, for the first search, and for the whole process."""
    code = FIRST_SEARCH.replace("CLOCK", bench.clock_name)
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "AZERO_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    after = os.times()
    wall = after.elapsed - before.elapsed
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    imported, first = map(float, done.stdout.split())
    return imported, first, wall if bench.clock_name == "perf_counter" else cpu


def commit(bench: Bench) -> Iterator[Row]:
    """What a checkpoint with its samples takes, by the clock, of an iteration of Connect Four as it ships."""
    game, quiet = load_game("connect4"), ["iterations=3", "minutes=null", "matches.games=0", "matches.positions=0"]
    Path("checkpoints").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir="checkpoints") as scratch:
        run = Path(scratch) / "run"
        use_cores(2)
        words = ["-m", "azero.train", "game=connect4", *quiet, f"run={run}"]
        subprocess.run([sys.executable, *words], capture_output=True, check=True)
        use_cores(1)
        before, after = [float(row["run/seconds"]) for row in read_metrics(run / METRICS_FILE)][-2:]
        checkpoint = load_checkpoint(checkpoint_directory(run, 3))
        samples = read_samples(replay_file(run / "replay", 3), game)
        spent = []
        for i in range(bench.num_runs):
            (run / f"again-{i}").mkdir()
            start = time.perf_counter()
            save_checkpoint(run / f"again-{i}", checkpoint)
            write_samples(run / f"again-{i}" / "samples.npz", samples)
            spent.append(time.perf_counter() - start)
    share = f"{statistics.median(spent) / (after - before):.3f}"
    yield Row(
        "committing an iteration, connect4, wall clock",
        seconds(spent),
        "the iteration, on two cores",
        seconds([after - before]),
        share,
    )


# Memory first, while the process has none to give again.
PARTS = {part.__name__: part for part in (memory, uct, plain, options, batch, selfplay, commit, startup)}


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, help="measure one part only")
    parser.add_argument("--quick", action="store_true", help="three runs of each instead of five")
    parser.add_argument("--cpu-time", action="store_true", help="do not measure by the wall clock: for a busy machine")
    parser.add_argument("--signature", action="store_true", help="only print a hash of what the search does")
    options = parser.parse_args()
    if options.signature:
        print(signature())
        return
    use_cores(1)
    bench = Bench(3 if options.quick else 5, "process_time" if options.cpu_time else "perf_counter")
    clock = "CPU time" if options.cpu_time else "wall clock"
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{machine_text()}{load}. Medians of {bench.num_runs} runs, one core, {clock}.\n")
    table = Table("measured", "azero", "beside", "", "ratio", box=box.MARKDOWN)
    console = Console(width=180)
    with console.status("measuring") as status:
        for name, part in PARTS.items():
            if options.only in (None, name):
                status.update(f"measuring: {name}")
                for row in part(bench):
                    table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    main()
