"""A batch of states, as the search hands it to an evaluator."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from azero.games.compiled import CompiledGame, PackedStates
from azero.games.game import Game

S = TypeVar("S", bound=Hashable)


@dataclass(frozen=True)
class StateBatch(Generic[S]):
    """B unfinished states of one game, with what the search knows of each."""

    game: Game[S]
    states: Sequence[S]  # PackedStates for a compiled game
    legal: npt.NDArray[np.bool_]  # bool[B, A]: which actions the rules allow
    streams: npt.NDArray[np.int64]  # int64[B]: a random stream of its own for each state (see `azero._jit.draw`)
    played: npt.NDArray[np.int32] | None = None  # int32[B, 2, A]: where rollouts are to set 1 for an action, for RAVE

    def __len__(self) -> int:
        return len(self.states)

    def keys(self) -> Sequence[Hashable]:
        """A hashable value for each state, equal exactly when the states are."""
        if isinstance(self.states, PackedStates):
            rows = np.ascontiguousarray(self.states.rows)
            return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel().tolist()
        return self.states

    def take(self, indices: npt.ArrayLike) -> "StateBatch[S]":
        """The batch of the states at `indices`."""
        chosen = np.asarray(indices, np.int64)
        states = self.states[chosen] if isinstance(self.states, PackedStates) else [self.states[i] for i in chosen]
        return StateBatch(self.game, states, self.legal[chosen], self.streams[chosen])


def batch_of(game: Game[S], states: Sequence[S], stream: int = 0) -> StateBatch[S]:
    """A batch of any unfinished states, for calling an evaluator outside a search."""
    legal = np.zeros((len(states), game.num_actions), np.bool_)
    for mask, state in zip(legal, states, strict=True):
        mask[list(game.legal_actions(state))] = True
    if isinstance(game, CompiledGame):
        states = PackedStates(game.initial_state(), np.array(states, np.int64))
    return StateBatch(game, states, legal, np.arange(stream, stream + len(states), dtype=np.int64))
