import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from azero import tune
from azero.players.tuning import Race, run_race

RACE = ["game=tictactoe", "uct:60,c={1,0}", "random", "default=uct:5", "num_games=600", "first_openings=5"]
RACE += ["confirm_games=20", "num_workers=1", "run=race"]


@pytest.fixture(autouse=True)
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_games_without_a_result_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    tune.main(["game=tictactoe", "uct:5,c={1,2}", "num_games=40", "confirm_games=4", "num_workers=1", "max_moves=4"])
    said = capsys.readouterr().out
    assert re.search(r"^ \d+ games were cut short; here they count as drawn$", said, re.M)
    assert "in 4 new games, " in said
    assert " of them distinct, 4 cut short, which do not count: not shown to differ\n" in said


@pytest.mark.compiled
def test_candidates_race_and_the_best_is_measured_by_new_games(capsys: pytest.CaptureFixture[str]) -> None:
    tune.main(RACE)
    said = capsys.readouterr().out
    assert "tictactoe: 3 candidates, each against uct:5\n" in said
    rows = re.findall(r"^ (\S+) +(\d+)  (0\.\d{3}) \[0\.\d{3}, [01]\.\d{3}\]( .*)?$", said, re.MULTILINE)
    openings = {name: int(number) for name, number, _, _ in rows}
    scores = {name: float(score) for name, _, score, _ in rows}
    assert openings.keys() == {"uct:60,c=1", "uct:60,c=0", "random"}
    assert scores["random"] == min(scores.values())
    assert openings["random"] < openings["uct:60,c=1"]
    assert re.search(r"^ random .* out *$", said, re.MULTILINE)
    assert "the best of all is not out, with 95% confidence" in said
    assert re.search(r"^uct:60,c=[01] against uct:5, in 20 new games, \d+ of them distinct: ", said, re.MULTILINE)
    won, drawn, lost = map(int, re.findall(r"^ (\d+) won, (\d+) drawn, (\d+) lost: score ", said, re.MULTILINE)[0])
    assert won + drawn + lost == 20
    assert re.search(r"^ uct:5: \d+ simulations and \d+\.\d\d ms a move$", said, re.MULTILINE)
    assert f"The games are in {Path('race').absolute()}\n" in said
    games = Path("race/games.txt").read_text()
    assert games.count("[game ") == 2 * sum(openings.values()) + 20
    tune.main(RACE)
    times = r"\d+\.\d+ ms"  # are written rounded
    assert re.sub(times, "", capsys.readouterr().out) == re.sub(times, "", said)
    assert Path("race/games.txt").read_text() == games


@pytest.mark.compiled
def test_the_default_may_be_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["random", "uct:50", "default=uct:50", "opponents=[flat:9]", "num_games=200", "num_workers=1"]
    tune.main(["game=tictactoe", *words])
    said = capsys.readouterr().out
    assert "2 candidates, each against uct:50, flat:9\n" in said
    assert "The best is the default itself, uct:50\n" in said
    assert Path("checkpoints/tune/tictactoe/games.txt").exists()


@pytest.mark.compiled
def test_an_interrupt_shows_the_race_so_far(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*arguments: Any) -> Iterator[Race]:
        yield from islice(run_race(*arguments), 2)  # its start, and the first round
        raise KeyboardInterrupt

    monkeypatch.setattr(tune, "run_race", interrupted)
    with pytest.raises(SystemExit) as end:
        tune.main(RACE)
    said = capsys.readouterr().out
    assert end.value.code == 130
    assert len(re.findall(r"^ \S+ +5  0\.\d{3} \[", said, re.MULTILINE)) == 3
    assert "The games are in " in said
    assert "new games" not in said


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("uct:10", "name two candidates or more, as in: python -m azero.tune"),
        ("uct:{1,2}", "default=PLAYER"),
        ("uct:9,c={1,x}", "c must be a number"),
        ("uct:9,rave={1,2},grave=5", "grave needs rave, the equivalence parameter; an example is uct:1000; it is the"),
        ("uct:9,c={1,2} default=human", "azero.play"),
        ("uct:9,c={1,2} confirm_games=7", "confirm_games must be even"),
        ("uct:9,c={1,2} error=2", "error must be a probability"),
        ("uct:9,c={1,2} num_workers=0", "num_workers must be at least 1"),
        ("uct:9,c={1,2} num_games=3", "one opening of all candidates takes 4 games"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        tune.main(["game=tictactoe", *arguments.split()])
    said = capsys.readouterr().err
    assert end.value.code == 2
    assert said.startswith("azero.tune: error: ")
    assert said.count("\n") == 1
    assert complaint in said
