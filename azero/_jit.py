"""The only place that touches Numba: kernels, dispatch on a type, and random numbers.

Kernels are cached on disk, see `azero._cache`.
"""

import inspect
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba.core import cgutils, event
from numba.extending import intrinsic, overload, register_jitable

from azero._cache import SOURCES, cache_directory

P = ParamSpec("P")
R = TypeVar("R")

_config: Any = numba.config
_FALSE: Any = cgutils.false_bit
_OPTIONS: Any = {"error_model": "numpy"}  # division by zero gives infinity or NaN, as in NumPy, without a branch
_KERNEL: Any = {**_OPTIONS, "nogil": True, "_nrt": False}
_INLINE: Any = {**_OPTIONS, "forceinline": True}  # a call would pass every array of a tree, each seven words long
_MASK64, _SIGN = (1 << 64) - 1, 1 << 63
_kernels: list[Any] = []


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with Numba, without the GIL, and cache the machine code on disk.

    A kernel makes no arrays or lists, so that Numba need not count the references to those it is given, which costs
    an atomic operation at each use. With NUMBA_DISABLE_JIT=1 the function runs as it stands, which is how coverage is
    measured.
    """
    compiled: Any = numba.njit(**_KERNEL)(function)
    if compiled is not function:
        _kernels.append(compiled)
        _enable_cache(compiled, cache_directory())
    return cast(Callable[P, R], compiled)


def compilable(function: Callable[P, R]) -> Callable[P, R]:
    """Let kernels call `function`, compiled into them; called from Python it runs as it stands, on any arguments."""
    return register_jitable(**_INLINE)(function)


def user_function(function: Callable[P, R]) -> Callable[P, R]:
    """Let kernels call a function of a user's, which may make arrays and lists."""
    return register_jitable(**_INLINE, _nrt=True)(function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel when called from Python, compiled into the kernels that call it."""
    compiled = kernel(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return compiled(*args, **kwargs)

    overload(call, strict=False, jit_options=_INLINE)(lambda *_args: function)
    return call


def dispatched(stub: Callable[P, R]) -> Callable[P, R]:
    """Make `stub(receiver, ...)` call the method of that name on the receiver's class, also inside kernels.

    The receiver is a NamedTuple (a game's rules, a selection rule, a rollout policy). Numba finds the method by the
    receiver's type, which, unlike functions passed as arguments, leaves the on-disk cache usable. A class without the
    method gets the stub's own body.
    """
    name, default = stub.__name__, cast(Callable[..., Any], stub)
    parameters = ", ".join(inspect.signature(stub).parameters)

    @wraps(stub)
    def call(receiver: Any, *args: Any) -> Any:
        method = getattr(receiver, name, None)
        return default(receiver, *args) if method is None else method(*args)

    def find(receiver: Any, *_args: Any) -> Any:
        return getattr(getattr(receiver, "instance_class", None), name, stub)

    # Numba wants the stub's own parameter names; the method itself calls its receiver `self`.
    options: Any = {**_INLINE, "_nrt": True}  # a user's rules may make arrays
    overload(call, strict=False, jit_options=options)(eval(f"lambda {parameters}: find({parameters})", {"find": find}))
    return cast(Callable[P, R], call)


def add_source(*paths: str | Path) -> None:
    """Make the cache depend on more source files: the modules of a user's compiled rules."""
    if new := {Path(path).resolve() for path in paths} - SOURCES:
        SOURCES.update(new)
        directory = cache_directory()
        for compiled in _kernels:
            _enable_cache(compiled, directory)


def _enable_cache(compiled: Any, directory: Path) -> None:
    before, _config.CACHE_DIR = _config.CACHE_DIR, str(directory)
    try:
        compiled.enable_caching()
    finally:
        _config.CACHE_DIR = before
    kept, load = compiled._cache, compiled._cache.load_overload

    def load_or_forget(*args: Any) -> Any:
        try:
            return load(*args)
        except Exception:  # rules that this process does not have, or a damaged file: there is no end to what it raises
            return kept.flush()

    kept.load_overload = load_or_forget


class _CompilingNotice(event.Listener):
    """Says once, on standard error, why the first call of a fresh installation takes seconds."""

    said = False

    def on_start(self, _event: Any) -> None:
        if not self.said:
            self.said = True
            sys.stderr.write("azero: compiling its kernels, once for this version (some seconds) ...\n")

    def on_end(self, _event: Any) -> None:
        """Nothing to do: the line has been said."""


_notice = _CompilingNotice()
_register: Any = event.register
_register("numba:compile", _notice)


def compile_silently() -> None:
    """Leave it to another process, which compiles the same, to say so."""
    _notice.said = True


def draw(stream: int, counter: int) -> int:
    """Number `counter` of a random stream: an integer in [0, 2**63), also usable as a new stream.

    Counter-based (SplitMix64; Steele, Lea, Flood 2014), so that what is drawn for one game, move or simulation does
    not depend on what ran beside it, in which order, or on how many threads.
    """
    z = (int(stream) + (int(counter) + 1) * 0x9E3779B97F4A7C15) & _MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK64
    return (z ^ (z >> 31)) >> 1


@overload(draw, strict=False)  # strict would compare the annotations too
def _draw_compiled(stream: Any, counter: Any) -> Any:
    u64, one, golden = np.uint64, np.uint64(1), np.uint64(0x9E3779B97F4A7C15)
    first, second = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
    s30, s27, s31 = np.uint64(30), np.uint64(27), np.uint64(31)

    def implementation(stream: Any, counter: Any) -> Any:
        z = u64(stream) + (u64(counter) + one) * golden
        z = (z ^ (z >> s30)) * first
        z = (z ^ (z >> s27)) * second
        return np.int64((z ^ (z >> s31)) >> one)

    return implementation


def mix(key: int, number: int) -> int:
    """A hash of `number` and of what went into `key`, as an integer in [0, 2**63)."""
    z = ((int(key) ^ int(number)) & _MASK64) * 0x9E3779B97F4A7C15 & _MASK64
    return (z ^ (z >> 32)) >> 1


@overload(mix, strict=False)  # strict would compare the annotations too
def _mix_compiled(key: Any, number: Any) -> Any:
    u64, golden, one, half = np.uint64, np.uint64(0x9E3779B97F4A7C15), np.uint64(1), np.uint64(32)

    def implementation(key: Any, number: Any) -> Any:
        z = (u64(key) ^ u64(number)) * golden
        return np.int64((z ^ (z >> half)) >> one)

    return implementation


def _in_kernels(implementation: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let kernels that call a function run `implementation`."""

    def register(function: Callable[P, R]) -> Callable[P, R]:
        overload(function, strict=False)(lambda *_words: implementation)
        return function

    return register


def _instruction(build: Callable[[Any, Any], Any]) -> Any:
    """A function of kernels, from a word to a number, that is one instruction of LLVM."""

    def typed(_context: Any, word: Any) -> Any:
        return word(word), lambda _context, builder, _signature, words: build(builder, words[0])

    return intrinsic(typed)


_population = _instruction(lambda builder, word: builder.ctpop(word))
_trailing_zeros = _instruction(lambda builder, word: builder.cttz(word, _FALSE))


@_in_kernels(lambda bits, n: np.int64(bits) << np.int64(n))
def shift_left(bits: int, n: int) -> int:
    """A word of 64 bits, kept as a signed integer, shifted by n in [0, 64); what leaves it is lost."""
    return ((bits << n) + _SIGN & _MASK64) - _SIGN


@_in_kernels(lambda bits, n: np.int64(np.uint64(bits) >> np.uint64(n)))
def shift_right(bits: int, n: int) -> int:
    """The word shifted by n in [0, 64) to the right; zeros come in, also where it is negative."""
    return (bits & _MASK64) >> n if n else bits


@_in_kernels(lambda bits: _population(np.int64(bits)))
def count_bits(bits: int) -> int:
    """How many bits of a word are set."""
    return (bits & _MASK64).bit_count()


@_in_kernels(lambda bits: _trailing_zeros(np.int64(bits)))
def lowest_bit(bits: int) -> int:
    """Where a word's lowest set bit is, in [0, 64); 64 if none is set."""
    return (bits & -bits).bit_length() - 1 if bits else 64


@_in_kernels(lambda bits: np.int64(bits) & (np.int64(bits) - np.int64(1)))
def drop_lowest_bit(bits: int) -> int:
    """The word without its lowest set bit."""
    return bits & (bits - 1 if bits > -_SIGN else _SIGN - 1)


@compilable
def below(number: int, bound: int) -> int:
    """Map a drawn number to [0, bound), for a bound below 2**31, without division (Lemire 2019)."""
    return ((number >> 31) * bound) >> 32


def pack(state: tuple[int, ...], row: Any) -> None:
    """Write a compiled game's state into one row of an int64 array."""
    row[:] = state


@overload(pack, strict=False)  # strict would compare the annotations too
def _pack_compiled(state: Any, row: Any) -> Any:
    body = "; ".join(f"row[{i}] = state[{i}]" for i in range(len(state.types)))
    return generated(f"def implementation(state, row): {body}")


def unpack(like: R, row: Any) -> R:
    """Read a state of the same class as `like` back from a row that `pack` wrote."""
    make: Any = getattr(like, "_make", tuple)
    return cast(R, make(row.tolist()))


@overload(unpack, strict=False)  # strict would compare the annotations too
def _unpack_compiled(like: Any, row: Any) -> Any:
    fields = (f"row[{i}]" for i in range(len(like.types)))
    return _making("like, row", like, fields)


def with_field(state: R, index: int, value: int) -> R:
    """A compiled game's state with another value in the field of this number, unknown beforehand to kernels."""
    fields = list(cast(tuple[int, ...], state))
    fields[index] = value
    return type(state)(*fields)


@overload(with_field, strict=False)  # strict would compare the annotations too
def _with_field_compiled(state: Any, index: Any, value: Any) -> Any:
    fields = (f"value if index == {i} else state[{i}]" for i in range(len(state.types)))
    return _making("state, index, value", state, fields)


def in_whole_numbers(like: R, state: Any) -> R:
    """The state in ints, as one of the class of `like`, with truth values as 0 and 1."""
    make: Any = getattr(like, "_make", tuple)
    return cast(R, make(map(int, state)))


@overload(in_whole_numbers, strict=False)  # strict would compare the annotations too
def _in_whole_numbers_compiled(like: Any, state: Any) -> Any:
    return _making("like, state", like, (f"int(state[{i}])" for i in range(len(like.types))))


def replacing(names: tuple[str, ...]) -> Callable[..., Any]:
    """A function of a state and of new values for these fields of it, like `state._replace`, for kernels too."""
    parameters = ", ".join(f"value{i}" for i in range(len(names)))

    def replaced(state: Any, *values: Any) -> Any:
        return state._replace(**dict(zip(names, values, strict=True)))

    def find(state: Any) -> Any:
        fields = (f"value{names.index(name)}" if name in names else f"state.{name}" for name in state.fields)
        return _making(f"state, {parameters}", state, fields)

    overload(replaced, strict=False)(eval(f"lambda state, {parameters}: find(state)", {"find": find}))
    return replaced


def for_types(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let kernels that call `function` run what the decorated one returns for Numba's types of the arguments."""
    register: Callable[[Callable[..., Any]], Callable[..., Any]] = overload(function, strict=False)
    return register


def _making(parameters: str, like: Any, fields: Iterable[str], **names: Any) -> Any:
    """A function that makes a state of the class of `like`, which may be a plain tuple, of these fields."""
    listed = ", ".join(fields)
    made = f"make({listed})" if hasattr(like, "instance_class") else f"({listed},)"
    return generated(
        f"def implementation({parameters}): return {made}", make=getattr(like, "instance_class", None), **names
    )


def generated(source: str, **names: Any) -> Any:
    """The function `implementation` that a source defines, with these names."""
    exec(source, names)
    return names["implementation"]
