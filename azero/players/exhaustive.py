"""Every line of play that an opponent could choose, for games small enough to enumerate."""

from collections.abc import Hashable, Iterator
from typing import TypeVar

from azero.games.game import Game, winner
from azero.players.player import Player

S = TypeVar("S", bound=Hashable)


def losing_lines(game: Game[S], player: Player[S], seat: int) -> Iterator[tuple[int, ...]]:
    """The games that `player`, in seat 0 or 1, loses against any opponent whatever, as actions from the start.

    The opponent tries everything; the player answers each state once, always as at the start of a game, so what he
    does may depend on the state but not on how it came about. A state is searched below once only.
    """
    seen: set[S] = set()
    pending: list[tuple[S, tuple[int, ...]]] = [(game.initial_state(), ())]
    while pending:
        state, line = pending.pop()
        if state in seen:
            continue
        seen.add(state)
        if game.is_terminal(state):
            if winner(game, state) == 1 - seat:
                yield line
            continue
        actions = game.legal_actions(state)
        if game.current_player(state) == seat:
            player.start(stream=0)
            actions = [game.check_action(state, player.choose(state))]
        pending += [(game.step(state, action), (*line, action)) for action in actions]
