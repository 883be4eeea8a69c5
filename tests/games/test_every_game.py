"""What holds for every game of azero, and a new one gets for free: laws, twins, and OpenSpiel's opinion."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists

import azero.games
from azero._jit import below, draw, kernel
from azero.games import GAMES, load_game
from azero.games.check import check_game
from azero.games.compiled import current_player, outcome, step, write_key, write_legal_actions
from azero.games.game import IllegalActionError, listed, state_after
from tests.games.playing import ALL_GAMES, COMPILED, assert_same_game, random_game, states_along
from tests.naive import games as naive
from tests.naive.breakthrough import Breakthrough as NaiveBreakthrough
from tests.naive.dots_and_boxes import DotsAndBoxes as NaiveDotsAndBoxes
from tests.naive.hex import Hex as NaiveHex
from tests.naive.mnk import Mnk as NaiveMnk
from tests.naive.nim import Nim as NaiveNim
from tests.naive.othello import Othello as NaiveOthello


def same(number):
    """The number of an action that has the same one in OpenSpiel."""
    return number


def without_capture(number):
    """Breakthrough's cell and way from OpenSpiel's cell, direction (three for either player) and capture."""
    return 3 * (number // 12) + number // 2 % 3


TWINS = {
    "breakthrough": NaiveBreakthrough(),
    "connect4": naive.Connect4(),
    "dots_and_boxes": NaiveDotsAndBoxes(),
    "hex": NaiveHex(),
    "mnk": NaiveMnk(),
    "mnk(rows=15,columns=15,line=5)": NaiveMnk(15, 15, 5),
    "nim": NaiveNim(),
    "nim(heaps=5,take=2)": NaiveNim((5,), 2),
    "othello": NaiveOthello(),
    "othello(size=6)": NaiveOthello(6),
    "tictactoe": naive.TicTacToe(),
}
OPEN_SPIEL = {  # each game as OpenSpiel calls it, and what its actions are in azero
    "breakthrough": ("breakthrough", without_capture),
    "breakthrough(rows=5,columns=4,ranks=1)": ("breakthrough(rows=5,columns=4)", without_capture),
    "connect4": ("connect_four", same),
    "dots_and_boxes": ("dots_and_boxes(num_rows=3,num_cols=3)", same),
    "dots_and_boxes(rows=4,columns=2)": ("dots_and_boxes(num_rows=4,num_cols=2)", same),
    "hex(size=5)": ("hex(board_size=5)", same),
    "hex(size=4,swap=yes)": ("hex(board_size=4,swap=true)", same),
    "mnk": ("mnk(m=3,n=3,k=3)", same),
    "mnk(rows=5,columns=6,line=4)": ("mnk(m=6,n=5,k=4)", same),
    "nim": ("nim(pile_sizes=3;4;5,is_misere=false)", same),
    "nim(heaps=1-3-5-7,misere=yes)": ("nim(pile_sizes=1;3;5;7,is_misere=true)", same),
    "othello": ("othello", same),
    "tictactoe": ("tic_tac_toe", same),
}
NUM_GAMES = int(os.environ.get("AZERO_TEST_GAMES", "2000"))  # played against OpenSpiel; at night 100,000
MACHINERY = {
    "__init__",
    "batch",
    "blame",
    "board",
    "check",
    "compiled",
    "decorator",
    "game",
    "moves",
    "openspiel",
    "sequences",
    "suggest",
    "translate",
}
every_game = pytest.mark.parametrize("game", ALL_GAMES, ids=lambda game: game.name)


def games_of(game, most):
    """How many games are played: fewer of those that are long and broad."""
    return max(1, min(most, 50_000 // (game.num_actions * game.max_game_length)))


def test_every_file_of_a_game_is_in_the_list_of_games():
    files = {path.stem for path in Path(azero.games.__file__).parent.glob("*.py")} - MACHINERY
    assert files == {place.removeprefix("azero.games.").partition(":")[0] for place in GAMES.values()}
    assert [load_game(game.name).name for game in ALL_GAMES] == [game.name for game in ALL_GAMES]


@every_game
def test_the_laws_hold(game):
    assert check_game(game, num_games=games_of(game, 50 if COMPILED else 10), seed=1) > 0


@pytest.mark.parametrize("game", [game for game in ALL_GAMES if "(" not in game.name], ids=lambda game: game.name)
def test_the_fact_sheet_agrees_with_the_game(game):
    sheet = dict(re.findall(r"^(\w+): (.+)$", sys.modules[type(game).__module__].__doc__, re.MULTILINE))
    assert list(sheet) == ["Players", "Actions", "Observation", "Outcome", "End", "Symmetries"]

    def numbers(heading):
        return [int(number) for number in re.findall(r"(?<![\w.])-?\d+\b", sheet[heading])]

    results = {
        game.outcome(state_after(game, random_game(game, seed)))
        for seed in range(500 if game.num_actions < 100 else 50)
    }
    assert sheet["Players"] == "{} (player 0) and {}.".format(*game.player_names)
    assert numbers("Actions")[0] == game.num_actions
    assert f"float32{list(game.observation_shape)}" in sheet["Observation"]
    assert set(numbers("Outcome")) == results
    assert numbers("End") == [game.max_game_length]
    assert numbers("Symmetries") == [1 + len(game.symmetries())]


@every_game
def test_the_naive_twin_plays_the_same_games(game):
    for seed in range(games_of(game, 100)):
        assert_same_game(game, TWINS[game.name], random_game(game, seed))


def recorded_games(game, num_games, block=100):
    """Random games: actions, players to move, which actions are legal, lengths, results for the first player."""
    for first in range(0, num_games, block):
        actions, players = np.zeros((2, block, game.max_game_length + 1), np.int64)
        allowed = np.zeros((*actions.shape, game.num_actions), np.bool_)
        record = (actions, players, allowed, np.zeros(block, np.int64), np.zeros(block, np.float64))
        record_games(game.rules, game.initial_state(), draw(0, first), record, np.zeros(game.num_actions, np.int32))
        yield from zip(*record, strict=True)


@kernel
def record_games(rules, start, stream, record, legal):
    actions, players, allowed, lengths, results = record
    for g in range(len(lengths)):
        state, ply = start, 0
        while True:
            num_legal = write_legal_actions(rules, state, legal)
            players[g, ply] = current_player(rules, state)
            for i in range(num_legal):
                allowed[g, ply, legal[i]] = True
            if num_legal == 0:
                break
            action = int(legal[below(draw(draw(stream, g), ply), num_legal)])
            actions[g, ply] = action
            state = step(rules, state, action)
            ply += 1
        lengths[g] = ply
        results[g] = outcome(rules, state) if current_player(rules, state) == 0 else -outcome(rules, state)


@pytest.mark.parametrize("name", OPEN_SPIEL)
def test_open_spiel_agrees_on_every_move_of_random_games(name):
    game, (reference, translated) = load_game(name), OPEN_SPIEL[name]
    reference = pyspiel.load_game(reference)
    for actions, players, allowed, length, result in recorded_games(game, NUM_GAMES if COMPILED else 100):
        state = reference.new_initial_state()
        for action, player, legal in zip(actions[:length].tolist(), players.tolist(), allowed, strict=False):
            theirs = {translated(number): number for number in state.legal_actions()}
            assert state.current_player() == player
            assert sorted(theirs) == np.flatnonzero(legal).tolist()
            state.apply_action(theirs[action])
        assert state.is_terminal()
        assert state.returns() == [result, -result]


positions = lists(integers(0, 1 << 30), max_size=42)


def position(game, choices):
    """The state that the choices lead to, each taken as one of the legal actions."""
    state = game.initial_state()
    for choice in choices:
        if legal := game.legal_actions(state):
            state = game.step(state, legal[choice % len(legal)])
    return state


@every_game
@given(choices=positions)
def test_a_position_is_read_back_from_its_text(game, choices):
    state = position(game, choices)
    assert game.parse_state(game.state_text(state)) == state


@every_game
def test_the_key_of_a_state_tells_it_from_all_others(game):
    known = {}
    for seed in range(20):
        for state in states_along(game, random_game(game, seed)):
            key = np.zeros(getattr(game.rules, "key_width", len(state)), np.int64)
            write_key(game.rules, state, key)
            assert known.setdefault(tuple(key.tolist()), state) == state


@every_game
@given(choices=positions)
def test_every_symmetry_can_be_undone_by_a_symmetry(game, choices):
    state = position(game, choices)
    for symmetry in game.symmetries():
        assert any(other.state(symmetry.state(state)) == state for other in game.symmetries())


@every_game
@given(choices=positions)
def test_a_policy_mirrored_with_its_board_chooses_the_mirrored_move(game, choices):
    state = position(game, choices)
    policy = np.arange(game.num_actions)  # tells every action from every other
    for symmetry in game.symmetries():
        moved = np.zeros(game.num_actions)
        moved[list(symmetry.actions)] = policy
        image = symmetry.state(state)
        for action in game.legal_actions(image)[:: 1 + game.num_actions // 50]:
            assert game.step(image, action) == symmetry.state(game.step(state, int(moved[action])))


def test_stones_played_by_one_player_in_another_order_give_the_same_position():
    for name in ("connect4", "tictactoe"):
        game = load_game(name)
        for seed in range(100):
            first, second, third, fourth = actions = random_game(game, seed)[:4]
            if len(set(actions)) == 4:
                assert state_after(game, actions) == state_after(game, [third, second, first, fourth])


@every_game
@pytest.mark.parametrize("action", [-1, "beyond", 3.0, "3", None, 10**30, float("nan"), [3]])
def test_an_action_that_is_none_of_the_legal_ones_is_refused_and_changes_nothing(game, action):
    action = game.num_actions if action == "beyond" else action
    state = position(game, [1, 0])
    legal, text = game.legal_actions(state), game.state_text(state)
    names = listed(map(game.action_text, legal))
    complaint = re.escape(f"{game.name}: {action!r} is not legal here; legal: {names}")
    with pytest.raises(IllegalActionError, match=f"^{complaint}$"):
        game.step(state, action)
    assert (game.legal_actions(state), game.state_text(state)) == (legal, text)


@every_game
def test_actions_of_numpy_are_taken_and_leave_plain_integers_behind(game):
    action = game.legal_actions(game.initial_state())[0]
    state = game.step(game.initial_state(), np.int64(action))
    assert state == state_after(game, [action])
    assert all(type(field) is int for field in state)


@every_game
def test_searching_on_from_a_state_does_not_change_it(game):
    state = game.initial_state()
    before = hash(state), game.state_text(state)
    for seed in range(20):
        state_after(game, random_game(game, seed))
    one, other = game.legal_actions(state)[:2]
    first, second = game.step(state, one), game.step(state, other)
    game.step(first, game.legal_actions(first)[0])
    assert (hash(state), game.state_text(state)) == before
    assert second == game.step(state, other)
