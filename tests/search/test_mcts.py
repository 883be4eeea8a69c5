"""What a search must get right, mostly from faults reported of other frameworks."""

import math
import sys
from typing import Any

import numpy as np
import pytest

from azero._jit import draw
from azero.evaluators.evaluator import Evaluation, EvaluatorError
from azero.evaluators.rollout import HeuristicPolicy, RolloutEvaluator
from azero.games.connect4 import Connect4
from azero.games.game import Game, GameOverError, state_after
from azero.games.tictactoe import TicTacToe
from azero.search.forest import Forest
from azero.search.mcts import MCTS, Budget
from azero.search.noise import DirichletNoise, add_root_noise
from azero.search.puct import PUCT
from azero.search.result import SearchResult, best_action, sample_action, search_result
from azero.search.uct import UCT

C4, TTT = Connect4(), TicTacToe()


class Subtraction(Game[tuple[int, int]]):
    """One heap; take 1 to 3; whoever takes the last wins. A game in plain Python."""

    name = "subtraction"
    num_actions = 3

    def __init__(self, heap: int) -> None:
        self.heap = self.max_game_length = heap

    def initial_state(self) -> tuple[int, int]:
        return self.heap, 0

    def current_player(self, state: tuple[int, int]) -> int:
        return state[1]

    def legal_actions(self, state: tuple[int, int]) -> list[int]:
        return list(range(min(3, state[0])))

    def step(self, state: tuple[int, int], action: int) -> tuple[int, int]:
        return state[0] - action - 1, 1 - state[1]

    def outcome(self, state: tuple[int, int]) -> float:
        return -1.0


class Constant:
    """The same policy, by action, and the same value for every state."""

    def __init__(self, policy: Any, value: float = 0.0) -> None:
        self.policy, self.value = np.asarray(policy, np.float32), value

    def evaluate(self, batch: Any) -> Evaluation:
        return Evaluation(np.tile(self.policy, (len(batch), 1)), np.full(len(batch), self.value, np.float32))


def uct_search(game: Any, actions: list[int], simulations: int, stream: int = 0, **options: Any) -> SearchResult:
    searcher = MCTS(game, RolloutEvaluator(**options), UCT())
    return searcher.search(state_after(game, actions), Budget(simulations), stream)


def q_of(result: SearchResult, action: int) -> float:
    return float(result.q[list(result.actions).index(action)])


@pytest.mark.compiled
def test_a_won_heap_is_valued_as_won_and_a_lost_one_as_lost() -> None:
    won = uct_search(Subtraction(15), [], 20_000)
    assert best_action(won, 0) == 2  # take 3
    assert won.value > 0.5
    assert uct_search(Subtraction(16), [], 20_000).value < -0.5


def test_an_immediate_win_has_value_one_for_whoever_moves() -> None:
    for actions in ([3, 0, 3, 0, 3, 1], [6, 3, 0, 3, 0, 3, 1]):  # X to move, then the same for O
        result = uct_search(C4, actions, 2000)
        assert best_action(result, 0) == 3
        assert q_of(result, 3) == 1
        assert result.value > 0.8


@pytest.mark.compiled
def test_every_action_but_the_block_is_lost_for_the_player_to_move() -> None:
    result = uct_search(C4, [3, 0, 3, 0, 3], 40_000)
    assert best_action(result, 0) == 3
    assert all(q_of(result, action) < -0.7 for action in (0, 1, 2, 4, 5, 6))


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("actions", "drawing"), [([4, 0, 3, 5, 7], {1}), ([0], {4}), ([0, 4, 8], {1, 3, 5, 7}), ([1], {0, 2, 4, 7})]
)
def test_a_draw_is_worth_more_than_a_loss(actions: list[int], drawing: set[int]) -> None:
    for stream in range(20):
        result = uct_search(TTT, actions, 5000, stream)
        assert best_action(result, stream) in drawing
        assert q_of(result, best_action(result, stream)) > -0.35


def test_a_finished_game_is_refused_with_its_result() -> None:
    with pytest.raises(GameOverError, match="X wins"):
        uct_search(TTT, [0, 3, 1, 4, 2], 10)


@pytest.mark.parametrize("simulations", [1, 2, 3, 8, 9, 10])
@pytest.mark.parametrize("c", [0.0, 1.4])
def test_visits_of_the_root_sum_to_the_simulations_and_each_action_is_tried_once(simulations: int, c: float) -> None:
    result = MCTS(TTT, RolloutEvaluator(), UCT(c)).search(TTT.initial_state(), Budget(simulations), 0)
    assert result.visit_counts.sum() == result.num_simulations == simulations
    assert result.visit_counts.max() <= 1 if simulations < 9 else result.visit_counts.min() == 1
    assert set(result.q[result.visit_counts == 1]) <= {-1.0, 0.0, 1.0}


def test_no_simulations_give_the_evaluators_own_policy() -> None:
    result = MCTS(TTT, Constant(np.arange(9)), PUCT()).search(TTT.initial_state(), Budget(simulations=0), 0)
    np.testing.assert_allclose(result.policy(9), np.arange(9) / 36, rtol=1e-6)
    assert best_action(result, 0) == 8


@pytest.mark.parametrize("limits", [{}, {"simulations": -5}, {"seconds": -0.1}, {"seconds": math.nan}])
def test_a_budget_without_limit_or_below_zero_is_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"simulations|seconds"):
        Budget(**limits)


@pytest.mark.parametrize("policy", [[1, 0, 0, 0, 0, 0, 0], [0] * 7])
def test_weight_on_illegal_actions_alone_falls_back_to_equal_priors(policy: list[float]) -> None:
    result = MCTS(C4, Constant(policy), PUCT()).search(state_after(C4, [0] * 6), Budget(50), 0)
    assert list(result.actions) == [1, 2, 3, 4, 5, 6]
    np.testing.assert_allclose(result.prior, 1 / 6, rtol=1e-6)


@pytest.mark.parametrize("answer", [Constant([math.nan] * 7), Constant([1] * 7, math.nan), Constant([1] * 6)])
def test_an_unusable_evaluation_names_the_evaluator(answer: Constant) -> None:
    with pytest.raises(EvaluatorError, match="Constant"):
        MCTS(C4, answer, PUCT())


@pytest.mark.compiled
def test_ties_are_broken_evenly_by_the_seed() -> None:
    searcher = MCTS(TTT, Constant([1] * 9), PUCT())
    counts = np.zeros(9)
    for stream in range(900):
        result = searcher.search(TTT.initial_state(), Budget(9), draw(7, stream))
        searcher.reset()
        counts[best_action(result, draw(8, stream))] += 1
    assert ((counts - 100) ** 2 / 100).sum() < 26.1  # chi-square, 8 degrees of freedom, p > 0.001


def result_with(visits: list[int], q: list[float] | None = None) -> SearchResult:
    size = len(visits)
    return SearchResult(
        np.arange(size, dtype=np.int32), np.array(visits, np.int32), np.array(q or [0.0] * size, np.float32),
        np.full(size, 1 / size, np.float32), (None,) * size, np.array(visits, np.float32) / sum(visits),
        np.array(q or [0.0] * size, np.float32), 0.0, None, (), sum(visits), 0.0,
    )  # fmt: skip


def test_the_final_action_is_decided_by_visits_then_value() -> None:
    assert best_action(result_with([500, 1], [0.1, 0.9]), 0) == 0
    assert {best_action(result_with([5, 5, 5], [0.1, 0.3, 0.2]), s) for s in range(20)} == {1}
    assert {best_action(result_with([5, 5]), s) for s in range(20)} == {0, 1}


@pytest.mark.parametrize(("temperature", "share"), [(1.0, 0.75), (0.5, 0.90), (2.0, 0.634)])
def test_temperature_shapes_the_frequencies(temperature: float, share: float) -> None:
    chosen = [sample_action(result_with([30, 10]), temperature, draw(3, i)) for i in range(10_000)]
    assert abs(chosen.count(0) / 10_000 - share) < 0.015


@pytest.mark.parametrize("temperature", [0.0, 1e-300, 1e-9, 1e-2])
def test_a_vanishing_temperature_takes_the_most_visited(temperature: float) -> None:
    assert {sample_action(result_with([10, 300_000, 0]), temperature, draw(1, i)) for i in range(50)} == {1}


def test_a_huge_temperature_draws_evenly_from_the_visited() -> None:
    chosen = [sample_action(result_with([1, 1000, 0]), 1e300, draw(1, i)) for i in range(2000)]
    assert chosen.count(2) == 0
    assert abs(chosen.count(0) / 2000 - 0.5) < 0.05


def test_a_negative_temperature_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        sample_action(result_with([1]), -1.0, 0)


def test_only_visited_actions_are_sampled() -> None:
    searcher = MCTS(C4, Constant([0, 0, 0, 0, 0, 1, 0]), PUCT())
    for stream in range(50):
        searcher.reset()
        result = searcher.search(C4.initial_state(), Budget(2), stream)
        assert result.visit_counts[sample_action(result, 1.0, stream)] > 0


def noisy_priors(actions: list[int], policy: list[float], stream: int, noise: DirichletNoise) -> Any:
    forest = Forest(C4, Constant(policy), PUCT())
    forest.set_root(0, state_after(C4, actions), stream)
    forest.grow(0, 1)
    add_root_noise(forest, 0, noise, stream)
    return search_result(forest, 0, 0, 0.0)


def test_root_noise_covers_the_legal_actions_alone_and_is_fresh_for_each_search() -> None:
    full = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    policy = [0.0, 0.0, 0.4, 0.3, 0.2, 0.1, 0.0]
    added = []
    for stream in range(2000):
        result = noisy_priors(full, policy, stream, DirichletNoise(weight=0.25))
        assert list(result.actions) == [2, 3, 4, 5, 6]
        assert abs(result.prior.sum() - 1) < 1e-6
        added.append((result.prior - 0.75 * np.array(policy[2:])) / 0.25)
    np.testing.assert_allclose(np.mean(added, axis=0), 0.2, atol=0.01)
    assert len({tuple(row) for row in added}) == 2000


@pytest.mark.parametrize("options", [{"weight": -0.1}, {"weight": 1.1}, {"concentration": 0.0}])
def test_noise_out_of_range_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="noise"):
        DirichletNoise(**options)


def test_noise_over_no_actions_is_no_noise() -> None:
    assert len(DirichletNoise().mix(np.zeros(0, np.float32), 1)) == 0


class Corridor(Subtraction):
    """Of many actions only the first is ever legal, but at the start a second one."""

    num_actions = 9

    def legal_actions(self, state: tuple[int, int]) -> list[int]:
        return [0, 1] if state[0] == self.heap else list(range(min(1, state[0])))


def test_a_subtree_that_nearly_fills_its_tree_is_kept() -> None:
    # It is copied into a new tree, whose room for edges must not be more than the old one's.
    game = Corridor(400)
    forest = Forest(game, Constant([1.0] + 8 * [0.0]), PUCT())
    forest.set_root(0, game.initial_state(), 0)
    forest.grow(0, 258)
    forest.keep_subtree(0, forest.root_edges(0).start, (399, 1))
    assert forest.tree.size[0] == 257
    forest.grow(0, 300)
    assert forest.tree.visits[0, 0] == 300


def test_a_kept_tree_that_ends_the_game_is_forgotten() -> None:
    searcher = MCTS(TTT, RolloutEvaluator(), UCT())
    state = state_after(TTT, [0, 3, 1, 4])
    searcher.search(state, Budget(100), 0)
    searcher.advance(2)
    with pytest.raises(GameOverError):
        searcher.search(TTT.step(state, 2), Budget(100), 0)
    assert searcher.search(TTT.initial_state(), Budget(100), 0).visit_counts.sum() == 100


def test_the_caller_s_state_is_left_alone() -> None:
    state = state_after(C4, [3, 3, 2])
    before = (hash(state), C4.state_text(state), C4.legal_actions(state))
    MCTS(C4, RolloutEvaluator(), UCT()).search(state, Budget(1000), 0)
    assert (hash(state), C4.state_text(state), C4.legal_actions(state)) == before


@pytest.mark.compiled
def test_a_game_of_three_thousand_actions_needs_no_recursion() -> None:
    limit = sys.getrecursionlimit()
    searcher = MCTS(Subtraction(3000), Constant([1, 0, 0]), PUCT())
    sys.setrecursionlimit(150)
    try:
        result = searcher.search((3000, 0), Budget(800), 0)
    finally:
        sys.setrecursionlimit(limit)
    assert len(result.principal_variation) > 700


def test_a_wrong_game_length_is_an_error_and_no_memory_fault() -> None:
    game = Subtraction(30)
    game.max_game_length = 5
    with pytest.raises(ValueError, match="max_game_length"):
        MCTS(game, RolloutEvaluator(), UCT()).search((30, 0), Budget(5000), 0)


@pytest.mark.compiled
@pytest.mark.parametrize(("actions", "simulations"), [([3, 0, 3, 0, 3, 1], 100), ([3, 0, 3, 0, 3], 1000)])
def test_a_win_in_one_and_a_forced_block_are_found_by_every_seed(actions: list[int], simulations: int) -> None:
    searcher = MCTS(C4, RolloutEvaluator(), UCT())
    for stream in range(100):
        searcher.reset()
        assert best_action(searcher.search(state_after(C4, actions), Budget(simulations), stream), stream) == 3


@pytest.mark.compiled
def test_the_open_two_is_answered_at_either_end() -> None:
    searcher = MCTS(C4, RolloutEvaluator(), UCT())
    found = 0
    for stream in range(50):
        searcher.reset()
        found += best_action(searcher.search(state_after(C4, [3, 3, 2]), Budget(4000), stream), stream) in (1, 4)
    assert found >= 48


@pytest.mark.compiled
def test_a_forced_win_within_seven_plies_is_found() -> None:
    # With random rollouts column 3, which wins later, looks as good.
    searcher = MCTS(C4, RolloutEvaluator(HeuristicPolicy()), UCT())
    state = state_after(C4, [0, 0, 4, 1, 1, 2, 6, 2, 2, 3])
    found = 0
    for stream in range(20):
        searcher.reset()
        found += best_action(searcher.search(state, Budget(3000), stream), stream) == 1
    assert found >= 19


def test_a_lost_position_is_still_defended_at_one_end() -> None:
    assert best_action(uct_search(C4, [3, 3, 2, 2, 4], 1000), 0) in (1, 5)


@pytest.mark.parametrize(
    ("actions", "chosen"), [([3, 0, 3, 0, 3, 1], {3}), ([3, 0, 3, 0, 3], {3}), ([3, 3, 2], set(range(7)))]
)
def test_heuristic_rollouts_win_at_once_else_block_else_play_at_random(actions: list[int], chosen: set[int]) -> None:
    state, buffers = state_after(C4, actions), np.zeros((3, 7), np.int32)
    choices = set()
    for number in range(200):
        buffers[0] = range(7)
        choices.add(HeuristicPolicy().choose_action(C4.rules, state, buffers[0], buffers, draw(5, number)))
    assert choices == chosen


def test_a_forced_action_ends_the_search_after_one_simulation() -> None:
    only = state_after(TTT, [0, 1, 2, 4, 3, 5, 7, 6])
    result = MCTS(TTT, RolloutEvaluator(), UCT()).search(only, Budget(100_000), 0)
    assert (result.num_simulations, list(result.policy(9))) == (1, [0, 0, 0, 0, 0, 0, 0, 0, 1])


@pytest.mark.parametrize(
    ("value", "reduction", "simulations", "num_tried"),
    [(-0.8, 0.0, 2, 1), (0.8, 0.0, 2, 2), (0.8, 0.0, 5, 5), (0.8, 1.0, 5, 3)],
)
def test_an_untried_action_is_worth_the_node_s_mean_less_the_reduction(
    value: float, reduction: float, simulations: int, num_tried: int
) -> None:
    # Every state has this value for whoever moves in it, so an action that was tried once looks like -value.
    searcher = MCTS(C4, Constant([1] * 7, value), PUCT(fpu_reduction=reduction))
    result = searcher.search(C4.initial_state(), Budget(simulations), 0)
    assert (result.visit_counts > 0).sum() == num_tried


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_a_time_limit_ends_the_search_with_a_legal_action(seconds: float) -> None:
    for evaluator in (RolloutEvaluator(), Constant([1] * 7)):
        result = MCTS(C4, evaluator, UCT()).search(C4.initial_state(), Budget(seconds=seconds), 0)
        assert best_action(result, 0) in range(7)
        assert (result.num_simulations == 0) == (seconds == 0)


def test_whichever_limit_comes_first_ends_the_search() -> None:
    searcher = MCTS(C4, RolloutEvaluator(), UCT())
    assert searcher.search(C4.initial_state(), Budget(simulations=50, seconds=60.0), 0).num_simulations == 50
    searcher.reset()
    unlimited = searcher.search(C4.initial_state(), Budget(simulations=10**9, seconds=0.05), 0)
    assert 0 < unlimited.num_simulations < 10**9


def test_a_kept_subtree_holds_the_same_statistics_as_before() -> None:
    searcher = MCTS(C4, RolloutEvaluator(), UCT())
    root = state_after(C4, [3, 3])
    before = searcher.search(root, Budget(2000), 0)
    reply = before.principal_variation[:2]
    counts = dict(zip(before.actions.tolist(), before.visit_counts.tolist(), strict=True))
    q = q_of(before, reply[0])
    searcher.advance(reply[0])
    after = searcher.search(C4.step(root, reply[0]), Budget(0), 1)
    assert after.visit_counts.sum() == counts[reply[0]] - 1
    assert after.value == pytest.approx(-q)
    assert after.principal_variation[0] == reply[1]
    grown = searcher.search(C4.step(root, reply[0]), Budget(300), 2)
    assert grown.visit_counts.sum() == counts[reply[0]] - 1 + 300


def test_advancing_without_a_tree_or_to_an_unvisited_action_starts_afresh() -> None:
    searcher = MCTS(C4, RolloutEvaluator(), UCT())
    searcher.advance(3)
    searcher.search(C4.initial_state(), Budget(1), 0)
    for action in range(7):
        fresh = MCTS(C4, RolloutEvaluator(), UCT())
        fresh.search(C4.initial_state(), Budget(1), 0)
        fresh.advance(action)
        assert fresh.search(state_after(C4, [action]), Budget(10), 0).visit_counts.sum() in (10, 11)


def test_searches_with_one_seed_are_identical_whatever_was_searched_before() -> None:
    searcher = MCTS(C4, RolloutEvaluator(), UCT())
    first = searcher.search(C4.initial_state(), Budget(500), 9)
    searcher.search(state_after(C4, [3]), Budget(100), 1)
    again = searcher.search(C4.initial_state(), Budget(500), 9)
    assert first.visit_counts.tolist() == again.visit_counts.tolist()
    other = MCTS(C4, RolloutEvaluator(), UCT()).search(C4.initial_state(), Budget(500), 10)
    assert first.visit_counts.tolist() != other.visit_counts.tolist()


def test_a_slip_in_what_a_search_is_made_of_is_named() -> None:
    class Tupled:
        def evaluate(self, batch: Any) -> Any:
            return np.ones((len(batch), 7), np.float32), np.zeros(len(batch), np.float32)

    class Silent:
        def evaluate(self, batch: Any) -> Any:
            return None

    assert MCTS(C4, Tupled(), PUCT()).search(C4.initial_state(), Budget(5), 0).num_simulations == 5
    with pytest.raises(EvaluatorError, match="Silent answered with a NoneType"):
        MCTS(C4, Silent(), PUCT())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ScriptedEvaluator wraps a function"):
        MCTS(C4, len, PUCT())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"PUCT\(\) instead of PUCT"):
        MCTS(C4, RolloutEvaluator(), PUCT)


def test_a_temperature_above_1_flattens_the_priors_before_the_noise() -> None:
    prior = np.array([0.64, 0.32, 0.04], np.float32)
    flat = DirichletNoise(weight=0.0, temperature=2.0).mix(prior, 0)
    np.testing.assert_allclose(flat, np.sqrt(prior) / np.sqrt(prior).sum(), rtol=1e-6)
    with pytest.raises(ValueError, match="the noise temperature must be positive and finite, got 0"):
        DirichletNoise(temperature=0)


def test_a_game_with_more_actions_than_a_tree_holds_is_refused() -> None:
    game = TicTacToe()
    game.num_actions = 65_537
    with pytest.raises(ValueError, match="holds up to 65536 actions, tictactoe has 65537"):
        Forest(game, RolloutEvaluator(), UCT())
