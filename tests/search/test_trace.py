"""A simulation that is told of is one that happened."""

from typing import Any

import numpy as np
import pytest

from azero.evaluators.rollout import RolloutEvaluator
from azero.games import load_game
from azero.games.game import state_after
from azero.search.forest import Forest, SearchOptions
from azero.search.kernels import Place
from azero.search.puct import PUCT
from azero.search.trace import Simulation, trace_simulation
from azero.search.uct import UCT
from azero.search.view import view

GAMES = ["tictactoe", "connect4"]
RULES = [UCT(), PUCT()]


def planted(game: str, rule: Any, *moves: int) -> Forest[Any]:
    loaded = load_game(game)
    forest = Forest(loaded, RolloutEvaluator(), rule)
    forest.set_root(0, state_after(loaded, moves), 3)
    return forest


def traces(num: int, *moves: int) -> list[Simulation[Any]]:
    forest = planted("tictactoe", UCT(), *moves)
    return [trace_simulation(forest) for _ in range(num)]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("rule", RULES)
def test_a_traced_search_grows_the_same_tree(game: str, rule: Any) -> None:
    traced, plain = planted(game, rule), planted(game, rule)
    for _ in range(80):
        trace_simulation(traced)
    plain.grow(0, 80)
    num_nodes, num_edges = plain.tree.size[0], plain.tree.first_edge[0, plain.tree.size[0]]
    assert traced.tree.size[0] == num_nodes
    for name in ("visits", "total", "child", "prior", "action"):
        of_traced, of_plain = (getattr(forest.tree, name)[0, :num_edges] for forest in (traced, plain))
        np.testing.assert_array_equal(of_traced, of_plain)


def test_the_first_simulation_plants_the_root() -> None:
    first = traces(1)[0]
    assert (first.number, first.choices, first.is_new, first.leaf.depth) == (0, [], True, 0)
    [(before, after)] = first.changes
    assert (before.visits, before.total, before.child) == (0, 0.0, -1)
    assert (after.visits, after.total, after.child) == (1, first.leaf.evaluation, 0)


def choose(rule: Any, tree: Any, node: Any) -> int:
    """The edge that the rule follows from a node, on the path to it."""
    first, last = (int(edge) for edge in tree.first_edge[0, node.number : node.number + 2])
    path = np.array([edge.number for edge in node.path], np.int32)
    return int(rule.choose_edge(tree, 0, Place(node.number, first, last, node.visits - 1, len(path)), path))


@pytest.mark.parametrize("rule", RULES)
def test_each_choice_is_the_one_that_the_rule_makes(rule: Any) -> None:
    forest = planted("connect4", rule)
    for _ in range(60):
        tree = forest.tree._make(array.copy() for array in forest.tree)
        for node, edges, chosen in trace_simulation(forest).choices:
            assert chosen in edges
            assert chosen.number == choose(rule, tree, node)


def test_the_path_goes_by_the_choices_from_the_root_to_the_leaf() -> None:
    for simulation in traces(60):
        assert [node.depth for node, _, _ in simulation.choices] == list(range(simulation.leaf.depth))
        chosen = [chosen.number for _, _, chosen in simulation.choices]
        assert [edge.number for edge in simulation.leaf.path[1:]] == chosen


def test_backup_adds_one_visit_and_the_value_from_each_choosers_side() -> None:
    for simulation in traces(120, 4, 0):
        leaf = simulation.leaf
        assert [after for _, after in simulation.changes] == list(reversed(leaf.path))
        for before, after in simulation.changes:
            sign = 1 if after.chooser == leaf.player else -1
            assert after.visits == before.visits + 1
            assert after.total == pytest.approx(before.total + sign * leaf.evaluation)


def test_a_finished_game_is_planted_once_and_visited_again() -> None:
    game = load_game("tictactoe")
    forest = Forest(game, RolloutEvaluator(), UCT(), options=SearchOptions(proven_values=False))
    forest.set_root(0, state_after(game, [4, 0, 8, 2]), 3)
    found = [trace_simulation(forest) for _ in range(120)]
    simulations = [simulation for simulation in found if game.is_terminal(simulation.leaf.state)]
    planted = [simulation for simulation in simulations if simulation.is_new]
    again = [simulation for simulation in simulations if not simulation.is_new]
    assert planted
    assert again
    assert len({simulation.leaf.number for simulation in planted}) == len(planted)
    assert {simulation.leaf.number for simulation in again} <= {simulation.leaf.number for simulation in planted}


def test_any_tree_of_a_forest_can_be_traced() -> None:
    forest: Forest[Any] = Forest(load_game("tictactoe"), RolloutEvaluator(), UCT(), num_trees=2)
    forest.set_root(0, forest.game.initial_state(), 0)
    forest.set_root(1, state_after(forest.game, [4]), 1)
    for number in range(9):
        assert trace_simulation(forest, 1).number == number
    assert forest.tree.size.tolist() == [0, 9]
    assert view(forest, 1).root.visits == 9
