"""Minimax and alpha-beta, held against plain recursion, against another solver's scores, and against each other."""

import dataclasses
import sys
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from azero._jit import compilable, draw
from azero.games.compiled import CompiledGame
from azero.games.connect4 import Connect4
from azero.games.game import Game, GameOverError, state_after
from azero.games.tictactoe import TicTacToe
from azero.search.alphabeta import AlphaBeta, Limits, Solution
from azero.search.negamax import farther, nearer, score_of, value_of
from tests.games.plain import Heap, PlainTicTacToe
from tests.games.playing import layers, random_game, states_along
from tests.naive.minimax import action_results, better

TTT, C4 = TicTacToe(), Connect4()


class Maze(Game):
    """A game without sense: whose turn it is, what is legal and how it ends are drawn from the state.

    Many lines lead to one state; a player may move twice or have to pass; values lie between -1 and 1.
    """

    name = "maze"
    num_actions = 4
    outcomes = (-1.0, -1.0, -0.3, -1 / 3, 0.0, 0.25, 1.0, 1.0)

    def __init__(self, seed, length=7, width=5):
        self.seed, self.max_game_length, self.width = seed, length, width

    def draw(self, state, counter):
        return draw(draw(self.seed, 100 * state[0] + state[1]), counter)

    def initial_state(self):
        return (0, 0)

    def current_player(self, state):
        return self.draw(state, 0) % 2 if state[0] else 0

    def legal_actions(self, state):
        if state[0] == self.max_game_length or (state[0] > 1 and self.draw(state, 1) % 5 == 0):
            return []
        return [action for action in range(4) if self.draw(state, 2) >> action & 1] or [3]

    def step(self, state, action):
        return (state[0] + 1, self.draw(state, 10 + action) % self.width)

    def outcome(self, state):
        return self.outcomes[self.draw(state, 3) % len(self.outcomes)]


OUTCOMES = np.array(Maze.outcomes)


class MazeState(NamedTuple):
    turn: int
    place: int


class MazeRules(NamedTuple):
    """The same maze for kernels."""

    seed: int
    length: int
    width: int

    def initial_state(self):
        return MazeState(0, 0)

    def current_player(self, state):
        return maze_draw(self, state, 0) % 2 if state.turn > 0 else 0

    def write_legal_actions(self, state, out):
        if state.turn == self.length or (state.turn > 1 and maze_draw(self, state, 1) % 5 == 0):
            return 0
        drawn, num_legal = maze_draw(self, state, 2), 0
        for action in range(4):
            if (drawn >> action) & 1:
                out[num_legal] = action
                num_legal += 1
        if num_legal == 0:
            out[0] = 3
            return 1
        return num_legal

    def step(self, state, action):
        return MazeState(state.turn + 1, maze_draw(self, state, 10 + action) % self.width)

    def outcome(self, state):
        return OUTCOMES[maze_draw(self, state, 3) % len(OUTCOMES)]


@compilable
def maze_draw(rules, state, counter):
    return draw(draw(rules.seed, 100 * state.turn + state.place), counter)


@pytest.fixture(autouse=True)
def _games_of_tests_leave_the_cache_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("azero.games.compiled.add_source", lambda *sources: None)


class CompiledMaze(CompiledGame):
    name = "compiled maze"
    num_actions = 4

    def __init__(self, seed, length=7, width=5):
        self.rules, self.max_game_length = MazeRules(seed, length, width), length


def results(solution):
    """(value, plies) by action; naive minimax gives no draw a distance that matters, nor does this."""
    return dict(
        zip(solution.actions.tolist(), zip(solution.values.tolist(), solution.plies.tolist(), strict=True), strict=True)
    )


def without_length_of_draws(naive):
    return {
        action: (pytest.approx(value, abs=1e-9), plies if value else -1) for action, (value, plies) in naive.items()
    }


def check_exact_actions(solution, truth):
    """Whatever is said to be exact is so, where `truth` is of the whole game."""
    truth = without_length_of_draws(truth)
    for action, exact in zip(solution.actions, solution.exact, strict=True):
        assert not exact or results(solution)[action] == truth[action]


def check(search, state, depth=None, memory=None):
    """Search for every action's result, then for the best actions, and hold both against recursion."""
    game = search.game
    naive = action_results(game, state, depth or game.max_game_length, memory)
    best = max(naive.values(), key=better)
    for every_action in (True, False):
        solution = search.search(state, Limits(depth=depth), every_action)
        if every_action:
            assert results(solution) == without_length_of_draws(naive)
        assert solution.best_actions == tuple(action for action in naive if better(naive[action]) == better(best))
        assert (solution.value, solution.num_plies) == (pytest.approx(best[0], abs=1e-9), best[1] if best[0] else -1)
        if depth is None:
            assert solution.is_exact
            assert solution.exact.all() or not every_action
            check_exact_actions(solution, naive)
    if depth is None:
        solved = search.solve(state, 1 << 40)
        assert solved
        assert solved.is_exact
        assert solved.best_actions == solution.best_actions
        assert (solved.value, solved.num_plies) == (solution.value, solution.num_plies)
        check_exact_actions(solved, naive)


def test_any_number_of_short_searches_is_searched() -> None:
    search = AlphaBeta(TTT, table_size=0)  # each search doubles how much is done between two looks at the clock
    for _ in range(1200):
        solution = search.search(TTT.initial_state(), Limits(depth=1))
    assert solution.depth == 1


def test_a_score_orders_by_value_and_then_by_distance() -> None:
    def score(value: float, plies: int) -> int:
        result = score_of(value)
        for _ in range(plies):
            result = farther(result)
        return result

    ranking = [(1.0, 1), (1.0, 2), (0.5, 0), (0.5, 900), (1e-9, 3), (0.0, -1), (-1e-9, 4), (-1 / 3, 9), (-1.0, 5)]
    scores = [score(*entry) for entry in ranking]
    assert scores == sorted(scores, reverse=True)
    for (value, plies), one in zip(ranking, scores, strict=True):
        assert value_of(one) == (pytest.approx(value, abs=1e-9), plies)
        assert value_of(-one) == (pytest.approx(-value, abs=1e-9), plies)
        assert nearer(farther(one)) == one
    assert score(-1.0, 5) > score(-1.0, 4)
    assert value_of(score(0.3, 2)) == (0.3, 2)


@pytest.mark.compiled
def test_all_positions_of_tic_tac_toe_have_their_exact_value_and_distance() -> None:
    states = {state for layer in layers(TTT) for state in layer}
    unfinished = [state for state in states if not TTT.is_terminal(state)]
    assert (len(states), len(unfinished)) == (5478, 4520)
    search, memory = AlphaBeta(TTT), {}
    for state in unfinished:
        check(search, state, memory=memory)


@pytest.mark.parametrize(("prunes", "table_size"), [(True, 1 << 12), (True, 3), (True, 0), (False, 0), (False, 50)])
@pytest.mark.parametrize("seed", range(12))
def test_every_kind_of_search_agrees_with_recursion(seed: int, prunes: bool, table_size: int) -> None:
    game, memory = Maze(seed), {}
    search = AlphaBeta(game, prunes=prunes, table_size=table_size)
    for game_seed in range(6):
        for state in list(states_along(game, random_game(game, game_seed)))[:-1]:
            check(search, state, memory=memory)


@pytest.mark.parametrize(("prunes", "table_size"), [(True, 1 << 12), (True, 0), (False, 0)])
@pytest.mark.parametrize("seed", range(8))
def test_what_lies_beyond_the_depth_limit_counts_as_a_draw(seed: int, prunes: bool, table_size: int) -> None:
    game, memory = Maze(seed, width=9), {}
    start, length = game.initial_state(), game.max_game_length
    truth = action_results(game, start, length, memory)
    for depth in range(1, length + 1):
        check(AlphaBeta(game, prunes, table_size), start, depth, memory)
        for every_action in (True, False):
            solution = AlphaBeta(game, prunes, table_size).search(start, Limits(depth=depth), every_action)
            check_exact_actions(solution, truth)
            naive = action_results(game, start, solution.depth, memory)
            for action, (value, plies) in results(solution).items():
                assert better((value, plies)) >= better((round(naive[action][0], 9), naive[action][1]))
    assert solution.is_exact


@given(st.integers(0, 2**40), st.integers(0, 400))
def test_an_interrupted_search_claims_nothing_that_is_not_so(seed: int, nodes: int) -> None:
    game, memory = Maze(seed, length=8), {}
    truth = action_results(game, game.initial_state(), game.max_game_length, memory)
    best = max(map(better, truth.values()))
    for every_action in (True, False):
        solution = AlphaBeta(game).search(game.initial_state(), Limits(nodes=nodes), every_action)
        assert solution.num_nodes <= nodes + game.num_actions
        check_exact_actions(solution, truth)
        if solution.is_exact:
            assert {better(truth[action]) for action in solution.best_actions} == {best}


@pytest.mark.parametrize("seed", [5, 8, 13, 19, 21, 25, 27])
def test_a_solution_within_so_many_nodes_is_the_true_one_or_none(seed: int) -> None:
    game = Maze(seed)
    truth = action_results(game, game.initial_state(), game.max_game_length)
    best = max(map(better, truth.values()))
    needed = AlphaBeta(game).solve(game.initial_state(), 1 << 40).num_nodes
    for nodes in range(needed + 1):
        solution = AlphaBeta(game).solve(game.initial_state(), nodes)
        if solution:
            assert solution.num_nodes <= nodes + game.num_actions
            assert {action for action, result in truth.items() if better(result) == best} == set(solution.best_actions)
            check_exact_actions(solution, truth)
    assert AlphaBeta(game).solve(game.initial_state(), 0) is None


class Endless(Game):
    """Three actions at every one of 60 plies, all for nothing; it counts the states that it is asked for."""

    name, num_actions, max_game_length, num_steps = "endless", 3, 60, 0

    def initial_state(self):
        return ()

    def current_player(self, state):
        return len(state) % 2

    def legal_actions(self, state):
        return [] if len(state) == 60 else [0, 1, 2]

    def step(self, state, action):
        self.num_steps += 1
        return (*state, action)

    def outcome(self, state):
        return 0.0


def test_a_step_that_would_not_fit_is_not_begun() -> None:
    game, used = Endless(), []
    for nodes in (40_000, 20_000, 100):
        game.num_steps = 0
        assert AlphaBeta(game).solve(game.initial_state(), nodes) is None
        used.append(game.num_steps)
    assert 100 < used[0] == used[1] < 10_000
    assert used[2] < 110


def test_a_search_in_pieces_finds_what_one_in_one_piece_does(monkeypatch: pytest.MonkeyPatch) -> None:
    game = Maze(3)
    whole = AlphaBeta(game).search(game.initial_state())
    monkeypatch.setattr("azero.search.alphabeta._SECONDS_PER_CHUNK", 0.0)
    pieces = AlphaBeta(game).search(game.initial_state())
    assert same(whole, pieces)
    assert whole.num_nodes == pieces.num_nodes


def same(one: Solution, other: Solution) -> bool:
    return results(one) == results(other) and one.exact.tolist() == other.exact.tolist() and one[4:9] == other[4:9]


def twins():
    """States of compiled games beside those of their twins in plain Python."""
    plain_ttt = PlainTicTacToe()
    for seed in range(3):
        actions = random_game(TTT, seed)
        yield TTT, plain_ttt, list(states_along(TTT, actions))[4:-1], list(states_along(plain_ttt, actions))[4:-1]
    for seed in range(6):
        mazes = CompiledMaze(seed), Maze(seed)
        yield *mazes, *(list(states_along(maze, random_game(maze, seed)))[:-1] for maze in mazes)


@pytest.mark.parametrize("prunes", [True, False])
def test_compiled_and_interpreted_searches_visit_the_same_states(prunes: bool) -> None:
    for game, plain_game, states, plain_states in twins():
        search, plain_search = AlphaBeta(game, prunes, table_size=0), AlphaBeta(plain_game, prunes, table_size=0)
        for state, plain_state in zip(states, plain_states, strict=True):
            for limits in (Limits(), Limits(depth=2), Limits(nodes=40)):
                for every_action in (True, False):
                    one = search.search(state, limits, every_action)
                    other = plain_search.search(plain_state, limits, every_action)
                    assert same(one, other)
                    assert one.num_nodes == other.num_nodes


@pytest.mark.parametrize("table_size", [1 << 10, 3])
def test_compiled_and_interpreted_searches_agree_with_their_tables(table_size: int) -> None:
    for game, plain_game, states, plain_states in twins():
        search, plain_search = AlphaBeta(game, table_size=table_size), AlphaBeta(plain_game, table_size=table_size)
        for state, plain_state in zip(states, plain_states, strict=True):
            solutions = search.search(state, every_action=True), plain_search.search(plain_state, every_action=True)
            assert results(solutions[0]) == results(solutions[1])
            assert search.search(state).best_actions == plain_search.search(plain_state).best_actions


LATE = [  # columns played, and each column's score: n > 0 wins with the n-th last own stone, n < 0 loses to it
    ("012455362530021104430135401122265", (None, None, None, 0, 0, 0, 1)),
    ("5364432114641426663500234216313550", (-4, -4, 0, None, None, -4, None)),
    ("42135125265325622503011135464030630", (-3, -3, None, None, 1, None, -3)),
    ("51101114643416363645634500432536500", (-3, None, 2, None, None, -3, None)),
    ("60235400161225620251464144426115", (2, None, None, -3, None, 2, 2)),
    ("34354510334552425436500314661201202120", (None, 1, None, None, None, None, 1)),
    ("563200145203226402362643655435064450", (None, 0, None, -3, None, None, None)),
    ("205664623001400403165541663414555322213", (None, -1, -1, 0, None, None, None)),
]
EARLIER = [
    ("250143112124404162120020644", (5, None, None, 7, None, -2, 6)),
    ("5266536346263003254216102", (-7, 2, -7, -7, -8, 8, None)),
    ("623365520626050066230213243", (4, -7, None, 4, 7, 5, None)),
    ("042236440563500125563054", (0, 1, 2, 6, 4, 0, 0)),
    ("64224453303125555100121", (-9, -2, -2, 9, -1, -2, -2)),
    ("1655606632452424423322013", (-7, -8, None, 0, -2, 0, -3)),
    ("05553606654153003360021626", (None, -2, 0, -2, -8, -5, None)),
    ("0413356501104034200364", (None, -3, -9, -7, -4, -7, -3)),
]


def check_scores(search: AlphaBeta, moves: str, scores: tuple[int | None, ...]) -> None:
    state = state_after(C4, map(int, moves))
    solution = search.search(state, every_action=True)
    assert solution.exact.all()
    left = 42 - state.num_stones
    for action, (value, plies) in results(solution).items():
        stones = (left + 1) // 2 if value > 0 else left // 2  # the winner's, who puts the last of them after `plies`
        assert scores[action] == value * (stones - (plies + 1) // 2 + 1)


@pytest.mark.parametrize("table_size", [1 << 18, 2])
def test_late_positions_of_connect_four_have_the_scores_of_another_solver(table_size: int) -> None:
    search = AlphaBeta(C4, table_size=table_size)
    for moves, scores in LATE:
        check_scores(search, moves, scores)


@pytest.mark.compiled
@pytest.mark.parametrize("table_size", [1 << 18, 200])
def test_earlier_positions_of_connect_four_have_the_scores_of_another_solver(table_size: int) -> None:
    search = AlphaBeta(C4, table_size=table_size)
    for moves, scores in EARLIER:
        check_scores(search, moves, scores)


class Ladder(Game):
    """One rung after the other, alternately; only on the last may a player choose, to win or to lose."""

    name, num_actions, max_game_length = "ladder", 2, 200

    def initial_state(self):
        return 0

    def current_player(self, state):
        return state % 2

    def legal_actions(self, state):
        return [] if state >= 200 else [0, 1] if state == 199 else [0]

    def step(self, state, action):
        return state + 1 + action

    def outcome(self, state):
        return -1.0


def test_a_game_may_be_deeper_than_python_can_recurse() -> None:
    search = AlphaBeta(Ladder())
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(150)
    try:
        solution = search.search(0)
    finally:
        sys.setrecursionlimit(limit)
    assert (solution.value, solution.num_plies, solution.is_exact) == (-1.0, 200, True)


def test_a_heap_is_lost_when_it_is_a_multiple_of_three() -> None:
    search = AlphaBeta(Heap())
    for left in range(1, 6):
        solution = search.search((left, 0))
        assert solution.value == (-1 if left % 3 == 0 else 1)
        assert solution.best_actions == ((1, 2) if left % 3 == 0 and left > 3 else solution.best_actions)
    assert search.search((5, 0)).best_actions == (2,)
    assert search.search((3, 0)).best_actions == (1, 2)


class Clock:
    """A clock that goes on by a second whenever it is read."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("game", [C4, Maze(1, length=12)])
def test_a_search_ends_when_its_time_is_up(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    search = AlphaBeta(game)
    monkeypatch.setattr("azero.search.alphabeta.time.perf_counter", Clock())
    solution = search.search(game.initial_state(), Limits(seconds=60))
    assert 60 <= solution.seconds <= 63
    assert 1 <= solution.depth < game.max_game_length


def test_without_any_time_all_actions_are_as_good() -> None:
    solution = AlphaBeta(C4).search(C4.initial_state(), Limits(seconds=0))
    assert (solution.depth, solution.num_nodes, solution.value, solution.num_plies) == (0, 0, 0.0, -1)
    assert solution.best_actions == tuple(range(7))
    assert not solution.exact.any()
    assert not solution.is_exact


def test_more_nodes_look_deeper_until_the_end() -> None:
    state = state_after(C4, map(int, LATE[0][0]))
    depths = [AlphaBeta(C4).search(state, Limits(nodes=nodes)).depth for nodes in (0, 40, 400, 4_000_000)]
    assert depths == sorted(set(depths))
    assert AlphaBeta(C4).search(state, Limits(nodes=4_000_000)).is_exact


def test_a_won_position_is_left_alone_as_soon_as_it_is_known() -> None:
    solution = AlphaBeta(C4).search(state_after(C4, [3, 0, 3, 0, 3, 1]))
    assert (solution.value, solution.num_plies, solution.is_exact) == (1.0, 1, True)
    assert solution.best_actions == (3,)
    assert solution.depth == 1
    assert solution.exact.tolist() == [action == 3 for action in range(7)]


def test_the_table_saves_work_and_is_empty_after_a_reset() -> None:
    state = state_after(C4, map(int, LATE[4][0]))
    for search in (AlphaBeta(C4), AlphaBeta(Maze(1, length=9))):
        position = state if search.game is C4 else search.game.initial_state()
        first = search.search(position, every_action=True)
        second = search.search(position, every_action=True)
        search.reset()
        third = search.search(position, every_action=True)
        assert second.num_nodes < first.num_nodes == third.num_nodes
        assert same(first, third)
        assert results(first) == results(second)


def test_a_finished_game_is_refused() -> None:
    with pytest.raises(GameOverError, match=r"tictactoe is over: X wins"):
        AlphaBeta(TTT).search(state_after(TTT, [0, 3, 1, 4, 2]))


@pytest.mark.parametrize(("limit", "least"), [({"depth": 0}, 1), ({"nodes": -1}, 0), ({"seconds": -0.1}, 0)])
def test_a_limit_out_of_range_is_refused(limit: dict[str, float], least: int) -> None:
    ((name, value),) = limit.items()
    with pytest.raises(ValueError, match=f"{name} must be at least {least}, got {value}"):
        Limits(**limit)
    with pytest.raises(ValueError, match="seconds must be at least 0, got nan"):
        dataclasses.replace(Limits(), seconds=float("nan"))


def test_a_table_of_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="table_size must be at least 0, got -1"):
        AlphaBeta(TTT, table_size=-1)
