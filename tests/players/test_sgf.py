"""SGF: what is written reads back, and files as other programs write them are understood."""

import random
from pathlib import Path
from typing import Any

import pytest

from azero import arena, play
from azero.games import load_game
from azero.games.game import Game, result_text, state_after
from azero.games.moves import moves_text
from azero.players.record import GameRecord, add_record, points_of_first, read_records, write_records

GAMES = (
    "gomoku", "mnk(rows=4,columns=7,line=4)", "hex(size=5)", "hex(size=5,swap=yes)", "othello", "othello6",
)  # fmt: skip


def random_record(game: Game[Any], index: int, rng: random.Random) -> GameRecord:
    """A game of random actions, swapped as often as not where that is allowed; every fifth is left unfinished."""
    state, actions = game.initial_state(), list[int]()
    while not game.is_terminal(state) and (index % 5 or len(actions) < 7):
        legal = game.legal_actions(state)
        is_swap = game.action_text(legal[-1]) == "swap" and rng.random() < 0.5
        actions.append(legal[-1] if is_swap else rng.choice(legal))
        state = game.step(state, actions[-1])
    over = game.is_terminal(state)
    points, ending = (points_of_first(game, state), result_text(game, state)) if over else (None, "not finished")
    return GameRecord(game.name, index, (f"uct:{index},c=1", r"a[b]\c: 五"), 0, tuple(actions), points, ending)


def read(tmp_path: Path, text: str, name: str) -> list[GameRecord]:
    path = tmp_path / "games.sgf"
    path.write_text(text, encoding="utf-8")
    return read_records(path, load_game(name))


@pytest.mark.parametrize("name", GAMES)
def test_random_games_read_back_as_they_were(name: str, tmp_path: Path) -> None:
    game, path, rng = load_game(name), tmp_path / "games.SGF", random.Random(4)
    records = [random_record(game, index, rng) for index in range(20)]
    write_records(path, game, records[:18])
    for record in records[18:]:
        add_record(path, game, record)
    assert read_records(path, game) == records
    assert len({record.points for record in records}) >= 3
    text = path.read_text(encoding="utf-8")
    assert ("swap-pieces" in text) == ("swap" in name)
    assert ("[];" in text) == ("othello" in name)  # a pass


def test_games_look_as_their_players_write_them(tmp_path: Path) -> None:
    def written(name: str, *words: str, points: float | None = None, ending: str = "not finished") -> str:
        game, path = load_game(name), tmp_path / f"{len(words)}{name}.sgf"
        actions = tuple(map(game.parse_action, words))
        write_records(path, game, [GameRecord(name, 0, ("me", "you]"), 0, actions, points, ending)])
        assert state_after(game, actions)
        return path.read_text()

    assert written("gomoku", "h8", "i9", "a1") == (
        "(;FF[4]GM[4]CA[UTF-8]SZ[15]PB[me]PW[you\\]]RE[?]\n;B[hh];W[ig];B[ao])\n\n"
    )
    assert "GM[4]CA[UTF-8]SZ[7:4]" in written("mnk(rows=4,columns=7,line=4)")
    assert ";B[d3];W[c5])" in written("othello", "d3", "c5")
    assert "GM[11]CA[UTF-8]SZ[11]" in written("hex(swap=yes)", "a10")
    assert ";B[a10];W[swap-pieces];B[k1])" in written("hex(swap=yes)", "a10", "swap", "k1")
    assert "RE[W+F]" in written("hex", "a10", points=0.0, ending="forfeit by X: 3 seconds too late")


HEXGUI = """(;AP[HexGui:0.9.GIT]FF[4]GM[11]SZ[4]
;B[A3];W[swap-pieces]
;B[b3]C[a note \\[here\\]; (odd) brackets]
;W[b2](;B[d2]
;W[resign])(;B[c2];W[d1](;B[d4])(;B[a1])))
"""
RENJU = """\ufeff Some mail
header (;GM[4]FF[4]SZ[15]CA[gb2312]DT[2026-01-01]RU[Free]
PB[White \\
line]PW[]RE[B+Resign]
;B[hh]BL[30];LB[aa:1]W[hg]N[x]C[](;B[HI](;W[ii]))(;B[aa]))
(;GM[4]SZ[15:15];B[hh];W[jj])"""
EDAX = """(;FF[4]GM[2]AP[edax:4.4]PC[Edax]DT[2026-01-01]
PB[Edax]PW[me]
SZ[8]AB[e4][d5]AW[d4][e5]PL[B]
RE[Void]
B[d3];W[c3];B[b3];W[b2];B[b1];W[a1];
B[c4];W[c1];B[c2];W[d2];B[d1];W[e1];
)
"""


def test_hexgui_s_files_are_read(tmp_path: Path) -> None:
    [record] = read(tmp_path, HEXGUI, "hex(size=4,swap=yes)")
    game = load_game("hex(size=4,swap=yes)")
    assert moves_text(game, record.actions).split() == ["a3", "swap", "b3", "b2", "d2"]
    assert (record.points, record.ending) == (1.0, "forfeit by O: B+Resign")
    assert record.players == ("?", "?")
    [letters] = read(tmp_path, "(;FF[4]SZ[13]RE[W+T];B[am];W[ii])", "hex(size=13)")
    assert moves_text(load_game("hex(size=13)"), letters.actions).split() == ["a13", "i9"]
    assert (letters.points, letters.forfeited_by) == (0.0, 0)


def test_collections_with_variations_comments_and_escapes_are_read(tmp_path: Path) -> None:
    first, second = read(tmp_path, RENJU, "gomoku")
    assert moves_text(load_game("gomoku"), first.actions).split() == ["h8", "h9", "h7", "i7"]
    assert first.players == ("White line", "?")
    assert (first.index, first.ending) == (0, "forfeit by O: B+Resign")
    assert (second.index, len(second.actions), second.points) == (1, 2, None)
    assert read(tmp_path, "", "gomoku") == []


@pytest.mark.parametrize("passed", ["", "B[];", "B[PA];", "B[@@@@];", "B[tt];"])
def test_passes_in_othello_are_written_in_many_ways_or_left_out(passed: str, tmp_path: Path) -> None:
    game = load_game("othello6")
    rng = random.Random(2)
    record = random_record(game, 1, rng)
    while (
        "pass" not in (words := [game.action_text(action) for action in record.actions])[::2] or "pass" in words[1::2]
    ):
        record = random_record(game, 1, rng)
    moves = ";".join(f"{'BW'[ply % 2]}[{word}]" for ply, word in enumerate(words)) + ";"
    [again] = read(tmp_path, f"(;GM[2]{moves.replace('B[pass];', passed)})", "othello6")
    assert (again.actions, again.points) == (record.actions, record.points)


def test_edax_s_files_are_read(tmp_path: Path) -> None:
    [record] = read(tmp_path, EDAX, "othello")
    assert moves_text(load_game("othello"), record.actions) == "d3c3b3b2b1a1c4c1c2d2d1e1"
    assert record.players == ("Edax", "me")
    assert (record.points, record.ending) == (None, "not finished")


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("gomoku", "1. h8", "line 1: this is no SGF"),
        ("gomoku", "(;GM[4]\n;B[hh];W[h", "line 2: a value without its ']'"),
        ("gomoku", "(;GM[4];B[hh]", "line 1: the file ends before"),
        ("gomoku", "(;GM[4];B[hh])\n)", "line 2: ')' is outside of a game"),
        ("gomoku", "(;GM[4]\n;[hh])", "line 2: the value [hh] has no name"),
        ("gomoku", "(;GM[4];B;W[hh])", "line 1: a property before ';' has no value"),
        ("gomoku", "(;GM[4]PB[a]b])", "line 1: ']' is no SGF"),
        ("gomoku", "(;GM[4]PB[a]])", "line 1: ']' is no SGF"),
        ("gomoku", "(;GM[1]SZ[15])", "line 1: GM[1] is another game; mnk(rows=15,columns=15,line=5) is GM[4]"),
        ("gomoku", "(;SZ[x])", "SZ[x] is no size"),
        ("gomoku", "(;SZ[19])", "take game='mnk(rows=19,columns=19,line=5)'"),
        ("gomoku", "(;SZ[20])", "rows must be from 1 to 19, got 20"),
        ("mnk", "(;SZ[4:3])", "take game='mnk(columns=4,line=4)'"),
        ("hex", "(;GM[11]\nSZ[13])", "line 2: SZ[13] is not the size of hex: take game='hex(size=13)'"),
        ("hex(swap=yes)", "(;SZ[13])", "take game='hex(size=13,swap=yes)'"),
        ("hex", "(;SZ[19])", "size must be from 2 to 14, got 19"),
        ("hex", "(;SZ[5:6])", "hex has square boards only"),
        ("othello", "(;SZ[6])", "take game='othello(size=6)'"),
        ("hex", "(;AB[a1][b2]PL[B])", "AB[a1][b2] sets a position up"),
        ("othello", "(;AB[d4][e5]AW[e4][d5])", "AB[d4][e5] sets a position up"),
        ("hex", "(;W[a1])", "move 1, W[a1]: it is the other's turn, B moves first"),
        ("hex", "(;B[a1]\n;B[a2])", "line 2: move 2, B[a2]: it is the other's turn"),
        ("hex", "(;B[a1];W[a1])", "move 2, W[a1]: the rules do not allow it there"),
        ("hex", "(;B[a12])", "move 1, B[a12] is no cell, a1 to k11"),
        ("hex", "(;B[a0])", "is no cell, a1 to k11"),
        ("hex", "(;B[])", "is no cell, a1 to k11"),
        ("hex", "(;B[a1];W[swap-pieces])", "with the swap: take game='hex(swap=yes)'"),
        ("gomoku", "(;B[h8])", "is no cell, aa to oo"),
        ("mnk", "(;B[aa];W[ba];B[ab];W[bb];B[ac];W[bc])", "move 6, W[bc]: the game is over"),
        ("connect4", "(;B[d1])", "connect4 cannot be kept in SGF"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(name: str, text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the parameters hold its text
        read(tmp_path, text, name)
    assert complaint in str(error.value)
    assert str(error.value).startswith(f"{tmp_path / 'games.sgf'}, ")
    assert "\n" not in str(error.value)


def test_the_commands_write_and_show_sgf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arena.main(["game=hex(size=3)", "random", "random", "num_games=2", "record=match.sgf"])
    assert len(read_records(Path("match.sgf"), load_game("hex(size=3)"))) == 2
    for _ in range(2):
        play.main(["game=othello(size=4)", "random", "random", "save=mine.sgf", "seed=1"])
    assert [record.index for record in read_records(Path("mine.sgf"), load_game("othello(size=4)"))] == [0, 1]
    capsys.readouterr()
    play.main(["game=othello(size=4)", "record=mine.sgf", "index=1"])
    assert "game 1: random as X against random as O" in capsys.readouterr().out


@pytest.mark.parametrize(("command", "file"), [(arena, "record=mine.sgf"), (play, "save=mine.sgf")])
def test_a_game_without_sgf_is_refused_before_it_is_played(
    command: Any, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        command.main(["game=tictactoe", "random", "random", file])
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "tictactoe cannot be kept in SGF" in said
    assert not Path("mine.sgf").exists()
