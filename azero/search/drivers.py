"""The compiled parts of the two drivers: find the leaves of many trees, plant them; or all of it in one loop."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from azero._jit import compilable, draw, kernel, pack, unpack
from azero.evaluators.evaluator import Evaluation
from azero.evaluators.rollout import FIRST_TRACE, NUM_BUFFERS, mean_rollout
from azero.games.compiled import current_player, outcome, write_legal_actions
from azero.search.kernels import (
    arrange_edges,
    backup,
    begin_path,
    credit_actions,
    expand,
    note_planted,
    prove,
    select,
    suppose_loss,
)
from azero.search.lookahead import look_ahead
from azero.search.transpositions import find, link, remember, step_in_tree
from azero.search.tree import PENDING, UNPLANTED, IntArray, Tree


class Leaves(NamedTuple):
    """What a call of the stepped driver finds out about its M leaves."""

    stream: npt.NDArray[np.int64]  # int64[M]: the randomness of the simulation
    path: IntArray  # int32[M, D]: the edges from the root to the leaf
    depth: IntArray  # int32[M]: how many
    asks: IntArray  # int32[M]: 1 if it is to be evaluated, 0 if its value is known, -1 if it is pending already
    row: npt.NDArray[np.int64]  # int64[M, F + 1]: its packed state and place in the hash table, with transpositions
    actions: IntArray  # int32[M, A]: the legal actions
    num_legal: IntArray  # int32[M]; 0 as well where the value is known
    player: IntArray  # int32[M]
    plies: IntArray  # int32[M]: to the end of the game, where the value is known; else -1
    value: npt.NDArray[np.float32]  # float32[M]: where it is known; else 0
    played: IntArray  # int32[M, 2, A]: the actions of the rollout, with RAVE


class Spec(NamedTuple):
    """How is searched, for the kernels."""

    rule: Any
    sharing: Any
    proven_values: bool


class Start(NamedTuple):
    """Where a search begins."""

    rules: Any
    lookahead: Any
    state: Any  # of the root


@compilable
def _select_leaf(tree: Tree, b: int, spec: Spec, start: Start, path: Any, row: Any) -> Any:
    """Select a leaf by one simulation; returns the length of `path` and, unless its value is known, the state."""
    rule, sharing = spec.rule, spec.sharing
    rules, state = start.rules, start.state
    depth, followed = begin_path(rule, tree, b, path), 1
    while True:
        depth = select(tree, b, rule, sharing, path, depth)
        leaf = tree.edges[b, path[depth - 1]]["child"]
        if leaf == PENDING or (leaf >= 0 and tree.nodes[b, leaf]["plies"] >= 0):
            return depth, state
        for i in range(followed, depth):
            action = 0 + int(tree.edges[b, path[i]]["action"])  # signed, as everywhere: rules may negate it
            state = step_in_tree(sharing, rules, state, action)
        followed = depth
        if not link(sharing, rules, tree, b, path[:depth], state, row):
            return depth, state


@compilable
def find_leaf(tree: Tree, b: int, slot: int, spec: Spec, start: Start, leaves: Leaves, batched: bool) -> Any:
    """Select a leaf of tree b; what is to be known of it goes into its slot of `leaves`. Returns its state."""
    leaves.stream[slot] = draw(tree.stream[b], tree.edges[b, 0]["visits"])
    depth, state = _select_leaf(tree, b, spec, start, leaves.path[slot], leaves.row[slot])
    edge = leaves.path[slot, depth - 1]
    leaf = tree.edges[b, edge]["child"]
    leaves.asks[slot], leaves.num_legal[slot] = 0, 0
    if leaf == PENDING:
        leaves.asks[slot] = -1
        return state
    if leaf == UNPLANTED or tree.nodes[b, leaf]["plies"] < 0:
        num_legal, value, plies = _known_value(start, state, depth, leaves.actions[slot])
        leaves.num_legal[slot], leaves.value[slot], leaves.plies[slot] = num_legal, value, plies
        leaves.asks[slot] = 1 if plies < 0 else 0
        leaves.player[slot] = current_player(start.rules, state)
    if batched:
        suppose_loss(tree, b, leaves.path[slot, :depth], 1)
        if leaf == UNPLANTED:
            tree.edges[b, edge]["child"] = PENDING
    leaves.depth[slot] = depth
    return state


@compilable
def _known_value(start: Start, state: Any, depth: int, actions: Any) -> tuple[int, float, int]:
    """The legal actions of a leaf, where it has to be evaluated; else its value, and the plies to the end of the game.

    Returns how many `actions` there are, the value, and the plies; -1 if it is to be evaluated. The root has
    to be, for its actions are what is asked for.
    """
    rules = start.rules
    num_legal = write_legal_actions(rules, state, actions)
    if num_legal == 0:
        return 0, float(np.float32(outcome(rules, state))), 0
    if depth > 1:
        value, plies = look_ahead(start.lookahead, rules, state, actions[:num_legal])
        if plies >= 0:
            return 0, value, plies
    return num_legal, 0.0, -1


@kernel
def find_packed(tree: Tree, trees: Any, spec: Spec, starts: Any, leaves: Leaves, found: Any, batched: bool) -> int:
    """Descend in these trees and write the leaves to be evaluated side by side; returns how many they are."""
    rules, lookahead, like, packed = starts
    rows, legal, streams = found
    num_asking = 0
    for slot in range(len(trees)):
        b = trees[slot]
        start = Start(rules, lookahead, unpack(like, packed[b]))
        state = find_leaf(tree, b, slot, spec, start, leaves, batched)
        if leaves.asks[slot] < 0:
            break
        if leaves.asks[slot] > 0:
            pack(state, rows[num_asking])
            streams[num_asking] = leaves.stream[slot]
            for action in leaves.actions[slot, : leaves.num_legal[slot]]:
                legal[num_asking, action] = True
            num_asking += 1
    return num_asking


@kernel
def forget_leaves(tree: Tree, b: int, leaves: Leaves) -> None:
    """Undo what finding the leaves of a batch did to tree b."""
    for slot in range(len(leaves.depth)):
        depth = leaves.depth[slot]
        if depth > 0:
            suppose_loss(tree, b, leaves.path[slot, :depth], -1)
            edge = leaves.path[slot, depth - 1]
            if tree.edges[b, edge]["child"] == PENDING:
                tree.edges[b, edge]["child"] = UNPLANTED


@kernel
def plant_leaves(tree: Tree, trees: Any, spec: Spec, leaves: Leaves, answers: Evaluation) -> bool:
    """Plant the new leaves and back all of them up; returns whether each tree has room for another node."""
    policy, values = answers
    have_room = True
    i = 0  # in the evaluator's answers
    for slot in range(len(trees)):
        b = trees[slot]
        path, stream = leaves.path[slot, : leaves.depth[slot]], leaves.stream[slot]
        value = values[i] if leaves.asks[slot] > 0 else leaves.value[slot]
        node = tree.edges[b, path[-1]]["child"]
        if node < 0:  # in a batch another edge to the same state may just have planted it
            node = find(spec.sharing, tree, b, leaves.row[slot])
            tree.edges[b, path[-1]]["child"] = node
        if node < 0:
            actions = leaves.actions[slot, : leaves.num_legal[slot]]
            node = expand(tree, b, path[-1], leaves.player[slot], value, leaves.plies[slot], actions, stream)
            for edge in range(tree.nodes[b, node]["first_edge"], tree.nodes[b, node + 1]["first_edge"]):
                tree.edges[b, edge]["prior"] = policy[i, tree.edges[b, edge]["action"]]
            _settle_in(tree, b, spec, path, leaves.row[slot], stream)
            have_room = have_room and has_room(tree, b, 1, leaves.actions.shape[1])
        i += leaves.asks[slot]
        _back_up(tree, b, spec, path, value, leaves.played[slot])
    return have_room


@kernel
def grow_fused(tree: Tree, b: int, num_visits: int, spec: Spec, rollouts: Any, start: Start, scratch: Any) -> int:
    """Simulate until the root has `num_visits` or is proven, or the room is used up; returns the number of rollouts."""
    rules = start.rules
    policy, num_rollouts = rollouts
    path, row, buffers = scratch
    num_evaluations = 0
    while (
        tree.edges[b, 0]["visits"] < num_visits
        and tree.nodes[b, 0]["plies"] < 0
        and has_room(tree, b, 1, buffers.shape[1])
    ):
        stream = draw(tree.stream[b], tree.edges[b, 0]["visits"])
        depth, state = _select_leaf(tree, b, spec, start, path, row)
        edge = path[depth - 1]
        node = tree.edges[b, edge]["child"]
        value = 0.0
        played = buffers[FIRST_TRACE:NUM_BUFFERS]
        if node < 0 or tree.nodes[b, node]["plies"] < 0:
            num_legal, value, plies = _known_value(start, state, depth, buffers[-1])
            if plies < 0:  # simulate
                value = float(np.float32(mean_rollout(policy, rules, state, stream, num_rollouts, buffers)))
                num_evaluations += 1
            if node < 0:  # expand
                player = current_player(rules, state)
                node = expand(tree, b, edge, player, value, plies, buffers[-1, :num_legal], stream)
                _settle_in(tree, b, spec, path[:depth], row, stream)
        _back_up(tree, b, spec, path[:depth], value, played)
    return num_evaluations


@compilable
def _settle_in(tree: Tree, b: int, spec: Spec, path: Any, row: Any, stream: int) -> None:
    """What else is to be done for the node at the end of the path, which was just planted."""
    node = tree.edges[b, path[-1]]["child"]
    note_planted(spec.rule, tree, b, path)
    remember(spec.sharing, tree, b, node, row)
    arrange_edges(spec.rule, tree, b, node, stream)


@compilable
def _back_up(tree: Tree, b: int, spec: Spec, path: Any, value: float, played: Any) -> None:
    """What every simulation ends with: the value of the leaf at the end of the path, for all on the way."""
    leaf = tree.edges[b, path[-1]]["child"]
    if tree.nodes[b, leaf]["plies"] >= 0:
        value = tree.nodes[b, leaf]["value"]
        if spec.proven_values:
            prove(tree, b, path)
    credit_actions(spec.rule, tree, b, path, value, played)
    backup(tree, b, spec.sharing, path, value)


@compilable
def has_room(tree: Tree, b: int, num_nodes: int, num_actions: int) -> bool:
    """For so many nodes more."""
    size = tree.size[b]
    return bool(
        size + num_nodes < tree.nodes.shape[1] - 1
        and tree.nodes[b, size]["first_edge"] + num_nodes * num_actions < tree.edges.shape[1]
    )
