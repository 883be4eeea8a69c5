"""Where alpha-beta keeps states: those of the line it looks at, and a table of what it found out about others.

The memory of a compiled game is arrays, for kernels; that of a game in plain Python is a dict. Both hold whole states,
so that no state is ever taken for another, and both are bounded: new entries push out old ones.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from azero._jit import below, compilable, dispatched, draw, pack, unpack
from azero.games.compiled import CompiledGame
from azero.games.game import Game
from azero.search.tree import IntArray

LongArray = npt.NDArray[np.int64]


@dispatched
def write_state(memory: Any, ply: int, state: Any) -> None:
    """Keep the state of a row."""


@dispatched
def read_state(memory: Any, ply: int) -> Any:
    """The state of a row."""


@dispatched
def find_entry(memory: Any, ply: int, depth: int) -> int:
    """The entry of the table that holds the state of a row, to be searched `depth` plies deep; -1 if none does."""
    raise NotImplementedError


@dispatched
def place_entry(memory: Any, ply: int, depth: int, num_nodes: int) -> int:
    """An entry for the state of a row, whose search to that depth took `num_nodes`; -1 if it should have none."""
    raise NotImplementedError


_LEAST_DEPTH = 4  # of 2 to 5 the fastest for Connect Four
_ENTRY = [("score", "i8"), ("num_nodes", "i4"), ("era", "i4"), ("depth", "i4"), ("bound", "i4"), ("action", "i4")]


class PackedMemory(NamedTuple):
    """The states of a compiled game: those of the line, and N of the table, each in one of two entries."""

    like: Any
    states: LongArray  # int64[D, fields]
    least_depth: int  # a state to be searched less deep is not looked up: main memory is slower than that
    current_era: int  # entries of others count as empty
    keys: LongArray  # int64[N, fields]: the whole state, so that no other is taken for it
    score: LongArray  # int64[N]
    num_nodes: IntArray  # int32[N]
    era: IntArray  # int32[N]
    depth: IntArray  # int32[N]: how deep the state was searched, or _PROVEN
    bound: IntArray  # int32[N]
    action: IntArray  # int32[N]: the best one

    def write_state(self, ply: int, state: Any) -> None:
        """See above."""
        pack(state, self.states[ply])

    def read_state(self, ply: int) -> Any:
        """See above."""
        return unpack(self.like, self.states[ply])

    def find_entry(self, ply: int, depth: int) -> int:
        """See above."""
        if depth < self.least_depth:
            return -1
        row = self.states[ply]
        first = _bucket(row, len(self.score))
        for entry in range(first, first + 2):
            if self.era[entry] == self.current_era and _is_same(self.keys[entry], row):
                return entry
        return -1

    def emptied(self) -> "PackedMemory":
        """The same with an empty table."""
        return self._replace(current_era=self.current_era + 1)

    def place_entry(self, ply: int, depth: int, num_nodes: int) -> int:
        """The state's own entry, or an empty one, or that which cost less."""
        if depth < self.least_depth:
            return -1
        row = self.states[ply]
        place = _bucket(row, len(self.score))
        if self.era[place] == self.current_era and not _is_same(self.keys[place], row):
            other = place + 1
            if (
                self.era[other] != self.current_era
                or self.num_nodes[other] <= self.num_nodes[place]
                or _is_same(self.keys[other], row)
            ):
                place = other
        for i in range(len(row)):
            self.keys[place, i] = row[i]
        self.era[place] = self.current_era
        self.num_nodes[place] = min(num_nodes, 2**31 - 1)
        return place


@compilable
def _bucket(row: Any, size: int) -> int:
    mixed = 0
    for i in range(len(row)):
        mixed = draw(mixed ^ row[i], i)
    return 2 * below(mixed, size // 2)


@compilable
def _is_same(key: Any, row: Any) -> bool:
    same = True
    for i in range(len(row)):
        same = same and key[i] == row[i]
    return same


class PlainMemory:
    """The same for a game in plain Python, whose states are kept as they are; the oldest entry gives way."""

    def __init__(self, num_plies: int, size: int) -> None:
        self.states: list[Any] = [None] * num_plies
        self.size = size
        self.entries: dict[Any, int] = {}
        table = np.zeros(size, _ENTRY)
        self.score, self.depth, self.bound, self.action = (table[n] for n in ("score", "depth", "bound", "action"))

    def write_state(self, ply: int, state: Any) -> None:
        """See above."""
        self.states[ply] = state

    def read_state(self, ply: int) -> Any:
        """See above."""
        return self.states[ply]

    def emptied(self) -> "PlainMemory":
        """The same with an empty table."""
        self.entries.clear()
        return self

    def find_entry(self, ply: int, depth: int) -> int:
        """See above."""
        return self.entries.get(self.states[ply], -1)

    def place_entry(self, ply: int, depth: int, num_nodes: int) -> int:
        """See above."""
        if self.size == 0:
            return -1
        state = self.states[ply]
        if state not in self.entries:
            full = len(self.entries) == self.size
            self.entries[state] = self.entries.pop(next(iter(self.entries))) if full else len(self.entries)
        return self.entries[state]


def new_memory(game: Game[Any], num_plies: int, size: int) -> PackedMemory | PlainMemory:
    """The memory for a search of `num_plies` plies, with a table of `size` entries."""
    if not isinstance(game, CompiledGame):
        return PlainMemory(num_plies, size)
    like: Any = game.initial_state()
    entry = np.dtype([("key", "i8", (len(like),)), *_ENTRY], align=True)
    table = np.zeros(size + size % 2, entry)
    return PackedMemory(
        like=like,
        states=np.zeros((num_plies, len(like)), np.int64),
        least_depth=_LEAST_DEPTH if size else 1 << 31,
        current_era=1,
        keys=table["key"],
        score=table["score"],
        num_nodes=table["num_nodes"],
        era=table["era"],
        depth=table["depth"],
        bound=table["bound"],
        action=table["action"],
    )
