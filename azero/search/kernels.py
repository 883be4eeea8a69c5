"""The three steps every search is made of, and what keeps a tree between moves.

Nothing here knows a game, an evaluator or a player. Values are always those of a named player; `backup` adds where the
chooser of an edge is that player and subtracts where it is the other, so passes and double moves need no special case.
"""

from typing import Any

from azero._jit import below, compilable, dispatched, draw, kernel
from azero.search.tree import Tree

_FIRST_ACTION = 1 << 40  # a counter in a simulation's stream, beyond those of its rollouts


@dispatched
def choose_edge(rule: Any, tree: Tree, b: int, node: int, num_visits: int) -> int:
    """The edge of an expanded node to follow next, by the selection rule; `num_visits` are those of the node."""
    raise NotImplementedError


@compilable
def select(tree: Tree, b: int, rule: Any, path: Any) -> int:
    """Descend from the root, writing the edges taken into `path`; returns how many.

    The last one leads to no node yet (a leaf to evaluate and expand) or to a terminal node.
    """
    path[0] = 0
    depth = 1
    edge = 0
    node = tree.child[b, 0]
    while node >= 0 and tree.first_edge[b, node] < tree.first_edge[b, node + 1]:
        if depth == len(path):
            raise ValueError("a game went on beyond its max_game_length")
        edge = choose_edge(rule, tree, b, node, tree.visits[b, edge])
        path[depth] = edge
        depth += 1
        node = tree.child[b, edge]
    return depth


@compilable
def expand(tree: Tree, b: int, edge: int, player: int, value: float, actions: Any, stream: int) -> int:
    """Plant the node that `edge` leads to, with one edge for each of `actions`; returns its number.

    The edges have equal priors and the order of the actions, from a random one round to the one before it: of equal
    edges a selection rule takes the first, which so is each of them equally often.
    """
    node: int = tree.size[b]
    tree.size[b] = node + 1
    tree.child[b, edge] = node
    tree.player[b, node] = player
    tree.value[b, node] = value
    first = tree.first_edge[b, node]
    num_actions = len(actions)
    tree.first_edge[b, node + 1] = first + num_actions
    turn = below(draw(stream, _FIRST_ACTION), num_actions) if num_actions > 0 else 0
    for i in range(num_actions):
        turned = i + turn if i + turn < num_actions else i + turn - num_actions
        tree.total[b, first + i] = 0.0
        tree.visits[b, first + i] = 0
        tree.child[b, first + i] = -1
        tree.prior[b, first + i] = 1.0 / num_actions
        tree.action[b, first + i] = actions[turned]
    return node


@compilable
def backup(tree: Tree, b: int, path: Any, value: float, player: int) -> None:
    """Count one visit along the path and add `value`, which is `player`'s, from each chooser's point of view."""
    chooser = tree.player[b, 0]
    for edge in path:
        tree.visits[b, edge] += 1
        tree.total[b, edge] += value if chooser == player else -value
        chooser = tree.player[b, tree.child[b, edge]]


@kernel
def keep_subtree(tree: Tree, b: int, edge: int, new_number: Any) -> None:
    """Make the node that `edge` leads to the root, and forget all that is not below it.

    Children have higher numbers than their parents, so one pass finds the nodes to keep, and moving them down in
    order never overwrites one still to be moved. `new_number` is scratch, int32[N].
    """
    root = tree.child[b, edge]
    value = tree.total[b, edge]
    tree.visits[b, 0] = tree.visits[b, edge]
    tree.total[b, 0] = value if tree.player[b, root] == tree.player[b, 0] else -value
    new_number[: tree.size[b]] = -1
    new_number[root] = 0
    size = 0
    end = 1
    for node in range(root, tree.size[b]):
        if new_number[node] < 0:
            continue
        first, last = tree.first_edge[b, node], tree.first_edge[b, node + 1]
        new_number[node] = size
        tree.player[b, size] = tree.player[b, node]
        tree.value[b, size] = tree.value[b, node]
        tree.first_edge[b, size] = end
        for old in range(first, last):
            if tree.child[b, old] >= 0:
                new_number[tree.child[b, old]] = 0
            _move_edge(tree, b, old, end)
            end += 1
        size += 1
        tree.first_edge[b, size] = end
    tree.size[b] = size
    for kept in range(1, end):
        if tree.child[b, kept] >= 0:
            tree.child[b, kept] = new_number[tree.child[b, kept]]
    tree.child[b, 0] = 0


@compilable
def _move_edge(tree: Tree, b: int, old: int, new: int) -> None:
    tree.total[b, new] = tree.total[b, old]
    tree.visits[b, new] = tree.visits[b, old]
    tree.child[b, new] = tree.child[b, old]
    tree.prior[b, new] = tree.prior[b, old]
    tree.action[b, new] = tree.action[b, old]
