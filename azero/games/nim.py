"""Nim and subtraction games: take any number of stones, or at most some number, from one heap.

Players: X (player 0) and O.
Actions: 15, (stones - 1) times the number of heaps plus the heap; a2 takes two stones from the first heap.
Observation: float32[2, 3, 5], a row for each heap; plane 0 its stones, plane 1 the uppermost of them.
Outcome: -1 for the player to move, as the opponent has taken the last stone; the opposite in misere play.
End: no stone is left, after 12 actions or fewer.
Symmetries: 6, the orders of the heaps; of more than four heaps only the rotations.

These are the figures of heaps of three, four and five stones. A heap has at most 4095 of them, and all heaps together
fit into one integer: five heaps of that size, or eight of 127, or twenty of 7.

Who wins is known (Bouton 1901 for Nim, both ways to play; Berlekamp, Conway and Guy, "Winning Ways", for the rest): see
`Nim.exact_value`.
"""

import re
from collections.abc import Sequence
from functools import partial
from itertools import permutations
from typing import Any, NamedTuple

from azero._jit import compilable
from azero.games.compiled import CompiledGame
from azero.games.game import Symmetry, full_name

_MAX_BITS = 62
_MAX_HEAPS = 26  # named by letters
_MAX_STONES = 4095
_MAX_PERMUTED = 4  # heaps of which every order is a symmetry: 24 of them
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class State(NamedTuple):
    """Heap h is the number in `bits` bits from bit h * bits on."""

    heaps: int
    player: int  # to move


@compilable
def _stones(bits: int, heaps: int, heap: int) -> int:
    """How many a heap has."""
    return (heaps >> (heap * bits)) & ((1 << bits) - 1)


@compilable
def _least_rotation(bits: int, heaps: int, num_heaps: int) -> int:
    """The least number of all whose heaps stand in the same order in a circle."""
    least = rotated = heaps
    for _ in range(num_heaps - 1):
        rotated = (rotated >> bits) | (_stones(bits, rotated, 0) << ((num_heaps - 1) * bits))
        least = min(least, rotated)
    return least


class Rules(NamedTuple):
    """The heaps at the start, and how to play."""

    heaps: int  # as in a state
    num_heaps: int
    bits: int  # of each heap
    take: int  # the most that may be taken at once
    misere: int  # 1: who takes the last stone loses

    def initial_state(self) -> State:
        """All heaps as they were given."""
        return State(self.heaps, 0)

    def current_player(self, state: State) -> int:
        """As the state says."""
        return state.player

    def write_legal_actions(self, state: State, out: Any) -> int:
        """As many stones as a heap has."""
        num_legal = 0
        for taken in range(1, self.take + 1):
            for heap in range(self.num_heaps):
                if _stones(self.bits, state.heaps, heap) >= taken:
                    out[num_legal] = (taken - 1) * self.num_heaps + heap
                    num_legal += 1
        return num_legal

    def step(self, state: State, action: int) -> State:
        """Take stones and hand over."""
        taken, heap = action // self.num_heaps + 1, action % self.num_heaps
        return State(state.heaps - (taken << (heap * self.bits)), 1 - state.player)

    def outcome(self, state: State) -> float:
        """The opponent took the last stone."""
        return 1.0 if self.misere else -1.0

    @property
    def key_width(self) -> int:
        """One number."""
        return 1

    def write_key(self, state: State, key: Any) -> None:
        """The heaps beside the player."""
        key[0] = state.heaps << 1 | state.player

    def canonical(self, state: State) -> State:
        """The heaps in ascending order; where there are too many for every order, the one that is the least number."""
        heaps = state.heaps
        if self.num_heaps > _MAX_PERMUTED:
            return State(_least_rotation(self.bits, heaps, self.num_heaps), state.player)
        for end in range(self.num_heaps - 1, 0, -1):
            for heap in range(end):
                excess = _stones(self.bits, heaps, heap) - _stones(self.bits, heaps, heap + 1)
                if excess > 0:
                    heaps += (excess << ((heap + 1) * self.bits)) - (excess << (heap * self.bits))
        return State(heaps, state.player)

    def write_observation(self, state: State, planes: Any) -> None:
        """Each heap as a row of its stones, and its height as a mark in such a row."""
        for heap in range(self.num_heaps):
            stones = _stones(self.bits, state.heaps, heap)
            for place in range(stones):
                planes[0, heap, place] = 1
            if stones:
                planes[1, heap, stones - 1] = 1


class Nim(CompiledGame[State]):
    """Nim; with a bound on what may be taken at once, a subtraction game."""

    name = "nim"

    def __init__(self, heaps: str = "3-4-5", take: int = 0, misere: bool = False) -> None:
        """`heaps` are the numbers of stones, joined by "-"; `take` is the most to be taken at once, 0: no bound.

        In misere play, who takes the last stone loses. Raises ValueError for heaps or a bound that cannot be.
        """
        stones = _read_heaps(heaps)
        largest = max(stones)
        bits = largest.bit_length()
        num_allowed = min(_MAX_HEAPS, _MAX_BITS // bits)
        if len(stones) > num_allowed:
            raise ValueError(
                f"heaps of up to {largest} stones may be at most {num_allowed}, got {len(stones)}; "
                "there can be more heaps if they are smaller"
            )
        if not 0 <= take <= largest:
            raise ValueError(f"take must be 0, for no bound, or 1 to {largest}, the largest heap; got {take}")
        self.name = full_name(self, heaps=_text(stones), take=take, misere=misere)
        self.start = stones
        self.rules = Rules(_packed(stones, bits), len(stones), bits, take or largest, int(misere))
        self.num_actions = len(stones) * self.rules.take
        self.max_game_length = sum(stones)
        self.observation_shape = (2, len(stones), largest)

    def heaps(self, state: State) -> list[int]:
        """The stones of each heap."""
        return [_stones(self.rules.bits, state.heaps, heap) for heap in range(self.rules.num_heaps)]

    def exact_value(self, state: State) -> float:
        """By the theory: the mover has lost if the heaps' nim-sum is 0.

        With at most k stones at once, a heap counts as its remainder by k + 1, which is its Grundy number. In misere
        play the same holds while a heap counts as two or more; after that, the mover has lost if the sum is 1.
        """
        counted = [stones % (self.rules.take + 1) for stones in self.heaps(state)]
        nim_sum = 0
        for number in counted:
            nim_sum ^= number
        lost = nim_sum == (1 if self.rules.misere and max(counted) <= 1 else 0)
        return -1.0 if lost else 1.0

    def symmetries(self) -> list[Symmetry[State]]:
        """The other orders of the heaps; of many, the rotations."""
        num_heaps, (_, _, width) = self.rules.num_heaps, self.observation_shape
        places = range(num_heaps)
        if num_heaps <= _MAX_PERMUTED:
            orders = list(permutations(places))
        else:
            orders = [tuple((heap + shift) % num_heaps for heap in places) for shift in places]
        return [
            Symmetry(
                partial(self._reordered, order),
                tuple(action - action % num_heaps + order[action % num_heaps] for action in range(self.num_actions)),
                tuple(order[heap] * width + place for heap in places for place in range(width)),
            )
            for order in orders[1:]
        ]

    def _reordered(self, order: Sequence[int], state: State) -> State:
        moved = dict(zip(order, self.heaps(state), strict=True))
        return state._replace(heaps=_packed([moved[heap] for heap in range(len(order))], self.rules.bits))

    def action_text(self, action: int) -> str:
        """The heap's letter and the number of stones; the number alone where there is one heap."""
        taken, heap = action // self.rules.num_heaps + 1, action % self.rules.num_heaps
        return f"{_LETTERS[heap]}{taken}" if self.rules.num_heaps > 1 else str(taken)

    def state_text(self, state: State) -> str:
        """The heaps and the player to move: "3-4-5 X"."""
        return f"{_text(self.heaps(state))} {self.player_names[state.player]}"

    def parse_state(self, text: str) -> State:
        """The heaps in the text, X to move unless it says O. Raises ValueError unless play could have left them."""
        heaps, _, name = text.strip().partition(" ")
        if (name or "X") not in self.player_names or not re.fullmatch(r"\d{1,4}(-\d{1,4})*", heaps):
            raise ValueError(f"a state of {self.name} is a text like {_text(self.start) + ' X'!r}, not {text!r}")
        stones = [int(number) for number in heaps.split("-")]
        limits = sorted(self.start)
        if len(stones) != len(limits) or any(n > limit for n, limit in zip(sorted(stones), limits, strict=True)):
            raise ValueError(f"the heaps {heaps} cannot be what is left of {_text(self.start)}")
        return State(_packed(stones, self.rules.bits), self.player_names.index(name or "X"))


def _read_heaps(text: str) -> list[int]:
    """The heaps at the start of a game. Raises ValueError for a text of none."""
    words = str(text).split("-")
    if not all(re.fullmatch("[0-9]{1,4}", word) and 1 <= int(word) <= _MAX_STONES for word in words):
        raise ValueError(f"heaps must be numbers from 1 to {_MAX_STONES} joined by '-', such as 3-4-5; got {text!r}")
    return [int(word) for word in words]


def _packed(stones: Sequence[int], bits: int) -> int:
    return sum(number << (heap * bits) for heap, number in enumerate(stones))


def _text(stones: Sequence[int]) -> str:
    return "-".join(map(str, stones))
