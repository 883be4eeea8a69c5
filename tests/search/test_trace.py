"""A simulation that is told of is one that happened."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from azero.evaluators.rollout import RolloutEvaluator
from azero.games import load_game
from azero.games.game import state_after
from azero.search.forest import Forest, SearchOptions
from azero.search.gumbel import Gumbel, considered_visits
from azero.search.kernels import Place, choose_edge, edge_scores, explain_choice
from azero.search.puct import PUCT
from azero.search.rave import RAVE
from azero.search.trace import Choice, Simulation, trace_simulation
from azero.search.uct import UCB1, UCT, Flat, UCTByNode
from azero.search.view import TreeView, view
from azero.search.widening import Widening

GAMES = ["tictactoe", "connect4"]
RULES = [UCT(), PUCT()]
SHARED = ["states", "symmetries"]


def planted(game: str, rule: Any, *moves: int, transpositions: str = "none") -> Forest[Any]:
    loaded = load_game(game)
    forest = Forest(loaded, RolloutEvaluator(), rule, options=SearchOptions(transpositions=transpositions))
    forest.set_root(0, state_after(loaded, moves), 3)
    return forest


def traces(num: int, *moves: int) -> list[Simulation[Any]]:
    forest = planted("tictactoe", UCT(), *moves)
    return [trace_simulation(forest) for _ in range(num)]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(("rule", "transpositions"), [(UCT(), "none"), (PUCT(), "none"), (UCT(), "symmetries")])
def test_a_traced_search_grows_the_same_tree(game: str, rule: Any, transpositions: str) -> None:
    traced, plain = (planted(game, rule, transpositions=transpositions) for _ in range(2))
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
    [(before, after, added)] = first.changes
    assert added == first.value == first.leaf.evaluation
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
        for choice in trace_simulation(forest).choices:
            assert choice.chosen in choice.edges
            assert choice.chosen.number == choose(rule, tree, choice.node)


def traced_choices(rule: Any, *moves: int, num: int = 150, game: str = "tictactoe") -> list[Choice[Any]]:
    forest = planted(game, rule, *moves)
    choices = []
    for _ in range(num):
        if forest.is_proven(0):
            break
        choices += trace_simulation(forest).choices
    return choices


def test_the_scores_of_uct_are_those_of_its_formula() -> None:
    for choice in traced_choices(UCT(0.7), 4, 0):
        for edge, score in zip(choice.edges, choice.scores, strict=True):
            if edge.proof:
                assert math.isnan(score)
            elif edge.visits == 0:
                assert score == math.inf
            else:
                bonus = 0.7 * math.sqrt(math.log(choice.num_visits) / edge.visits)
                assert score == pytest.approx((1 + edge.q) / 2 + bonus)


def places(tree: TreeView[Any]) -> Iterator[tuple[Place, Any]]:
    """Where a simulation might have to choose in a tree that is no graph, and the path to there."""
    for node in tree.nodes():
        first, last = (int(edge) for edge in tree.tree.first_edge[0, node.number : node.number + 2])
        if node.proof is None:
            path = np.array([edge.number for edge in node.path], np.int32)
            yield Place(node.number, first, last, node.visits, len(path)), path


@pytest.fixture(scope="module")
def tree() -> TreeView[Any]:
    """A tree with means over all moves, made up at random."""
    forest = planted("tictactoe", UCT(), 4, 0)
    forest.grow(0, 600)
    random = np.random.default_rng(0)
    visits = random.integers(0, 3, (1, forest.tree.nodes.shape[1], 18), np.int32)
    total = (visits * random.uniform(-1, 1, visits.shape)).astype(np.float32)
    return replace(view(forest), tree=forest.tree._replace(amaf_visits=visits, amaf_total=total))


@pytest.mark.parametrize(
    "rule",
    [UCT(), UCB1(), PUCT(forced_visits=2.0), PUCT(fpu_value=-1.0), RAVE(50.0), RAVE(0.0), Widening(UCT()), Gumbel()],
)
def test_the_first_edge_with_the_largest_score_is_followed(tree: TreeView[Any], rule: Any) -> None:
    num_with_proof = 0
    for place, path in places(tree):
        if isinstance(rule, Gumbel) and place.depth == 1:
            continue  # its plan comes first
        scores = edge_scores(rule, tree.tree, 0, place, path)
        assert choose_edge(rule, tree.tree, 0, place, path) == place.first + np.nanargmax(scores)
        proven = tree.tree.proven[0, place.first : place.last] == 1
        assert np.isnan(scores[proven]).all()
        num_with_proof += proven.any()
    assert num_with_proof > 0


def test_a_rule_without_a_score_shows_none_and_says_nothing(tree: TreeView[Any]) -> None:
    for place, path in places(tree):
        assert np.isnan(edge_scores(Flat(), tree.tree, 0, place, path)).all()
        assert explain_choice(Flat(), tree.tree, 0, place, path) == ""


def test_gumbel_says_what_is_due_at_the_root(tree: TreeView[Any]) -> None:
    rule = Gumbel(num_considered=4, num_simulations=3000)
    root, path = next(places(tree))
    due = considered_visits(root.num_visits - 1, 4, 3000)
    note = explain_choice(rule, tree.tree, 0, root, path)
    assert note == f"sequential halving: an action with {due} visits is due, or with the most below that"
    scores = edge_scores(rule, tree.tree, 0, root, path)
    visits = tree.tree.visits[0, root.first : root.last]
    most = np.where(np.isnan(scores) | (visits > due), -1, visits).max()
    followed = choose_edge(rule, tree.tree, 0, root, path) - root.first
    assert visits[followed] == most >= 0
    assert scores[followed] == np.nanmax(scores[visits == most])
    assert {explain_choice(rule, tree.tree, 0, *deeper) for deeper in places(tree) if deeper[0].depth > 1} == {""}


def test_widening_says_how_many_actions_are_open(tree: TreeView[Any]) -> None:
    rule = Widening(UCT(), 0.3)
    notes = set()
    for place, path in places(tree):
        num_open = int(explain_choice(rule, tree.tree, 0, place, path).split()[1])
        scores = edge_scores(rule, tree.tree, 0, place, path)
        assert np.isnan(scores[num_open:]).all()
        num_chosen_from = max(1, int(0.3 * place.num_visits**0.5))
        assert np.count_nonzero(~np.isnan(scores)) <= num_chosen_from <= max(num_open, num_chosen_from)
        notes.add(num_open)
    assert len(notes) > 2


def test_all_children_at_once_say_where_no_score_counts() -> None:
    forest = planted("connect4", UCTByNode())
    forest.grow(0, 1 + 7 + 2)  # the root, its children, and the first two children of one of these
    notes = [
        explain_choice(UCTByNode(), forest.tree, 0, *place) for place in places(view(forest)) if place[0].depth < 3
    ]
    assert notes[0] == "on the way to a node whose other children are tried first"
    forest.grow(0, 1 + 7 + 7)
    assert explain_choice(UCTByNode(), forest.tree, 0, *next(places(view(forest)))) == ""


def test_the_path_goes_by_the_choices_from_the_root_to_the_leaf() -> None:
    for simulation in traces(60):
        assert [choice.node.depth for choice in simulation.choices] == list(range(simulation.leaf.depth))
        chosen = [choice.chosen.number for choice in simulation.choices]
        assert [edge.number for edge in simulation.leaf.path[1:]] == chosen


def test_backup_adds_one_visit_and_the_value_from_each_choosers_side() -> None:
    for simulation in traces(120, 4, 0):
        leaf = simulation.leaf
        assert [change.after for change in simulation.changes] == list(reversed(leaf.path))
        for before, after, added in simulation.changes:
            sign = 1 if after.chooser == leaf.player else -1
            assert after.visits == before.visits + 1
            assert added == pytest.approx(sign * simulation.value) == pytest.approx(sign * leaf.evaluation)
            assert after.total == pytest.approx(before.total + added)


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


@pytest.mark.parametrize("transpositions", SHARED)
@pytest.mark.parametrize("game", GAMES)
def test_a_way_that_joins_a_node_is_told_in_the_orientation_of_the_game(game: str, transpositions: str) -> None:
    forest = planted(game, UCT(), transpositions=transpositions)
    num_joined = 0
    for _ in range(150):
        size = int(forest.tree.size[0])
        simulation = trace_simulation(forest)
        state = forest.roots[0]
        for choice in simulation.choices:
            assert choice.node.state == state
            state = forest.game.step(state, choice.chosen.action)
            num_joined += choice.joins
        assert simulation.leaf.state == state
        assert simulation.is_new == (forest.tree.size[0] == size + 1)
        assert all(abs(change.value) <= 1 for change in simulation.changes)
        assert all(change.after.visits == change.before.visits + 1 for change in simulation.changes)
    assert num_joined > 0


@pytest.mark.parametrize("transpositions", SHARED)
def test_a_simulation_may_end_where_another_way_has_proven_the_state(transpositions: str) -> None:
    forest = planted("tictactoe", UCT(), 0, 4, 8, transpositions=transpositions)
    ends = []
    while not forest.is_proven(0):
        simulation = trace_simulation(forest)
        if not simulation.is_new:
            ends.append(simulation)
    assert ends
    for simulation in ends:
        assert simulation.leaf.proof
        assert simulation.value == simulation.leaf.proof.value
        assert simulation.choices[-1].chosen.proof is None


def test_a_leaf_as_deep_as_may_be_is_valued_anew_each_time() -> None:
    forest = planted("tictactoe", Flat())
    again = [simulation for simulation in (trace_simulation(forest) for _ in range(80)) if not simulation.is_new]
    assert len(again) == 70
    assert {simulation.leaf.depth for simulation in again} == {1}
    assert any(simulation.value != simulation.leaf.evaluation for simulation in again)


def test_there_is_no_simulation_to_trace_below_a_proven_root() -> None:
    forest = planted("tictactoe", UCT(), 0, 3, 1, 4)
    forest.grow(0, 100)
    assert forest.is_proven(0)
    with pytest.raises(ValueError, match="the root is proven, so there is no simulation left to trace"):
        trace_simulation(forest)
