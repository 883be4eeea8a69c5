"""Players, games and evaluators that do as they are told."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from azero.evaluators.evaluator import Evaluation
from azero.games.game import Game
from azero.players.player import Player


class Scripted(Player[Any]):
    """Chooses what a function of the state says."""

    def __init__(self, choose: Callable[[Any], Any], name: str = "scripted") -> None:
        self._choose = choose
        self.name = name

    def choose(self, state: Any) -> Any:
        return self._choose(state)


def replaying(game: Game[Any], actions: Sequence[int]) -> Scripted:
    """A player that follows one sequence of actions from the start, for either side."""
    script, state = {}, game.initial_state()
    for action in actions:
        script[state] = action
        state = game.step(state, action)
    return Scripted(script.__getitem__)


def lowest(game: Game[Any]) -> Scripted:
    """A player that always takes the lowest legal action."""
    return Scripted(lambda state: game.legal_actions(state)[0])


class Weights:
    """An evaluator with one policy for all states, by action, and the value 0; it counts the states it sees."""

    def __init__(self, *policy: float) -> None:
        self.policy = np.array(policy, np.float32)
        self.num_states = 0

    def evaluate(self, batch: Any) -> Evaluation:
        self.num_states += len(batch)
        return Evaluation(np.tile(self.policy, (len(batch), 1)), np.zeros(len(batch), np.float32))
