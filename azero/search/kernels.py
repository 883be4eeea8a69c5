"""The steps every search is made of, and what keeps a tree between moves.

Nothing here knows a game, an evaluator or a player. Values are always those of a named player; `backup` adds where the
chooser of an edge is that player and subtracts where it is the other, so passes and double moves need no special case.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from azero._jit import below, compilable, dispatched, draw, inlined, kernel
from azero.search.tree import MAX_PLIES, UNPLANTED, Tree

_FIRST_ACTION = 1 << 40  # a counter in a simulation's stream, beyond those of its rollouts


class Place(NamedTuple):
    """Where on its way down a simulation has to choose."""

    node: int
    first: int  # its edges are first ... last - 1; those that are proven are not to be chosen, one at least is not
    last: int
    num_visits: int  # of the node, its own evaluation included
    depth: int  # edges on the path so far; 1 at the root


@dispatched
def choose_edge(rule: Any, tree: Tree, b: int, place: Place, path: Any) -> int:
    """The edge to follow next, by the selection rule; `path` holds the edges from the root."""
    raise NotImplementedError


@dispatched
def edge_scores(rule: Any, tree: Tree, b: int, place: Place, path: Any) -> npt.NDArray[np.float64]:
    """What `choose_edge` compares, for people: the first edge with the largest is followed.

    float64[last - first]: infinite where the edge goes before all others, NaN where it is not to be chosen, or the rule
    chooses by other things.
    """
    return np.full(place.last - place.first, np.nan)


@dispatched
def explain_choice(rule: Any, tree: Tree, b: int, place: Place, path: Any) -> str:
    """What else there is to say, for people, of how `choose_edge` chooses here; empty: nothing."""
    return ""


@dispatched
def max_depth(rule: Any) -> int:
    """How many actions a simulation takes in the tree at most."""
    return 1 << 30


@dispatched
def begin_path(rule: Any, tree: Tree, b: int, path: Any) -> int:
    """Begin the path of a simulation with the edge to the root, or more; returns how many edges."""
    path[0] = 0
    return 1


@dispatched
def note_planted(rule: Any, tree: Tree, b: int, path: Any) -> None:
    """Learn that the node at the end of the path was just planted."""


@dispatched
def arrange_edges(rule: Any, tree: Tree, b: int, node: int, stream: int) -> None:
    """Put the edges of a node that was just planted, and knows its priors, into the order that the rule needs."""


@dispatched
def credit_actions(rule: Any, tree: Tree, b: int, path: Any, value: float, played: Any) -> None:
    """Learn from the actions that the players took in the rollout, int32[2, A] of 0 and 1; `value` is the leaf's."""


@dispatched
def node_visits(sharing: Any, tree: Tree, b: int, edge: int, node: int) -> int:
    """The visits of a node that was reached by an edge: in a tree no other leads to it."""
    return int(tree.edges[b, edge]["visits"])


@dispatched
def count_visit(sharing: Any, tree: Tree, b: int, edge: int, value: float, sign: int) -> None:
    """Count a simulation through an edge, worth `value` to the player to move below and sign times that to the other.

    `sign` is 1 if the edge's chooser is the player to move below, else -1.
    """
    tree.edges[b, edge]["visits"] += 1
    tree.edges[b, edge]["total"] += sign * value


@inlined
def select(tree: Tree, b: int, rule: Any, sharing: Any, path: Any, depth: int) -> int:
    """Descend from where the first `depth` edges of `path` lead to, adding the edges taken; returns the new depth.

    The last edge leads to no node yet (a leaf to evaluate and expand), to one that is proven, or as deep as the rule
    lets the tree grow.
    """
    edge = path[depth - 1]
    node = tree.edges[b, edge]["child"]
    while node >= 0 and tree.nodes[b, node]["plies"] < 0 and depth <= max_depth(rule):
        if depth == len(path):
            raise ValueError("a game went on beyond its max_game_length, or came back to an earlier state")
        first, last = tree.nodes[b, node]["first_edge"], tree.nodes[b, node + 1]["first_edge"]
        place = Place(node, first, last, node_visits(sharing, tree, b, edge, node), depth)
        edge = choose_edge(rule, tree, b, place, path)
        path[depth] = edge
        depth += 1
        node = tree.edges[b, edge]["child"]
    return depth


@compilable
def expand(tree: Tree, b: int, edge: int, player: int, value: float, plies: int, actions: Any, stream: int) -> int:
    """Plant the node that `edge` leads to, with one edge for each of `actions`; returns its number.

    The edges have equal priors and the order of the actions, from a random one round to the one before it: of equal
    edges a selection rule takes the first, which so is each of them equally often. Where `value` is proven, `plies`
    from the end of the game, no actions are needed; else `plies` is -1.
    """
    node: int = tree.size[b]
    tree.size[b] = node + 1
    tree.edges[b, edge]["child"] = node
    num_actions = len(actions)
    tree.nodes[b, node]["player"] = player
    tree.nodes[b, node]["value"] = value
    tree.nodes[b, node]["floor"] = -1.0
    tree.nodes[b, node]["plies"] = plies
    first = tree.nodes[b, node]["first_edge"]
    tree.nodes[b, node + 1]["first_edge"] = first + num_actions
    turn = below(draw(stream, _FIRST_ACTION), num_actions) if num_actions > 0 else 0
    for i in range(num_actions):
        turned = i + turn if i + turn < num_actions else i + turn - num_actions
        tree.edges[b, first + i]["total"] = 0.0
        tree.edges[b, first + i]["visits"] = 0
        tree.edges[b, first + i]["child"] = UNPLANTED
        tree.edges[b, first + i]["prior"] = 1.0 / num_actions
        tree.edges[b, first + i]["action"] = actions[turned]
        tree.edges[b, first + i]["proven"] = 0
    return node


@kernel
def prove(tree: Tree, b: int, path: Any) -> None:
    """Carry what is proven of the leaf up the path, as far as it proves anything (Winands, Bjornsson, Saito 2008).

    An action that wins proves its state won. A state all of whose actions are proven is worth the best of them; of
    wins the one that needs fewest plies counts, of other values the one that lasts longest. The first win found proves
    a state, so that plies are what the winner needs at most. Before that, the best proven action is a floor under the
    state's value: the lower of the two bounds of Cazenave, Saffidine 2010, to which `backup` raises values.
    """
    for i in range(len(path) - 1, 0, -1):
        node = tree.edges[b, path[i]]["child"]
        if tree.nodes[b, node]["plies"] < 0:
            return
        parent = tree.edges[b, path[i - 1]]["child"]
        tree.edges[b, path[i]]["proven"] = 1
        value = (
            tree.nodes[b, node]["value"]
            if tree.nodes[b, parent]["player"] == tree.nodes[b, node]["player"]
            else -tree.nodes[b, node]["value"]
        )
        tree.nodes[b, parent]["floor"] = max(value, tree.nodes[b, parent]["floor"])
        if tree.nodes[b, parent]["plies"] >= 0:
            continue
        if value >= 1:
            tree.nodes[b, parent]["value"] = value
            tree.nodes[b, parent]["plies"] = min(tree.nodes[b, node]["plies"] + 1, MAX_PLIES)
        else:
            _prove_by_all_actions(tree, b, parent)


@compilable
def _prove_by_all_actions(tree: Tree, b: int, node: int) -> None:
    floor, plies = tree.nodes[b, node]["floor"], -1
    for edge in range(tree.nodes[b, node]["first_edge"], tree.nodes[b, node + 1]["first_edge"]):
        if not tree.edges[b, edge]["proven"]:
            return
        child = tree.edges[b, edge]["child"]
        value = (
            tree.nodes[b, child]["value"]
            if tree.nodes[b, child]["player"] == tree.nodes[b, node]["player"]
            else -tree.nodes[b, child]["value"]
        )
        if value == floor:
            length = tree.nodes[b, child]["plies"]
            better = length < plies if floor > 0 else length > plies
            plies = length if plies < 0 or better else plies
    tree.nodes[b, node]["value"] = floor
    tree.nodes[b, node]["plies"] = min(plies + 1, MAX_PLIES)


@compilable
def backup(tree: Tree, b: int, sharing: Any, path: Any, value: float) -> None:
    """Count one simulation along the path and add `value`, the leaf's, from each chooser's point of view.

    On the way up a proven state has its proven value, and no state is worth less than its floor.
    """
    node = tree.edges[b, path[-1]]["child"]
    for i in range(len(path) - 1, -1, -1):
        parent = tree.edges[b, path[i - 1 if i > 0 else 0]]["child"]
        if tree.nodes[b, node]["plies"] >= 0:
            value = tree.nodes[b, node]["value"]
        elif value < tree.nodes[b, node]["floor"]:
            value = tree.nodes[b, node]["floor"]
        sign = 1 if tree.nodes[b, parent]["player"] == tree.nodes[b, node]["player"] else -1
        count_visit(sharing, tree, b, path[i], value, sign)
        value *= sign
        node = parent


@compilable
def suppose_loss(tree: Tree, b: int, path: Any, num_visits: int) -> None:
    """Count so many simulations along the path as lost for each chooser: 1 while its leaf is evaluated, -1 to undo it.

    The virtual loss of Chaslot, Winands, van den Herik 2008: it turns the next simulations of the batch elsewhere.
    """
    for edge in path:
        tree.edges[b, edge]["visits"] += num_visits
        tree.edges[b, edge]["total"] -= num_visits
        if tree.state.shape[1] > 0 and tree.edges[b, edge]["child"] >= 0:
            tree.nodes[b, tree.edges[b, edge]["child"]]["visits"] += num_visits


@kernel
def copy_subtree(tree: Tree, b: int, edge: int, target: Tree, order: Any) -> None:
    """Copy all that is below `edge` of the root into tree 0 of `target`, which is empty and large enough.

    Nodes are numbered anew in the order of their distance from the root. `order`, int32[2, N], is scratch: the old
    numbers by the new, and the new by the old.
    """
    old_number, new_number = order[0], order[1]
    new_number[: tree.size[b]] = -1
    root = tree.edges[b, edge]["child"]
    old_number[0], new_number[root] = root, 0
    target.edges[0, 0]["visits"], target.edges[0, 0]["child"] = tree.edges[b, edge]["visits"], 0
    sign = 1 if tree.nodes[b, root]["player"] == tree.nodes[b, 0]["player"] else -1
    target.edges[0, 0]["total"] = sign * tree.edges[b, edge]["total"]
    size, copied = 1, 0
    while copied < size:
        node = old_number[copied]
        _copy_node(tree, b, node, target, copied)
        first, shift = (
            tree.nodes[b, node]["first_edge"],
            target.nodes[0, copied]["first_edge"] - tree.nodes[b, node]["first_edge"],
        )
        for old in range(first, tree.nodes[b, node + 1]["first_edge"]):
            child = tree.edges[b, old]["child"]
            if child >= 0 and new_number[child] < 0:
                old_number[size], new_number[child] = child, size
                size += 1
            _copy_edge(tree, b, old, target, old + shift)
            target.edges[0, old + shift]["child"] = new_number[child] if child >= 0 else UNPLANTED
        target.nodes[0, copied + 1]["first_edge"] = tree.nodes[b, node + 1]["first_edge"] + shift
        copied += 1
    target.size[0] = size


@compilable
def _copy_node(tree: Tree, b: int, old: int, target: Tree, new: int) -> None:
    target.nodes[0, new]["value"] = tree.nodes[b, old]["value"]
    target.nodes[0, new]["floor"] = tree.nodes[b, old]["floor"]
    target.nodes[0, new]["player"] = tree.nodes[b, old]["player"]
    target.nodes[0, new]["plies"] = tree.nodes[b, old]["plies"]
    if tree.state.shape[1] > 0:
        for i in range(tree.state.shape[2]):
            target.state[0, new, i] = tree.state[b, old, i]
        target.nodes[0, new]["visits"] = tree.nodes[b, old]["visits"]
    if tree.amaf_visits.shape[1] > 0:
        for i in range(tree.amaf_visits.shape[2]):
            target.amaf_visits[0, new, i] = tree.amaf_visits[b, old, i]
            target.amaf_total[0, new, i] = tree.amaf_total[b, old, i]


@compilable
def _copy_edge(tree: Tree, b: int, old: int, target: Tree, new: int) -> None:
    target.edges[0, new]["total"] = tree.edges[b, old]["total"]
    target.edges[0, new]["visits"] = tree.edges[b, old]["visits"]
    target.edges[0, new]["prior"] = tree.edges[b, old]["prior"]
    target.edges[0, new]["action"] = tree.edges[b, old]["action"]
    target.edges[0, new]["proven"] = tree.edges[b, old]["proven"]


@kernel
def subtree_size(tree: Tree, b: int, edge: int, order: Any) -> int:
    """How many nodes are below `edge` of the root, the one it leads to included; `order` is scratch, int32[2, N]."""
    found, seen = order[0], order[1]
    seen[: tree.size[b]] = 0
    found[0] = tree.edges[b, edge]["child"]
    seen[found[0]] = 1
    size, looked_at = 1, 0
    while looked_at < size:
        node = found[looked_at]
        looked_at += 1
        for old in range(tree.nodes[b, node]["first_edge"], tree.nodes[b, node + 1]["first_edge"]):
            child = tree.edges[b, old]["child"]
            if child >= 0 and not seen[child]:
                found[size], seen[child] = child, 1
                size += 1
    return size
