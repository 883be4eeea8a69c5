"""The network as it is played with: equal to PyTorch's, alone and in any batch, over legal actions only."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from azero.evaluators.evaluator import EvaluatorError, checked
from azero.evaluators.network import NetworkEvaluator, _TorchRunner, check_device, load_network
from azero.evaluators.onnx_runner import OnnxRunner
from azero.evaluators.weights import Network, NetworkSettings, find_network
from azero.games import load_game
from azero.games.batch import StateBatch, batch_of
from azero.games.compiled import PackedStates
from azero.games.connect4 import Connect4
from azero.games.game import Game, state_after
from azero.games.tictactoe import TicTacToe
from azero.learning.network import ResNet, tensors_of
from tests.evaluators.networks import SMALL, random_network

GAMES: list[Game[Any]] = [TicTacToe(), Connect4()]
SIZES = [SMALL, NetworkSettings(channels=32, blocks=3), NetworkSettings(channels=16, blocks=0, head_channels=1)]


def random_states(game: Game[Any], number: int, seed: int = 0) -> list[Any]:
    """Unfinished states from random play."""
    generator, states = np.random.default_rng(seed), []
    while len(states) < number:
        state = game.initial_state()
        while not game.is_terminal(state) and len(states) < number:
            states.append(state)
            state = game.step(state, int(generator.choice(game.legal_actions(state))))
    return states


def trained_module(network: Network) -> ResNet:
    module = ResNet(network.observation_shape, network.num_actions, network.settings)
    module.load_state_dict(tensors_of(network.weights))
    return module.eval()


def by_torch(network: Network, batch: StateBatch[Any]) -> tuple[Any, Any]:
    """Policy and value of the module that is trained, in eval mode."""
    with torch.no_grad():
        logits, values = trained_module(network)(torch.from_numpy(batch.game.observations(batch.states)))
    return logits.masked_fill(torch.from_numpy(~batch.legal), -torch.inf).softmax(1).numpy(), values.numpy()


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_evaluator_equals_the_trained_module_in_eval_mode(game: Game[Any], size: NetworkSettings) -> None:
    network = random_network(game, size)
    batch = batch_of(game, random_states(game, 50))
    policy, value = NetworkEvaluator(network).evaluate(batch)
    expected_policy, expected_value = by_torch(network, batch)
    assert np.ptp(value) > 0.01, "a network that says the same of every state tests nothing"
    np.testing.assert_allclose(policy, expected_policy, atol=1e-5)
    np.testing.assert_allclose(value, expected_value, atol=1e-5)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_the_forward_for_a_gpu_equals_the_one_for_the_cpu(game: Game[Any]) -> None:
    network, batch = random_network(game), batch_of(game, random_states(game, 50))
    policy, value = _TorchRunner(network, "cpu")(game.observations(batch.states), batch.legal)
    expected = NetworkEvaluator(network).evaluate(batch)
    np.testing.assert_allclose(policy, expected.policy, atol=1e-5)
    np.testing.assert_allclose(value, expected.value, atol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_cpus_answers() -> None:
    game = Connect4()
    network, batch = random_network(game), batch_of(game, random_states(game, 50))
    expected, found = NetworkEvaluator(network).evaluate(batch), NetworkEvaluator(network, "cuda").evaluate(batch)
    np.testing.assert_allclose(found.policy, expected.policy, atol=1e-3)
    np.testing.assert_allclose(found.value, expected.value, atol=1e-3)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_in_integers_the_network_says_nearly_the_same(game: Game[Any], size: NetworkSettings) -> None:
    network, calibration = random_network(game, size), game.observations(random_states(game, 100, seed=1))
    batch = batch_of(game, random_states(game, 200))
    policy, value = NetworkEvaluator(network, calibration=calibration).evaluate(batch)
    expected_policy, expected_value = NetworkEvaluator(network).evaluate(batch)
    assert 0 < np.sqrt(np.mean((value - expected_value) ** 2)) < 0.03
    assert 0 < np.abs(policy - expected_policy).sum(1).mean() < 0.1


def test_in_integers_the_network_that_comes_with_azero_likes_the_same_actions() -> None:
    game = Connect4()
    network, calibration = find_network("connect4"), game.observations(random_states(game, 256, seed=1))
    batch = batch_of(game, random_states(game, 1000))
    policy, value = NetworkEvaluator(network, calibration=calibration).evaluate(batch)
    expected_policy, expected_value = NetworkEvaluator(network).evaluate(batch)
    assert np.mean(policy.argmax(1) == expected_policy.argmax(1)) > 0.96
    assert np.sqrt(np.mean((value - expected_value) ** 2)) < 0.04


def test_integers_stand_for_numbers_of_any_range() -> None:
    game = Connect4()
    batch = batch_of(game, random_states(game, 100))
    observations = game.observations(batch.states)
    for scale in (0.0, 1e-3, 1e3):
        network = random_network(game)
        weights = {name: array * np.float32(scale) for name, array in network.weights.items() if "conv.weight" in name}
        network = Network(**{**vars(network), "weights": network.weights | weights})
        value = NetworkEvaluator(network, calibration=observations).evaluate(batch).value
        assert np.abs(value - NetworkEvaluator(network).evaluate(batch).value).mean() < 0.1


def test_a_graphics_card_does_not_compute_in_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("azero.evaluators.network.check_device", lambda device: None)
    with pytest.raises(ValueError, match="only on the CPU does a network compute in integers, not on cuda"):
        NetworkEvaluator(random_network(TicTacToe()), "cuda", np.zeros((1, 2, 3, 3), np.float32))


@pytest.mark.parametrize("in_integers", [False, True])
@pytest.mark.parametrize("size", [SMALL, NetworkSettings(channels=32, blocks=3)], ids=str)
def test_a_state_gets_the_same_bits_alone_and_anywhere_in_any_batch(size: NetworkSettings, in_integers: bool) -> None:
    game = Connect4()
    states = random_states(game, 128)
    calibration = game.observations(states[:64]) if in_integers else None
    evaluator = NetworkEvaluator(random_network(game, size), calibration=calibration)
    alone = [evaluator.evaluate(batch_of(game, [state])) for state in states]
    policies, values = np.concatenate([a.policy for a in alone]), np.concatenate([a.value for a in alone])
    for number in (2, 3, 5, 8, 13, 16, 31, 64, 100, 128):
        for first in {0, (128 - number) // 2, 128 - number}:
            some = slice(first, first + number)
            policy, value = evaluator.evaluate(batch_of(game, states[some]))
            np.testing.assert_array_equal(policy, policies[some])
            np.testing.assert_array_equal(value, values[some])


def test_packed_states_get_the_same_bits_as_plain_ones() -> None:
    game = Connect4()
    states = random_states(game, 30)
    plain = batch_of(game, states)
    packed = StateBatch(game, PackedStates(states[0], np.array(states, np.int64)), plain.legal, plain.streams)
    evaluator = NetworkEvaluator(random_network(game))
    for a, b in zip(evaluator.evaluate(plain), evaluator.evaluate(packed), strict=True):
        np.testing.assert_array_equal(a, b)


def with_logits(network: Network, logits: list[float], value: float = 0.0) -> Network:
    """The network with the same logits for every state, and a value whose arctangent is given."""
    heads = {"policy_out.weight": 0, "policy_out.bias": logits, "value_out.weight": 0, "value_out.bias": value}
    weights = {name: np.full_like(network.weights[name], fill) for name, fill in heads.items()}
    return Network(**{**vars(network), "weights": network.weights | weights})


def test_illegal_actions_get_no_probability_however_high_their_logits_are() -> None:
    game = Connect4()
    full = state_after(game, [0] * 6)
    network = with_logits(random_network(game), [1e4, *[-1e4] * 6])
    policy, _ = checked(NetworkEvaluator(network), batch_of(game, [full]))
    np.testing.assert_allclose(policy, [[0, *[1 / 6] * 6]], rtol=1e-6)


def test_logits_far_apart_neither_overflow_nor_vanish() -> None:
    game = Connect4()
    network = with_logits(random_network(game), [1e4, 1e4, *[-1e4] * 5], value=1e4)
    policy, value = NetworkEvaluator(network).evaluate(batch_of(game, [game.initial_state()]))
    np.testing.assert_allclose(policy, [[0.5, 0.5, 0, 0, 0, 0, 0]])
    assert value[0] == 1


def test_a_network_that_is_certain_still_answers_within_the_range_of_values() -> None:
    # ONNX Runtime's tanh exceeds 1 for some arguments between 8.3 and 9, which forfeited games in the arena.
    game = TicTacToe()
    batch = batch_of(game, [game.initial_state()])
    for argument in (8.3065, 8.3275, 8.3314, -8.3065, -8.3275, -8.3314):
        checked(NetworkEvaluator(with_logits(random_network(game), [0.0] * 9, value=argument)), batch)


def test_the_only_legal_action_gets_all_the_probability() -> None:
    game = TicTacToe()
    last = state_after(game, [0, 1, 2, 4, 3, 5, 7, 6])  # cell 8 is left
    network = with_logits(random_network(game), [0.0] * 8 + [-50.0])
    policy, _ = NetworkEvaluator(network).evaluate(batch_of(game, [last]))
    assert policy.tolist() == [[0.0] * 8 + [1.0]]


def test_a_network_of_another_game_is_refused_by_both_names() -> None:
    evaluator, game = NetworkEvaluator(random_network(TicTacToe())), Connect4()
    with pytest.raises(ValueError, match="checkpoint: tictactoe, asked: connect4"):
        evaluator.evaluate(batch_of(game, [game.initial_state()]))


def test_an_unknown_device_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="cpu or cuda, not 'gpu'"):
        NetworkEvaluator(random_network(TicTacToe()), device="gpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused_with_the_way_out(tmp_path: Any) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(random_network(TicTacToe()).to_bytes())
    with pytest.raises(ValueError, match="PyTorch sees no GPU here; use device=cpu"):
        load_network(path, device="cuda")
    check_device("cpu")


def test_playing_on_the_cpu_does_not_import_torch(tmp_path: Any) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(random_network(load_game("tictactoe")).to_bytes())
    code = (
        "import sys; from azero.games import load_game; from azero.games.batch import batch_of; "
        "from azero.evaluators.network import load_network; game = load_game('tictactoe'); "
        "print(load_network(sys.argv[1], game).evaluate(batch_of(game, [game.initial_state()])).value.shape, "
        "'torch' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, text=True)
    assert found.stdout.split("\n")[0] == "(1,) False"


def test_a_runtime_that_fails_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("no memory\nat all")

    evaluator = NetworkEvaluator(random_network(TicTacToe()))
    monkeypatch.setattr(OnnxRunner, "__call__", fail)
    with pytest.raises(EvaluatorError, match=r"could not be evaluated \(RuntimeError: no memory\)$"):
        evaluator.evaluate(batch_of(TicTacToe(), random_states(TicTacToe(), 2)))
