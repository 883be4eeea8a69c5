"""Games whose rules are compiled: the same contract, from rules that kernels can call.

The rules are a NamedTuple of the game's parameters (often none) with `initial_state()` and the methods below, written
in the part of Python that Numba compiles; their state is a NamedTuple of integers. Plain Python calls the methods as
they stand; kernels call the functions of this file, which find them by the type of the rules.
"""

import ast
import sys
import sysconfig
from collections.abc import Hashable, Sequence
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from azero._jit import add_source, dispatched, kernel, pack, unpack
from azero.games.game import FloatArray, Game

S = TypeVar("S", bound=Hashable)

_INSTALLED = tuple(sysconfig.get_paths()[place] for place in ("stdlib", "platstdlib", "purelib", "platlib"))
_INSTALLED += (str(Path(__file__).parents[1]),)  # azero's own sources count anyway


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
            _prepare_own(cls.rules)

    def __setattr__(self, name: str, value: object) -> None:
        """Prepare rules that a game sets for itself."""
        if name == "rules":
            _prepare_own(value)
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


def _prepare_own(rules: Any) -> None:
    """Prepare rules that know how a game starts."""
    start = rules.initial_state()
    for part in (type(rules), type(start)):
        if not hasattr(part, "_fields"):
            raise ValueError(f"compiled rules and their states must be NamedTuples, and {part.__qualname__} is not")
    prepare(rules, start)


def prepare(rules: Any, start: Any) -> None:
    """Make the kernels' disk cache see edits of the rules, and Numba tell them from all others.

    It takes NamedTuples for the same class if their names, fields and types are the same: hence full names.
    """
    for part in (type(rules), type(start)):
        if part is not tuple:
            part.__name__ = f"{part.__module__}.{part.__qualname__}"
    add_source(*own_sources(type(rules).__module__))


@cache
def own_sources(module_name: str) -> list[str]:
    """The files of a module and of all that it imports, but for what is installed."""
    sources: list[str] = []
    names = [module_name]
    while names:
        module = sys.modules.get(names.pop())
        source = getattr(module, "__file__", None) or ""
        if source in sources or not source.endswith(".py") or (sources and source.startswith(_INSTALLED)):
            continue
        sources.append(source)
        for node in ast.walk(ast.parse(Path(source).read_bytes())):
            if isinstance(node, ast.Import):
                names += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                origin = resolve_name("." * node.level + (node.module or ""), getattr(module, "__package__", None))
                names += [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
    return sources


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


@kernel
def describe(rules: Any, like: Any, row: Any, actions: Any, rows: Any) -> tuple[int, int, float]:
    """The player, the number of legal actions, and the result of a finished game; writes actions and successors."""
    state = unpack(like, row)
    num_legal = write_legal_actions(rules, state, actions)
    for i in range(num_legal):
        pack(step(rules, state, int(actions[i])), rows[i])
    return current_player(rules, state), num_legal, outcome(rules, state) if num_legal == 0 else 0.0
