"""The arrays of B search trees of one game, which the kernels work on.

Letters used throughout: B trees, N nodes and E edges reserved in each, A actions, L legal actions of a root.

A node is a state that was evaluated; an edge is a legal action in it. Nodes are numbered in the order they were
planted, and the edges of a node lie side by side. Edge 0 leads to the root, which is node 0: every path starts with
it, and its visits are those of the root.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]

_NODE = np.dtype([("first_edge", "i4"), ("player", "i4"), ("value", "f4")])
_EDGE = np.dtype([("total", "f8"), ("visits", "i4"), ("child", "i4"), ("prior", "f4"), ("action", "i4")])
BYTES_PER_NODE = _NODE.itemsize
BYTES_PER_EDGE = _EDGE.itemsize


class Tree(NamedTuple):
    """Views of two arrays of records, so that what is used together lies together in memory."""

    first_edge: IntArray  # int32[B, N + 1]: node n has the edges first_edge[n] ... first_edge[n + 1] - 1
    player: IntArray  # int32[B, N]: the player to move
    value: npt.NDArray[np.float32]  # float32[B, N]: what the evaluator, or a finished game, is worth to that player
    total: npt.NDArray[np.float64]  # float64[B, E]: sum of the backed-up values, for the player who chooses the edge
    visits: IntArray  # int32[B, E]: simulations through the edge
    child: IntArray  # int32[B, E]: the node it leads to; -1 until that is planted
    prior: npt.NDArray[np.float32]  # float32[B, E]: the evaluator's policy over the node's legal actions
    action: IntArray  # int32[B, E]
    size: IntArray  # int32[B]: nodes planted


def allocate(num_trees: int, num_nodes: int, num_edges: int) -> Tree:
    """B unplanted trees with room for N nodes and E edges each."""
    nodes = np.zeros((num_trees, num_nodes + 1), _NODE)
    edges = np.zeros((num_trees, num_edges), _EDGE)
    tree = Tree(
        first_edge=nodes["first_edge"],
        player=nodes["player"],
        value=nodes["value"],
        total=edges["total"],
        visits=edges["visits"],
        child=edges["child"],
        prior=edges["prior"],
        action=edges["action"],
        size=np.zeros(num_trees, np.int32),
    )
    for b in range(num_trees):
        clear(tree, b)
    return tree


def clear(tree: Tree, b: int) -> None:
    """Make tree b unplanted: no node, and the edge to the root to come."""
    tree.size[b] = 0
    tree.first_edge[b, 0] = 1
    tree.visits[b, 0], tree.total[b, 0], tree.child[b, 0], tree.action[b, 0] = 0, 0.0, -1, -1


def enlarged(tree: Tree, num_nodes: int, num_edges: int) -> Tree:
    """The same trees with room for more nodes and edges."""
    larger = allocate(len(tree.size), num_nodes, num_edges)
    new: npt.NDArray[Any]
    for name, new in larger._asdict().items():
        old: npt.NDArray[Any] = getattr(tree, name)
        new[tuple(map(slice, old.shape))] = old
    return larger
