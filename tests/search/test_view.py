"""What is told of a tree is what is in it."""

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from azero.evaluators.rollout import RolloutEvaluator
from azero.evaluators.scripted import ScriptedEvaluator
from azero.games import load_game
from azero.games.game import state_after
from azero.games.tictactoe import TicTacToe
from azero.search.forest import Forest, SearchOptions
from azero.search.puct import PUCT
from azero.search.result import Proof, search_result
from azero.search.uct import UCT
from azero.search.view import TreeView, value_text, view

TTT, _UCT = TicTacToe(), UCT()


def grown(
    num_simulations: int, *moves: int, game: str = "tictactoe", rule: Any = _UCT, transpositions: str = "none"
) -> Forest[Any]:
    """A forest whose tree 0 has been searched."""
    loaded = load_game(game)
    forest = Forest(loaded, RolloutEvaluator(), rule, options=SearchOptions(transpositions=transpositions))
    forest.set_root(0, state_after(loaded, moves), 7)
    forest.grow(0, num_simulations + 1)
    return forest


@pytest.fixture
def tree() -> TreeView[Any]:
    return view(grown(300, 4, 0))


def test_the_root_is_the_position_with_all_visits(tree: TreeView[Any]) -> None:
    root = tree.root
    assert (root.state, root.player, root.depth, root.visits) == (state_after(TTT, [4, 0]), 0, 0, 301)
    assert sum(edge.visits for edge in tree.edges(root)) == 300


def test_edges_are_the_legal_actions_with_what_the_search_reports() -> None:
    forest = grown(300, 4, 0, rule=PUCT())
    result = search_result(forest, 0, 300, 0.0)
    edges = view(forest).edges(view(forest).root)
    assert [edge.action for edge in edges] == result.actions.tolist()
    assert [edge.visits for edge in edges] == result.visit_counts.tolist()
    assert [edge.prior for edge in edges] == result.prior.tolist()
    np.testing.assert_allclose([edge.q for edge in edges], result.q, rtol=1e-6)


def test_q_can_be_told_from_either_side(tree: TreeView[Any]) -> None:
    edge = max(tree.edges(tree.root))
    assert edge.q != 0
    assert edge.q_for(0) == edge.q == -edge.q_for(1)


def test_an_unvisited_edge_has_no_q() -> None:
    tree = view(grown(1))
    assert sorted(edge.q != 0 for edge in tree.edges(tree.root) if edge.visits == 0) == [False] * 8


def test_nodes_come_by_visits_each_once_and_after_its_parent(tree: TreeView[Any]) -> None:
    nodes = list(tree.nodes())
    visits = [node.visits for node in nodes]
    assert visits == sorted(visits, reverse=True)
    assert sorted(node.number for node in nodes) == list(range(tree.tree.size[0]))
    seen = set()
    for node in nodes:
        assert node.depth == 0 or node.path[-2].child in seen
        seen.add(node.number)


def test_a_node_is_the_state_that_its_path_leads_to(tree: TreeView[Any]) -> None:
    for node in tree.nodes():
        state = tree.root_state
        for edge in node.path[1:]:
            assert edge.chooser == TTT.current_player(state)
            state = TTT.step(state, edge.action)
        assert node.state == state
        assert node.player == TTT.current_player(state)
        assert [edge.action for edge in tree.edges(node)] == list(TTT.legal_actions(state))


def test_the_visits_of_a_node_are_its_own_and_those_of_its_edges(tree: TreeView[Any]) -> None:
    for node in tree.nodes():
        if edges := tree.edges(node):
            assert node.visits == 1 + sum(edge.visits for edge in edges)


@pytest.mark.parametrize("game", ["tictactoe", "connect4"])
def test_the_first_principal_variation_is_that_of_the_search(game: str) -> None:
    for num_simulations in (1, 2, 30, 300):
        forest = grown(num_simulations, game=game)
        lines = view(forest).principal_variations(3)
        assert tuple(edge.action for edge in lines[0]) == search_result(forest, 0, 0, 0.0).principal_variation
        assert len(lines) == min(3, num_simulations)
        assert [line[0].visits for line in lines] == sorted((line[0].visits for line in lines), reverse=True)


def test_principal_variations_go_on_with_the_most_visited_reply(tree: TreeView[Any]) -> None:
    for line in tree.principal_variations(7):
        node = tree.root
        for edge, reply in pairwise(line):
            node = tree.follow(node, edge)
            assert reply.visits == max(other.visits for other in tree.edges(node))
        if line[-1].child >= 0:
            assert all(edge.visits == 0 for edge in tree.edges(tree.follow(node, line[-1])))


def test_statistics_count_what_is_there(tree: TreeView[Any]) -> None:
    nodes, statistics = list(tree.nodes()), tree.statistics()
    depths = Counter(node.depth for node in nodes)
    legal = [len(TTT.legal_actions(node.state)) for node in nodes]
    tried = [num for node in nodes if (num := len(list(tree.children(node))))]
    assert statistics.num_nodes == len(nodes) == tree.tree.size[0]
    assert statistics.num_states == len({node.state for node in nodes}) < len(nodes)
    assert statistics.num_proven == sum(node.proof is not None for node in nodes) > statistics.num_finished
    assert statistics.num_finished == legal.count(0) > 0
    assert statistics.nodes_at_depth == tuple(depths[depth] for depth in range(len(depths)))
    assert statistics.mean_depth == pytest.approx(np.mean([node.depth for node in nodes]))
    assert statistics.mean_legal == pytest.approx(np.mean([num for num in legal if num]))
    assert statistics.mean_tried == pytest.approx(np.mean(tried))


def test_statistics_of_a_lone_root() -> None:
    statistics = view(grown(0)).statistics()
    assert statistics == (1, 1, 0, 0, (1,), 9.0, 0.0)
    assert statistics.mean_depth == 0


def test_looking_changes_nothing() -> None:
    forest = grown(100)
    before = [array.copy() for array in forest.tree]
    tree = view(forest)
    list(tree.nodes())
    tree.principal_variations(3)
    tree.statistics()
    for old, new in zip(before, forest.tree, strict=True):
        np.testing.assert_array_equal(old, new)


def test_each_tree_of_a_forest_can_be_looked_at() -> None:
    forest: Forest[Any] = Forest(TTT, ScriptedEvaluator(lambda state: ([1.0] * 9, 0.0)), PUCT(), num_trees=2)
    for b, moves in enumerate(([], [4])):
        forest.set_root(b, state_after(TTT, moves), b)
    for _ in range(4):
        forest.simulate(np.array([0, 1], np.int32))
    assert [view(forest, b).root.state for b in (0, 1)] == [TTT.initial_state(), state_after(TTT, [4])]
    assert [len(view(forest, b).edges(view(forest, b).root)) for b in (0, 1)] == [9, 8]


@pytest.mark.parametrize(("value", "text"), [(-0.001, "+0.00"), (0.0, "+0.00"), (-1.0, "-1.00"), (0.256, "+0.26")])
def test_values_are_written_with_their_sign_and_never_minus_zero(value: float, text: str) -> None:
    assert value_text(value) == text


SHARED = ["states", "symmetries"]


@pytest.mark.parametrize("transpositions", SHARED)
@pytest.mark.parametrize("game", ["tictactoe", "connect4"])
def test_a_shared_node_comes_once_and_after_a_node_that_leads_to_it(game: str, transpositions: str) -> None:
    tree = view(grown(500, game=game, transpositions=transpositions))
    nodes, seen = list(tree.nodes()), {-1}
    num_ways = sum(edge.child >= 0 for node in nodes for edge in tree.edges(node))
    assert num_ways > len(nodes)
    assert sorted(node.number for node in nodes) == list(range(tree.tree.size[0]))
    for node in nodes:
        assert node.depth == 0 or node.path[-2].child in seen
        seen.add(node.number)
    statistics = tree.statistics()
    assert statistics.num_states == statistics.num_nodes == len(nodes)


@pytest.mark.parametrize("transpositions", ["none", *SHARED])
@pytest.mark.parametrize("game", ["tictactoe", "connect4"])
def test_states_and_actions_are_those_of_the_game_and_not_of_mirror_images(game: str, transpositions: str) -> None:
    forest = grown(400, game=game, transpositions=transpositions)
    tree = view(forest)
    for node in tree.nodes():
        state = tree.root_state
        for edge in node.path[1:]:
            state = tree.game.step(state, edge.action)
        assert node.state == state
        assert [edge.action for edge in tree.edges(node)] == list(tree.game.legal_actions(state))
        for edge in tree.edges(node):  # its edge leads where the tree's own edge leads
            if edge.child >= 0:
                child = tree.follow(node, edge)
                assert child.player == tree.game.current_player(child.state)
                assert len(tree.edges(child)) == len(tree.game.legal_actions(child.state))
    line = tree.principal_variations(1)[0]
    assert tuple(edge.action for edge in line) == search_result(forest, 0, 0, 0.0).principal_variation


def test_a_shared_node_has_the_visits_of_all_ways_to_it() -> None:
    tree = view(grown(500, transpositions="states"))
    by_way: Counter[int] = Counter()
    nodes = list(tree.nodes())
    for node in nodes:
        by_way.update({edge.child: edge.visits for edge in tree.edges(node) if edge.child >= 0})
    assert all(node.visits == by_way[node.number] for node in nodes[1:])
    assert max(node.visits - node.path[-1].visits for node in nodes) > 0


def solve(state: Any) -> float:
    """The value of a tic-tac-toe state for the player to move."""
    if TTT.is_terminal(state):
        return TTT.outcome(state)
    below = (TTT.step(state, action) for action in TTT.legal_actions(state))
    return max(-solve(child) for child in below)


@pytest.mark.parametrize("transpositions", ["none", *SHARED])
def test_proofs_are_told_of_nodes_for_their_player_and_of_edges_for_their_chooser(transpositions: str) -> None:
    tree = view(grown(300, 4, 0, 8, transpositions=transpositions))
    proven = [node for node in tree.nodes() if node.proof]
    assert {node.proof.text() for node in proven if node.proof} >= {"win in 1", "loss in 0", "draw"}
    for node in proven:
        assert node.proof
        assert node.proof.value == node.evaluation == solve(node.state)
        if (proof := node.path[-1].proof) is not None:
            assert proof == Proof(-node.proof.value, node.proof.plies + 1)
    assert tree.root.path[0].proof is None
