"""PUCT: the selection rule of AlphaZero (Silver et al. 2018, equation in the methods section)."""

import math
from typing import NamedTuple

from azero.search.tree import Tree


class PUCT(NamedTuple):
    """Follow the edge with the largest Q + c P sqrt(N) / (1 + n), where c = c_puct + ln((1 + N + c_base) / c_base).

    Q in [-1, 1] is the edge's mean value, P its prior, n its visits; N the visits of the node, its own evaluation
    included. An unvisited edge has Q = V - fpu_reduction sqrt(sum of the visited edges' P), V being the node's mean
    value: what is not tried is presumed a little worse than what is (first-play urgency as in KataGo).
    """

    c_puct: float = 1.25  # exploration, >= 0, for Q in [-1, 1]; AlphaZero: 1.25 (for Q in [0, 1] halve it)
    c_base: float = 19652.0  # visits at which exploration begins to grow, > 0; AlphaZero: 19652
    fpu_reduction: float = 0.2  # how much worse the untried is presumed to be, in [0, 2]; KataGo: 0.2

    def choose_edge(self, tree: Tree, b: int, node: int, num_visits: int) -> int:
        """See the class."""
        first, last = tree.first_edge[b, node], tree.first_edge[b, node + 1]
        growth = math.log((1 + num_visits + self.c_base) / self.c_base)
        exploration = (self.c_puct + growth) * math.sqrt(num_visits)
        total, visited_prior = float(tree.value[b, node]), 0.0
        best, untried = -1, -1  # the first of the best visited edges, and of the unvisited ones with the largest prior
        best_score, untried_prior = -math.inf, -1.0
        for edge in range(first, last):
            visits, prior = tree.visits[b, edge], float(tree.prior[b, edge])
            if visits == 0:
                if prior > untried_prior:
                    untried, untried_prior = edge, prior
                continue
            total += tree.total[b, edge]
            visited_prior += prior
            score = tree.total[b, edge] / visits + exploration * prior / (1 + visits)
            if score > best_score:
                best, best_score = edge, score
        if untried >= 0:
            unvisited_q = total / num_visits - self.fpu_reduction * math.sqrt(visited_prior)
            score = unvisited_q + exploration * untried_prior
            if score > best_score or (score == best_score and untried < best):
                return untried
        return best
