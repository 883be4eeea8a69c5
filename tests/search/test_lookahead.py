"""The look ahead of new leaves: what it claims is true, and all that it can see it claims."""

from typing import Any

import numpy as np
import pytest

from azero.evaluators.rollout import RolloutEvaluator, rules_of
from azero.games import load_game
from azero.games.connect4 import Connect4
from azero.games.game import Game, state_after
from azero.games.tictactoe import TicTacToe
from azero.search.forest import Forest, SearchOptions
from azero.search.lookahead import Lookahead, new_lookahead
from azero.search.mcts import MCTS, Budget
from azero.search.puct import PUCT
from azero.search.uct import UCT
from tests.games.plain import PlainTicTacToe
from tests.games.playing import ALL_GAMES, layers, random_game, states_along
from tests.naive.minimax import minimax
from tests.naive.search import proven_within
from tests.search.test_alphabeta import Maze

TTT, C4 = TicTacToe(), Connect4()


def looked(game: Game[Any], lookahead: Any, state: Any) -> tuple[float, int]:
    rules = rules_of(game)
    return lookahead.look_ahead(rules, state, np.array(game.legal_actions(state), np.int32))


def check(game: Game[Any], states: Any, depth: int, memory: Any = None) -> int:
    """Hold every claim against recursion; returns how many there were."""
    lookahead, num_claims = new_lookahead(game, depth), 0
    for state in states:
        value, plies = looked(game, lookahead, state)
        expected = proven_within(game, state, depth)
        assert (plies < 0) == (expected is None)
        if expected is None:
            continue
        num_claims += 1
        true_value, true_plies = minimax(game, state, game.max_game_length, memory)
        assert value == pytest.approx(true_value, abs=1e-9)
        assert value == pytest.approx(expected, abs=1e-9)
        assert 1 <= plies <= depth
        assert abs(value) < 1 or true_plies <= (plies if value > 0 else depth)
    return num_claims


@pytest.mark.compiled
@pytest.mark.parametrize("depth", [1, 2, 3, 9])
def test_all_of_tic_tac_toe_is_looked_at_rightly(depth: int) -> None:
    states = [state for layer in layers(TTT) for state in layer if not TTT.is_terminal(state)]
    num_claims = check(TTT, states, depth, {})
    assert 0 < num_claims <= len(states) == 4520
    assert (num_claims == len(states)) == (depth >= 9)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_late_connect_four_is_looked_at_rightly(depth: int) -> None:
    states = [state for seed in range(30) for state in list(states_along(C4, random_game(C4, seed)))[-12:-1]]
    late = [state for state in states if state.num_stones >= 30]
    assert check(C4, late, depth) > len(late) / 4


@pytest.mark.parametrize("seed", range(12))
def test_passes_double_moves_and_values_between_are_looked_at_rightly(seed: int) -> None:
    game = Maze(seed)
    states = [state for number in range(4) for state in list(states_along(game, random_game(game, number)))[:-1]]
    for depth in (1, 2, 4, 7):
        assert check(game, states, depth, {}) >= (depth == 7) * len(states)


@pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.name)
def test_the_ends_of_every_game_are_looked_at_rightly(game: Game[Any]) -> None:
    num_claims = 0
    for seed in range(4):
        for state in list(states_along(game, random_game(game, seed)))[-5:-1]:
            depth = 3 if len(game.legal_actions(state)) <= 8 else 1
            value, plies = looked(game, new_lookahead(game, depth), state)
            expected = proven_within(game, state, depth)
            assert (None if plies < 0 else pytest.approx(value)) == expected
            num_claims += plies >= 0
    assert num_claims > 0


def test_what_is_found_out_about_a_leaf_does_not_depend_on_those_before() -> None:
    states = [state for seed in range(20) for state in list(states_along(C4, random_game(C4, seed)))[:-1]]
    used = new_lookahead(C4, 4)
    assert [looked(C4, used, state) for state in states] == [looked(C4, new_lookahead(C4, 4), s) for s in states]


def test_a_plain_game_is_looked_at_as_a_compiled_one() -> None:
    for seed in range(10):
        actions = random_game(TTT, seed)[:-1]
        pairs = zip(states_along(TTT, actions), states_along(PlainTicTacToe(), actions), strict=True)
        for compiled, plain in pairs:
            claims = [looked(TTT, new_lookahead(TTT, 4), compiled)]
            claims += [looked(PlainTicTacToe(), new_lookahead(PlainTicTacToe(), 4), plain)]
            assert claims[0] == claims[1]


def test_a_search_needs_no_evaluation_of_what_its_look_ahead_proves() -> None:
    game = load_game("connect4")
    lost_in_two = state_after(game, [3, 0, 3, 0, 2, 6])  # X to move has three ways to an open three
    counts = []
    for lookahead in (0, 4):
        forest = Forest(game, RolloutEvaluator(), PUCT(), options=SearchOptions(lookahead=lookahead))
        forest.set_root(0, lost_in_two, 1)
        forest.grow(0, 2000)
        assert forest.tree.value[0, 0] == 1
        assert forest.is_proven(0)
        counts.append((int(forest.tree.visits[0, 0]), forest.num_evaluations))
    assert counts[1] < (8, 8) < counts[0]


def test_a_kept_tree_goes_on_from_an_action_that_was_looked_at_only() -> None:
    searcher = MCTS(C4, RolloutEvaluator(), UCT(), SearchOptions(lookahead=6))
    state = state_after(C4, [3, 2, 3, 2])
    while not C4.is_terminal(state):
        result = searcher.search(state, Budget(simulations=20), stream=3)
        action = int(result.actions[int(np.argmin(result.visit_counts))])
        searcher.advance(action)
        state = C4.step(state, action)
        if not C4.is_terminal(state):
            result = searcher.search(state, Budget(simulations=20), stream=4)
            assert result.actions.tolist() == list(C4.legal_actions(state))
            assert result.improved.sum() == pytest.approx(1)


def test_room_is_made_for_no_more_plies_than_a_game_has() -> None:
    lookahead = new_lookahead(TTT, 1000)
    assert isinstance(lookahead, Lookahead)
    assert len(lookahead.line.depth) == 10
    assert looked(TTT, lookahead, state_after(TTT, [4, 1]))[0] == 1
    far = new_lookahead(TTT, 40_000)
    assert isinstance(far, Lookahead)
    assert looked(TTT, far, state_after(TTT, [4]))[:2] == (0, 9)  # a draw, after all plies that there can be
    with pytest.raises(ValueError, match="lookahead must be at least 0, got -1"):
        SearchOptions(lookahead=-1)
