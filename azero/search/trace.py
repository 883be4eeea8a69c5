"""One simulation of a search, taken apart: which actions it chose, what it planted, what it counted.

The simulation itself is the search's own; it is told from how the tree looked before and after.
"""

from collections.abc import Hashable
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from azero.search.forest import Forest
from azero.search.kernels import Place, edge_scores, explain_choice, node_visits
from azero.search.tree import Tree
from azero.search.view import Edge, Node, TreeView, view

S = TypeVar("S", bound=Hashable)


class Choice(NamedTuple, Generic[S]):
    """The step down from one node."""

    node: Node[S]
    num_visits: int  # of the node, as the choice found it
    edges: list[Edge]  # all of the node's, as the choice found them
    scores: list[float]  # what the rule compared, for each of them; see `azero.search.kernels.edge_scores`
    note: str  # what else there is to say of the choice
    chosen: Edge  # one of the edges
    joins: bool  # whether it led nowhere before, and now to a node that had been planted by another way


class Change(NamedTuple):
    """What the simulation counted at one edge."""

    before: Edge
    after: Edge
    value: float  # that was added, for the chooser


class Simulation(NamedTuple, Generic[S]):
    """Select, expand, evaluate and backup."""

    number: int  # 0 evaluates the root
    choices: list[Choice[S]]  # from the root down; none for simulation 0
    leaf: Node[S]  # where it ended
    is_new: bool  # whether that node was planted; finished games, and others as deep as may be, are visited again
    value: float  # of the leaf, for its player: what the evaluator said now, or what is proven
    changes: list[Change]  # from the leaf up


def trace_simulation(forest: Forest[S], b: int = 0) -> Simulation[S]:
    """Run one simulation in tree b, which may be empty, and tell what it did.

    Raises ValueError if the root is proven, so that there is nothing left to search.
    """
    if forest.is_proven(b):
        raise ValueError("the root is proven, so there is no simulation left to trace")
    before = Tree._make(array.copy() for array in forest.tree)
    forest.simulate(np.array([b], np.int32))
    new = view(forest, b)
    old = replace(new, tree=before)
    choices: list[Choice[S]] = []
    node = new.root
    while node.number < before.size[b] and (pair := _chosen(old, new, node)):
        chosen, followed = pair
        joins = chosen.child < 0 and followed.child < before.size[b]
        choices.append(Choice(node, *_comparison(forest, old, node), chosen, joins))
        node = new.follow(node, followed)
    changes = [_change(old, node, i) for i in reversed(range(len(node.path)))]
    sign = 1 if node.path[-1].chooser == node.player else -1
    return Simulation(
        number=int(before.visits[b, 0]),
        choices=choices,
        leaf=node,
        is_new=node.number >= int(before.size[b]),
        value=sign * changes[0].value,
        changes=changes,
    )


def _chosen(old: TreeView[S], new: TreeView[S], node: Node[S]) -> tuple[Edge, Edge] | None:
    """The edge of a node that has more visits than before, as it was and as it is; None where the simulation ended."""
    pairs = zip(old.edges(node), new.edges(node), strict=True)
    return next(((before, after) for before, after in pairs if after.visits > before.visits), None)


def _comparison(forest: Forest[S], old: TreeView[S], node: Node[S]) -> tuple[int, list[Edge], list[float], str]:
    """The node's visits and edges, their scores and what the rule says of them, before the simulation."""
    tree, b, rule = old.tree, old.b, forest.rule
    first, last = (int(edge) for edge in tree.first_edge[b, node.number : node.number + 2])
    num_visits = int(node_visits(forest.sharing, tree, b, node.path[-1].number, node.number))
    path = np.array([edge.number for edge in node.path], np.int32)
    place = Place(node.number, first, last, num_visits, len(path))
    scores = edge_scores(rule, tree, b, place, path)
    edges = old.edges(node)
    note = explain_choice(rule, tree, b, place, path)
    return num_visits, edges, [float(scores[edge.number - first]) for edge in edges], note


def _change(old: TreeView[S], leaf: Node[S], i: int) -> Change:
    """What happened to the i-th edge on the way to the leaf."""
    after = leaf.path[i]
    before = old.edge(after.number, after.chooser, after.action)
    return Change(before, after, after.total - before.total)
