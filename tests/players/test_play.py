import io
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from azero import play
from azero.games.tictactoe import TicTacToe
from azero.players.record import GameRecord, read_records, write_records

ROOT = Path(__file__).parents[2]

CHOICE = """
'''A game that the first or the second player decides with one action.

Players: X and O.
Actions: 3; 0 wins, 1 draws,
    2 loses for whoever decides.
End: after the decision.
'''
from azero.games.game import Game

class First(Game):
    name, num_actions, max_game_length, decider = "choice", 3, 2, 0
    def initial_state(self): return ()
    def current_player(self, state): return len(state) % 2
    def legal_actions(self, state):
        return [] if len(state) > self.decider else [0, 1, 2] if len(state) == self.decider else [0]
    def step(self, state, action): return (*state, action)
    def outcome(self, state): return state[-1] - 1.0

class Second(First):
    decider = 1
"""


def played(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, typed: str, *arguments: str) -> str:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    play.main([*arguments, "hint=uct:100", "seed=1"])
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def game_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("game") / "choice_at_terminal.py"
    path.write_text(CHOICE)
    return path


@pytest.mark.parametrize(("seat", "players"), [("First", ["human", "random"]), ("Second", ["random", "human"])])
@pytest.mark.parametrize(("action", "result"), [("0", "You win"), ("1", "The game is a draw."), ("2", "You lose")])
def test_the_result_is_told_from_the_humans_view(
    seat: str,
    players: list[str],
    action: str,
    result: str,
    game_file: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = played(capsys, monkeypatch, f"{action}\n", f"game={game_file}:{seat}", *players)
    assert result in said.splitlines()[-1]


@pytest.mark.parametrize("game", ["tictactoe", "connect4"])
@pytest.mark.parametrize("players", [["random"], ["random", "human"], ["human", "human"]])
def test_every_game_can_be_played_to_its_end(
    game: str, players: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = "\n".join(str(number % 10) for number in range(400))
    said = played(capsys, monkeypatch, typed, f"game={game}", *players)
    assert re.match(r"You (win|lose): [XO] wins|The game is a draw|[XO] \(human\) wins", said.splitlines()[-1])


def test_bad_input_asks_again_and_keeps_the_turn(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = played(capsys, monkeypatch, "4\n4\n9\n-1\nup\n\n0\n", "game=tictactoe", "human", "human")
    assert said.count("X, your move") == 2
    assert said.count("O, your move (0 1 2 3 5 6 7 8)") == 6
    assert "4 is not legal here; legal: 0 1 2 3 5 6 7 8" in said
    assert "'up' is no action of tictactoe; allowed: 0 1 2 3 4 5 6 7 8" in said
    assert "O . .\n. X .\n. . .\n" in said


def test_undo_goes_back_to_ones_own_last_move(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = played(capsys, monkeypatch, "undo\n4\nundo\n0\n", "game=tictactoe", "uct:20")
    boards = re.findall(r"((?:[XO.] [XO.] [XO.]\n){3})", said)
    assert "There is no move of yours to take back." in said
    assert boards[0] == boards[3] == ". . .\n. . .\n. . .\n"
    assert boards[1] == ". . .\n. X .\n. . .\n"
    assert boards[4] == "X . .\n. . .\n. . .\n"


def test_hints_show_the_searchs_opinion_and_find_the_win(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = played(capsys, monkeypatch, "0\n3\n1\n4\nhint\n", "game=tictactoe", "human", "human")
    hints = said.partition("visits")[2].splitlines()[1:]
    action, visits, share, *value = hints[0].split()
    assert (action, value) == ("2", ["win", "in", "1"])
    assert 1 <= int(visits) <= 100
    assert share.endswith("%")
    assert hints[5].startswith("(uct:100; value +1")


def test_help_explains_the_answers_and_the_games_actions(
    game_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = played(capsys, monkeypatch, "help\n", f"game={game_file}:First", "random")
    assert all(word in said for word in ("hint", "undo", "quit"))
    assert "Actions: 3; 0 wins, 1 draws,\n    2 loses for whoever decides.\n" in said
    assert "End:" not in said


def test_players_can_be_watched_and_seats_drawn(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = played(capsys, monkeypatch, "", "game=tictactoe", "uct:20", "flat:20")
    assert re.search(r"^X \(uct:20\) plays \d   \[20 simulations, \d+ ms, value [+-][01]\.\d\d for X\]$", said, re.M)
    assert "your move" not in said
    first = set()
    for seed in range(8):
        play.main(["game=tictactoe", "random", "flat:9", "shuffle=true", f"seed={seed}"])
        first.add(capsys.readouterr().out.split(" against ")[0])
    assert first == {"tictactoe: X (random)", "tictactoe: X (flat:9)"}


@pytest.mark.parametrize("typed", ["", "0\n", "0\nquit\n", "quit"])
def test_the_end_of_input_ends_the_game_with_a_word(
    typed: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = played(capsys, monkeypatch, typed, "game=connect4", "random")
    assert said.endswith("\nGoodbye; the game is not finished.\n")


def test_the_command_ends_at_the_end_of_its_input() -> None:
    command = [sys.executable, "-m", "azero.play", "game=tictactoe", "uct:20", "hint=uct:20"]
    done = subprocess.run(command, cwd=ROOT, input="4\n", capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "Goodbye" in done.stdout


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Press Ctrl-C until it is heard: a signal that comes just before Python waits for input is not."""
    for _ in range(10):
        process.send_signal(signal.SIGINT)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            continue
        return


def at_a_terminal(typed: str, *arguments: str) -> tuple[int, str]:
    """The exit status and all that a terminal shows when `typed` is typed at the first question; ^C is Ctrl-C."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "azero.play", "hint=uct:20", *arguments]
    environment = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while b"your move" not in shown:
            shown += os.read(ours, 4096)
        if typed == "^C":
            interrupt(process)
        else:
            os.write(ours, typed.encode())
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    return process.wait(timeout=120), shown.decode()


def test_at_a_terminal_one_can_play_again(game_file: Path) -> None:
    status, shown = at_a_terminal("0\ny\n2\nn\n", f"game={game_file}:First", "random")
    assert status == 0
    assert shown.count("Play again?") == 2
    assert "You win" in shown.partition("Play again?")[0]
    assert "You lose" in shown.partition("Play again?")[2]


def test_a_terminal_shows_who_is_thinking() -> None:
    _, shown = at_a_terminal("hint\n\x04", "game=tictactoe", "random", "human")
    assert "X (random) is thinking" in shown
    assert "uct:20 is thinking" in shown


@pytest.mark.parametrize(("key", "status"), [("\x04", 0), ("^C", 130)])
def test_ctrl_d_and_ctrl_c_leave_without_a_traceback(key: str, status: int) -> None:
    ended, shown = at_a_terminal(key, "game=tictactoe", "random")
    assert ended == status
    assert "Traceback" not in shown


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """A file of two games."""
    won = GameRecord("tictactoe", 0, ("uct:9", "[random]"), 2, (0, 3, 1, 4, 2), 1.0, "X wins")
    cut = GameRecord("tictactoe", 1, ("[random]", "uct:9"), 1, (4, 8), None, "cut short after 2 moves")
    write_records(tmp_path / "games.txt", TicTacToe(), [won, cut])
    return tmp_path / "games.txt"


def test_recorded_games_are_shown_as_they_ended(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play.main(["game=tictactoe", f"record={games}"])
    assert (
        capsys.readouterr().out
        == """\
game 0: uct:9 as X against [random] as O
03142

X X X
O O .
. . .

X wins

game 1: [random] as X against uct:9 as O
48

. . .
. X .
. . O

cut short after 2 moves

"""
    )


def test_one_recorded_game_is_gone_through_move_by_move(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play.main(["game=tictactoe", f"record={games}", "index=1"])
    said = capsys.readouterr().out
    assert "game 0" not in said
    assert ". . .\n\nX plays 4\n. . .\n. X .\n. . .\n\nO plays 8\n. . .\n. X .\n. . O\n\ncut short" in said


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("game=tictactoe index=2", "games.txt holds no game 2"),
        ("game=connect4", "a game of tictactoe, not of connect4"),
        ("game=tictactoe record=nowhere.txt", "nowhere.txt"),
        ("game=tictactoe record=empty.txt", "empty.txt holds no game"),
    ],
)
def test_a_record_that_cannot_be_shown_is_one_line_and_status_2(
    arguments: str, complaint: str, games: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(games.parent)
    Path("empty.txt").touch()
    with pytest.raises(SystemExit) as end:
        play.main(["record=games.txt", *arguments.split()])
    said = capsys.readouterr().err
    assert (end.value.code, said.count("\n")) == (2, 1)
    assert complaint in said


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("random random random", "a game has two players, got 3: random random random"),
        ("utc:5", "did you mean 'uct'?"),
        ("random seed=-1", "seed must be at least 0"),
        ("human hint=random", "hint must be a player that searches"),
        ("random game=tictactoo", "did you mean 'tictactoe'?"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        play.main(arguments.split())
    said = capsys.readouterr()
    assert (end.value.code, said.out) == (2, "")
    assert said.err.startswith("azero.play: error: ")
    assert said.err.count("\n") == 1
    assert complaint in said.err


def test_a_game_is_saved_and_the_next_one_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.txt"
    for _ in range(2):
        played(capsys, monkeypatch, "", "game=tictactoe", "random", "random", f"save={path}")
    first, second = read_records(path, TicTacToe())
    assert (first.index, second.index) == (0, 1)
    assert first.players == ("random", "random")
    assert first.points is not None
    assert sum(spent.num_moves for spent in first.spent) == len(first.actions)


def test_a_game_that_was_left_is_saved_and_can_be_gone_on_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, arguments = tmp_path / "mine.txt", ("game=tictactoe", "human", "human")
    played(capsys, monkeypatch, "0\n3\n1\nquit\n", *arguments, f"save={path}")
    [left] = read_records(path, TicTacToe())
    assert (left.actions, left.points, left.ending) == ((0, 3, 1), None, "not finished")
    said = played(capsys, monkeypatch, "4\n2\n", *arguments, f"record={path}", "resume=true", f"save={path}")
    assert "X X .\nO . .\n" in said
    assert "X (human) wins" in said
    _, ended = read_records(path, TicTacToe())
    assert (ended.actions, ended.num_opening_actions, ended.points) == ((0, 3, 1, 4, 2), 3, 1.0)
    assert [spent.num_moves for spent in ended.spent] == [1, 1]


def test_a_game_begins_after_the_moves_that_are_given(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = played(capsys, monkeypatch, "2\n", "game=tictactoe", "human", "random", "moves=0314")
    assert "X X .\nO O .\n" in said
    assert "You win: X wins." in said


def test_moves_that_are_given_and_taken_back_are_no_opening(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.txt"
    typed = "undo\nundo\n4\nquit\n"
    played(capsys, monkeypatch, typed, "game=tictactoe", "human", "human", "moves=0 3 1", f"save={path}")
    [left] = read_records(path, TicTacToe())
    assert (left.actions, left.num_opening_actions) == ((0, 4), 1)


def test_no_game_is_added_to_bare_moves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bare.txt"
    path.write_text("03142\n")
    with pytest.raises(SystemExit, match="2"):
        play.main(["game=tictactoe", "random", "random", f"save={path}"])
    assert "bare.txt holds bare moves, to which no other record can be added" in capsys.readouterr().err
    assert path.read_text() == "03142\n"


def test_going_on_needs_a_game_to_go_on_with(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        play.main(["game=tictactoe", "resume=true"])
    assert "record=FILE must tell where it is" in capsys.readouterr().err
