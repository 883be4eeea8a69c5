"""Proven values: every claim of proof against brute force, and what a proof does to a search."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from azero._jit import below, draw
from azero.evaluators.rollout import RolloutEvaluator
from azero.evaluators.scripted import ScriptedEvaluator
from azero.games.connect4 import Connect4
from azero.games.game import Game, state_after
from azero.games.tictactoe import TicTacToe
from azero.search.alphabeta import AlphaBeta
from azero.search.forest import Forest, SearchOptions
from azero.search.mcts import MCTS, Budget
from azero.search.puct import PUCT
from azero.search.result import Proof, best_action
from azero.search.uct import UCT
from azero.search.view import view
from tests.search.test_mcts import Constant, Subtraction

C4, TTT = Connect4(), TicTacToe()


@cache
def perfect(state: Any) -> tuple[float, int]:
    """The value of a tic-tac-toe state for its mover, and the plies to the end if both play well, by brute force."""
    legal = TTT.legal_actions(state)
    if not legal:
        return TTT.outcome(state), 0
    after = [perfect(TTT.step(state, action)) for action in legal]
    value = max(-worth for worth, _ in after)
    plies = [1 + length for worth, length in after if -worth == value]
    return value, min(plies) if value > 0 else max(plies)


def every_state(state: Any, seen: set[Any]) -> set[Any]:
    if state not in seen and TTT.legal_actions(state):
        seen.add(state)
        for action in TTT.legal_actions(state):
            every_state(TTT.step(state, action), seen)
    return seen


def claims(forest: Forest[Any]) -> list[tuple[Any, float, int]]:
    """Every state of the tree that counts as proven, its value, and the plies of the proof."""
    tree = forest.tree
    return [
        (node.state, float(tree.value[0, node.number]), int(tree.plies[0, node.number]))
        for node in view(forest).nodes()
        if tree.plies[0, node.number] >= 0
    ]


@pytest.mark.compiled
@pytest.mark.parametrize("transpositions", ["none", "states", "symmetries"])
def test_every_proof_in_all_of_tic_tac_toe_is_true(transpositions: str) -> None:
    states = sorted(every_state(TTT.initial_state(), set()))
    assert len(states) == 4520
    searcher = MCTS(TTT, RolloutEvaluator(), UCT(), SearchOptions(transpositions=transpositions))
    num_proven = 0
    for stream, state in enumerate(states):
        searcher.reset()
        result = searcher.search(state, Budget(3000), stream)
        found = [(state, result.proof), *zip(after(state, result.actions), result.proofs, strict=True)]
        for there, proof in found:
            if proof is None:
                continue
            sign, extra = (1, 0) if there == state else (-1, 1)
            value, plies = perfect(there)
            assert (proof.value, proof.value != 0 and proof.plies < plies + extra) == (sign * value, False)
            num_proven += 1
        best = TTT.step(state, best_action(result, stream))
        assert result.proof is None or -perfect(best)[0] == result.proof.value
    assert num_proven > 4520


def after(state: Any, actions: Any) -> list[Any]:
    return [TTT.step(state, int(action)) for action in actions]


@pytest.mark.compiled
def test_a_whole_tree_of_tic_tac_toe_claims_nothing_false() -> None:
    forest = Forest(TTT, RolloutEvaluator(), UCT())
    forest.set_root(0, TTT.initial_state(), 1)
    forest.grow(0, 10_000)
    found = claims(forest)
    assert len(found) > 300
    for state, value, plies in found:
        assert value == perfect(state)[0]
        assert value == 0 or plies >= perfect(state)[1]


def late_position(stream: int) -> Any:
    """An unfinished position of 24 to 33 stones, by random play that does not end the game while it can go on."""
    state = C4.initial_state()
    while state.num_stones < 24 + below(draw(stream, 99), 10):
        after = [C4.step(state, action) for action in C4.legal_actions(state)]
        going_on = [there for there in after if not C4.is_terminal(there)]
        if not going_on:
            return state
        state = going_on[below(draw(stream, state.num_stones), len(going_on))]
    return state


@pytest.mark.compiled
def test_proofs_of_thousands_of_late_positions_agree_with_alpha_beta() -> None:
    solver = AlphaBeta(C4)
    searcher = MCTS(C4, RolloutEvaluator(), UCT())
    num_claims = 0
    for number in range(2000):
        stream = draw(4, number)
        state = late_position(stream)
        searcher.reset()
        result = searcher.search(state, Budget(2000), stream)
        exact = solver.search(state, every_action=True)
        for proof, value, plies in zip(result.proofs, exact.values, exact.plies, strict=True):
            if proof is not None:
                num_claims += 1
                assert proof.value == value
                assert value == 0 or proof.plies >= plies
        if result.proof is not None:
            num_claims += 1
            assert result.proof.value == max(exact.values)
            assert exact.values[list(exact.actions).index(best_action(result, 0))] == max(exact.values)
    assert num_claims > 3000


def test_a_proven_root_ends_the_search() -> None:
    result = MCTS(C4, RolloutEvaluator(), UCT()).search(state_after(C4, [3, 0, 3, 0, 3, 1]), Budget(100_000), 0)
    assert result.num_simulations < 1000
    assert (result.proof, result.value) == (Proof(1.0, 1), 1.0)
    assert result.proofs[3] == Proof(1.0, 1)
    assert list(result.policy(7)) == [0, 0, 0, 1, 0, 0, 0]


def test_without_the_option_nothing_is_proven() -> None:
    searcher = MCTS(C4, RolloutEvaluator(), UCT(), SearchOptions(proven_values=False))
    result = searcher.search(state_after(C4, [3, 0, 3, 0, 3, 1]), Budget(1000), 0)
    assert result.num_simulations == 1000
    assert (result.proof, set(result.proofs)) == (None, {None})


def test_proven_actions_take_no_more_simulations_and_no_evaluations() -> None:
    state = state_after(C4, [3, 0, 3, 0, 3])  # O must block column 3
    forest = Forest(C4, Constant([1] * 7), PUCT())
    forest.set_root(0, state, 0)
    forest.grow(0, 400)
    proven = np.flatnonzero(forest.tree.proven[0, 1:8]) + 1
    assert {int(forest.tree.action[0, edge]) for edge in proven} == {0, 1, 2, 4, 5, 6}
    before, evaluations = forest.tree.visits[0, proven].tolist(), forest.num_evaluations
    forest.grow(0, 800)
    assert forest.tree.visits[0, proven].tolist() == before
    assert forest.num_evaluations <= evaluations + 400


@pytest.mark.compiled
def test_a_forced_block_is_found_by_every_seed_with_a_hundred_simulations() -> None:
    searcher = MCTS(C4, RolloutEvaluator(), UCT())
    for stream in range(100):
        searcher.reset()
        assert best_action(searcher.search(state_after(C4, [3, 0, 3, 0, 3]), Budget(100), stream), stream) == 3


@pytest.mark.compiled
def test_the_open_two_is_answered_at_either_end_with_two_thousand_simulations() -> None:
    searcher = MCTS(C4, RolloutEvaluator(), UCT())
    found = 0
    for stream in range(50):
        searcher.reset()
        found += best_action(searcher.search(state_after(C4, [3, 3, 2]), Budget(2000), stream), stream) in (1, 4)
    assert found >= 48


@pytest.mark.compiled
def test_a_heap_is_solved_by_two_thousand_simulations() -> None:
    options = SearchOptions(transpositions="states")
    won = MCTS(Subtraction(15), RolloutEvaluator(), UCT(), options).search((15, 0), Budget(2000), 0)
    assert best_action(won, 0) == 2  # take 3
    assert won.proof == Proof(1.0, 15) or won.value > 0.5
    lost = MCTS(Subtraction(16), RolloutEvaluator(), UCT(), options).search((16, 0), Budget(2000), 0)
    assert lost.value == -1


@pytest.mark.compiled
@pytest.mark.parametrize(("actions", "drawing"), [([4, 0, 3, 5, 7], {1}), ([0], {4}), ([0, 4, 8], {1, 3, 5, 7})])
def test_a_draw_is_found_among_losses_by_every_seed(actions: list[int], drawing: set[int]) -> None:
    searcher = MCTS(TTT, RolloutEvaluator(), UCT())
    for stream in range(20):
        searcher.reset()
        assert best_action(searcher.search(state_after(TTT, actions), Budget(1000), stream), stream) in drawing


def test_the_quickest_win_and_the_slowest_loss_are_chosen() -> None:
    searcher = MCTS(TTT, RolloutEvaluator(), UCT())
    # X to move wins at once with 2; 8 and others win later.
    result = searcher.search(state_after(TTT, [0, 3, 1, 4]), Budget(3000), 0)
    assert best_action(result, 0) == 2
    # O to move has lost: after 0,4 the fork stands; a block lasts longer than looking on.
    lost = state_after(TTT, [0, 1, 4])
    result = searcher.search(lost, Budget(5000), 0)
    assert result.proof is not None
    assert result.proof.text() == "loss in 4"
    assert best_action(result, 0) == 8


class Moves(Game[tuple[int, ...]]):
    """Player 0 moves twice, then player 1; the sum of the numbers, read from a table, decides for player 0."""

    name = "moves"
    num_actions = 2
    max_game_length = 3
    results = (1.0, -1.0, 0.5, -1.0, -0.5, 0.0, 0.5, 1.0)  # of 000, 001, ... for player 0

    def initial_state(self) -> tuple[int, ...]:
        return ()

    def current_player(self, state: tuple[int, ...]) -> int:
        return 1 if len(state) == 2 else 0

    def legal_actions(self, state: tuple[int, ...]) -> list[int]:
        return [0, 1] if len(state) < 3 else []

    def step(self, state: tuple[int, ...], action: int) -> tuple[int, ...]:
        return (*state, action)

    def outcome(self, state: tuple[int, ...]) -> float:
        return self.results[4 * state[0] + 2 * state[1] + state[2]]


def test_two_moves_in_a_row_and_results_between_win_and_loss_are_proven_too() -> None:
    result = MCTS(Moves(), RolloutEvaluator(), UCT()).search((), Budget(200), 0)
    # Player 1 leaves 000-111: -1, -1, -0.5, 0.5; so player 0 takes 1 and then 1.
    assert result.proof == Proof(0.5, 3)
    assert [proof and proof.value for proof in result.proofs] == [-1.0, 0.5]
    assert result.principal_variation[:1] == (1,)
    assert best_action(result, 0) == 1


def test_a_state_is_worth_no_less_than_its_best_proven_action() -> None:
    # After 0 the game is drawn at once; all else is thought lost, and has no end in sight.
    class Offer(Game[tuple[int, ...]]):
        name = "offer"
        num_actions = 2
        max_game_length = 60

        def initial_state(self) -> tuple[int, ...]:
            return ()

        def current_player(self, state: tuple[int, ...]) -> int:
            return len(state) % 2

        def legal_actions(self, state: tuple[int, ...]) -> list[int]:
            return [] if state[1:] == (0,) or len(state) >= 60 else [0, 1]

        def step(self, state: tuple[int, ...], action: int) -> tuple[int, ...]:
            return (*state, action)

        def outcome(self, state: tuple[int, ...]) -> float:
            return 0.0

    pessimist = ScriptedEvaluator(lambda state: ([1, 1], -0.9 if len(state) % 2 else 0.9))
    searcher = MCTS(Offer(), pessimist, UCT(), SearchOptions())
    result = searcher.search((1,), Budget(300), 0)
    assert result.proofs[0] == Proof(0.0, 1)
    assert result.value > -0.1
    assert best_action(result, 0) == 0
    unsound = MCTS(Offer(), pessimist, UCT(0.1), SearchOptions(proven_values=False))
    assert best_action(unsound.search((1,), Budget(300), 0), 0) == 0


class Ladder(Game[tuple[int, ...]]):
    """One player; action 0 ends the game with the same result at each of three steps."""

    name = "ladder"
    num_actions = 2
    max_game_length = 3

    def __init__(self, result: float) -> None:
        self.result = result

    def initial_state(self) -> tuple[int, ...]:
        return ()

    def current_player(self, state: tuple[int, ...]) -> int:
        return 0

    def legal_actions(self, state: tuple[int, ...]) -> list[int]:
        return [] if 0 in state or len(state) == 3 else [0, 1]

    def step(self, state: tuple[int, ...], action: int) -> tuple[int, ...]:
        return (*state, action)

    def outcome(self, state: tuple[int, ...]) -> float:
        return self.result


@pytest.mark.parametrize(("result", "plies"), [(0.5, 1), (-0.5, 3)])
def test_of_equal_proven_values_the_sooner_gain_and_the_later_loss_count(result: float, plies: int) -> None:
    found = MCTS(Ladder(result), RolloutEvaluator(), UCT()).search((), Budget(50), 0)
    assert found.proof == Proof(result, plies)
