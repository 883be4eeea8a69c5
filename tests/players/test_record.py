import pickle
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from azero.games.connect4 import Connect4
from azero.games.othello import Othello
from azero.games.tictactoe import TicTacToe
from azero.players.match import MatchSettings, play_match
from azero.players.record import GameRecord, Spent, add_record, read_records, record_text, write_records
from azero.players.spec import parse_player

TTT = TicTacToe()
WON = GameRecord(
    "tictactoe", 3, ("uct:20,c=1.0", "random"), 2, (0, 3, 1, 4, 2), 1.0, "X wins", (Spent(2, 40), Spent(1, 0))
)
TEXT = """\
[game "tictactoe"]
[index "3"]
[first "uct:20,c=1.0"]
[second "random"]
[opening "2"]
[moves "2 1"]
[simulations "40 0"]
[result "1-0"]
[ending "X wins"]

0 3 1 4 2
"""


class Worded(TicTacToe):
    """Tic-tac-toe whose actions are several words."""

    def action_text(self, action: int) -> str:
        return f"cell {action + 1} of 9"


def read(tmp_path: Path, text: str | bytes, game: Any = TTT) -> list[GameRecord]:
    path = tmp_path / "games.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_records(path, game)


def test_a_record_is_text_that_a_person_can_read(tmp_path: Path) -> None:
    assert record_text(TTT, WON) == TEXT
    assert read(tmp_path, TEXT) == [WON]
    assert read(tmp_path, "") == []


def test_times_are_written_where_they_are_asked_for(tmp_path: Path) -> None:
    timed = replace(WON, spent=(Spent(2, 40, 0.3124054), Spent(1, 0, 0.0295)))
    text = TEXT.replace('[ending "X wins"]', '[ending "X wins"]\n[seconds "0.312405 0.029500"]')
    assert record_text(TTT, timed) == TEXT
    assert record_text(TTT, timed, clock=True) == text
    assert [spent.seconds for record in read(tmp_path, f"{text}\n{TEXT}") for spent in record.spent] == [
        0.312405, 0.0295, 0, 0,
    ]  # fmt: skip


@pytest.mark.parametrize("game", [Connect4(), Worded()])
def test_a_match_reads_back_as_it_was_played(tmp_path: Path, game: Any) -> None:
    specs = [parse_player(text) for text in ("flat:9", "random")]
    makers = [partial(spec.make, game) for spec in specs]
    path = tmp_path / "new" / "games.txt"
    write_records(path, game, played := list(play_match(game, makers, MatchSettings(num_games=6))))
    records = read_records(path, game)
    assert [record_text(game, record) for record in records] == [record_text(game, record) for record in played]
    assert [record.actions for record in records] == [record.actions for record in played]


def test_long_games_are_broken_into_lines(tmp_path: Path) -> None:
    drawn = GameRecord("tictactoe", 0, ("a", "b"), 0, (0, 1, 2, 4, 3, 5, 7, 6, 8), 0.5, "draw")
    path = tmp_path / "games.txt"
    write_records(path, Worded(), [drawn])
    assert [len(line) for line in path.read_text().splitlines()[-3:]] == [95, 11, 0]
    assert read_records(path, Worded()) == [drawn]


def test_cut_and_forfeited_games_read_back(tmp_path: Path) -> None:
    cut = GameRecord("tictactoe", 0, ("a", "b"), 0, (4,), None, "cut short after 1 moves")
    forfeit = GameRecord("tictactoe", 1, ("b", "a"), 0, (4,), 1.0, "forfeit by O: ValueError: no idea")
    path = tmp_path / "games.txt"
    write_records(path, TTT, [cut, forfeit])
    assert read_records(path, TTT) == [cut, forfeit]
    assert (cut.forfeited_by, forfeit.forfeited_by) == (None, 1)


def test_names_and_errors_of_any_kind_stay_on_their_line(tmp_path: Path) -> None:
    odd = GameRecord(
        "tictactoe", 1, ('a "b"]', "\ud800\u2028c\n[game"), 0, (4,), 1.0, "forfeit by O: E: two\nlines\x85"
    )
    path = tmp_path / "games.txt"
    write_records(path, TTT, [odd])
    [record] = read_records(path, TTT)
    assert record.players == ('a "b"]', "\\ud800 c [game")
    assert record.ending == "forfeit by O: E: two lines"


def test_games_are_added_to_a_file_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "games.txt"
    for index in range(3):
        add_record(path, TTT, replace(WON, index=index))
    assert [record.index for record in read_records(path, TTT)] == [0, 1, 2]
    assert path.read_text() == "\n".join(TEXT.replace('"3"', f'"{index}"') for index in range(3)) + "\n"


def test_the_moves_of_a_record_may_run_together_and_leave_out_passes(tmp_path: Path) -> None:
    assert read(tmp_path, TEXT.replace("0 3 1 4 2", "03142")) == [WON]
    game = Othello(4)
    makers = [partial(parse_player("random").make, game)] * 2
    records = [
        record
        for record in play_match(game, makers, MatchSettings(num_games=20))
        if " pass " in record_text(game, record)
    ]
    assert records
    for record in records:
        [again] = read(tmp_path, record_text(game, record).replace(" pass ", " "), game)
        assert again.actions == record.actions


def test_a_file_may_have_nothing_but_moves_a_game_on_each_line(tmp_path: Path) -> None:
    finished, going_on = read(tmp_path, "03142\n\n0 4\n")
    assert finished == GameRecord("tictactoe", 0, ("?", "?"), 0, (0, 3, 1, 4, 2), 1.0, "X wins")
    assert going_on == GameRecord("tictactoe", 1, ("?", "?"), 0, (0, 4), None, "not finished")
    [record] = read(tmp_path, "f5d6c3d3c4\n", Othello())
    assert record_text(Othello(), record).endswith("\n\nf5 d6 c3 d3 c4\n")
    with pytest.raises(ValueError, match=r"games\.txt, line 2: tictactoe: 0 is not legal here"):
        read(tmp_path, "03142\n00\n")


def test_an_old_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_text("precious")
    with pytest.raises(FileExistsError):
        write_records(path, TTT, [WON])
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("0 3 1 4 2", "0 3 1 4 0", "legal"),
        ("0 3 1 4 2", "0 3 1 4 x", "'x' is no action of tictactoe"),
        ("0 3 1 4 2", "0 3 1 4", "not over"),
        ("0 3 1 4 2", "0 3 1 4 2 5", "legal"),
        ('"1-0"', '"0-1"', "the result is 1-0, not 0-1"),
        ('"1-0"', '"2-0"', "the result must be one of 1-0, 0-1, 1/2-1/2, *"),
        ('[opening "2"]', '[opening "9"]', "an opening of 9 in a game of 5"),
        ('[opening "2"]', '[opening "-2"]', "opening must be 1 whole number, not '-2'"),
        ('[moves "2 1"]', '[moves "2"]', "moves must be 2 whole numbers"),
        ('[index "3"]\n', "", "the headers must be game, index, first"),
        ('[index "3"]', "[index 3]", "the headers must be"),
        ('[index "3"]', '[index "3"]\n[index "3"]', "the headers must be"),
        ('wins"]', 'wins"]\n\n[seconds "1 1"]', "the headers must be"),
        ('wins"]', 'wins"]\n[seconds "1"]', "seconds must be two times like 0.25, not '1'"),
        ('wins"]', 'wins"]\n[seconds "1 -1"]', "seconds must be two times like 0.25, not '1 -1'"),
        ('[game "tictactoe"]', '[game "connect4"]', "a game of connect4, not of tictactoe"),
    ],
)
def test_a_wrong_record_is_refused_with_its_place(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in TEXT
    with pytest.raises(ValueError, match=re.escape(complaint)) as refusal:
        read(tmp_path, f"{TEXT}\n{TEXT.replace(old, new)}")
    assert "games.txt, the game at line 13: " in str(refusal.value)


def test_a_record_of_another_game_is_refused_by_both_names(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a game of tictactoe, not of connect4"):
        read(tmp_path, TEXT.replace("0 3 1 4 2", "8 7"), Connect4())


def test_what_is_no_record_is_refused_and_runs_no_code(tmp_path: Path) -> None:
    marker = tmp_path / "marker"

    class Trap:
        def __reduce__(self) -> Any:
            return Path.touch, (marker,)

    for content in (pickle.dumps(Trap()), b"\xff\xfe\x00", b"hello\n", b"0 3 1\n" + TEXT.encode()):
        with pytest.raises(ValueError, match=r"games\.txt"):
            read(tmp_path, content)
    assert not marker.exists()
