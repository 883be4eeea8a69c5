"""PUCT: the selection rule of AlphaZero (Silver et al. 2018, equation in the methods section), and KataGo's options."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from azero._jit import compilable
from azero.search.kernels import Place
from azero.search.tree import Tree

_UNSET = math.nan


class PUCT(NamedTuple):
    """Follow the edge with the largest Q + c P sqrt(N) / (1 + n), where c = c_puct + ln((1 + N + c_base) / c_base).

    Q in [-1, 1] is the edge's mean value, P its prior, n its visits; N the visits of the node, its own evaluation
    included. An unvisited edge has Q = V - fpu_reduction sqrt(sum of the visited edges' P), V being the node's mean
    value: what is not tried is presumed a little worse than what is (first-play urgency as in KataGo); or it has
    Q = fpu_value, where that is a number.
    """

    c_puct: float = 1.25  # exploration, >= 0, for Q in [-1, 1]; AlphaZero: 2.5 (1.25 for Q in [0, 1])
    c_base: float = 19652.0  # visits at which exploration begins to grow, > 0; AlphaZero: 19652
    fpu_reduction: float = 0.2  # how much worse the untried is presumed to be, in [0, 2]; KataGo: 0.2
    fpu_value: float = _UNSET  # or what it is worth, in [-1, 1]; AlphaZero: -1, a loss; nan: by the reduction
    root_fpu_reduction: float = _UNSET  # the same at the root; nan: as elsewhere. KataGo: 0.1
    root_fpu_value: float = _UNSET  # the same at the root; nan: as elsewhere
    forced_visits: float = 0.0  # k: at the root what is tried gets at least sqrt(k P N) visits, >= 0; KataGo: 2

    def choose_edge(self, tree: Tree, b: int, place: Place, path: Any) -> int:
        """See the class."""
        exploration = _exploration(self.c_puct, self.c_base, place.num_visits)
        forced = self.forced_visits * place.num_visits if place.depth == 1 else 0.0
        best, untried = -1, -1  # the first of the best visited edges, and of the unvisited ones with the largest prior
        best_score, untried_prior = -math.inf, -1.0
        for edge in range(place.first, place.last):
            visits, prior = tree.edges[b, edge]["visits"], float(tree.edges[b, edge]["prior"])
            if visits == 0:
                if prior > untried_prior:
                    untried, untried_prior = edge, prior
                continue
            if tree.edges[b, edge]["proven"]:
                continue
            score = _score(tree, b, edge, exploration, forced, 0.0)
            if score > best_score:
                best, best_score = edge, score
        if untried >= 0:
            score = _score(tree, b, untried, exploration, forced, _presumed(self, tree, b, place))
            if score > best_score or (score == best_score and untried < best):
                return untried
        return best

    def edge_scores(self, tree: Tree, b: int, place: Place, path: Any) -> npt.NDArray[np.float64]:
        """See the class; infinite where visits are forced."""
        exploration = _exploration(self.c_puct, self.c_base, place.num_visits)
        forced = self.forced_visits * place.num_visits if place.depth == 1 else 0.0
        presumed = _presumed(self, tree, b, place)
        scores = [
            math.nan if tree.edges[b, edge]["proven"] else _score(tree, b, edge, exploration, forced, presumed)
            for edge in range(place.first, place.last)
        ]
        return np.array(scores)

    def root_policy(self, tree: Tree, b: int) -> npt.NDArray[np.float64]:
        """The visits of the root's edges, less those that were only forced: KataGo's policy-target pruning.

        float64[L], not normalised. Of every action but the most visited, visits are taken back as long as that leaves
        its score no higher than the most visited action's (Wu 2019, section 3.2); a single one left counts as none.
        """
        edges = slice(*tree.first_edge[b, :2])
        visits: npt.NDArray[np.float64] = tree.visits[b, edges].astype(np.float64)
        if self.forced_visits == 0 or not visits.any():
            return visits
        prior = tree.prior[b, edges]
        num_visits = int(tree.node_visits[b, 0] if tree.columns.state else tree.visits[b, 0])
        exploration = _exploration(self.c_puct, self.c_base, num_visits)
        q = tree.total[b, edges] / np.maximum(visits, 1)
        best = int(np.argmax(visits))
        margin = q[best] + exploration * prior[best] / (1 + visits[best]) - q
        with np.errstate(divide="ignore"):
            fewest = np.where(margin > 0, exploration * prior / margin - 1, visits)
        forced = np.sqrt(self.forced_visits * prior * num_visits)
        pruned: npt.NDArray[np.float64] = np.clip(np.ceil(np.maximum(fewest, visits - forced)), 0, visits)
        pruned[pruned <= 1] = 0
        pruned[best] = visits[best]
        return pruned


@compilable
def _exploration(c_puct: float, c_base: float, num_visits: int) -> float:
    """What P / (1 + n) is multiplied with."""
    return (c_puct + math.log((1 + num_visits + c_base) / c_base)) * math.sqrt(num_visits)


@compilable
def _score(tree: Tree, b: int, edge: int, exploration: float, forced: float, presumed: float) -> float:
    """What edges are compared by; `presumed` is Q without a visit."""
    visits, prior = int(tree.edges[b, edge]["visits"]), float(tree.edges[b, edge]["prior"])
    if 0 < visits * visits < forced * prior:
        return math.inf
    q = tree.edges[b, edge]["total"] / visits if visits > 0 else presumed
    return float(q + exploration * prior / (1 + visits))


@compilable
def _presumed(rule: PUCT, tree: Tree, b: int, place: Place) -> float:
    """The Q of an unvisited edge."""
    total, visited_prior = float(tree.nodes[b, place.node]["value"]), 0.0
    for edge in range(place.first, place.last):
        if tree.edges[b, edge]["visits"] > 0:
            total += tree.edges[b, edge]["total"]
            visited_prior += float(tree.edges[b, edge]["prior"])
    mean, at_root = total / place.num_visits, place.depth == 1
    value, reduction = rule.fpu_value, rule.fpu_reduction
    if at_root and not math.isnan(rule.root_fpu_reduction):
        value, reduction = math.nan, rule.root_fpu_reduction
    if at_root and not math.isnan(rule.root_fpu_value):
        value = rule.root_fpu_value
    return mean - reduction * math.sqrt(visited_prior) if math.isnan(value) else value
