"""What a search tree holds, told for people: its nodes and edges, the lines it expects, its size.

Nothing here changes a tree, and nothing here is fast: a kernel reads the arrays themselves.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Generic, NamedTuple, TypeVar

from azero.games.game import Game
from azero.search.forest import Forest
from azero.search.result import Proof, proof_of
from azero.search.tree import Tree

S = TypeVar("S", bound=Hashable)


class Edge(NamedTuple):
    """A legal action at a node, and what the simulations that took it have brought."""

    number: int  # its place in the tree's arrays
    chooser: int  # the player who may take it; the edge to the root: the player to move there
    action: int  # -1 for the edge to the root
    visits: int
    total: float  # sum of the values backed up, for the chooser
    prior: float
    child: int  # the node it leads to; -1 until that is planted
    proof: Proof | None  # for the chooser; proven edges take no more simulations

    @property
    def q(self) -> float:
        """The mean value for the chooser, in [-1, 1]; 0 without any visit."""
        return self.total / max(1, self.visits)

    def q_for(self, player: int) -> float:
        """The mean value for a player."""
        return self.q if player == self.chooser else -self.q


class Node(NamedTuple, Generic[S]):
    """A state in the tree, and one way to it."""

    number: int  # its place in the tree's arrays
    state: S
    player: int  # to move
    visits: int  # simulations through it, by whatever way
    evaluation: float  # what the evaluator says, or what is proven, for that player
    proof: Proof | None  # for that player, from this node on; a finished game is proven too
    path: tuple[Edge, ...]  # from the edge to the root to the edge to this node

    @property
    def depth(self) -> int:
        """Actions from the root."""
        return len(self.path) - 1


class TreeStatistics(NamedTuple):
    """The size and the shape of a tree."""

    num_nodes: int
    num_states: int  # different ones among them
    num_proven: int  # nodes whose value is proven
    num_finished: int  # those of them that are finished games
    nodes_at_depth: tuple[int, ...]  # beginning with the root, the one node at depth 0
    mean_legal: float  # legal actions of the unfinished nodes
    mean_tried: float  # of these, those that lead to a node, where at least one does

    @property
    def mean_depth(self) -> float:
        """How deep the nodes lie, on average."""
        return sum(depth * num for depth, num in enumerate(self.nodes_at_depth)) / self.num_nodes


@dataclass(frozen=True)
class TreeView(Generic[S]):
    """One tree, read-only; it must have a root, which the first simulation plants.

    Where nodes are shared, a node is told of by the way to it that is found first. Where mirror images share theirs,
    states and actions are those of the game that is searched, not their images.
    """

    game: Game[S]
    root_state: S
    image: Callable[[S], S]  # what stands in the tree for a state below the root
    tree: Tree
    b: int = 0

    @property
    def root(self) -> Node[S]:
        """The root."""
        return self._node((self.edge(0, int(self.tree.player[self.b, 0]), -1),), self.root_state)

    def edge(self, number: int, chooser: int, action: int) -> Edge:
        """The edge at a place in the tree's arrays, where `chooser` chooses an action."""
        tree, at = self.tree, (self.b, number)
        visits, total, prior, child = tree.visits[at], tree.total[at], tree.prior[at], tree.child[at]
        proof = proof_of(tree, self.b, number, chooser) if number else None
        return Edge(number, chooser, action, int(visits), float(total), float(prior), int(child), proof)

    def edges(self, node: Node[S]) -> list[Edge]:
        """All legal actions of a node in ascending order; none in a finished game."""
        first, last = self.tree.first_edge[self.b, node.number : node.number + 2].tolist()
        own = self._own_actions(node)
        edges = [self.edge(i, node.player, own[self.tree.action[self.b, i]]) for i in range(first, last)]
        return sorted(edges, key=lambda edge: edge.action)

    def ranked(self, node: Node[S]) -> list[Edge]:
        """All legal actions of a node, the most visited first, of several the one with the higher q."""
        return sorted(self.edges(node), key=lambda edge: (edge.visits, edge.total, edge.number), reverse=True)

    def _own_actions(self, node: Node[S]) -> Sequence[int]:
        """The game's action for each action of the tree, which holds an image of the node's state."""
        image = self.image(node.state) if node.depth else node.state
        if image == node.state:
            return range(self.game.num_actions)
        actions = next(symmetry.actions for symmetry in self.game.symmetries() if symmetry.state(node.state) == image)
        return [actions.index(action) for action in range(self.game.num_actions)]

    def children(self, node: Node[S]) -> Iterator[Node[S]]:
        """The nodes below a node that have been planted."""
        for edge in self.edges(node):
            if edge.child >= 0:
                yield self.follow(node, edge)

    def follow(self, node: Node[S], edge: Edge) -> Node[S]:
        """The planted node that an edge of `node` leads to."""
        return self._node((*node.path, edge), self.game.step(node.state, edge.action))

    def nodes(self) -> Iterator[Node[S]]:
        """Every node once: of those that some node told before leads to, always the most visited."""
        order = count()  # of equally visited nodes the one that was found first
        heap, seen = [(-self.root.visits, next(order), self.root)], set[int]()
        while heap:
            node = heappop(heap)[2]
            if node.number in seen:
                continue
            seen.add(node.number)
            yield node
            for child in self.children(node):
                heappush(heap, (-child.visits, next(order), child))

    def principal_variations(self, num: int) -> list[list[Edge]]:
        """What is expected after each of the `num` most visited actions: it goes on with the most visited reply."""
        return [self._variation(edge) for edge in self.ranked(self.root)[:num] if edge.visits > 0]

    def statistics(self) -> TreeStatistics:
        """The tree's size and shape. It plays out every action in the tree: some seconds for a million nodes."""
        tree, step, image = self.tree, self.game.step, self.image
        first = tree.first_edge[self.b].tolist()
        child, action = tree.child[self.b].tolist(), tree.action[self.b].tolist()
        states, seen = {self.root_state}, {0}
        nodes_at_depth, num_legal, num_tried = [], [], []
        level = [(0, self.root_state)]
        while level:
            nodes_at_depth.append(len(level))
            below: list[tuple[int, S]] = []
            for node, state in level:
                edges = range(first[node], first[node + 1])
                tried = [edge for edge in edges if child[edge] >= 0]
                num_legal.append(len(edges))
                num_tried.append(len(tried))
                for edge in tried:
                    if child[edge] not in seen:
                        seen.add(child[edge])
                        below.append((child[edge], image(step(state, action[edge]))))
            states.update(state for _, state in below)
            level = below
        return TreeStatistics(
            num_nodes=len(num_legal),
            num_states=len(states),
            num_proven=int((tree.plies[self.b, : len(num_legal)] >= 0).sum()),
            num_finished=int((tree.plies[self.b, : len(num_legal)] == 0).sum()),
            nodes_at_depth=tuple(nodes_at_depth),
            mean_legal=_mean_positive(num_legal),
            mean_tried=_mean_positive(num_tried),
        )

    def _variation(self, edge: Edge) -> list[Edge]:
        node, line, best = self.root, [], [edge]
        while best and best[0].visits > 0:
            line += best
            node = self.follow(node, best[0])
            best = self.ranked(node)[:1]
        return line

    def _node(self, path: tuple[Edge, ...], state: S) -> Node[S]:
        number, tree = path[-1].child, self.tree
        player, value, plies = tree.player[self.b, number], tree.value[self.b, number], tree.plies[self.b, number]
        visits = int(tree.node_visits[self.b, number]) if tree.columns.state else path[-1].visits
        proof = Proof(float(value), int(plies)) if plies >= 0 else None
        return Node(number, state, int(player), visits, float(value), proof, path)


def view(forest: Forest[S], b: int = 0) -> TreeView[S]:
    """Tree b of a forest, as it stands; later simulations show in it, or not."""
    return TreeView(forest.game, forest.roots[b], forest.image, forest.tree, b)


def _mean_positive(counts: list[int]) -> float:
    positive = [count for count in counts if count > 0]
    return sum(positive) / max(1, len(positive))


def value_text(value: float) -> str:
    """A value with its sign and two digits."""
    return f"{round(value, 2) + 0.0:+.2f}"  # never -0.00
