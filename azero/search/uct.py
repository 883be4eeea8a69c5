"""UCT: UCB1 applied to trees (Kocsis, Szepesvari 2006); and what came before it, at the root alone."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from azero._jit import compilable
from azero.search.kernels import Place
from azero.search.tree import Tree

# Looked up, so that choosing an edge takes no division, root or logarithm.
_INVERSE_ROOTS = 1 / np.sqrt(np.maximum(np.arange(4096), 1))
_ROOT_LOGS = np.sqrt(np.log(np.maximum(np.arange(4096), 1)))


@compilable
def _inverse_root(visits: int) -> float:
    """1 / sqrt(visits), for visits >= 1."""
    return float(_INVERSE_ROOTS[visits]) if visits < len(_INVERSE_ROOTS) else 1 / math.sqrt(visits)


@compilable
def _root_log(visits: int) -> float:
    """sqrt(ln visits), for visits >= 1."""
    return float(_ROOT_LOGS[visits]) if visits < len(_ROOT_LOGS) else math.sqrt(math.log(visits))


class UCT(NamedTuple):
    """Follow the edge with the largest Q + c sqrt(ln N / n); an unvisited one goes first.

    Q is the edge's mean reward, scaled to [0, 1], so that a draw is half a win; N the visits of the node, its own
    evaluation included; n those of the edge.
    """

    c: float = 1.0  # exploration, >= 0; UCB1: sqrt(2). On Connect Four 0.5 scores 0.56 against 1, 1.4 0.45

    def choose_edge(self, tree: Tree, b: int, place: Place, path: Any) -> int:
        """See the class."""
        # Q / 2 orders the edges as (Q + 1) / 2 does, and Q as that, with twice the exploration.
        exploration = 2 * self.c * _root_log(place.num_visits)
        best = _best_edge(tree, b, place, exploration, False)
        # Proven edges are rarely best, and looking at each edge whether it is proven would take longer.
        return best if not tree.edges[b, best]["proven"] else _best_edge(tree, b, place, exploration, True)

    def edge_scores(self, tree: Tree, b: int, place: Place, path: Any) -> npt.NDArray[np.float64]:
        """Q + c sqrt(ln N / n); infinite without a visit."""
        exploration = 2 * self.c * _root_log(place.num_visits)
        scores = np.full(place.last - place.first, np.nan)
        for i, edge in enumerate(range(place.first, place.last)):
            if tree.edges[b, edge]["visits"] == 0:
                scores[i] = np.inf
            elif not tree.edges[b, edge]["proven"]:
                scores[i] = (1 + _score(tree, b, edge, exploration)) / 2
        return scores


@compilable
def _score(tree: Tree, b: int, edge: int, exploration: float) -> float:
    """Q + exploration / sqrt(n), for n >= 1 and Q in [-1, 1]."""
    root = _inverse_root(tree.edges[b, edge]["visits"])
    return float((tree.edges[b, edge]["total"] * root + exploration) * root)


@compilable
def _best_edge(tree: Tree, b: int, place: Place, exploration: float, skip_proven: bool) -> int:
    best = place.first
    best_score = -math.inf
    for edge in range(place.first, place.last):
        visits = tree.edges[b, edge]["visits"]
        if visits == 0:
            return edge
        if skip_proven and tree.edges[b, edge]["proven"]:
            continue
        score = _score(tree, b, edge, exploration)
        if score > best_score:
            best, best_score = edge, score
    return best


class UCTByNode(UCT):
    """UCT that tries all children of a node at once: after the first the others, before it begins at the root again."""

    @property
    def tries_all_children(self) -> bool:
        """Whether it needs to know which node it is about to try the children of."""
        return True

    def begin_path(self, tree: Tree, b: int, path: Any) -> int:
        """As far as the node whose children are being tried, if there is one."""
        length = tree.focus[b, 0]
        if length > 0:
            node = tree.edges[b, tree.focus[b, length]]["child"]
            for edge in range(tree.nodes[b, node]["first_edge"], tree.nodes[b, node + 1]["first_edge"]):
                if tree.edges[b, edge]["visits"] == 0 and tree.nodes[b, node]["plies"] < 0:
                    for i in range(length):
                        path[i] = tree.focus[b, i + 1]
                    return int(length)
            tree.focus[b, 0] = 0
        path[0] = 0
        return 1

    def explain_choice(self, tree: Tree, b: int, place: Place, path: Any) -> str:
        """Where the score does not count."""
        on_the_way = self.begin_path(tree, b, np.empty(tree.focus.shape[1], np.int32)) > place.depth
        return "on the way to a node whose other children are tried first" if on_the_way else ""

    def note_planted(self, tree: Tree, b: int, path: Any) -> None:
        """Turn to the new node's siblings."""
        if tree.focus[b, 0] == 0 and len(path) > 1:
            tree.focus[b, 0] = len(path) - 1
            for i in range(len(path) - 1):
                tree.focus[b, i + 1] = path[i]


class UCB1(UCT):
    """UCB1 (Auer, Cesa-Bianchi, Fischer 2002) over the root's actions alone: the tree is never deeper than these."""

    @property
    def starts_afresh(self) -> bool:
        """Below the root's actions there is nothing to keep for the next search."""
        return True

    def max_depth(self) -> int:
        """One action."""
        return 1


class Flat(NamedTuple):
    """Flat Monte Carlo: the root's actions are tried equally often, and the tree is never deeper than these."""

    @property
    def starts_afresh(self) -> bool:
        """Below the root's actions there is nothing to keep for the next search."""
        return True

    def max_depth(self) -> int:
        """One action."""
        return 1

    def choose_edge(self, tree: Tree, b: int, place: Place, path: Any) -> int:
        """The first of those with the fewest visits."""
        return least_visited(tree, b, place)


@compilable
def least_visited(tree: Tree, b: int, place: Place) -> int:
    """The first of the edges with the fewest visits."""
    best = -1
    for edge in range(place.first, place.last):
        if not tree.edges[b, edge]["proven"] and (
            best < 0 or tree.edges[b, edge]["visits"] < tree.edges[b, best]["visits"]
        ):
            best = edge
    return best
