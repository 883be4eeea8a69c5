from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists, sampled_from

from azero._jit import kernel, pack, unpack
from azero.games.check import check_game
from azero.games.compiled import canonical, step, write_key, write_legal_actions
from azero.games.game import IllegalActionError, result_text, winner
from azero.games.othello import Othello
from azero.search.alphabeta import AlphaBeta
from tests.games.playing import COMPILED, random_game, states_along
from tests.naive import othello as naive

GAME, MIDDLE, SMALL = Othello(), Othello(size=6), Othello(size=4)
every_size = pytest.mark.parametrize("game", [SMALL, MIDDLE, GAME], ids=lambda game: game.name)
smaller = pytest.mark.parametrize("game", [SMALL, MIDDLE], ids=lambda game: game.name)
X_PASSES = "e6 f6 c4 c5 c6 d6 g7 f4 g4 g6 e7 h8 h6 g5 g8 f8"
NINE_MOVES = "f5 d6 c5 f4 e7 f6 g5 e6 e3"
FIVE_PASSES = (
    "c4 e3 f3 c5 d3 b4 e6 f5 d6 f4 f6 c2 b6 c3 c1 c6 a5 a6 c7 a4 a3 a2 b3 b5 d2 a7 b7 b8 d7 d8 c8 a8 e8 e1 d1 b1 b2 "
    "a1 e2 e7 f7 f8 pass f1 f2 g8 pass g7 pass g5 g6 h7 pass g4 g3 h3 h4 h5 pass g2"
)
DRAW = (
    "e6 f4 d3 d6 f3 c4 d7 d2 b3 c5 e2 f7 f6 f5 e3 e7 g7 g2 d1 g6 b5 f2 g1 c1 c2 d8 b1 e1 g4 f8 h7 h8 g8 f1 h1 c3 g5 h4 "
    "b2 a5 c8 a2 a4 c7 c6 a1 g3 h3 a6 b8 e8 b6 a8 a3 b4 h5 a7 b7 h2 h6"
)
SMALL_DRAW = "d3 b4 a1 d1 b1 d2 a4 c1 c4 a3 d4 a2"


def after(game, text):
    """The states that a game in the usual notation passes through."""
    return list(states_along(game, [game.parse_action(word) for word in text.split()]))


def stones(state):
    """How many the mover has, and the opponent."""
    return [(word & (1 << 64) - 1).bit_count() for word in (state.own, state.other)]


def perft(game, depth):
    """How many sequences of so many actions there are."""
    states = np.zeros((depth, len(game.initial_state())), np.int64)
    pack(game.initial_state(), states[0])
    legal, chosen = np.zeros((depth, game.num_actions), np.int32), np.zeros((2, depth), np.int32)
    return count_sequences(game.rules, game.initial_state(), states, legal, chosen)


@kernel
def count_sequences(rules, like, states, legal, chosen):
    """The sequences of actions from the first of `states`, one longer than its rows allow; the rest is scratch."""
    num_legal, num_tried = chosen[0], chosen[1]
    ply, total = 0, 0
    num_legal[0] = write_legal_actions(rules, unpack(like, states[0]), legal[0])
    while ply >= 0:
        if ply == len(states) - 1:
            total += num_legal[ply]
            ply -= 1
        elif num_tried[ply] == num_legal[ply]:
            ply -= 1
        else:
            state = step(rules, unpack(like, states[ply]), int(legal[ply, num_tried[ply]]))
            num_tried[ply] += 1
            ply += 1
            num_tried[ply] = 0
            num_legal[ply] = write_legal_actions(rules, state, legal[ply])
            pack(state, states[ply])
    return total


def test_the_tree_has_the_known_numbers_of_move_sequences_passes_included():
    numbers = [4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288]
    depths = range(1, (9 if COMPILED else 5) + 1)
    assert [perft(GAME, depth) for depth in depths] == numbers[: len(depths)]


def test_the_tree_of_the_board_of_36_cells_has_the_known_numbers_of_move_sequences():
    numbers = [4, 12, 56, 244, 1364, 7604]
    depths = range(1, (6 if COMPILED else 5) + 1)
    assert [perft(MIDDLE, depth) for depth in depths] == numbers[: len(depths)]


def test_the_board_of_16_cells_is_lost_by_8_stones_for_the_first_player_whatever_he_begins_with():
    @cache
    def lead(state):
        """The mover's, if both play for the most stones."""
        legal = SMALL.legal_actions(state)
        if not legal:
            own, other = stones(state)
            return own - other
        return max(lead_after(state, action) for action in legal)

    def lead_after(state, action):
        after = SMALL.step(state, action)
        return lead(SMALL.rules.canonical(after)) * (1 if after.player == state.player else -1)

    start = SMALL.initial_state()
    assert [lead_after(start, action) for action in SMALL.legal_actions(start)] == [-8, -8, -8, -8]


@pytest.mark.compiled
def test_alpha_beta_finds_each_first_move_on_16_cells_lost():
    solution = AlphaBeta(SMALL).search(SMALL.initial_state(), every_action=True)
    assert solution.exact.all()
    assert solution.values.tolist() == [-1, -1, -1, -1]


def test_it_starts_with_white_on_d4_and_e5_and_black_on_d5_and_e4():
    start = GAME.initial_state()
    assert GAME.state_text(start) == (
        "  a b c d e f g h\n"
        "1 . . . . . . . .\n2 . . . . . . . .\n3 . . . . . . . .\n4 . . . O X . . .\n"
        "5 . . . X O . . .\n6 . . . . . . . .\n7 . . . . . . . .\n8 . . . . . . . .\n"
        "X  2, O  2; X to move"
    )
    assert list(map(GAME.action_text, GAME.legal_actions(start))) == ["d3", "c4", "f5", "e6"]


def test_who_cannot_put_a_stone_must_pass_and_the_game_goes_on():
    before = after(GAME, X_PASSES)[-1]
    assert (before.player, stones(before)) == (0, [17, 3])
    assert list(map(GAME.action_text, GAME.legal_actions(before))) == ["pass"]
    assert GAME.state_text(before).endswith("X 17, O  3; X to pass")
    passed = GAME.step(before, 64)
    assert (passed.player, stones(passed)) == (1, [3, 17])
    assert set(map(GAME.action_text, GAME.legal_actions(passed))) == {"b4", "c3", "g3"}


def test_who_can_put_a_stone_must_not_pass():
    with pytest.raises(IllegalActionError, match=r"othello: 64 is not legal here; legal: d3 c4 f5 e6$"):
        GAME.step(GAME.initial_state(), 64)


@pytest.mark.parametrize(
    ("game", "text", "counts", "passes", "result"),
    [
        (GAME, NINE_MOVES, {0: 13, 1: 0}, [], "X wins"),
        (GAME, FIVE_PASSES, {0: 0, 1: 59}, [0, 0, 0, 0, 0], "O wins"),
        (GAME, DRAW, {0: 32, 1: 32}, [], "draw"),
        (SMALL, SMALL_DRAW, {0: 8, 1: 8}, [], "draw"),
    ],
)
def test_a_game_ends_when_neither_can_put_a_stone_and_nobody_passes_then(game, text, counts, passes, result):
    *before, last = after(game, text)
    assert not any(map(game.is_terminal, before))
    assert game.is_terminal(last)
    own, other = stones(last)
    assert {last.player: own, 1 - last.player: other} == counts
    actions = [game.parse_action(word) for word in text.split()]
    passing = game.num_actions - 1
    assert [state.player for state, action in zip(before, actions, strict=True) if action == passing] == passes
    assert result_text(game, last) == result
    assert game.outcome(last) == (0 if result == "draw" else 1 if winner(game, last) == last.player else -1)
    with pytest.raises(IllegalActionError, match="legal: none, the game is over"):
        game.step(last, passing)


def test_a_pass_stays_a_pass_in_every_symmetry_and_through_its_text():
    for game in (SMALL, MIDDLE, GAME):
        passing = game.num_actions - 1
        assert (game.action_text(passing), game.parse_action("pass")) == ("pass", passing)
        assert [symmetry.actions[passing] for symmetry in game.symmetries()] == [passing] * 7


def test_cells_are_named_by_column_and_row():
    assert [GAME.parse_action(text) for text in ("a1", "h1", "a2", "d3", "h8")] == [0, 7, 8, 19, 63]
    assert [MIDDLE.parse_action(text) for text in ("a1", "f1", "a2", "f6")] == [0, 5, 6, 35]
    with pytest.raises(ValueError, match="'g1' is no action of othello"):
        MIDDLE.parse_action("g1")


@every_size
def test_the_symmetries_are_the_eight_of_the_square_and_form_a_group(game):
    size, identity = game.rules.size, tuple(range(game.num_actions))
    moves = {symmetry.actions for symmetry in game.symmetries()} | {identity}
    assert len(moves) == 8
    assert {tuple(second[first[i]] for i in identity) for first in moves for second in moves} == moves
    for move in moves:  # neighbours stay neighbours
        rows, columns = np.divmod(np.array(move[:-1]).reshape(size, size), size)
        for axis in (0, 1):
            assert np.all(abs(np.diff(rows, axis=axis)) + abs(np.diff(columns, axis=axis)) == 1)


@every_size
def test_all_images_of_a_state_have_one_canonical_image_among_them(game):
    for seed in range(3):
        for state in states_along(game, random_game(game, seed)):
            images = {state, *(symmetry.state(state) for symmetry in game.symmetries())}
            (least,) = {canonical(game.rules, image) for image in images}
            assert least in images


@every_size
def test_the_key_tells_every_state_from_all_others(game):
    states = {state for seed in range(30) for state in states_along(game, random_game(game, seed))}
    states |= {state._replace(player=1 - state.player) for state in states}
    keys = set()
    for state in states:
        key = np.zeros(game.rules.key_width, np.int64)
        write_key(game.rules, state, key)
        keys.add(tuple(key.tolist()))
    assert len(keys) == len(states)


@smaller
def test_the_laws_hold_on_smaller_boards(game):
    assert check_game(game, num_games=10 if COMPILED else 3, seed=2) > 0


@smaller
def test_the_naive_twin_plays_the_same_games_on_smaller_boards(game):
    twin = naive.Othello(game.rules.size)
    for seed in range(30 if COMPILED else 5):
        actions = random_game(game, seed)
        for state, other in zip(states_along(game, actions), states_along(twin, actions), strict=True):
            assert game.legal_actions(state) == twin.legal_actions(other)
            assert game.current_player(state) == twin.current_player(other)
            assert game.observation(state).tolist() == twin.observation(other)
            assert game.state_text(state).startswith(twin.picture(other))
        assert game.outcome(state) == twin.outcome(other)


@given(lists(sampled_from(".XO"), min_size=60, max_size=60), integers(0, 1))
def test_on_any_board_stones_capture_in_all_directions_as_in_the_naive_twin(symbols, player):
    centre = iter("OXXO")
    outer = iter(symbols)
    cells = tuple(next(centre if cell in (27, 28, 35, 36) else outer) for cell in range(64))
    twin = naive.Othello()
    state = GAME.parse_state("".join(cells) + f"\n{'XO'[player]} to move")
    assert GAME.legal_actions(state) == twin.legal_actions((cells, player))
    for action in GAME.legal_actions(state):
        after = twin.step((cells, player), action)
        assert GAME.step(state, action) == GAME.parse_state(twin.picture(after) + f"\n{'XO'[after[1]]} to move")


def test_a_board_is_read_with_or_without_letters_numbers_and_counts():
    state = after(SMALL, "d3 b4")[-1]
    text = SMALL.state_text(state)
    assert text == "  a b c d\n1 . . . .\n2 . O X .\n3 . O X X\n4 . O . .\nX  3, O  3; X to move"
    assert SMALL.parse_state(text) == state
    assert SMALL.parse_state("....\n.OX.\n.OXX\n.O..\nX") == state
    assert SMALL.parse_state(".....OX..OXX.O..\nO to move").player == 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "4 rows of 4 cells, each X, O or ., and a line such as 'X to move' are needed, got ''"),
        ("....\n.OX.\n.XO.\n....", "4 rows of 4 cells"),
        ("....\n.OX.\n.XO.\nX to move", "4 rows of 4 cells"),
        ("....\n.OX.\n.XO.\n...*\nX to move", "4 rows of 4 cells"),
        ("....\n.OX.\n.XO.\n....\nB to move", "4 rows of 4 cells"),
        ("....\n.OX.\n.X..\n....\nX to move", "the four cells of the centre are never empty"),
    ],
)
def test_a_picture_of_no_position_is_refused(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        SMALL.parse_state(text)


@pytest.mark.parametrize("size", [0, 5, 10, -8])
def test_only_boards_of_4_6_and_8_rows_are_there(size):
    with pytest.raises(ValueError, match=f"size must be 4, 6 or 8, got {size}"):
        Othello(size)


def test_the_name_tells_the_size_unless_it_is_the_usual_one():
    assert [game.name for game in (SMALL, MIDDLE, GAME)] == ["othello(size=4)", "othello(size=6)", "othello"]
