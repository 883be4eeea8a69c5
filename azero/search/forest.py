"""B trees of one game, searched side by side by either of two drivers on the same kernels.

The stepped driver serves every game and evaluator: each call advances many trees by one simulation, with one call of
the evaluator. The fused driver, for compiled rules with rollouts, is one compiled loop over one tree. Both plant the
same tree, node by node, whatever else is searched beside it: all randomness comes from (stream, visits of the root).
"""

from collections.abc import Hashable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from azero._jit import compilable, draw, kernel, pack, unpack
from azero.evaluators.evaluator import Evaluation, Evaluator, checked
from azero.evaluators.rollout import NUM_BUFFERS, PlainRules, RolloutEvaluator, mean_rollout
from azero.games.batch import StateBatch
from azero.games.compiled import (
    CompiledGame,
    PackedStates,
    current_player,
    outcome,
    step,
    write_legal_actions,
)
from azero.games.game import Game
from azero.search.kernels import backup, expand, keep_subtree, select
from azero.search.tree import IntArray, Tree, allocate, clear, enlarged

S = TypeVar("S", bound=Hashable)

_FIRST_NODES = 64  # room in a new tree; it doubles when needed
_NOTHING = Evaluation(np.empty((0, 0), np.float32), np.empty(0, np.float32))  # where all leaves are finished games


class _Leaves(NamedTuple):
    """What the B searches start from, and what `_describe_leaf` has found out about their current leaves."""

    root: npt.NDArray[np.int64]  # int64[B, fields]: the packed state; no fields for a game in plain Python
    root_stream: npt.NDArray[np.int64]  # int64[B]: the randomness of the search
    stream: npt.NDArray[np.int64]  # int64[B]: that of the current simulation
    path: IntArray  # int32[B, D]: the edges from the root to the leaf
    depth: IntArray  # int32[B]: how many
    actions: IntArray  # int32[B, A]: the legal actions
    num_legal: IntArray  # int32[B]
    player: IntArray  # int32[B]
    outcome: npt.NDArray[np.float32]  # float32[B]: of a finished game; 0 for others


class Forest(Generic[S]):
    """Search trees of one game."""

    def __init__(self, game: Game[S], evaluator: Evaluator, rule: Any, num_trees: int = 1) -> None:
        """`rule` is UCT(...) or PUCT(...)."""
        if not hasattr(evaluator, "evaluate"):
            raise TypeError(
                f"an evaluator has a method evaluate, {evaluator!r} has none; ScriptedEvaluator wraps a function"
            )
        if isinstance(rule, type):
            raise TypeError(f"a selection rule is needed, not its class: {rule.__name__}() instead of {rule.__name__}")
        self.game = game
        self.evaluator = evaluator
        self.rule = rule
        self.tree = allocate(num_trees, _FIRST_NODES, _FIRST_NODES * game.num_actions + 1)
        self.num_evaluations = 0
        self._rules = game.rules if isinstance(game, CompiledGame) else PlainRules(game)
        self._like = game.initial_state()
        self.roots: list[S] = [self._like] * num_trees
        num_fields = len(self._like) if isinstance(game, CompiledGame) else 0  # type: ignore[arg-type]  # a NamedTuple
        longs, ints = np.zeros((2, num_trees), np.int64), np.zeros((3, num_trees), np.int32)
        self._leaves = _Leaves(
            root=np.zeros((num_trees, num_fields), np.int64),
            root_stream=longs[0],
            stream=longs[1],
            path=np.zeros((num_trees, game.max_game_length + 1), np.int32),
            depth=ints[0],
            actions=np.zeros((num_trees, game.num_actions), np.int32),
            num_legal=ints[1],
            player=ints[2],
            outcome=np.zeros(num_trees, np.float32),
        )

    def set_root(self, b: int, state: S, stream: int) -> None:
        """Empty tree b and make `state`, which must not be terminal, its root; `stream` is the search's randomness."""
        clear(self.tree, b)
        self._place_root(b, state)
        self.set_stream(b, stream)

    def keep_subtree(self, b: int, edge: int, state: S) -> None:
        """Keep of tree b what is below `edge` of the root, which leads to the evaluated state `state`."""
        keep_subtree(self.tree, b, edge, np.empty(self.tree.player.shape[1], np.int32))
        self._place_root(b, state)

    def set_stream(self, b: int, stream: int) -> None:
        """Give the next simulations in tree b a new stream of random numbers."""
        self._leaves.root_stream[b] = stream

    def _place_root(self, b: int, state: S) -> None:
        self.roots[b] = state
        if isinstance(self.game, CompiledGame):
            pack(state, self._leaves.root[b])  # type: ignore[arg-type]  # a NamedTuple of integers

    def root_edges(self, b: int) -> slice:
        """The edges of the root of tree b; none before its first simulation."""
        first, last = self.tree.first_edge[b, :2] if self.tree.size[b] else (0, 0)
        return slice(int(first), int(last))

    def simulate(self, trees: IntArray) -> None:
        """The stepped driver: one simulation in each of these trees, int32[M].

        The first one of a tree evaluates its root; its visits (`tree.visits[b, 0]`) are then 1.
        """
        batch = self._find_leaves(trees)
        evaluation = checked(self.evaluator, batch) if len(batch) else _NOTHING
        self.num_evaluations += len(batch)
        if not _plant_leaves(self.tree, trees, self._leaves, evaluation):
            self._enlarge()

    def grow(self, b: int, num_visits: int) -> None:
        """Simulate in tree b until its root has `num_visits`, by the fused driver if the game and evaluator allow."""
        if not (isinstance(self.game, CompiledGame) and isinstance(self.evaluator, RolloutEvaluator)):
            trees = np.array([b], np.int32)
            while self.tree.visits[b, 0] < num_visits:
                self.simulate(trees)
            return
        evaluator = self.evaluator
        buffers = np.empty((NUM_BUFFERS + 1, self.game.num_actions), np.int32)
        while self.tree.visits[b, 0] < num_visits:
            self.num_evaluations += _grow_fused(
                self.tree,
                b,
                num_visits,
                (self.rule, self._rules, evaluator.policy, evaluator.num_rollouts),
                unpack(self._like, self._leaves.root[b]),
                int(self._leaves.root_stream[b]),
                self._leaves.path[b],
                buffers,
            )
            if not _has_room(self.tree, b, self.game.num_actions):
                self._enlarge()

    def _enlarge(self) -> None:
        """Make room in all trees, each of which can always take one more node."""
        self.tree = enlarged(self.tree, 2 * self.tree.player.shape[1], 2 * self.tree.child.shape[1])

    def _find_leaves(self, trees: IntArray) -> StateBatch[S]:
        """Descend in these trees; returns those leaves that are to be evaluated."""
        game, leaves = self.game, self._leaves
        legal = np.zeros((len(trees), game.num_actions), np.bool_)
        if isinstance(game, CompiledGame):
            streams, rows = np.empty(len(trees), np.int64), np.empty((len(trees), leaves.root.shape[1]), np.int64)
            spec, found = (self.rule, self._rules, self._like), (rows, legal, streams)
            num = _find_packed(self.tree, spec, trees, leaves, found)
            return StateBatch(game, PackedStates(self._like, rows[:num]), legal[:num], streams[:num])
        _select_leaves(self.tree, self.rule, trees, leaves)
        states = [_describe_leaf(self._rules, self.roots[b], self.tree, b, leaves) for b in trees]
        for mask, b in zip(legal, trees, strict=True):
            mask[leaves.actions[b, : leaves.num_legal[b]]] = True
        return StateBatch(game, states, legal, leaves.stream[trees]).take(np.flatnonzero(leaves.num_legal[trees]))


@compilable
def _state_at(rules: Any, root: Any, tree: Tree, b: int, path: Any) -> Any:
    """The state that a path leads to, by the actions on it."""
    state = root
    for edge in path[1:]:
        state = step(rules, state, int(tree.action[b, edge]))
    return state


@compilable
def _describe_leaf(rules: Any, root: Any, tree: Tree, b: int, leaves: _Leaves) -> Any:
    """The state of the leaf that was selected in tree b; what else is to be known of it goes into `leaves`."""
    state = _state_at(rules, root, tree, b, leaves.path[b, : leaves.depth[b]])
    leaves.num_legal[b] = write_legal_actions(rules, state, leaves.actions[b])
    leaves.outcome[b] = outcome(rules, state) if leaves.num_legal[b] == 0 else 0.0
    leaves.player[b] = current_player(rules, state)
    return state


@compilable
def _select_leaf(tree: Tree, rule: Any, b: int, leaves: _Leaves) -> None:
    leaves.stream[b] = draw(leaves.root_stream[b], tree.visits[b, 0])
    leaves.depth[b] = select(tree, b, rule, leaves.path[b])


@kernel
def _select_leaves(tree: Tree, rule: Any, trees: Any, leaves: _Leaves) -> None:
    for b in trees:
        _select_leaf(tree, rule, b, leaves)


@kernel
def _find_packed(tree: Tree, spec: Any, trees: Any, leaves: _Leaves, found: Any) -> int:
    """Descend in these trees and write the leaves to be evaluated side by side; returns how many they are."""
    rule, rules, like = spec
    rows, legal, streams = found
    num_found = 0
    for b in trees:
        _select_leaf(tree, rule, b, leaves)
        state = _describe_leaf(rules, unpack(like, leaves.root[b]), tree, b, leaves)
        if leaves.num_legal[b] > 0:
            pack(state, rows[num_found])
            streams[num_found] = leaves.stream[b]
            for action in leaves.actions[b, : leaves.num_legal[b]]:
                legal[num_found, action] = True
            num_found += 1
    return num_found


@kernel
def _plant_leaves(tree: Tree, trees: Any, leaves: _Leaves, evaluation: Evaluation) -> bool:
    """Plant the new leaves and back all of them up; returns whether each tree has room for another node."""
    have_room = True
    i = 0  # in `evaluation`, which leaves out the finished games
    for b in trees:
        path, num_legal = leaves.path[b, : leaves.depth[b]], leaves.num_legal[b]
        node = tree.child[b, path[-1]]
        if node < 0:
            value = evaluation.value[i] if num_legal > 0 else leaves.outcome[b]
            node = expand(tree, b, path[-1], leaves.player[b], value, leaves.actions[b, :num_legal], leaves.stream[b])
            for edge in range(tree.first_edge[b, node], tree.first_edge[b, node + 1]):
                tree.prior[b, edge] = evaluation.policy[i, tree.action[b, edge]]
            have_room = have_room and _has_room(tree, b, leaves.actions.shape[1])
        if num_legal > 0:
            i += 1
        backup(tree, b, path, tree.value[b, node], tree.player[b, node])
    return have_room


@kernel
def _grow_fused(
    tree: Tree, b: int, num_visits: int, spec: Any, root: Any, root_stream: int, path: Any, buffers: Any
) -> int:
    """Simulate until the root has `num_visits` or the room is used up; returns the number of leaves evaluated."""
    rule, rules, policy, num_rollouts = spec
    num_evaluations = 0
    while tree.visits[b, 0] < num_visits and _has_room(tree, b, buffers.shape[1]):
        stream = draw(root_stream, tree.visits[b, 0])
        depth = select(tree, b, rule, path)
        edge = path[depth - 1]
        node = tree.child[b, edge]
        if node < 0:
            state = _state_at(rules, root, tree, b, path[:depth])
            num_legal = write_legal_actions(rules, state, buffers[-1])
            if num_legal > 0:
                value = mean_rollout(policy, rules, state, stream, num_rollouts, buffers)
                num_evaluations += 1
            else:
                value = outcome(rules, state)
            node = expand(tree, b, edge, current_player(rules, state), value, buffers[-1, :num_legal], stream)
        backup(tree, b, path[:depth], tree.value[b, node], tree.player[b, node])
    return num_evaluations


@compilable
def _has_room(tree: Tree, b: int, num_actions: int) -> bool:
    size = tree.size[b]
    return bool(size + 1 < tree.player.shape[1] and tree.first_edge[b, size] + num_actions < tree.child.shape[1])
