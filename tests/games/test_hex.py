import random

import pyspiel
import pytest
from hypothesis import given
from hypothesis.strategies import integers

from azero.games import load_game
from azero.games.check import check_game
from azero.games.game import result_text, state_after
from azero.games.hex import Hex
from tests.games.playing import layers, random_game, states_along
from tests.naive import hex as naive
from tests.naive import minimax

FOUR = Hex(4)
SWAPPING = Hex(4, swap=True)


def played(game, text):
    return state_after(game, map(game.parse_action, text.split()))


def values(game):
    """What each first action is worth to who begins."""
    results = minimax.action_results(game, game.initial_state(), game.max_game_length, {})
    return {game.action_text(action): value for action, (value, _) in results.items()}


def test_on_2_x_2_and_3_x_3_who_begins_wins_with_the_known_first_moves_only():
    assert {text for text, value in values(Hex(2)).items() if value > 0} == {"b1", "a2"}
    assert {text for text, value in values(Hex(3)).items() if value > 0} == {"c1", "a2", "b2", "c2", "a3"}


@pytest.mark.parametrize("size", [2, 3])
def test_with_the_swap_rule_the_second_player_wins_whatever_the_first_stone(size):
    assert set(values(Hex(size, swap=True)).values()) == {-1.0}


@pytest.mark.parametrize("swap", [False, True])
def test_the_numbers_of_positions_are_those_of_the_naive_twin(swap):
    sizes = [[len(layer) for layer in layers(game)] for game in (Hex(3, swap), naive.Hex(3, swap))]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize(("size", "swap"), [(2, False), (3, True), (5, False), (14, True)])
def test_boards_of_any_size_keep_the_laws_and_agree_with_the_naive_twin(size, swap):
    game, twin = Hex(size, swap), naive.Hex(size, swap)
    assert check_game(game, num_games=1 if size == 14 else 5, seed=1) > 0
    for seed in range(3):
        actions = random_game(game, seed)
        for state, other in zip(states_along(game, actions), states_along(twin, actions), strict=True):
            assert game.legal_actions(state) == twin.legal_actions(other)
            assert game.state_text(state) == twin.picture(other)
        assert game.outcome(state) == twin.outcome(other)


@pytest.mark.parametrize("size", [3, 5, 11])
@pytest.mark.parametrize("swap", [False, True])
def test_names_turns_and_ends_are_those_of_open_spiel(size, swap):
    game = Hex(size, swap)
    reference = pyspiel.load_game("hex", {"board_size": size, "swap": swap})
    assert game.num_actions == reference.num_distinct_actions()
    for seed in range(40):
        rng = random.Random(seed)
        state, theirs = game.initial_state(), reference.new_initial_state()
        while not theirs.is_terminal():
            names = [theirs.action_to_string(action) for action in theirs.legal_actions()]
            assert [game.action_text(action) for action in game.legal_actions(state)] == names
            assert game.current_player(state) == theirs.current_player()
            action = game.num_actions - 1 if seed % 2 and "swap" in names else rng.choice(game.legal_actions(state))
            state = game.step(state, action)
            theirs.apply_action(action)
        assert game.is_terminal(state)
        assert (theirs.returns()[0] > 0) == (result_text(game, state) == "X wins")


def test_x_joins_top_and_bottom_and_o_left_and_right():
    assert result_text(FOUR, played(FOUR, "b1 a1 b2 a2 b3 a3 b4")) == "X wins"
    assert result_text(FOUR, played(FOUR, "a1 a2 b1 b2 c1 c2 a4 d2")) == "O wins"
    assert not FOUR.is_terminal(played(FOUR, "a2 a1 b2 b1 c2 c1 d2"))


def test_a_stone_has_six_neighbours_and_two_of_the_corners_around_it_are_none():
    assert FOUR.is_terminal(played(FOUR, "d1 a1 c2 a2 b3 a3 a4"))  # each to the left of and below the one before
    assert not FOUR.is_terminal(played(FOUR, "a1 b1 b2 c2 c3 d3 d4"))  # each to the right


def test_a_stone_that_joins_two_chains_wins_from_the_middle():
    last = played(FOUR, "b1 a1 b2 a2 b4 a3 c4 d4 b3")
    assert result_text(FOUR, last) == "X wins"
    assert FOUR.legal_actions(last) == []
    assert FOUR.outcome(last) == -1


@given(integers(0, 10**6))
def test_a_position_is_the_same_in_whatever_order_its_stones_were_put(seed):
    game = Hex(6)
    actions = random_game(game, seed)
    start = state_after(game, actions[: len(actions) // 2])
    rng = random.Random(seed)
    firsts, seconds = actions[: len(actions) // 2][0::2], actions[: len(actions) // 2][1::2]
    rng.shuffle(firsts)
    rng.shuffle(seconds)
    order = [stone for pair in zip(firsts, [*seconds, None], strict=False) for stone in pair if stone is not None]
    assert state_after(game, order) == start


def test_a_board_is_slanted_with_letters_above_and_numbers_beside_it():
    picture = "   a b c d\n 1 . X . .\n  2 . . . .\n   3 O . . .\n    4 . . . ."
    assert FOUR.state_text(played(FOUR, "b1 a3")) == picture
    assert FOUR.parse_state(picture) == played(FOUR, "b1 a3")
    assert FOUR.parse_state(". X . .\n. . . .\nO . . .\n. . . .") == played(FOUR, "b1 a3")


def test_cells_are_named_as_in_the_books_from_the_top_left():
    game = Hex()
    assert [game.action_text(action) for action in (0, 10, 60, 110, 120)] == ["a1", "k1", "f6", "a11", "k11"]


def test_o_may_swap_once_which_mirrors_the_stone_and_makes_it_his():
    assert SWAPPING.action_text(16) == "swap"
    assert "swap" not in FOUR.state_text(FOUR.initial_state())
    assert SWAPPING.legal_actions(SWAPPING.initial_state()) == list(range(16))
    assert SWAPPING.legal_actions(played(SWAPPING, "c1")) == [0, 1, *range(3, 17)]
    state = played(SWAPPING, "c1 swap")
    assert SWAPPING.state_text(state) == "   a b c d\n 1 . . . .\n  2 . . . .\n   3 O . . .\n    4 . . . .\nswapped"
    assert SWAPPING.current_player(state) == 0
    assert 16 not in SWAPPING.legal_actions(state)
    assert SWAPPING.parse_state(SWAPPING.state_text(state)) == state
    assert result_text(SWAPPING, played(SWAPPING, "c1 swap a1 b3 a2 c3 a4 d3")) == "O wins"


@pytest.mark.parametrize(
    ("game", "text", "complaint"),
    [
        (Hex(2), "X .\n. .\nswapped", r"hex\(size=2\) has no swap rule; hex\(swap=yes\) has it"),
        (Hex(2, swap=True), ". .\n. .\nswapped", "O cannot have swapped before the first stone"),
        (Hex(2, swap=True), "X .\n. .\nswapped", "X moves first"),
        (Hex(2), "X O\nX O", "the player to move has joined his edges already"),
        (Hex(2), "X .\n", "a board of 2 rows and 2 columns is needed"),
    ],
)
def test_a_picture_of_no_position_is_refused(game, text, complaint):
    with pytest.raises(ValueError, match=complaint):
        game.parse_state(text)


@pytest.mark.parametrize("size", [1, 15])
def test_a_board_that_cannot_be_is_refused(size):
    with pytest.raises(ValueError, match=f"size must be from 2 to 14, got {size}"):
        Hex(size)


def test_the_name_tells_the_size_and_the_rule():
    assert (Hex().name, Hex(5, swap=True).name) == ("hex", "hex(size=5,swap=yes)")
    assert load_game("hex(swap=yes,size=5)").rules == Hex(5, swap=True).rules
