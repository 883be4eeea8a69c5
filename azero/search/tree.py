"""The arrays of B search trees of one game, which the kernels work on.

Letters used throughout: B trees, N nodes and E edges reserved in each, A actions, L legal actions of a root, F numbers
in a packed state.

A node is a state that was evaluated; an edge is a legal action in it. Nodes are numbered in the order they were
planted, and the edges of a node lie side by side. Edge 0 leads to the root, which is node 0: every path starts with
it, and its visits are those of the root. With transpositions several edges may lead to one node.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]

_NODE = np.dtype(
    [("first_edge", "i4"), ("value", "f4"), ("floor", "f4"), ("player", "i2"), ("plies", "i2"), ("visits", "i4")]
)
_EDGE = np.dtype(
    [("total", "f8"), ("visits", "i4"), ("child", "i4"), ("prior", "f4"), ("action", "u2"), ("proven", "i2")]
)
BYTES_PER_NODE = _NODE.itemsize
BYTES_PER_EDGE = _EDGE.itemsize
MAX_ACTIONS = 1 << 16
MAX_PLIES = (1 << 15) - 1  # of a proof; longer ones are told as this
UNPLANTED, PENDING = -1, -2  # in place of a child: not evaluated; being evaluated


class Tree(NamedTuple):
    """Records of nodes and edges, so that what is used together lies together in memory; then what few searches need.

    Kernels use the fields of a record, as in `tree.edges[b, edge]["visits"]`, at known distances from one address.
    Python sees each field as an array, as in `tree.visits[b, edge]`.
    """

    nodes: npt.NDArray[Any]  # records[B, N + 1]: see the first six properties
    edges: npt.NDArray[Any]  # records[B, E]: see the others
    size: IntArray  # int32[B]: nodes planted
    stream: npt.NDArray[np.int64]  # int64[B]: the randomness of the search (see `azero._jit.draw`)
    state: npt.NDArray[np.int64]  # int64[B, N, F] with transpositions: the packed states of the nodes
    slots: IntArray  # int32[B, power of 2 >= 2 N] with transpositions: a hash table of node numbers; -1: free
    amaf_visits: IntArray  # int32[B, N, 2 A] with RAVE: simulations below the node in which a player took an action
    amaf_total: npt.NDArray[np.float32]  # float32[B, N, 2 A] with RAVE: sum of their values, for that player
    focus: IntArray  # int32[B, D] where a rule tries all children at once: how many edges lead there, and these

    @property
    def columns(self) -> "Columns":
        """How wide the columns are that few searches need."""
        return Columns(self.state.shape[2], self.amaf_visits.shape[2], self.focus.shape[1])

    @property
    def first_edge(self) -> IntArray:
        """int32[B, N + 1]: node n has the edges first_edge[n] ... first_edge[n + 1] - 1."""
        return self.nodes["first_edge"]

    @property
    def value(self) -> npt.NDArray[np.float32]:
        """float32[B, N + 1]: the evaluator's value for the player to move; once proven, the true one."""
        return self.nodes["value"]

    @property
    def floor(self) -> npt.NDArray[np.float32]:
        """float32[B, N + 1]: what the player to move has been proven to get at least."""
        return self.nodes["floor"]

    @property
    def player(self) -> npt.NDArray[np.int16]:
        """int16[B, N + 1]: the player to move."""
        return self.nodes["player"]

    @property
    def plies(self) -> npt.NDArray[np.int16]:
        """int16[B, N + 1]: actions to the end of the game in the proof of `value`; -1: not proven."""
        return self.nodes["plies"]

    @property
    def node_visits(self) -> IntArray:
        """int32[B, N + 1]: simulations through the node, with transpositions; else the edge to it has them."""
        return self.nodes["visits"]

    @property
    def total(self) -> npt.NDArray[np.float64]:
        """float64[B, E]: sum of the backed-up values, for the player who chooses the edge."""
        return self.edges["total"]

    @property
    def visits(self) -> IntArray:
        """int32[B, E]: simulations through the edge."""
        return self.edges["visits"]

    @property
    def child(self) -> IntArray:
        """int32[B, E]: the node it leads to, UNPLANTED or PENDING."""
        return self.edges["child"]

    @property
    def prior(self) -> npt.NDArray[np.float32]:
        """float32[B, E]: the evaluator's policy over the node's legal actions."""
        return self.edges["prior"]

    @property
    def action(self) -> npt.NDArray[np.uint16]:
        """uint16[B, E]."""
        return self.edges["action"]

    @property
    def proven(self) -> npt.NDArray[np.int16]:
        """int16[B, E]: 1 when what the edge leads to is proven: no simulation goes there any more."""
        return self.edges["proven"]


class Columns(NamedTuple):
    """How wide the columns are that only some searches need; 0 for those that do not."""

    state: int = 0  # F with transpositions
    amaf: int = 0  # 2 A with RAVE
    focus: int = 0  # D where a rule tries all children at once


def allocate(num_trees: int, num_nodes: int, num_edges: int, columns: Columns = Columns()) -> Tree:
    """B unplanted trees with room for N nodes and E edges each."""
    num_states = num_nodes + 1 if columns.state else 0
    num_amaf = num_nodes + 1 if columns.amaf else 0
    tree = Tree(
        nodes=np.zeros((num_trees, num_nodes + 1), _NODE),
        edges=np.zeros((num_trees, num_edges), _EDGE),
        size=np.zeros(num_trees, np.int32),
        stream=np.zeros(num_trees, np.int64),
        state=np.zeros((num_trees, num_states, columns.state), np.int64),
        slots=np.full((num_trees, 1 << (2 * num_nodes).bit_length() if columns.state else 0), -1, np.int32),
        amaf_visits=np.zeros((num_trees, num_amaf, columns.amaf), np.int32),
        amaf_total=np.zeros((num_trees, num_amaf, columns.amaf), np.float32),
        focus=np.zeros((num_trees, columns.focus), np.int32),
    )
    for b in range(num_trees):
        clear(tree, b)
    return tree


def clear(tree: Tree, b: int) -> None:
    """Make tree b unplanted: no node, and the edge to the root to come."""
    tree.size[b] = 0
    tree.first_edge[b, 0] = 1
    tree.plies[b, 0] = -1
    tree.slots[b] = -1
    tree.focus[b] = 0
    tree.visits[b, 0], tree.total[b, 0], tree.child[b, 0], tree.action[b, 0] = 0, 0.0, UNPLANTED, 0


def enlarged(tree: Tree, num_nodes: int, num_edges: int) -> Tree:
    """The same trees with room for more nodes and edges; the hash table is left empty."""
    larger = allocate(len(tree.size), num_nodes, num_edges, tree.columns)
    new: npt.NDArray[Any]
    for name, new in larger._asdict().items():
        old: npt.NDArray[Any] = getattr(tree, name)
        if name != "slots":
            new[tuple(map(slice, old.shape))] = old
    return larger
