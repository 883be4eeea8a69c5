"""RAVE and GRAVE: what an action was worth whenever it was taken later, as a first guess of what it is worth now.

For games in which an action keeps its meaning from one state to the next, such as a cell to put a stone on.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from azero._jit import compilable
from azero.search.kernels import Place
from azero.search.tree import Tree


class RAVE(NamedTuple):
    """Follow the edge with the largest (1 - beta) Q + beta A + c sqrt(ln N / n), beta = sqrt(k / (3 N + k)).

    Q and n are the edge's mean reward, scaled to [0, 1], and its visits; A is the mean over all simulations below the
    node in which its player took the action at any time (all moves as first); N the visits of the node; k the
    equivalence parameter: with N = k both means weigh the same (Gelly, Silver 2011, section 4.3). An edge without
    visits has A alone, and n = 1; one without either goes first.

    With `ref` the means A are those of the closest node above whose edge has so many visits, or of the root, as in
    GRAVE (Cazenave 2015), which weighs them by another beta.
    """

    equivalence: float = 300.0  # k, simulations, >= 0; with 0, A counts for edges without visits only
    ref: int = 0  # visits a node needs for its own A to be used, >= 0; 0: RAVE; Cazenave: 25 to 100
    c: float = 0.5  # exploration, >= 0; Gelly and Silver: 0

    @property
    def uses_amaf(self) -> bool:
        """Whether it is to be told the rollouts' actions."""
        return True

    def choose_edge(self, tree: Tree, b: int, place: Place, path: Any) -> int:
        """See the class."""
        means = _means(self, tree, b, place, path)
        best, best_score = -1, -math.inf
        for edge in range(place.first, place.last):
            if tree.edges[b, edge]["proven"]:
                continue
            score = _score(self, tree, b, edge, means)
            if score > best_score:
                best, best_score = edge, score
        return best

    def edge_scores(self, tree: Tree, b: int, place: Place, path: Any) -> npt.NDArray[np.float64]:
        """See the class; infinite for an edge without any visit or mean A."""
        means = _means(self, tree, b, place, path)
        edges = range(place.first, place.last)
        return np.array(
            [math.nan if tree.edges[b, edge]["proven"] else _score(self, tree, b, edge, means) for edge in edges]
        )

    def arrange_edges(self, tree: Tree, b: int, node: int, stream: int) -> None:
        """Nothing is known of actions below a new node."""
        for action in range(tree.amaf_visits.shape[2]):
            tree.amaf_visits[b, node, action] = 0
            tree.amaf_total[b, node, action] = 0.0

    def credit_actions(self, tree: Tree, b: int, path: Any, value: float, played: Any) -> None:
        """At every node of the path but the leaf, count what either player did after it, in the rollout too."""
        num_actions = tree.amaf_visits.shape[2] // 2
        leaf_player = tree.nodes[b, tree.edges[b, path[-1]]["child"]]["player"]
        for i in range(len(path) - 1, 0, -1):
            node = tree.edges[b, path[i - 1]]["child"]
            played[tree.nodes[b, node]["player"], tree.edges[b, path[i]]["action"]] = 1
            for player in range(2):
                worth = value if player == leaf_player else -value
                for action in range(num_actions):
                    if played[player, action]:
                        tree.amaf_visits[b, node, player * num_actions + action] += 1
                        tree.amaf_total[b, node, player * num_actions + action] += worth
        for player in range(2):
            for action in range(num_actions):
                played[player, action] = 0


@compilable
def _means(rule: RAVE, tree: Tree, b: int, place: Place, path: Any) -> tuple[float, float, int, int]:
    """Of a node: beta, ln N, the node whose means A are used, and where in them those of its player begin."""
    k = rule.equivalence
    beta = math.sqrt(k / (3 * place.num_visits + k)) if k > 0 else 0.0
    source = _source(tree, b, path, place.depth, rule.ref)
    return (
        beta,
        math.log(place.num_visits),
        source,
        tree.nodes[b, place.node]["player"] * (tree.amaf_visits.shape[2] // 2),
    )


@compilable
def _score(rule: RAVE, tree: Tree, b: int, edge: int, means: Any) -> float:
    beta, log_visits, source, offset = means
    visits, action = tree.edges[b, edge]["visits"], offset + tree.edges[b, edge]["action"]
    amaf_visits = tree.amaf_visits[b, source, action]
    if visits == 0 and amaf_visits == 0:
        return math.inf
    weight = 0.0 if amaf_visits == 0 else beta if visits > 0 else 1.0
    q = (1 + tree.edges[b, edge]["total"] / max(visits, 1)) / 2
    amaf = (1 + tree.amaf_total[b, source, action] / max(amaf_visits, 1)) / 2
    return float((1 - weight) * q + weight * amaf + rule.c * math.sqrt(log_visits / max(visits, 1)))


@compilable
def _source(tree: Tree, b: int, path: Any, depth: int, ref: int) -> int:
    """The closest node, up from the end of the path, that has `ref` visits; else the root."""
    i = depth - 1
    while i > 0 and tree.edges[b, path[i]]["visits"] < ref:
        i -= 1
    return int(tree.edges[b, path[i]]["child"])
