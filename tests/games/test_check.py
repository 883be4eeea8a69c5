"""`check_game` passes right games and says in one sentence what is wrong with any other."""

import itertools
import re
from typing import NamedTuple

import numpy as np
import pytest

from azero.check import describe_games, main
from azero.games.check import LawError, check_game
from azero.games.connect4 import Connect4
from azero.games.game import Symmetry
from azero.games.tictactoe import Rules, State, TicTacToe
from tests.games.plain import Heap, PlainTicTacToe, SeenHeap

ALL_WRONG = []


def wrong(message):
    """Put a game that breaks one law into the list, with the message that must say so."""

    def add(game_class):
        ALL_WRONG.append(pytest.param(game_class, message, id=game_class.__name__))
        return game_class

    return add


@wrong("NoName: a game must have a `name`, a string, not None")
class NoName(Heap):
    name = None


@wrong("heap: `num_actions` must be an integer above 0, not 0")
class NoActions(Heap):
    num_actions = 0


@wrong("heap: `max_game_length` must be an integer above 0, not 5.0")
class FractionalLength(Heap):
    max_game_length = 5.0


@wrong("heap: the text 'take' of action 0 must read back as 0, not as 2")
class AmbiguousActions(Heap):
    def action_text(self, action):
        return "take"


@wrong("heap: the text '0' of action 0 must read back as 0, not as KeyError('0')")
class UnreadActions(Heap):
    def parse_action(self, text):
        return {"one": 1, "two": 2}[text]


@wrong("heap: player 0 must move first, in the state\n(5, 1)")
class SecondPlayerFirst(Heap):
    def initial_state(self):
        return (5, 1)


@wrong("heap: a state must be hashable, not of <class 'list'>, in the state\n[5, 0]")
class ListState(Heap):
    def initial_state(self):
        return [5, 0]


@wrong("heap: legal actions must be ints in [0, 2), not [1, 2], in the state\n(5, 0)")
class TooFewActions(Heap):
    num_actions = 2


@wrong("heap: legal actions must be ints in [0, 3), not [-1, 1]")
class NegativeAction(Heap):
    def legal_actions(self, state):
        return [-1, 1]


@wrong("heap: legal actions must be ints in [0, 3), not [1.0, 2.0]")
class FloatActions(Heap):
    def legal_actions(self, state):
        return [1.0, 2.0]


@wrong("heap: legal actions must be ints in [0, 3), not [np.int64(1), np.int64(2)]")
class NumpyActions(Heap):
    def legal_actions(self, state):
        return list(np.arange(1, 3))


@wrong("heap: legal actions must be a list, or another sequence, not {1, 2}, in the state\n(5, 0)")
class UnorderedActions(Heap):
    def legal_actions(self, state):
        return set(super().legal_actions(state))


@wrong("heap: a state must not be None: is initial_state() to return one?, in the state\nNone")
class NoState(Heap):
    def initial_state(self):
        pass

    def current_player(self, state):
        return 0

    def legal_actions(self, state):
        return []


@wrong(
    "heap: step(state, 1) must return a state, which must be hashable, like a tuple, not [4, 1], in the state\n(5, 0)"
)
class ListSuccessor(Heap):
    def step(self, state, action):
        return list(super().step(state, action))


@wrong("heap: step(state, 1) must return a state, which must be hashable, like a tuple, not None, in the state\n(5, 0)")
class NoSuccessor(Heap):
    def step(self, state, action):
        super().step(state, action)


@wrong("heap: TypeError: NoParameter.current_player() takes 1 positional argument but 2 were given")
class NoParameter(Heap):
    def current_player(self):
        return 0


@wrong("heap: legal actions must be a list, or another sequence, not None, in the state\n(5, 0)")
class NoLegalActions(Heap):
    def legal_actions(self, state):
        pass


@wrong("heap: RuntimeError: oops, in the state\n(0, ")
class FailsAtTheEnd(Heap):
    def outcome(self, state):
        raise RuntimeError("oops")


@wrong("heap: step(state, 1) fails: ZeroDivisionError: integer division or modulo by zero, in the state\n(")
class DividesByZero(Heap):
    def step(self, state, action):
        return (state[0] - action, 1 // (state[0] - 2))


@wrong("heap: an outcome must be in [-1, 1], not None, in the state\n(0, ")
class NoOutcome(Heap):
    def outcome(self, state):
        pass


@wrong("heap: legal actions must be distinct and ascending, not [2, 1]")
class DescendingActions(Heap):
    def legal_actions(self, state):
        return super().legal_actions(state)[::-1]


@wrong("heap: legal actions must be distinct and ascending, not [1, 1, 2]")
class RepeatedActions(Heap):
    def legal_actions(self, state):
        return [1, *super().legal_actions(state)]


@wrong("heap: is_terminal() is True where legal are [1, 2], but a state is terminal if and only if none is, in the")
class PlaysOnAfterTheEnd(Heap):
    def is_terminal(self, state):
        return state[0] <= 2


@wrong("heap: is_terminal() is False where legal are [], but a state is terminal if and only if none is, in the")
class NeverOver(Heap):
    def is_terminal(self, state):
        return False


@wrong("heap: the player to move must be 0 or 1, not 2, in the state")
class ThirdPlayer(Heap):
    def step(self, state, action):
        return (state[0] - action, state[1] + 1)


class Box:
    """A state that can be changed."""

    def __init__(self, left):
        self.left = left

    def __eq__(self, other):
        return self.left == other.left

    def __hash__(self):
        return 1

    def __repr__(self):
        return f"Box({self.left})"


@wrong("heap: a step must leave its state as it was, but action 1 changed it, in the state")
class ChangesItsState(Heap):
    def initial_state(self):
        return Box(100)

    def current_player(self, state):
        return state.left % 2

    def legal_actions(self, state):
        return [1, 2]

    def step(self, state, action):
        state.left -= action
        return Box(state.left)


@wrong("heap: a step must always lead to the same state, but action 1 does not, in the state\n(5, 0)")
class RollsDice(Heap):
    dice = itertools.count()

    def step(self, state, action):
        return (next(self.dice), 1)


@wrong("heap: a game must end within max_game_length = 2 actions, not go on, in the state")
class TooLong(Heap):
    max_game_length = 2


@wrong("heap: an outcome must be in [-1, 1], not -10.0, in the state\n(0, ")
class LargeOutcome(Heap):
    def outcome(self, state):
        return -10.0


@wrong("heap: an outcome must be in [-1, 1], not nan, in the state\n(0, ")
class UnknownOutcome(Heap):
    def outcome(self, state):
        return float("nan")


@wrong("heap: the text of a state must read back as (5, 0), not as 5; write parse_state too, in the state\n5")
class ForgetsThePlayer(Heap):
    def state_text(self, state):
        return str(state[0])


@wrong("not as (0, 0); write state_text too, in the state\n(5, 0)")
class UnwrittenState(Heap):
    def parse_state(self, text):
        return (0, 0)


@wrong("heap: the text of a state must read back as (5, 0), not as ValueError(")
class UnreadState(Heap):
    def state_text(self, state):
        return "a heap of " + str(state[0])


@wrong("heap: observation_shape must be (planes, rows, columns), not (6,)")
class UndeclaredObservation(SeenHeap):
    observation_shape = (6,)


@wrong("heap: observation() gives (1, 1, 6), but observation_shape says (2, 1, 6)")
class MisdeclaredObservation(SeenHeap):
    observation_shape = (2, 1, 6)


@wrong("heap: an observation must be finite float32[1, 1, 6], not float64[1, 1, 6] [[[")
class DoubleObservation(SeenHeap):
    def observation(self, state):
        return super().observation(state).astype(np.float64)


@wrong("heap: an observation must be finite float32[1, 1, 6], not float32[1, 1, 6] [[[nan")
class UnknownObservation(SeenHeap):
    def observation(self, state):
        return super().observation(state) / np.float32(state[0] or np.nan)


@wrong("heap: an observation must be finite float32[1, 1, 6], not float32[1, 1, 5] [[[")
class ShrinkingObservation(SeenHeap):
    def observation(self, state):
        return super().observation(state)[:, :, : 1 + max(state[0], 4)]


@wrong("heap: a state must look the same in observation() and in observations(), in the state\n(5, 0)")
class OtherObservations(SeenHeap):
    def observations(self, states):
        return 1 - super().observations(states)


@wrong("heap: finished games that look the same to the mover must have one outcome, not ")
class ResultOfTheFirstPlayer(SeenHeap):
    def outcome(self, state):
        return -1.0 if state[1] == 0 else 1.0


class Mirrored(PlainTicTacToe):
    """Tic-tac-toe with one symmetry, the mirror image."""

    name = "mirrored"
    actions = cells = (2, 1, 0, 5, 4, 3, 8, 7, 6)

    def symmetries(self):
        return [Symmetry(self.image, self.actions, self.cells)]

    def image(self, state):
        cells, player = state
        return tuple(cells[cell] for cell in Mirrored.cells), player


@wrong("mirrored: a symmetry must permute all 9 actions, not be (0, 0, 0, 0, 0, 0, 0, 0, 0)")
class MirrorMergesActions(Mirrored):
    actions = (0,) * 9


@wrong("mirrored: a symmetry must permute all 3 x 3 cells, not be (2, 1, 0)")
class MirrorLosesCells(Mirrored):
    cells = (2, 1, 0)


@wrong("mirrored: a symmetry (of actions (2, 1, 0, 5, 4, 3, 8, 7, 6)) must leave the player to move, in the state\n((")
class MirrorSwapsPlayers(Mirrored):
    def image(self, state):
        cells, player = super().image(state)
        return cells, 1 - player


@wrong("must move the legal actions along, in the state\n((")
class MirrorOfCrookedRules(Mirrored):
    def legal_actions(self, state):
        return [action for action in super().legal_actions(state) if action > 0]


@wrong("must leave the outcome, in the state\n((")
class MirrorOfCrookedOutcome(Mirrored):
    def outcome(self, state):
        return super().outcome(state) * (0.5 if state[0][0] == "." else 1)


@wrong("must commute with step, but with action 0 it does not, in the state\n((")
class MirrorForgetsThePolicy(Mirrored):
    actions = tuple(range(9))


@wrong("mirrored: a symmetry must move an observation's cells along, but (0, 1, 2, 3, 4, 5, 6, 7, 8) does not, in")
class MirrorForgetsTheCells(Mirrored):
    cells = tuple(range(9))


@wrong("tictactoe: a compiled game's state must consist of 64-bit integers, unlike ")
class WideState(TicTacToe):
    def initial_state(self):
        return State(0, 0, 1 << 64, 0)

    def parse_state(self, text):
        return super().parse_state(text)._replace(num_stones=(1 << 64) + 9 - text.count("."))


@wrong("tictactoe: a compiled game's state must consist of 64-bit integers, unlike ")
class HalfState(TicTacToe):
    def initial_state(self):
        return State(0, 0, 0, 0.5)

    def symmetries(self):
        return ()

    def parse_state(self, text):
        return super().parse_state(text)._replace(lost=0.5)


@wrong("tictactoe: step(state, 0) leads beyond 64 bits, which compiled rules cannot, to ")
class CountsTooFar(TicTacToe):
    def step(self, state, action):
        return super().step(state, action)._replace(num_stones=state.num_stones + (1 << 63))

    def symmetries(self):
        return ()


@wrong("tictactoe: compiled rules must say what plain Python says, (1, [], [], 0.0), not (1, [")
class RulesOverriddenInTheGame(TicTacToe):
    def legal_actions(self, state):
        return [] if state.num_stones == 5 else super().legal_actions(state)


@wrong("tictactoe: compiled rules must observe what plain Python observes, in the state\n")
class ObservationOverriddenInTheGame(TicTacToe):
    def observation(self, state):
        return 1 - super().observation(state)


class ListRules(NamedTuple):
    """Tic-tac-toe by rules that work on the lists of plain Python, and not on the arrays of kernels."""

    def write_legal_actions(self, state, out):
        out.copy().extend([])
        return Rules().write_legal_actions(state, out)

    initial_state, current_player, step, outcome = Rules.initial_state, Rules.current_player, Rules.step, Rules.outcome


@wrong("tictactoe: the rules must compile, but ")
class Uncompilable(TicTacToe):
    def __init__(self):
        self.rules = ListRules()


@pytest.mark.parametrize(("game_class", "message"), ALL_WRONG)
def test_a_wrong_game_is_told_what_is_wrong_and_where(game_class, message, sources):
    with pytest.raises(LawError, match=re.escape(message)):
        check_game(game_class())


@pytest.mark.parametrize("game", [Heap(), SeenHeap(), PlainTicTacToe(), Mirrored(), TicTacToe(), Connect4()])
def test_a_right_game_passes_be_it_plain_or_compiled_seen_or_unseen(game):
    assert check_game(game, num_games=5) > 5 * 3


def test_the_same_seed_checks_the_same_games():
    assert check_game(Heap(), seed=3) == check_game(Heap(), seed=3)
    assert len({check_game(Heap(), seed=seed) for seed in range(10)}) > 1


def test_no_game_is_checked_if_none_is_asked_for_but_the_facts_are():
    assert check_game(Heap(), num_games=0) == 0
    with pytest.raises(LawError, match="num_actions"):
        check_game(NoActions(), num_games=0)


def test_the_command_says_that_every_law_holds_and_where_it_looked(capsys):
    main(["game=tictactoe", "num_games=3"])
    first, games, second = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"tictactoe keeps every law in \d\d states of 3 random games", first)
    assert re.fullmatch(r"X wins \d+%, O wins \d+%, draws \d+%; \d to \d actions long; 9 of 9 actions seen", games)
    assert re.fullmatch(r"Compiled and plain rules plant the same 10 trees, \d+ nodes in all", second)


class HalfHeap(SeenHeap):
    """What keeps the laws and is odd all the same: halves, actions that never come."""

    num_actions = 5

    def initial_state(self):
        return (5, 0, 0.5)

    def step(self, state, action):
        return (*super().step(state[:2], action), 0.5)


class FirstPlayersView(PlainTicTacToe):
    def observation(self, state):
        cells, _ = state
        return super().observation((cells, 0))


class UnseenTicTacToe(PlainTicTacToe):
    def observation(self, state):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("game", "said"),
    [
        (HalfHeap(), "3 to 5 actions long; 2 of 5 actions seen, never 0 3 4; states hold floating-point numbers"),
        (FirstPlayersView(), "observation() only ever fills up: does it begin with the stones of the player to move?"),
        (UnseenTicTacToe(), "9 of 9 actions seen; no observation(): a network cannot learn it"),
    ],
)
def test_what_is_odd_about_a_game_that_keeps_the_laws_is_shown(game, said):
    assert check_game(game) > 20
    assert said in describe_games(game, num_games=20, seed=0)


def test_a_game_seen_from_the_movers_side_is_not_wondered_at():
    assert describe_games(PlainTicTacToe(), num_games=20, seed=0).endswith("9 of 9 actions seen")


def test_the_command_tells_a_terminal_what_it_is_doing(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")  # what rich takes for a terminal
    main(["game=tictactoe", "num_games=3"])
    assert "playing 3 random games of tictactoe" in capsys.readouterr().out


def test_the_command_ends_with_an_error_that_names_the_broken_law(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["game=tests.games.test_check:SecondPlayerFirst"])
    assert exit_.value.code == 2
    assert "error: heap: player 0 must move first, in the state\n(5, 1)" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["game=tictactoe", "num_games=0"])
    assert "num_games must be at least 1, got 0" in capsys.readouterr().err
