"""Searching one position: budgets, the tree kept between moves, the result, and the action chosen from it."""

import time
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from azero._jit import below, draw, kernel
from azero.evaluators.evaluator import Evaluator
from azero.games.game import FloatArray, Game, GameOverError, result_text
from azero.search.forest import Forest
from azero.search.tree import IntArray, Tree

S = TypeVar("S", bound=Hashable)

_SECONDS_PER_CHUNK = 0.001  # the clock is read about this often


@dataclass(frozen=True)
class Budget:
    """When a search ends: after so many simulations, or seconds, or whichever comes first.

    The evaluation of the root is not a simulation, so the visits of its actions sum to the simulations exactly. With
    no simulation at all the result is the evaluator's own policy. A forced action ends the search after one.
    """

    simulations: int | None = None  # >= 0; new ones, on top of what a kept tree holds
    seconds: float | None = None  # wall clock, >= 0

    def __post_init__(self) -> None:
        """Raises ValueError for a budget without a limit, or a negative one."""
        if self.simulations is None and self.seconds is None:
            raise ValueError("a budget needs simulations=..., seconds=..., or both")
        for name, limit in (("simulations", self.simulations), ("seconds", self.seconds)):
            if limit is not None and not limit >= 0:
                raise ValueError(f"{name} must not be negative, got {limit}")


class SearchResult(NamedTuple):
    """What a search found out about its root; the arrays are over its legal actions, in ascending order."""

    actions: IntArray  # int32[L]
    visit_counts: IntArray  # int32[L]: simulations that began with the action
    q: FloatArray  # float32[L], in [-1, 1]: their mean value for the player to move; 0 without any
    prior: FloatArray  # float32[L], sums to 1: the evaluator's policy, with the root's noise if there was any
    value: float  # the root's mean value for the player to move, its own evaluation included
    principal_variation: tuple[int, ...]  # the most visited action, the most visited reply to it, ...
    num_simulations: int  # simulations run by this search; a kept tree's visits come on top
    seconds: float

    def policy(self, num_actions: int) -> FloatArray:
        """The share of visits each action got, float32[A]; the priors if there was no simulation."""
        policy: FloatArray = np.zeros(num_actions, np.float32)
        policy[self.actions] = self.visit_counts if self.visit_counts.any() else self.prior
        policy /= policy.sum()
        return policy


@dataclass(frozen=True)
class DirichletNoise:
    """Exploration noise, mixed into the priors of the root's legal actions, fresh for each search."""

    weight: float = 0.25  # share of the noise, in [0, 1]; AlphaZero: 0.25
    concentration: float = 10.0  # alpha times the number of legal actions, > 0; AlphaZero: about 10

    def __post_init__(self) -> None:
        """Raises ValueError for a value out of range."""
        if not 0 <= self.weight <= 1:
            raise ValueError(f"the noise weight must be in [0, 1], got {self.weight}")
        if not self.concentration > 0:
            raise ValueError(f"the noise concentration must be positive, got {self.concentration}")

    def mix(self, prior: FloatArray, stream: int) -> FloatArray:
        """The noisy priors, float32[L]; `stream` fixes the noise."""
        if len(prior) == 0:
            return prior
        generator = np.random.Generator(np.random.Philox(key=stream))
        noise = generator.dirichlet(np.full(len(prior), self.concentration / len(prior)))
        return ((1 - self.weight) * prior + self.weight * noise).astype(np.float32)


def add_root_noise(forest: Forest[Any], b: int, noise: DirichletNoise, stream: int) -> None:
    """Mix noise into the priors of the root of tree b, which has been evaluated."""
    edges = forest.root_edges(b)
    by_action = edges.start + np.argsort(forest.tree.action[b, edges])
    forest.tree.prior[b, by_action] = noise.mix(forest.tree.prior[b, by_action], draw(stream, _NOISE))


_NOISE = (1 << 41) + 1  # counters in a search's stream, beyond those of its simulations
_CHOICE = (1 << 41) + 2


def search_result(forest: Forest[Any], b: int, num_simulations: int, seconds: float) -> SearchResult:
    """What the search in tree b, whose root has been evaluated, has found."""
    tree, edges = forest.tree, forest.root_edges(b)
    order = edges.start + np.argsort(tree.action[b, edges])
    visits = tree.visits[b, order]
    return SearchResult(
        actions=tree.action[b, order],
        visit_counts=visits,
        q=(tree.total[b, order] / np.maximum(visits, 1)).astype(np.float32),
        prior=tree.prior[b, order],
        value=float(tree.total[b, 0] / tree.visits[b, 0]),
        principal_variation=_principal_variation(forest, b),
        num_simulations=num_simulations,
        seconds=seconds,
    )


def _principal_variation(forest: Forest[Any], b: int) -> tuple[int, ...]:
    actions = np.empty(forest.game.max_game_length, np.int32)
    return tuple(actions[: _write_principal_variation(forest.tree, b, actions)].tolist())


@kernel
def _write_principal_variation(tree: Tree, b: int, actions: Any) -> int:
    """Follow the most visited edge, of several the one with the higher total; returns how many there are."""
    node, length = tree.child[b, 0], 0
    while node >= 0:
        best, visits, total = -1, 0, 0.0
        for edge in range(tree.first_edge[b, node], tree.first_edge[b, node + 1]):
            n, w = tree.visits[b, edge], tree.total[b, edge]
            if n > visits or (n == visits > 0 and w >= total):
                best, visits, total = edge, n, w
        if best < 0:
            break
        actions[length] = tree.action[b, best]
        length += 1
        node = tree.child[b, best]
    return length


def best_action(result: SearchResult, stream: int) -> int:
    """The action with most visits; of several the one with the higher q, then prior; then at random by the stream."""
    ranks = list(zip(result.visit_counts, result.q, result.prior, strict=True))
    best = [action for action, rank in zip(result.actions, ranks, strict=True) if rank == max(ranks)]
    return int(best[below(draw(stream, _CHOICE), len(best))])


def sample_action(result: SearchResult, temperature: float, stream: int) -> int:
    """An action drawn with probability proportional to visits ** (1 / temperature); at 0 it is `best_action`.

    Worked out in logarithms, relative to the most visited, so no temperature over- or underflows, and an unvisited
    action is never drawn. Raises ValueError for a negative temperature.
    """
    if not temperature >= 0:
        raise ValueError(f"the temperature must not be negative, got {temperature}")
    weights = result.policy(int(result.actions[-1]) + 1)[result.actions].astype(np.float64)
    if temperature < 1e-3:  # beyond that only the most visited has any probability
        return best_action(result, stream)
    positive = weights > 0
    logits = np.log(weights[positive] / weights.max()) / temperature
    cumulative = np.cumsum(np.exp(logits))
    point = draw(stream, _CHOICE) / 2**63 * cumulative[-1]
    chosen = min(int(np.searchsorted(cumulative, point, side="right")), len(cumulative) - 1)
    return int(result.actions[positive][chosen])


class MCTS(Generic[S]):
    """Monte Carlo tree search of one game at a time, keeping the tree from move to move."""

    def __init__(self, game: Game[S], evaluator: Evaluator, rule: Any) -> None:
        """`rule` is UCT(...) or PUCT(...). Compiles and warms up everything, so that the first move is not late."""
        self.game = game
        self._forest = Forest(game, evaluator, rule)
        self._root: S | None = None
        self.search(game.initial_state(), Budget(simulations=2), stream=0)
        self.reset()

    def reset(self) -> None:
        """Forget the tree, for a new game or when the evaluator has changed."""
        self._root = None

    def advance(self, action: int) -> None:
        """Keep only what is below `action` of the last search's root, for the next one to start from."""
        if self._root is None:
            return
        edges = self._forest.root_edges(0)
        edge = edges.start + int(np.flatnonzero(self._forest.tree.action[0, edges] == action)[0])
        self._root = self.game.step(self._root, action)
        if self._forest.tree.child[0, edge] < 0 or self.game.is_terminal(self._root):
            self.reset()
        else:
            self._forest.keep_subtree(0, edge, self._root)

    def search(self, state: S, budget: Budget, stream: int) -> SearchResult:
        """Search `state`, from the kept tree if `state` is its root; `stream` fixes everything that is random.

        Raises GameOverError for a finished game.
        """
        start = time.perf_counter()
        if self.game.is_terminal(state):
            raise GameOverError(f"this game of {self.game.name} is over: {result_text(self.game, state)}")
        forest = self._forest
        if state != self._root:
            forest.set_root(0, state, stream)
        else:
            forest.set_stream(0, stream)
        self._root = state
        forest.grow(0, 1)
        before = int(forest.tree.visits[0, 0])
        self._spend(budget, start)
        num_simulations = int(forest.tree.visits[0, 0]) - before
        return search_result(forest, 0, num_simulations, time.perf_counter() - start)

    def _spend(self, budget: Budget, start: float) -> None:
        forest = self._forest
        edges = forest.root_edges(0)
        before = visits = int(forest.tree.visits[0, 0])
        limit = 2**31 - 1 if budget.simulations is None else before + budget.simulations
        if edges.stop - edges.start == 1:
            limit = min(limit, before + 1)
        if budget.seconds is None:
            forest.grow(0, limit)
            return
        chunk, now = 1, time.perf_counter()
        while visits < limit and now - start < budget.seconds:
            visits = min(visits + chunk, limit)
            forest.grow(0, visits)
            now, before_chunk = time.perf_counter(), now
            chunk = max(1, min(2 * chunk, int(chunk * _SECONDS_PER_CHUNK / (now - before_chunk))))
