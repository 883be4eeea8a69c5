"""One simulation of a search, taken apart: which actions it chose, what it planted, what it counted.

The simulation itself is the search's own; it is told from how the tree looked before and after.
"""

from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from azero.search.forest import Forest
from azero.search.tree import Tree
from azero.search.view import Edge, Node, TreeView, view

S = TypeVar("S", bound=Hashable)


class Choice(NamedTuple, Generic[S]):
    """The step down from one node."""

    node: Node[S]
    edges: list[Edge]  # all of the node's, as the choice found them
    chosen: Edge  # one of them


class Simulation(NamedTuple, Generic[S]):
    """Select, expand, evaluate and backup."""

    number: int  # 0 evaluates the root
    choices: list[Choice[S]]  # from the root down; none for simulation 0
    leaf: Node[S]  # where it ended
    is_new: bool  # whether that node was planted; a finished game is planted once and then visited again
    changes: list[tuple[Edge, Edge]]  # each edge of the path before and after it was counted, from the leaf up


def trace_simulation(forest: Forest[S], b: int = 0) -> Simulation[S]:
    """Run one simulation in tree b, which may be empty, and tell what it did."""
    before = Tree._make(array.copy() for array in forest.tree)
    forest.simulate(np.array([b], np.int32))
    old, new = TreeView(forest.game, forest.roots[b], before, b), view(forest, b)
    choices: list[Choice[S]] = []
    node = new.root
    while node.number < before.size[b] and (chosen := _chosen(old, new, node)):
        choices.append(Choice(node, old.edges(node), chosen))
        node = new.follow(node, new.edge(chosen.number, chosen.chooser))
    return Simulation(
        number=int(before.visits[b, 0]),
        choices=choices,
        leaf=node,
        is_new=node.number >= int(before.size[b]),
        changes=[(old.edge(edge.number, edge.chooser), edge) for edge in reversed(node.path)],
    )


def _chosen(old: TreeView[S], new: TreeView[S], node: Node[S]) -> Edge | None:
    """The edge of a node, as it was, that has more visits than before; None in a finished game."""
    pairs = zip(old.edges(node), new.edges(node), strict=True)
    return next((before for before, after in pairs if after.visits > before.visits), None)
