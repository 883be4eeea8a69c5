"""`@compiled`: one line that makes a game in plain Python a compiled one, by its own methods.

The methods stay what plain Python runs. For kernels they become functions of rules: a NamedTuple of those attributes of
the game that they read, such as a board's size.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from azero.games.compiled import CompiledGame, PackedStates, describe, prepare
from azero.games.game import FloatArray, Game
from azero.games.translate import Source, functions_of, read_methods

G = TypeVar("G", bound=Game[Any])

_made: set[type] = set()  # the classes that the decorator has made


def compiled(game_class: type[G]) -> type[G]:
    """Compile the rules of a game in plain Python: write `@compiled` above its class.

    Its states must be flat NamedTuples, or tuples, of ints, and its methods of the part of Python that Numba compiles:
    numbers, tuples, lists of numbers, loops, functions and methods of such. `azero.check` proves that it plays as
    before. Making the game raises ValueError, in one line, for what cannot be compiled.
    """
    unwritten = ", ".join(sorted(game_class.__abstractmethods__))
    if unwritten:
        raise ValueError(f"{game_class.__name__} must also define {unwritten}")
    names = ["current_player", "step", "outcome"]
    names += ["observation"] if game_class.observation is not Game.observation else []
    sources = read_methods(game_class, names, writer="legal_actions")
    attributes = sorted(set().union(*(source.attributes for source in sources)))
    rules_class: Any = NamedTuple("Rules", [(name, Any) for name in attributes])  # type: ignore[misc]
    rules_class.__module__, rules_class.__qualname__ = game_class.__module__, f"{game_class.__qualname__}.Rules"

    class Compiled(game_class, CompiledGame[Any]):  # type: ignore[valid-type, misc]  # whatever the game
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            if type(self) not in _made:
                raise ValueError(f"{type(self).__name__} derives from a compiled game: write @compiled above it too")
            if type(self) is Compiled:
                self.__dict__["rules"] = _rules(self, rules_class, sources)

        def observations(self, states: Sequence[Any]) -> FloatArray:
            """In one compiled call, if `observation` can be compiled."""
            if isinstance(states, PackedStates) and hasattr(rules_class, "write_observation"):
                try:
                    return super().observations(states)
                except Exception as error:
                    self.__dict__["uncompiled_observation"] = _reason(error, sources)
                    del rules_class.write_observation
            return super().observations(list(states))

    facts = {name: getattr(game_class, name) for name in ("__name__", "__qualname__", "__module__", "__doc__")}
    for name, fact in (*facts.items(), ("__signature__", inspect.signature(game_class))):
        setattr(Compiled, name, fact)
    setattr(game_class, rules_class.__name__, rules_class)  # where pickle looks for it
    _made.add(Compiled)
    return cast(type[G], Compiled)


def _rules(game: Game[Any], rules_class: Any, sources: Iterable[Source]) -> Any:
    """The game's rules, tried out. Raises ValueError for what cannot be compiled."""
    name, start = type(game).__name__, game.initial_state()
    _check_state(name, start)
    if not hasattr(rules_class, "step"):
        _give_methods(rules_class, sources)
    rules = rules_class(*(_parameter(game, field) for field in rules_class._fields))
    prepare(rules, start)
    row, actions = np.array(start, np.int64), np.zeros(game.num_actions, np.int32)
    try:
        describe(rules, start, row, actions, np.zeros((game.num_actions, len(start)), np.int64))
    except Exception as error:
        raise ValueError(f"{name} cannot be compiled: {_reason(error, sources)}") from error
    return rules


def _check_state(name: str, start: Any) -> None:
    needed = f"{name} cannot be compiled: a state must be a flat NamedTuple, or tuple, of ints"
    if not isinstance(start, tuple):
        raise ValueError(f"{needed}, and it starts with {start!r}")
    for field, value in zip(getattr(start, "_fields", range(len(start))), start, strict=True):
        if not isinstance(value, int) or not -(1 << 63) <= value < 1 << 63:
            raise ValueError(f"{needed} of 64 bits, and its {field} is {value!r}")


def _parameter(game: Game[Any], name: str) -> Any:
    value = number = getattr(game, name, None)
    while isinstance(number, tuple) and number:
        number = number[0]
    if not isinstance(number, bool | int | float):
        raise ValueError(
            f"{type(game).__name__} cannot be compiled: its methods read self.{name}, which must be a number or a "
            f"tuple of numbers, not {value!r}"
        )
    return value


def _reason(error: Exception, sources: Iterable[Source]) -> str:
    """What Numba could not compile, and where, out of the many lines in which it says so."""
    inner, *others = re.split(r'File "([^"]+)", line (\d+):', str(error))  # the innermost place comes first
    lines = re.split(r"Failed in nopython mode pipeline \(step: .*\)\n", inner)[-1].strip().splitlines()
    what = " ".join(line.strip(" >") for line in lines[: 3 if lines[0].endswith("signature:") else 1])
    what = re.sub(r"Function\(<.*? '?(\w+)'?( at \w+)?>\)|<iv=.*?>", r"\1", what)
    own = {Path(source.file).name for source in sources}
    places = (f"{Path(file).name}, line {line}: " for file, line in zip(others[::3], others[1::3], strict=True))
    return next((place for place in places if place.partition(",")[0] in own), "") + what


def _give_methods(rules_class: Any, sources: Iterable[Source]) -> None:
    """What kernels call."""
    functions = functions_of(sources)
    rules_class.current_player, rules_class.outcome = functions["self_current_player"], functions["self_outcome"]
    rules_class.write_legal_actions = functions["write_legal_actions"]
    rules_class.step = functions["self_step"]
    if "self_observation" in functions:
        rules_class.write_observation = _writing_observation(functions["self_observation"])


def _writing_observation(observation: Callable[..., Any]) -> Callable[..., Any]:
    def write_observation(self: Any, state: Any, planes: Any) -> None:
        observed = observation(self, state)
        for plane in range(observed.shape[0]):  # which Numba compiles several times as fast as planes[:] = observed
            for row in range(observed.shape[1]):
                for column in range(observed.shape[2]):
                    planes[plane, row, column] = observed[plane, row, column]

    return write_observation
