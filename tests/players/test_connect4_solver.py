from functools import cache

import numpy as np
import pytest

from azero._jit import below, draw
from azero.games.connect4 import Connect4
from azero.games.game import state_after
from azero.players.connect4_solver import Connect4Solver
from azero.players.exact import pons_sets

GAME = Connect4()


@pytest.fixture(scope="module")
def solver():
    return Connect4Solver(1 << 16)


def late_states(num_states, least_stones):
    """States of random games with at least so many stones, finished ones among them."""
    for seed in range(num_states):
        while True:
            states = [GAME.initial_state()]
            while (legal := GAME.legal_actions(states[-1])) and states[-1].num_stones < least_stones + seed % 6:
                seed = draw(seed, 0)
                states.append(GAME.step(states[-1], legal[below(seed, len(legal))]))
            if states[-1].num_stones >= least_stones:
                yield states[-1]
                break


@cache
def naive_score(state):
    """By trying everything: 22 less the winner's stones at the end, from the mover's point of view."""
    legal = GAME.legal_actions(state)
    if legal:
        return max(-naive_score(GAME.step(state, action)) for action in legal)
    return -(22 - (state.num_stones + 1) // 2) if state.lost else 0


def test_scores_are_those_of_a_search_that_tries_everything(solver):
    for state in late_states(60, least_stones=31):
        assert solver.score(state) == naive_score(state)
        expected = {action: -naive_score(GAME.step(state, action)) for action in GAME.legal_actions(state)}
        assert solver.scores(state) == expected
        best = max(expected.values(), default=naive_score(state))
        assert solver.best_actions(state) == ([a for a, score in expected.items() if score == best], best)


@pytest.mark.compiled
@pytest.mark.parametrize("number", range(6))
def test_scores_are_the_published_ones(solver, number):
    name, positions = pons_sets()[number]
    few = {"begin-easy": 40, "begin-medium": 6, "begin-hard": 60}.get(name, 400)
    for position in positions[:: len(positions) // few]:
        if name == "begin-hard" and position.state.num_stones > 8:
            continue  # the longest to search: scripts and the evaluation have all of them
        assert solver.best_actions(position.state) == (position.best_actions(), max(position.scores.values()))
        if position.state.num_stones > 14:
            assert solver.scores(position.state) == position.scores


def test_the_book_answers_a_position_and_its_mirror_image(solver):
    before = solver.num_nodes
    for seed in range(300):
        actions, stream = [], draw(seed, 7)
        state = GAME.initial_state()
        for ply in range(10):
            legal = GAME.legal_actions(state)
            if not legal:
                break
            actions.append(legal[below(draw(stream, ply), len(legal))])
            state = GAME.step(state, actions[-1])
        if len(actions) == 10 and not state.lost:
            mirror = state_after(GAME, [6 - action for action in actions])
            assert solver.score(state) == solver.score(mirror)
    assert solver.num_nodes - before < 300 * 20


@pytest.mark.compiled
def test_a_position_that_no_game_reaches_is_not_taken_for_one_of_the_book(solver):
    rows = [". . . . . . ."] * 4 + ["X X X . X X .", "O O O . O O ."]
    state = GAME.parse_state("\n".join(rows))  # X must have begun at the bottom
    assert state.num_stones == 10
    scores = solver.scores(state)
    best = max(scores.values())
    assert solver.best_actions(state) == ([action for action, score in scores.items() if score == best], best)


@pytest.mark.compiled
def test_the_first_player_wins_with_his_last_stone_but_one_in_the_middle(solver):
    start = GAME.initial_state()
    assert solver.best_actions(start) == ([3], 1)
    assert solver.scores(start) == {0: -2, 1: -1, 2: 0, 3: 1, 4: 0, 5: -1, 6: -2}


def test_a_table_must_have_a_size_that_is_a_power_of_two():
    for size in (0, 3, -4):
        with pytest.raises(ValueError, match=f"power of 2, got {size}"):
            Connect4Solver(size)
    assert np.log2(len(Connect4Solver(4)._memory.table)) == 2
