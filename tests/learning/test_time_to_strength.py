"""`scripts/time_to_strength.py` measures the network of a run on its way and at its end."""

import itertools
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from azero.games.hex import Hex

TINY = [
    "game=nim", "network.channels=4", "network.blocks=1", "selfplay.games=8", "selfplay.simulations=8",
    "rollout_simulations=8", "learner.threads=1", "selfplay.threads=1",
]  # fmt: skip
ALL = SimpleNamespace(share=1.0)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = spec_from_file_location("time_to_strength", Path(__file__).parents[2] / "scripts" / "time_to_strength.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, value in (("POSITIONS", 20), ("SIMULATIONS", 10)):
        monkeypatch.setattr(module, name, value)
    return module


def row(run: str, minutes: float, figure: float) -> dict[str, str]:
    costs = {"games": "10", "evaluations": "200", "cpu_seconds": "3"}
    return {"run": run, "minutes": str(minutes), **costs, "network all": str(figure), "search all": "1"}


def test_each_seed_is_measured_at_its_end_and_goes_on_from_there(script: ModuleType, tmp_path: Path) -> None:
    script.main(str(tmp_path), *TINY, "seeds=0,1", "iterations=1")
    rows = script.read_rows(tmp_path / "strength.csv")
    assert [(row["run"], row["iteration"], row["games"]) for row in rows] == [
        ("seed-0", "1", "8"),
        ("seed-1", "1", "8"),
    ]
    script.main(str(tmp_path), *TINY, "seeds=0", "iterations=2")
    script.main(str(tmp_path), *TINY, "seeds=0", "iterations=2")  # nothing is left to do
    assert script.read_rows(tmp_path / "strength.csv")[:2] == rows
    [last] = script.read_rows(tmp_path / "strength.csv")[2:]
    assert (last["run"], last["iteration"], last["games"]) == ("seed-0", "2", "16")
    assert int(last["evaluations"]) > int(rows[0]["evaluations"]) >= 0
    for seed in (0, 2):  # one that is there, and a new one
        with pytest.raises(ValueError, match=r"seed-0 .* cannot mix: learner.learning_rate: 0.003 -> 0.1"):
            script.main(str(tmp_path), *TINY, f"seeds={seed}", "iterations=2", "learner.learning_rate=0.1")
    assert not (tmp_path / "seed-2").exists()
    assert float(last["minutes"]) > float(rows[0]["minutes"])
    assert 0 <= float(last["network all"]) <= 100
    assert (tmp_path / "strength.png").stat().st_size > 1000
    assert (tmp_path / "strength.md").read_text() == script.strength_table([*rows, last])


def test_a_longer_run_whose_learning_rate_falls_towards_its_end_is_another_run(
    script: ModuleType, tmp_path: Path
) -> None:
    words = [str(tmp_path), *TINY, "learner.final_learning_rate=0.1"]
    script.main(*words, "iterations=1")
    with pytest.raises(ValueError, match=r"one curve cannot mix: iterations: 1 -> 2"):
        script.main(*words, "iterations=2")


def test_the_processor_s_time_is_of_the_whole_run_without_the_measuring(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = itertools.count(1000.0, 100.0)  # each look at the clock is so much later than the last
    monkeypatch.setattr(script, "time", SimpleNamespace(process_time=lambda: next(seconds)))
    monkeypatch.setattr(script, "measure", lambda *_: next(seconds) and SimpleNamespace(lost_value=ALL))
    script.main(str(tmp_path), *TINY, "iterations=3")
    (tmp_path / "strength.csv").unlink()  # as if it had been killed before it measured
    script.main(str(tmp_path), *TINY, "iterations=4")
    # The time of an iteration is kept with the next one.
    assert [row["cpu_seconds"] for row in script.read_rows(tmp_path / "strength.csv")] == ["300"]


def test_medians_are_of_the_runs_at_the_same_time(script: ModuleType) -> None:
    rows = [row("a", 4.6, 9), row("a", 5.1, 3), row("b", 5.3, 5), row("c", 5.0, 4), row("a", 14.2, 1)]
    assert script.strength_table(rows) == (
        "| minutes | runs | games | evaluations | CPU seconds | network alone | all |\n"
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| 5.1 | 3 | 10 | 200 | 3 | 4.00 | 1.00 |\n"
        "| 14.2 | 1 | 10 | 200 | 3 | 1.00 | 1.00 |\n"
    )


def test_a_game_of_which_nothing_is_known_is_refused(script: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="of hex no positions are known"):
        script.Stopwatch(Hex(), tmp_path, [])
