"""Samples from random play, labelled at random."""

from typing import Any

import numpy as np

from azero.games.game import Game
from azero.learning.samples import Samples


def random_samples(game: Game[Any], number: int, seed: int = 0) -> tuple[Samples, list[Any]]:
    """Samples with any targets, and the states they show; the last states are those of the samples from the end on."""
    generator = np.random.default_rng(seed)
    states: list[Any] = []
    while len(states) < number:
        state = game.initial_state()
        while not game.is_terminal(state) and len(states) < number:
            states.append(state)
            state = game.step(state, int(generator.choice(game.legal_actions(state))))
    legal = np.zeros((number, game.num_actions), np.bool_)
    for mask, state in zip(legal, states, strict=True):
        mask[list(game.legal_actions(state))] = True
    policy = generator.random(legal.shape) * legal
    return Samples(
        observations=game.observations(states),
        legal=legal,
        policy=(policy / policy.sum(axis=1, keepdims=True)).astype(np.float32),
        outcome=generator.choice(np.array([-1, 0, 1], np.float32), number),
        value=generator.uniform(-1, 1, number).astype(np.float32),
        last=game.observations(states[::-1]),
    ), states
