"""Games whose rules are compiled: the same contract, from rules that kernels can call.

The rules are a NamedTuple of the game's parameters (often none) with `initial_state()` and the methods below, written
in the part of Python that Numba compiles; their state is a NamedTuple of integers. Plain Python calls the methods as
they stand; kernels call the functions of this file, which find them by the type of the rules.
"""

import sys
from collections.abc import Hashable, Sequence
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from azero._jit import add_source, dispatched, kernel, pack, unpack
from azero.games.game import FloatArray, Game

S = TypeVar("S", bound=Hashable)


@dispatched
def current_player(rules: Any, state: Any) -> int:
    """The player to move, 0 or 1."""
    raise NotImplementedError


@dispatched
def write_legal_actions(rules: Any, state: Any, out: Any) -> int:
    """Write the legal actions into `out`, ascending, and return how many there are: 0 in a terminal state."""
    raise NotImplementedError


@dispatched
def step(rules: Any, state: Any, action: int) -> Any:
    """The state after a legal action."""


@dispatched
def outcome(rules: Any, state: Any) -> float:
    """The result of a terminal state for the player to move, in [-1, 1]."""
    raise NotImplementedError


@dispatched
def write_observation(rules: Any, state: Any, planes: Any) -> None:
    """Write what a network sees into `planes`, float32[C, H, W] of zeros."""


@dispatched
def canonical(rules: Any, state: Any) -> Any:
    """The one of all the state's images under the game's symmetries that stands for them; by default the state."""
    return state


@dispatched
def write_key(rules: Any, state: Any, key: Any) -> None:
    """Write numbers that tell the state from all others, int64[key width]; by default its fields.

    Rules that need fewer have also a property `key_width`, which says how many.
    """
    pack(state, key)


class CompiledGame(Game[S]):
    """A game whose `rules` (see the functions above) serve both plain Python and kernels.

    A subclass has its rules in the class, or sets them where it is made, if they have parameters.
    """

    rules: Any

    def __init_subclass__(cls) -> None:
        """Prepare rules that stand in the class."""
        if "rules" in vars(cls):
            _prepare(cls.rules)

    def __setattr__(self, name: str, value: object) -> None:
        """Prepare rules that a game sets for itself."""
        if name == "rules":
            _prepare(value)
        super().__setattr__(name, value)

    def initial_state(self) -> S:
        """The state in which a game starts."""
        state: S = self.rules.initial_state()
        return state

    def current_player(self, state: S) -> int:
        """The player to move."""
        return int(self.rules.current_player(state))

    def legal_actions(self, state: S) -> list[int]:
        """The legal actions, ascending."""
        actions = [0] * self.num_actions
        return actions[: self.rules.write_legal_actions(state, actions)]

    def step(self, state: S, action: int) -> S:
        """The state after `action`. Raises IllegalActionError if it is not legal."""
        after: S = self.rules.step(state, self.check_action(state, action))
        return after

    def outcome(self, state: S) -> float:
        """The result of a terminal state for the player to move."""
        return float(self.rules.outcome(state))

    def observation(self, state: S) -> FloatArray:
        """What a network sees, if the rules have `write_observation`."""
        if not hasattr(self.rules, "write_observation"):
            return super().observation(state)
        planes = np.zeros(self.observation_shape, np.float32)
        self.rules.write_observation(state, planes)
        return planes

    def observations(self, states: Sequence[S]) -> FloatArray:
        """What a network sees of many states: in one compiled call if they are packed."""
        if not isinstance(states, PackedStates):
            return super().observations(states)
        planes = np.zeros((len(states), *self.observation_shape), np.float32)
        _write_observations(self.rules, states.like, states.rows, planes)
        return planes

    def state_text(self, state: S) -> str:
        """The state's fields; a game shows a board instead."""
        fields: Any = state
        return " ".join(map(str, fields))

    def parse_state(self, text: str) -> S:
        """The state with these fields. Raises ValueError unless they are as many integers as a state has."""
        start: Any = self.initial_state()
        try:
            state: S = start._make(map(int, text.split()))
        except (TypeError, ValueError):
            raise ValueError(
                f"a state of {self.name} is a text like {self.state_text(start)!r}, not {text!r}"
            ) from None
        return state


def _prepare(rules: Any) -> None:
    """Make the kernels' disk cache see edits of the rules, and Numba tell them from all others.

    It takes NamedTuples for the same class if their names, fields and types are the same: hence full names.
    """
    for part in (type(rules), type(rules.initial_state())):
        if not hasattr(part, "_fields"):
            raise ValueError(f"compiled rules and their states must be NamedTuples, and {part.__qualname__} is not")
        part.__name__ = f"{part.__module__}.{part.__qualname__}"
    source = getattr(sys.modules.get(type(rules).__module__), "__file__", None)
    if source is not None:
        add_source(source)


class PackedStates(Sequence[S]):
    """States of a compiled game, kept as one int64 row each and unpacked when looked at."""

    def __init__(self, like: S, rows: npt.NDArray[np.int64]) -> None:
        """`like` is any state of the game, `rows` is int64[B, fields]."""
        self.like = like
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> S: ...

    @overload
    def __getitem__(self, index: slice | npt.NDArray[np.int64]) -> "PackedStates[S]": ...

    def __getitem__(self, index: int | slice | npt.NDArray[np.int64]) -> "S | PackedStates[S]":
        if isinstance(index, int | np.integer):
            return unpack(self.like, self.rows[index])
        return PackedStates(self.like, self.rows[index])


@kernel
def _write_observations(rules: Any, like: Any, rows: Any, planes: Any) -> None:
    for b in range(len(rows)):
        write_observation(rules, unpack(like, rows[b]), planes[b])
