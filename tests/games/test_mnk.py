import pytest
from hypothesis import given
from hypothesis.strategies import integers

from azero.games import load_game
from azero.games.check import check_game
from azero.games.game import result_text, state_after
from azero.games.mnk import MNK
from azero.games.tictactoe import TicTacToe
from azero.search.alphabeta import AlphaBeta
from tests.games.playing import layers, random_game, states_along
from tests.naive import mnk as naive

TTT, SAME = TicTacToe(), MNK(3, 3, 3)
GOMOKU = load_game("gomoku")


def test_three_three_three_is_tic_tac_toe_in_every_one_of_its_5478_states():
    pairs = {TTT.initial_state(): SAME.initial_state()}
    pending = list(pairs)
    while pending:
        state = pending.pop()
        other = pairs[state]
        assert SAME.legal_actions(other) == TTT.legal_actions(state)
        assert SAME.current_player(other) == TTT.current_player(state)
        assert SAME.is_terminal(other) == TTT.is_terminal(state)
        assert SAME.outcome(other) == TTT.outcome(state)
        assert SAME.boards(other) == TTT.boards(state)
        assert (SAME.observation(other) == TTT.observation(state)).all()
        for one, two in zip(TTT.symmetries(), SAME.symmetries(), strict=True):
            assert (one.actions, one.cells) == (two.actions, two.cells)
            assert SAME.boards(two.state(other)) == TTT.boards(one.state(state))
        for action in TTT.legal_actions(state):
            after = TTT.step(state, action)
            if after not in pairs:
                pairs[after] = SAME.step(other, action)
                pending.append(after)
            assert SAME.step(other, action) == pairs[after]
    assert len(pairs) == len(set(pairs.values())) == 5478


@pytest.mark.parametrize(
    ("rows", "columns", "line", "value"),
    [(3, 3, 3, 0), (2, 4, 2, 1), (3, 2, 3, 0), (3, 4, 3, 1), (1, 4, 3, 0), (2, 2, 2, 1)],
)
def test_small_boards_have_the_known_values(rows, columns, line, value):
    game = MNK(rows, columns, line)
    assert AlphaBeta(game).search(game.initial_state()).value == value


def test_the_numbers_of_positions_of_a_rectangle_are_those_of_the_naive_twin():
    sizes = [[len(layer) for layer in layers(game)] for game in (MNK(2, 4, 3), naive.Mnk(2, 4, 3))]
    assert sizes[0] == sizes[1]
    assert sizes[0][:3] == [1, 8, 56]


@pytest.mark.parametrize("size", [(4, 3, 3), (1, 6, 4), (7, 9, 5)])
def test_boards_of_any_size_keep_the_laws(size):
    assert check_game(MNK(*size), num_games=2, seed=2) > 0


@pytest.mark.parametrize("size", [(4, 3, 3), (1, 6, 4), (7, 9, 5), (19, 19, 6)])
def test_boards_of_any_size_agree_with_the_naive_twin(size):
    game, twin = MNK(*size), naive.Mnk(*size)
    actions = random_game(game, 1)
    for state, other in zip(states_along(game, actions), states_along(twin, actions), strict=True):
        assert game.legal_actions(state) == twin.legal_actions(other)
        assert game.state_text(state) == twin.picture(other)
        assert game.observation(state).tolist() == twin.observation(other)
    assert game.outcome(state) == twin.outcome(other)


@given(start=integers(0, 224), direction=integers(0, 3))
def test_five_in_a_row_wins_gomoku_anywhere_and_only_where_it_fits(start, direction):
    row, column = divmod(start, 15)
    down, right = [(0, 1), (1, 0), (1, 1), (1, -1)][direction]
    cells = [(row + i * down, column + i * right) for i in range(5)]
    fits = all(0 <= r < 15 and 0 <= c < 15 for r, c in cells)
    line = [(15 * r + c) % 225 for r, c in cells]  # what does not fit wraps around an edge
    others = [cell for cell in (0, 17, 44, 76, 103, 150, 178, 207, 224) if cell not in line][:4]
    played = [action for pair in zip(line, others, strict=False) for action in pair]
    state = state_after(GOMOKU, played)
    assert not GOMOKU.is_terminal(state)
    last = GOMOKU.step(state, line[4])
    assert GOMOKU.is_terminal(last) == fits
    assert GOMOKU.outcome(last) == (-1 if fits else 0)


def test_six_in_a_row_wins_too():
    text = "a1 a15 b1 c15 c1 e15 e1 g15 f1 i15 d1"
    last = state_after(GOMOKU, map(GOMOKU.parse_action, text.split()))
    assert GOMOKU.is_terminal(last)
    assert result_text(GOMOKU, last) == "X wins"


def test_a_full_board_without_a_line_is_a_draw():
    game = MNK(2, 3, 3)
    last = state_after(game, [0, 1, 2, 3, 4, 5])
    assert game.is_terminal(last)
    assert result_text(game, last) == "draw"


def test_cells_are_named_as_in_gomoku_from_the_bottom_left():
    assert [GOMOKU.action_text(action) for action in (0, 14, 112, 210, 224)] == ["a15", "o15", "h8", "a1", "o1"]
    assert MNK(2, 4, 3).state_text(state_after(MNK(2, 4, 3), [0, 5])) == " 2 X . . .\n 1 . O . .\n   a b c d"


def test_a_board_is_read_with_and_without_its_numbers_and_letters():
    state = state_after(MNK(2, 4, 3), [0, 5])
    assert MNK(2, 4, 3).parse_state("X . . .\n. O . .") == state
    assert MNK(2, 4, 3).parse_state(" 2 X . . .\n 1 . O . .\n   a b c d") == state
    with pytest.raises(ValueError, match="already has 3 in a row"):
        MNK(2, 4, 3).parse_state("X X X .\nO O O .")


@pytest.mark.parametrize(("size", "number"), [((3, 3, 3), 8), ((3, 4, 3), 4), ((15, 15, 5), 8), ((1, 4, 2), 2)])
def test_squares_have_eight_symmetries_rectangles_four_and_lines_two(size, number):
    assert 1 + len(MNK(*size).symmetries()) == number


@pytest.mark.parametrize(
    ("size", "complaint"),
    [
        ((0, 3, 3), "rows must be from 1 to 19, got 0"),
        ((3, 20, 3), "columns must be from 1 to 19, got 20"),
        ((3, 4, 5), "line must be from 1 to 4, got 5"),
    ],
)
def test_a_board_that_cannot_be_is_refused(size, complaint):
    with pytest.raises(ValueError, match=complaint):
        MNK(*size)


def test_the_name_tells_the_size():
    assert (MNK().name, MNK(15, 15, 5).name) == ("mnk", "mnk(rows=15,columns=15,line=5)")
    assert GOMOKU.rules == MNK(15, 15, 5).rules
    assert load_game("mnk(rows=4,line=3)").name == "mnk(rows=4)"
