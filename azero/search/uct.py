"""UCT: UCB1 applied to trees (Kocsis, Szepesvari 2006)."""

import math
from typing import NamedTuple

import numpy as np

from azero.search.tree import Tree

# Looked up, so that scanning the edges takes neither a division nor a root.
_INVERSE_ROOTS = 1 / np.sqrt(np.maximum(np.arange(4096), 1))


class UCT(NamedTuple):
    """Follow the edge with the largest Q + c sqrt(ln N / n); an unvisited one goes first.

    Q is the edge's mean reward, scaled to [0, 1]; N the visits of the node, its own evaluation included; n those of
    the edge.
    """

    c: float = 1.0  # exploration, >= 0; UCB1: sqrt(2). On Connect Four 0.7 to 1.4 play equally well

    def choose_edge(self, tree: Tree, b: int, node: int, num_visits: int) -> int:
        """See the class."""
        first, last = tree.first_edge[b, node], tree.first_edge[b, node + 1]
        exploration = self.c * math.sqrt(math.log(num_visits))
        best: int = first
        best_score = -math.inf
        for edge in range(first, last):
            visits = tree.visits[b, edge]
            if visits == 0:
                return int(edge)
            inverse_root = _INVERSE_ROOTS[visits] if visits < len(_INVERSE_ROOTS) else 1 / math.sqrt(visits)
            # Q / 2 orders the edges as (Q + 1) / 2 does.
            score = (0.5 * tree.total[b, edge] * inverse_root + exploration) * inverse_root
            if score > best_score:
                best, best_score = edge, score
        return best
