"""What a run shows of its games."""

from typing import Any

import numpy as np
import pytest

from azero.evaluators.uniform import UniformEvaluator
from azero.games.game import state_after
from azero.games.tictactoe import TicTacToe
from azero.learning.metrics import policy_figure
from azero.learning.selfplay import PlayedGame

TTT = TicTacToe()
ACTIONS = [0, 3, 1, 4, 2]


def game_taught_at(*plies: int) -> PlayedGame[Any]:
    """A game whose searches have taught a policy in these states only: the first legal action."""
    states = [state_after(TTT, ACTIONS[:ply]) for ply in range(len(ACTIONS))]
    policies = [np.zeros(9, np.float32) for _ in states]
    for ply in plies:
        policies[ply][TTT.legal_actions(states[ply])[0]] = 1
    return PlayedGame(
        0,
        actions=ACTIONS,
        states=states,
        legal=[np.ones(9, np.bool_)] * 5,
        policies=policies,
        values=[ply / 10 for ply in range(5)],
        winner=0,
    )


@pytest.mark.parametrize(
    ("taught", "shown"), [((0, 1, 2, 3, 4), 2), ((0, 3), 3), ((0, 1, 4), 1), ((0,), 0), ((4,), 4), ((), 2)]
)
def test_the_taught_position_nearest_the_middle_is_shown(taught: tuple[int, ...], shown: int) -> None:
    played = game_taught_at(*taught)
    board, bars = policy_figure(TTT, played, UniformEvaluator()).axes
    assert board.texts[0].get_text() == TTT.state_text(played.states[shown])
    assert f"search {shown / 10:+.2f}" in board.get_title()
    network, search = ([bar.get_height() for bar in container] for container in bars.containers)
    assert network == pytest.approx([1 / len(network)] * len(network))
    assert sum(search) == bool(taught)
