"""Games of OpenSpiel (the extra `openspiel`): `load_game("openspiel:breakthrough(rows=6,columns=6)")`.

Whatever is there for two players, zero-sum, sequential, without chance and of perfect information is a game of azero.
Its actions have OpenSpiel's numbers, and a picture of a state says which is which; player 0 is who begins, in chess
OpenSpiel's player 1. Its observation is OpenSpiel's for the player to move, and a plane that says who that is.
"""

import re
import textwrap
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from azero.games.game import FloatArray, Game, state_after
from azero.games.suggest import suggestion

_PLAYED = "played:"  # begins the part of a state's text that is read back
_WIDTH = 100  # of its lines


class OpenSpielState:
    """A state of OpenSpiel's that nobody changes; the same as any that the same actions led to."""

    def __init__(self, state: Any) -> None:
        self.state = state

    @cached_property
    def history(self) -> tuple[int, ...]:
        """The actions that led here."""
        return tuple(self.state.history())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpenSpielState) and self.history == other.history

    def __hash__(self) -> int:
        return hash(self.history)

    def __repr__(self) -> str:
        return f"OpenSpielState({' '.join(map(str, self.history))})"


class OpenSpielGame(Game[OpenSpielState]):
    """A game of OpenSpiel's, by its name and parameters there."""

    player_names = ("first player", "second player")

    def __init__(self, spec: str) -> None:
        """`spec` is as OpenSpiel writes it, "hex(board_size=5)"; yes and no may stand for True and False.

        Raises ValueError for a game or a parameter that is not there, or a game that azero cannot play, and ImportError
        where OpenSpiel is missing.
        """
        self._game = _load(re.sub(r"=(yes|no)\b", lambda word: f"={word[1] == 'yes'}", spec))
        self._first = int(self._game.new_initial_state().current_player())
        self._scale = float(max(1.0, self._game.max_utility(), -self._game.min_utility()))
        self.name = f"openspiel:{self._game}".removesuffix("()")
        self.num_actions = self._game.num_distinct_actions()
        self.max_game_length = self._game.max_game_length()
        if self._game.get_type().provides_observation_tensor:
            planes, *board = self._game.observation_tensor_shape()
            if not board:  # one row of numbers
                planes, board = 1, [1, planes]
            rows, columns = [1, *board][-2:]
            self.observation_shape = (1 + planes * prod(board[:-2]), rows, columns)

    def initial_state(self) -> OpenSpielState:
        """See the contract."""
        return OpenSpielState(self._game.new_initial_state())

    def current_player(self, state: OpenSpielState) -> int:
        """Who is to move, 0 if he began; in a finished game, who did not move last."""
        return self._mover(state) ^ self._first

    def _mover(self, state: OpenSpielState) -> int:
        """The player to move, as OpenSpiel counts."""
        if state.state.is_terminal():
            return 1 - int(state.state.full_history()[-1].player)
        return int(state.state.current_player())

    def is_terminal(self, state: OpenSpielState) -> bool:
        """Whether the game is over."""
        return bool(state.state.is_terminal())

    def legal_actions(self, state: OpenSpielState) -> list[int]:
        """OpenSpiel's numbers."""
        actions: list[int] = state.state.legal_actions()
        return actions

    def step(self, state: OpenSpielState, action: int) -> OpenSpielState:
        """The state after a legal action."""
        return OpenSpielState(state.state.child(action))

    def outcome(self, state: OpenSpielState) -> float:
        """The utility of the player who would be next, as a part of the largest there is."""
        utilities: list[float] = state.state.returns()
        return utilities[self._mover(state)] / self._scale

    def observation(self, state: OpenSpielState) -> FloatArray:
        """OpenSpiel's observation for the player to move, and a plane of ones if he is player 1."""
        if not hasattr(self, "observation_shape"):
            return super().observation(state)
        planes = np.empty(self.observation_shape, np.float32)
        planes[:-1] = np.reshape(state.state.observation_tensor(self._mover(state)), planes[:-1].shape)
        planes[-1] = self.current_player(state)
        return planes

    def parse_action(self, text: str) -> int:
        """The action of this number."""
        if not text.strip().isdecimal() or int(text) >= self.num_actions:
            raise ValueError(f"{text.strip()!r} is no action of {self.name}; allowed: 0 to {self.num_actions - 1}")
        return int(text)

    def state_text(self, state: OpenSpielState) -> str:
        """OpenSpiel's picture, what the legal actions mean, and the actions that led here; these are read back."""
        names = ", ".join(f"{action} {state.state.action_to_string(action)}" for action in self.legal_actions(state))
        played = f"{_PLAYED} {' '.join(map(str, state.history))}"
        picture = re.sub(r"\x1b\[[\d;]*m", "", str(state.state))  # without colours
        return "\n".join([picture, *textwrap.wrap(names, _WIDTH), *textwrap.wrap(played, _WIDTH)])

    def parse_state(self, text: str) -> OpenSpielState:
        """The state after the actions that stand behind the last "played:"."""
        _, found, actions = text.rpartition(_PLAYED)
        if not found:
            raise ValueError(f"{text!r} shows no state of {self.name}; one is '{_PLAYED}' and the actions to it")
        return state_after(self, map(self.parse_action, actions.split()))


def _load(spec: str) -> Any:
    try:
        import pyspiel
    except ImportError:
        raise ImportError("this game is OpenSpiel's, which is not here: pip install 'azero[openspiel]'") from None
    types = {known.short_name: known for known in pyspiel.registered_games()}
    name, _, parameters = spec.partition("(")
    if name not in types:
        playable = [known for known, kind in types.items() if not _unfit(kind)]
        raise ValueError(
            f"OpenSpiel has no game {name!r};{suggestion(name, types)} for azero it has {', '.join(playable)}"
        )
    known = types[name].parameter_specification
    for given in re.findall(r"(\w+)=", parameters.partition("(")[0]):
        if given not in known:
            has = ", ".join(f"{key}={value}" for key, value in known.items()) or "none"
            raise ValueError(f"OpenSpiel's {name} has no parameter {given!r};{suggestion(given, known)} it has {has}")
    try:
        game = pyspiel.load_game(spec)
    except (RuntimeError, IndexError) as error:
        raise ValueError(f"OpenSpiel does not make a game of {spec!r}: {str(error).splitlines()[0]}") from error
    unfit = _unfit(game.get_type())
    if game.num_players() != 2:
        unfit.append(f"{game.num_players()} players")
    if unfit:
        raise ValueError(f"azero cannot play OpenSpiel's {name}, which is of {' and '.join(unfit)}: {_NEEDED}")
    return game


_NEEDED = "a game must be for two players, sequential, deterministic, of perfect information and zero-sum"
_FIT = {
    "dynamics": "SEQUENTIAL",
    "chance_mode": "DETERMINISTIC",
    "information": "PERFECT_INFORMATION",
    "utility": "ZERO_SUM",
}


def _unfit(kind: Any) -> list[str]:
    """The properties of this type of OpenSpiel's that are not those of azero's games."""
    found = {name: getattr(kind, name).name for name in _FIT}
    return [f"{name.replace('_', ' ')} {value}" for name, value in found.items() if value != _FIT[name]]
