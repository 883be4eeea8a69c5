"""B trees of one game, searched side by side by either of two drivers on the same kernels.

The stepped driver serves every game and evaluator: each call advances many trees by one simulation, or one tree by
several, with one call of the evaluator. The fused driver, for compiled rules with rollouts, is one compiled loop over
one tree. Both plant the same tree, node by node, whatever else is searched beside it: all randomness comes from
(stream, visits of the root).
"""

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from azero._jit import pack, unpack
from azero.evaluators.evaluator import Evaluation, Evaluator, checked
from azero.evaluators.rollout import NUM_BUFFERS, PlainRules, RolloutEvaluator, TracingPolicy, rules_of
from azero.games.batch import StateBatch
from azero.games.compiled import CompiledGame, PackedStates, canonical
from azero.games.game import Game
from azero.search.drivers import (
    Leaves,
    Spec,
    Start,
    find_leaf,
    find_packed,
    forget_leaves,
    grow_fused,
    has_room,
    plant_leaves,
)
from azero.search.kernels import copy_subtree, subtree_size
from azero.search.lookahead import new_lookahead
from azero.search.transpositions import NotShared, Shared, SharedBySymmetry, fill_slots
from azero.search.tree import MAX_ACTIONS, Columns, IntArray, allocate, clear, enlarged

S = TypeVar("S", bound=Hashable)

_FIRST_NODES = 64  # room in a new tree; it doubles when needed
_CHUNK = 100_000  # rollouts in one compiled call, after which Python hears of Ctrl-C
_SECONDS_PER_NODE = 2e-7  # that enlarging a tree takes, before it was measured
_MANY_NODES = 10_000  # by fewer it cannot be measured
_NOTHING = Evaluation(np.empty((0, 0), np.float32), np.empty(0, np.float32))  # where no leaf asks for an evaluation
_SHARING = {"none": NotShared(), "states": Shared(), "symmetries": SharedBySymmetry()}


@dataclass(frozen=True)
class SearchOptions:
    """What may be added to any search."""

    proven_values: bool = True  # wins, losses and draws that the tree proves are exact and take no more simulations
    transpositions: str = "none"  # "states": all edges to a state share its node; "symmetries": mirror images too
    lookahead: int = 0  # plies that alpha-beta looks ahead of every new leaf, >= 0: what it proves is not evaluated
    leaves: int = 1  # of one tree for each call of the evaluator, >= 1; more keep a graphics card busy

    def __post_init__(self) -> None:
        """Raises ValueError for a value out of range."""
        if self.transpositions not in _SHARING:
            raise ValueError(f"transpositions must be {' or '.join(_SHARING)}, got {self.transpositions!r}")
        if self.leaves < 1:
            raise ValueError(f"leaves must be at least 1, got {self.leaves}")
        if self.lookahead < 0:
            raise ValueError(f"lookahead must be at least 0, got {self.lookahead}")


class Forest(Generic[S]):
    """Search trees of one game."""

    def __init__(
        self,
        game: Game[S],
        evaluator: Evaluator,
        rule: Any,
        num_trees: int = 1,
        options: SearchOptions = SearchOptions(),  # frozen
    ) -> None:
        """`rule` is UCT(...), PUCT(...) or another selection rule. Raises ValueError for what cannot be combined."""
        if not hasattr(evaluator, "evaluate"):
            raise TypeError(
                f"an evaluator has a method evaluate, {evaluator!r} has none; ScriptedEvaluator wraps a function"
            )
        if isinstance(rule, type):
            raise TypeError(f"a selection rule is needed, not its class: {rule.__name__}() instead of {rule.__name__}")
        if game.num_actions > MAX_ACTIONS:
            raise ValueError(f"a search tree holds up to {MAX_ACTIONS} actions, {game.name} has {game.num_actions}")
        self.game = game
        self.options = options
        self.num_evaluations = 0
        self._seconds_per_node = _SECONDS_PER_NODE
        self._like = game.initial_state()
        compiled = isinstance(game, CompiledGame)
        num_fields = len(self._like) if compiled else 0  # type: ignore[arg-type]  # a NamedTuple
        sharing = _SHARING[options.transpositions]
        num_played = game.num_actions if getattr(rule, "uses_amaf", False) else 0
        if num_played:
            _check_amaf(evaluator, options)
        self.evaluator = evaluator
        self._rules = rules_of(game)
        self._spec = Spec(rule, sharing, options.proven_values)
        self._lookahead = new_lookahead(game, options.lookahead)
        num_keys = 0 if isinstance(sharing, NotShared) else getattr(self._rules, "key_width", max(num_fields, 1))
        focus = game.max_game_length + 2 if getattr(rule, "tries_all_children", False) else 0
        columns = Columns(num_keys, 2 * num_played, focus)
        self.tree = allocate(num_trees, _FIRST_NODES + options.leaves, _FIRST_NODES * game.num_actions + 1, columns)
        self.roots: list[S] = [self._like] * num_trees
        self._packed_roots = np.zeros((num_trees, num_fields), np.int64)
        num_leaves = max(num_trees, options.leaves)
        ints = np.zeros((5, num_leaves), np.int32)
        self._leaves = Leaves(
            stream=np.zeros(num_leaves, np.int64),
            path=np.zeros((num_leaves, game.max_game_length + 1), np.int32),
            depth=ints[0],
            asks=ints[1],
            row=np.zeros((num_leaves, num_keys + 1), np.int64),
            actions=np.zeros((num_leaves, game.num_actions), np.int32),
            num_legal=ints[2],
            player=ints[3],
            plies=ints[4],
            value=np.zeros(num_leaves, np.float32),
            played=np.zeros((num_leaves, 2, num_played), np.int32),
        )

    @property
    def rule(self) -> Any:
        """The selection rule."""
        return self._spec.rule

    @rule.setter
    def rule(self, rule: Any) -> None:
        self._spec = self._spec._replace(rule=rule)

    @property
    def sharing(self) -> Any:
        """Whether nodes are shared, for the kernels that ask."""
        return self._spec.sharing

    def set_root(self, b: int, state: S, stream: int) -> None:
        """Empty tree b and make `state`, which must not be terminal, its root; `stream` is the search's randomness."""
        clear(self.tree, b)
        if isinstance(self._rules, PlainRules) and len(self.roots) == 1:
            self._rules.forget()
        self._place_root(b, state)
        self.set_stream(b, stream)

    def keep_subtree(self, b: int, edge: int, state: S) -> None:
        """Keep of tree b what is below `edge` of the root, which leads to the evaluated state `state`."""
        tree = self.tree
        scratch = np.empty((2, tree.nodes.shape[1]), np.int32)
        num_nodes = subtree_size(tree, b, edge, scratch)
        num_edges = min(num_nodes * self.game.num_actions + 1, tree.edges.shape[1])
        kept = allocate(1, num_nodes, num_edges, tree.columns)
        copy_subtree(tree, b, edge, kept, scratch)
        array: npt.NDArray[Any]
        for name, array in kept._asdict().items():
            if name not in ("slots", "stream"):
                getattr(tree, name)[b, ...][tuple(map(slice, array.shape[1:]))] = array[0]
        tree.slots[b] = -1
        fill_slots(tree, b)
        self._place_root(b, state)

    def set_stream(self, b: int, stream: int) -> None:
        """Give the next simulations in tree b a new stream of random numbers."""
        self.tree.stream[b] = stream

    def _place_root(self, b: int, state: S) -> None:
        self.roots[b] = state
        if isinstance(self.game, CompiledGame):
            pack(state, self._packed_roots[b])  # type: ignore[arg-type]  # a NamedTuple of integers

    def root_edges(self, b: int) -> slice:
        """The edges of the root of tree b; none before its first simulation."""
        first, last = self.tree.first_edge[b, :2] if self.tree.size[b] else (0, 0)
        return slice(int(first), int(last))

    def has_edges(self, b: int, edge: int) -> bool:
        """Whether an edge of tree b leads to a node from which a search can go on: planted, and not by lookahead."""
        child = self.tree.child[b, edge]
        return bool(child >= 0 and self.tree.first_edge[b, child] < self.tree.first_edge[b, child + 1])

    def is_proven(self, b: int) -> bool:
        """Whether the value of the root of tree b is proven, so that there is nothing left to search."""
        return bool(self.tree.plies[b, 0] >= 0)

    def image(self, state: S) -> S:
        """What stands below the root for a state: the state itself, or, with symmetries, its canonical image."""
        image: S = canonical(self._rules, state) if self.options.transpositions == "symmetries" else state
        return image

    def seconds_to_enlarge(self, b: int, num_simulations: int) -> float:
        """About how long enlarging the trees takes, if so many simulations in tree b need it; else 0."""
        if has_room(self.tree, b, num_simulations, self.game.num_actions):
            return 0.0
        return 2 * len(self.tree.nodes[b]) * self._seconds_per_node

    def simulations_to_settle(self, b: int, num_visits: int) -> int:
        """How many simulations it takes at least until no other action can become the most visited by `num_visits`.

        0 when that is so already, or nothing is left to search. A proof may still change the choice meanwhile.
        """
        edges = self.root_edges(b)
        left = num_visits - int(self.tree.visits[b, 0])
        visits = np.sort(self.tree.visits[b, edges][self.tree.proven[b, edges] == 0])[::-1]
        if left <= 0 or self.is_proven(b):
            return 0
        if self.tree.floor[b, 0] > -1:  # what is proven competes by its value
            return left
        lead = int(visits[0] - visits[1]) if len(visits) > 1 else left + 1
        return 0 if lead > left else (left - lead) // 2 + 1

    def simulate(self, trees: IntArray) -> None:
        """The stepped driver: one simulation in each of these trees, int32[M], all different.

        The first one of a tree evaluates its root; its visits (`tree.visits[b, 0]`) are then 1.
        """
        self._plant(trees, self._evaluate(self._find_leaves(trees, batched=False)))

    def simulate_leaves(self, b: int, num_leaves: int) -> None:
        """Up to so many simulations in tree b, at least one, with one call of the evaluator for their leaves.

        Those before it in the batch count as lost until they are evaluated; the batch ends early where a simulation
        comes to a leaf that is in it already.
        """
        while not has_room(self.tree, b, num_leaves, self.game.num_actions):
            self._enlarge()
        trees = np.full(num_leaves, b, np.int32)
        self._leaves.depth[:] = 0
        try:
            batch = self._find_leaves(trees, batched=True)
            evaluation = self._evaluate(batch)
        finally:
            forget_leaves(self.tree, b, self._leaves)
        self._plant(trees[: np.count_nonzero(self._leaves.depth)], evaluation)

    def grow(self, b: int, num_visits: int) -> None:
        """Simulate in tree b until its root has `num_visits` or is proven, by the fused driver where that can be."""
        fused = isinstance(self.game, CompiledGame) and isinstance(self.evaluator, RolloutEvaluator)
        if fused and self.options.leaves == 1:
            self._grow_fused(b, num_visits)
            return
        trees = np.array([b], np.int32)
        while (visits := int(self.tree.visits[b, 0])) < num_visits and not self.is_proven(b):
            num_leaves = min(self.options.leaves, num_visits - visits)
            if num_leaves == 1 or visits == 0:
                self.simulate(trees)
            else:
                self.simulate_leaves(b, num_leaves)

    def _grow_fused(self, b: int, num_visits: int) -> None:
        evaluator: Any = self.evaluator
        leaves, num_actions = self._leaves, self.game.num_actions
        scratch = (leaves.path[0], leaves.row[0], np.zeros((NUM_BUFFERS + 1, num_actions), np.int32))
        start = Start(self._rules, self._lookahead, unpack(self._like, self._packed_roots[b]))
        traced = leaves.played.size > 0
        rollouts = (TracingPolicy(evaluator.policy) if traced else evaluator.policy, evaluator.num_rollouts)
        chunk = 1 + _CHUNK // evaluator.num_rollouts
        while (visits := int(self.tree.visits[b, 0])) < num_visits and not self.is_proven(b):
            goal = min(num_visits, visits + chunk)
            self.num_evaluations += grow_fused(self.tree, b, goal, self._spec, rollouts, start, scratch)
            if not has_room(self.tree, b, 1, num_actions):
                self._enlarge()

    def _enlarge(self) -> None:
        """Make twice the room in all trees, each of which can always take one node more."""
        start = time.perf_counter()
        self.tree = enlarged(self.tree, 2 * self.tree.nodes.shape[1], 2 * self.tree.edges.shape[1])
        for b in range(len(self.tree.size)):
            fill_slots(self.tree, b)
        if self.tree.size.max() > _MANY_NODES:
            self._seconds_per_node = (time.perf_counter() - start) / self.tree.nodes.shape[1]

    def _find_leaves(self, trees: IntArray, batched: bool) -> StateBatch[S]:
        """Descend in these trees; returns those leaves that are to be evaluated."""
        game, leaves = self.game, self._leaves
        legal = np.zeros((len(trees), game.num_actions), np.bool_)
        leaves.asks[:], leaves.played[:] = 0, 0
        if isinstance(game, CompiledGame):
            streams = np.empty(len(trees), np.int64)
            rows = np.empty((len(trees), self._packed_roots.shape[1]), np.int64)
            starts = (game.rules, self._lookahead, self._like, self._packed_roots)
            num = find_packed(self.tree, trees, self._spec, starts, leaves, (rows, legal, streams), batched)
            return self._batch(PackedStates(self._like, rows[:num]), legal[:num], streams[:num])
        states: list[S] = []
        for slot, b in enumerate(trees):
            start = Start(self._rules, self._lookahead, self.roots[b])
            states.append(find_leaf(self.tree, b, slot, self._spec, start, leaves, batched))
            if leaves.asks[slot] < 0:
                break
            legal[slot, leaves.actions[slot, : leaves.num_legal[slot]]] = True
        asking = np.flatnonzero(leaves.asks[: len(states)] > 0)
        return self._batch([states[slot] for slot in asking], legal[asking], leaves.stream[asking])

    def _batch(
        self, states: Sequence[S], legal: npt.NDArray[np.bool_], streams: npt.NDArray[np.int64]
    ) -> StateBatch[S]:
        num_played = self._leaves.played.shape[2]
        played = np.zeros((len(states), 2, num_played), np.int32) if num_played else None
        return StateBatch(self.game, states, legal, streams, played)

    def _evaluate(self, batch: StateBatch[S]) -> Evaluation:
        if not len(batch):
            return _NOTHING
        self.num_evaluations += len(batch)
        evaluation = checked(self.evaluator, batch)
        if batch.played is not None:
            self._leaves.played[np.flatnonzero(self._leaves.asks > 0)] = batch.played
        return evaluation

    def _plant(self, trees: IntArray, evaluation: Evaluation) -> None:
        if not plant_leaves(self.tree, trees, self._spec, self._leaves, evaluation):
            self._enlarge()


def _check_amaf(evaluator: Evaluator, options: SearchOptions) -> None:
    """Raises ValueError where RAVE makes no sense."""
    if not isinstance(evaluator, RolloutEvaluator) or evaluator.num_rollouts != 1:
        raise ValueError("RAVE learns from the actions of rollouts, so it needs a RolloutEvaluator with num_rollouts=1")
    if options.transpositions == "symmetries":
        raise ValueError("RAVE needs actions that keep their meaning, and mirror images change it: share states only")
