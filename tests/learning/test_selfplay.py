"""Self-play: the games, the samples made of them, and that neither depends on what ran beside them."""

from typing import Any

import numpy as np
import pytest

from azero.evaluators.rollout import RolloutEvaluator
from azero.evaluators.scripted import ScriptedEvaluator
from azero.evaluators.uniform import UniformEvaluator
from azero.games.connect4 import Connect4
from azero.games.game import state_after
from azero.games.tictactoe import TicTacToe
from azero.learning.selfplay import PlayedGame, SelfPlay, SelfPlaySettings, _Worker, samples_of
from azero.search.noise import DirichletNoise
from azero.search.puct import PUCT

TTT, C4 = TicTacToe(), Connect4()


def play(game: Any, first: int = 0, evaluator: Any = None, **settings: Any) -> list[PlayedGame[Any]]:
    settings = {"games": 12, "simulations": 16, "parallel_games": 4, "threads": 1} | settings
    return SelfPlay(game, PUCT(), SelfPlaySettings(**settings)).play(evaluator or UniformEvaluator(), 5, first)[0]


def moves(games: list[PlayedGame[Any]]) -> list[list[int]]:
    return [game.actions for game in games]


@pytest.mark.parametrize("game", [TTT, C4])
def test_games_do_not_depend_on_threads_or_on_the_games_beside_them(game: Any) -> None:
    alone = play(game, parallel_games=1)
    for parallel_games, threads in [(3, 1), (12, 1), (2, 2), (5, 3)]:
        beside = play(game, parallel_games=parallel_games, threads=threads)
        assert moves(beside) == moves(alone)
        for a, b in zip(alone, beside, strict=True):
            np.testing.assert_array_equal(a.policies, b.policies)
            assert a.values == b.values
    assert moves(play(game, first=3, games=4)) == moves(alone)[3:7]


def test_every_thread_plays_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    shares: dict[int, int] = {}
    honest = _Worker.start_game

    def counted(self: Any, b: int, number: int) -> None:
        shares[id(self)] = shares.get(id(self), 0) + 1
        honest(self, b, number)

    monkeypatch.setattr(_Worker, "start_game", counted)
    play(C4, games=8, parallel_games=64, threads=4)
    assert list(shares.values()) == [2, 2, 2, 2]


def test_games_differ_within_and_between_iterations() -> None:
    games = moves(play(C4, games=24)) + moves(play(C4, first=24, games=24))
    assert len({tuple(game) for game in games}) == 48


def test_games_are_played_to_their_end_and_know_their_winner() -> None:
    for game in (TTT, C4):
        for played in play(game):
            state = state_after(game, played.actions)
            assert game.is_terminal(state)
            outcome = game.outcome(state)
            assert (played.winner is None) == (outcome == 0)
            assert played.winner in (None, 1 - game.current_player(state))  # whoever moved last


def test_the_outcome_of_a_sample_is_that_of_the_player_to_move() -> None:
    states = [state_after(TTT, [0, 3, 1, 4, 2][:ply]) for ply in range(5)]
    played = PlayedGame(
        0,
        actions=[0, 3, 1, 4, 2],
        states=states,
        legal=[np.ones(9, np.bool_)] * 5,
        policies=[np.full(9, 1 / 9, np.float32)] * 5,
        values=[0.0] * 5,
        winner=0,
    )
    samples = samples_of(TTT, [played])
    assert samples.outcome.tolist() == [1, -1, 1, -1, 1]
    played.winner = None
    assert samples_of(TTT, [played]).outcome.tolist() == [0] * 5


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


def test_random_openings_vary_in_length_and_are_not_learned_from() -> None:
    games = play(TTT, games=60, random_plies=8)
    lengths = [len(played.actions) - len(played.states) for played in games]
    assert set(lengths) >= {0, 1, 2, 3, 4}
    assert all(played.states for played in games)


def test_after_the_opening_the_most_visited_action_is_played() -> None:
    for played in play(C4, random_plies=0, temperature_plies=2, noise=DirichletNoise(weight=0.0)):
        for action, policy in list(zip(played.actions, played.policies, strict=True))[2:]:
            assert policy[action] == policy.max()


def test_noise_moves_the_root_s_priors_and_no_others() -> None:
    def roots_and_inner(weight: float) -> tuple[list[Any], list[Any]]:
        from azero.search.forest import Forest
        from azero.search.noise import add_root_noise

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
        {"random_plies": -1},
    ],
)
def test_settings_out_of_range_are_refused_by_name(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        SelfPlaySettings(**settings)
