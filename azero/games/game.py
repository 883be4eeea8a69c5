"""THE game contract: what a game must say, and the laws it must keep.

A state is a small immutable, hashable value, and rules are pure functions of it. Five methods make a game:
`initial_state`, `current_player`, `legal_actions`, `step` and `outcome`; the rest has defaults.

The sign rule, said once: **every value is from the point of view of the player to move in its state.** `outcome` of a
finished game is +1 if the player who would move next has won, -1 if he has lost, 0 for a draw. Whoever needs another
view compares the players; nobody infers the player from the depth, so that passes and double moves are right.

The laws, checked on any game by `azero.games.check`, but for whose side an observation shows, which it cannot know:

- a state is terminal if and only if it has no legal action; a forced pass is an action like any other;
- legal actions are distinct, ascending integers in [0, num_actions);
- `step` is pure, and a game ends within `max_game_length` actions;
- `current_player` is 0 or 1, and player 0 moves first;
- an observation has the declared shape and shows the board from the mover's side;
- symmetries commute with `step`, `legal_actions`, `outcome` and `observation`;
- text of actions and states reads back as the same action and state.
"""

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from inspect import signature
from operator import index
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

S = TypeVar("S", bound=Hashable)
_MAX_LISTED = 40  # actions in a message
FloatArray = npt.NDArray[np.float32]


class IllegalActionError(ValueError):
    """An action that the rules do not allow here; the message lists those they do."""


class GameOverError(ValueError):
    """A move was asked for in a finished game; the message says how the game ended."""


class Symmetry(NamedTuple, Generic[S]):
    """One symmetry of a game: where a state, each action and each cell of an observation plane go."""

    state: Callable[[S], S]
    actions: tuple[int, ...]  # action a becomes actions[a]
    cells: tuple[int, ...]  # cell i of every plane, counted row by row, moves to cells[i]


class Game(ABC, Generic[S]):
    """A two-player, zero-sum, deterministic game of perfect information."""

    name: str  # with the parameters that differ from their defaults (see `full_name`)
    num_actions: int  # actions are 0 ... num_actions - 1
    max_game_length: int  # no game has more actions than this
    observation_shape: tuple[int, int, int]  # planes C, rows H, columns W
    player_names: ClassVar[tuple[str, str]] = ("X", "O")

    @abstractmethod
    def initial_state(self) -> S:
        """The state in which a game starts; player 0 is to move."""

    @abstractmethod
    def current_player(self, state: S) -> int:
        """The player to move, 0 or 1. In a terminal state: whoever would be next, whose view `outcome` takes."""

    @abstractmethod
    def legal_actions(self, state: S) -> Sequence[int]:
        """The legal actions in ascending order; none if and only if the state is terminal."""

    @abstractmethod
    def step(self, state: S, action: int) -> S:
        """The state after a legal action. `state` itself stays as it is."""

    @abstractmethod
    def outcome(self, state: S) -> float:
        """The result of a terminal state, in [-1, 1], for `current_player(state)`; a draw is exactly 0."""

    def exact_value(self, state: S) -> float | None:
        """What perfect play leads to, for the player to move, if theory tells it without a search; else None.

        A game that answers for one state does so for all.
        """
        return None

    def is_terminal(self, state: S) -> bool:
        """Whether the game is over."""
        return not self.legal_actions(state)

    def observation(self, state: S) -> FloatArray:
        """The state as a network sees it: float32[C, H, W], the mover's stones before the opponent's."""
        raise NotImplementedError(f"{type(self).__name__} has no observation(); a network needs one to learn from")

    def observations(self, states: Sequence[S]) -> FloatArray:
        """The observations of many states, float32[B, C, H, W]."""
        return np.stack([self.observation(state) for state in states])

    def symmetries(self) -> Sequence[Symmetry[S]]:
        """All symmetries other than the identity."""
        return ()

    def action_text(self, action: int) -> str:
        """How people write an action; by default its number."""
        return str(action)

    def parse_action(self, text: str) -> int:
        """The action that `action_text` wrote. Raises ValueError, saying what is allowed, for any other text."""
        names = {self.action_text(action): action for action in range(self.num_actions)}
        if text.strip() not in names:
            raise ValueError(f"{text.strip()!r} is no action of {self.name}; allowed: {listed(names)}")
        return names[text.strip()]

    def state_text(self, state: S) -> str:
        """A picture of the state for people, which `parse_state` reads back; by default as Python writes it."""
        return repr(state).removeprefix(f"{type(state).__module__}.")

    def parse_state(self, text: str) -> S:
        """The state that `state_text` wrote. Raises ValueError for text that shows no state of this game.

        By default it takes numbers, text, tuples and the like, and NamedTuples and dataclasses of such.
        """
        start = self.initial_state()
        try:
            match ast.parse(text.strip(), mode="eval").body:
                case ast.Call(args=[], keywords=fields):
                    return type(start)(**{str(field.arg): ast.literal_eval(field.value) for field in fields})
                case value:
                    state: S = ast.literal_eval(value)
                    return state
        except (ValueError, SyntaxError, TypeError):
            raise ValueError(f"{text!r} shows no state of {self.name}; one is {self.state_text(start)!r}") from None

    def check_action(self, state: S, action: int) -> int:
        """`action` as an int if it is legal in `state`; else raises IllegalActionError, which says what is."""
        legal = self.legal_actions(state)
        try:
            number = index(action)
        except TypeError:
            number = -1
        if number not in legal:
            allowed = listed(map(self.action_text, legal)) or "none, the game is over"
            raise IllegalActionError(f"{self.name}: {action!r} is not legal here; legal: {allowed}")
        return number


def full_name(game: Game[S], **parameters: int | str) -> str:
    """The name of a game's class with those of its parameters that differ from the defaults: "othello(size=6)".

    A game with parameters sets `self.name` to it, so that nothing learned of one size is taken for another.
    """
    defaults = {key: parameter.default for key, parameter in signature(type(game)).parameters.items()}
    changed = {key: parameters[key] for key in defaults if key in parameters and parameters[key] != defaults[key]}
    words = ",".join(f"{key}={parameter_text(value)}" for key, value in changed.items())
    return f"{type(game).name}({words})" if words else type(game).name


def parameter_text(value: object) -> str:
    """A parameter's value as one writes it on a command line."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def listed(actions: Iterable[str]) -> str:
    """The texts of actions in one line, the first ones only where they are many."""
    texts = list(actions)
    return " ".join(texts[:_MAX_LISTED]) + (" ..." if len(texts) > _MAX_LISTED else "")


def state_after(game: Game[S], actions: Iterable[int]) -> S:
    """The state after a sequence of actions from the start. Raises IllegalActionError, naming the first bad one."""
    state = game.initial_state()
    for action in actions:
        state = game.step(state, game.check_action(state, action))
    return state


def winner(game: Game[S], state: S) -> int | None:
    """Who won a finished game: 0, 1, or None for a draw. Raises ValueError while the game is going on."""
    if not game.is_terminal(state):
        raise ValueError(f"this game of {game.name} is not over")
    outcome = game.outcome(state)
    if outcome == 0:
        return None
    mover = game.current_player(state)
    return mover if outcome > 0 else 1 - mover


def exact_values(game: Game[S], state: S) -> dict[int, float]:
    """What perfect play leads to after each action, for the player to move; none if the game's theory does not say."""
    values, mover = {}, game.current_player(state)
    for action in game.legal_actions(state):
        after = game.step(state, action)
        value = game.exact_value(after)
        if value is not None:
            values[action] = value if game.current_player(after) == mover else -value
    return values


def result_text(game: Game[S], state: S) -> str:
    """How a finished game ended, in words: "X wins", "O wins" or "draw"."""
    player = winner(game, state)
    return "draw" if player is None else f"{game.player_names[player]} wins"
