import inspect
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from azero import compiled
from azero.games import tictactoe
from azero.games.check import check_game
from azero.games.compiled import CompiledGame
from azero.games.game import IllegalActionError, result_text, state_after, winner
from azero.games.tictactoe import State, TicTacToe
from tests.games import plain_tictactoe
from tests.games.plain_tictactoe import TicTacToe as PlainTicTacToe
from tests.games.playing import layers
from tests.naive import games as naive

GAME = TicTacToe()
X_WON = [0, 3, 1, 4, 2]
LINES = {sum(1 << cell for cell in line) for line in naive.TicTacToe.lines}


def picture(actions):
    return GAME.state_text(state_after(GAME, actions))


def test_the_whole_tree_has_the_known_numbers_of_positions_and_move_sequences():
    plies = list(layers(GAME))
    assert sum(map(len, plies)) == 5478
    assert [sum(ply.values()) for ply in plies] == [1, 9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872]


def test_of_all_255168_games_x_wins_131184_and_o_77904():
    games = Counter()
    for ply in layers(GAME):
        for state, ways in ply.items():
            if GAME.is_terminal(state):
                games[winner(GAME, state)] += ways
    assert games == {0: 131184, 1: 77904, None: 46080}


def test_random_play_is_won_by_x_in_58_49_percent_and_by_o_in_28_81():
    chances = Counter()
    for ply in layers(GAME, Fraction(1), lambda chance, num_legal: chance / num_legal):
        for state, chance in ply.items():
            if GAME.is_terminal(state):
                chances[winner(GAME, state)] += chance
    assert chances == {0: Fraction(737, 1260), 1: Fraction(121, 420), None: Fraction(8, 63)}


def test_whoever_wins_has_one_of_the_eight_lines_and_each_of_the_eight_wins():
    assert len(LINES) == 8
    finished = [state for ply in layers(GAME) for state in ply if GAME.is_terminal(state)]
    for player in (0, 1):
        won = [state.other for state in finished if winner(GAME, state) == player]
        assert all(any(stones & line == line for line in LINES) for stones in won)
        assert {stones for stones in won if stones.bit_count() == 3} == LINES


def test_a_win_with_the_ninth_stone_is_a_win_and_no_draw():
    actions = [0, 1, 2, 3, 4, 5, 7, 6, 8]
    assert not GAME.is_terminal(state_after(GAME, actions[:-1]))
    last = state_after(GAME, actions)
    assert GAME.outcome(last) == -1
    assert GAME.current_player(last) == 1
    assert result_text(GAME, last) == "X wins"


def test_a_full_board_without_a_line_is_a_draw_of_exactly_zero():
    last = state_after(GAME, [4, 0, 2, 6, 3, 5, 1, 7, 8])
    assert GAME.outcome(last) == 0
    assert winner(GAME, last) is None
    assert result_text(GAME, last) == "draw"


def test_the_result_belongs_to_the_player_who_made_the_line_whoever_asks():
    last = state_after(GAME, X_WON)
    assert GAME.current_player(last) == 1
    assert GAME.outcome(last) == -1
    assert winner(GAME, last) == 0


def test_a_finished_game_has_no_legal_action_and_says_so():
    last = state_after(GAME, X_WON)
    assert GAME.legal_actions(last) == []
    with pytest.raises(IllegalActionError, match="5 is not legal here; legal: none, the game is over"):
        GAME.step(last, 5)


def test_the_observation_shows_the_movers_stones_first():
    planes = GAME.observation(state_after(GAME, [0, 4, 8]))
    assert planes.tolist() == [[[0, 0, 0], [0, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0], [0, 0, 1]]]


def test_a_picture_has_x_o_and_dots():
    assert picture([0, 4, 8]) == "X . .\n. O .\n. . X"


def test_there_are_seven_different_symmetries_besides_the_identity_and_they_form_a_group():
    moves = {symmetry.actions for symmetry in GAME.symmetries()} | {tuple(range(9))}
    assert len(moves) == 8
    assert {tuple(second[first[cell]] for cell in range(9)) for first in moves for second in moves} == moves


def test_a_position_is_read_from_its_picture():
    assert GAME.parse_state("X . .\n. O .\n. . X") == state_after(GAME, [8, 4, 0])
    assert GAME.parse_state("\n X X X \n O O . \n . . . \n") == State(0o030, 0o007, 5, 1)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("X . .\n. . .", "3 rows and 3 columns is needed"),
        ("X . .\n. . .\n. . . .", "3 rows and 3 columns is needed"),
        ("", "3 rows and 3 columns is needed"),
        ("X . .\n. * .\n. . .", "X, O or ., not '\\*'"),
        ("O . .\n. . .\n. . .", "X moves first"),
        ("X X .\n. . .\n. . .", "X moves first"),
        ("X X X\nO O O\n. . .", "already has three in a row"),
    ],
)
def test_a_picture_of_no_position_is_refused(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        GAME.parse_state(text)


def test_fifty_lines_of_plain_python_say_the_same_as_a_hundred_compiled_ones() -> None:
    plain, game = PlainTicTacToe(), TicTacToe()
    for module, limit in ((plain_tictactoe, 50), (tictactoe, 100)):
        assert len(inspect.getsource(module).splitlines()) <= limit
    seen = {plain.initial_state(): game.initial_state()}
    level = list(seen)
    while level:
        successors = {}
        for state in level:
            twin = seen[state]
            legal = plain.legal_actions(state)
            assert legal == game.legal_actions(twin)
            assert plain.current_player(state) == game.current_player(twin)
            assert legal or plain.outcome(state) == game.outcome(twin)
            assert np.array_equal(plain.observation(state), game.observation(twin))
            successors |= {plain.step(state, action): game.step(twin, action) for action in legal}
        seen |= successors
        level = list(successors)
    assert len(seen) == 5478


@pytest.mark.compiled
def test_the_plain_one_is_compiled_by_one_line() -> None:
    game = compiled(PlainTicTacToe)()
    assert isinstance(game, CompiledGame)
    assert check_game(game, num_games=5) > 25
