import math
from collections import Counter
from itertools import count

import pytest

from azero.evaluate import EvaluateSettings
from azero.evaluate import main as evaluate
from azero.games import load_game
from azero.games.connect4 import Connect4
from azero.games.game import exact_values
from azero.games.nim import Nim
from azero.games.othello import Othello
from azero.games.tictactoe import TicTacToe
from azero.players import exact
from azero.players.exact import Answer, Count, Position, answer, figures, measure, pons_sets, position_sets
from azero.players.spec import parse_player
from azero.search.alphabeta import AlphaBeta
from tests.games.plain import Heap
from tests.naive.minimax import action_results, better


def test_all_unfinished_states_of_a_small_game_are_solved():
    game = TicTacToe()
    [(name, positions)] = position_sets(game)
    assert (name, len({position.state for position in positions})) == ("all", 4520)
    values = Counter()
    memory = {}
    for position in positions:
        results = action_results(game, position.state, 9, memory)
        assert position.values == {action: value for action, (value, _) in results.items()}
        best = max(map(better, results.values()))
        assert position.best_actions() == [action for action, result in results.items() if better(result) == best]
        values[position.value] += 1
        assert position.value == position.values[position.best_actions()[0]]
    assert min(values.values()) > 500


def test_scores_put_sooner_wins_and_later_losses_first():
    positions = {position.state: position for position in position_sets(Heap())[0].positions}
    assert positions[5, 0].values == {1: -1.0, 2: 1.0}
    assert positions[2, 0].scores[2] > positions[5, 0].scores[2] > 0  # one ply, and three
    assert 0 > positions[4, 1].scores[2] > -1  # the opponent still needs time
    nim = Nim()
    for position in position_sets(nim)[0].positions:
        assert position.values == exact_values(nim, position.state)


@pytest.mark.parametrize(
    ("name", "moves_again"), [("dots_and_boxes(rows=1,columns=2)", True), ("nim(heaps=2-3)", False)]
)
def test_values_are_for_who_moves_also_where_he_moves_again(name, moves_again):
    game = load_game(name)
    memory, num_again = {}, 0
    for position in position_sets(game)[0].positions:
        results = action_results(game, position.state, 12, memory)
        assert position.values == {action: value for action, (value, _) in results.items()}
        mover = game.current_player(position.state)
        num_again += any(game.current_player(game.step(position.state, a)) == mover for a in position.values)
    assert (num_again > 20) == moves_again


def test_of_a_large_game_there_are_late_positions_that_alpha_beta_has_solved():
    game = Othello(size=4)
    [(name, positions)] = position_sets(game)
    assert name == "solved"
    assert 250 < len({position.state for position in positions}) == len(positions) <= 300
    for position in positions[::30]:
        results = action_results(game, position.state, 20, {})
        assert position.values == {action: value for action, (value, _) in results.items()}


def test_late_positions_are_looked_for_until_so_many_are_solved(monkeypatch):
    monkeypatch.setattr(exact, "_NUM_SOLVED", 20)
    monkeypatch.setattr(exact, "_MAX_NODES", 60)  # of which few are enough
    looked = []
    honest = AlphaBeta.search

    def search(self, *words, **options):
        found = honest(self, *words, **options)
        looked.append(bool(found.exact.all()))
        return found

    monkeypatch.setattr(AlphaBeta, "search", search)
    [(_, positions)] = position_sets(Othello(size=4))
    assert len(positions) == 20
    assert sum(looked[1:]) == 20  # the first search compiles
    assert looked[-1]
    assert len(looked) > 25


def test_the_six_sets_of_connect_four_are_the_published_ones():
    sets = pons_sets()
    assert [name for name, _ in sets] == [
        "end-easy", "middle-easy", "middle-medium", "begin-easy", "begin-medium", "begin-hard",
    ]  # fmt: skip
    mean_stones = [sum(position.state.num_stones for position in positions) / 1000 for _, positions in sets]
    assert mean_stones == pytest.approx([34.6, 22.5, 19.6, 10.9, 11.0, 6.7], abs=0.06)
    for _, positions in sets:
        assert len(positions) == 1000
        lost = sum(position.value < 0 for position in positions)
        assert 240 <= lost <= 440  # as the data's authors say
    for position in sets[0].positions:
        assert list(position.scores) == Connect4().legal_actions(position.state)


def test_figures_by_hand():
    won = Position("won", {0: 1.0, 1: 1.0, 2: 0.0}, {0: 3.0, 1: 2.0, 2: 0.0})
    drawn = Position("drawn", {0: 0.0, 1: -1.0}, {0: 0.0, 1: -5.0})
    lost = Position("lost", {0: -1.0, 1: -1.0}, {0: -5.0, 1: -1.0})
    assert (won.value, won.best_actions(), lost.best_actions()) == (1.0, [0], [1])
    found = figures(
        [won, won, won, drawn, drawn, lost, lost],
        [
            Answer(0, 0.2),
            Answer(1, -0.2),
            Answer(2, None),
            Answer(0, 0.9),
            Answer(1, 0.0),
            Answer(0, -0.1),
            Answer(1, 0.0),
        ],
    )
    assert found.lost_value == Count(2, 7)
    assert found.lost_value_open == Count(2, 5)
    assert found.not_best == Count(4, 7)
    assert found.right_sign == Count(2, 4)  # draws have no side, and one answer no value


def test_a_count_is_shown_with_its_interval_and_finer_where_it_is_small():
    assert Count(25, 1000).text() == "2.5 [1.7, 3.7]"
    assert Count(1, 1000).text() == "0.10 [0.02, 0.56]"
    assert Count(0, 0).text() == "none"
    assert math.isnan(Count(0, 0).share)


def test_an_answer_depends_on_the_position_and_its_number_alone():
    game = Connect4()
    positions = pons_sets()[3].positions[:4]
    player = parse_player("uct:60").make(game)
    one = [answer(player, position, number) for number, position in enumerate(positions)]
    other = [answer(player, positions[number], number) for number in (3, 2, 1, 0)]
    assert one == other[::-1]


def test_an_error_in_one_thread_stops_the_others():
    [(_, positions)], calls = position_sets(TicTacToe()), count()

    def fail_once():
        if next(calls) == 5:
            raise RuntimeError("the sixth position")

    with pytest.raises(RuntimeError, match="the sixth position"):
        measure(lambda: parse_player("uct:50").make(TicTacToe()), positions, 2, fail_once)
    assert next(calls) < len(positions) // 2


def test_the_command_measures_players_in_the_same_way_on_any_number_of_threads(capsys):
    said = []
    for threads in (1, 3):
        evaluate(["game=connect4", "uct:200", "player=perfect", "positions=3", f"threads={threads}"])
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert "uct:200, connect4" in said[0]
    for known in pons_sets():
        assert said[0].count(f" {known.name} ") == 2  # never cut short, though few positions make for wide intervals
    assert "Moves that lose value, %" in said[0]
    perfect = next(line for line in said[0].splitlines() if line.split()[0:1] == ["perfect"] and "0.00" in line)
    assert perfect.split() == ["perfect"] + ["0.00"] * 7


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a player, as in"),
        (["random", "positions=0"], "positions must be at least 1, got 0"),
        (["random", "threads=0"], "threads must be at least 1, got 0"),
        (["azero:nowhere@3"], "nowhere"),
    ],
)
def test_what_cannot_be_measured_is_one_line(words, message, capsys):
    with pytest.raises(SystemExit) as stop:
        evaluate(words)
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_settings_take_either_way_of_naming_a_player():
    assert EvaluateSettings(player="random").players == ()
