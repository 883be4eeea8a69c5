import pickle
import re
import sys

import pytest

from azero import arena, check
from azero.games import GAMES, file_name, load_game
from azero.games.blame import told
from azero.games.connect4 import Connect4
from azero.games.game import Game
from azero.games.tictactoe import TicTacToe

HEAP = """
from azero.games.game import Game

class Heap(Game):
    name = "heap"
    num_actions = 3
    max_game_length = 5
    def initial_state(self): return (5, 0)
    def current_player(self, state): return state[1]
    def legal_actions(self, state): return [take for take in (1, 2) if take <= state[0]]
    def step(self, state, action): return (state[0] - action, 1 - state[1])
    def outcome(self, state): return -1.0

class Half(Game):
    def step(self, state, action): return state
"""


@pytest.fixture
def heap_file(tmp_path, monkeypatch):
    """A user's file; what it adds to Python's modules is taken back afterwards."""
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    monkeypatch.setattr(sys, "path", sys.path.copy())
    path = tmp_path / "heap_of_five.py"
    path.write_text(HEAP)
    return path


def test_azeros_own_games_go_by_their_names():
    assert isinstance(load_game("connect4"), Connect4)
    assert isinstance(load_game("tictactoe"), TicTacToe)


def test_a_game_in_an_importable_module_goes_by_module_and_class():
    assert load_game("tests.games.plain:Heap").name == "heap"


def test_a_game_in_a_file_goes_by_path_and_class_relative_or_absolute(heap_file, monkeypatch):
    absolute = load_game(f"{heap_file}:Heap")
    monkeypatch.chdir(heap_file.parent)
    relative = load_game("heap_of_five.py:Heap")
    assert absolute.initial_state() == (5, 0)
    assert type(absolute) is type(relative)
    assert type(relative).__module__ == "heap_of_five"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "conect4",
            f"unknown game 'conect4': did you mean 'connect4'\\? azero has {', '.join(sorted(GAMES))}; your own is",
        ),
        ("chess", f"unknown game 'chess': azero has {', '.join(sorted(GAMES))}; your own is 'path/to/file.py:Class'"),
        ("", "unknown game ''"),
        ("connect4\n", r"'connect4\\n' is no game: the name of one has no line breaks"),
        ("heap.py", "no such file: .*heap.py"),
        ("nowhere/heap.py:Heap", "no such file: /.*nowhere/heap.py"),
        ("nowhere/heap:Heap", "no such file: /.*nowhere/heap"),
        ("azero.games.chess:Chess", "no such module: 'azero.games.chess'; a game in a file is"),
        ("azero.games.connect4:Chess", "azero.games.connect4 has no game 'Chess'; subclasses of Game there: Connect4"),
        ("azero.games.connect4:State", r"has no game 'State', only a class that does not begin class State\(Game\)"),
        ("azero.games.connect4:has_four", "has no game 'has_four'"),
        ("azero.games.suggest:Game", "has no game 'Game'; subclasses of Game there: none"),
    ],
)
def test_what_cannot_be_found_is_said_with_what_there_is(spec, message):
    with pytest.raises(ValueError, match=message):
        load_game(spec)


def test_methods_still_to_be_written_are_named(heap_file):
    with pytest.raises(
        ValueError, match=r"py: Half must also define current_player, initial_state, legal_actions, outcome$"
    ):
        load_game(f"{heap_file}:Half")


@pytest.mark.parametrize("name", ["random", "pytest"])
def test_a_file_that_would_hide_another_module_is_refused(heap_file, name):
    clash = heap_file.rename(heap_file.with_name(f"{name}.py"))
    hidden = sys.modules.get(name)
    with pytest.raises(ValueError, match=f"{name}.py needs another name: Python has a module '{name}' already"):
        load_game(f"{clash}:Heap")
    assert sys.modules.get(name) is hidden


def test_an_error_inside_a_file_is_shown_as_it_is_and_leaves_no_half_module(heap_file):
    heap_file.write_text("import a_module_that_is_missing")
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_missing"):
        load_game(f"{heap_file}:Heap")
    assert "heap_of_five" not in sys.modules
    heap_file.write_text(HEAP)
    assert isinstance(load_game(f"{heap_file}:Heap"), Game)


def test_an_error_inside_a_module_is_not_taken_for_its_absence(heap_file, monkeypatch):
    monkeypatch.syspath_prepend(heap_file.parent)
    heap_file.write_text("import a_module_that_is_missing")
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_missing"):
        load_game("heap_of_five:Heap")


@pytest.mark.parametrize(
    ("declaration", "named"),
    [
        ("num_actions = 1; max_game_length = 1", "name must be some text"),
        ("name = 'x'; max_game_length = 1", "num_actions must be a whole number"),
        ("name = 'x'; num_actions = 1; max_game_length = 1; observation_shape = (7,)", "a game on a line has one row"),
    ],
)
def test_a_declaration_that_is_missing_or_wrong_is_named(tmp_path, declaration, named):
    methods = ("initial_state", "current_player", "legal_actions", "step", "outcome")
    body = "".join(f"    def {method}(self, *a): ...\n" for method in methods)
    path = tmp_path / f"declared_{len(named)}.py"
    path.write_text(f"from azero import Game\nclass Mine(Game):\n    {declaration}\n{body}")
    with pytest.raises(ValueError, match=named):
        load_game(f"{path}:Mine")


COUNTDOWN = """
from azero.games.game import Game, full_name

class Countdown(Game):
    name = "countdown"
    num_actions = 3
    def __init__(self, start=5, misere=False, heaps="3-4"):
        if start < 1:
            raise ValueError(f"start must be at least 1, got {start}")
        self.max_game_length, self.start, self.misere, self.heaps = start, start, misere, heaps
    def initial_state(self): return (self.start, 0)
    def current_player(self, state): return state[1]
    def legal_actions(self, state): return [take for take in (1, 2) if take <= state[0]]
    def step(self, state, action): return (state[0] - action, 1 - state[1])
    def outcome(self, state): return -1.0

class Named(Countdown):
    def __init__(self, start=5):
        super().__init__(start)
        self.name = full_name(self, start=start)

class Bare(Countdown):
    def __init__(self, start):
        super().__init__(start)

class Open(Countdown):
    def __init__(self, start=None, heaps=None):
        super().__init__(7, start, heaps)
"""


@pytest.fixture
def countdown(tmp_path, monkeypatch):
    """A user's file of games with parameters."""
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    monkeypatch.setattr(sys, "path", sys.path.copy())
    path = tmp_path / "countdown_with_parameters.py"
    path.write_text(COUNTDOWN)
    return path


@pytest.mark.parametrize(
    ("parameters", "start", "misere", "heaps"),
    [
        ("", 5, False, "3-4"),
        ("()", 5, False, "3-4"),
        ("(start=8)", 8, False, "3-4"),
        ("(misere=yes,heaps=3-4-5)", 5, True, "3-4-5"),
        ("( start = 8 , misere = no, heaps = 7 )", 8, False, "7"),
    ],
)
def test_parameters_follow_a_game_in_parentheses_and_are_of_the_kind_of_their_defaults(
    countdown, parameters, start, misere, heaps
):
    game = load_game(f"{countdown}:Countdown{parameters}")
    assert (game.start, game.misere, game.heaps) == (start, misere, heaps)


def test_a_parameter_without_a_kind_is_a_number_or_yes_or_no_or_text(countdown):
    game = load_game(f"{countdown}:Open(start=yes,heaps=-12)")
    assert (game.misere, game.heaps) == (True, -12)
    assert load_game(f"{countdown}:Open(heaps=3-4)").heaps == "3-4"


def test_a_game_with_parameters_has_those_in_its_name_that_differ_from_their_defaults(countdown):
    assert load_game(f"{countdown}:Countdown(start=5)").name == "countdown"
    assert load_game(f"{countdown}:Countdown(misere=yes,start=8)").name == "countdown(start=8,misere=yes)"
    assert load_game(f"{countdown}:Bare(start=8)").name == "countdown(start=8)"
    assert load_game(f"{countdown}:Named(start=8)").name == "countdown(start=8)"


def test_a_ready_game_has_parameters_that_others_go_over(countdown, monkeypatch):
    monkeypatch.setitem(GAMES, "launch", f"{countdown}:Countdown(start=9,misere=yes)")
    assert load_game("launch").name == "countdown(start=9,misere=yes)"
    assert load_game("launch(start=8)").name == "countdown(start=8,misere=yes)"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("(stat=6)", r"no parameter 'stat'; did you mean 'start'\? its parameters: start=5, misere=no, heaps=3-4$"),
        ("(start=six)", "Countdown: start must be a whole number, got 'six'"),
        ("(start=1.5)", "Countdown: start must be a whole number, got '1.5'"),
        ("(misere=1)", "Countdown: misere must be yes or no, got '1'"),
        ("(start=0)", "^start must be at least 1, got 0"),
        ("(6)", r"'6' is no parameter; they are written .*:Countdown\(name=value,name=value\)"),
        ("(=6)", "'=6' is no parameter"),
        ("(start=6,start=7)", "start is given twice"),
        ("(start=6", r"has a '\(' that no '\)' closes; a game with parameters is 'name\(name=value\)'"),
    ],
)
def test_a_wrong_parameter_is_refused_with_what_there_is(countdown, parameters, message):
    with pytest.raises(ValueError, match=message):
        load_game(f"{countdown}:Countdown{parameters}")


def test_a_parameter_that_is_missing_or_that_no_game_takes_is_named(countdown):
    with pytest.raises(ValueError, match=r"Bare needs its parameters: .*Bare\(start=\.\.\.\)"):
        load_game(f"{countdown}:Bare")
    with pytest.raises(ValueError, match="connect4 has no parameter 'size'; it has none"):
        load_game("connect4(size=8)")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("class Heap(Game)\n    pass", r"of_five\.py, line 1: SyntaxError: expected ':'"),
        ("\nleft = rigth", r"of_five\.py, line 2, in <module>: NameError: name 'rigth' is not defined"),
        ("import a_module_that_is_missing", r"of_five\.py, line 1, in <module>: ModuleNotFoundError: No module named"),
    ],
)
def test_an_error_in_a_users_file_is_told_in_one_line_with_its_place(heap_file, text, told, capsys):
    heap_file.write_text(text)
    assert re.search(rf"^azero.check: error: .*{told}.*\n$", refusal(heap_file, capsys))


def refusal(path, capsys):
    """What azero.check says on standard error of the game Heap in a file."""
    with pytest.raises(SystemExit):
        check.main([f"game={path}:Heap"])
    return capsys.readouterr().err


def test_a_file_without_a_class_is_answered_with_the_games_in_it(countdown, heap_file):
    with pytest.raises(ValueError, match=r"py needs the name of a class after it: .*\.py:Countdown, .*\.py:Named, "):
        load_game(str(countdown))
    heap_file.write_text("")
    with pytest.raises(ValueError, match=r"py needs the name of a class after it: it defines no game$"):
        load_game(str(heap_file))


def test_an_error_in_a_users_method_is_told_with_its_place_and_the_state(heap_file, capsys):
    heap_file.write_text(
        HEAP.replace("return (state[0] - action, 1 - state[1])", "return (5 // state[0] - 1, stat[1])")
    )
    assert refusal(heap_file, capsys) == (
        "azero.check: error: heap: step(state, 1) fails: heap_of_five.py, line 11, in step: NameError: name 'stat' is "
        "not defined, in the state\n(5, 0)\n"
    )


def test_a_value_error_in_a_users_rules_is_told_with_its_place_too(heap_file, capsys):
    heap_file.write_text(HEAP.replace("return state[1]", "\n        raise ValueError('whose turn?')"))
    assert refusal(heap_file, capsys) == (
        "azero.check: error: heap: heap_of_five.py, line 10, in current_player: ValueError: whose turn?\n"
    )


def test_a_value_that_a_users_file_refuses_itself_needs_no_place(heap_file, capsys):
    text = HEAP.replace(
        "    num_actions = 3\n", "    num_actions = 3\n    def __init__(self):\n        raise ValueError('too small')\n"
    )
    heap_file.write_text(text)
    assert refusal(heap_file, capsys) == "azero.check: error: too small\n"


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("return 1 / 0", "heap_of_five.py, line 12, in outcome: ZeroDivisionError: division by zero; "),
        ("pass", "TypeError: .* (while a game of .*heap_of_five.py.* was at work; AZERO_TRACEBACK=1 shows where); "),
    ],
)
def test_an_error_of_a_users_game_in_any_command_is_one_line_that_advises_a_check(heap_file, outcome, said, capsys):
    heap_file.write_text(HEAP.replace("return -1.0", outcome))
    with pytest.raises(SystemExit):
        arena.main([f"game={heap_file}:Heap", "random", "random", "num_games=2", "num_workers=1"])
    pattern = said.replace("(", r"\(").replace(")", r"\)")
    advice = r"what is wrong with a game of your own, python -m azero\.check game=\.\.\. tells best"
    assert re.search(rf"azero\.arena: error: {pattern}{advice}\n$", capsys.readouterr().err)


def test_an_error_keeps_its_place_on_the_way_from_another_process(heap_file):
    heap_file.write_text(HEAP.replace("stat[1]", "1").replace("return state[1]", "return state[2]"))
    game = load_game(f"{heap_file}:Heap")
    with pytest.raises(IndexError) as error:
        game.current_player((5, 0))
    place = "heap_of_five.py, line 9, in current_player: IndexError: tuple index out of range"
    assert told(error.value) == place
    assert told(pickle.loads(pickle.dumps(error.value))) == place
    assert told(KeyError()) is None


def test_what_lies_beside_a_users_file_can_be_imported_by_it(heap_file):
    (heap_file.parent / "size_of_the_heap.py").write_text("SIZE = 7")
    heap_file.write_text("from size_of_the_heap import SIZE\n" + HEAP.replace("(5, 0)", "(SIZE, 0)"))
    assert load_game(f"{heap_file}:Heap").initial_state() == (7, 0)


def test_a_game_that_returns_no_actions_is_told_so_before_anything_is_played(heap_file):
    heap_file.write_text(HEAP.replace("def legal_actions(self, state): return", "def legal_actions(self, state):"))
    with pytest.raises(ValueError, match=r"Heap.legal_actions must return a list of actions, not None"):
        load_game(f"{heap_file}:Heap")


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("connect4", "connect4"),
        ("five-stones", "five-stones"),
        ("dots_and_boxes", "dots_and_boxes"),
        ("othello(size=6)", "othello-size-6"),
        ("nim(heaps=3-4-5,misere=yes)", "nim-heaps-3-4-5-misere-yes"),
        ("openspiel:breakthrough(rows=6,columns=6)", "openspiel-breakthrough-rows-6-columns-6"),
        ("/some where/my.game.py:Heap(stones=9)", "my-game-Heap-stones-9"),
        ("heap.py:Heap", "heap-Heap"),
        ("package.module:Heap", "package-module-Heap"),
        ("../x y/z; rm", "x-y-z-rm"),
        ("围棋", "game"),
    ],
)
def test_a_game_s_name_makes_a_plain_file_name(spec: str, name: str) -> None:
    assert file_name(spec) == name
