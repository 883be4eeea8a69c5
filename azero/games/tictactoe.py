"""Tic-tac-toe.

Players: X (player 0) and O.
Actions: 9, the cells 0-8 row by row from the top left.
Observation: float32[2, 3, 3]; plane 0 the mover's stones, plane 1 the opponent's.
Outcome: -1 for the player to move when the opponent has three in a row; 0 when the board is full.
End: three in a row, or 9 stones.
Symmetries: 8, those of the square.
"""

from typing import Any, NamedTuple

import numpy as np

from azero.games.board import StoneGame, StoneRules, permute_bits, rectangle_symmetries, square_grid

_LINES = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)
_HAS_LINE = np.array([any(stones & line == line for line in _LINES) for stones in range(512)])
_IMAGES = np.array([[permute_bits(board, cells) for board in range(512)] for cells in rectangle_symmetries(3, 3)])


class State(NamedTuple):
    """Bit c of a board is cell c."""

    own: int  # the mover's stones
    other: int  # the opponent's stones
    num_stones: int
    lost: int  # 1 if the opponent has three in a row


class Rules(StoneRules):
    """Tic-tac-toe has no parameters."""

    def initial_state(self) -> State:
        """The empty board."""
        return State(0, 0, 0, 0)

    def write_legal_actions(self, state: State, out: Any) -> int:
        """The empty cells of an unfinished game."""
        num_legal = 0
        free = 0 if state.lost else ~(state.own | state.other)
        for cell in range(9):  # without a branch that could be mispredicted
            out[num_legal] = cell
            num_legal += (free >> cell) & 1
        return num_legal

    def step(self, state: State, action: int) -> State:
        """Put a stone and hand the board over."""
        stones = state.own | (1 << action)
        return State(state.other, stones, state.num_stones + 1, 1 if _HAS_LINE[stones] else 0)

    @property
    def key_width(self) -> int:
        """One number."""
        return 1

    def write_key(self, state: State, key: Any) -> None:
        """Both boards side by side."""
        key[0] = state.own | state.other << 9

    def canonical(self, state: State) -> State:
        """The image with the smallest boards."""
        own, other = state.own, state.other
        for i in range(len(_IMAGES)):
            image = (_IMAGES[i, state.own], _IMAGES[i, state.other])
            if image < (own, other):
                own, other = image
        return State(int(own), int(other), state.num_stones, state.lost)

    def write_observation(self, state: State, planes: Any) -> None:
        """The two boards."""
        for cell in range(9):
            planes[0, cell // 3, cell % 3] = (state.own >> cell) & 1
            planes[1, cell // 3, cell % 3] = (state.other >> cell) & 1


class TicTacToe(StoneGame[State]):
    """Tic-tac-toe on 3 x 3 cells."""

    name = "tictactoe"
    rules = Rules()
    num_actions = 9
    max_game_length = 9
    observation_shape = (2, 3, 3)
    grid = square_grid(3, 3)

    def boards(self, state: State) -> tuple[int, int]:
        """The stones of X and of O."""
        return (state.other, state.own) if state.num_stones & 1 else (state.own, state.other)

    def with_boards(self, first: int, second: int) -> State:
        """The state with these stones."""
        num_stones = first.bit_count() + second.bit_count()
        own, other = (second, first) if num_stones & 1 else (first, second)
        if _HAS_LINE[own]:
            raise ValueError("the player to move already has three in a row: the game ended before")
        return State(own, other, num_stones, int(_HAS_LINE[other]))
