from collections import Counter

import pytest

from azero.analyze import main as analyze
from azero.games import load_game
from azero.games.connect4 import Connect4
from azero.games.game import exact_values
from azero.games.nim import Nim
from azero.games.tictactoe import TicTacToe
from azero.players.exhaustive import losing_lines
from azero.players.minimax import MinimaxPlayer
from azero.players.perfect import PerfectPlayer, knows_perfect_play, perfect_player
from azero.players.spec import parse_player

NIM = Nim()


def test_a_perfect_player_plays_by_the_games_theory_or_else_looks_to_the_end():
    assert isinstance(parse_player("perfect").make(NIM), PerfectPlayer)
    assert isinstance(parse_player("perfect").make(TicTacToe()), MinimaxPlayer)
    with pytest.raises(ValueError, match="nothing may follow"):
        parse_player("perfect:1")


@pytest.mark.parametrize(("name", "known"), [("connect4", True), ("tictactoe", True), ("hex", False)])
def test_perfect_play_is_known_of_connect_four_and_small_games_and_of_any_with_a_theory(name, known):
    assert knows_perfect_play(load_game(name)) == known
    assert knows_perfect_play(Nim("40-50-60-70"))


def test_exact_values_of_actions_are_for_the_player_to_move_and_none_without_a_theory():
    values = exact_values(NIM, NIM.initial_state())
    assert {NIM.action_text(action) for action, value in values.items() if value > 0} == {"a2"}
    assert set(values.values()) == {-1, 1}
    assert exact_values(Connect4(), Connect4().initial_state()) == {}


@pytest.mark.parametrize("misere", [False, True])
def test_the_perfect_player_of_nim_never_loses_a_won_game(misere):
    game = Nim(misere=misere)
    assert list(losing_lines(game, parse_player("perfect").make(game), seat=0)) == []


def test_it_takes_any_of_several_actions_that_are_as_good_and_says_what_it_expects():
    player, state = perfect_player(NIM), NIM.parse_state("2-4-5 X")  # 2 xor 4 xor 5 = 3
    taken = Counter()
    for stream in range(100):
        player.start(stream)
        taken[NIM.action_text(player.choose(state))] += 1
        assert player.value == 1
    assert set(taken) == {"a1"}
    state = NIM.parse_state("1-4-5 O")
    player.start(0)
    lost = {NIM.action_text(player.choose(state)) for _ in range(500)}
    assert len(lost) == 10
    assert player.value == -1


def test_analyze_knows_perfect_play_by_theory_where_alpha_beta_has_no_time(capsys):
    analyze(["game=nim(heaps=40-50-60-70)", "player=uct:500", "exact_seconds=0.001"])
    said = capsys.readouterr().out
    assert "perfect play" in said
    assert " win \n" in said
    assert " loss \n" in said
    assert "perfect play is not known" not in said
