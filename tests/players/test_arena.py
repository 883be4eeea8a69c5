import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from azero import arena
from azero.evaluators.weights import WEIGHTS_FILE
from azero.games.game import Game
from azero.games.hex import Hex
from azero.games.tictactoe import TicTacToe
from azero.players.record import read_records
from tests.evaluators.networks import random_network

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_two_players_are_compared_and_their_games_kept(capsys: pytest.CaptureFixture[str]) -> None:
    arena.main(["game=tictactoe", "uct:30,rollout=heuristic", "random", "num_games=20"])
    said = capsys.readouterr().out
    assert "uct:30,rollout=heuristic against random, tictactoe, 20 games" in said
    rows = {name: re.search(rf"^ {name} +(\d+) +(\d+) +(\d+) +(0|1)\.\d+ \[.*\]", said, re.M) for name in ROWS}
    counts = {name: [int(number) for number in row.groups()[:3]] for name, row in rows.items() if row}
    assert [sum(counts[name]) for name in ROWS] == [10, 10, 20]
    assert counts["together"][0] >= 15
    assert re.search(r"^ uct:30,rollout=heuristic +\d+ +\d+\.\d +0", said, re.M)
    assert re.search(r"^ random +0 +\d+\.\d +0", said, re.M)
    assert re.search(r"distinct games: \d+ of 20", said)
    assert "all games together" not in said
    [path] = Path("checkpoints/arena").iterdir()
    assert f"The games are in {path.absolute()}\n" in said
    assert len(read_records(path, TicTacToe())) == 20


def test_the_file_of_the_games_needs_no_quotes_in_a_shell() -> None:
    arena.main(["game=nim(heaps=2)", "random", "random", "num_games=2"])
    [path] = Path("checkpoints/arena").iterdir()
    assert re.fullmatch(r"nim-heaps-2-\d{8}-\d{6}\.txt", path.name)


ROWS = ["as X", "as O", "together"]


def test_more_than_two_players_are_rated_together(capsys: pytest.CaptureFixture[str]) -> None:
    arena.main(["game=tictactoe", "flat:60", "random", "flat:9", "num_games=10", "record=games.txt"])
    said = capsys.readouterr().out
    assert said.count(" against ") == 3
    ratings = said.partition("all games together")[2]
    assert re.search(r"flat:60 +[\d.]+ +0 \(anchor\)", ratings)
    assert ratings.count("±") == 2
    assert len(read_records(Path("games.txt"), TicTacToe())) == 30


def test_forfeits_cut_and_repeated_games_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    arena.main(["game=tictactoe", "random", "random", "num_games=4", "max_move_seconds=0.000000001"])
    said = capsys.readouterr().out
    assert re.search(r"^ random +0 +0\.0 +2 *\n random +0 +0\.0 +2 *\n", said, re.M)
    assert "game 0: forfeit by X: thought for " in said
    arena.main(["game=tictactoe", "random", "random", "num_games=10", "max_moves=2"])
    said = capsys.readouterr().out
    assert "cut short, without a result and not in the score: 10" in said
    assert "no games" in said
    arena.main(["game=tictactoe", "random", "random", "num_games=10", "max_moves=1", "num_opening_moves=1"])
    assert "distinct games: 5 of 10" in capsys.readouterr().out
    arena.main(["game=tictactoe", "random", "random", "num_games=40", "max_moves=1", "num_opening_moves=0"])
    assert "the intervals are too narrow" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("uct:10", "name two players or more, as in: python -m azero.arena"),
        ("uct:10 utc:10", "did you mean 'uct'?"),
        ("uct:10 uct:-3", "whole number from 1"),
        ("uct:10 human", "azero.play"),
        ("uct:10 random num_games=0", "num_games must be at least 1"),
        ("uct:10 random nun_games=5", "did you mean 'num_games'?"),
        ("uct:10 random game=tictactoo", "did you mean 'tictactoe'?"),
        ("random random record=there.txt", "there.txt"),
        ("random random sprt=[20,0]", "sprt=[0,20] takes Elo differences, the smaller first; got [20,0]"),
        ("random random sprt=[20]", "two Elo differences, is for a match of two players"),
        ("random random uct:5 sprt=[0,20]", "is for a match of two players"),
        ("random uct:5 uct:6 anchor=uct:7", "anchor=uct:7 must be one of the players: random, uct:5, uct:6"),
        ("ladder=empty", "empty has no checkpoint that has learned anything"),
        ("ladder=empty ladder_simulations=0", "ladder_simulations must be at least 1, got 0"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("there.txt").touch()
    Path("empty").mkdir()
    with pytest.raises(SystemExit) as end:
        arena.main(["game=tictactoe", *arguments.split()])
    said = capsys.readouterr()
    assert end.value.code == 2
    assert said.err.startswith("azero.arena: error: ")
    assert said.err.count("\n") == 1
    assert complaint in said.err
    assert said.out == ""


def test_a_match_ends_as_soon_as_its_test_is_sure(capsys: pytest.CaptureFixture[str]) -> None:
    arena.main(["game=tictactoe", "uct:50", "random", "num_games=2000", "sprt=[0,200]", "record=games.txt"])
    said = " ".join(capsys.readouterr().out.split())
    found = re.search(
        r"SPRT of \+0 against \+200 Elo: \+200 is accepted after (\d+) pairs; .* ratio (\S+) of ±2.94;", said
    )
    assert found
    assert 3 <= int(found[1]) < 100
    assert float(found[2]) >= 2.94
    assert len(read_records(Path("games.txt"), TicTacToe())) == 2 * int(found[1])
    arena.main(["game=tictactoe", "random", "random", "num_games=8", "sprt=[-5,5]"])
    assert "undecided after 4 pairs" in capsys.readouterr().out


def run_of(game: Game[Any], *iterations: int) -> None:
    """Write checkpoints into the directory `run`."""
    for iteration in iterations:
        directory = Path("run") / f"iteration-{iteration:06d}"
        directory.mkdir(parents=True)
        network = random_network(game, seed=iteration, iteration=iteration)
        (directory / WEIGHTS_FILE).write_bytes(network.to_bytes())


def test_a_ladder_rates_the_checkpoints_of_a_run_beside_players_that_never_change(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_of(TicTacToe(), 0, 2, 10)
    arena.main(["game=tictactoe", "ladder=run", "ladder_simulations=5", "num_games=2", "random"])
    said = capsys.readouterr().out
    assert said.count(" against ") == 21
    ratings = [line.split() for line in said.partition("all games together")[2].splitlines()[2:9]]
    assert {row[0] for row in ratings} == {
        "random", "uct:100", "uct:1000", "uct:10000", "perfect",
        "azero:run/iteration-000002@5", "azero:run/iteration-000010@5",
    }  # fmt: skip
    assert [row[2:4] for row in ratings if row[0] == "uct:100"] == [["0", "(anchor)"]]


def test_the_perfect_player_stays_away_from_ladders_of_games_that_it_would_search_for_ever() -> None:
    run_of(Hex(), 1)
    players = arena.ArenaSettings(ladder="run").all_players(Hex())
    assert players == ("azero:run/iteration-000001@100", "uct:100", "uct:1000", "uct:10000")


def test_an_interrupt_shows_what_was_played_and_ends_with_one_line(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    command = [sys.executable, "-m", "azero.arena", "random", "uct:100", "num_games=5000", f"record={path}"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)
    while process.poll() is None and not (path.exists() and path.stat().st_size):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "random against uct:100, connect4" in out
    assert f"The games are in {path}" in out
    assert err.endswith("azero.arena: interrupted\n")
    assert "Traceback" not in err
