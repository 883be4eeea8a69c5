"""What the contract itself brings: defaults, and the helpers that read a game."""

import numpy as np
import pytest

from azero.games import load_game
from azero.games.game import IllegalActionError, result_text, state_after, winner
from azero.games.tictactoe import TicTacToe
from tests.games.plain import Heap, PlainTicTacToe, SeenHeap

HEAP = Heap()
FIRST_TAKES_THE_LAST, SECOND_TAKES_THE_LAST = [2, 2, 1], [2, 1, 1, 1]


def test_whoever_takes_the_last_has_won_seen_from_either_player():
    first, second = state_after(HEAP, FIRST_TAKES_THE_LAST), state_after(HEAP, SECOND_TAKES_THE_LAST)
    assert (HEAP.current_player(first), HEAP.outcome(first), winner(HEAP, first)) == (1, -1, 0)
    assert (HEAP.current_player(second), HEAP.outcome(second), winner(HEAP, second)) == (0, -1, 1)
    assert [result_text(HEAP, state) for state in (first, second)] == ["X wins", "O wins"]


def test_a_mover_who_has_won_is_the_winner():
    class LastTakerLoses(Heap):
        def outcome(self, state):
            return 1.0

    assert winner(LastTakerLoses(), state_after(HEAP, FIRST_TAKES_THE_LAST)) == 1


def test_an_unfinished_game_has_no_winner_and_no_result():
    for question in (winner, result_text):
        with pytest.raises(ValueError, match="this game of heap is not over"):
            question(HEAP, HEAP.initial_state())


def test_a_sequence_of_actions_stops_at_the_first_illegal_one():
    assert state_after(HEAP, []) == (5, 0)
    with pytest.raises(IllegalActionError, match=r"^heap: 2 is not legal here; legal: 1$"):
        state_after(HEAP, [2, 2, 2, 1])
    with pytest.raises(IllegalActionError, match=r"^heap: 1 is not legal here; legal: none, the game is over$"):
        state_after(HEAP, [2, 2, 1, 1])


def test_actions_are_written_as_numbers_unless_a_game_says_otherwise():
    assert HEAP.action_text(2) == "2"
    assert HEAP.parse_action(" 2\n") == 2
    for text in ("3", "-1", "two", "", "2.0"):
        with pytest.raises(ValueError, match=f"'{text}' is no action of heap; allowed: 0 1 2"):
            HEAP.parse_action(text)


def test_states_of_plain_python_are_written_as_python_writes_them():
    assert HEAP.state_text((3, 1)) == "(3, 1)"
    assert HEAP.parse_state("(3, 1)") == (3, 1)
    for text in ("three", "(3, 1", "1 +", ""):
        with pytest.raises(ValueError, match="shows no state of heap; one is '\\(5, 0\\)'"):
            HEAP.parse_state(text)


def test_a_game_without_observation_says_so_when_a_network_asks():
    with pytest.raises(NotImplementedError, match="Heap has no observation"):
        HEAP.observation((5, 0))
    assert HEAP.symmetries() == ()


def test_observations_of_many_states_are_stacked():
    game = SeenHeap()
    assert game.observations([(5, 0), (0, 1)]).tolist() == [[[[0, 0, 0, 0, 0, 1]]], [[[1, 0, 0, 0, 0, 0]]]]


def test_a_plain_and_a_compiled_game_of_the_same_rules_agree():
    plain, compiled = PlainTicTacToe(), TicTacToe()
    actions = [4, 0, 2, 6, 3, 5, 1, 7]
    for length in range(len(actions)):
        ours, theirs = state_after(plain, actions[:length]), state_after(compiled, actions[:length])
        assert plain.legal_actions(ours) == compiled.legal_actions(theirs)
        assert np.array_equal(plain.observation(ours), compiled.observation(theirs))


def test_a_message_lists_the_first_of_many_actions_only():
    game = load_game("gomoku")
    with pytest.raises(IllegalActionError, match=r"legal: a15 b15 .* j13 \.\.\.$") as refusal:
        game.check_action(game.initial_state(), 300)
    assert len(str(refusal.value)) < 250
    with pytest.raises(ValueError, match=r"'z99' is no action of mnk.*allowed: a15 b15 .* j13 \.\.\.$"):
        game.parse_action("z99")
