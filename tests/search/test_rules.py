"""Each selection rule: its formula by hand on a small table, and what it is for."""

import math
from typing import Any

import numpy as np
import pytest

from azero.evaluators.rollout import RolloutEvaluator
from azero.evaluators.uniform import UniformEvaluator
from azero.games.connect4 import Connect4
from azero.games.game import state_after
from azero.games.tictactoe import TicTacToe
from azero.search.forest import Forest, SearchOptions
from azero.search.gumbel import Gumbel, considered_visits
from azero.search.kernels import Place, choose_edge
from azero.search.mcts import MCTS, Budget
from azero.search.puct import PUCT
from azero.search.rave import RAVE
from azero.search.result import best_action, root_policy, root_preference
from azero.search.tree import Columns, Tree, allocate
from azero.search.uct import UCB1, UCT, Flat, UCTByNode
from azero.search.widening import Widening
from tests.search.test_mcts import Constant

C4, TTT = Connect4(), TicTacToe()
ROOT_PATH = np.zeros(4, np.int32)


def small_tree(visits: list[int], totals: list[float], priors: list[float] | None = None, value: float = 0.0) -> Tree:
    """A root with these edges, of actions 0, 1, ..."""
    num = len(visits)
    tree = allocate(1, 8, 16, Columns(amaf=2 * num))
    tree.size[0] = tree.first_edge[0, 0] = 1
    tree.first_edge[0, 1] = 1 + num
    tree.value[0, 0], tree.plies[0, 0], tree.child[0, 0] = value, -1, 0
    edges = slice(1, 1 + num)
    tree.visits[0, edges], tree.total[0, edges] = visits, totals
    tree.prior[0, edges] = priors or [1 / num] * num
    tree.action[0, edges] = range(num)
    tree.visits[0, 0] = 1 + sum(visits)
    return tree


def chosen(rule: Any, tree: Tree) -> int:
    """The action that a rule follows at the root."""
    first, last = (int(edge) for edge in tree.first_edge[0, :2])
    return choose_edge(rule, tree, 0, Place(0, first, last, int(tree.visits[0, 0]), 1), ROOT_PATH) - first


def test_uct_by_hand() -> None:
    # N = 10: Q + c sqrt(ln 10 / n) = 0.75 + 1.517 c / sqrt(4), 0.6 + 1.517 c / sqrt(5)
    tree = small_tree([4, 5], [2.0, 1.0])
    assert chosen(UCT(0.0), tree) == 0
    # 0.75 + 0.759 = 1.509 against 0.6 + 0.679 = 1.279; with three visits less on the second: 0.6 + 1.073 c
    assert chosen(UCT(1.0), tree) == 0
    tree = small_tree([7, 2], [3.5, 0.4])  # 0.75 + 0.573 c against 0.6 + 1.073 c: even at c = 0.3
    assert [chosen(UCT(c), tree) for c in (0.29, 0.31)] == [0, 1]


def test_a_draw_is_half_a_win_to_uct() -> None:
    # Two draws weigh as much as a win and a loss.
    tree = small_tree([2, 2], [0.0, 0.0])
    assert chosen(UCT(), tree) == 0
    assert chosen(UCT(), small_tree([2, 2], [0.0, 0.01])) == 1


def test_all_children_of_a_new_node_are_tried_at_once() -> None:
    forest = Forest(C4, RolloutEvaluator(), UCTByNode(), options=SearchOptions(proven_values=False))
    forest.set_root(0, C4.initial_state(), 1)
    forest.grow(0, 1 + 21 * 7)  # the root, and 21 times the children of a node
    tree = forest.tree
    complete = 0
    for node in range(int(tree.size[0])):
        edges = slice(*(int(edge) for edge in tree.first_edge[0, node : node + 2]))
        tried = int((tree.visits[0, edges] > 0).sum())
        assert tried in (0, edges.stop - edges.start)
        complete += tried > 0
    assert complete == 21


def test_flat_tries_the_least_visited_and_ucb1_stays_at_the_root() -> None:
    assert chosen(Flat(), small_tree([3, 2, 2], [0.0, 0.0, 5.0])) == 1
    for rule in (Flat(), UCB1()):
        forest = Forest(C4, RolloutEvaluator(), rule)
        forest.set_root(0, C4.initial_state(), 1)
        forest.grow(0, 141)
        assert forest.tree.size[0] == 8
    result = MCTS(C4, RolloutEvaluator(), Flat()).search(C4.initial_state(), Budget(140), 0)
    assert set(result.visit_counts) == {20}
    assert best_action(result, 0, "value") == result.actions[np.argmax(result.q)]


def test_ucb1_spends_more_on_what_looks_better() -> None:
    result = MCTS(C4, RolloutEvaluator(), UCB1(0.5)).search(C4.initial_state(), Budget(2000), 0)
    assert best_action(result, 0) == 3
    assert result.visit_counts.max() > 2 * result.visit_counts.min()


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # Edge 0: q 0.5; edge 1 unvisited, prior 0.4. N = 4, sqrt(N) = 2, growth ln(19657 / 19652) = 0.00025.
        # Edge 0: 0.5 + 1.25025 * 0.6 * 2 / 4 = 0.875. Edge 1: presumed + 1.25025 * 0.4 * 2 = presumed + 1.0002.
        (PUCT(fpu_value=-0.126), 0),
        (PUCT(fpu_value=-0.124), 1),
        # The node's mean is (0.2 + 1.5) / 4 = 0.425, the visited prior 0.6: 0.425 - r sqrt(0.6).
        (PUCT(fpu_reduction=0.70), 1),
        (PUCT(fpu_reduction=0.72), 0),
        (PUCT(fpu_reduction=0.0, root_fpu_reduction=0.72), 0),
        (PUCT(fpu_value=1.0, root_fpu_value=-0.126), 0),
        (PUCT(fpu_value=-1.0, root_fpu_reduction=0.0), 1),
    ],
)
def test_puct_and_first_play_urgency_by_hand(rule: PUCT, expected: int) -> None:
    assert chosen(rule, small_tree([3, 0], [1.5, 0.0], [0.6, 0.4], value=0.2)) == expected


def test_exploration_grows_with_the_visits() -> None:
    # At N = 19652 the logarithm adds ln 2: of q 0.1 and 0, priors 0.1 and 0.9, n 4000 and 15651.
    edges = ((0.1, 0.1, 4000), (0.0, 0.9, 15651))
    tree = small_tree([4000, 15651], [400.0, 0.0], [0.1, 0.9])

    def best(c: float) -> int:
        return int(np.argmax([q + c * p * math.sqrt(19652) / (1 + n) for q, p, n in edges]))

    # Even at c = 21.9: a c_puct just below it takes the second edge only when it grows.
    assert [best(c) for c in (21.5, 21.5 + math.log(2))] == [0, 1]
    assert [chosen(PUCT(21.5, c_base), tree) for c_base in (1e12, 19652.0)] == [0, 1]


def test_forced_visits_bring_a_tried_action_to_its_share_and_pruning_takes_them_back() -> None:
    # N = 100, k = 2: sqrt(2 * 0.1 * 100) = 4.47 visits are due to the second action, which looks bad.
    tree = small_tree([95, 4], [47.5, -4.0], [0.9, 0.1])
    assert chosen(PUCT(forced_visits=2.0), tree) == 1
    assert chosen(PUCT(), tree) == 0
    assert root_policy(PUCT(), tree, 0).tolist() == [95, 4]
    assert root_policy(PUCT(forced_visits=2.0), tree, 0).tolist() == [95, 0]
    untried = small_tree([99, 0], [49.5, 0.0], [0.9, 0.1])
    assert chosen(PUCT(forced_visits=2.0, fpu_value=-1.0), untried) == 0


def test_visits_that_were_earned_are_not_pruned() -> None:
    # Both look alike, so the second's visits are its own, up to what makes the scores even.
    tree = small_tree([50, 49], [5.0, 4.9], [0.5, 0.5])
    assert root_policy(PUCT(forced_visits=2.0), tree, 0)[1] >= 48


def test_rave_weighs_both_means_alike_when_the_visits_are_the_equivalence() -> None:
    # N = 9 = k: beta = 1/2. Action 0: q 0.5, as first 1.0 -> 0.75; action 1: q 0.7, as first 0.9 -> 0.8.
    tree = small_tree([4, 4], [0.0, 1.6])
    tree.amaf_visits[0, 0], tree.amaf_total[0, 0] = [10, 10, 0, 0], [10.0, 8.0, 0.0, 0.0]
    assert chosen(RAVE(9.0, c=0.0), tree) == 1
    tree.amaf_total[0, 0] = [10.0, 6.8, 0.0, 0.0]  # as first 0.84 -> 0.77
    assert chosen(RAVE(9.0, c=0.0), tree) == 1
    tree.amaf_total[0, 0] = [10.0, 5.8, 0.0, 0.0]  # as first 0.79 -> 0.745
    assert chosen(RAVE(9.0, c=0.0), tree) == 0


def test_grave_asks_an_ancestor_while_a_node_has_few_visits() -> None:
    tree = small_tree([20, 1], [10.0, 0.0])
    tree.size[0], tree.first_edge[0, 2] = 2, 5
    tree.child[0, 1], tree.plies[0, 1], tree.player[0, 1] = 1, -1, 0  # the same player moves again
    tree.visits[0, 3:5], tree.total[0, 3:5], tree.action[0, 3:5] = [1, 1], [0.0, 0.0], [0, 1]
    tree.amaf_visits[0, 0], tree.amaf_total[0, 0] = [5, 5, 0, 0], [5.0, 0.0, 0.0, 0.0]  # the root prefers 0
    tree.amaf_visits[0, 1], tree.amaf_total[0, 1] = [5, 5, 0, 0], [0.0, 5.0, 0.0, 0.0]  # the node itself 1
    place, path = Place(1, 3, 5, 20, 2), np.array([0, 1, 0, 0], np.int32)
    assert choose_edge(RAVE(100.0, ref=21, c=0.0), tree, 0, place, path) == 3
    assert choose_edge(RAVE(100.0, ref=20, c=0.0), tree, 0, place, path) == 4


def test_rave_is_refused_where_it_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="num_rollouts=1"):
        MCTS(TTT, RolloutEvaluator(num_rollouts=2), RAVE())
    with pytest.raises(ValueError, match="rollouts"):
        MCTS(TTT, UniformEvaluator(), RAVE())
    with pytest.raises(ValueError, match="keep their meaning"):
        MCTS(TTT, RolloutEvaluator(), RAVE(), SearchOptions(transpositions="symmetries"))


@pytest.mark.parametrize(
    ("considered", "simulations", "schedule"),
    [
        # Two rounds: four actions get one visit each, then two of them two more each.
        (4, 8, [0, 0, 0, 0, 1, 1, 2, 2]),
        # Three rounds of 8 / (3 * 8) -> 1, 1, and then of 8 // (3 * 2) = 1 for two: there are only eight.
        (8, 8, [0] * 8),
        # 16 simulations on seven actions: ceil(log2 7) = 3 rounds; 7 once, 3 once, then 2 twice each.
        (7, 16, [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4]),
        (2, 6, [0, 0, 1, 1, 2, 2]),
        (3, 2, [0, 0]),
        (1, 4, [0, 1, 2, 3]),
    ],
)
def test_sequential_halving_by_hand(considered: int, simulations: int, schedule: list[int]) -> None:
    assert [considered_visits(i, considered, simulations) for i in range(simulations)] == schedule


def test_completed_values_and_the_improved_policy_by_hand() -> None:
    # v_mix = (0.2 + 3 * (0.5 * 0.4 + 0.25 * -0.2) / 0.75) / 4 = 0.2; sigma = (50 + 2) * 0.1 / 2 * q = 2.6 q
    tree = small_tree([2, 1, 0], [0.8, -0.2, 0.0], [0.5, 0.25, 0.25], value=0.2)
    rule = Gumbel(c_scale=0.1, noise=0.0)
    logits = np.log([0.5, 0.25, 0.25]) + 2.6 * np.array([0.4, -0.2, 0.2])
    np.testing.assert_allclose(root_policy(rule, tree, 0), np.exp(logits) / np.exp(logits).sum(), rtol=1e-6)
    np.testing.assert_allclose(root_preference(rule, tree, 0), logits, rtol=1e-6)
    # Below the root: the policy less n / (1 + 3).
    place = Place(0, 1, 4, 4, 2)
    shares = np.exp(logits) / np.exp(logits).sum() - np.array([2, 1, 0]) / 4
    assert choose_edge(rule, tree, 0, place, ROOT_PATH) == 1 + int(np.argmax(shares))


def test_gumbel_needs_two_simulations_and_their_number() -> None:
    searcher = MCTS(C4, Constant([0.1, 0.1, 0.4, 0.2, 0.1, 0.05, 0.05]), Gumbel(noise=0.0))
    result = searcher.search(C4.initial_state(), Budget(2), 0)
    assert set(result.actions[result.visit_counts > 0]) == {2, 3}
    assert result.policy(7).sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="needs their number"):
        searcher.search(C4.initial_state(), Budget(seconds=0.1), 0)
    assert searcher.search(C4.initial_state(), Budget(9), 0).visit_counts.sum() == 9


@pytest.mark.compiled
def test_gumbel_noise_draws_actions_in_proportion_to_the_priors() -> None:
    # With nothing to choose between the values, the top action of g + ln P is a draw from P.
    searcher = MCTS(TTT, Constant([8, 1, 1, 1, 1, 1, 1, 1, 1]), Gumbel(num_considered=1))
    counts = np.zeros(9)
    for stream in range(2000):
        counts[best_action(searcher.search(TTT.initial_state(), Budget(1), stream), stream)] += 1
    assert abs(counts[0] / 2000 - 0.5) < 0.04
    assert (counts[1:] > 70).all()


@pytest.mark.compiled
def test_gumbel_finds_a_win_that_the_prior_hides() -> None:
    searcher = MCTS(C4, RolloutEvaluator(), Gumbel(noise=0.0))
    for stream in range(20):
        assert best_action(searcher.search(state_after(C4, [3, 0, 3, 0, 3, 1]), Budget(32), stream), stream) == 3


def test_widening_opens_one_action_after_the_other_best_prior_first() -> None:
    priors = [0.05, 0.1, 0.3, 0.25, 0.15, 0.1, 0.05]
    for simulations, num_open in ((1, 1), (8, 3), (24, 5), (80, 7)):  # sqrt(N), N = simulations + the root itself
        searcher = MCTS(C4, Constant(priors), Widening(PUCT(c_puct=100.0)), SearchOptions(proven_values=False))
        result = searcher.search(C4.initial_state(), Budget(simulations), 0)
        visited = result.actions[result.visit_counts > 0]
        assert len(visited) <= num_open
        assert set(visited) <= set(np.argsort(-np.array(priors), kind="stable")[:num_open].tolist()) | {1, 5, 0, 6}
    assert len(visited) == 7


def test_widening_in_random_order_is_fair() -> None:
    searcher = MCTS(TTT, Constant([1] * 9), Widening(UCT(), random_order=True))
    first = np.zeros(9)
    for stream in range(450):
        searcher.reset()
        result = searcher.search(TTT.initial_state(), Budget(1), stream)
        first[result.actions[np.argmax(result.visit_counts)]] += 1
    assert ((first - 50) ** 2 / 50).sum() < 26.1  # chi-square, 8 degrees of freedom, p > 0.001


@pytest.mark.parametrize(
    ("rule", "reason"),
    [(Gumbel(), "narrows the root's actions itself"), (UCTByNode(), "opposite"), (UCB1(), "too little to widen")],
)
def test_widening_what_has_its_own_order_is_refused(rule: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        MCTS(TTT, UniformEvaluator(), Widening(rule))


@pytest.mark.parametrize("rule", [Flat(), UCB1()])
def test_what_never_goes_deeper_than_the_root_starts_each_search_afresh(rule: Any) -> None:
    searcher = MCTS(TTT, RolloutEvaluator(), rule)
    for stream in range(2):
        assert searcher.search(TTT.initial_state(), Budget(30), stream).visit_counts.sum() == 30


def test_a_kept_tree_keeps_its_means_over_all_moves() -> None:
    searcher = MCTS(TTT, RolloutEvaluator(), RAVE())
    searcher.search(TTT.initial_state(), Budget(300), 0)
    tree = searcher.forest.tree
    edge = 1 + int(np.flatnonzero(tree.action[0, 1:10] == 4)[0])
    child = tree.child[0, edge]
    before = tree.amaf_visits[0, child].copy(), tree.amaf_total[0, child].copy()
    assert before[0].any()
    searcher.advance(4)
    after = searcher.forest.tree
    np.testing.assert_array_equal(after.amaf_visits[0, 0], before[0])
    np.testing.assert_array_equal(after.amaf_total[0, 0], before[1])


def test_where_states_are_shared_forced_visits_are_of_all_visits_of_the_root() -> None:
    tree = small_tree([95, 4], [47.5, -4.0], [0.9, 0.1])
    tree = tree._replace(state=np.zeros((1, tree.nodes.shape[1], 1), np.int64))
    tree.visits[0, 0], tree.node_visits[0, 0] = 10, 100  # a tree that was kept: most came to the root another way
    assert root_policy(PUCT(forced_visits=2.0), tree, 0).tolist() == [95, 0]
