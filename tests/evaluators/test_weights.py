"""The weights file: it describes itself, finds its way, and refuses whatever is not one, in a line."""

import json
import os
import pickle
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from azero.evaluators.network import NetworkEvaluator, load_network
from azero.evaluators.weights import (
    NetworkFileError,
    NetworkSettings,
    find_network,
    read_network,
    shipped_networks,
    version,
)
from azero.games.batch import batch_of
from azero.games.connect4 import Connect4
from azero.games.tictactoe import TicTacToe
from tests.evaluators.networks import SMALL, random_network

GAME = TicTacToe()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(random_network(GAME, iteration=12).to_bytes())
    return path


def run_with(tmp_path: Path, *iterations: int) -> Path:
    for iteration in iterations:
        directory = tmp_path / f"iteration-{iteration:06d}"
        directory.mkdir()
        network = random_network(GAME, seed=iteration, iteration=iteration)
        (directory / "weights.safetensors").write_bytes(network.to_bytes())
    return tmp_path


def test_what_is_read_is_what_was_written(path: Path) -> None:
    written, read = random_network(GAME, iteration=12), read_network(path)
    assert {**vars(read), "weights": None} == {**vars(written), "weights": None}
    assert read.weights.keys() == written.weights.keys()
    for name, tensor in written.weights.items():
        np.testing.assert_array_equal(read.weights[name], tensor)


def test_the_same_network_gives_the_same_bytes(path: Path) -> None:
    assert random_network(GAME, iteration=12).to_bytes() == path.read_bytes()
    assert read_network(path).to_bytes() == path.read_bytes()


def test_a_loaded_network_plays_as_the_one_that_was_saved(path: Path) -> None:
    batch = batch_of(GAME, [GAME.initial_state()])
    saved = NetworkEvaluator(random_network(GAME, iteration=12))
    for a, b in zip(load_network(path, GAME).evaluate(batch), saved.evaluate(batch), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_network_is_found_in_a_file_in_a_checkpoint_and_in_a_run(tmp_path: Path) -> None:
    run = run_with(tmp_path, 3)
    checkpoint = run / "iteration-000003"
    for path in (run, checkpoint, checkpoint / "weights.safetensors", str(run)):
        assert find_network(path).iteration == 3


def test_the_newest_checkpoint_of_a_run_is_newest_by_number(tmp_path: Path) -> None:
    assert find_network(run_with(tmp_path, 9, 10, 999_999, 1_000_000)).iteration == 1_000_000


def test_what_only_looks_like_a_checkpoint_is_left_alone(tmp_path: Path) -> None:
    run = run_with(tmp_path, 2)
    for name in (".iteration-000003.partial", "iteration-x", "iteration-000004.old", "tensorboard"):
        (run / name).mkdir()
    (run / "iteration-000005").write_text("a file")
    assert find_network(run).iteration == 2


def test_a_damaged_checkpoint_of_a_run_is_passed_over_by_name(tmp_path: Path) -> None:
    run = run_with(tmp_path, 1, 2, 3)
    (run / "iteration-000003" / "weights.safetensors").write_bytes(b"")
    (run / "iteration-000002" / "weights.safetensors").unlink()
    with pytest.warns(UserWarning, match=r"passed over a damaged checkpoint: .*iteration-00000[32]"):
        assert find_network(run).iteration == 1


def test_a_path_with_nothing_there_says_so_and_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere does not exist; expected a run, one of its checkpoints"):
        load_network(tmp_path / "nowhere")


def test_a_network_that_comes_with_azero_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, iteration in (("large", 3), ("small", 7)):
        (tmp_path / "come" / name).mkdir(parents=True)
        network = random_network(GAME, iteration=iteration)
        (tmp_path / "come" / name / "weights.safetensors").write_bytes(network.to_bytes())
    monkeypatch.setattr("azero.evaluators.weights.resource_directory", lambda name: tmp_path / "come")
    monkeypatch.chdir(tmp_path)
    assert (find_network("large").iteration, find_network("small").iteration) == (3, 7)
    for wrong in ("medium", "./large", "come/medium"):
        with pytest.raises(FileNotFoundError, match="or one that comes with azero: large, small"):
            find_network(wrong)
    (tmp_path / "large").mkdir()  # what is there goes before
    (tmp_path / "large" / "weights.safetensors").write_bytes(random_network(GAME, iteration=1).to_bytes())
    assert find_network("large").iteration == 1


def test_every_network_that_comes_with_azero_is_sound_and_has_a_card_that_describes_it() -> None:
    for name, path in shipped_networks().items():
        network = read_network(path)
        card = (path.parent / "README.md").read_text()
        assert card.startswith(f"# {name}: {network.game}\n")
        assert f"{network.iteration} iterations" in card
        assert f"`network:{name}`" in card


@pytest.mark.parametrize("name", ["", "iteration-000001"])
def test_an_empty_directory_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    directory = tmp_path / name
    directory.mkdir(exist_ok=True)
    with pytest.raises((NetworkFileError, FileNotFoundError)) as error:
        load_network(directory)
    assert str(directory) in str(error.value)
    assert "\n" not in str(error.value)


def damaged(whole: bytes) -> dict[str, bytes]:
    return {
        "empty": b"",
        "half": whole[: len(whole) // 2],
        "short by one byte": whole[:-1],
        "text": b"these are not weights\n" * 100,
        "a zip archive": b"PK\x03\x04" + whole,
        "header only": whole[:8],
        "a header longer than the file": (10**12).to_bytes(8, "little") + whole[8:],
    }


@pytest.mark.parametrize("kind", list(damaged(b"")))
def test_a_damaged_file_is_refused_in_one_line_that_names_it(path: Path, kind: str) -> None:
    path.write_bytes(damaged(path.read_bytes())[kind])
    with pytest.raises(
        NetworkFileError, match=r"weights.safetensors is not a network of azero, or is damaged"
    ) as error:
        load_network(path)
    assert "\n" not in str(error.value)


def test_a_pickle_is_refused_and_its_code_does_not_run(path: Path) -> None:
    marker = path.with_name("marker")

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(marker),)

    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(NetworkFileError):
        load_network(path)
    assert not marker.exists()


def header(**changes: Any) -> dict[str, str]:
    network = random_network(GAME)
    known = {key: value for key, value in asdict(network).items() if key != "weights"} | {"format": 1}
    return {"azero": json.dumps(known | changes)}


def test_a_file_of_tensors_without_a_description_is_refused(path: Path) -> None:
    path.write_bytes(save(load(path.read_bytes())))
    with pytest.raises(NetworkFileError):
        load_network(path)


@pytest.mark.parametrize(
    "change",
    [
        {"settings": asdict(NetworkSettings(channels=4, blocks=2, head_channels=4, value_hidden=8))},
        {"settings": asdict(NetworkSettings(channels=8, blocks=1, head_channels=4, value_hidden=8))},
        {"settings": asdict(SMALL) | {"channels": 10**9}},
        {"settings": asdict(SMALL) | {"channels": "8"}},
        {"settings": asdict(SMALL) | {"width": 8}},
        {"settings": None},
        {"observation_shape": [2, 3]},
        {"observation_shape": [2.0, 3, 3]},
        {"num_actions": 8},
        {"num_actions": 9.0},
        {"iteration": "12"},
        {"iteration": -1},
        {"game": ["tictactoe"]},
    ],
    ids=str,
)
def test_a_description_that_does_not_fit_the_tensors_is_refused(path: Path, change: dict[str, Any]) -> None:
    path.write_bytes(save(random_network(GAME).weights, header(**change)))
    with pytest.raises(NetworkFileError, match="is not a network of azero, or is damaged"):
        load_network(path)


@pytest.mark.parametrize(
    ("name", "tensor", "complaint"),
    [
        ("value_out.bias", np.zeros(1, np.float64), "expected float32, found float64"),
        ("value_out.bias", np.zeros(1, np.float16), "expected float32, found float16"),
        ("value_out.bias", np.zeros(1, np.int32), "expected float32, found int32"),
        ("stem.norm.num_batches_tracked", np.float32(7), "expected int64, found float32"),
        ("value_out.bias", np.array([np.nan], np.float32), "not finite"),
        ("stem.norm.bias", np.full(8, -np.inf, np.float32), "not finite"),
        ("stem.norm.running_var", np.full(8, -1e-3, np.float32), "a variance below 0"),
    ],
)
def test_numbers_that_nothing_can_be_computed_with_are_refused_by_the_tensors_name(
    path: Path, name: str, tensor: Any, complaint: str
) -> None:
    path.write_bytes(save(random_network(GAME).weights | {name: np.asarray(tensor)}, header()))
    with pytest.raises(NetworkFileError, match=rf"tensor {name}: .*{complaint}"):
        load_network(path)


def test_a_description_too_deep_to_be_read_is_refused(path: Path) -> None:
    path.write_bytes(save(random_network(GAME).weights, {"azero": "[" * 100_000}))
    with pytest.raises(NetworkFileError, match="RecursionError"):
        load_network(path)


def test_a_directory_in_the_place_of_the_file_is_refused_by_name(tmp_path: Path) -> None:
    run = run_with(tmp_path, 1)
    (run / "iteration-000002" / "weights.safetensors").mkdir(parents=True)
    with pytest.raises(NetworkFileError, match="iteration-000002"):
        load_network(run / "iteration-000002")
    with pytest.warns(UserWarning, match=r"passed over a damaged checkpoint: .*iteration-000002"):
        assert find_network(run).iteration == 1


@pytest.mark.parametrize("missing", ["stem.conv.weight", "block1_conv2.norm.running_var", "value_out.bias"])
def test_a_missing_tensor_is_named_and_nothing_is_loaded_in_part(path: Path, missing: str) -> None:
    weights = {name: tensor for name, tensor in random_network(GAME).weights.items() if name != missing}
    path.write_bytes(save(weights, header()))
    with pytest.raises(NetworkFileError, match=missing):
        load_network(path)


def test_a_tensor_too_many_is_refused(path: Path) -> None:
    path.write_bytes(save(random_network(GAME).weights | {"stem.conv.bias": np.zeros(8, np.float32)}, header()))
    with pytest.raises(NetworkFileError, match=r"stem\.conv\.bias"):
        load_network(path)


def test_a_newer_format_is_refused_by_its_number(path: Path) -> None:
    path.write_bytes(save(random_network(GAME).weights, header(format=2)))
    with pytest.raises(NetworkFileError, match=r"has format 2; azero .* reads 1"):
        load_network(path)


def test_a_checkpoint_of_another_game_is_refused_by_both_names(path: Path) -> None:
    with pytest.raises(ValueError, match="checkpoint: tictactoe, asked: connect4"):
        load_network(path, Connect4())


def test_a_checkpoint_of_another_size_of_the_game_is_refused_by_both_sizes(path: Path) -> None:
    class Wide(TicTacToe):
        observation_shape = (2, 3, 4)

    with pytest.raises(ValueError, match=r"in the checkpoint: \(2, 3, 3\) and 9, asked: \(2, 3, 4\) and 9"):
        load_network(path, Wide())


@pytest.mark.parametrize(
    ("name", "size"), [("channels", 0), ("blocks", -1), ("head_channels", 5000), ("channels", 1.5)]
)
def test_a_size_out_of_range_is_refused_with_the_range(name: str, size: Any) -> None:
    with pytest.raises(ValueError, match=rf"network\.{name} must be a whole number from \d to \d+, got {size}"):
        NetworkSettings(**{name: size})


def test_a_checkout_that_is_not_installed_still_has_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert version() == "not installed"
