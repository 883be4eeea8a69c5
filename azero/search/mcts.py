"""Searching one position: budgets, the tree kept between moves, several cores."""

import time
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from azero._jit import dispatched, draw
from azero.evaluators.evaluator import Evaluator
from azero.evaluators.rollout import RolloutEvaluator
from azero.games.game import Game, GameOverError, result_text
from azero.search.forest import Forest, SearchOptions
from azero.search.result import SearchResult, merged, search_result

S = TypeVar("S", bound=Hashable)

_SECONDS_PER_CHUNK = 0.001  # the clock is read about this often
_THREADS = (1 << 41) + 3  # counters in a search's stream, beyond all others, one for each thread


@dataclass(frozen=True)
class Budget:
    """When a search ends: after so many simulations, or seconds, or whichever comes first.

    The evaluation of the root is not a simulation, so the visits of its actions sum to the simulations exactly, but
    for those that a kept tree brings. With no simulation at all the result is the evaluator's own policy. A forced
    action ends the search after one (in each thread), and a proven root at once (in the thread that proved it).
    """

    simulations: int | None = None  # >= 0; new ones, on top of what a kept tree holds
    seconds: float | None = None  # wall clock, >= 0
    stop_early: bool = False  # end when no other action can become the most visited with the simulations that are left

    def __post_init__(self) -> None:
        """Raises ValueError for a budget without a limit, or a negative one."""
        if self.simulations is None and self.seconds is None:
            raise ValueError("a budget needs simulations=..., seconds=..., or both")
        for name, limit in (("simulations", self.simulations), ("seconds", self.seconds)):
            if limit is not None and not limit >= 0:
                raise ValueError(f"{name} must not be negative, got {limit}")
        if self.stop_early and self.simulations is None:
            raise ValueError("stop_early counts the simulations that are left, so it needs simulations=...")

    def part(self, i: int, num_parts: int) -> "Budget":
        """What the i-th of so many threads has to spend."""
        if self.simulations is None:
            return self
        return replace(self, simulations=self.simulations // num_parts + (i < self.simulations % num_parts))


@dispatched
def for_budget(rule: Any, simulations: int | None) -> Any:
    """The rule for a search of so many simulations, None if that is not known; most do not care."""
    return rule


class MCTS(Generic[S]):
    """Monte Carlo tree search of one game at a time, keeping the tree from move to move."""

    def __init__(
        self,
        game: Game[S],
        evaluator: Evaluator,
        rule: Any,
        options: SearchOptions = SearchOptions(),
        threads: int = 1,
    ) -> None:
        """`rule` is UCT(...), PUCT(...), Gumbel(...), RAVE(...), UCB1(...), Flat() or Widening(another rule, ...).

        With several `threads`, for rollouts, each searches a tree of its own by an even part of the simulations, and
        the visits of their roots are added up (root parallelisation; Chaslot, Winands, van den Herik 2008). Compiles
        and warms up everything, so that the first move is not late. Raises ValueError for what cannot be combined.
        """
        if threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads}")
        if threads > 1 and not isinstance(evaluator, RolloutEvaluator):
            raise ValueError("several threads search side by side with rollouts only; a network gets leaves=... to do")
        if threads > 1 and _has_plan(rule):
            raise ValueError("Gumbel halves the actions of one root, so its search takes one thread")
        self.game = game
        self._rule = rule
        self._forests = [Forest(game, evaluator, rule, options=options) for _ in range(threads)]
        self._pool = ThreadPoolExecutor(threads)
        self._root: S | None = None
        self.search(game.initial_state(), Budget(simulations=2 * threads), stream=0)
        self.reset()

    @property
    def forest(self) -> Forest[S]:
        """The tree of the last search, the first thread's, to look into."""
        return self._forests[0]

    def reset(self) -> None:
        """Forget the tree, for a new game or when the evaluator has changed."""
        self._root = None

    def advance(self, action: int) -> None:
        """Keep only what is below `action` of the last search's root, for the next one to start from."""
        if self._root is None:
            return
        state = self.game.step(self._root, action)
        edges = [
            forest.root_edges(0).start + int(np.flatnonzero(forest.tree.action[0, forest.root_edges(0)] == action)[0])
            for forest in self._forests
        ]
        planted = all(f.has_edges(0, edge) for f, edge in zip(self._forests, edges, strict=True))
        # Below the root mirror images may stand for a state; as a root it has to stand for itself.
        if not planted or self.game.is_terminal(state) or self.forest.image(state) != state:
            self.reset()
            return
        self._root = state
        for forest, edge in zip(self._forests, edges, strict=True):
            forest.keep_subtree(0, edge, state)

    def search(self, state: S, budget: Budget, stream: int) -> SearchResult:
        """Search `state`, from the kept tree if `state` is its root; `stream` fixes everything that is random.

        Raises GameOverError for a finished game, ValueError for a budget that the rule cannot do with.
        """
        start = time.perf_counter()
        if self.game.is_terminal(state):
            raise GameOverError(f"this game of {self.game.name} is over: {result_text(self.game, state)}")
        if budget.stop_early and (len(self._forests) > 1 or _has_plan(self._rule)):
            raise ValueError("stop_early compares the visits of one tree, and Gumbel spends its simulations by a plan")
        afresh = state != self._root or _starts_afresh(self._rule)
        self._root = None  # should the search fail, there is nothing to go on from
        for i, forest in enumerate(self._forests):
            forest.rule = for_budget(self._rule, budget.simulations)
            own_stream = stream if i == 0 else draw(stream, _THREADS + i)
            if afresh:
                forest.set_root(0, state, own_stream)
            else:
                forest.set_stream(0, own_stream)
        parts = [budget.part(i, len(self._forests)) for i in range(len(self._forests))]
        if len(parts) == 1:
            results = [self._search_tree(self._forests[0], parts[0], start)]
        else:
            results = list(self._pool.map(self._search_tree, self._forests, parts, [start] * len(parts)))
        self._root = state
        return merged(results)

    def _search_tree(self, forest: Forest[S], budget: Budget, start: float) -> SearchResult:
        forest.grow(0, 1)
        before = int(forest.tree.visits[0, 0])
        edges = forest.root_edges(0)
        limit = 2**31 - 1 if budget.simulations is None else before + budget.simulations
        if edges.stop - edges.start == 1:
            limit = min(limit, before + 1)
        if budget.seconds is not None:
            self._spend_seconds(forest, limit, start + budget.seconds, budget.stop_early)
        elif budget.stop_early:
            while (num := forest.simulations_to_settle(0, limit)) > 0:
                forest.grow(0, int(forest.tree.visits[0, 0]) + num)
        else:
            forest.grow(0, limit)
        return search_result(forest, 0, int(forest.tree.visits[0, 0]) - before, time.perf_counter() - start)

    def _spend_seconds(self, forest: Forest[S], limit: int, end: float, stop_early: bool) -> None:
        chunk, now = 1, time.perf_counter()
        visits = int(forest.tree.visits[0, 0])
        # A tree that is to be enlarged is copied, which is not begun if it would end too late.
        while visits < limit and not forest.is_proven(0) and now + forest.seconds_to_enlarge(0, chunk) < end:
            if stop_early and forest.simulations_to_settle(0, limit) == 0:
                return
            visits = min(visits + chunk, limit)
            forest.grow(0, visits)
            now, before_chunk = time.perf_counter(), now
            chunk = max(1, min(2 * chunk, int(chunk * _SECONDS_PER_CHUNK / (now - before_chunk))))


def _has_plan(rule: Any) -> bool:
    """Whether the rule decides beforehand how often the root's actions are tried."""
    return getattr(rule, "has_plan", False)


def _starts_afresh(rule: Any) -> bool:
    """Whether a search by this rule cannot use the visits of an earlier one."""
    return getattr(rule, "starts_afresh", False)
