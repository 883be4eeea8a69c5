"""Networks with random weights, made without PyTorch."""

from typing import Any

import numpy as np

from azero.evaluators.weights import Network, NetworkSettings, Weights, layer_shapes, training_shapes
from azero.games.game import Game

SMALL = NetworkSettings(channels=8, blocks=2, head_channels=4, value_hidden=8)


def random_network(game: Game[Any], settings: NetworkSettings = SMALL, seed: int = 0, iteration: int = 0) -> Network:
    """A network whose batch norm does something and whose outputs are spread out."""
    generator = np.random.default_rng(seed)
    weights: Weights = {}
    for name, shape in training_shapes(layer_shapes(game.observation_shape, game.num_actions, settings)).items():
        if name.endswith("num_batches_tracked"):
            weights[name] = np.array(7)
        elif name.endswith(("running_var", "norm.weight")):
            weights[name] = generator.uniform(0.5, 2, shape).astype(np.float32)
        else:
            fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 16
            weights[name] = generator.normal(0, fan_in**-0.5, shape).astype(np.float32)
    return Network(game.name, game.observation_shape, game.num_actions, settings, weights, iteration)
