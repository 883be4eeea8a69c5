"""The same work for other libraries, for `bench.py`; each is imported only when it is measured."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from contest import Work
from numba import njit

_TOP_CELLS = sum(1 << (7 * column + 5) for column in range(7))
_MASKS = np.array([[not full >> column & 1 for column in range(7)] for full in range(128)], np.float32)


def openspiel_uct(name: str, simulations: int, searches: int) -> Work:
    """Searches of OpenSpiel's C++ MCTSBot from the start of a game."""
    import pyspiel

    game = pyspiel.load_game(name)
    # Its Q is in [-1, 1], that of azero's UCT in [0, 1]: its c = 2 explores as c = 1 does.
    bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, 1), 2.0, simulations, 1000, False, 1, False)
    return _openspiel_searches(bot, game.new_initial_state(), simulations, searches)


def openspiel_python_uct(name: str, simulations: int, searches: int) -> Work:
    """Searches of OpenSpiel's MCTSBot in Python, over its game in C++, from the start of a game."""
    import pyspiel
    from open_spiel.python.algorithms import mcts

    game = pyspiel.load_game(name)
    generator = np.random.RandomState(1)
    evaluator = mcts.RandomRolloutEvaluator(1, generator)
    bot = mcts.MCTSBot(game, 2.0, simulations, evaluator, solve=False, random_state=generator)  # c as above
    return _openspiel_searches(bot, game.new_initial_state(), simulations, searches)


def _openspiel_searches(bot: Any, state: Any, simulations: int, searches: int) -> Work:
    def work() -> float:
        for _ in range(searches):
            bot.mcts_search(state)
        return simulations * searches

    return work


def gumbel_mcts_batch(search: str, states: Sequence[Any], simulations: int) -> Work:
    """One batched search of gumbel-mcts (`search` is PUCT or GumbelDense) from azero's Connect Four states."""
    import gumbel_mcts
    import torch

    torch.set_num_threads(1)
    num_games = len(states)
    forest = getattr(gumbel_mcts, search)(num_games, num_games * (simulations + 2) + 1, Connect4, device="cpu")
    model = UniformModel(num_games)
    boards = np.array([(s.taken ^ s.own if s.num_stones & 1 else s.own, s.taken) for s in states], np.int64)
    players = np.array([1 + (s.num_stones & 1) for s in states], np.int8)
    games = list(range(num_games))

    def work() -> float:
        forest.reset()
        forest.initialize_roots(games, boards, players)
        forest.run_simulation_batch(model, games, num_simulations=simulations)
        return num_games * simulations

    return work


class UniformModel:
    """Every action alike, every value even; the tensors are made once."""

    def __init__(self, num_games: int) -> None:
        import torch

        self.logic = Connect4
        self.policy, self.value = torch.full((num_games, 7), 1 / 7), torch.zeros(num_games)

    def forward_for_mcts(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The same answer for every state."""
        size = len(batch["boards"])
        return {"policy": self.policy[:size], "value": self.value[:size]}


@njit
def _has_four(stones: int) -> bool:
    for shift in (1, 7, 6, 8):
        pairs = stones & (stones >> shift)
        if pairs & (pairs >> 2 * shift):
            return True
    return False


@njit
def _fast_step(board: Any, action: int, player: int) -> tuple[float, int, bool, Any]:
    taken = board[1]
    board[1] = taken | (taken + (1 << (7 * action)))
    stone = taken ^ board[1]
    if player == 1:
        board[0] |= stone
    if _has_four(board[0] if player == 1 else board[0] ^ board[1]):
        return 1.0, player, True, board
    return 0.0, 0, (board[1] & _TOP_CELLS) == _TOP_CELLS, board


@njit
def _get_valid_mask(board: Any, player: int) -> Any:
    full = 0
    for column in range(7):
        full |= ((board[1] >> (7 * column + 5)) & 1) << column
    return _MASKS[full]


class Connect4:
    """Connect Four as gumbel-mcts wants it, on azero's bitboards: faster for it than its own style, a cell a byte.

    A board is int64[2]: the first player's stones, all stones.
    """

    NUM_ACTIONS = MAX_LEGAL_MOVES = 7
    BOARD_SHAPE, BOARD_DTYPE = (2,), np.int64
    MAX_MOVES = 42
    PLAYER_1, PLAYER_2 = 1, 2
    fast_step = staticmethod(_fast_step)
    get_valid_mask = staticmethod(_get_valid_mask)
