"""Enumerating an opponent's every line of play, and every state."""

import pytest

from azero.games.game import exact_values, result_text, state_after
from azero.games.nim import Nim
from azero.games.tictactoe import TicTacToe
from azero.players.exhaustive import losing_lines, mistakes
from azero.players.player import Player
from azero.players.spec import parse_player

GAME = TicTacToe()


class FirstLegal(Player[object]):
    """Takes the lowest cell."""

    def choose(self, state: object) -> int:
        return GAME.legal_actions(state)[0]  # type: ignore[arg-type]


def test_every_line_that_is_found_is_a_lost_game_of_that_seat() -> None:
    for seat in (0, 1):
        lines = list(losing_lines(GAME, FirstLegal(), seat))
        assert lines
        for line in lines:
            assert result_text(GAME, state_after(GAME, line)) == ("O wins", "X wins")[seat]
            for ply in range(seat, len(line), 2):
                assert line[ply] == GAME.legal_actions(state_after(GAME, line[:ply]))[0]


def test_a_strong_search_loses_no_line_of_tic_tac_toe() -> None:
    player = parse_player("uct:2000").make(GAME)
    assert [*losing_lines(GAME, player, 0), *losing_lines(GAME, player, 1)] == []


def test_mistakes_are_all_the_states_in_which_a_player_gives_a_win_away() -> None:
    nim = Nim("2-3")

    class TakesOne(Player[object]):
        """Takes one from the first heap that is left."""

        def choose(self, state: object) -> int:
            return nim.legal_actions(state)[0]  # type: ignore[arg-type]

    found = list(mistakes(nim, TakesOne()))
    assert {nim.state_text(state).split()[0] for state, _ in found} == {"0-2", "0-3", "1-2", "1-3", "2-0", "2-3"}
    assert all(exact_values(nim, state)[action] == -1 for state, action in found)
    assert list(mistakes(nim, parse_player("perfect").make(nim))) == []


def test_a_game_without_a_theory_cannot_judge_its_players() -> None:
    with pytest.raises(ValueError, match=r"tictactoe has no exact_value\(\)"):
        list(mistakes(GAME, FirstLegal()))
