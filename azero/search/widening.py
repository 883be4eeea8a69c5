"""Progressive widening (Coulom 2007; Couetoux et al. 2011): a node's actions come into play one after the other."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from azero._jit import below, compilable, draw
from azero.search.kernels import Place, arrange_edges, choose_edge, credit_actions, edge_scores, max_depth
from azero.search.result import root_policy, root_preference
from azero.search.tree import Tree

_ORDER = (1 << 40) + 1  # counters in a simulation's stream, beyond those of its rollouts and of `expand`


class Widening(NamedTuple):
    """Choose by another rule among the first max(1, floor(k N ** alpha)) edges of a node, the best priors first.

    N are the visits of the node; edges that are proven do not count. For games with many actions.
    """

    rule: Any  # UCT, PUCT or RAVE
    k: float = 1.0  # > 0
    alpha: float = 0.5  # in [0, 1]
    random_order: bool = False  # edges in random order, for evaluators whose priors say nothing

    def choose_edge(self, tree: Tree, b: int, place: Place, path: Any) -> int:
        """See the class."""
        return int(choose_edge(self.rule, tree, b, _opened(self, tree, b, place), path))

    def edge_scores(self, tree: Tree, b: int, place: Place, path: Any) -> npt.NDArray[np.float64]:
        """As the other rule says; NaN for edges that are not open."""
        scores = edge_scores(self.rule, tree, b, _opened(self, tree, b, place), path)
        return np.append(scores, np.full(place.last - place.first - len(scores), np.nan))

    def explain_choice(self, tree: Tree, b: int, place: Place, path: Any) -> str:
        """How many edges are open."""
        num_open = _opened(self, tree, b, place).last - place.first
        return f"widening: {num_open} of {place.last - place.first} actions are open"

    def arrange_edges(self, tree: Tree, b: int, node: int, stream: int) -> None:
        """Sort the edges by their priors, or shuffle them."""
        first, last = int(tree.nodes[b, node]["first_edge"]), int(tree.nodes[b, node + 1]["first_edge"])
        for edge in range(first + 1, last):
            prior, action = tree.edges[b, edge]["prior"], tree.edges[b, edge]["action"]
            place = edge
            if self.random_order:
                place = first + below(draw(stream, _ORDER + edge - first), edge - first + 1)
                tree.edges[b, edge]["prior"], tree.edges[b, edge]["action"] = (
                    tree.edges[b, place]["prior"],
                    tree.edges[b, place]["action"],
                )
            else:
                while place > first and tree.edges[b, place - 1]["prior"] < prior:
                    tree.edges[b, place]["prior"], tree.edges[b, place]["action"] = (
                        tree.edges[b, place - 1]["prior"],
                        tree.edges[b, place - 1]["action"],
                    )
                    place -= 1
            tree.edges[b, place]["prior"], tree.edges[b, place]["action"] = prior, action
        arrange_edges(self.rule, tree, b, node, stream)

    def credit_actions(self, tree: Tree, b: int, path: Any, value: float, played: Any) -> None:
        """As the other rule does."""
        credit_actions(self.rule, tree, b, path, value, played)

    def max_depth(self) -> int:
        """As the other rule says."""
        return max_depth(self.rule)

    def root_policy(self, tree: Tree, b: int) -> npt.NDArray[np.float64]:
        """As the other rule says."""
        return root_policy(self.rule, tree, b)

    def root_preference(self, tree: Tree, b: int) -> npt.NDArray[np.float64]:
        """As the other rule says."""
        return root_preference(self.rule, tree, b)

    def for_budget(self, simulations: int | None) -> "Widening":
        """The same. Raises ValueError for a rule that narrows the root's actions itself."""
        if getattr(self.rule, "has_plan", False):
            raise ValueError("Gumbel narrows the root's actions itself, so widening them makes no sense")
        if getattr(self.rule, "tries_all_children", False):
            raise ValueError("trying all children at once is the opposite of widening: leave out one of them")
        if getattr(self.rule, "starts_afresh", False):
            raise ValueError("a search of the root alone has too little to widen: take UCT, PUCT or RAVE")
        return self

    @property
    def uses_amaf(self) -> bool:
        """As the other rule does."""
        return getattr(self.rule, "uses_amaf", False)


@compilable
def _opened(rule: Widening, tree: Tree, b: int, place: Place) -> Place:
    """The same place with the edges that are open, and proven ones between them."""
    num_open = max(1, int(rule.k * place.num_visits**rule.alpha))
    last = place.first
    while last < place.last and num_open > 0:
        if not tree.edges[b, last]["proven"]:
            num_open -= 1
        last += 1
    return Place(place.node, place.first, last, place.num_visits, place.depth)
