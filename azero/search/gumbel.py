"""Gumbel AlphaZero: policy improvement by planning with Gumbel (Danihelka, Guez, Schrittwieser, Silver 2022).

It improves the policy however few simulations there are, from two on.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from azero._jit import compilable, draw
from azero.search.kernels import Place
from azero.search.tree import Tree
from azero.search.uct import least_visited

_NOISE = 1 << 43  # counters in a search's stream, beyond all others, one for each action
_TINY = 1e-37  # the least prior, so that it has a logarithm


class Gumbel(NamedTuple):
    """At the root the best of the actions by g + ln P + sigma, by sequential halving; below, the improved policy.

    P is an edge's prior, g its Gumbel noise, sigma(q) = (c_visit + max n) c_scale (q + 1) / 2 with q in [-1, 1] the
    mean value of an edge, or, where it has no visit, v_mix (equation 33 of the paper): an average of the node's own
    value and the visited edges' q. The improved policy is softmax(ln P + sigma); below the root the edge is followed
    whose share of the visits is furthest below it (equation 14). The root's action with the largest g + ln P + sigma of
    the most visited ones is played, and the improved policy of the root is what a network learns.
    """

    num_considered: int = 16  # root actions that the first round of halving tries, >= 1; the paper: 16
    c_visit: float = 50.0  # >= 0; the paper: 50
    c_scale: float = 1.0  # >= 0, for q in [0, 1]; the paper: 1.0
    noise: float = 1.0  # g is multiplied with it: 1 in self-play, 0 to play as well as one can
    num_simulations: int = 0  # of the whole search; the search sets it

    @property
    def starts_afresh(self) -> bool:
        """The rounds of halving take a whole search: no visits may be kept from an earlier one."""
        return True

    @property
    def has_plan(self) -> bool:
        """How often the root's actions are tried is decided beforehand."""
        return True

    def for_budget(self, simulations: int | None) -> "Gumbel":
        """The rule for a search of so many simulations. Raises ValueError if their number is not known."""
        if simulations is None:
            raise ValueError(
                "Gumbel divides the simulations between rounds, so it needs their number, not a time alone"
            )
        return self._replace(num_simulations=simulations)

    def choose_edge(self, tree: Tree, b: int, place: Place, path: Any) -> int:
        """See the class."""
        if place.depth == 1:
            return _root_edge(self, tree, b, place)
        sums = _sums(self, tree, b, place)
        best, best_score = -1, -math.inf
        for edge in range(place.first, place.last):
            score = _lag(tree, b, place.node, edge, sums)
            if score > best_score and not tree.edges[b, edge]["proven"]:
                best, best_score = edge, score
        return best

    def edge_scores(self, tree: Tree, b: int, place: Place, path: Any) -> npt.NDArray[np.float64]:
        """At the root g + ln P + sigma of all actions; below it the improved policy less the share of the visits.

        Sigma is told without its part that all actions share, which is that of q = 0.
        """
        sums = _sums(self, tree, b, place)
        scores = np.full(place.last - place.first, np.nan)
        for i, edge in enumerate(range(place.first, place.last)):
            if tree.edges[b, edge]["proven"]:
                continue
            if place.depth == 1:
                scores[i] = _root_score(self, tree, b, edge, sums[0], sums[1])
            else:
                scores[i] = _lag(tree, b, place.node, edge, sums)
        return scores

    def explain_choice(self, tree: Tree, b: int, place: Place, path: Any) -> str:
        """What is due in sequential halving."""
        if place.depth > 1:
            return ""
        due = _due(self, place)
        return f"sequential halving: an action with {due} visits is due, or with the most below that"

    def root_policy(self, tree: Tree, b: int) -> npt.NDArray[np.float64]:
        """The improved policy over the root's edges."""
        logits = self._root_logits(tree, b)
        policy = np.exp(logits - logits.max())
        return np.asarray(policy / policy.sum())

    def root_preference(self, tree: Tree, b: int) -> npt.NDArray[np.float64]:
        """What decides between the most visited actions: g + ln P + sigma."""
        edges = range(*tree.first_edge[b, :2])
        return np.asarray(self._root_logits(tree, b) + [_noise(self, tree, b, edge) for edge in edges])

    def _root_logits(self, tree: Tree, b: int) -> npt.NDArray[np.float64]:
        mixed, scale = _scale(self, tree, b, 0)
        edges = range(*tree.first_edge[b, :2])
        return np.array([_logit(tree, b, edge) + scale * _q(tree, b, 0, edge, mixed) for edge in edges])


@compilable
def considered_visits(simulation: int, num_considered: int, num_simulations: int) -> int:
    """How many visits the root's edge must have that simulation number `simulation` follows: sequential halving.

    A round gives each of the actions that are still considered equally many visits; then half of them are left.
    """
    if num_considered <= 1:
        return simulation
    num_rounds = math.ceil(math.log2(num_considered))
    visits = 0
    while True:
        extra = max(1, num_simulations // (num_rounds * num_considered))
        if simulation < extra * num_considered:
            return visits + simulation // num_considered
        simulation -= extra * num_considered
        visits += extra
        num_considered = max(2, num_considered // 2)


@compilable
def _sums(rule: Gumbel, tree: Tree, b: int, place: Place) -> tuple[float, float, float, float, int]:
    """Over a node's edges: v_mix, the scale of q, the largest logit, the sum of the weights below that, the visits."""
    mixed, scale = _scale(rule, tree, b, place.node)
    top = -math.inf
    num_visits = 0
    for edge in range(place.first, place.last):
        top = max(top, _logit(tree, b, edge) + scale * _q(tree, b, place.node, edge, mixed))
        num_visits += tree.edges[b, edge]["visits"]
    total = 0.0
    for edge in range(place.first, place.last):
        total += math.exp(_logit(tree, b, edge) + scale * _q(tree, b, place.node, edge, mixed) - top)
    return mixed, scale, top, total, num_visits


@compilable
def _lag(tree: Tree, b: int, node: int, edge: int, sums: Any) -> float:
    """How far an edge's share of the visits is below its share in the improved policy."""
    mixed, scale, top, total, num_visits = sums
    improved = math.exp(_logit(tree, b, edge) + scale * _q(tree, b, node, edge, mixed) - top) / total
    return float(improved - tree.edges[b, edge]["visits"] / (1 + num_visits))


@compilable
def _root_score(rule: Gumbel, tree: Tree, b: int, edge: int, mixed: float, scale: float) -> float:
    """g + ln P + sigma."""
    return float(_noise(rule, tree, b, edge) + _logit(tree, b, edge) + scale * _q(tree, b, 0, edge, mixed))


@compilable
def _due(rule: Gumbel, place: Place) -> int:
    """How many visits an edge of the root has that is to be followed next."""
    num_considered = min(rule.num_considered, place.last - place.first)
    return considered_visits(place.num_visits - 1, num_considered, rule.num_simulations)


@compilable
def _root_edge(rule: Gumbel, tree: Tree, b: int, place: Place) -> int:
    """Of the edges with the visits that are due, or the most below that, the one with the largest g + ln P + sigma."""
    due = _due(rule, place)
    mixed, scale = _scale(rule, tree, b, place.node)
    best, best_visits, best_score = -1, -1, -math.inf
    for edge in range(place.first, place.last):
        visits = tree.edges[b, edge]["visits"]
        if visits > due or visits < best_visits or tree.edges[b, edge]["proven"]:
            continue
        score = _root_score(rule, tree, b, edge, mixed, scale)
        if visits > best_visits or score > best_score:
            best, best_visits, best_score = edge, visits, score
    return best if best >= 0 else least_visited(tree, b, place)


@compilable
def _noise(rule: Gumbel, tree: Tree, b: int, edge: int) -> float:
    if rule.noise == 0:
        return 0.0
    uniform = (draw(tree.stream[b], _NOISE + int(tree.edges[b, edge]["action"])) + 0.5) / 2.0**63
    return -rule.noise * math.log(-math.log(uniform))


@compilable
def _logit(tree: Tree, b: int, edge: int) -> float:
    return math.log(max(float(tree.edges[b, edge]["prior"]), _TINY))


@compilable
def _scale(rule: Gumbel, tree: Tree, b: int, node: int) -> tuple[float, float]:
    """v_mix of a node, in [-1, 1], and what the completed q are multiplied with."""
    most = num_visits = 0
    weighted, prior = 0.0, 0.0
    for edge in range(tree.nodes[b, node]["first_edge"], tree.nodes[b, node + 1]["first_edge"]):
        visits = tree.edges[b, edge]["visits"]
        if visits > 0:
            most = max(most, visits)
            num_visits += visits
            weight = max(float(tree.edges[b, edge]["prior"]), _TINY)
            prior += weight
            weighted += weight * _q(tree, b, node, edge, 0.0)
    mixed = float(tree.nodes[b, node]["value"])
    if num_visits > 0:
        mixed = (mixed + num_visits * weighted / prior) / (1 + num_visits)
    return mixed, (rule.c_visit + most) * rule.c_scale / 2


@compilable
def _q(tree: Tree, b: int, node: int, edge: int, mixed: float) -> float:
    """An edge's mean value, once it is proven the true one; `mixed` where it has no visit."""
    if tree.edges[b, edge]["proven"]:
        child = tree.edges[b, edge]["child"]
        sign = 1 if tree.nodes[b, child]["player"] == tree.nodes[b, node]["player"] else -1
        return sign * float(tree.nodes[b, child]["value"])
    return (
        float(tree.edges[b, edge]["total"] / tree.edges[b, edge]["visits"])
        if tree.edges[b, edge]["visits"] > 0
        else mixed
    )
