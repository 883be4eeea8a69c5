"""Enumerating an opponent's every line of play."""

from azero.games.game import result_text, state_after
from azero.games.tictactoe import TicTacToe
from azero.players.exhaustive import losing_lines
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
