"""Two games in plain Python, unknown to azero, as a builder would write them."""

import numpy as np

from azero.games.board import rectangle_symmetries
from azero.games.game import Game, Symmetry
from tests.naive import games as naive


class Heap(Game):
    """Take one or two from a heap of five; who takes the last has won. A state is (what is left, player to move)."""

    name = "heap"
    num_actions = 3
    max_game_length = 5

    def initial_state(self):
        return (5, 0)

    def current_player(self, state):
        return state[1]

    def legal_actions(self, state):
        return [take for take in (1, 2) if take <= state[0]]

    def step(self, state, action):
        return (state[0] - action, 1 - state[1])

    def outcome(self, state):
        return -1.0


class SeenHeap(Heap):
    """The same, with an observation: the height of the heap, marked in a row of cells."""

    observation_shape = (1, 1, 6)

    def observation(self, state):
        planes = np.zeros((1, 1, 6), np.float32)
        planes[0, 0, state[0]] = 1
        return planes


class PlainTicTacToe(naive.TicTacToe, Game):
    """The naive twin, made a game of azero."""

    name = "plain tic-tac-toe"
    num_actions = 9
    max_game_length = 9
    observation_shape = (2, 3, 3)

    def observation(self, state):
        return np.array(super().observation(state), np.float32)

    def symmetries(self):
        def moved(cells, state):
            places, player = state
            return tuple(places[cells.index(cell)] for cell in range(9)), player

        return [
            Symmetry(lambda state, cells=cells: moved(cells, state), cells, cells)
            for cells in rectangle_symmetries(3, 3)
        ]
