"""The training loop on tiny runs: the same seed gives the same bytes, also after a stop."""

import csv
import dataclasses
import gc
import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from azero import train as train_command
from azero.config import compose_settings
from azero.evaluators.evaluator import Evaluation, EvaluatorError
from azero.evaluators.network import NetworkEvaluator
from azero.evaluators.weights import find_network
from azero.games.batch import batch_of
from azero.games.tictactoe import TicTacToe
from azero.learning import gradients, learner
from azero.learning import trainer as trainer_module
from azero.learning.metrics import MetricsWriter, read_metrics
from azero.learning.trainer import MatchesSettings, Trainer, TrainingSettings
from azero.players.exact import Figures
from azero.players.record import read_records
from azero.search.gumbel import Gumbel
from azero.search.puct import PUCT

TINY = [
    "game=tictactoe", "selfplay.games=8", "selfplay.simulations=8", "selfplay.proven_values=false",
    "network.channels=8", "network.blocks=1",
    "network.value_hidden=8", "network.head_channels=4", "learner.batch_size=32", "learner.threads=1",
    "selfplay.threads=1",
    "matches.games=2", "matches.every=1", "matches.simulations=4", "matches.opponents=[random]",
    "matches.positions=0", "rollout_simulations=20",
]  # fmt: skip


class Silent:
    """A watcher that hears nothing, or stops the run at a moment."""

    def __init__(self, stop_at: tuple[int, str] | None = None) -> None:
        self.stop_at = stop_at

    def on_phase(self, iteration: int, name: str, total: int) -> None:
        if self.stop_at == (iteration, name.split()[0]):
            raise KeyboardInterrupt

    def on_step(self) -> None:
        pass

    def on_wait(self) -> None:
        pass

    def on_iteration(self, iteration: int, metrics: dict[str, float]) -> None:
        pass


def tiny(*words: str, **changes: Any) -> TrainingSettings:
    settings = compose_settings(train_command.TrainSettings, "train", [*TINY, *words])
    return dataclasses.replace(settings, **{"iterations": 3, "minutes": None} | changes)


def train(directory: Path, watcher: Any = None, *words: str, **changes: Any) -> Trainer[Any]:
    trainer = Trainer(TicTacToe(), tiny(*words, **changes), directory, watcher or Silent())
    trainer.run()
    return trainer


def contents(directory: Path, iteration: int) -> dict[str, bytes]:
    checkpoint = directory / f"iteration-{iteration:06d}"
    files = {path.name: path.read_bytes() for path in checkpoint.iterdir() if path.name != "state.json"}
    return files | {p.name: p.read_bytes() for p in (directory / "replay").iterdir()}


def run_in(path: Path, name: str) -> Path:
    directory = path / name
    directory.mkdir()
    return directory


def test_the_same_seed_gives_the_same_bytes_whatever_the_threads(tmp_path: Path) -> None:
    first, second = run_in(tmp_path, "first"), run_in(tmp_path, "second")
    train(first)
    selfplay = dataclasses.replace(tiny().selfplay, threads=2, parallel_games=3)
    train(second, selfplay=selfplay)
    assert contents(first, 3) == contents(second, 3)
    other = run_in(tmp_path, "other")
    train(other, seed=1)
    assert contents(first, 3) != contents(other, 3)


@pytest.mark.parametrize("phase", ["self-play", "learning", "match"])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path: Path, phase: str) -> None:
    straight, stopped = run_in(tmp_path, "straight"), run_in(tmp_path, "stopped")
    words = ["learner.last_weight=2"]
    whole = train(straight, None, *words)
    with pytest.raises(KeyboardInterrupt):
        train(stopped, Silent(stop_at=(2, phase)), *words)
    resumed = train(stopped, None, *words)
    assert contents(straight, 3) == contents(stopped, 3)
    for counter in ("games", "positions", "best", "best_score"):
        assert resumed.counters[counter] == whole.counters[counter]
    rows = read_metrics(stopped / "metrics.csv")
    assert [row["iteration"] for row in rows] == ["1", "2", "3"]
    unclocked = [{k: v for k, v in row.items() if "second" not in k or "player" in k} for row in rows]
    expected = [
        {k: v for k, v in row.items() if "second" not in k or "player" in k}
        for row in read_metrics(straight / "metrics.csv")
    ]
    assert unclocked == expected


@pytest.mark.parametrize(
    "words",
    [
        ["search=gumbel"],
        ["search=gumbel", "selfplay.proven_values=true"],
        ["selfplay.proven_values=true"],
        ["selfplay.int8=true", "learner.bfloat16=true"],
        ["search.forced_visits=2", "search.root_fpu_value=-1", "selfplay.noise.temperature=1.25"],
    ],
)
def test_every_way_to_search_learns_the_same_with_any_threads_and_after_a_stop(
    tmp_path: Path, words: list[str]
) -> None:
    straight, stopped, plain = (run_in(tmp_path, name) for name in ("straight", "stopped", "plain"))
    train(straight, None, *words, iterations=2)
    with pytest.raises(KeyboardInterrupt):
        train(stopped, Silent(stop_at=(2, "self-play")), *words, "selfplay.threads=2", iterations=2)
    train(stopped, None, *words, "selfplay.parallel_games=3", iterations=2)
    assert contents(straight, 2) == contents(stopped, 2)
    train(plain, iterations=2)
    assert contents(straight, 2) != contents(plain, 2)


@pytest.mark.parametrize(
    ("words", "self_play", "match"),
    [
        (["search=gumbel"], Gumbel(noise=1.0), Gumbel(noise=0.0)),
        (["search.forced_visits=2", "search.c_puct=2"], PUCT(2.0, forced_visits=2.0), PUCT(2.0)),
    ],
)
def test_self_play_explores_and_matches_do_not(
    tmp_path: Path, words: list[str], self_play: Any, match: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: dict[str, list[Any]] = {"SelfPlay": [], "MCTS": []}
    for name, rules in used.items():
        original, place = getattr(trainer_module, name), 1 if name == "SelfPlay" else 2

        def noted(*arguments: Any, original: Any = original, rules: Any = rules, place: int = place) -> Any:
            rules.append(arguments[place])
            return original(*arguments)

        monkeypatch.setattr(trainer_module, name, noted)
    train(run_in(tmp_path, "run"), None, *words, iterations=1)
    assert set(used["SelfPlay"]) == {self_play}
    assert set(used["MCTS"]) == {match}


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # TensorBoard's reader leaves its file open
def test_tensorboard_shows_each_step_once_after_a_stop(tmp_path: Path) -> None:
    directory = run_in(tmp_path, "run")
    with pytest.raises(KeyboardInterrupt):
        train(directory, Silent(stop_at=(3, "learning")))
    train(directory, iterations=4)
    events = EventAccumulator(str(directory / "tensorboard"))
    events.Reload()
    tags = events.Tags()
    for tag in tags["scalars"]:
        if not tag.startswith("score"):
            assert [event.step for event in events.Scalars(tag)] == [1, 2, 3, 4]
    expected = {
        "learning/policy_loss", "learning/value_loss", "learning/policy_entropy", "learning/value_calibration",
        "learning/policy_calibration",
        "selfplay/first_player_wins", "selfplay/draws", "selfplay/game_length", "selfplay/cached_share",
        "selfplay/terminal_share", "speed/evaluations_per_second", "speed/positions_per_second", "score/random",
    }  # fmt: skip
    assert expected <= set(tags["scalars"])
    assert "selfplay/policy" in tags["images"]
    assert "selfplay/sample_game/text_summary" in tags["tensors"]
    del events
    gc.collect()


def test_the_games_of_each_iteration_are_kept_if_asked_for(tmp_path: Path) -> None:
    train(tmp_path / "without", iterations=1)
    assert not (tmp_path / "without" / "games").exists()
    train(tmp_path, None, "selfplay.records=true", iterations=2)
    first, second = (read_records(tmp_path / "games" / f"00000{i}.txt", TicTacToe()) for i in (1, 2))
    assert [record.index for record in first + second] == list(range(16))
    assert {record.players for record in second} == {("iteration 2", "iteration 2")}


def test_what_is_left_of_a_damaged_metrics_table_is_kept(tmp_path: Path) -> None:
    with MetricsWriter(tmp_path, 1) as writer:
        writer.write(1, {"loss": 0.5})
        writer.write(2, {"loss": 0.25, "score": 1.0})
    table = tmp_path / "metrics.csv"
    table.write_text(table.read_text() + "3,0.1")
    with MetricsWriter(tmp_path, 3) as writer:
        writer.write(3, {"loss": 0.125})
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["iteration"], row["loss"], row["score"]) for row in rows] == [
        ("1", "0.5", ""), ("2", "0.25", "1"), ("3", "0.125", ""),
    ]  # fmt: skip


def test_a_row_is_added_to_the_table_and_one_that_a_kill_cut_short_is_none(tmp_path: Path) -> None:
    table = tmp_path / "metrics.csv"
    with MetricsWriter(tmp_path, 1) as writer:
        writer.write(1, {"loss": 0.5, "score": 1.0})
        before, place = table.read_bytes(), table.stat().st_ino
        writer.write(2, {"loss": 0.25})
        assert (table.read_bytes(), table.stat().st_ino) == (before + b"2,0.25,\r\n", place)
        writer.write(3, {"other": 7.0})
    rows = [{**row} for row in read_metrics(table)]
    assert rows[2] == {"iteration": "3", "loss": "", "score": "", "other": "7"}
    for missing in range(1, len(b"3,,,7\r\n") + 1):
        table.write_bytes(table.read_bytes()[:-1])
        assert read_metrics(table) == rows[:2], missing


def test_lost_rows_of_metrics_are_named_and_the_table_kept_as_it_was(tmp_path: Path) -> None:
    with MetricsWriter(tmp_path, 1) as writer:
        for iteration in (1, 2, 3):
            writer.write(iteration, {"loss": 0.5})
    table = tmp_path / "metrics.csv"
    damaged = table.read_text().replace("2,0.5", "1,0.5")
    table.write_text(damaged)
    with pytest.warns(UserWarning, match=r"lost iterations \[2\]"), MetricsWriter(tmp_path, 4) as writer:
        writer.write(4, {"loss": 0.125})
    assert [row["iteration"] for row in read_metrics(table)] == ["1", "3", "4"]
    assert (tmp_path / "metrics.damaged.csv").read_text() == damaged


def test_a_loss_that_is_not_finite_stops_the_run_before_anything_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = run_in(tmp_path, "run")
    train(directory, iterations=1)
    before = contents(directory, 1)
    honest, calls = gradients.policy_losses, []

    def fails_the_second_time(*arguments: Any) -> Any:
        calls.append(arguments)
        return honest(*arguments) * (float("nan") if len(calls) == 2 else 1.0)

    monkeypatch.setattr(gradients, "policy_losses", fails_the_second_time)
    with pytest.raises(learner.TrainingError, match="nothing was written"):
        train(directory, iterations=2)
    after = contents(directory, 1)
    assert {name: after[name] for name in before} == before
    assert not (directory / "iteration-000002").exists()


def test_the_limits_end_a_run(tmp_path: Path) -> None:
    assert train(run_in(tmp_path, "iterations"), iterations=2).iteration == 2
    assert train(run_in(tmp_path, "games"), iterations=None, games=20).counters["games"] == 24
    assert train(run_in(tmp_path, "minutes"), iterations=None, minutes=0.0).iteration == 0
    assert find_network(tmp_path / "minutes").iteration == 0  # even then there is something to play with


def test_the_last_iteration_is_measured_whichever_limit_ends_the_run(tmp_path: Path) -> None:
    rare = dataclasses.replace(tiny().matches, every=1000)
    for name, limits in {"iterations": {"iterations": 3}, "minutes": {"iterations": None, "minutes": 0.02}}.items():
        directory = run_in(tmp_path, name)
        trainer = train(directory, matches=rare, **limits)
        rows = read_metrics(directory / "metrics.csv")
        assert [bool(row["score/random"]) for row in rows] == [False] * (len(rows) - 1) + [True]
        assert trainer.counters["best"] == trainer.iteration == len(rows)


def test_each_opponent_has_its_scores_and_the_last_decides_what_is_best(tmp_path: Path) -> None:
    directory = run_in(tmp_path, "run")
    trainer = train(directory, iterations=1, matches=dataclasses.replace(tiny().matches, opponents=("random", "uct:5")))
    row = read_metrics(directory / "metrics.csv")[-1]
    names = ["score/random", "score/random/network_alone", "score/uct:5", "score/uct:5/network_alone"]
    assert all(0 <= float(row[name]) <= 1 for name in names)
    assert trainer.counters["best_score"] == float(row["score/uct:5"])


def test_positions_whose_perfect_play_is_known_are_measured_and_written(tmp_path: Path) -> None:
    directory = run_in(tmp_path, "run")
    matches = dataclasses.replace(tiny().matches, games=0, positions=30)
    train(directory, iterations=1, matches=matches)
    row = read_metrics(directory / "metrics.csv")[-1]
    for name in ("exact", "exact_network_alone"):
        shares = {figure: float(row[f"{name}/all/{figure}"]) for figure in Figures._fields}
        assert all(0 <= share <= 1 for share in shares.values())
        assert 0 < shares["lost_value"] < shares["lost_value_open"] < 0.7
        assert shares["lost_value"] <= shares["not_best"]
    assert not any(name.startswith("score/") for name in row)


def test_a_score_in_other_matches_does_not_compare(tmp_path: Path) -> None:
    directory = run_in(tmp_path, "run")
    trainer = train(directory, iterations=2)
    assert trainer.counters["best_score"] >= 0
    harder = dataclasses.replace(tiny().matches, simulations=5)
    assert Trainer(TicTacToe(), tiny(matches=harder), directory, Silent()).counters["best_score"] == -1


def test_an_iteration_that_could_not_be_committed_leaves_no_hole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = run_in(tmp_path, "run")
    honest = trainer_module.save_checkpoint

    def full_disk(run: Path, checkpoint: Any, *rest: Any) -> Path:
        if checkpoint.iteration == 2:
            raise OSError(28, "No space left on device")
        return honest(run, checkpoint, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(trainer_module, "save_checkpoint", full_disk)
        trainer = Trainer(TicTacToe(), tiny(), directory, Silent())
        with pytest.raises(OSError, match="No space"):
            trainer.run()
        assert trainer.iteration == 1
    train(directory)
    assert [row["iteration"] for row in read_metrics(directory / "metrics.csv")] == ["1", "2", "3"]


@pytest.mark.parametrize(("opponent", "named"), [("human", "human"), ("azero:nowhere@5", "nowhere")])
def test_an_opponent_that_cannot_play_is_heard_of_at_once(tmp_path: Path, opponent: str, named: str) -> None:
    matches = dataclasses.replace(tiny().matches, opponents=("random", opponent))
    with pytest.raises((ValueError, OSError), match=named):
        train(run_in(tmp_path, "run"), matches=matches)


def test_an_evaluator_that_fails_now_and_then_stores_nothing_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight, directory = run_in(tmp_path, "straight"), run_in(tmp_path, "run")
    train(straight, iterations=2)
    train(directory, iterations=1)
    honest, calls = NetworkEvaluator.evaluate, []

    def sometimes_nan(self: Any, batch: Any) -> Any:
        policy, value = honest(self, batch)
        calls.append(len(batch))
        return Evaluation(policy, value * np.float32(np.nan if len(calls) % 50 == 0 else 1))

    monkeypatch.setattr(NetworkEvaluator, "evaluate", sometimes_nan)
    no_matches = dataclasses.replace(tiny().matches, games=0)  # where it would be a forfeit
    with pytest.raises(EvaluatorError, match=r"NetworkEvaluator answered [^;]* nan"):
        train(directory, iterations=9, matches=no_matches)
    monkeypatch.undo()
    shutil.rmtree(directory / "iteration-000002", ignore_errors=True)
    train(directory, iterations=2)
    assert contents(directory, 2)["iteration-000002.npz"] == contents(straight, 2)["iteration-000002.npz"]
    assert contents(directory, 2)["weights.safetensors"] == contents(straight, 2)["weights.safetensors"]


def test_the_newest_and_the_best_checkpoints_are_kept(tmp_path: Path) -> None:
    directory = run_in(tmp_path, "run")
    trainer = train(directory, iterations=5, keep=1)
    kept = {path.name for path in directory.glob("iteration-*")}
    assert kept == {f"iteration-{number:06d}" for number in (0, 4, 5, int(trainer.counters["best"]))}


def test_training_lowers_the_loss_and_changes_what_the_network_says(tmp_path: Path) -> None:
    directory = run_in(tmp_path, "run")
    train(directory, iterations=12)
    rows = read_metrics(directory / "metrics.csv")
    excess = [float(row["learning/policy_loss"]) - float(row["learning/target_entropy"]) for row in rows]
    assert np.mean(excess[-3:]) < np.mean(excess[1:4])
    game = TicTacToe()
    policy, _ = NetworkEvaluator(find_network(directory)).evaluate(batch_of(game, [game.initial_state()]))
    assert policy.std() > 0.001


@pytest.mark.parametrize(
    ("kind", "settings", "named"),
    [
        (TrainingSettings, {"minutes": -1.0}, "minutes"),
        (TrainingSettings, {"device": "tpu"}, "device"),
        (TrainingSettings, {"seed": 2**63}, "seed"),
        (MatchesSettings, {"every": 0}, "every"),
        (MatchesSettings, {"opponents": ("utc:100",)}, "uct"),
        (MatchesSettings, {"opponents": ()}, "opponents"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(kind: Any, settings: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        kind(**settings)


def start(path: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "azero.train", *words],
        cwd=path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip


def finished(process: "subprocess.Popen[str]", status: int) -> str:
    """What the command said, which must not be a trace."""
    output, _ = process.communicate(timeout=120)
    assert process.returncode == status, output
    assert "Traceback" not in output
    return output


def wait_for(path: Path, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)


def last_iteration(directory: Path) -> int:
    return max(int(path.name[-6:]) for path in directory.glob("iteration-*"))


def test_the_command_stops_at_an_interrupt_and_resumes_with_its_own_settings(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    process = start(tmp_path, *TINY, "run=mine", "iterations=null", "minutes=null")
    wait_for(mine / "iteration-000002", process)
    assert "is at work" in finished(start(tmp_path, "resume=mine"), 2)
    process.send_signal(signal.SIGINT)
    output = finished(process, 130)
    done = last_iteration(mine)
    assert f"all up to iteration {done} is saved. Go on with resume={mine}" in output

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    output = finished(start(elsewhere, "resume=../mine", f"iterations={done + 1}", "learner.learning_rate=0.001"), 0)
    assert "Changed: learner.learning_rate: 0.004 -> 0.001" in output
    assert f"iteration {done + 1:4d}" in output
    assert find_network(mine).settings.channels == 8
    assert "learning_rate: 0.004" in (mine / "config-1.yaml").read_text()


def test_a_request_to_terminate_ends_with_its_own_status(tmp_path: Path) -> None:
    process = start(tmp_path, *TINY, "run=mine", "iterations=null", "minutes=null")
    wait_for(tmp_path / "mine" / "iteration-000001", process)
    process.terminate()
    assert "is saved" in finished(process, 143)


def test_a_run_that_is_killed_again_and_again_ends_with_the_bytes_of_one_that_is_not(tmp_path: Path) -> None:
    finished(start(tmp_path, *TINY, "run=straight", "iterations=6", "minutes=null"), 0)
    generator = np.random.default_rng(0)
    mine, words = tmp_path / "killed", [*TINY, "run=killed", "iterations=6", "minutes=null"]
    for _ in range(4):
        process = start(tmp_path, *words)
        wait_for(mine / ".lock", process)
        words = ["resume=killed"]
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=generator.uniform(1.0, 4.0))
        process.kill()
        process.communicate()
    finished(start(tmp_path, *words), 0)
    assert contents(mine, 6) == contents(tmp_path / "straight", 6)


def test_a_run_is_resumed_from_a_directory_of_any_name_as_its_last_words_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "mine (2), lr=[0.1] 'b'"
    train_command.main([*TINY, f"run={run}", "iterations=1", "minutes=null", "learner.learning_rate=0.002"])
    monkeypatch.setattr(Trainer, "run", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(SystemExit):
        train_command.main(train_command._with_saved_settings([f"resume={run}"]))
    monkeypatch.undo()
    said = capsys.readouterr().err
    [word] = shlex.split(said.rpartition("Go on with ")[2])
    train_command.main(train_command._with_saved_settings([word, "iterations=2"]))
    assert find_network(run).iteration == 2
    assert "Changed: iterations: 1 -> 2" in capsys.readouterr().err
    assert "learning_rate: 0.002" in (run / "config.yaml").read_text()


def test_a_run_that_ended_by_the_clock_does_not_go_on_unless_it_is_given_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks, quiet = itertools.count(0.0), ("matches.games=0", "matches.positions=0")
    monkeypatch.setattr("azero.learning.trainer.time", SimpleNamespace(monotonic=lambda: next(ticks)))
    first = train(tmp_path, None, *quiet, iterations=None, minutes=1.08)
    assert 0 < first.counters["seconds"] < 60 * 1.08
    assert train(tmp_path, None, *quiet, iterations=None, minutes=1.08).iteration == first.iteration
    more = train(tmp_path, None, *quiet, iterations=first.iteration + 1, minutes=2)
    assert more.iteration == first.iteration + 1


def test_settings_that_a_run_refuses_do_not_stay_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    train_command.main([*TINY, "run=mine", "iterations=0"])
    before = (tmp_path / "mine" / "config.yaml").read_text()
    for words in (["network.channels=16"], ["game=connect4"]):
        with pytest.raises(SystemExit):
            train_command.main(train_command._with_saved_settings(["resume=mine", *words]))
        assert (tmp_path / "mine" / "config.yaml").read_text() == before
    train_command.main(train_command._with_saved_settings(["resume=mine", "iterations=1"]))
    assert find_network(tmp_path / "mine").iteration == 1


@pytest.mark.filterwarnings("ignore:.* holds no settings")
@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        (lambda text: text.replace("seed: 0", "seed: 8"), ["Changed: seed: 0 -> 8"]),
        (lambda text: text[:300], []),
        (lambda text: "", []),
        (lambda text: "{" + text, []),
        (lambda text: "\xff" + text, []),
    ],
)
def test_settings_that_were_damaged_or_edited_are_told_or_taken_from_the_checkpoint(
    tmp_path: Path, damaged: Any, said: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    train_command.main([*TINY, "run=mine", "iterations=0", "minutes=null"])
    config = tmp_path / "mine" / "config.yaml"
    whole = config.read_text()
    config.write_bytes(damaged(whole).encode("latin-1"))
    capsys.readouterr()
    train_command.main(train_command._with_saved_settings(["resume=mine"]))
    assert [line for line in capsys.readouterr().err.splitlines() if line.startswith("Changed")] == said
    if not said:
        assert without_place(config.read_text()) == without_place(whole)


def without_place(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(("run:", "resume:"))]


def test_a_run_that_is_resumed_can_go_on_with_another_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    train_command.main([*TINY, "run=mine", "iterations=0"])
    first = Path("mine/config.yaml").read_text()
    train_command.main(train_command._with_saved_settings(["resume=mine", "search=gumbel", "selfplay.temperature=0.5"]))
    said = capsys.readouterr().err
    for change in (
        "search.rule: puct -> gumbel",
        "selfplay.noise.weight: 0.25 -> 0",
        "selfplay.temperature: 1.0 -> 0.5",
    ):
        assert f"Changed: {change}" in said
    train_command.main(train_command._with_saved_settings(["resume=mine", "search=puct"]))
    assert without_place(Path("mine/config.yaml").read_text()) == without_place(first)  # all that came with Gumbel goes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run=mine", *TINY], "not empty"),
        (["resume=mine", "network.channels=16"], "network cannot change"),
        (["resume=mine", "game=connect4"], "connect4"),
        (["resume=nowhere"], "no run"),
        (["game=tictactoe", "selfplay.simulatons=3"], "selfplay.simulations"),
    ],
)
def test_what_a_run_cannot_be_is_said_in_one_line(
    tmp_path: Path, words: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    train_command.main([*TINY, "run=mine", "iterations=0"])
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        train_command.main(train_command._with_saved_settings(words))
    assert stop.value.code == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("azero.train: error: ")
    assert message in error


@pytest.mark.parametrize(
    ("game", "name"),
    [("othello(size=6)", "othello-size-6"), ("openspiel:hex", "openspiel-hex"), ("/my/heap.py:Heap", "heap-Heap")],
)
def test_a_run_s_own_directory_needs_no_quotes_in_a_shell(
    tmp_path: Path, game: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    directory = train_command._run_directory(train_command.TrainSettings(game=game))
    assert directory.is_dir()
    assert re.fullmatch(rf"{name}-\d{{8}}-\d{{6}}", directory.name)
