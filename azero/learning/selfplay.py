"""Self-play: many games at once, each deciding its actions by search, as the training data.

Every thread advances its own set of games in lock-step, one evaluator call for all of them, and starts the next game
in the place of a finished one. Kernels and networks run without the GIL, so threads use the cores; nothing is copied
between them. All that is random in a game comes from the run's seed and the game's number, so a game is the same
whatever is played beside it and by however many threads.
"""

import itertools
import threading
from collections.abc import Hashable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from azero._jit import below, draw
from azero.evaluators.evaluator import Evaluator
from azero.games.game import Game
from azero.learning.cores import num_cores
from azero.learning.played import PlayedGame
from azero.search.alphabeta import AlphaBeta, Solution
from azero.search.forest import Forest, SearchOptions
from azero.search.mcts import for_budget
from azero.search.noise import DirichletNoise, add_root_noise
from azero.search.result import sample_action, search_result

S = TypeVar("S", bound=Hashable)

_SECONDS_BETWEEN_CALLS = 0.1
_OPENING = 1 << 42  # counters in a game's stream, beyond those of its plies
_SOLVED = 1 << 42  # counters in a search's stream, beyond those of its simulations
_SOLVER_TABLE = 1 << 16  # entries, 4 MB
_PLIES_BETWEEN_TRIES = 2  # of the solver where it fails


@dataclass(frozen=True)
class SelfPlaySettings:
    """How the games that are learned from are played."""

    games: int = 256  # games in an iteration, >= 1
    simulations: int = 64  # of the search for each action, >= 1; AlphaZero: 800
    parallel_games: int = 64  # games that each thread plays side by side, >= 1; also the largest batch of the network
    threads: int = 0  # 0: one for each core
    temperature: float = 1.0  # for drawing an action from what the search makes of the priors, >= 0; AlphaZero: 1
    # Plies from the start of the game that it applies to, random ones included, >= 0; then the most visited action is
    # chosen. AlphaZero: 30 in chess.
    temperature_plies: int = 15
    random_plies: int = 4  # a game begins with up to so many uniformly random actions, >= 0, for variety
    proven_values: bool = False  # use what the trees prove: exact targets, and no simulations where nothing is open
    lookahead: int = 0  # plies that alpha-beta looks ahead of every new leaf, >= 0; what it proves is not evaluated
    # States in which alpha-beta tries to solve a position before its search, >= 0; where it fails, it is asked again
    # after two plies.
    solver_nodes: int = 0
    # Share of random actions where alpha-beta has solved the position, for variety, 0 to 1: what is learned of it and
    # of those before it is its result, whatever the game comes to.
    solved_epsilon: float = 0.0
    int8: bool = False  # the network computes in integers of 8 bits, a little off; faster on a CPU with VNNI
    records: bool = False  # keep each iteration's games as text too, in the run's directory `games`
    noise: DirichletNoise = field(default_factory=DirichletNoise)  # exploration at the root

    def __post_init__(self) -> None:
        """Raises ValueError for a value out of range."""
        least = {
            "games": 1, "simulations": 1, "parallel_games": 1, "threads": 0,
            "temperature": 0, "temperature_plies": 0, "random_plies": 0, "lookahead": 0, "solver_nodes": 0,
        }  # fmt: skip
        for name, limit in least.items():
            if not getattr(self, name) >= limit:
                raise ValueError(f"selfplay.{name} must be at least {limit}, got {getattr(self, name)}")
        if not 0 <= self.solved_epsilon <= 1:
            raise ValueError(f"selfplay.solved_epsilon must be from 0 to 1, got {self.solved_epsilon}")

    def num_threads(self) -> int:
        """The threads that play."""
        return self.threads or num_cores()


@dataclass
class SelfPlayCounts:
    """What the games of an iteration took."""

    positions: int = 0  # states that were searched or solved
    solved: int = 0  # of them, by alpha-beta
    simulations: int = 0
    evaluations: int = 0  # leaves that the evaluator was asked for; the other simulations ended in finished games

    def add(self, other: "SelfPlayCounts") -> None:
        """Count another thread's work in."""
        self.positions += other.positions
        self.solved += other.solved
        self.simulations += other.simulations
        self.evaluations += other.evaluations


class GameWatcher(Protocol):
    """Who is told how the games go."""

    def on_step(self) -> None:
        """A game, or another step of the work, is done; may be called by any thread."""

    def on_wait(self) -> None:
        """The main thread has nothing else to do; called some times a second. What this raises stops the work."""


class SelfPlay(Generic[S]):
    """Plays the games of an iteration."""

    def __init__(self, game: Game[S], rule: Any, settings: SelfPlaySettings) -> None:
        """`rule` is the selection rule of the search, such as PUCT(...) or Gumbel(...)."""
        self.game = game
        self.rule = rule
        self.settings = settings

    def play(
        self, evaluator: Evaluator, stream: int, first: int, watcher: GameWatcher | None = None
    ) -> tuple[list[PlayedGame[S]], SelfPlayCounts]:
        """Games number `first`, `first + 1`, ... of the run whose stream this is, in that order, and what they took.

        An exception in a thread or in the watcher, or Ctrl-C, stops all threads and is raised.
        """
        numbers = iter(range(first, first + self.settings.games))
        stop, lock = threading.Event(), threading.Lock()
        num_threads = self.settings.num_threads()
        workers = [_Worker(self, evaluator, stream, _locked(numbers, lock), watcher, stop) for _ in range(num_threads)]
        with ThreadPoolExecutor(num_threads) as pool:
            try:
                futures = [pool.submit(worker.run) for worker in workers]
                while wait(futures, _SECONDS_BETWEEN_CALLS, FIRST_EXCEPTION).not_done:
                    if any(future.done() and future.exception() for future in futures):
                        break
                    if watcher:
                        watcher.on_wait()
            finally:
                stop.set()
        counts = SelfPlayCounts()
        games = [game for future in futures for game in future.result()]
        for worker in workers:
            counts.add(worker.counts)
        return sorted(games, key=lambda game: game.number), counts


def _locked(numbers: Iterator[int], lock: threading.Lock) -> Iterator[int]:
    while True:
        with lock:
            number = next(numbers, None)
        if number is None:
            return
        yield number


class _Worker(Generic[S]):
    """One thread's games."""

    def __init__(
        self,
        play: SelfPlay[S],
        evaluator: Evaluator,
        stream: int,
        numbers: Iterator[int],
        watcher: GameWatcher | None,
        stop: threading.Event,
    ) -> None:
        self.settings, self.game = play.settings, play.game
        self.stream, self.numbers, self.watcher, self.stop = stream, numbers, watcher, stop
        self.counts = SelfPlayCounts()
        self.finished: list[PlayedGame[S]] = []
        fair_share = -(-self.settings.games // self.settings.num_threads())
        num_trees = min(self.settings.parallel_games, fair_share)
        self.first_numbers = list(itertools.islice(numbers, num_trees))
        rule = for_budget(play.rule, self.settings.simulations)
        options = SearchOptions(self.settings.proven_values, lookahead=self.settings.lookahead)
        self.forest = Forest(play.game, evaluator, rule, num_trees, options)
        self.games: dict[int, PlayedGame[S]] = {}  # by tree
        self.next_try = [0] * num_trees  # by tree: the ply from which on the solver is asked again
        self.solver = AlphaBeta(play.game, table_size=_SOLVER_TABLE) if self.settings.solver_nodes else None

    def run(self) -> list[PlayedGame[S]]:
        """Play until the numbers run out."""
        for b, number in enumerate(self.first_numbers):
            self.go_on(b, self.start_game(b, number))
        while self.games and not self.stop.is_set():
            trees = np.fromiter(self.games, np.int32)
            self.forest.simulate(trees)
            visits, proven = self.forest.tree.visits[trees, 0], self.forest.tree.plies[trees, 0] >= 0
            for b in trees[visits == 1].tolist():
                add_root_noise(self.forest, b, self.settings.noise, self.search_stream(b))
            for b in trees[(visits > self.goals(trees)) | proven].tolist():
                self.act(b)
        self.counts.evaluations = self.forest.num_evaluations
        return self.finished

    def goals(self, trees: np.ndarray[Any, np.dtype[np.int32]]) -> Any:
        """The simulations each search is given: a forced action needs no more than one."""
        num_edges = self.forest.tree.first_edge[trees, 1] - self.forest.tree.first_edge[trees, 0]
        return np.where(num_edges == 1, 1, self.settings.simulations)

    def start_game(self, b: int, number: int) -> S:
        """Begin a game in tree b with its random actions, and return the state that they lead to, which is not over."""
        game, stream = self.game, draw(self.stream, number)
        played = PlayedGame[S](number)
        state = game.initial_state()
        for i in range(below(draw(stream, _OPENING), self.settings.random_plies + 1)):
            legal = game.legal_actions(state)
            action = legal[below(draw(stream, _OPENING + 1 + i), len(legal))]
            after = game.step(state, action)
            if game.is_terminal(after):
                break
            state = after
            played.actions.append(action)
        self.games[b], self.next_try[b] = played, 0
        return state

    def search_stream(self, b: int) -> int:
        """The random numbers of the search in tree b: those of the game's number and ply."""
        return draw(draw(self.stream, self.games[b].number), len(self.games[b].actions))

    def act(self, b: int) -> None:
        """Choose an action from the finished search in tree b, and go on to the next state or game."""
        settings, game, played = self.settings, self.game, self.games[b]
        state, stream = self.forest.roots[b], self.search_stream(b)
        num_simulations = int(self.forest.tree.visits[b, 0]) - 1
        result = search_result(self.forest, b, num_simulations, seconds=0.0)
        hot = len(played.actions) < settings.temperature_plies
        action = sample_action(result, settings.temperature if hot else 0.0, stream)
        played.add(state, result.actions, result.policy(game.num_actions), result.value, num_simulations, action)
        self.counts.positions += 1
        self.counts.simulations += num_simulations
        self.go_on(b, game.step(state, action))

    def go_on(self, b: int, state: S) -> None:
        """Go on from `state`, to which the game in tree b has come, to the next that needs a search, in any game."""
        while not self.stop.is_set():
            if self.game.is_terminal(state):
                self.finish(b, state)
                number = next(self.numbers, None)
                if number is None:
                    return
                state = self.start_game(b, number)
            elif solution := self.try_to_solve(b, state):
                state = self.act_solved(b, state, solution)
            else:
                self.forest.set_root(b, state, self.search_stream(b))
                return

    def finish(self, b: int, state: S) -> None:
        """End the game in tree b with its last state."""
        played = self.games.pop(b)
        played.end(self.game, self.game.outcome(state) * (1 if self.game.current_player(state) == 0 else -1))
        self.finished.append(played)
        if self.watcher:
            self.watcher.on_step()

    def act_solved(self, b: int, state: S, solution: Solution) -> S:
        """Choose an action in a solved state in tree b, a best one or, for variety, any; returns the state after it."""
        best, stream = solution.best_actions, self.search_stream(b)
        policy = np.zeros(self.game.num_actions, np.float32)
        policy[list(best)] = 1 / len(best)
        varies = draw(stream, _SOLVED + 1) / 2**63 < self.settings.solved_epsilon
        candidates = solution.actions.tolist() if varies else best
        action = candidates[below(draw(stream, _SOLVED), len(candidates))]
        self.games[b].add(state, solution.actions, policy, solution.value, 0, action)
        self.counts.positions += 1
        self.counts.solved += 1
        return self.game.step(state, action)

    def try_to_solve(self, b: int, state: S) -> Solution | None:
        """How perfect play in tree b goes on, if it is the solver's turn to say and it finds it."""
        ply = len(self.games[b].actions)
        if self.solver is None or ply < self.next_try[b]:
            return None
        solution = self.solve(self.solver, state)
        if solution is None:
            self.next_try[b] = ply + _PLIES_BETWEEN_TRIES
        return solution

    def solve(self, solver: AlphaBeta[S], state: S) -> Solution | None:
        """How perfect play goes on, if the solver finds it; with an empty table, so that it depends on nothing else."""
        solver.reset()
        return solver.solve(state, self.settings.solver_nodes)
