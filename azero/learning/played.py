"""A game of self-play, and what is kept of it: samples to learn from, and its record."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from azero.games.game import FloatArray, Game, result_text, state_after
from azero.learning.samples import Samples
from azero.players.record import GameRecord, Spent, points_of_first
from azero.search.tree import IntArray

S = TypeVar("S", bound=Hashable)


@dataclass
class PlayedGame(Generic[S]):
    """One game: its actions, and what the search said of every state that is learned from."""

    number: int
    actions: list[int] = field(default_factory=list)  # all of them, random opening included
    states: list[S] = field(default_factory=list)  # the states searched or solved
    legal: list[np.ndarray[Any, np.dtype[np.bool_]]] = field(default_factory=list)  # bool[A] each
    policies: list[FloatArray] = field(default_factory=list)  # float32[A] each: improved by the search, or perfect
    values: list[float] = field(default_factory=list)  # the roots' values for their players to move
    simulations: list[int] = field(default_factory=list)  # of each search; 0: solved, or proven at once
    outcomes: list[float] = field(default_factory=list)  # for player 0, one for each state; see `end`

    def add(
        self, state: S, legal: IntArray, policy: FloatArray, value: float, num_simulations: int, action: int
    ) -> None:
        """Note what was made of a state: `legal` are the actions that are, `policy` is over all actions."""
        mask = np.zeros(len(policy), np.bool_)
        mask[legal] = True
        self.states.append(state)
        self.legal.append(mask)
        self.policies.append(policy)
        self.values.append(value)
        self.simulations.append(num_simulations)
        self.actions.append(action)

    def end(self, game: Game[S], outcome: float) -> None:
        """Note how the game ended for player 0, in [-1, 1].

        The outcome of a state is that of perfect play from the first state, from there on, that was known exactly.
        """
        for i in reversed(range(len(self.states))):
            if self.simulations[i] == 0:
                outcome = self.values[i] if game.current_player(self.states[i]) == 0 else -self.values[i]
            self.outcomes.insert(0, outcome)


def record_of(game: Game[S], played: PlayedGame[S], player: str) -> GameRecord:
    """A game as text files keep it, in which `player` had both seats."""
    last = state_after(game, played.actions)
    spent = [Spent(), Spent()]
    for state, num_simulations in zip(played.states, played.simulations, strict=True):
        mover = game.current_player(state)
        spent[mover] = spent[mover].plus(Spent(1, num_simulations))
    return GameRecord(
        game=game.name,
        index=played.number,
        players=(player, player),
        num_opening_actions=len(played.actions) - len(played.states),
        actions=tuple(played.actions),
        points=points_of_first(game, last),
        ending=result_text(game, last),
        spent=(spent[0], spent[1]),
    )


def samples_of(game: Game[S], games: list[PlayedGame[S]]) -> Samples:
    """One sample for each state searched or solved: its observation, and the targets for the player to move in it."""
    states = [state for played in games for state in played.states]
    players = np.array([game.current_player(state) for state in states])
    outcomes = np.array([outcome for played in games for outcome in played.outcomes])
    observations, last_rows = game.observations(states), list[int]()
    for played in games:
        first = len(last_rows)
        movers = players[first : first + len(played.states)].tolist()
        last = {player: first + i for i, player in enumerate(movers)}
        last_rows += [last[player] for player in movers]
    return Samples(
        observations=observations,
        legal=np.stack([legal for played in games for legal in played.legal]),
        policy=np.stack([policy for played in games for policy in played.policies]),
        outcome=np.where(players == 0, outcomes, -outcomes).astype(np.float32),
        value=np.array([value for played in games for value in played.values], np.float32),
        last=observations[last_rows],
    )
