"""Tic-tac-toe as somebody may write it who has read the README only: one class in plain Python."""

import numpy as np

from azero import Game

LINES = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)  # three cells each, a bit for each cell


class TicTacToe(Game):
    name = "plain_tictactoe"
    num_actions = 9  # the cells, row by row
    max_game_length = 9
    observation_shape = (2, 3, 3)

    def initial_state(self):
        return 0, 0, 0  # the cells of the player to move, the other's, the number of stones

    def current_player(self, state):
        return state[2] % 2

    def lost(self, state):
        for line in LINES:  # noqa: SIM110  # what Numba compiles
            if state[1] & line == line:
                return True
        return False

    def legal_actions(self, state):
        if self.lost(state):
            return []
        return [cell for cell in range(9) if not (state[0] | state[1]) >> cell & 1]

    def step(self, state, action):
        return state[1], state[0] | 1 << action, state[2] + 1

    def outcome(self, state):
        return -1.0 if self.lost(state) else 0.0

    def observation(self, state):
        planes = np.zeros((2, 3, 3), np.float32)
        for cell in range(9):
            planes[0, cell // 3, cell % 3] = state[0] >> cell & 1
            planes[1, cell // 3, cell % 3] = state[1] >> cell & 1
        return planes
