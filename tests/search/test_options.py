"""Transpositions, several leaves at once, several threads, early ends and the final choice."""

import time
from typing import Any

import numpy as np
import pytest

from azero._jit import draw
from azero.evaluators.evaluator import Evaluation
from azero.evaluators.rollout import RolloutEvaluator
from azero.evaluators.uniform import UniformEvaluator
from azero.games.connect4 import Connect4
from azero.games.game import Game, state_after
from azero.games.tictactoe import TicTacToe
from azero.search.forest import Forest, SearchOptions
from azero.search.gumbel import Gumbel
from azero.search.mcts import MCTS, Budget
from azero.search.puct import PUCT
from azero.search.result import Proof, best_action, merged
from azero.search.uct import UCB1, UCT
from tests.games.plain import PlainTicTacToe
from tests.search.test_mcts import Constant, result_with

C4, TTT = Connect4(), TicTacToe()
S13 = [0, 0, 4, 1, 1, 2, 6, 2, 2, 3]


def shared_forest(game: Any, transpositions: str, simulations: int, c: float = 1.0) -> Forest[Any]:
    options = SearchOptions(proven_values=False, transpositions=transpositions)
    forest = Forest(game, RolloutEvaluator(), UCT(c), options=options)
    forest.set_root(0, game.initial_state(), 3)
    forest.grow(0, simulations)
    return forest


def states_of(game: Any, forest: Forest[Any], canonical: Any = lambda state: state) -> dict[int, Any]:
    """The state of every node, by every way to it: that each has just one is what sharing is about."""
    tree, states = forest.tree, {0: forest.roots[0]}
    waiting, seen = [0], {0}
    while waiting:
        node = waiting.pop()
        for edge in range(tree.first_edge[0, node], tree.first_edge[0, node + 1]):
            child = int(tree.child[0, edge])
            if child >= 0:
                state = canonical(game.step(states[node], int(tree.action[0, edge])))
                assert states.setdefault(child, state) == state
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
    return states


@pytest.mark.parametrize("game", [TTT, PlainTicTacToe()])
@pytest.mark.parametrize("transpositions", ["states", "symmetries"])
def test_a_state_has_one_node_however_it_is_reached(game: Any, transpositions: str) -> None:
    forest = shared_forest(game, transpositions, 600)
    if transpositions == "states":
        canonical = lambda state: state  # noqa: E731
    elif game is TTT:
        canonical = TTT.rules.canonical
    else:
        canonical = forest._rules.canonical
    states = states_of(game, forest, canonical)
    assert len(set(states.values())) == len(states) == forest.tree.size[0]
    assert forest.tree.visits[0, 0] == 600
    # Each simulation adds one visit to each node on its path: the root's edges have them all but the root's own.
    assert forest.tree.visits[0, 1:10].sum() == 599
    incoming = np.zeros(len(states), int)
    for edge in range(int(forest.tree.first_edge[0, len(states)])):
        if forest.tree.child[0, edge] >= 0:
            incoming[forest.tree.child[0, edge]] += forest.tree.visits[0, edge]
    assert incoming.tolist() == forest.tree.node_visits[0, : len(states)].tolist()


def test_keys_tell_all_states_apart() -> None:
    for game in (C4, TTT):
        states, key = {game.initial_state()}, np.zeros(1, np.int64)
        for stream in range(300):
            state = game.initial_state()
            while not game.is_terminal(state):
                legal = game.legal_actions(state)
                state = game.step(state, legal[draw(stream, state.num_stones) % len(legal)])
                states.add(state)
        keys = set()
        for state in states:
            game.rules.write_key(state, key)
            keys.add(int(key[0]))
        assert len(keys) == len(states) > 800


@pytest.mark.compiled
def test_the_whole_of_tic_tac_toe_has_the_known_number_of_states() -> None:
    # With much exploration every state is visited: 5,478 of them, 765 up to symmetry.
    assert shared_forest(TTT, "states", 400_000, c=10.0).tree.size[0] == 5478
    assert shared_forest(TTT, "symmetries", 100_000, c=10.0).tree.size[0] == 765
    assert shared_forest(TTT, "none", 20_000).tree.size[0] > 5478


def test_a_principal_variation_is_in_the_game_s_own_actions_despite_mirror_images() -> None:
    for stream in range(4):
        options = SearchOptions(transpositions="symmetries")
        result = MCTS(C4, RolloutEvaluator(), UCT(), options).search(state_after(C4, [0, 3]), Budget(300), stream)
        state = state_after(C4, [0, 3])
        for action in result.principal_variation:
            state = C4.step(state, action)  # raises for an illegal one
        assert len(result.principal_variation) > 1


def test_a_kept_graph_goes_on_as_before() -> None:
    for transpositions in ("states", "symmetries"):
        searcher = MCTS(C4, RolloutEvaluator(), UCT(), SearchOptions(transpositions=transpositions))
        state = state_after(C4, [3, 3])
        before = searcher.search(state, Budget(800), 0)
        action = int(before.actions[np.argmax(before.visit_counts)])
        searcher.advance(action)
        state = C4.step(state, action)
        after = searcher.search(state, Budget(200), 1)
        assert after.visit_counts.sum() >= 200
        states = states_of(C4, searcher.forest, C4.rules.canonical if transpositions == "symmetries" else lambda s: s)
        assert len(states) == searcher.forest.tree.size[0]


class Walk(Game[int]):
    """To and fro between cells 0 to 3 for at most twenty steps that the state does not count: it can come back."""

    name = "walk"
    num_actions = 2
    max_game_length = 10_000

    def initial_state(self) -> int:
        return 1

    def current_player(self, state: int) -> int:
        return 0

    def legal_actions(self, state: int) -> list[int]:
        return [] if state == 3 else [0, 1]

    def step(self, state: int, action: int) -> int:
        return min(state + 1, 3) if action else max(state - 1, 0)

    def outcome(self, state: int) -> float:
        return 1.0


def test_a_game_that_comes_back_to_a_state_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="come back to an earlier state"):
        MCTS(Walk(), RolloutEvaluator(), UCT(), SearchOptions(transpositions="states")).search(1, Budget(50), 0)


class Counting:
    """Equal weights and value 0, and a note of every batch."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.fails_at = -1

    def evaluate(self, batch: Any) -> Evaluation:
        self.sizes.append(len(batch))
        if len(self.sizes) == self.fails_at:
            raise RuntimeError("no power")
        return Evaluation(batch.legal.astype(np.float32), np.zeros(len(batch), np.float32))


@pytest.mark.parametrize("game", [C4, PlainTicTacToe()])
@pytest.mark.parametrize("leaves", [4, 16])
def test_leaves_of_one_tree_are_evaluated_together(game: Any, leaves: int) -> None:
    evaluator = Counting()
    forest = Forest(game, evaluator, PUCT(), options=SearchOptions(leaves=leaves, proven_values=False))
    forest.set_root(0, game.initial_state(), 0)
    forest.grow(0, 301)
    assert forest.tree.visits[0, 0] == 301
    edges = forest.root_edges(0)
    assert forest.tree.visits[0, edges].sum() == 300
    assert (forest.tree.child[0, : int(forest.tree.first_edge[0, forest.tree.size[0]])] >= -1).all()  # none pending
    assert max(evaluator.sizes) > leaves // 2
    assert len(evaluator.sizes) < 301 / 2
    # All values are 0 but those of finished games: totals must be whole again.
    totals = forest.tree.total[0, edges]
    np.testing.assert_allclose(totals, np.round(totals), atol=1e-9)


@pytest.mark.parametrize("transpositions", ["none", "states"])
def test_a_batch_and_single_leaves_find_the_same_forced_win(transpositions: str) -> None:
    for leaves in (1, 8, 16):
        options = SearchOptions(leaves=leaves, transpositions=transpositions)
        searcher = MCTS(C4, RolloutEvaluator(num_rollouts=8), UCT(), options)
        result = searcher.search(state_after(C4, [3, 0, 3, 0, 3]), Budget(400), 0)
        assert best_action(result, 0) == 3


def test_an_evaluator_that_fails_leaves_no_virtual_loss_behind() -> None:
    evaluator = Counting()
    forest = Forest(C4, evaluator, PUCT(), options=SearchOptions(leaves=8))
    forest.set_root(0, C4.initial_state(), 0)
    forest.grow(0, 20)
    before = [array.copy() for array in (forest.tree.visits, forest.tree.child)], forest.tree.total.copy()
    evaluator.fails_at = len(evaluator.sizes) + 1
    with pytest.raises(RuntimeError, match="no power"):
        forest.grow(0, 60)
    assert [array.tolist() for array in (forest.tree.visits, forest.tree.child)] == [a.tolist() for a in before[0]]
    np.testing.assert_allclose(forest.tree.total, before[1], atol=1e-9)
    forest.grow(0, 60)
    assert forest.tree.visits[0, 0] == 60


def test_threads_add_up_and_give_the_same_result_each_time() -> None:
    results = []
    for _ in range(2):
        searcher = MCTS(C4, RolloutEvaluator(), UCT(), threads=3)
        result = searcher.search(C4.initial_state(), Budget(601), 5)
        assert result.visit_counts.sum() == result.num_simulations == 601
        searcher.advance(3)
        again = searcher.search(state_after(C4, [3]), Budget(100), 6)
        results.append((result.visit_counts.tolist(), again.visit_counts.tolist(), again.value))
    assert results[0] == results[1]
    single = MCTS(C4, RolloutEvaluator(), UCT()).search(C4.initial_state(), Budget(601), 5)
    assert results[0][0] != single.visit_counts.tolist()


def test_threads_share_what_any_of_them_has_proven() -> None:
    result = MCTS(C4, RolloutEvaluator(), UCT(), threads=2).search(
        state_after(C4, [3, 0, 3, 0, 3, 1]), Budget(10_000), 0
    )
    assert result.proof == Proof(1.0, 1)
    assert best_action(result, 0) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threads": 0}, "at least 1"),
        ({"threads": 2, "evaluator": Constant([1] * 7)}, "rollouts only"),
        ({"threads": 2, "rule": Gumbel()}, "takes one thread"),
    ],
)
def test_threads_that_make_no_sense_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MCTS(C4, **{"evaluator": RolloutEvaluator(), "rule": UCT(), **arguments})


def proven_result(*proofs: Proof | None) -> Any:
    return result_with([5] * len(proofs), [0.2] * len(proofs))._replace(proofs=proofs)


def test_proofs_of_several_threads_add_up() -> None:
    lost_late, lost_soon, won = Proof(-1.0, 8), Proof(-1.0, 4), Proof(1.0, 3)
    # Each has proven another action lost: together the root is.
    both = merged([proven_result(lost_late, None), proven_result(None, lost_soon)])
    assert (both.proof, both.value) == (lost_late, -1)
    assert both.improved.tolist() == [1, 0]
    # Two proofs of one action: what needs fewer plies holds too.
    assert merged([proven_result(lost_late, None), proven_result(lost_soon, None)]).proofs == (lost_soon, None)
    assert merged([proven_result(None, None), proven_result(None, won)]).proof == won
    assert merged([proven_result(None, None), proven_result(None, lost_late)]).proof is None


def test_a_batch_larger_than_the_tree_has_room() -> None:
    forest = Forest(C4, RolloutEvaluator(), UCT(), options=SearchOptions(leaves=150, proven_values=False))
    forest.set_root(0, C4.initial_state(), 0)
    forest.grow(0, 400)
    assert forest.tree.visits[0, 0] == 400


def test_how_long_enlarging_takes_is_measured_on_a_large_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("azero.search.forest._MANY_NODES", 50)
    forest = Forest(C4, UniformEvaluator(), PUCT())
    forest.set_root(0, C4.initial_state(), 0)
    presumed = forest.seconds_to_enlarge(0, 10**6)
    forest.grow(0, 80)
    assert presumed > 0
    assert 0 < forest.seconds_to_enlarge(0, 10**6) != 2 * presumed
    assert forest.seconds_to_enlarge(0, 1) == 0


@pytest.mark.parametrize("transpositions", ["none", "states"])
def test_gumbels_plan_goes_on_within_a_batch(transpositions: str) -> None:
    options = SearchOptions(leaves=8, transpositions=transpositions, proven_values=False)
    searcher = MCTS(C4, Constant([1] * 7), Gumbel(num_considered=4, noise=0.0), options)
    assert sorted(searcher.search(C4.initial_state(), Budget(16), 0).visit_counts.tolist())[:3] == [0, 0, 0]


@pytest.mark.parametrize("options", [{"transpositions": "all"}, {"leaves": 0}])
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        SearchOptions(**options)


def test_a_search_that_stops_early_chooses_what_the_whole_search_would() -> None:
    saved = 0
    for stream in range(6):
        searcher = MCTS(C4, RolloutEvaluator(), UCT(0.5), SearchOptions(proven_values=False))
        whole = searcher.search(state_after(C4, [3, 3, 2]), Budget(400), stream)
        searcher.reset()
        early = searcher.search(state_after(C4, [3, 3, 2]), Budget(400, stop_early=True), stream)
        assert best_action(early, stream) == best_action(whole, stream)
        saved += whole.num_simulations - early.num_simulations
        lead, second = sorted(early.visit_counts)[:-3:-1]
        assert early.num_simulations == 400 or lead - second > 400 - early.num_simulations
    assert saved > 100


def test_a_search_stops_early_within_a_time_limit_too() -> None:
    searcher = MCTS(C4, RolloutEvaluator(), UCT(0.1), SearchOptions(proven_values=False))
    result = searcher.search(C4.initial_state(), Budget(3000, seconds=600.0, stop_early=True), 0)
    assert result.num_simulations < 3000


def test_what_is_proven_lost_does_not_settle_a_search() -> None:
    forest = Forest(C4, Constant([1] * 7), PUCT())
    forest.set_root(0, C4.initial_state(), 0)
    forest.grow(0, 1)
    edges = forest.root_edges(0)
    forest.tree.visits[0, edges], forest.tree.visits[0, 0] = [500, 200, 199, 0, 0, 0, 0], 900
    assert forest.simulations_to_settle(0, 1000) == 0
    forest.tree.proven[0, edges.start] = 1
    assert forest.simulations_to_settle(0, 1000) > 0
    forest.tree.floor[0, 0] = 0.0  # a draw is proven: it competes by value, so only the end settles
    assert forest.simulations_to_settle(0, 1000) == 100
    assert forest.simulations_to_settle(0, 900) == 0


def test_an_early_stop_is_refused_where_it_is_not_sound() -> None:
    with pytest.raises(ValueError, match="simulations"):
        Budget(seconds=1.0, stop_early=True)
    for searcher in (MCTS(C4, RolloutEvaluator(), UCT(), threads=2), MCTS(C4, Constant([1] * 7), Gumbel())):
        with pytest.raises(ValueError, match="stop_early"):
            searcher.search(C4.initial_state(), Budget(10, stop_early=True), 0)


@pytest.mark.compiled
def test_a_time_limit_holds_while_the_tree_is_enlarged() -> None:
    searcher = MCTS(C4, RolloutEvaluator(), UCT())
    searcher.search(C4.initial_state(), Budget(seconds=0.05), 0)
    assert searcher.forest.seconds_to_enlarge(0, 10**9) > 0
    assert searcher.forest.seconds_to_enlarge(0, 1) == 0
    searcher.forest._seconds_per_node = 3600.0  # an enlargement that would last too long is not begun
    searcher.reset()
    start = time.perf_counter()
    result = searcher.search(C4.initial_state(), Budget(seconds=0.02), 0)
    assert time.perf_counter() - start < 60
    assert result.num_simulations > 0


def test_one_lucky_visit_does_not_beat_five_hundred() -> None:
    lucky = result_with([500, 1], [0.2, 1.0])
    assert best_action(lucky, 0, "visits") == 0
    assert best_action(lucky, 0, "lcb") == 0
    assert best_action(lucky, 0, "value") == 1
    # 400 visits at 0.5 beat 500 at 0.2 by their lower bound: 0.5 - 1.96 / 20 = 0.40 > 0.2 - 1.96 / 22.4 = 0.11.
    late = result_with([500, 400], [0.2, 0.5])
    assert (best_action(late, 0, "visits"), best_action(late, 0, "lcb")) == (0, 1)
    with pytest.raises(ValueError, match="visits or value or lcb"):
        best_action(lucky, 0, "luck")


def test_what_is_proven_goes_before_what_is_visited() -> None:
    base = result_with([500, 10, 10], [0.3, 1.0, 1.0])
    wins = base._replace(proofs=(None, Proof(1.0, 5), Proof(1.0, 3)))
    assert best_action(wins, 0) == 2
    losses = result_with([1, 500, 10], [-0.9, -1.0, -1.0])._replace(proofs=(None, Proof(-1.0, 2), Proof(-1.0, 4)))
    assert best_action(losses, 0) == 0
    lost = losses._replace(proofs=(Proof(-1.0, 2), Proof(-1.0, 6), Proof(-1.0, 4)))
    assert best_action(lost, 0) == 1
    draw_or_worse = result_with([500, 10], [-0.1, 0.0])._replace(proofs=(None, Proof(0.0, 7)))
    assert best_action(draw_or_worse, 0) == 1
    draw_or_better = result_with([500, 10], [0.1, 0.0])._replace(proofs=(None, Proof(0.0, 7)))
    assert best_action(draw_or_better, 0) == 0
    draws = result_with([3, 30, 20], [0.0, 0.0, 0.0])._replace(
        proofs=(Proof(0.0, 9), Proof(0.0, 5), Proof(0.0, 7)), preference=np.array([0.1, 0.3, 0.2], np.float32)
    )
    assert best_action(draws, 0) == 1
    assert [Proof(1.0, 3).text(), Proof(0.0, 9).text(), Proof(-1.0, 8).text()] == ["win in 3", "draw", "loss in 8"]


def test_a_graph_may_be_no_deeper_than_the_root_s_actions() -> None:
    forest = Forest(TTT, RolloutEvaluator(), UCB1(), options=SearchOptions(transpositions="states"))
    forest.set_root(0, TTT.initial_state(), 0)
    forest.grow(0, 40)
    assert (forest.tree.size[0], forest.tree.visits[0, 0]) == (10, 40)
    assert forest.tree.node_visits[0, 1:10].sum() == 39


def test_two_wins_in_one_batch_prove_the_root_once() -> None:
    forest = Forest(TTT, RolloutEvaluator(), UCT(), options=SearchOptions(leaves=8))
    forest.set_root(0, state_after(TTT, [0, 8, 1, 7, 3, 5]), 0)
    forest.grow(0, 9)
    edges = forest.root_edges(0)
    won = forest.tree.total[0, edges] == forest.tree.visits[0, edges]
    assert set(forest.tree.action[0, edges][won & (forest.tree.proven[0, edges] == 1)]) == {2, 6}
    assert (forest.tree.value[0, 0], forest.tree.floor[0, 0], forest.tree.plies[0, 0]) == (1, 1, 1)
