"""The replay's window, its files, and the batches that are drawn from it."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from azero.games.connect4 import Connect4
from azero.games.game import Game
from azero.games.tictactoe import TicTacToe
from azero.learning.replay import Replay, ReplaySettings, TrainingSet, replay_file
from azero.learning.samples import Samples, concatenate
from tests.learning.samples import random_samples

GAMES: list[Game[Any]] = [TicTacToe(), Connect4()]


def numbered(game: Game[Any], first: int, number: int) -> Samples:
    """Samples that can be told apart by their values, in thousandths."""
    samples, _ = random_samples(game, number, seed=first)
    return Samples(**(samples.arrays() | {"value": np.arange(first, first + number, dtype=np.float32) / 1000}))


def held(replay: Replay) -> list[int]:
    """The numbers of the samples in the window."""
    parts = list(replay._parts.values())
    return np.rint(concatenate(parts).value * 1000).astype(int).tolist() if parts else []


def test_the_window_holds_all_samples_then_grows_ever_more_slowly_up_to_its_capacity() -> None:
    settings = ReplaySettings(window=1000, capacity=3000)
    assert settings.num_kept(0) == settings.num_kept(1000) == 1000
    kept = [settings.num_kept(made) for made in range(1000, 100_000, 1000)]
    assert kept == sorted(kept)
    assert settings.num_kept(2000) == pytest.approx(1000 * (1 + 0.4 * (2**0.75 - 1) / 0.75), abs=1)  # KataGo's formula
    assert kept[-1] == 3000


@pytest.mark.parametrize("wrong", [{"window": 0}, {"capacity": -1}])
def test_a_window_without_room_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be at least 1, got"):
        ReplaySettings(**wrong)


def test_it_never_holds_more_than_its_capacity_and_drops_the_oldest_first(tmp_path: Path) -> None:
    game = TicTacToe()
    replay = Replay(game, ReplaySettings(window=50, capacity=50), tmp_path)
    for iteration in range(1, 11):
        replay.add(iteration, numbered(game, 20 * (iteration - 1), 20))
        made = 20 * iteration
        assert held(replay) == list(range(max(0, made - 50), made))
    assert (len(replay), replay.num_made) == (50, 200)


def test_an_iteration_with_more_samples_than_the_window_leaves_its_newest(tmp_path: Path) -> None:
    game = TicTacToe()
    replay = Replay(game, ReplaySettings(window=10, capacity=10), tmp_path)
    replay.add(1, numbered(game, 0, 5))
    replay.add(2, numbered(game, 5, 30))
    assert held(replay) == list(range(25, 35))


def test_each_iteration_has_a_file_of_its_own_which_is_written_once(tmp_path: Path) -> None:
    game = TicTacToe()
    replay = Replay(game, ReplaySettings(), tmp_path / "replay")
    replay.add(1, numbered(game, 0, 20))
    before = replay_file(tmp_path / "replay", 1).stat()
    replay.add(2, numbered(game, 20, 20))
    after = replay_file(tmp_path / "replay", 1).stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
    assert sorted(path.name for path in (tmp_path / "replay").iterdir()) == [
        "iteration-000001.npz",
        "iteration-000002.npz",
    ]


def test_a_restored_window_is_the_same_row_by_row(tmp_path: Path) -> None:
    game = Connect4()
    replay = Replay(game, ReplaySettings(window=50, capacity=70), tmp_path)
    for iteration in range(1, 9):
        replay.add(iteration, numbered(game, 20 * iteration, 20))
    again = Replay(game, ReplaySettings(window=50, capacity=70), tmp_path)
    again.restore(replay.state())
    assert (held(again), again.num_made, again.state()) == (held(replay), replay.num_made, replay.state())
    batches = [r.training_set().draw(30, np.random.default_rng(1)) for r in (replay, again)]
    for a, b in zip(*(batch.arrays().values() for batch in batches), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_missing_or_damaged_file_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    game = TicTacToe()
    replay = Replay(game, ReplaySettings(), tmp_path)
    for iteration in (1, 2, 3):
        replay.add(iteration, numbered(game, 20 * (iteration - 1), 20))
    replay_file(tmp_path, 1).unlink()
    replay_file(tmp_path, 2).write_text("not samples")
    again = Replay(game, ReplaySettings(), tmp_path)
    with pytest.warns(UserWarning, match=r"training goes on with fewer samples: .*iteration-00000[12]\.npz") as caught:
        again.restore(replay.state())
    assert len(caught) == 2
    assert held(again) == list(range(40, 60))


def test_what_cannot_be_learned_from_reaches_neither_the_window_nor_the_disk(tmp_path: Path) -> None:
    game = TicTacToe()
    replay = Replay(game, ReplaySettings(), tmp_path)
    bad = numbered(game, 0, 5)
    bad.value[3] = np.nan
    with pytest.raises(ValueError, match="sample 3 of 5"):
        replay.add(1, bad)
    assert (len(replay), list(tmp_path.iterdir())) == (0, [])


def test_samples_that_leave_the_window_leave_the_memory(tmp_path: Path) -> None:
    game = TicTacToe()
    replay = Replay(game, ReplaySettings(window=50, capacity=50), tmp_path)
    for iteration in range(1, 30):
        replay.add(iteration, numbered(game, 0, 20))
    arrays = [array for part in replay._parts.values() for array in part.arrays().values()]
    assert sum(len(array) for array in arrays) == 6 * 50
    assert all(array.base is None for array in arrays), "a view keeps what it was cut from"


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_a_moved_sample_is_the_sample_of_the_moved_state(game: Game[Any]) -> None:
    samples, states = random_samples(game, 200)
    _, unique = np.unique([hash(state) for state in states], return_index=True)
    last = {samples.observations[i].tobytes(): states[199 - i] for i in unique}
    states = [states[i] for i in unique]
    training_set = TrainingSet(samples.take(unique), [*game.symmetries()])
    rows = {samples.observations[i].tobytes(): state for i, state in zip(unique, states, strict=True)}
    for number, symmetry in enumerate(game.symmetries(), 1):
        everything = np.arange(len(training_set))
        zeros = np.zeros(len(everything), np.int64)
        moved = training_set.moved(everything, np.full(len(everything), number), zeros)
        plain = training_set.moved(everything, zeros, zeros)
        for i in everything:
            state = rows[plain.observations[i].tobytes()]
            image = symmetry.state(state)
            np.testing.assert_array_equal(moved.observations[i], game.observation(image))
            image_of_last = symmetry.state(last[plain.observations[i].tobytes()])
            np.testing.assert_array_equal(moved.last[i], game.observation(image_of_last))
            assert np.flatnonzero(moved.legal[i]).tolist() == list(game.legal_actions(image))
            for action in game.legal_actions(state):
                assert moved.policy[i, symmetry.actions[action]] == plain.policy[i, action]
        np.testing.assert_array_equal(moved.outcome, plain.outcome)
        np.testing.assert_array_equal(moved.value, plain.value)


def test_a_stone_in_the_first_column_moves_to_the_last_and_its_policy_with_it() -> None:
    game = Connect4()
    state = game.step(game.initial_state(), 0)
    policy = np.eye(7, dtype=np.float32)[:1]
    one, zero = np.ones((1, 7), np.bool_), np.zeros(1, np.float32)
    planes = game.observations([state])
    training_set = TrainingSet(Samples(planes, one, policy, zero, zero, planes), game.symmetries())
    moved = training_set.moved(np.array([0]), np.array([1]), np.array([0]))
    assert moved.policy.argmax() == 6
    assert np.argwhere(moved.observations).tolist() == [[0, 1, 5, 6]]


def test_drawing_reaches_every_sample_and_every_symmetry() -> None:
    game = TicTacToe()
    samples, _ = random_samples(game, 30)
    training_set = TrainingSet(samples, game.symmetries())
    batch = training_set.draw(5000, np.random.default_rng(0))
    reached = {(value, planes.tobytes()) for value, planes in zip(batch.value, batch.observations, strict=True)}
    rows = np.repeat(np.arange(len(training_set)), 8)
    everything = training_set.moved(rows, np.tile(np.arange(8), len(training_set)), np.zeros_like(rows))
    assert reached == {(v, p.tobytes()) for v, p in zip(everything.value, everything.observations, strict=True)}
    assert batch.observations.dtype == np.float32


def test_equal_positions_become_one_with_the_means_of_their_targets() -> None:
    game = TicTacToe()
    samples, _ = random_samples(game, 20)
    twin = samples.take(np.array([5, 5, 5, 7]))
    twin.outcome[:], twin.value[:] = [1, 1, -1, 0], [0.5, 0.1, 0, 0.25]
    twin.policy[:] = 0
    twin.policy[0, np.flatnonzero(twin.legal[0])[0]] = 1
    twin.policy[1, np.flatnonzero(twin.legal[1])[1]] = 1  # the third has no policy to learn
    training_set = TrainingSet(twin, ())
    assert len(training_set) == 2
    i = int(np.argmax((training_set.samples.observations == twin.observations[0]).all(axis=(1, 2, 3))))
    np.testing.assert_allclose(training_set.samples.policy[i][twin.legal[0]][:2], [0.5, 0.5])
    assert training_set.samples.policy[1 - i].sum() == 0
    assert training_set.samples.outcome[i] == pytest.approx(1 / 3)
    assert training_set.samples.value[i] == pytest.approx(0.2)
    assert training_set.samples.observations.dtype == twin.observations.dtype


def test_the_last_states_of_equal_positions_are_drawn_as_often_each() -> None:
    samples, _ = random_samples(TicTacToe(), 20)
    twin = samples.take(np.array([5, 7, 5, 7, 5]))
    twin.last[:] = np.array([1, 2, 3, 4, 5], np.float32)[:, None, None, None]
    batch = TrainingSet(twin, ()).draw(6000, np.random.default_rng(0))
    first = (batch.observations == samples.observations[5]).all(axis=(1, 2, 3))
    for chosen, numbers in ((first, [1, 3, 5]), (~first, [2, 4])):
        found, counts = np.unique(batch.last[chosen, 0, 0, 0], return_counts=True)
        assert found.tolist() == numbers
        np.testing.assert_allclose(counts / chosen.sum(), 1 / len(numbers), atol=0.05)


@pytest.mark.parametrize("same_hash", [False, True])
@pytest.mark.parametrize("scale", [1.0, 200.0, 0.3])  # bits, bytes, numbers
def test_equal_positions_are_found_whatever_they_are_made_of_and_whatever_their_hashes(
    monkeypatch: pytest.MonkeyPatch, same_hash: bool, scale: float
) -> None:
    samples, states = random_samples(Connect4(), 400)
    samples.observations[:] *= np.float32(scale)
    if same_hash:
        monkeypatch.setattr("azero.learning.replay._hashes", lambda words: np.zeros(len(words), np.uint64))
    merged = TrainingSet(samples.compact(), ()).samples
    assert 100 < len(set(states)) == len(merged) < 400
    where = {(board.tobytes()): i for i, board in enumerate(merged.observations.astype(np.float32))}
    for board in samples.observations:
        of_this = np.array([other.tobytes() == board.tobytes() for other in samples.observations])
        assert merged.value[where[board.tobytes()]] == pytest.approx(samples.value[of_this].mean(), abs=1e-6)


def test_positions_that_only_look_alike_keep_a_policy_over_their_own_legal_actions() -> None:
    samples, _ = random_samples(TicTacToe(), 1)
    twin = samples.take(np.array([0, 0, 0]))
    twin.legal[:] = twin.policy[:] = 0
    for row, action in enumerate((3, 5, 5)):
        twin.legal[row, action] = twin.policy[row, action] = 1
    merged = TrainingSet(twin, ()).samples
    merged.check(TicTacToe())
    assert sorted(merged.policy.argmax(axis=1)) == [3, 5]


def test_a_position_seen_often_is_drawn_more_often_but_not_in_proportion() -> None:
    samples, _ = random_samples(TicTacToe(), 2)  # the first two positions of a game
    eight, one = np.zeros(8, np.int64), np.ones(1, np.int64)
    training_set = TrainingSet(samples.take(np.concatenate([eight, one])), ())
    batch = training_set.draw(10_000, np.random.default_rng(0))
    share = (batch.observations == samples.observations[0]).all(axis=(1, 2, 3)).mean()
    assert share == pytest.approx(4 / 5, abs=0.02)  # 1 + log2(8) to 1


def test_the_same_generator_draws_the_same_batch() -> None:
    training_set = TrainingSet(random_samples(Connect4(), 50)[0], Connect4().symmetries())
    first, again, other = (training_set.draw(64, np.random.default_rng(seed)).value for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_keeping_new_samples_writes_only_those_and_takes_little_memory(tmp_path: Path) -> None:
    replay = Replay(Connect4(), ReplaySettings(window=10**6, capacity=10**6), tmp_path)
    part = random_samples(Connect4(), 1000)[0]
    for iteration in range(1, 31):
        replay.add(iteration, part)
    memory = sum(array.nbytes for kept in replay._parts.values() for array in kept.arrays().values())
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    tracemalloc.start()
    try:
        replay.add(31, part)
        replay.state()
        assert tracemalloc.get_traced_memory()[1] < 0.3 * memory
    finally:
        tracemalloc.stop()
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir() if path.name in before} == before
