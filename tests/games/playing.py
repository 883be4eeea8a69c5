"""Ways to play through a game that several tests need."""

import random
from collections import defaultdict

import numba
import numpy as np

from azero.games import GAMES, load_game

COMPILED = not numba.config.DISABLE_JIT
ALL_GAMES = [load_game(name) for name in sorted(GAMES)]


def random_game(game, seed):
    """The actions of one random game."""
    rng = random.Random(seed)
    state, actions = game.initial_state(), []
    while legal := game.legal_actions(state):
        actions.append(rng.choice(legal))
        state = game.step(state, actions[-1])
    return actions


def states_along(game, actions):
    """The states that a game passes through, the first and the last among them."""
    state = game.initial_state()
    yield state
    for action in actions:
        state = game.step(state, action)
        yield state


def assert_same_game(game, twin, actions):
    """A naive twin says the same of every state of a game, and of its result."""
    for state, other in zip(states_along(game, actions), states_along(twin, actions), strict=True):
        assert game.legal_actions(state) == twin.legal_actions(other)
        assert game.is_terminal(state) == (not twin.legal_actions(other))
        assert game.current_player(state) == twin.current_player(other)
        assert game.observation(state).tolist() == np.float32(twin.observation(other)).tolist()
        assert game.state_text(state).startswith(twin.picture(other))
    assert game.outcome(state) == twin.outcome(other)


def layers(game, weight=1, share=lambda weight, num_legal: weight):
    """For each ply, the positions reachable and the sum of their weights, which each passes on to its successors.

    As it stands the weights are the numbers of ways to reach a position.
    """
    layer = {game.initial_state(): weight}
    while layer:
        yield layer
        after = defaultdict(int)
        for state, weight in layer.items():
            legal = game.legal_actions(state)
            for action in legal:
                after[game.step(state, action)] += share(weight, len(legal))
        layer = after
