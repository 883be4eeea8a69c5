"""`@compiled`: what it compiles plays as in plain Python, and what it cannot compile is said in one line."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from azero import Game, compiled, load_game
from azero import check as check_command
from azero.check import check_trees
from azero.games.check import LawError, check_game
from azero.games.compiled import CompiledGame, PackedStates

ROOT = Path(__file__).parents[2]
WEIGHTS = (1, 2, 4)


class State(NamedTuple):
    left: int
    player: int
    odd: bool  # whether the last to move took an odd number


def parity(number):
    return any(bit == 1 for bit in (number & 1, 0)) and all([True, number.bit_count() < 9])


class Weighing(Game):
    """Take weights of a heap, of three sizes; who takes the last has won, or has lost.

    It holds all that the decorator puts in other words: methods that call others, attributes by `self` and by the
    class, `_replace`, lists that are empty, conditional, comprehended or made otherwise.
    """

    name = "weighing"
    num_actions = 4
    observation_shape = (1, 1, 40)
    last = 3

    def __init__(self, heap: int = 12, misere: bool = False):
        self.max_game_length = self.heap = heap
        self.misere = misere

    def initial_state(self) -> State:
        return State(self.heap, 0, False)

    def current_player(self, state):
        return state.player

    def legal_actions(self, state: State) -> list[int]:
        if state.left == 0:
            return []
        if state.left == 1:
            return [0] if state.odd else [Weighing.last]
        if state.left == 2:

            def second():
                return 1

            actions = [0]
            actions.append(second())
            return actions
        return range(3) if state.left > 5 else [i for i in range(3) if self.fits(state, i) if i != 7]

    @staticmethod
    def weight(action):
        return 1 if action == 3 else WEIGHTS[action]

    def fits(self, state, action=0):
        return self.weight(action) <= state.left

    def step(self, state, action):
        after = state._replace(left=state.left - self.weight(action), odd=parity(self.weight(action)))
        return after._replace(player=1 - after.player)

    def outcome(self, state):
        return 1.0 if self.misere else -1

    def observation(self, state):
        planes = np.zeros(self.observation_shape, np.float32)
        planes[0, 0, state.left] = 1
        return planes


Fast = compiled(Weighing)


@pytest.mark.parametrize("parameters", [{}, {"heap": 17, "misere": True}])
def test_a_compiled_game_keeps_the_laws_and_plants_the_trees_of_plain_python(parameters, sources):
    game = Fast(**parameters)
    assert isinstance(game, CompiledGame)
    assert check_game(game) > 20
    assert check_trees(game, seed=1) > 200
    assert sources[0] == __file__


def test_a_compiled_game_is_called_and_made_as_before(sources):
    assert (Fast.__name__, Fast.__qualname__, Fast.__module__) == ("Weighing", "Weighing", __name__)
    assert signature(Fast) == signature(Weighing)
    assert load_game(f"{__name__}:Fast(heap=9)").name == "weighing(heap=9)"


def test_a_state_may_be_a_plain_tuple(sources):
    @compiled
    class Count(Game):
        name = "count"
        num_actions = 1
        max_game_length = 3

        def initial_state(self):
            return 3, 0

        def current_player(self, state):
            return state[1]

        def legal_actions(self, state):
            return range(min(state[0], 1))

        def step(self, state, action):
            return state[0] - 1, 1 - state[1]

        def outcome(self, state):
            return -1.0

    assert check_game(Count()) > 3


class Row(NamedTuple):
    a: int
    b: int
    c: int
    d: int
    player: int


class Board(Game):
    """Four cells, which are filled in as many ways as a new state may be made of the one before."""

    name = "board"
    num_actions = max_game_length = 4
    observation_shape = (2, 2, 2)

    def initial_state(self):
        return 0, 0, 0, 0, 1

    def current_player(self, state):
        return 0 if state[4] == 1 else 1

    def legal_actions(self, state):
        return tuple(i for i, cell in enumerate(state[:4]) if cell == 0)

    def step(self, state, action):
        if action == 0:
            *cells, player = state
            cells[action] = player
            return (*cells, -player)
        if action == 1:
            return self.put(state, action)[:-1] + (-state[4],)  # noqa: RUF005  # as people write it
        if action == 2:
            return tuple(state[4] if i == action else state[i] for i in range(4)) + (-state[4],)  # noqa: RUF005
        if sum(state[action:]) == 5:
            return state
        before = list(state[:4])
        cells = tuple(before)
        before[0] = 9  # of which a tuple knows nothing
        cells = [*cells[:3], state[4], -state[4]]
        return tuple(cells)

    def put(self, state, action):
        return state[:action] + (state[4],) + state[action + 1 :]  # noqa: RUF005

    def outcome(self, state):
        return state[3] * state[4]

    def observation(self, state):
        planes = np.zeros((2, 2, 2), np.float32)
        for i, cell in enumerate(state[:4]):
            planes[0, i // 2, i % 2] = cell == state[4]
            planes[1, i // 2, i % 2] = cell == -state[4]
        return planes


class NamedBoard(Board):
    """The same of named cells."""

    def initial_state(self):
        return Row(0, 0, 0, 0, 1)

    def step(self, state, action):
        cells = list(state)
        cells[action] = state.player
        return Row(*cells[:4], -cells[4]) if action % 2 else Row._make(cells)._replace(player=-state.player)


@pytest.mark.parametrize("game_class", [Board, NamedBoard])
def test_a_board_may_be_kept_in_a_tuple_and_changed_in_a_list(game_class, sources):
    game = compiled(game_class)()
    assert check_game(game) > 20
    assert not hasattr(game, "uncompiled_observation")


def test_an_observation_that_cannot_be_compiled_stays_in_plain_python(sources):
    class Named(Weighing):
        def observation(self, state):
            planes = super().observation(state)
            planes[0, 0, {"player": 39}["player"]] = state.player
            return planes

    game = compiled(Named)()
    states = [game.initial_state(), game.step(game.initial_state(), 2)]
    packed = PackedStates(states[0], np.array(states, np.int64))
    for _ in range(2):
        assert np.array_equal(game.observations(packed), game.observations(states))
    assert check_game(game) > 20


@pytest.mark.compiled
def test_the_command_says_which_part_stays_in_plain_python_and_why(sources, capsys):
    check_command.main([f"game={__name__}:Spoken", "num_games=2"])
    assert "Its observation() stays in plain Python, for it cannot be compiled: test_decorator.py, line " in (
        capsys.readouterr().out
    )


class _Spoken(Weighing):
    def observation(self, state):
        return super().observation(state)


Spoken = compiled(_Spoken)


def test_methods_still_to_be_written_are_named():
    with pytest.raises(
        ValueError, match=r"Half must also define current_player, initial_state, legal_actions, outcome$"
    ):

        @compiled
        class Half(Game):
            def step(self, state, action):
                return state


def test_a_game_that_derives_from_a_compiled_one_is_to_be_compiled_too(sources):
    class Longer(Fast):
        def step(self, state, action):
            return super().step(state, action)

    with pytest.raises(ValueError, match="Longer derives from a compiled game: write @compiled above it too"):
        Longer()

    class Shorter(Fast):
        def legal_actions(self, state):
            return range(min(1, state.left))

    game = compiled(Shorter)()
    assert game.legal_actions(game.initial_state()) == range(1)
    assert check_game(game) > 20


@dataclass(frozen=True)
class Box:
    left: int


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ((12, (0, 1)), " of 64 bits, and its 1 is (0, 1)"),
        (State(None, 0, False), " of 64 bits, and its left is None"),
        (State(1 << 63, 0, False), " of 64 bits, and its left is 9223372036854775808"),
        ("............", ", and it starts with '............'"),
        (Box(12), ", and it starts with Box(left=12)"),
    ],
)
def test_a_state_that_cannot_be_compiled_is_named(start, reason, sources):
    class Otherwise(Weighing):
        def initial_state(self):
            return start

    needed = "Otherwise cannot be compiled: a state must be a flat NamedTuple, or tuple, of ints"
    with pytest.raises(ValueError, match=f"^{needed}{re.escape(reason)}$"):
        compiled(Otherwise)()


WRONG = """
from tests.games.test_decorator import Weighing, compiled
@compiled
class Wrong(Weighing):
    words = "of text"
"""


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("def current_player(self, state): return state.mover", "Unknown attribute 'mover' of type "),
        (
            "def step(self, state, action): return dict([1, 2, 3])",
            r"No implementation of function dict found for signature:",
        ),
    ],
)
def test_what_cannot_be_compiled_is_said_in_one_line_with_its_place(method, reason, tmp_path, sources, monkeypatch):
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    monkeypatch.setattr(sys, "path", sys.path.copy())
    path = tmp_path / "wrong_rules.py"
    path.write_text(f"{WRONG}    {method}\n")
    with pytest.raises(ValueError, match=reason) as error:
        load_game(f"{path}:Wrong")
    assert str(error.value).startswith("Wrong cannot be compiled: ")
    assert "\n" not in str(error.value)
    assert "wrong_rules.py, line 6: " in str(error.value)


def test_what_the_methods_read_of_the_game_must_be_numbers(sources):
    class Wordy(Weighing):
        words = ("of", "text")

        def outcome(self, state):
            return len(self.words)

    message = r"its methods read self.words, which must be a number or a tuple of numbers, not \('of', 'text'\)$"
    with pytest.raises(ValueError, match=message):
        compiled(Wordy)()


def test_an_error_while_the_rules_are_tried_is_told_as_one_of_compiling(monkeypatch, sources):
    def fail(*_):
        raise TypeError("missing a required argument: 'odd'")

    monkeypatch.setattr("azero.games.decorator.describe", fail)
    with pytest.raises(ValueError, match=r"^Weighing cannot be compiled: missing a required argument: 'odd'$"):
        Fast()


def test_a_method_that_is_none_or_has_no_source_is_refused():
    with pytest.raises(
        ValueError, match=r"Cached.step must be a plain method to be compiled, not a _lru_cache_wrapper"
    ):
        compiled(type("Cached", (Weighing,), {"step": lru_cache(Weighing.step)}))
    names = {}
    exec("def step(self, state, action):\n    return state", names)
    with pytest.raises(ValueError, match="step cannot be compiled without its source: save it in a file"):
        compiled(type("Typed", (Weighing,), {"step": names["step"]}))


def test_searches_that_differ_are_told_with_the_state_they_began_in(sources):
    game = Fast()
    game.step = lambda state, action: Weighing.step(game, state, action)._replace(left=0)
    with pytest.raises(
        LawError, match=r"weighing: searches with compiled and with plain rules must plant the same tree"
    ):
        check_trees(game, seed=1)


USERS = """
from typing import NamedTuple
from azero import Game, compiled
from least import LEAST

class State(NamedTuple):
    left: int
    player: int

class Heap(Game):
    name = "heap"
    num_actions = 2
    max_game_length = 9

    def initial_state(self):
        return State(5, 0)

    def current_player(self, state):
        return state.player

    def legal_actions(self, state):
        return range(min(2, state.left))

    def step(self, state, action):
        return State(max(0, state.left - LEAST - action), 1 - state.player)

    def outcome(self, state):
        return -1.0

Fast = compiled(Heap)
"""
CHECK = """
import sys
from azero import check_game, load_game
print(check_game(load_game(f"heap_of_five.py:{sys.argv[1]}"), num_games=1))
"""


class Negating(Game):
    """Take up to three from a heap, of which three count as two; who takes the last has won."""

    name, num_actions, max_game_length = "negating", 4, 12

    def initial_state(self):
        return (12, 0)

    def current_player(self, state):
        return state[1]

    def legal_actions(self, state):
        return list(range(1, min(3, state[0]) + 1))

    def step(self, state, action):
        change = -action
        return (state[0] + (-2 if change < -2 else change), 1 - state[1])

    def outcome(self, state):
        return -1.0


@pytest.mark.compiled
def test_an_action_is_a_signed_number_everywhere():
    assert check_trees(compiled(Negating)(), seed=1) > 200


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["Heap", "Fast"])
def test_an_edit_of_the_rules_or_of_what_they_import_is_seen_by_the_next_process(name, tmp_path):
    def num_states():
        """Of a random game, each state of which is the same in compiled and in plain rules."""
        places = {"AZERO_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-W", "error", "-c", CHECK, name]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | places, stdout=subprocess.PIPE, text=True, check=True
        )
        return int(done.stdout)

    rules, least = tmp_path / "heap_of_five.py", tmp_path / "least.py"
    rules.write_text(USERS)
    least.write_text("LEAST = 1")
    assert num_states() > 3
    least.write_text("LEAST = 3")
    assert num_states() == 3
    rules.write_text(USERS.replace("left - LEAST", "left - LEAST - 2"))
    assert num_states() == 2


@pytest.mark.compiled
def test_kernels_for_rules_that_another_process_has_made_are_forgotten(tmp_path):
    def check(code):
        places = {"AZERO_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
        code = f"import heap_of_five as heap; from azero import check_game, compiled; {code}"
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, env=os.environ | places, check=True
        )

    rules = USERS.replace("Fast = compiled(Heap)", "class Other(Heap): pass")
    (tmp_path / "heap_of_five.py").write_text(rules)
    (tmp_path / "least.py").write_text("LEAST = 1")
    check("check_game(compiled(heap.Heap)())")
    check("check_game(compiled(heap.Other)())")
