"""Checkpoints: whole or not there, sound or passed over by name, and never code."""

import dataclasses
import hashlib
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from azero.evaluators.network import load_network
from azero.games.tictactoe import TicTacToe
from azero.learning.checkpoint import (
    Checkpoint,
    CheckpointError,
    is_kept,
    latest_settings,
    load_checkpoint,
    load_latest,
    save_checkpoint,
)
from azero.learning.replay import Replay, ReplaySettings, replay_file
from tests.evaluators.networks import random_network
from tests.learning.samples import random_samples
from tests.test_files import a_disk_with_room_for

GAME = TicTacToe()
FILES = ["state.json", "training.safetensors", "weights.safetensors"]


def checkpoint(iteration: int, window: tuple[int, ...] = ()) -> Checkpoint:
    network = random_network(GAME, seed=iteration, iteration=iteration)
    training = {f"module.{name}": tensor for name, tensor in random_network(GAME, seed=iteration + 1).weights.items()}
    return Checkpoint(
        network=network,
        training=training | {"adamw.0.step": np.array(1.5), "num_steps": np.array(10 * iteration)},
        replay={"num_made": 7 * iteration, "iterations": list(window)},
        counters={"games": 100 * iteration, "seconds": 1.5, "name": "x", "list": [1, None, True]},
        settings={"seed": 5, "search": {"c_puct": 1e-06}},
    )


def saved(run: Path, *iterations: int, **options: Any) -> list[Path]:
    return [save_checkpoint(run, checkpoint(iteration), **options) for iteration in iterations]


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def numbers(run: Path) -> list[int]:
    return [int(name.removeprefix("iteration-")) for name in names(run) if name.startswith("iteration-")]


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    directory = save_checkpoint(tmp_path, checkpoint(12))
    assert directory == tmp_path / "iteration-000012"
    assert names(directory) == FILES
    found, expected = load_checkpoint(directory), checkpoint(12)
    assert (found.iteration, found.replay, found.counters) == (12, expected.replay, expected.counters)
    assert found.settings == expected.settings
    assert found.training.keys() == expected.training.keys()
    for name, tensor in expected.training.items():
        np.testing.assert_array_equal(found.training[name], tensor)
    assert found.network.to_bytes() == expected.network.to_bytes()


def test_the_same_state_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        saved(tmp_path / name, 3)
    for name in FILES:
        assert len({(tmp_path / run / "iteration-000003" / name).read_bytes() for run in ("a", "b")}) == 1


def test_nothing_but_checkpoints_is_left_in_the_run(tmp_path: Path) -> None:
    saved(tmp_path, 1, 2)
    assert names(tmp_path) == ["iteration-000001", "iteration-000002"]


def test_the_latest_is_the_newest_by_number(tmp_path: Path) -> None:
    assert load_latest(tmp_path) is None
    saved(tmp_path, 999_999, 1_000_000)
    latest = load_latest(tmp_path)
    assert latest is not None
    assert latest.iteration == 1_000_000


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    contents = bytearray(path.read_bytes())
    contents[-20] ^= 1
    path.write_bytes(contents)


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "half": truncate,
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("this was a checkpoint\n"),
    "gone": lambda path: path.unlink(),
    "one bit": flip,
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_passed_over_by_name_for_the_one_before(tmp_path: Path, name: str, damage: str) -> None:
    saved(tmp_path, 1, 2, 3)
    DAMAGES[damage](tmp_path / "iteration-000003" / name)
    with pytest.warns(UserWarning, match=r"passed over a checkpoint: .*iteration-000003 is no sound checkpoint"):
        latest = load_latest(tmp_path)
    assert latest is not None
    assert latest.iteration == 2
    with pytest.raises(CheckpointError, match=r"iteration-000003 is no sound checkpoint \(") as error:
        load_checkpoint(tmp_path / "iteration-000003")
    assert "\n" not in str(error.value)


def test_the_damaged_one_is_replaced_when_its_iteration_is_done_again(tmp_path: Path) -> None:
    saved(tmp_path, 1, 2)
    truncate(tmp_path / "iteration-000002" / "weights.safetensors")
    saved(tmp_path, 2)
    latest = load_latest(tmp_path)
    assert latest is not None
    assert latest.iteration == 2


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("num_steps", None),
        ("num_steps", np.zeros(2)),
        ("module.stem.conv.weight", None),
        ("module.value_out.bias", np.zeros(2, np.float32)),
        ("module.value_out.bias", np.full(1, np.nan, np.float32)),
    ],
)
def test_a_checkpoint_that_no_learner_can_go_on_from_is_not_sound_whatever_its_checksum(
    tmp_path: Path, name: str, tensor: Any
) -> None:
    odd = checkpoint(1)
    del odd.training[name]
    if tensor is not None:
        odd.training[name] = tensor
    with pytest.raises(CheckpointError, match=rf"no sound checkpoint \(.*{name.removeprefix('module.')}"):
        load_checkpoint(save_checkpoint(tmp_path, odd))


def test_the_head_that_only_training_has_is_of_the_networks_size(tmp_path: Path) -> None:
    sound = checkpoint(1)
    size = GAME.observation_shape[0], sound.network.settings.channels
    for shape in (size, size[::-1]):
        sound.training["module.last.weight"] = np.zeros(shape, np.float32)
        sound.training["module.last.bias"] = np.zeros(size[0], np.float32)
        directory = save_checkpoint(tmp_path, sound)
        if shape == size:
            load_checkpoint(directory)
            continue
        with pytest.raises(CheckpointError, match=r"tensor last\.weight"):
            load_checkpoint(directory)


def test_state_too_deep_to_be_read_makes_no_sound_checkpoint(tmp_path: Path) -> None:
    (directory,) = saved(tmp_path, 1)
    (directory / "state.json").write_text("[" * 100_000)
    with pytest.raises(CheckpointError, match="no sound checkpoint"):
        load_checkpoint(directory)


@pytest.mark.filterwarnings("ignore:passed over")
def test_a_run_whose_checkpoints_are_all_damaged_is_not_begun_anew_in_silence(tmp_path: Path) -> None:
    for directory in saved(tmp_path, 1, 2):
        (directory / "state.json").unlink()
    with pytest.raises(CheckpointError, match="none of the 2 checkpoints"):
        load_latest(tmp_path)


def test_the_settings_of_the_newest_sound_manifest_are_found(tmp_path: Path) -> None:
    assert latest_settings(tmp_path / "nowhere") == {}
    saved(tmp_path, 1, 2)
    (tmp_path / "iteration-000002" / "state.json").write_text("{")
    assert latest_settings(tmp_path) == checkpoint(1).settings


def test_another_format_is_refused_by_its_number(tmp_path: Path) -> None:
    (directory,) = saved(tmp_path, 1)
    state = json.loads((directory / "state.json").read_text())
    (directory / "state.json").write_text(json.dumps(state | {"format": 99}))
    with pytest.raises(CheckpointError, match=r"format 99; azero .* reads formats 1 to 2"):
        load_checkpoint(directory)


def test_what_a_killed_run_left_half_done_is_removed_and_never_loaded(tmp_path: Path) -> None:
    saved(tmp_path, 1)
    shutil.copytree(tmp_path / "iteration-000001", tmp_path / ".iteration-000002.partial")
    (tmp_path / "replay").mkdir()
    (tmp_path / "replay" / ".iteration-000002.npz.partial").write_text("half")
    latest = load_latest(tmp_path)
    assert latest is not None
    assert latest.iteration == 1
    assert names(tmp_path) == ["iteration-000001", "replay"]
    assert names(tmp_path / "replay") == []


def test_a_stray_partial_of_the_same_iteration_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / ".iteration-000001.partial").mkdir()
    (tmp_path / ".iteration-000001.partial" / "junk").write_text("junk")
    (directory,) = saved(tmp_path, 1)
    assert names(directory) == FILES


def test_the_newest_and_the_best_are_kept(tmp_path: Path) -> None:
    for iteration in range(1, 8):
        saved(tmp_path, iteration, keep=2, best=min(iteration, 3))
    assert numbers(tmp_path) == [3, 4, 6, 7]
    saved(tmp_path, 8, keep=2, best=8)
    assert numbers(tmp_path) == [4, 6, 7, 8]


def test_of_older_ones_ever_fewer_are_kept() -> None:
    kept: set[int] = set()
    for newest in range(1001):
        kept = {number for number in {*kept, newest} if is_kept(number, newest, keep=3)}
        assert kept == {number for number in range(newest + 1) if is_kept(number, newest, keep=3)}
    assert sorted(kept) == [0, 256, 512, 640, 768, 832, 896, 928, 960, 976, 984, 992, 996, 998, 999, 1000]


def test_one_that_was_passed_over_goes_when_its_iteration_is_done_again(tmp_path: Path) -> None:
    saved(tmp_path, 1, 2, 3, 4, 5, keep=2)
    saved(tmp_path, 3, keep=2)
    assert numbers(tmp_path) == [2, 3]


def with_samples(run: Path, num_iterations: int, reach: int = 2) -> None:
    """Checkpoints with samples, each of the iterations up to its own, no more than `reach`."""
    replay = Replay(GAME, ReplaySettings(), run / "replay")
    for iteration in range(1, num_iterations + 1):
        replay.add(iteration, random_samples(GAME, 20, seed=iteration)[0])
        state = {name: value[-reach:] if name != "num_made" else value for name, value in replay.state().items()}
        save_checkpoint(run, dataclasses.replace(checkpoint(iteration), replay=state), keep=4)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(("damaged", "resumed"), [(4, 3), (3, 2), (2, 4)])
def test_one_that_has_all_its_samples_comes_first(tmp_path: Path, damage: str, damaged: int, resumed: int) -> None:
    with_samples(tmp_path, 4)
    DAMAGES[damage](replay_file(tmp_path / "replay", damaged))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        latest = load_latest(tmp_path)
    assert latest is not None
    assert latest.iteration == resumed
    said = [str(warning.message) for warning in caught]
    assert bool(said) == (resumed < 4)
    assert all(
        re.search(rf"iteration-00000{damaged}.npz|newest checkpoint with all its samples", text) for text in said
    )


def test_where_all_have_lost_samples_the_newest_goes_on(tmp_path: Path) -> None:
    saved(tmp_path, 0)
    with_samples(tmp_path, 4, reach=4)
    shutil.rmtree(tmp_path / "replay")
    with pytest.warns(UserWarning, match="iteration-000004 has lost samples: .*iteration-000001.npz"):
        latest = load_latest(tmp_path)
    assert latest is not None
    assert latest.iteration == 4


@pytest.mark.parametrize("format_number", [1])
def test_every_earlier_format_is_read(tmp_path: Path, format_number: int) -> None:
    run = tmp_path / "run"
    shutil.copytree(Path(__file__).parent / "data" / f"format{format_number}", run)
    latest = load_latest(run)
    assert latest is not None
    assert (latest.iteration, latest.counters["games"], latest.settings) == (1, 4, {})
    replay = Replay(GAME, ReplaySettings(), run / "replay")
    replay.restore(latest.replay)
    assert len(replay) == latest.replay["num_made"] == 14
    assert all(len(sha256) == 64 for sha256 in replay.state()["sha256"])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"replay": {"num_made": 1, "iterations": ["../../etc/passwd"]}}, "etc/passwd"),
        ({"replay": {"num_made": -1, "iterations": []}}, "-1"),
        ({"replay": {"num_made": 1, "iterations": [1], "sha256": []}}, "zip"),
        ({"replay": {"num_made": 1, "iterations": [1], "sha256": [7]}}, "text"),
        ({"replay": []}, "TypeError"),
        ({"counters": [1]}, "counters"),
        ({"settings": "x"}, "settings"),
    ],
)
def test_a_manifest_that_azero_would_not_write_is_refused_whatever_its_checksum(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    (directory,) = saved(tmp_path, 1)
    state = json.loads((directory / "state.json").read_text()) | change
    del state["sha256_of_the_above"]
    (directory / "state.json").write_bytes(signed(state))
    with pytest.raises(CheckpointError, match=rf"no sound checkpoint \(.*{named}"):
        load_checkpoint(directory)


def signed(state: dict[str, Any]) -> bytes:
    """A manifest with the checksum that goes with it."""
    digest = hashlib.sha256(json.dumps(state, indent=1).encode()).hexdigest()
    return json.dumps(state | {"sha256_of_the_above": digest}, indent=1).encode()


def test_a_checkpoint_under_another_ones_name_is_refused(tmp_path: Path) -> None:
    (directory,) = saved(tmp_path, 1)
    directory.rename(tmp_path / "iteration-000002")
    with pytest.raises(CheckpointError, match="iteration 1"):
        load_checkpoint(tmp_path / "iteration-000002")


def test_keeping_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="keep=0"):
        saved(tmp_path, 1, keep=0)


def test_samples_are_kept_as_long_as_a_kept_checkpoint_needs_them(tmp_path: Path) -> None:
    (tmp_path / "replay").mkdir()
    for iteration in range(1, 8):
        replay_file(tmp_path / "replay", iteration).write_text("samples")
        save_checkpoint(tmp_path, checkpoint(iteration, tuple(range(max(1, iteration - 1), iteration + 1))), keep=2)
    assert names(tmp_path / "replay") == [f"iteration-{number:06d}.npz" for number in (5, 6, 7)]


@pytest.mark.parametrize("state", ["{", "[]", "[" * 100_000])
def test_samples_are_kept_when_it_cannot_be_read_who_needs_them(tmp_path: Path, state: str) -> None:
    (tmp_path / "replay").mkdir()
    replay_file(tmp_path / "replay", 1).write_text("samples")
    (first,) = saved(tmp_path, 1)
    (first / "state.json").write_text(state)
    save_checkpoint(tmp_path, checkpoint(2, window=(2,)), keep=2)
    assert names(tmp_path / "replay") == ["iteration-000001.npz"]


def test_an_old_checkpoint_goes_only_after_the_new_one_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(tmp_path, 1, keep=1)
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(CheckpointError):
        saved(tmp_path, 2, keep=1)
    assert numbers(tmp_path) == [1]


def test_a_full_disk_is_reported_with_the_path_and_what_was_saved_stays(tmp_path: Path) -> None:
    saved(tmp_path, 1)
    with (
        a_disk_with_room_for(3000),
        pytest.raises(CheckpointError, match=r"could not save .*iteration-000002: File too large"),
    ):
        saved(tmp_path, 2)
    assert names(tmp_path) == ["iteration-000001"]
    latest = load_latest(tmp_path)
    assert latest is not None
    assert latest.iteration == 1


def test_a_kill_at_any_instant_leaves_a_whole_checkpoint(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.learning.test_checkpoint import saved\n"
        "for iteration in range(1, 100_000):\n"
        "    saved(Path(sys.argv[1]), iteration, keep=2); print(iteration, flush=True)"
    )
    newest = 0
    for delay in (1, 2, 5):
        process = subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(delay):
            newest = int(process.stdout.readline())
        process.kill()
        process.stdout.close()
        process.wait()
        latest = load_latest(tmp_path)
        assert latest is not None
        assert latest.iteration >= newest
        assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", FILES)
def test_a_pickle_in_the_place_of_a_file_is_refused_and_its_code_does_not_run(tmp_path: Path, name: str) -> None:
    run, marker = tmp_path / "run", tmp_path / "marker"
    run.mkdir()

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(marker),)

    (directory,) = saved(run, 1)
    (directory / name).write_bytes(pickle.dumps(Evil()))
    with pytest.raises(CheckpointError), pytest.warns(UserWarning, match="passed over"):
        load_latest(run)
    if name == "weights.safetensors":
        with pytest.raises(ValueError, match="no sound checkpoint"), pytest.warns(UserWarning, match="passed over"):
            load_network(run)
    assert not marker.exists()


def test_state_that_is_not_plain_json_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    bad = checkpoint(1)
    bad.counters["score"] = np.float32(0.5)
    with pytest.raises(TypeError):
        save_checkpoint(tmp_path, bad)
    assert names(tmp_path) == []
