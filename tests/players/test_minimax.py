"""The player that looks ahead in every line."""

from collections import Counter
from typing import Any

import pytest

from azero.games.connect4 import Connect4
from azero.games.game import state_after
from azero.games.tictactoe import TicTacToe
from azero.players.exhaustive import losing_lines
from azero.players.match import play_game
from azero.players.player import Player
from azero.players.spec import parse_player
from tests.games.plain import Heap, PlainTicTacToe

TTT, C4 = TicTacToe(), Connect4()
ONE_MOVE_TO_WIN = state_after(C4, [3, 0, 3, 0, 3, 1])  # X has three in column 3
ONE_MOVE_TO_BLOCK = state_after(C4, [3, 0, 3, 0, 3])


def started(text: str, game: Any, stream: int = 0) -> Player[Any]:
    player = parse_player(text).make(game)
    player.start(stream)
    return player


@pytest.mark.parametrize("text", ["minimax:2", "minimax:4", "alphabeta:2", "alphabeta:6", "alphabeta:6,60s"])
def test_it_wins_at_once_and_stops_the_opponent_from_it(text: str) -> None:
    for stream in range(3):
        player = started(text, C4, stream)
        assert player.choose(ONE_MOVE_TO_WIN) == 3
        assert player.value == 1
        assert player.choose(ONE_MOVE_TO_BLOCK) == 3
        assert player.value == 0
        assert player.num_simulations > 7


@pytest.mark.compiled
@pytest.mark.parametrize("text", ["alphabeta", "alphabeta:9", "minimax:9"])
def test_it_loses_no_line_of_tic_tac_toe(text: str) -> None:
    player = parse_player(text).make(TTT)
    assert [*losing_lines(TTT, player, 0), *losing_lines(TTT, player, 1)] == []


def test_it_takes_the_soonest_win_and_the_latest_loss() -> None:
    won = state_after(TTT, [0, 1, 4, 2])  # X wins at once with 8, and in three plies with others
    assert {started("alphabeta", TTT, stream).choose(won) for stream in range(20)} == {8}
    lost = state_after(TTT, [0, 1, 4])  # O loses, but not at once if it takes 8
    assert {started("alphabeta", TTT, stream).choose(lost) for stream in range(20)} == {8}
    assert started("minimax:1", TTT).choose(won) == 8
    assert len({started("minimax:1", TTT, stream).choose(lost) for stream in range(60)}) == 6


@pytest.mark.compiled
@pytest.mark.parametrize(("text", "stones"), [("alphabeta", 2), ("minimax:7", 2), ("alphabeta:3", 0)])
def test_it_chooses_evenly_among_actions_that_are_equally_good(text: str, stones: int) -> None:
    state = state_after(TTT, [0, 4][:stones])  # after a corner and the centre, as at the start, all lead to a draw
    player = parse_player(text).make(TTT)
    counts: Counter[int] = Counter()
    for stream in range(90 * (9 - stones)):
        player.start(stream)
        counts[player.choose(state)] += 1
    assert set(counts) == set(TTT.legal_actions(state))
    assert sum((count - 90) ** 2 / 90 for count in counts.values()) < 26.1  # chi-square, 8 degrees, p = 0.001


def test_a_forced_action_is_played_without_a_look() -> None:
    player = started("alphabeta", TTT)
    assert player.choose(state_after(TTT, [0, 1, 2, 4, 3, 5, 7, 6])) == 8
    assert player.num_simulations == 0
    assert player.value is None


def test_it_repeats_a_game_whatever_it_played_before() -> None:
    texts = ["alphabeta:4", "minimax:2", "alphabeta:nodes=300", "alphabeta:12,nodes=2000"]
    for text in texts:
        players = [parse_player(text).make(C4) for _ in range(2)]
        first = play_game(C4, players, stream=5)
        play_game(C4, players[::-1], stream=6)
        again = play_game(C4, players, stream=5)
        assert first.forfeited_by is None
        assert again.actions == first.actions
        assert [spent[:2] for spent in again.spent] == [spent[:2] for spent in first.spent]


def test_a_limit_of_nodes_is_kept_to() -> None:
    player = started("alphabeta:nodes=100", C4)
    player.choose(C4.initial_state())
    assert 100 <= player.num_simulations <= 107


def test_it_plays_games_in_plain_python() -> None:
    assert started("alphabeta", Heap()).choose((5, 0)) == 2
    assert started("minimax:3", Heap()).choose((4, 1)) == 1
    game = PlainTicTacToe()
    record = play_game(game, [parse_player("alphabeta:3").make(game), parse_player("minimax:2").make(game)])
    assert record.forfeited_by is None
    assert game.is_terminal(state_after(game, record.actions))


@pytest.mark.compiled
def test_looking_deeper_plays_better() -> None:
    players = [parse_player(f"alphabeta:{depth}").make(C4) for depth in (1, 6)]
    results = Counter()
    for stream in range(12):
        order = players if stream % 2 else players[::-1]
        final = state_after(C4, play_game(C4, order, stream=stream).actions)
        loser = order[C4.current_player(final)] if C4.outcome(final) else None
        results[players.index(loser) if loser else None] += 1
    assert results[0] >= 10
