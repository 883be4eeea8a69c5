"""B trees of one game, searched side by side by either of two drivers on the same kernels.

The stepped driver serves every game and evaluator: each call advances many trees by one simulation, with one call of
the evaluator. The fused driver, for compiled rules with rollouts, is one compiled loop over one tree. Both plant the
same tree, node by node, whatever else is searched beside it: all randomness comes from (stream, visits of the root).
"""

from collections.abc import Hashable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from azero._jit import compilable, draw, kernel, pack, unpack
from azero.evaluators.evaluator import Evaluator, checked
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


class _Leaves(NamedTuple):
    """What the B trees' current leaves are, once `_describe_leaf` has seen them."""

    path: IntArray  # int32[B, D]: the edges from the root to the leaf
    depth: IntArray  # int32[B]: how many
    actions: IntArray  # int32[B, A]: the legal actions
    num_legal: IntArray  # int32[B]
    player: IntArray  # int32[B]
    value: npt.NDArray[np.float32]  # float32[B]: the outcome of a finished game, then the evaluator's value
    row: npt.NDArray[np.int64]  # int64[B, fields]: the packed state; no fields for a game in plain Python
    stream: npt.NDArray[np.int64]  # int64[B]: the randomness of this simulation


class Forest(Generic[S]):
    """Search trees of one game."""

    def __init__(self, game: Game[S], evaluator: Evaluator, rule: Any, num_trees: int = 1) -> None:
        """`rule` is UCT(...) or PUCT(...)."""
        self.game = game
        self.evaluator = evaluator
        self.rule = rule
        self.tree = allocate(num_trees, _FIRST_NODES, _FIRST_NODES * game.num_actions + 1)
        self.num_evaluations = 0
        self._rules = game.rules if isinstance(game, CompiledGame) else PlainRules(game)
        self._like = game.initial_state()
        self.roots: list[S] = [self._like] * num_trees
        self._streams = np.zeros(num_trees, np.int64)
        num_fields = len(self._like) if isinstance(game, CompiledGame) else 0  # type: ignore[arg-type]  # a NamedTuple
        self._root_rows = np.zeros((num_trees, num_fields), np.int64)
        ints = np.zeros((3, num_trees), np.int32)
        self._leaves = _Leaves(
            path=np.zeros((num_trees, game.max_game_length + 1), np.int32),
            depth=ints[0],
            actions=np.zeros((num_trees, game.num_actions), np.int32),
            num_legal=ints[1],
            player=ints[2],
            value=np.zeros(num_trees, np.float32),
            row=np.zeros_like(self._root_rows),
            stream=np.zeros(num_trees, np.int64),
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
        self._streams[b] = stream

    def _place_root(self, b: int, state: S) -> None:
        self.roots[b] = state
        if isinstance(self.game, CompiledGame):
            pack(state, self._root_rows[b])  # type: ignore[arg-type]  # a NamedTuple of integers

    def root_edges(self, b: int) -> slice:
        """The edges of the root of tree b; none before its first simulation."""
        first, last = self.tree.first_edge[b, :2] if self.tree.size[b] else (0, 0)
        return slice(int(first), int(last))

    def simulate(self, trees: IntArray) -> None:
        """The stepped driver: one simulation in each of these trees, int32[M].

        The first one of a tree evaluates its root; its visits (`tree.visits[b, 0]`) are then 1.
        """
        self._reserve()
        leaves = self._leaves
        _select_leaves(self.tree, self.rule, trees, self._streams, leaves)
        states = self._describe_leaves(trees)
        unknown = np.flatnonzero(leaves.num_legal[trees] > 0)
        policy = np.empty((len(trees), self.game.num_actions), np.float32)
        if len(unknown):
            legal = np.zeros((len(trees), self.game.num_actions), np.bool_)
            _mark_legal(trees, leaves, legal)
            batch = StateBatch(self.game, states, legal, leaves.stream[trees]).take(unknown)
            policy[unknown], leaves.value[trees[unknown]] = checked(self.evaluator, batch)
            self.num_evaluations += len(unknown)
        _plant_leaves(self.tree, trees, leaves, policy)

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
            self._reserve()
            self.num_evaluations += _grow_fused(
                self.tree,
                b,
                num_visits,
                (self.rule, self._rules, evaluator.policy, evaluator.num_rollouts),
                unpack(self._like, self._root_rows[b]),
                int(self._streams[b]),
                self._leaves.path[b],
                buffers,
            )

    def _reserve(self) -> None:
        """Make room for at least one more node in each tree."""
        tree = self.tree
        num_nodes, num_edges = tree.player.shape[1], tree.child.shape[1]
        ends = np.take_along_axis(tree.first_edge, tree.size[:, None], axis=1)
        if tree.size.max() + 1 >= num_nodes or ends.max() + self.game.num_actions >= num_edges:
            self.tree = enlarged(tree, 2 * num_nodes, 2 * num_edges)

    def _describe_leaves(self, trees: IntArray) -> Sequence[S]:
        leaves = self._leaves
        if isinstance(self.game, CompiledGame):
            _describe_rows(self._rules, self._like, self._root_rows, self.tree, trees, leaves)
            return PackedStates(self._like, leaves.row[trees])
        states = []
        for b in trees:
            path = leaves.path[b, : leaves.depth[b]]
            state, leaves.num_legal[b], leaves.player[b], leaves.value[b] = _describe_leaf(
                self._rules, self.roots[b], self.tree, b, path, leaves.actions[b]
            )
            states.append(state)
        return states


@compilable
def _describe_leaf(rules: Any, root: Any, tree: Tree, b: int, path: Any, actions: Any) -> Any:
    """Replay a path from the root's state: the state it leads to, its legal actions (written into `actions`) and how
    many they are, the player to move, and the outcome of a finished game for that player.
    """
    state = root
    for edge in path[1:]:
        state = step(rules, state, int(tree.action[b, edge]))
    num_legal = write_legal_actions(rules, state, actions)
    value = outcome(rules, state) if num_legal == 0 else 0.0
    return state, num_legal, current_player(rules, state), value


@kernel
def _select_leaves(tree: Tree, rule: Any, trees: Any, root_streams: Any, leaves: _Leaves) -> None:
    for b in trees:
        leaves.stream[b] = draw(root_streams[b], tree.visits[b, 0])
        leaves.depth[b] = select(tree, b, rule, leaves.path[b])


@kernel
def _describe_rows(rules: Any, like: Any, root_rows: Any, tree: Tree, trees: Any, leaves: _Leaves) -> None:
    for b in trees:
        state, leaves.num_legal[b], leaves.player[b], leaves.value[b] = _describe_leaf(
            rules, unpack(like, root_rows[b]), tree, b, leaves.path[b, : leaves.depth[b]], leaves.actions[b]
        )
        pack(state, leaves.row[b])


@kernel
def _mark_legal(trees: Any, leaves: _Leaves, legal: Any) -> None:
    for i in range(len(trees)):
        for action in leaves.actions[trees[i], : leaves.num_legal[trees[i]]]:
            legal[i, action] = True


@kernel
def _plant_leaves(tree: Tree, trees: Any, leaves: _Leaves, policy: Any) -> None:
    for i in range(len(trees)):
        b = trees[i]
        path = leaves.path[b, : leaves.depth[b]]
        node = tree.child[b, path[-1]]
        if node < 0:
            actions = leaves.actions[b, : leaves.num_legal[b]]
            node = expand(tree, b, path[-1], leaves.player[b], leaves.value[b], actions, leaves.stream[b])
            for edge in range(tree.first_edge[b, node], tree.first_edge[b, node + 1]):
                tree.prior[b, edge] = policy[i, tree.action[b, edge]]
        backup(tree, b, path, tree.value[b, node], tree.player[b, node])


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
            state, num_legal, player, value = _describe_leaf(rules, root, tree, b, path[:depth], buffers[-1])
            if num_legal > 0:
                value = mean_rollout(policy, rules, state, stream, num_rollouts, buffers)
                num_evaluations += 1
            node = expand(tree, b, edge, player, value, buffers[-1, :num_legal], stream)
        backup(tree, b, path[:depth], tree.value[b, node], tree.player[b, node])
    return num_evaluations


@compilable
def _has_room(tree: Tree, b: int, num_actions: int) -> bool:
    size = tree.size[b]
    return bool(size + 1 < tree.player.shape[1] and tree.first_edge[b, size] + num_actions < tree.child.shape[1])
