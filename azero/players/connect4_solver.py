"""Who wins at Connect Four, and when: alpha-beta on bitboards, with a book of all positions after ten stones.

The search is that of Pascal Pons (blog.gamesolver.org): null windows, moves that do not lose at once ordered by the
threats they make, and one table of bounds. Boards are those of `azero.games.connect4`.

A score is an integer for the player to move: 0 is a draw; n > 0 wins with the n-th last of the winner's 21 stones, so
that sooner wins are larger; -n loses to the opponent's.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from azero._jit import compilable, count_bits, kernel, mix
from azero.games.connect4 import Connect4, State, mirrored

_COLUMNS, _HEIGHT, _CELLS = 7, 7, 42
_BOTTOM = sum(1 << _HEIGHT * column for column in range(_COLUMNS))
_BOARD = _BOTTOM * ((1 << _HEIGHT - 1) - 1)
_ORDER = tuple(((1 << _HEIGHT - 1) - 1) << _HEIGHT * column for column in (3, 2, 4, 1, 5, 0, 6))  # from the centre
_BOOK = Path(__file__).with_name("data") / "connect4_ply10.npz"
_BOOK_STONES = 10
_TABLE_SIZE = 1 << 22
_OFFSET = 32  # makes a score positive
_LOWER = 128  # the bit that tells a lower bound from an upper one

LongArray = npt.NDArray[np.int64]


class Memory(NamedTuple):
    """What the search knows, and where it keeps the moves it has yet to try."""

    table: LongArray  # int64[power of 2]: (key + 1) << 8 | _LOWER or 0 | bound + _OFFSET
    keys: LongArray  # int64[P], ascending: the book's positions, each by the smaller key of it and its mirror image
    scores: npt.NDArray[np.int8]  # int8[P]: their scores
    moves: LongArray  # int64[43, 7]: by the number of stones, single bits, the most promising last
    num_nodes: LongArray  # int64[1]: positions visited


class Connect4Solver:
    """Scores positions of Connect Four exactly; what it finds out about one serves the next."""

    def __init__(self, table_size: int = _TABLE_SIZE) -> None:
        """`table_size` is a power of 2; an entry takes 8 bytes. Raises ValueError for another."""
        if table_size < 1 or table_size & (table_size - 1):
            raise ValueError(f"table_size must be a power of 2, got {table_size}")
        keys, scores = _book()
        moves = np.zeros((_CELLS + 1, _COLUMNS), np.int64)
        self._memory = Memory(np.zeros(table_size, np.int64), keys, scores, moves, np.zeros(1, np.int64))
        self._game = Connect4()

    @property
    def num_nodes(self) -> int:
        """Positions visited so far."""
        return int(self._memory.num_nodes[0])

    def score(self, state: State) -> int:
        """The score of a state; of a finished one, too."""
        if state.lost:
            return -((_CELLS + 2 - state.num_stones) // 2)
        return int(_solve(state.own, state.taken, state.num_stones, self._memory))

    def scores(self, state: State) -> dict[int, int]:
        """The score of each legal action, for the player to move; none in a finished game."""
        return {action: -self.score(self._game.step(state, action)) for action in self._game.legal_actions(state)}

    def best_actions(self, state: State) -> tuple[list[int], int]:
        """The legal actions of the highest score, and it; none in a finished game. Faster than all scores."""
        best = self.score(state)
        return [action for action in self._game.legal_actions(state) if self._reaches(state, action, best)], best

    def _reaches(self, state: State, action: int, score: int) -> bool:
        """Whether an action has at least this score."""
        after = self._game.step(state, action)
        if after.lost or after.num_stones == _CELLS:
            return -self.score(after) >= score
        return -int(_bounded(after.own, after.taken, after.num_stones, -score, 1 - score, self._memory)) >= score


@cache
def _book() -> tuple[LongArray, npt.NDArray[np.int8]]:
    """The keys of all positions after ten stones that are not over, and their scores."""
    with np.load(_BOOK) as book:
        return np.cumsum(book["key_deltas"]).astype(np.int64), book["scores"]


@compilable
def _winning_cells(stones: int, taken: int) -> int:
    """The free cells, perhaps not yet within reach, that would complete four of these stones."""
    cells = (stones << 1) & (stones << 2) & (stones << 3)
    for step in (_HEIGHT - 1, _HEIGHT, _HEIGHT + 1):
        pairs = (stones << step) & (stones << 2 * step)
        cells |= pairs & (stones << 3 * step)
        cells |= pairs & (stones >> step)
        pairs = (stones >> step) & (stones >> 2 * step)
        cells |= pairs & (stones << step)
        cells |= pairs & (stones >> 3 * step)
    return cells & (_BOARD ^ taken)


@compilable
def _playable(taken: int) -> int:
    """The lowest free cell of each column."""
    return (taken + _BOTTOM) & _BOARD


@compilable
def _safe_moves(own: int, taken: int) -> int:
    """The moves after which the opponent does not win at once."""
    moves = _playable(taken)
    threats = _winning_cells(taken ^ own, taken)
    forced = moves & threats
    if forced:
        if forced & (forced - 1):
            return 0
        moves = forced
    return moves & ~(threats >> 1)


@kernel
def _solve(own: int, taken: int, num_stones: int, memory: Memory) -> int:
    """The score of an unfinished position, by ever closer null windows."""
    low, high = -((_CELLS - num_stones) // 2), (_CELLS + 1 - num_stones) // 2
    while low < high:
        middle = low + (high - low) // 2
        if middle <= 0 and -(-low // 2) < middle:
            middle = -(-low // 2)
        elif middle >= 0 and high // 2 > middle:
            middle = high // 2
        score = _bounded(own, taken, num_stones, middle, middle + 1, memory)
        low, high = (low, score) if score <= middle else (score, high)
    return low


@kernel
def _bounded(own: int, taken: int, num_stones: int, alpha: int, beta: int, memory: Memory) -> int:
    """The score of an unfinished position, if it is between alpha and beta; else a bound beyond the nearer of them."""
    if _winning_cells(own, taken) & _playable(taken):
        return (_CELLS + 1 - num_stones) // 2
    return int(_search(own, taken, num_stones, alpha, beta, memory))


@kernel
def _search(own: int, taken: int, num_stones: int, alpha: int, beta: int, memory: Memory) -> int:
    """As `_bounded`, where the player to move cannot win at once."""
    memory.num_nodes[0] += 1
    place = _place_in_book(own, taken, memory.keys) if num_stones == _BOOK_STONES else -1
    if place >= 0:
        return int(memory.scores[place])
    moves = _safe_moves(own, taken)
    if moves == 0:
        return -((_CELLS - num_stones) // 2)
    if num_stones >= _CELLS - 2:
        return 0
    key = own + taken + 1
    slot = mix(key, 0) & (len(memory.table) - 1)
    low, high = _known_bounds(memory.table[slot], key, num_stones)
    alpha, beta = max(alpha, low), min(beta, high)
    if alpha >= beta:
        return alpha if low >= beta else beta
    num_moves = _order(own, taken, moves, memory.moves[num_stones])
    for i in range(num_moves):
        score = _known_score(own, taken, memory.moves[num_stones, i], memory.table)
        if score >= beta:
            return score
    for i in range(num_moves - 1, -1, -1):
        move = memory.moves[num_stones, i]
        score = -_search(taken ^ own, taken | move, num_stones + 1, -beta, -alpha, memory)
        if score >= beta:
            memory.table[slot] = key << 8 | _LOWER | score + _OFFSET
            return score
        alpha = max(alpha, score)
    memory.table[slot] = key << 8 | alpha + _OFFSET
    return alpha


@compilable
def _known_bounds(entry: int, key: int, num_stones: int) -> tuple[int, int]:
    """Between which scores a position lies of which no player wins within two moves."""
    low, high = -((_CELLS - 2 - num_stones) // 2), (_CELLS - 1 - num_stones) // 2
    if entry >> 8 == key:
        bound = (entry & (_LOWER - 1)) - _OFFSET
        if entry & _LOWER:
            low = max(low, bound)
        else:
            high = min(high, bound)
    return low, high


@compilable
def _known_score(own: int, taken: int, move: int, table: LongArray) -> int:
    """What a move is worth at least, as far as the table tells."""
    key = (taken ^ own) + (taken | move) + 1
    entry = table[mix(key, 0) & (len(table) - 1)]
    return -_OFFSET if entry >> 8 != key or entry & _LOWER else _OFFSET - (entry & (_LOWER - 1))


@compilable
def _order(own: int, taken: int, moves: int, ordered: LongArray) -> int:
    """Write the moves, those that make fewest threats first; of as many, from the outer columns. Returns how many."""
    num_moves = 0
    for i in range(_COLUMNS - 1, -1, -1):
        move = moves & _ORDER[i]
        if move:
            threats = count_bits(_winning_cells(own | move, taken))
            place = num_moves
            while place > 0 and ordered[place - 1] >> 56 > threats:
                ordered[place] = ordered[place - 1]
                place -= 1
            ordered[place] = threats << 56 | move
            num_moves += 1
    for i in range(num_moves):
        ordered[i] &= (1 << 56) - 1
    return num_moves


@compilable
def _place_in_book(own: int, taken: int, keys: LongArray) -> int:
    """Where the book has a position of ten stones; -1 for one that no game can reach."""
    key = min(own + taken, mirrored(own) + mirrored(taken))
    first, last = 0, len(keys)
    while first < last:
        middle = (first + last) // 2
        if keys[middle] < key:
            first = middle + 1
        else:
            last = middle
    return first if first < len(keys) and keys[first] == key else -1
