"""Samples and their file: what goes in comes out, and what cannot be learned from is refused."""

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from azero.games.connect4 import Connect4
from azero.games.tictactoe import TicTacToe
from azero.learning.samples import Samples, SamplesFileError, concatenate, read_samples, write_samples
from tests.learning.samples import random_samples

GAME = Connect4()


def changed(samples: Samples, **arrays: Any) -> Samples:
    return Samples(**(samples.arrays() | arrays))


def same(a: Samples, b: Samples) -> None:
    for name, array in a.arrays().items():
        np.testing.assert_array_equal(array, b.arrays()[name], name)


def test_what_is_read_is_what_was_written_in_the_same_bytes_each_time(tmp_path: Path) -> None:
    samples = random_samples(GAME, 50)[0].compact()
    for name in ("a.npz", "b.npz"):
        write_samples(tmp_path / name, samples)
    read = read_samples(tmp_path / "a.npz", GAME)
    same(read, samples)
    types = {name: array.dtype for name, array in read.arrays().items()}
    assert types.pop("observations") == types.pop("last") == np.uint8
    assert types.pop("legal") == np.bool_
    assert set(types.values()) == {np.dtype(np.float32)}
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.npz"]


def test_observations_become_bytes_only_where_that_loses_nothing() -> None:
    samples, _ = random_samples(GAME, 20)
    assert samples.compact().observations.dtype == np.uint8
    same(samples.compact(), samples)
    for number in (0.5, -1.0, 256.0):
        odd = changed(samples, observations=samples.observations + np.float32(number))
        assert odd.compact().observations.dtype == np.float32
        odd = changed(samples, last=samples.last + np.float32(number))
        assert odd.compact().last.dtype == odd.compact().observations.dtype == np.float32


def test_of_a_file_without_last_states_the_positions_are_their_own(tmp_path: Path) -> None:
    samples = random_samples(GAME, 20)[0].compact()
    arrays = samples.arrays()
    del arrays["last"]
    np.savez_compressed(tmp_path / "early.npz", allow_pickle=False, **arrays)
    same(read_samples(tmp_path / "early.npz", GAME), changed(samples, last=samples.observations))


@pytest.mark.parametrize("name", ["value", "further"])
def test_a_file_that_lacks_an_array_or_holds_another_is_refused(tmp_path: Path, name: str) -> None:
    arrays: dict[str, Any] = random_samples(GAME, 20)[0].arrays()
    if arrays.pop(name, None) is None:
        arrays[name] = np.zeros(20)
    np.savez_compressed(tmp_path / "odd.npz", allow_pickle=False, **arrays)
    with pytest.raises(SamplesFileError, match="it holds"):
        read_samples(tmp_path / "odd.npz", GAME)


def test_samples_of_parts_follow_one_another() -> None:
    parts = [random_samples(GAME, number, seed=number)[0] for number in (3, 5)]
    whole = concatenate(parts)
    assert len(whole) == 8
    same(whole.take(slice(3, None)), parts[1])


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("policy", np.nan),
        ("policy", [-1, 1, 1, 0, 0, 0, 0]),
        ("policy", [0.5, 0, 0, 0, 0, 0, 0]),
        ("policy", [np.inf, 0, 0, 0, 0, 0, 0]),
        ("outcome", np.nan),
        ("outcome", 2),
        ("value", np.nan),
        ("value", -1.5),
        ("observations", np.nan),
        ("observations", np.inf),
        ("last", np.nan),
        ("legal", False),
        ("legal", [True, False, False, False, False, False, False]),  # the policy goes beyond
    ],
)
def test_a_sample_that_nothing_good_can_be_learned_from_is_refused_by_number(name: str, row: Any) -> None:
    samples, _ = random_samples(GAME, 5)
    samples.check(GAME)
    samples = concatenate([samples, samples])
    samples.arrays()[name][5] = row
    with pytest.raises(ValueError, match="sample 5 of 10 cannot be learned from"):
        samples.check(GAME)


def test_a_position_of_which_only_the_value_is_known_is_a_good_sample() -> None:
    samples, _ = random_samples(GAME, 5)
    changed(samples, policy=np.zeros_like(samples.policy)).check(GAME)


def test_samples_of_another_game_are_refused_by_shape() -> None:
    with pytest.raises(ValueError, match=r"of another game than connect4: shapes .*\(5, 2, 3, 3\)"):
        random_samples(TicTacToe(), 5)[0].check(GAME)


def archive(**arrays: Any) -> bytes:
    contents = io.BytesIO()
    np.savez(contents, **arrays)
    return contents.getvalue()


def lying(shape: tuple[int, ...]) -> bytes:
    """An archive whose policy claims a shape that the data does not have."""
    contents = io.BytesIO(archive(**random_samples(GAME, 5)[0].arrays()))
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"shape": shape, "fortran_order": False, "descr": "<f4"})
    result = io.BytesIO()
    with zipfile.ZipFile(contents) as old, zipfile.ZipFile(result, "w") as new:
        for name in old.namelist():
            new.writestr(name, header.getvalue() + b"\0" * 140 if name == "policy.npy" else old.read(name))
    return result.getvalue()


def bomb() -> bytes:
    """An archive of some kilobytes whose policy takes gigabytes."""
    result, header = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"shape": (2**28, 7), "fortran_order": False, "descr": "<f4"})
    arrays = random_samples(GAME, 5)[0].arrays()
    with (
        zipfile.ZipFile(io.BytesIO(archive(**arrays))) as old,
        zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, header.getvalue() if name == "policy.npy" else old.read(name))
    contents = bytearray(result.getvalue())
    directory = contents.index(b"policy.npy", contents.index(b"PK\1\2"))
    size = (2**28 * 28 + len(header.getvalue())) % 2**32
    contents[directory - 22 : directory - 18] = size.to_bytes(4, "little")  # what the archive says it becomes
    return bytes(contents)


def broken() -> dict[str, bytes]:
    whole = random_samples(GAME, 5)[0].arrays()
    return {
        "nothing": b"",
        "half": archive(**whole)[:500],
        "text": b"no archive\n" * 100,
        "an array missing": archive(**{name: array for name, array in whole.items() if name != "value"}),
        "another type": archive(**(whole | {"policy": whole["policy"].astype(np.float64)})),
        "other numbers of rows": archive(**(whole | {"value": whole["value"][:4]})),
        "not a number": archive(**(whole | {"value": whole["value"] * np.nan})),
        "more rows than there is data": lying((10**13, 7)),
        "more rows than memory": lying((10**17, 7)),
        "fewer than no rows": lying((-5, 7)),
        "a bomb": bomb(),
    }


@pytest.mark.parametrize("kind", broken())
def test_a_damaged_file_is_refused_in_one_line_that_names_it(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "iteration-000001.npz"
    path.write_bytes(broken()[kind])
    with pytest.raises(SamplesFileError, match=r"iteration-000001\.npz holds no samples, or is damaged") as error:
        read_samples(path, GAME)
    assert "\n" not in str(error.value)


def test_a_flipped_bit_is_noticed_or_changes_nothing(tmp_path: Path) -> None:
    samples, path = random_samples(GAME, 3)[0].compact(), tmp_path / "a.npz"
    write_samples(path, samples)
    whole = path.read_bytes()
    complaints = []
    for bit in range(0, 8 * len(whole), 19):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            same(read_samples(path, GAME), samples)
        except SamplesFileError as error:
            complaints.append(str(error))
    assert len(complaints) > 200
    assert not any("\n" in complaint for complaint in complaints)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SamplesFileError, match=r"gone\.npz"):
        read_samples(tmp_path / "gone.npz", GAME)


@pytest.mark.parametrize("inside", [False, True], ids=["a pickle", "an array of objects"])
def test_a_file_with_code_is_refused_and_the_code_does_not_run(tmp_path: Path, inside: bool) -> None:
    marker = tmp_path / "marker"

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(marker),)

    arrays = random_samples(GAME, 5)[0].arrays()
    evil = archive(**(arrays | {"value": np.array([Evil()] * 5, object)})) if inside else pickle.dumps(Evil())
    (tmp_path / "a.npz").write_bytes(evil)
    with pytest.raises(SamplesFileError):
        read_samples(tmp_path / "a.npz", GAME)
    assert not marker.exists()
