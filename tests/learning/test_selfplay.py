"""Self-play: the games, the samples made of them, and that neither depends on what ran beside them."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from azero._jit import draw
from azero.evaluators.rollout import RolloutEvaluator
from azero.evaluators.scripted import ScriptedEvaluator
from azero.evaluators.uniform import UniformEvaluator
from azero.games import load_game
from azero.games.connect4 import Connect4
from azero.games.game import state_after, winner
from azero.games.tictactoe import TicTacToe
from azero.learning.played import PlayedGame, record_of, samples_of
from azero.learning.selfplay import SelfPlay, SelfPlayCounts, SelfPlaySettings, _Worker
from azero.players.exact import pons_sets
from azero.players.record import read_records, write_records
from azero.search.forest import Forest, SearchOptions
from azero.search.gumbel import Gumbel
from azero.search.mcts import MCTS, Budget
from azero.search.noise import DirichletNoise, add_root_noise
from azero.search.puct import PUCT
from azero.search.result import SearchResult, best_action
from tests.games.plain import SeenHeap
from tests.games.playing import ALL_GAMES
from tests.naive.minimax import action_results, better

TTT, C4 = TicTacToe(), Connect4()
SEED = 5
NO_NOISE = DirichletNoise(weight=0.0)


def play(game: Any, first: int = 0, evaluator: Any = None, rule: Any = None, **settings: Any) -> list[PlayedGame[Any]]:
    return play_counting(game, first, evaluator, rule, **settings)[0]


def play_counting(
    game: Any, first: int = 0, evaluator: Any = None, rule: Any = None, **settings: Any
) -> tuple[list[PlayedGame[Any]], SelfPlayCounts]:
    settings = {"games": 12, "simulations": 16, "parallel_games": 4, "threads": 1} | settings
    selfplay = SelfPlay(game, rule or PUCT(), SelfPlaySettings(**settings))
    return selfplay.play(evaluator or UniformEvaluator(), SEED, first)


def searches(game: Any, rule: Any, simulations: int, proven_values: bool) -> Iterator[tuple[Any, SearchResult]]:
    """Every searched state of some games without Dirichlet noise, and an `MCTS` search of the same stream.

    Checks that self-play says of the state, plays and learns what that search says.
    """
    games = play(
        game, rule=rule, simulations=simulations, proven_values=proven_values, evaluator=RolloutEvaluator(),
        noise=NO_NOISE, temperature=0.0,
    )  # fmt: skip
    mcts = MCTS(game, RolloutEvaluator(), rule, SearchOptions(proven_values=proven_values))
    for played in games:
        first = len(played.actions) - len(played.states)
        for i, state in enumerate(played.states):
            stream = draw(draw(SEED, played.number), first + i)
            mcts.reset()
            result = mcts.search(state, Budget(simulations), stream)
            np.testing.assert_array_equal(played.policies[i], result.policy(game.num_actions))
            assert played.values[i] == result.value
            assert played.actions[first + i] == best_action(result, stream)
            yield state, result


def moves(games: list[PlayedGame[Any]]) -> list[list[int]]:
    return [game.actions for game in games]


@pytest.mark.parametrize(
    ("game", "options"),
    [
        (TTT, {}),
        (C4, {}),
        (C4, {"rule": PUCT(forced_visits=2.0), "noise": DirichletNoise(temperature=1.25)}),
        (C4, {"rule": Gumbel(), "noise": NO_NOISE, "temperature": 0.0}),
        (TTT, {"proven_values": True}),
    ],
)
def test_games_do_not_depend_on_threads_or_on_the_games_beside_them(game: Any, options: dict[str, Any]) -> None:
    alone = play(game, parallel_games=1, **options)
    for parallel_games, threads in [(3, 1), (12, 1), (2, 2), (5, 3)]:
        beside = play(game, parallel_games=parallel_games, threads=threads, **options)
        assert moves(beside) == moves(alone)
        for a, b in zip(alone, beside, strict=True):
            np.testing.assert_array_equal(a.policies, b.policies)
            assert a.values == b.values
    assert moves(play(game, first=3, games=4, **options)) == moves(alone)[3:7]


def test_every_thread_plays_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    shares: dict[int, int] = {}
    honest = _Worker.start_game

    def counted(self: Any, b: int, number: int) -> Any:
        shares[id(self)] = shares.get(id(self), 0) + 1
        return honest(self, b, number)

    monkeypatch.setattr(_Worker, "start_game", counted)
    play(C4, games=8, parallel_games=64, threads=4)
    assert list(shares.values()) == [2, 2, 2, 2]


@pytest.mark.parametrize("options", [{}, {"rule": Gumbel(), "noise": NO_NOISE, "temperature": 0.0, "random_plies": 0}])
def test_games_differ_within_and_between_iterations(options: dict[str, Any]) -> None:
    games = moves(play(C4, games=24, **options)) + moves(play(C4, first=24, games=24, **options))
    assert len({tuple(game) for game in games}) == 48


@pytest.mark.parametrize("rule", [PUCT(), PUCT(forced_visits=2.0), Gumbel()])
@pytest.mark.parametrize("proven_values", [False, True])
def test_what_is_learned_of_a_position_is_what_a_search_of_it_says(rule: Any, proven_values: bool) -> None:
    shares = [
        np.array_equal(result.improved, (result.visit_counts / result.visit_counts.sum()).astype(np.float32))
        for _, result in searches(C4, rule, 24, proven_values)
    ]
    assert all(shares) == (rule == PUCT() and not proven_values)  # pruned or improved, it is not the visits' share


@pytest.mark.parametrize("rule", [PUCT(), Gumbel()])
def test_what_is_proven_is_learned_exactly_and_takes_no_more_simulations(rule: Any) -> None:
    memory: dict[Any, Any] = {}
    num_proven = num_refuted = 0
    for state, result in searches(TTT, rule, 64, proven_values=True):
        worth = {action: value for action, (value, _) in action_results(TTT, state, 9, memory).items()}
        best = max(worth.values())
        weights = dict(zip(result.actions.tolist(), result.improved.tolist(), strict=True))
        if result.proof is not None:
            num_proven += result.num_simulations < 64
            assert result.value == best
            assert all(worth[action] == best for action, weight in weights.items() if weight > 0)
        for action, proof in zip(result.actions.tolist(), result.proofs, strict=True):
            if proof is not None and proof.value == -1 < best:
                num_refuted += 1
                assert weights[action] == 0
    assert num_proven > 20
    assert num_refuted > 20


def test_games_are_played_to_their_end_and_know_how_it_went() -> None:
    for game in (TTT, C4):
        for played in play(game):
            state = state_after(game, played.actions)
            assert game.is_terminal(state)
            assert played.outcomes == [{0: 1, 1: -1, None: 0}[winner(game, state)]] * len(played.states)
            assert winner(game, state) in (None, 1 - game.current_player(state))  # whoever moved last


@pytest.mark.parametrize("outcome", [1, -1, 0, 0.25])
def test_the_outcome_of_a_sample_is_that_of_the_player_to_move(outcome: float) -> None:
    states = [state_after(TTT, [0, 3, 1, 4, 2][:ply]) for ply in range(5)]
    played = PlayedGame(
        0,
        actions=[0, 3, 1, 4, 2],
        states=states,
        legal=[np.ones(9, np.bool_)] * 5,
        policies=[np.full(9, 1 / 9, np.float32)] * 5,
        values=[0.0] * 5,
        simulations=[16] * 5,
    )
    played.end(TTT, outcome)
    assert samples_of(TTT, [played]).outcome.tolist() == [outcome, -outcome, outcome, -outcome, outcome]


@pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.name)
def test_in_every_game_each_mover_learns_how_it_ended_for_him(game: Any) -> None:
    games = play(game, games=2, simulations=2, random_plies=6)
    expected = []
    for played in games:
        won_by = winner(game, state_after(game, played.actions))
        movers = [game.current_player(state) for state in played.states]
        expected += [0 if won_by is None else 1 if won_by == mover else -1 for mover in movers]
    assert samples_of(game, games).outcome.tolist() == expected


class SmallStakes(SeenHeap):
    """A game of which a quarter of a win is the most there is."""

    def outcome(self, state: Any) -> float:
        return super().outcome(state) / 4


def test_a_game_that_ends_in_less_than_a_win_is_learned_as_it_ended() -> None:
    game = SmallStakes()
    games = play(game)
    assert {played.outcomes[-1] for played in games} == {0.25, -0.25}
    for played in games:
        last = state_after(game, played.actions)
        assert played.outcomes[-1] == game.outcome(last) * (1 if game.current_player(last) == 0 else -1)
    assert set(np.abs(samples_of(game, games).outcome)) == {0.25}


def test_a_sample_shows_the_network_what_the_search_showed_it() -> None:
    games = play(C4)
    samples = samples_of(C4, games)
    row = 0
    for played in games:
        num_random = len(played.actions) - len(played.states)
        for ply in range(num_random, len(played.actions)):
            state = state_after(C4, played.actions[:ply])
            np.testing.assert_array_equal(samples.observations[row], C4.observation(state))
            assert np.flatnonzero(samples.legal[row]).tolist() == C4.legal_actions(state)
            assert samples.policy[row][~samples.legal[row]].sum() == 0
            assert samples.policy[row].sum() == pytest.approx(1)
            row += 1
    assert row == len(samples)


@pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.name)
def test_in_every_game_a_sample_knows_the_last_state_in_which_its_mover_moved(game: Any) -> None:
    games = play(game, games=2, simulations=2, random_plies=6)
    samples = samples_of(game, games)
    expected = []
    for played in games:
        players = [game.current_player(state) for state in played.states]
        for player in players:
            state = [state for state, other in zip(played.states, players, strict=True) if other == player][-1]
            expected.append(game.observation(state))
    np.testing.assert_array_equal(samples.last, np.stack(expected))


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_a_game_that_the_solver_sees_through_is_learned_exactly_without_any_search(epsilon: float) -> None:
    games, counts = play_counting(
        TTT, games=600, solver_nodes=10**6, solved_epsilon=epsilon, random_plies=8,
        evaluator=ScriptedEvaluator(lambda _: 1 / 0),
    )  # fmt: skip
    assert (counts.evaluations, counts.simulations) == (0, 0)
    assert counts.solved == counts.positions == sum(len(played.states) for played in games)
    assert len({state for played in games for state in played.states}) > 400
    memory: dict[Any, Any] = {}
    for played in games[:200]:
        for state, policy, value in zip(played.states, played.policies, played.values, strict=True):
            results = action_results(TTT, state, 9, memory)
            best = max(results.values(), key=better)
            expected = [action for action, result in results.items() if better(result) == better(best)]
            assert np.flatnonzero(policy).tolist() == expected
            assert policy.sum() == pytest.approx(1)
            assert value == best[0]
        signs = [1 if TTT.current_player(state) == 0 else -1 for state in played.states]
        assert played.outcomes == [value * sign for value, sign in zip(played.values, signs, strict=True)]
    choices = [pair for played in games for pair in zip(played.policies[::-1], played.actions[::-1], strict=False)]
    assert all(policy[action] > 0 for policy, action in choices) == (epsilon == 0)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize("name", ["othello(size=4)", "dots_and_boxes(rows=1,columns=2)", "nim(heaps=2-3)"])
def test_solved_values_are_those_of_who_moves_also_after_a_pass_or_where_he_moves_again(
    name: str, epsilon: float
) -> None:
    game, memory, movers = load_game(name), dict[Any, Any](), set[int]()
    games, counts = play_counting(game, games=12, solver_nodes=10**6, solved_epsilon=epsilon, random_plies=6)
    assert counts.solved == counts.positions
    for played in games:
        for state, value, policy in list(zip(played.states, played.values, played.policies, strict=True))[-6:]:
            results = action_results(game, state, game.max_game_length, memory)
            best = max(results.values(), key=better)
            assert value == pytest.approx(best[0])
            assert np.flatnonzero(policy).tolist() == [a for a, r in results.items() if better(r) == better(best)]
            movers.add(game.current_player(state))
        if not epsilon:
            assert played.outcomes[0] == {0: 1, 1: -1, None: 0}[winner(game, state_after(game, played.actions))]
    samples = samples_of(game, games)
    assert samples.outcome.tolist() == samples.value.tolist()
    assert movers == {0, 1}


@pytest.mark.parametrize("epsilon", [0.0, 0.7])
def test_what_is_learned_of_a_game_is_how_it_comes_out_where_that_is_first_known(epsilon: float) -> None:
    settings = {"solver_nodes": 300, "random_plies": 30, "games": 40, "simulations": 4}
    differing = 0
    for played in play(C4, **settings, solved_epsilon=epsilon):
        last = state_after(C4, played.actions)
        outcome = {0: 1, 1: -1, None: 0}[winner(C4, last)]
        known = [num == 0 for num in played.simulations]
        results = [
            value * (1 if C4.current_player(state) == 0 else -1)
            for state, value in zip(played.states, played.values, strict=True)
        ]
        for i, learned in enumerate(played.outcomes):
            assert learned == (results[known.index(True, i)] if any(known[i:]) else outcome)
        differing += played.outcomes[0] != outcome
    assert differing > 4 or not epsilon


@pytest.mark.compiled
def test_what_the_solver_sees_through_does_not_depend_on_what_it_saw_before() -> None:
    selfplay = SelfPlay(C4, PUCT(), SelfPlaySettings(games=1, threads=1, solver_nodes=30_000))
    used, other = (_Worker(selfplay, UniformEvaluator(), SEED, iter([0]), None, threading.Event()) for _ in range(2))
    for position in pons_sets()[2].positions[:60]:
        after = [C4.step(position.state, action) for action in C4.legal_actions(position.state)]
        for state in (*after, position.state):  # what follows first, of which a table would tell
            assert used.solver
            assert other.solver
            other.solver.reset()
            expected = other.solver.solve(state, 30_000) is not None if not C4.is_terminal(state) else None
            assert expected is None or (used.solve(used.solver, state) is not None) == expected


@pytest.mark.compiled
def test_where_the_solver_fails_it_is_asked_again_two_plies_later(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, bool]] = []
    honest = _Worker.solve

    def solve(self: Any, solver: Any, state: Any) -> Any:
        solution = honest(self, solver, state)
        asked.append((int(C4.observations([state])[0, :2].sum()), solution is not None))
        return solution

    monkeypatch.setattr(_Worker, "solve", solve)
    [played], _ = play_counting(C4, games=1, solver_nodes=3000, random_plies=0, threads=1)
    first = next(ply for ply, is_solved in asked if is_solved)
    assert [ply for ply, is_solved in asked if not is_solved] == list(range(0, first, 2))
    assert [ply for ply, is_solved in asked if is_solved] == list(range(first, len(played.actions)))


def test_what_is_solved_or_looked_ahead_at_does_not_depend_on_what_is_played_beside_it() -> None:
    settings = {"solver_nodes": 1000, "lookahead": 3, "random_plies": 30, "games": 24}
    games, counts = play_counting(C4, **settings)
    assert 0 < counts.solved < counts.positions
    assert counts.solved == sum(num == 0 for played in games for num in played.simulations)
    others, others_counts = play_counting(C4, **settings, threads=3, parallel_games=2)
    assert moves(games) == moves(others)
    assert counts == others_counts
    for one, other in zip(games, others, strict=True):
        np.testing.assert_array_equal(one.policies, other.policies)
        assert one.values == other.values
    alone = play(C4, **settings | {"games": 1}, first=17)
    assert moves(alone) == moves(games[17:18])


def test_a_game_is_kept_as_text_with_its_opening_and_result(tmp_path: Path) -> None:
    games, counts = play_counting(TTT, first=40)
    write_records(tmp_path / "games.txt", TTT, (record_of(TTT, played, "iteration 3") for played in games))
    records = read_records(tmp_path / "games.txt", TTT)
    assert [list(record.actions) for record in records] == moves(games)
    for record, played in zip(records, games, strict=True):
        assert (record.index, record.players) == (played.number, ("iteration 3", "iteration 3"))
        assert record.num_opening_actions + len(played.states) == len(played.actions)
        assert record.points == (1 + played.outcomes[-1]) / 2
        assert sum(spent.num_moves for spent in record.spent) == len(played.states)
    assert sum(spent.num_simulations for record in records for spent in record.spent) == counts.simulations


def test_a_record_tells_the_simulations_of_each_side() -> None:
    [played] = play(TTT, games=1, random_plies=0, temperature=0.0)
    played.simulations = [100 + ply for ply in range(len(played.actions))]
    spent = record_of(TTT, played, "iteration 3").spent
    assert [side.num_simulations for side in spent] == [sum(played.simulations[seat::2]) for seat in (0, 1)]
    assert [side.num_moves for side in spent] == [len(played.actions[seat::2]) for seat in (0, 1)]


def test_random_openings_vary_in_length_and_are_not_learned_from() -> None:
    games = play(TTT, games=60, random_plies=8)
    lengths = [len(played.actions) - len(played.states) for played in games]
    assert set(lengths) >= {0, 1, 2, 3, 4}
    assert all(played.states for played in games)


def test_after_the_opening_the_most_visited_action_is_played() -> None:
    for played in play(C4, random_plies=0, temperature_plies=2, noise=NO_NOISE):
        for action, policy in list(zip(played.actions, played.policies, strict=True))[2:]:
            assert policy[action] == policy.max()


def test_noise_moves_the_root_s_priors_and_no_others() -> None:
    def roots_and_inner(weight: float) -> tuple[list[Any], list[Any]]:
        forest = Forest(C4, UniformEvaluator(), PUCT())
        forest.set_root(0, C4.initial_state(), 3)
        forest.grow(0, 1)
        add_root_noise(forest, 0, DirichletNoise(weight), 3)
        forest.grow(0, 50)
        edges = forest.root_edges(0)
        return forest.tree.prior[0, edges].tolist(), forest.tree.prior[0, edges.stop : edges.stop + 70].tolist()

    root, inner = roots_and_inner(0.25)
    assert len(set(root)) == 7
    assert set(inner) == {np.float32(1 / 7)}


def test_the_temperature_of_the_noise_evens_out_the_priors_of_a_root_before_its_search() -> None:
    skewed = ScriptedEvaluator(lambda _: ([64.0, 8.0, 1.0, 1.0, 1.0, 1.0, 1.0], 0.0))
    forest = Forest(C4, skewed, PUCT())
    forest.set_root(0, C4.initial_state(), 3)
    forest.grow(0, 1)
    add_root_noise(forest, 0, DirichletNoise(weight=0.0, temperature=2.0), 3)
    root = np.sqrt([64, 8, 1, 1, 1, 1, 1])
    np.testing.assert_allclose(sorted(forest.tree.prior[0, forest.root_edges(0)]), sorted(root / root.sum()), rtol=1e-6)

    def mean_share(temperature: float) -> float:
        noise = DirichletNoise(weight=0.0, temperature=temperature)
        games = play(C4, evaluator=skewed, noise=noise, random_plies=0, simulations=32)
        return float(np.mean([played.policies[0][0] for played in games]))

    assert mean_share(4.0) < mean_share(1.0)


def test_a_forced_action_takes_one_simulation() -> None:
    games, counts = SelfPlay(TTT, PUCT(), SelfPlaySettings(games=20, simulations=32, parallel_games=5, threads=1)).play(
        UniformEvaluator(), 1, 0
    )
    forced = sum(int(legal.sum()) == 1 for played in games for legal in played.legal)
    assert forced > 0
    assert counts.simulations == 32 * (counts.positions - forced) + forced


@pytest.mark.parametrize("threads", [1, 2])
def test_an_evaluator_that_fails_stops_all_threads_with_its_error(threads: int) -> None:
    calls = []

    def script(state: Any) -> tuple[list[float], float]:
        calls.append(state)
        if len(calls) > 100:
            raise RuntimeError("the network fell over")
        return [1.0] * 7, 0.0

    with pytest.raises(RuntimeError, match="fell over"):
        play(C4, evaluator=ScriptedEvaluator(script), threads=threads)


def test_an_interrupt_while_games_are_played_stops_them() -> None:
    class Interrupting:
        def on_step(self) -> None:
            pass

        def on_wait(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SelfPlay(TTT, PUCT(), SelfPlaySettings(games=100_000, simulations=4, threads=2)).play(
            RolloutEvaluator(), 1, 0, Interrupting()
        )


@pytest.mark.parametrize(
    "settings",
    [
        {"games": 0},
        {"simulations": 0},
        {"parallel_games": 0},
        {"threads": -1},
        {"temperature": -1.0},
        {"temperature": float("nan")},
        {"temperature_plies": -1},
        {"random_plies": -1},
        {"lookahead": -1},
        {"solver_nodes": -1},
        {"solved_epsilon": 1.5},
        {"solved_epsilon": float("nan")},
    ],
)
def test_settings_out_of_range_are_refused_by_name(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        SelfPlaySettings(**settings)
