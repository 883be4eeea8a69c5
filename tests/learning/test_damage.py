"""Any damage to any file of a run is harmless, or is named: what a run goes on from is never silently wrong."""

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from azero import train as train_command
from azero.config import compose_settings, saved_words, settings_changes, settings_text
from azero.games.tictactoe import TicTacToe
from azero.learning.checkpoint import Checkpoint, CheckpointError, load_checkpoint, load_latest
from azero.learning.metrics import read_metrics
from azero.learning.replay import Replay
from tests.learning.test_trainer import TINY, tiny, without_place
from tests.mutations import NUM_EXAMPLES, fuzzed, mutated, read_or_refused

ITERATIONS = 3
damaging = settings(fuzzed, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, its first and its last iterations kept."""
    directory = tmp_path_factory.mktemp("whole") / "run"
    train_command.main([*TINY, f"run={directory}", f"iterations={ITERATIONS}", "minutes=null"])
    return directory


@pytest.fixture(scope="module")
def states(whole: Path) -> dict[int, list[Any]]:
    """What the run was after each iteration that is kept."""
    return {int(path.name[-6:]): state_of(whole, load_checkpoint(path)) for path in whole.glob("iteration-*")}


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of the run, to be damaged."""
    yield shutil.copytree(whole, tmp_path / "run")
    shutil.rmtree(tmp_path / "run")


def state_of(run: Path, checkpoint: Checkpoint) -> list[Any]:
    """All that a run goes on from, to be compared."""
    replay = Replay(TicTacToe(), tiny().replay, run / "replay")
    replay.restore(checkpoint.replay)
    samples = [array.tobytes() for part in replay._parts.values() for array in part.arrays().values()]
    training = {name: array.tobytes() for name, array in sorted(checkpoint.training.items())}
    return [checkpoint.network.to_bytes(), training, samples, checkpoint.counters, checkpoint.settings]


def needed(run: Path) -> list[Path]:
    """The files that checkpoints are made of."""
    return sorted([*run.glob("iteration-*/*"), *run.glob("replay/*")])


def check(run: Path, damaged: list[Path], states: dict[int, list[Any]]) -> None:
    """Load what is left of a run: whatever is not as it was has been named."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        latest = None
        with read_or_refused(CheckpointError):
            latest = load_latest(run)
        if latest is None:
            return
        state = state_of(run, latest)
    said = "\n".join(str(warning.message) for warning in caught)
    expected = states[latest.iteration]
    assert [state[0], state[1], *state[3:]] == [expected[0], expected[1], *expected[3:]]
    if latest.iteration < ITERATIONS or state != expected:
        assert any(path.name in said or path.parent.name in said for path in damaged), said


@damaging
@given(data=st.data())
def test_whatever_becomes_of_a_file_is_harmless_or_named(
    whole: Path, states: dict[int, list[Any]], run: Path, data: Any
) -> None:
    path = data.draw(st.sampled_from([file.relative_to(whole) for file in needed(whole)]))
    before = (whole / path).read_bytes()
    (run / path).write_bytes(data.draw(mutated(before)))
    check(run, [run / path], states)
    (run / path).write_bytes(before)


def test_any_byte_of_any_file_that_is_flipped_is_harmless_or_named(
    whole: Path, states: dict[int, list[Any]], run: Path
) -> None:
    generator = np.random.default_rng(0)
    for file in needed(whole):
        before = file.read_bytes()
        path = run / file.relative_to(whole)
        for place in generator.integers(len(before), size=NUM_EXAMPLES // 8):
            contents = bytearray(before)
            contents[place] ^= 1 << generator.integers(8)
            path.write_bytes(contents)
            check(run, [path], states)
        path.write_bytes(before)


def test_files_that_changed_places_with_their_namesakes_are_named(
    whole: Path, states: dict[int, list[Any]], run: Path
) -> None:
    newest = run / f"iteration-{ITERATIONS:06d}"
    for name in ("state.json", "training.safetensors", "weights.safetensors"):
        for other in sorted(run.glob(f"iteration-*/{name}")):
            before, others = (newest / name).read_bytes(), other.read_bytes()
            (newest / name).write_bytes(others)
            other.write_bytes(before)
            check(run, [newest / name, other], states)
            (newest / name).write_bytes(before)
            other.write_bytes(others)


@damaging
@given(data=st.data())
def test_settings_that_are_damaged_are_refused_or_told_or_mended(whole: Path, run: Path, data: Any) -> None:
    text = (whole / "config.yaml").read_bytes()
    (run / "config.yaml").write_bytes(data.draw(mutated(text)))
    kept = load_latest(run)
    assert kept is not None
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        words = train_command._with_saved_settings([f"resume={run}"])
    with read_or_refused(ValueError, OSError, lines=5):
        found = settings_text(compose_settings(train_command.TrainSettings, "train", words))
        if without_place(found) != without_place(text.decode()):
            assert settings_changes(kept.settings, found)


@damaging
@given(data=st.data())
def test_a_table_of_metrics_that_is_damaged_is_read_as_far_as_it_goes(whole: Path, run: Path, data: Any) -> None:
    path = run / "metrics.csv"
    path.write_bytes(data.draw(mutated((whole / "metrics.csv").read_bytes())))
    numbers = [row["iteration"] for row in read_metrics(path)]
    assert len(set(numbers)) == len(numbers)
    assert all(int(number) > 0 for number in numbers)


def test_settings_read_back_from_a_checkpoint_as_they_were(whole: Path) -> None:
    latest = load_latest(whole)
    assert latest is not None
    words = saved_words(latest.settings)
    composed = compose_settings(train_command.TrainSettings, "train", words)
    assert without_place(settings_text(composed)) == without_place((whole / "config.yaml").read_text())
