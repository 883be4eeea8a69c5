"""azero's players as policies in PettingZoo's classic environments, `connect_four_v3` and `tictactoe_v3`.

PettingZoo itself is the extra `pettingzoo`; nothing of it is needed here. Actions have the same numbers on both sides:
PettingZoo draws tic-tac-toe with the cells 0, 1 and 2 below each other, but its observation has them in one row, as
azero does, so that its board is azero's, mirrored at a diagonal.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from azero._jit import draw
from azero.games import load_game
from azero.players.spec import parse_player

_GAMES = {"connect_four_v3": "connect4", "tictactoe_v3": "tictactoe"}


class Policy:
    """A player that is shown the board anew for each move, for either seat and for any number of games at a time.

    What it chooses depends on the observation, on `seed`, and on how many times it has been asked before.
    """

    def __init__(self, name: str, player: str, seed: int = 0) -> None:
        """`name` is what PettingZoo calls the game, `player` a description such as "uct:1000".

        Raises ValueError for a game or a player that there is not.
        """
        self.name = name.rpartition("/")[2].replace("-", "_")  # as metadata has it, or as make() is told
        if self.name not in _GAMES:
            raise ValueError(f"azero plays {' and '.join(_GAMES)} of PettingZoo, not {name!r}")
        self._game = load_game(_GAMES[self.name])
        self._player = parse_player(player).make(self._game)
        self._seed = seed
        self._num_calls = 0

    def __call__(self, observation: Mapping[str, npt.ArrayLike], *rest: Any) -> int | None:
        """The action for the player to move, who sees this: `policy(observation)`, or `policy(*environment.last())`.

        By what `last` says more, the answer is None if the game is over for the player. Raises ValueError for what no
        player to move can see.
        """
        if any(rest[1:3]):  # terminated or truncated
            return None
        state = self._state(np.asarray(observation["observation"]))
        allowed = np.flatnonzero(observation["action_mask"]).tolist()
        legal = list(self._game.legal_actions(state))
        if legal != allowed:
            raise ValueError(
                f"{self.name}: the action_mask allows {allowed}, and by the rules are legal {legal}; "
                "an observation must be that of the player to move, in a game that is not over"
            )
        self._num_calls += 1
        self._player.start(draw(self._seed, self._num_calls))
        return self._player.choose(state)

    def _state(self, planes: npt.NDArray[Any]) -> Any:
        """The state in these planes, [H, W, 2]: the mover's stones before the opponent's."""
        shape = (*self._game.observation_shape[1:], 2)
        if planes.shape != shape:
            raise ValueError(f"{self.name}: an observation has the shape {shape}, not {planes.shape}")
        own, other = planes[..., 0], planes[..., 1]
        if (own.astype(bool) & other.astype(bool)).any():
            raise ValueError(f"{self.name}: a cell of the observation holds stones of both players")
        symbols = ".XO" if own.sum() == other.sum() else ".OX"  # X moves first
        rows = (" ".join(symbols[content] for content in row) for row in own + 2 * other)
        return self._game.parse_state("\n".join(rows))
