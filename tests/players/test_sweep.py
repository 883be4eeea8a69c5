import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from azero import sweep
from azero.config import compose_settings
from azero.games.tictactoe import TicTacToe
from azero.players.plots import draw_sweep
from azero.players.points import Template, measured
from azero.players.rating import Score
from azero.players.record import GameRecord, Spent, read_records
from azero.players.spec import parse_player
from azero.resources import resource_directory
from azero.sweep import SweepSettings
from tests.evaluators.networks import random_network

ROOT = Path(__file__).parents[2]
SWEEPS = sorted(path.stem for path in (resource_directory("configs") / "sweep").glob("*.yaml"))
QUICK = ["game=tictactoe", "num_games=10", "num_workers=1"]


@pytest.fixture(autouse=True)
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def game(index: int, points: float, seconds: float = 0.5) -> GameRecord:
    """A game between two players, "a" being the match's first."""
    names = ("a", "b") if index % 2 == 0 else ("b", "a")
    spent = (Spent(5, 50, seconds), Spent(4, 0, 0.001))
    return GameRecord("tictactoe", index, names, 0, (index,), points, "over", spent if index % 2 == 0 else spent[::-1])


def test_the_parameter_goes_where_the_template_has_a_place() -> None:
    assert Template("uct:{},rollouts={}", "uct:{}").pair("8") == ("uct:8,rollouts=8", "uct:8")
    assert Template("uct:{}", "self").pair("8") == ("uct:8", "uct:8")
    assert Template("random", "uct:9").pair("8") == ("random", "uct:9")
    constant = [Template(*pair).is_constant for pair in (("random", "uct:9"), ("random", "uct:{}"), ("uct:{}", "self"))]
    assert constant == [True, False, False]


def test_a_point_tells_the_seats_apart() -> None:
    point = measured(Template("a", "b"), "", [game(0, 1), game(1, 1), game(2, 0.5), game(3, 0)])
    assert (point.as_first, point.as_second, point.score) == (Score(1, 1, 0), Score(1, 0, 1), Score(2, 1, 1))
    assert (point.player, point.num_distinct, point.num_forfeits) == ("a", 4, 0)
    assert (point.spent, point.opponent_spent) == (Spent(20, 200, 2), Spent(16, 0, 0.004))


def test_against_itself_a_player_has_the_first_seat_in_every_game() -> None:
    point = measured(Template("a", "self"), "", [game(0, 1), game(1, 1), game(2, 0.5), game(3, 0)])
    assert point.as_first == point.score == Score(2, 1, 1)
    assert point.as_second == Score(1, 1, 2)
    assert point.spent == Spent(36, 200, 2.004)


def test_a_player_against_its_like_has_each_seat_in_half_of_the_games() -> None:
    point = measured(Template("a", "a"), "", [game(0, 1), game(1, 1), game(2, 0.5), game(3, 0)])
    assert (point.as_first, point.as_second, point.score) == (Score(1, 1, 0), Score(1, 0, 1), Score(2, 1, 1))


def test_games_without_a_result_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    sweep.main([*QUICK, "uct:{}", "values=[5]", "opponents=[random,self]", "max_moves=4"])
    said = capsys.readouterr().out
    assert said.count(" uct:5: 10 games more were cut short; they do not count\n") == 2
    assert said.count(" - ") == 4


def test_games_that_a_player_plays_twice_against_itself_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    sweep.main([*QUICK, "uct:{}", "values=[5]", "opponents=[self]", "num_opening_moves=8"])  # one move is left
    assert " uct:5: only 5 different games among 10\n" in capsys.readouterr().out


def test_a_sweep_that_has_all_its_games_is_refused_if_the_network_is_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "weights.safetensors"
    words = [*QUICK, "uct:{}", "values=[5]", f"opponents=['network:{path}']", "num_opening_moves=1"]
    path.write_bytes(random_network(TicTacToe(), seed=1).to_bytes())
    sweep.main(words)
    capsys.readouterr()
    path.write_bytes(random_network(TicTacToe(), seed=2).to_bytes())
    with pytest.raises(SystemExit, match="2"):
        sweep.main(words)
    said = capsys.readouterr()
    assert "is not the one of its games in" in said.err
    assert said.out == ""


def test_time_and_speed_are_means_and_0_where_there_is_nothing_to_count() -> None:
    spent = Spent(20, 200, 2)
    assert (spent.seconds_per_move, spent.simulations_per_move, spent.simulations_per_second) == (0.1, 10, 100)
    assert (Spent().seconds_per_move, Spent().simulations_per_move, Spent(3, 0, 0.0).simulations_per_second) == (
        0,
        0,
        0,
    )


def test_a_sweep_measures_each_value_against_each_opponent(capsys: pytest.CaptureFixture[str]) -> None:
    sweep.main([*QUICK, "random", "uct:{}", "values=[5,50]", "opponents=[random,self,'uct:{},c=2']", "name=mine"])
    said = capsys.readouterr().out
    assert re.findall(r"^against ([^,]+(?:,c=2)?), tictactoe", said, re.M) == ["random", "itself", "uct:{},c=2"]
    rows = re.findall(r"^ (\S+) +\d+/\d+/\d+ +\d+/\d+/\d+ +\d\.\d+ \[.*?\] +10 +[\d.]+ +[\d,]+ +[\d.]+ $", said, re.M)
    assert rows == ["random", "uct:5", "uct:50"] * 2 + ["random", "random", "uct:5", "uct:50"]
    assert re.search(r"^ uct:50 against itself: (\d|10|none) of 10 games decisive$", said, re.M)
    directory = Path("checkpoints/sweep/tictactoe-mine").absolute()
    assert f"are in {directory}\n" in said
    assert {path.name for path in directory.iterdir()} == {
        ".lock", "games.txt", "picture.png", "settings.json", "table.md",
    }  # fmt: skip
    assert len(read_records(directory / "games.txt", TicTacToe())) == 90  # one match is asked for in two ways
    table = (directory / "table.md").read_text().splitlines()
    assert {line.count("|") for line in table} == {12}
    assert [line.split(" | ")[0] for line in table[2:]] == ["| random", "| uct:5", "| uct:50", "| random"]


def test_the_same_command_goes_on_to_the_same_results(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*QUICK, "uct:{}", "opponents=[random]"]
    sweep.main([*words, "values=[5]", "run=one"])
    games = Path("one/games.txt").read_text()
    tables = []
    for run in ("one", "one", "another"):
        capsys.readouterr()
        sweep.main([*words, "values=[5,9]", f"run={run}"])
        rows = capsys.readouterr().out.splitlines()[2:4]
        tables.append([row.split()[:-3] for row in rows])  # all but the times
    assert Path("one/games.txt").read_text().startswith(games)
    assert [row[0] for row in tables[0]] == ["uct:5", "uct:9"]
    assert tables[0] == tables[1] == tables[2]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("random values=[1]", "name a player with {}"),
        ("uct:{} values=[]", "values must not be empty"),
        ("uct:{} values=[10,x]", "player 'uct:x': "),
        ("uct:{} values=[10] opponents=[utc:10]", "did you mean 'uct'?"),
        ("uct:{} values=[10] opponents=[human]", "azero.play"),
        ("uct:{} values=[10] opponents=[random,azero:nosuch@10]", "nosuch does not exist"),
        ("uct:{} values=[10] name=../up", "name must be of letters, digits, dots and dashes, not '../up'"),
        ("uct:{} values=[10] num_games=100000000", "num_games must be at most 1000000"),
        ("uct:{} values=[10] sweep=simulation", "did you mean 'simulations'?"),
        ("uct:{} values=[10] run=there seed=2", "seed=1, not 2: name another directory"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    sweep.main([*QUICK, "uct:{}", "values=[1]", "opponents=[random]", "run=there", "seed=1"])
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        sweep.main([*QUICK, *arguments.split()])
    said = capsys.readouterr()
    assert end.value.code == 2
    assert said.err.startswith("azero.sweep: error: ")
    assert said.err.count("\n") == 1
    assert complaint in said.err
    assert said.out == ""


@pytest.mark.compiled
def test_an_interrupt_shows_what_was_played_and_leaves_no_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "azero.sweep", "uct:{}", "values=[100,1000]", "num_games=5000", f"run={tmp_path}"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)
    path = tmp_path / "games.txt"
    while process.poll() is None and not (path.exists() and path.stat().st_size):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)  # the pipes close when the last process has ended
    assert process.returncode == 130, err
    assert re.search(r"^ uct:100 ", out, re.M)
    assert f"are in {tmp_path}\n" in out
    assert err.endswith("azero.sweep: interrupted\n")
    assert "Traceback" not in err


@pytest.mark.parametrize("name", SWEEPS)
def test_every_sweep_that_is_there_names_players_and_itself(name: str) -> None:
    settings = compose_settings(SweepSettings, "sweep", [f"sweep={name}"])
    assert settings.name == name
    assert settings.parameter != SweepSettings.parameter
    for opponent in settings.opponents:
        for template, value in settings.matches(opponent):
            for player in template.pair(value):
                parse_player(player)


@pytest.mark.parametrize("values", [("1", "10", "100"), ("0", "0.5"), ("random", "heuristic"), ("7",)])
@pytest.mark.parametrize("num_games", [1, 3])
def test_a_picture_is_drawn_of_numbers_and_of_words(tmp_path: Path, values: tuple[str, ...], num_games: int) -> None:
    records = [game(0, 1), game(1, 0.5), game(2, 0.5)][:num_games]
    path = tmp_path / "picture.png"
    drawn = [
        measured(Template(player, opponent), value, records)
        for player in ("a:{}", "b:{}", "random")
        for opponent in ("random", "self")
        for value in (values[:1] if player == "random" else values)
    ]
    draw_sweep(path, drawn, "title", "parameter", ("X", "O"))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 20_000


def test_a_picture_is_the_same_in_whatever_order_the_values_are_given(tmp_path: Path) -> None:
    pictures = []
    for values in (("1", "4", "2"), ("1", "2", "4")):
        drawn = [measured(Template("a:{}", "b"), value, [game(0, float(value == "2"))]) for value in values]
        draw_sweep(tmp_path / "picture.png", drawn, "title", "parameter", ("X", "O"))
        pictures.append((tmp_path / "picture.png").read_bytes())
    assert pictures[0] == pictures[1]
