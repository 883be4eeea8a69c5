"""Compiled games: packed states, batches, and what keeps one game's rules from being taken for another's."""

from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from azero._jit import dispatched, kernel, pack
from azero.evaluators.rollout import RolloutEvaluator
from azero.games import load_game
from azero.games.batch import batch_of
from azero.games.compiled import CompiledGame, PackedStates, canonical, write_key, write_legal_actions
from azero.games.connect4 import Connect4
from azero.games.game import state_after
from azero.games.tictactoe import TicTacToe
from azero.search.forest import SearchOptions
from azero.search.mcts import MCTS, Budget
from azero.search.uct import UCT
from tests.games.plain import Heap
from tests.games.playing import ALL_GAMES, random_game, states_along

GAME = Connect4()
STATES = list(states_along(GAME, random_game(GAME, 1)))[:-1]


class CounterState(NamedTuple):
    counted: int
    player: int


class CounterRules(NamedTuple):
    """Count to a goal; no observation."""

    goal: int

    def initial_state(self):
        return CounterState(0, 0)

    def current_player(self, state):
        return state.player

    def write_legal_actions(self, state, out):
        out[0] = 0
        return 1 if state.counted < self.goal else 0

    def step(self, state, action):
        return CounterState(state.counted + 1, 1 - state.player)

    def outcome(self, state):
        return -1.0


def counter(goal):
    class Counter(CompiledGame):
        name = "counter"
        num_actions = 1

        def __init__(self):
            self.rules = CounterRules(goal)

    return Counter()


def packed(states):
    rows = np.zeros((len(states), len(states[0])), np.int64)
    for state, row in zip(states, rows, strict=True):
        pack(state, row)
    return PackedStates(GAME.initial_state(), rows)


def test_rules_may_have_parameters_and_the_cache_sees_their_file(sources):
    assert [len(random_game(counter(goal), seed=0)) for goal in (2, 5)] == [2, 5]
    assert sources[0] == __file__


def test_rules_in_the_class_have_their_file_seen_when_it_is_made(sources):
    class CountToThree(CompiledGame):
        rules = CounterRules(3)

    class StillToThree(CountToThree):
        pass

    assert sources[0] == __file__
    assert sources.count(__file__) == 1
    assert StillToThree.rules.goal == 3


def test_states_of_compiled_rules_must_be_named_tuples(sources):
    class Unnamed(CounterRules):
        def initial_state(self):
            return (0, 0)

    with pytest.raises(ValueError, match="must be NamedTuples, and tuple is not"):

        class Unnameable(CompiledGame):
            rules = Unnamed(3)

    assert sources == []


def test_the_cache_sees_what_the_file_of_the_rules_imports_but_nothing_installed(sources):
    counter(2)
    assert {Path(source).name for source in sources} >= {"test_compiled.py", "plain.py", "playing.py", "games.py"}
    assert not any(
        "numpy" in source or "/azero/" in source.removeprefix(str(Path(__file__).parents[2])) for source in sources
    )


def test_a_compiled_game_without_a_picture_is_written_as_its_fields(sources):
    game = counter(3)
    state = state_after(game, [0, 0])
    assert game.state_text(state) == "CounterState(counted=2, player=0)"
    assert game.parse_state(" CounterState(counted=2, player=0)\n") == state
    assert game.parse_state("State(player=0, counted=2)") == state


def test_a_compiled_game_without_observation_says_so(sources):
    game = counter(3)
    with pytest.raises(NotImplementedError, match="Counter has no observation"):
        game.observation(game.initial_state())


@dispatched
def initial_state(rules):
    """For a kernel that starts a game."""


@kernel
def num_first_actions(rules, actions):
    """Takes no state, so that nothing but the rules tells Numba which game it is."""
    return write_legal_actions(rules, initial_state(rules), actions)


def test_kernels_tell_games_apart_whose_rules_have_the_same_name_and_fields():
    assert type(TicTacToe.rules).__qualname__ == type(Connect4.rules).__qualname__ == "Rules"
    actions = np.zeros(9, np.int32)
    for _ in range(2):
        assert num_first_actions(TicTacToe.rules, actions) == 9
        assert num_first_actions(Connect4.rules, actions) == 7


def test_packed_states_are_a_sequence_of_the_states():
    sequence = packed(STATES)
    assert len(sequence) == len(STATES)
    assert list(sequence) == STATES
    assert sequence[-1] == STATES[-1]
    assert list(sequence[2:5]) == STATES[2:5]
    assert list(sequence[np.array([3, 0])]) == [STATES[3], STATES[0]]
    assert all(type(field) is int for field in sequence[np.int64(4)])
    with pytest.raises(IndexError):
        sequence[len(STATES)]


def test_packed_states_look_the_same_as_unpacked_ones():
    assert np.array_equal(GAME.observations(packed(STATES)), GAME.observations(STATES))


def test_the_keys_of_a_batch_are_equal_exactly_when_the_states_are():
    states = [STATES[3], STATES[4], STATES[3]]
    for batch in (batch_of(GAME, states), batch_of(GAME, packed(states))):
        keys = batch.keys()
        assert keys[0] == keys[2] != keys[1]
        assert len(set(keys)) == 2


def test_a_batch_knows_the_legal_actions_and_gives_each_state_a_stream_of_its_own():
    game = Heap()
    batch = batch_of(game, [(5, 0), (1, 1)], stream=7)
    assert len(batch) == 2
    assert batch.legal.tolist() == [[False, True, True], [False, True, False]]
    assert batch.streams.tolist() == [7, 8]


def test_a_part_of_a_batch_keeps_what_belongs_to_each_state():
    for states in (STATES, packed(STATES)):
        batch = batch_of(GAME, states)
        part = batch.take([5, 2])
        assert list(part.states) == [STATES[5], STATES[2]]
        assert np.array_equal(part.legal, batch.legal[[5, 2]])
        assert part.streams.tolist() == [5, 2]
        assert len(batch.take([])) == 0


class MarkedState(NamedTuple):
    marks: int


class MarkingRules(NamedTuple):
    """Mark one of three cells after the other; the free ones are kept in a list and an array."""

    def initial_state(self):
        return MarkedState(0)

    def current_player(self, state):
        return 0

    def write_legal_actions(self, state, out):
        free = [cell for cell in range(3) if not state.marks >> cell & 1]
        actions = np.zeros(3, np.int32)
        for i, cell in enumerate(free):
            actions[i] = cell
        out[: len(free)] = actions[: len(free)]
        return len(free)

    def step(self, state, action):
        return MarkedState(state.marks | 1 << action)

    def outcome(self, state):
        return 1.0


def test_compiled_rules_may_make_arrays_and_lists():
    class Marking(CompiledGame):
        name = "marking"
        num_actions = max_game_length = 3
        rules = MarkingRules()

    game = Marking()
    search = MCTS(game, RolloutEvaluator(), UCT(), SearchOptions(proven_values=False))
    result = search.search(game.initial_state(), Budget(simulations=100), stream=1)
    assert result.visit_counts.sum() == 100
    assert result.value == 1


def test_without_symmetries_a_state_stands_for_itself() -> None:
    state = (1, 2)
    assert canonical(object(), state) is state


def test_a_state_without_a_shorter_key_is_known_by_its_fields():
    state, key = Connect4().initial_state(), np.ones(4, np.int64)
    write_key(object(), state, key)
    assert key.tolist() == list(state)


@pytest.mark.parametrize("game", [*ALL_GAMES, load_game("nim(heaps=3-1-2-1-2-1)")], ids=lambda game: game.name)
def test_in_every_game_all_images_of_a_state_have_one_canonical_image_among_them(game):
    for state in islice(states_along(game, random_game(game, seed=5)), 30):
        images = {state, *(symmetry.state(state) for symmetry in game.symmetries())}
        canonicals = {canonical(game.rules, image) for image in images}
        assert canonicals <= images
        assert len(canonicals) == 1 or canonicals == images  # a game that has no canonical image tells none apart
