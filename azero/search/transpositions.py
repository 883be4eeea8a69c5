"""Whether nodes are shared: a tree, or a graph in which a state has one node however it is reached.

The graph is Childs, Brodeur, Kocsis 2008 (UCT1): an edge has the visits and values of its own simulations, which below
it choose by what all have found out there; N are all visits of a node. Its kernels do nothing where none is shared.
"""

from typing import Any, NamedTuple

from azero._jit import dispatched, kernel, mix
from azero.games.compiled import canonical, step, write_key
from azero.search.tree import Tree


@dispatched
def link(sharing: Any, rules: Any, tree: Tree, b: int, path: Any, state: Any, row: Any) -> bool:
    """Let the last edge of the path, if it leads nowhere yet, lead to the node of `state`, if that is planted.

    Returns whether it did. `row`, int64[F + 1], is filled with the packed state and its place in the hash table.
    """
    return False


@dispatched
def remember(sharing: Any, tree: Tree, b: int, node: int, row: Any) -> None:
    """Make a node that was just planted the one to be found for the state in `row`, which `link` or `find` filled."""


@dispatched
def find(sharing: Any, tree: Tree, b: int, row: Any) -> int:
    """The node of the packed state in `row`; -1 if there is none, or nodes are not shared."""
    return -1


@dispatched
def step_in_tree(sharing: Any, rules: Any, state: Any, action: int) -> Any:
    """The state that an action in the tree leads to."""
    return step(rules, state, action)


class NotShared(NamedTuple):
    """A tree: every edge leads to a node of its own."""


class Shared(NamedTuple):
    """A graph: all edges to one state lead to one node."""

    def node_visits(self, tree: Tree, b: int, edge: int, node: int) -> int:
        """All simulations through the node."""
        return int(tree.nodes[b, node]["visits"])

    def count_visit(self, tree: Tree, b: int, edge: int, value: float, sign: int) -> None:
        """As in a tree, and one for the node."""
        tree.nodes[b, tree.edges[b, edge]["child"]]["visits"] += 1
        tree.edges[b, edge]["visits"] += 1
        tree.edges[b, edge]["total"] += sign * value

    def link(self, rules: Any, tree: Tree, b: int, path: Any, state: Any, row: Any) -> bool:
        """See the function."""
        if tree.edges[b, path[-1]]["child"] >= 0:
            return False
        write_key(rules, state, row[:-1])
        node = find(self, tree, b, row)
        if node < 0:
            return False
        _check_acyclic(tree.edges, b, path, node)
        tree.edges[b, path[-1]]["child"] = node
        return True

    def find(self, tree: Tree, b: int, row: Any) -> int:
        """See the function."""
        slot = _slot(tree.slots[b], tree.state[b], row)
        row[-1] = slot
        return int(tree.slots[b, slot])

    def remember(self, tree: Tree, b: int, node: int, row: Any) -> None:
        """See the function."""
        for i in range(len(row) - 1):
            tree.state[b, node, i] = row[i]
        tree.nodes[b, node]["visits"] = 0
        tree.slots[b, row[-1]] = node


class SharedBySymmetry(Shared):
    """A graph in which also mirror images are one state: below the root there are canonical states only."""

    def step_in_tree(self, rules: Any, state: Any, action: int) -> Any:
        """The canonical image of the state that an action leads to."""
        return canonical(rules, step(rules, state, action))


# These two are not compiled into the search loop, which then runs a fifth faster.


@kernel
def _check_acyclic(edges: Any, b: int, path: Any, node: int) -> None:
    for i in range(len(path) - 1):
        if edges[b, path[i]]["child"] == node:
            raise ValueError("this game can come back to an earlier state, so its states form no acyclic graph")


@kernel
def _slot(slots: Any, states: Any, row: Any) -> int:
    """Where in the hash table the state's node stands, or is to stand: linear probing."""
    mask = len(slots) - 1
    width = states.shape[1]
    key = 0
    for i in range(width):
        key = mix(key, row[i])
    slot = key & mask
    node = slots[slot]
    while node >= 0:
        same = True
        for i in range(width):
            same = same and states[node, i] == row[i]
        if same:
            break
        slot = (slot + 1) & mask
        node = slots[slot]
    return int(slot)


@kernel
def fill_slots(tree: Tree, b: int) -> None:
    """Enter all nodes into the hash table, which is empty; there is none where nodes are not shared."""
    num_nodes = tree.size[b] if tree.slots.shape[1] > 0 else 0
    for node in range(num_nodes):
        tree.slots[b, _slot(tree.slots[b], tree.state[b], tree.state[b, node])] = node
