"""Memory does not grow with the games played: trees, caches and the replay are bounded."""

import dataclasses
import gc
from pathlib import Path

import pytest

from azero.games.tictactoe import TicTacToe
from azero.learning.replay import ReplaySettings
from azero.learning.trainer import Trainer
from tests.learning.test_trainer import Silent, tiny

STATUS = Path("/proc/self/statm")  # in pages of 4096 bytes


def resident_megabytes() -> float:
    return int(STATUS.read_text().split()[1]) * 4096 / 2**20


class Recorder(Silent):
    """Notes the process's size after each iteration."""

    def __init__(self) -> None:
        super().__init__()
        self.megabytes: list[float] = []

    def on_iteration(self, iteration: int, metrics: dict[str, float]) -> None:
        self.megabytes.append(resident_megabytes())


@pytest.mark.compiled
@pytest.mark.skipif(not STATUS.exists(), reason="the size of the process is read from /proc")
@pytest.mark.parametrize("collecting", [True, False], ids=["with the cycle collector", "without it"])
def test_memory_is_flat_over_hundreds_of_games_once_the_replay_is_full(tmp_path: Path, collecting: bool) -> None:
    settings = tiny(iterations=14, cache=500, replay=ReplaySettings(window=300, capacity=300))
    settings = dataclasses.replace(
        settings,
        selfplay=dataclasses.replace(settings.selfplay, games=40),
        matches=dataclasses.replace(settings.matches, games=0),
    )
    recorder = Recorder()
    gc.collect()
    if not collecting:
        gc.disable()
    try:
        Trainer(TicTacToe(), settings, tmp_path, recorder).run()
    finally:
        gc.enable()
    settled, last = min(recorder.megabytes[4:7]), min(recorder.megabytes[12:])
    assert last - settled < 6, recorder.megabytes
