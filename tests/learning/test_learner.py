"""The learner: it learns, it can be repeated and resumed to the bit, and it stops before it does harm."""

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from azero.evaluators.network import NetworkEvaluator
from azero.evaluators.weights import Network, NetworkSettings, Weights
from azero.games.batch import batch_of
from azero.games.connect4 import Connect4
from azero.games.tictactoe import State, TicTacToe
from azero.learning.learner import Learner, LearnerSettings, TrainingError
from azero.learning.replay import Replay, ReplaySettings
from azero.learning.samples import Samples
from tests.learning.samples import random_samples

GAME = TicTacToe()
SMALL = NetworkSettings(channels=8, blocks=1, head_channels=4, value_hidden=8)
QUICK = {"batch_size": 32, "warmup_steps": 0, "threads": 1}


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    replay = Replay(GAME, ReplaySettings(), tmp_path)
    replay.add(1, random_samples(GAME, 200)[0])
    return replay


def learner(network: NetworkSettings = SMALL, seed: int = 0, **settings: Any) -> Learner:
    return Learner(GAME, network, LearnerSettings(**(QUICK | settings)), seed)


def differing(a: Weights, b: Weights) -> set[str]:
    return {
        name for name in a.keys() | b.keys() if not np.array_equal(a.get(name, ()), b.get(name, ()), equal_nan=True)
    }


def everything(one: Learner) -> Weights:
    return one.training_state() | {f"average.{name}": array for name, array in one.network(0).weights.items()}


def test_a_fresh_network_prefers_no_action_and_no_player() -> None:
    game = Connect4()
    fresh = Learner(game, SMALL, LearnerSettings(), seed=3).network(0)
    policy, value = NetworkEvaluator(fresh).evaluate(
        batch_of(game, [game.initial_state(), game.step(game.initial_state(), 2)])
    )
    np.testing.assert_allclose(policy, np.full((2, 7), 1 / 7), rtol=1e-6)
    np.testing.assert_array_equal(value, [0, 0])


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_the_same_seed_and_samples_give_the_same_bits_and_another_seed_others(replay: Replay, optimizer: str) -> None:
    runs = [learner(seed=seed, optimizer=optimizer, last_weight=2) for seed in (1, 1, 2)]
    metrics = [one.learn(replay, 5, stream=7) for one in runs]
    assert metrics[0] == metrics[1]
    assert differing(everything(runs[0]), everything(runs[1])) == set()
    assert differing(everything(runs[0]), everything(runs[2])) != set()


def test_bfloat16_is_for_processors_that_have_products_of_it(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    for has_it in (False, True):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda has_it=has_it: {"avx512_bf16": has_it})
        exact, other = learner(), learner(bfloat16=True)
        for one in (exact, other):
            one.learn(replay, 3, stream=7)
        assert bool(differing(everything(exact), everything(other))) == has_it


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_restored_learner_goes_on_to_the_bit(replay: Replay, optimizer: str) -> None:
    straight = learner(optimizer=optimizer, warmup_steps=10, last_weight=2)
    straight.learn(replay, 4, stream=1)
    resumed = learner(seed=99, optimizer=optimizer, warmup_steps=10, last_weight=2)
    resumed.restore(straight.network(1), straight.training_state())
    assert differing(everything(straight), everything(resumed)) == set()
    assert straight.learn(replay, 4, stream=2) == resumed.learn(replay, 4, stream=2)
    assert differing(everything(straight), everything(resumed)) == set()
    assert resumed.num_steps == 8


def test_a_learner_restored_before_its_first_step_is_fresh(replay: Replay) -> None:
    fresh, resumed = learner(), learner(seed=5)
    resumed.restore(fresh.network(0), fresh.training_state())
    assert fresh.learn(replay, 2, stream=1) == resumed.learn(replay, 2, stream=1)


def test_another_optimiser_goes_on_from_the_weights_without_the_memory(replay: Replay) -> None:
    before, after = learner(), learner(optimizer="sgd")
    before.learn(replay, 2, stream=1)
    after.restore(before.network(1), before.training_state())
    assert after.learn(replay, 2, stream=2)["gradient_steps"] == 2
    assert after.num_steps == 4


def test_a_network_of_another_size_or_game_is_refused_by_both() -> None:
    other = learner(NetworkSettings(channels=4, blocks=1))
    with pytest.raises(ValueError, match=r"cannot change: checkpoint: .*channels=4.*, asked: .*channels=8"):
        learner().restore(other.network(1), other.training_state())
    connect4 = Learner(Connect4(), SMALL, LearnerSettings(), seed=0)
    with pytest.raises(ValueError, match="checkpoint: connect4, asked: tictactoe"):
        learner().restore(connect4.network(1), connect4.training_state())
    for had, has in ((0, 1), (1, 0)):
        one = learner(last_weight=had)
        with pytest.raises(ValueError, match=r"learner\.last_weight"):
            learner(last_weight=has).restore(one.network(0), one.training_state())


def test_the_last_state_is_learned_beside_the_rest_and_the_network_has_nothing_of_it(tmp_path: Path) -> None:
    samples, _ = random_samples(GAME, 40)
    samples.last[:] = samples.observations[:, ::-1]  # simple enough to be learned: the planes changed places
    replay = Replay(GAME, ReplaySettings(), tmp_path)
    replay.add(1, samples)
    one = learner(last_weight=2, batch_size=64, learning_rate=0.02)
    first, last = (one.learn(replay, steps, stream=1)["last_loss"] for steps in (1, 300))
    assert first == pytest.approx(2 * np.log(2))  # of two planes the head says one half everywhere at first
    assert last < 0.3 * first
    assert one.network(1).weights.keys() == learner().network(1).weights.keys()
    assert "last_loss" not in learner().learn(replay, 1, stream=1)


def test_training_moves_the_statistics_of_batch_norm_and_playing_does_not(replay: Replay) -> None:
    one = learner(averaging=0)
    before = everything(one)
    one.learn(replay, 1, stream=1)
    after = everything(one)
    assert {"module.stem.norm.running_mean", "average.stem.norm.running_mean"} <= differing(before, after)
    evaluator = NetworkEvaluator(one.network(1))
    states = random_samples(GAME, 64)[1]
    together, alone = evaluator.evaluate(batch_of(GAME, states)), evaluator.evaluate(batch_of(GAME, states[:1]))
    np.testing.assert_array_equal(together.value[:1], alone.value)
    assert differing(after, everything(one)) == set()


def test_what_is_played_with_averages_the_weights_of_recent_steps(replay: Replay) -> None:
    plain, smooth = learner(averaging=0), learner(averaging=0.99)
    distances = []
    for one in (plain, smooth):
        one.learn(replay, 30, stream=1)
        last, played = (
            (one.training_state()[f"module.{name}"] for name in ("stem.conv.weight",)),
            one.network(1).weights,
        )
        distances.append(float(np.abs(next(last) - played["stem.conv.weight"]).max()))
    assert distances[0] == 0
    assert distances[1] > 1e-4


def test_without_a_learning_rate_nothing_is_learned(replay: Replay) -> None:
    one = learner(learning_rate=0.0)
    before = everything(one)
    metrics = one.learn(replay, 3, stream=1)
    statistics = {name for name in before if "running" in name or "num_batches" in name}
    memory = {name for name in everything(one) if name.startswith("adamw.")}
    assert differing(before, everything(one)) <= statistics | memory | {"num_steps"}
    assert (metrics["gradient_steps"], metrics["learning_rate"]) == (3, 0)


@pytest.mark.parametrize("num_steps", [0, -1])
def test_no_gradient_step_is_said_aloud_and_changes_nothing(replay: Replay, num_steps: int) -> None:
    one = learner()
    before = everything(one)
    with pytest.warns(UserWarning, match=f"no gradient step was made: {num_steps} were asked for, on 200 samples"):
        assert one.learn(replay, num_steps, stream=1) == {"gradient_steps": 0}
    assert differing(before, everything(one)) == set()


def test_an_empty_replay_is_said_aloud(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="no gradient step was made: 5 were asked for, on 0 samples"):
        learner().learn(Replay(GAME, ReplaySettings(), tmp_path), 5, stream=1)


def test_a_replay_smaller_than_a_batch_is_learned_from(tmp_path: Path) -> None:
    replay = Replay(GAME, ReplaySettings(), tmp_path)
    replay.add(1, random_samples(GAME, 9)[0])
    one = learner(batch_size=512)
    assert one.num_steps_for(9) == 1
    assert one.learn(replay, one.num_steps_for(9), stream=1)["gradient_steps"] == 1


def test_gradient_steps_follow_from_the_positions_played() -> None:
    one = learner(batch_size=256, samples_per_position=4)
    assert [one.num_steps_for(number) for number in (0, 1, 64, 65, 6400)] == [0, 1, 1, 2, 100]


def poisoned(one: Learner, name: str) -> None:
    """Make a weight so large that the next loss, or only its gradient, is not finite."""
    state = one.training_state()
    state[f"module.{name}"][:] = np.nan if name == "stem.norm.weight" else 3e38
    one.restore(one.network(0), state)


@pytest.mark.parametrize("name", ["stem.norm.weight", "policy_out.weight"])
def test_a_loss_that_is_not_finite_stops_training_before_a_weight_changes(replay: Replay, name: str) -> None:
    one = learner()
    one.learn(replay, 2, stream=1)
    poisoned(one, name)
    parameters = {name for name in everything(one) if "running" not in name and "num_batches" not in name}
    before = everything(one)
    with pytest.raises(TrainingError, match=r"gradient step 3 came out as .*(nan|inf).*nothing was written"):
        one.learn(replay, 5, stream=2)
    assert differing(before, everything(one)) & parameters == set()
    assert one.num_steps == 2


def test_long_gradients_are_shortened(replay: Replay) -> None:
    steps = []
    for longest in (1e-6, 1e6):
        one = learner(optimizer="sgd", learning_rate=1.0, max_gradient_norm=longest, averaging=0)
        before = one.network(0).weights["stem.norm.bias"], one.network(0).weights["policy_out.bias"]
        assert one.learn(replay, 1, stream=1)["gradient_norm"] > 0.01
        steps.append(np.abs(one.network(1).weights["policy_out.bias"] - before[1]).max())
    assert 0 < steps[0] < 1e-5 < steps[1]


def test_the_learning_rate_rises_during_the_warm_up_then_falls_by_a_cosine_over_the_run() -> None:
    settings = LearnerSettings(learning_rate=1.0, final_learning_rate=0.2, warmup_steps=9)
    assert [settings.learning_rate_at(step, 0) for step in (0, 4, 9, 500)] == pytest.approx([0.1, 0.5, 1, 1])
    assert [settings.learning_rate_at(500, done) for done in (0.5, 1, 1.7)] == pytest.approx([0.6, 0.2, 0.2])
    assert LearnerSettings(learning_rate=0.5, final_learning_rate=1.0).learning_rate_at(10**6, 0.9) == 0.5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"optimizer": "adam"}, "adamw or sgd, not 'adam'"),
        ({"batch_size": 0}, "learner.batch_size must be from 1"),
        ({"learning_rate": -1.0}, "learner.learning_rate must be from 0"),
        ({"learning_rate": float("nan")}, "got nan"),
        ({"q_weight": 1.5}, "learner.q_weight must be from 0 to 1, got 1.5"),
        ({"averaging": 1.0}, "learner.averaging must be from 0 to 0.999999"),
    ],
)
def test_a_setting_out_of_range_is_refused_with_the_range(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LearnerSettings(**wrong)


def test_the_value_learned_lies_between_the_outcome_and_the_searchs_value(tmp_path: Path) -> None:
    samples, states = random_samples(GAME, 1)  # the empty board
    arrays = samples.arrays() | {"outcome": np.ones(1, np.float32), "value": np.full(1, -0.6, np.float32)}
    found = []
    for q_weight in (0.0, 0.5, 1.0):
        replay = Replay(GAME, ReplaySettings(), tmp_path / str(q_weight))
        replay.add(1, Samples(**arrays))
        one = learner(q_weight=q_weight, averaging=0, learning_rate=0.01, batch_size=8)
        one.learn(replay, 100, stream=1)
        network = one.network(1)
        found.append(NetworkEvaluator(network).evaluate(batch_of(GAME, states)).value[0])
    np.testing.assert_allclose(found, [1.0, 0.2, -0.6], atol=0.1)


@cache
def minimax(state: State) -> int:
    """The exact value of a position of tic-tac-toe, for its player to move."""
    if GAME.is_terminal(state):
        return int(GAME.outcome(state))
    return max(-minimax(GAME.step(state, action)) for action in GAME.legal_actions(state))


def unfinished_states() -> set[State]:
    """All of tic-tac-toe's."""
    found: set[State] = set()
    stack = [GAME.initial_state()]
    while stack:
        state = stack.pop()
        if state not in found and not GAME.is_terminal(state):
            found.add(state)
            stack += [GAME.step(state, action) for action in GAME.legal_actions(state)]
    return found


def test_2000_exact_labels_of_tic_tac_toe_are_learned_far_below_their_variance(tmp_path: Path) -> None:
    states = sorted(unfinished_states())
    chosen = [states[i] for i in np.random.default_rng(0).permutation(len(states))[:2000]]
    values = np.array([minimax(state) for state in chosen], np.float32)
    legal = batch_of(GAME, chosen).legal
    best = np.zeros_like(legal)
    for row, state in enumerate(chosen):
        for action in GAME.legal_actions(state):
            best[row, action] = -minimax(GAME.step(state, action)) == values[row]
    policy = (best / best.sum(axis=1, keepdims=True)).astype(np.float32)
    replay = Replay(GAME, ReplaySettings(), tmp_path)
    replay.add(1, Samples(*(GAME.observations(chosen), legal, policy, values, values), last=GAME.observations(chosen)))
    one = learner(NetworkSettings(channels=16, blocks=1, head_channels=8, value_hidden=32), batch_size=128)
    one.learn(replay, 250, stream=1)
    answer = NetworkEvaluator(one.network(1)).evaluate(batch_of(GAME, chosen))
    assert np.mean((answer.value - values) ** 2) < 0.25 * values.var()  # 0.53
    assert best[np.arange(len(chosen)), answer.policy.argmax(axis=1)].mean() > 0.9


def test_learning_leaves_the_random_numbers_of_others_alone(replay: Replay) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    learner(seed=1).learn(replay, 2, stream=1)
    torch.testing.assert_close(torch.rand(3), expected, rtol=0, atol=0)


def test_a_network_handed_out_does_not_change_with_further_learning(replay: Replay) -> None:
    one = learner()
    handed: Network = one.network(0)
    before = {name: array.copy() for name, array in handed.weights.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one.learn(replay, 3, stream=1)
    assert differing(handed.weights, before) == set()
