"""Tree search written as the papers say it, with objects and recursion: the twin that the kernels must equal.

It shares the random numbers of azero (`draw`, `below`) and nothing else.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from azero._jit import below, draw


@dataclass
class Edge:
    action: int
    prior: float
    visits: int = 0
    total: float = 0.0
    node: "Node | None" = None
    proven: bool = False


@dataclass
class Node:
    player: int
    value: float
    edges: list[Edge] = field(default_factory=list)
    plies: int = -1  # to the end of the game, once the value is proven
    floor: float = -1.0  # the best value proven of an action
    visits: int = 0
    number: int = 0
    stream: int = 0  # the search's
    amaf: dict[tuple[int, int], list[float]] = field(default_factory=dict)  # by player and action: visits, total


@dataclass
class Options:
    """What may be added to a search."""

    proven_values: bool = False
    shared: bool = False
    canonical: Any = None  # a function of the state, with transpositions up to symmetry
    lookahead: int = 0  # plies that are searched below a new leaf
    max_depth: int = 10**9
    amaf: bool = False
    by_prior: bool = False  # sort the edges
    all_children: bool = False  # of a new node are tried before the next simulation begins at the root


def uct(node: Node, num_visits: int, _path: Any, c: float) -> Edge:
    """Unvisited first; else UCB1 with rewards scaled to [0, 1]."""
    for edge in node.edges:
        if edge.visits == 0:
            return edge
    return max(
        (edge for edge in node.edges if not edge.proven),
        key=lambda e: 0.5 * e.total / e.visits + c * math.sqrt(math.log(num_visits) / e.visits),
    )


def puct(node: Node, num_visits: int, path: Any, rule: Any) -> Edge:
    """AlphaZero's rule, an unvisited edge being presumed somewhat worse than the node, or to have a fixed value."""
    at_root = len(path) == 1
    visited = [e for e in node.edges if e.visits]
    presumed, reduction = rule.fpu_value, rule.fpu_reduction
    if at_root and not math.isnan(rule.root_fpu_reduction):
        presumed, reduction = math.nan, rule.root_fpu_reduction
    if at_root and not math.isnan(rule.root_fpu_value):
        presumed = rule.root_fpu_value
    if math.isnan(presumed):
        mean = (node.value + sum(e.total for e in visited)) / num_visits
        presumed = mean - reduction * math.sqrt(sum(e.prior for e in visited))
    c = rule.c_puct + math.log((1 + num_visits + rule.c_base) / rule.c_base)

    def score(e: Edge) -> float:
        if at_root and e.visits and e.visits < math.sqrt(rule.forced_visits * e.prior * num_visits):
            return math.inf
        q = e.total / e.visits if e.visits else presumed
        return q + c * math.sqrt(num_visits) * e.prior / (1 + e.visits)

    return max((edge for edge in node.edges if not edge.proven), key=score)


def flat(node: Node, _num_visits: int, _path: Any) -> Edge:
    """Evenly."""
    return min((edge for edge in node.edges if not edge.proven), key=lambda edge: edge.visits)


def widened(
    node: Node, num_visits: int, path: Any, k: float, alpha: float, choose: Any, by_prior: bool = False
) -> Edge:
    """By another rule among the first edges only; `by_prior` says that these are the best by the evaluator."""
    num_open = max(1, int(k * num_visits**alpha))
    known = [edge for edge in node.edges if edge.proven]
    still = [edge for edge in node.edges if not edge.proven][:num_open]
    edges = [
        edge
        for edge in node.edges
        if edge in still or (edge in known and node.edges.index(edge) < node.edges.index(still[-1]))
    ]
    return choose(replace(node, edges=edges), num_visits, path)


def rave(node: Node, num_visits: int, path: Any, rule: Any) -> Edge:
    """A mean over all moves as first stands in for what is not known of an action yet."""
    beta = math.sqrt(rule.equivalence / (3 * num_visits + rule.equivalence))
    source = next((above for edge, above in reversed(path) if edge.visits >= rule.ref), path[0][1])

    def score(edge: Edge) -> float:
        count, total = source.amaf.get((node.player, edge.action), (0, 0.0))
        if count == 0 and edge.visits == 0:
            return math.inf
        weight = 0 if count == 0 else beta if edge.visits else 1
        mean = (1 + edge.total / edge.visits) / 2 if edge.visits else 0
        amaf = (1 + total / count) / 2 if count else 0
        return (1 - weight) * mean + weight * amaf + rule.c * math.sqrt(math.log(num_visits) / max(edge.visits, 1))

    return max((edge for edge in node.edges if not edge.proven), key=score)


def gumbel(node: Node, num_visits: int, path: Any, rule: Any) -> Edge:
    """Sequential halving at the root; below it, towards the improved policy."""

    def q(edge: Edge) -> float:
        if edge.proven:
            return edge.node.value if edge.node.player == node.player else -edge.node.value
        return edge.total / edge.visits

    visited = [edge for edge in node.edges if edge.visits]
    total_visits = sum(edge.visits for edge in visited)
    mixed = node.value
    if visited:
        weighted = sum(edge.prior * q(edge) for edge in visited) / sum(edge.prior for edge in visited)
        mixed = (node.value + total_visits * weighted) / (1 + total_visits)
    scale = (rule.c_visit + max((edge.visits for edge in visited), default=0)) * rule.c_scale / 2
    logits = [math.log(edge.prior) + scale * (q(edge) if edge.visits else mixed) for edge in node.edges]
    if len(path) > 1:
        weights = [math.exp(logit - max(logits)) for logit in logits]
        shares = [w / sum(weights) - e.visits / (1 + total_visits) for w, e in zip(weights, node.edges, strict=True)]
        return max((pair for pair in zip(shares, node.edges, strict=True) if not pair[1].proven), key=lambda p: p[0])[1]
    due = halving(min(rule.num_considered, len(node.edges)), rule.num_simulations)[num_visits - 1]
    noisy = [
        logit - rule.noise * math.log(-math.log((draw(node.stream, (1 << 43) + edge.action) + 0.5) / 2**63))
        for logit, edge in zip(logits, node.edges, strict=True)
    ]
    still = [(e.visits, n, -i) for i, (n, e) in enumerate(zip(noisy, node.edges, strict=True)) if not e.proven]
    fitting = [s for s in still if s[0] <= due]
    return node.edges[-(max(fitting) if fitting else max(still, key=lambda s: (-s[0], s[2])))[2]]


def halving(num_considered: int, num_simulations: int) -> list[int]:
    """How many visits the followed edge of the root has at each simulation."""
    due: list[int] = []
    visits, considered = [0] * num_considered, num_considered
    while len(due) < num_simulations:
        for _ in range(max(1, num_simulations // (math.ceil(math.log2(num_considered)) * considered))):
            due += visits[:considered]
            visits[:considered] = [v + 1 for v in visits[:considered]]
        considered = max(2, considered // 2)
    return due[:num_simulations]


def proven_within(game: Any, state: Any, depth: int) -> float | None:
    """The value for the player to move if looking so many plies ahead proves it; the root alone knows it at depth 0."""
    legal = game.legal_actions(state)
    if not legal:
        return game.outcome(state)
    if depth == 0:
        return None
    player, values = game.current_player(state), []
    for action in legal:
        after = game.step(state, action)
        value = proven_within(game, after, depth - 1)
        values.append(value if value is None or game.current_player(after) == player else -value)
    known = [value for value in values if value is not None]
    if 1.0 in known:
        return 1.0
    return max(known) if len(known) == len(values) else None


def random_rollout(game: Any, state: Any, stream: int, played: Any = None) -> float:
    """The result of random play for the player to move; `played` is given the actions each player took."""
    player, length = game.current_player(state), 0
    while legal := list(game.legal_actions(state)):
        action = legal[below(draw(stream, length), len(legal))]
        if played is not None:
            played.add((game.current_player(state), action))
        state = game.step(state, action)
        length += 1
    result = game.outcome(state)
    return result if game.current_player(state) == player else -result


class NaiveSearch:
    """One tree of nodes; `evaluate(state, stream)` returns (policy by action, value).

    `choose(node, visits of the node, path)` is the selection rule; a path is a list of (edge, node it leads to).
    """

    def __init__(self, game: Any, root: Any, choose: Any, evaluate: Any, stream: int, options: Any = None) -> None:
        self.game, self.root_state, self.choose, self.evaluate, self.stream = game, root, choose, evaluate, stream
        self.options = options or Options()
        self.root = Edge(action=-1, prior=1.0)
        self.nodes: list[Node] = []
        self.table: dict[Any, Node] = {}
        self.focus: Any = None  # the path to a node whose children are being tried, and its state
        self.above: Any = None  # the state before the last action of the path

    def run(self, num_visits: int) -> None:
        while self.root.visits < num_visits and not (self.nodes and self.nodes[0].plies >= 0):
            self.simulate(draw(self.stream, self.root.visits))

    def simulate(self, stream: int) -> None:
        path, state = self.descend()
        is_new, from_root = path[-1][0].node is None, self.focus is None
        edge = path[-1][0]
        played: set[tuple[int, int]] = set()
        value = None
        if edge.node is None or edge.node.plies < 0:
            value = self.worth(state, stream, played)
        if edge.node is None:
            edge.node = self.plant(state, stream, value)
        path[-1] = (edge, edge.node)
        if self.options.all_children and is_new and from_root and len(path) > 1:
            self.focus = (list(path[:-1]), self.above)
        value = edge.node.value if edge.node.plies >= 0 else value[1]
        if self.options.proven_values:
            self.prove(path)
        if self.options.amaf:
            self.credit(path, value, played)
        self.backup(path, value)

    def descend(self) -> Any:
        edge, state = self.root, self.root_state
        path = [(edge, edge.node)]
        if self.focus:
            node = self.focus[0][-1][1]
            if node.plies < 0 and any(edge.visits == 0 for edge in node.edges):
                path, state = list(self.focus[0]), self.focus[1]
                edge = path[-1][0]
            else:
                self.focus = None
        while edge.node is not None and edge.node.plies < 0 and len(path) <= self.options.max_depth:
            visits = edge.node.visits if self.options.shared else edge.visits
            edge = self.choose(edge.node, visits, path)
            self.above = state
            state = self.game.step(state, edge.action)
            if self.options.canonical:
                state = self.options.canonical(state)
            if self.options.shared and edge.node is None:
                edge.node = self.table.get(state)
            path.append((edge, edge.node))
        return path, state

    def worth(self, state: Any, stream: int, played: Any) -> tuple[dict[int, float], float]:
        if not self.game.legal_actions(state):
            return {}, self.game.outcome(state)
        if self.nodes and (value := proven_within(self.game, state, self.options.lookahead)) is not None:
            return {}, value
        if self.options.amaf:
            return self.evaluate(state, stream, played)
        return self.evaluate(state, stream)

    def plant(self, state: Any, stream: int, answer: Any) -> Node:
        policy, value = answer
        legal = list(policy)
        turn = below(draw(stream, 1 << 40), len(legal)) if legal else 0
        legal = legal[turn:] + legal[:turn]
        if self.options.by_prior:
            legal.sort(key=lambda action: -np.float32(policy[action]))
        node = Node(self.game.current_player(state), value, [Edge(action, policy[action]) for action in legal])
        node.number, node.stream = len(self.nodes), self.stream
        node.plies = -1 if legal else 0
        self.nodes.append(node)
        self.table[state] = node
        return node

    def prove(self, path: Any) -> None:
        for (edge, node), (_, parent) in zip(path[:0:-1], path[-2::-1], strict=True):
            if node.plies < 0:
                return
            edge.proven = True
            known = [self.for_player(parent.player, e.node) for e in parent.edges if e.proven]
            parent.floor = max(parent.floor, *known, -1.0)
            if parent.plies >= 0:
                continue
            if self.for_player(parent.player, node) >= 1:
                parent.value, parent.plies = 1.0, node.plies + 1
            elif len(known) == len(parent.edges):
                lengths = [
                    e.node.plies + 1 for e in parent.edges if self.for_player(parent.player, e.node) == parent.floor
                ]
                parent.value, parent.plies = parent.floor, min(lengths) if parent.floor > 0 else max(lengths)

    def backup(self, path: Any, value: float) -> None:
        choosers = [self.nodes[0].player, *(node.player for _, node in path[:-1])]
        for (edge, node), chooser in zip(reversed(path), reversed(choosers), strict=True):
            value = node.value if node.plies >= 0 else max(value, node.floor)
            node.visits += 1
            sign = 1 if chooser == node.player else -1
            edge.visits += 1
            edge.total += sign * value
            value *= sign

    def credit(self, path: Any, value: float, played: Any) -> None:
        leaf = path[-1][1]
        for (edge, _), (_, node) in zip(path[:0:-1], path[-2::-1], strict=True):
            played.add((node.player, edge.action))
            for player, action in played:
                entry = node.amaf.setdefault((player, action), [0, 0.0])
                entry[0] += 1
                entry[1] += value if player == leaf.player else -value

    def for_player(self, player: int, node: Node) -> float:
        return node.value if node.player == player else -node.value


def dump(search: NaiveSearch) -> list[Any]:
    """Every node in the order planted: player, value, plies, and each edge's action, prior, visits, total."""
    return [
        (node.player, node.value, node.plies, [(e.action, e.prior, e.visits, e.total) for e in node.edges])
        for node in search.nodes
    ]
