"""Tree search written as the papers say it, with objects and recursion: the twin that the kernels must equal.

It shares the random numbers of azero (`draw`, `below`) and nothing else.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from azero._jit import below, draw


@dataclass
class Edge:
    action: int
    prior: float
    visits: int = 0
    total: float = 0.0
    node: "Node | None" = None


@dataclass
class Node:
    player: int
    value: float
    edges: list[Edge] = field(default_factory=list)


def uct(node: Node, num_visits: int, c: float) -> Edge:
    """Unvisited first; else UCB1 with rewards scaled to [0, 1]."""
    for edge in node.edges:
        if edge.visits == 0:
            return edge
    return max(
        node.edges,
        key=lambda e: 0.5 * e.total / e.visits + c * math.sqrt(math.log(num_visits) / e.visits),
    )


def puct(node: Node, num_visits: int, c_puct: float, c_base: float, fpu_reduction: float) -> Edge:
    """AlphaZero's rule, an unvisited edge being presumed `fpu_reduction` worse than the node."""
    visited = [e for e in node.edges if e.visits]
    mean = (node.value + sum(e.total for e in visited)) / num_visits
    unvisited_q = mean - fpu_reduction * math.sqrt(sum(e.prior for e in visited))
    c = c_puct + math.log((1 + num_visits + c_base) / c_base)

    def score(e: Edge) -> float:
        q = e.total / e.visits if e.visits else unvisited_q
        return q + c * math.sqrt(num_visits) * e.prior / (1 + e.visits)

    return max(node.edges, key=score)


def random_rollout(game: Any, state: Any, stream: int) -> float:
    """The result of random play for the player to move."""
    player, length = game.current_player(state), 0
    while legal := list(game.legal_actions(state)):
        state = game.step(state, legal[below(draw(stream, length), len(legal))])
        length += 1
    result = game.outcome(state)
    return result if game.current_player(state) == player else -result


class NaiveSearch:
    """One tree of nodes; `evaluate(state, stream)` returns (policy by action, value)."""

    def __init__(self, game: Any, root: Any, choose: Any, evaluate: Any, stream: int) -> None:
        self.game, self.root_state, self.choose, self.evaluate, self.stream = game, root, choose, evaluate, stream
        self.root = Edge(action=-1, prior=1.0)
        self.nodes: list[Node] = []

    def run(self, num_visits: int) -> None:
        while self.root.visits < num_visits:
            stream = draw(self.stream, self.root.visits)
            player, value = self.visit(self.root, self.root_state, stream)
            self.count(self.root, self.nodes[0].player, player, value)

    def visit(self, edge: Edge, state: Any, stream: int) -> tuple[int, float]:
        """One simulation below `edge`, which leads to `state`; the value, and the player whose value it is."""
        if edge.node is None:
            edge.node = self.plant(state, stream)
            return edge.node.player, edge.node.value
        node = edge.node
        if not node.edges:
            return node.player, node.value
        chosen = self.choose(node, edge.visits)
        player, value = self.visit(chosen, self.game.step(state, chosen.action), stream)
        self.count(chosen, node.player, player, value)
        return player, value

    def count(self, edge: Edge, chooser: int, player: int, value: float) -> None:
        edge.visits += 1
        edge.total += value if chooser == player else -value

    def plant(self, state: Any, stream: int) -> Node:
        player = self.game.current_player(state)
        legal = list(self.game.legal_actions(state))
        if legal:
            policy, value = self.evaluate(state, stream)
        else:
            policy, value = {}, self.game.outcome(state)
        turn = below(draw(stream, 1 << 40), len(legal)) if legal else 0
        legal = legal[turn:] + legal[:turn]
        node = Node(player, value, [Edge(action, policy[action]) for action in legal])
        self.nodes.append(node)
        return node


def dump(search: NaiveSearch) -> list[Any]:
    """Every node in the order planted: player, value, and each edge's action, prior, visits, total."""
    return [
        (node.player, node.value, [(e.action, e.prior, e.visits, e.total) for e in node.edges]) for node in search.nodes
    ]
