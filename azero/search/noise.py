"""What is done to the priors of a root before its search: exploration for self-play."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from azero._jit import draw
from azero.games.game import FloatArray
from azero.search.forest import Forest

_NOISE = (1 << 41) + 1  # a counter in a search's stream, beyond those of its simulations


@dataclass(frozen=True)
class DirichletNoise:
    """Exploration noise, mixed into the priors of the root's legal actions, fresh for each search."""

    weight: float = 0.25  # share of the noise, in [0, 1]; AlphaZero: 0.25
    concentration: float = 10.0  # alpha times the number of legal actions, > 0; AlphaZero: about 10
    temperature: float = 1.0  # before that the priors are raised to 1 / temperature, > 0; KataGo: 1.25, later 1.1

    def __post_init__(self) -> None:
        """Raises ValueError for a value out of range."""
        if not 0 <= self.weight <= 1:
            raise ValueError(f"the noise weight must be in [0, 1], got {self.weight}")
        if not self.concentration > 0:
            raise ValueError(f"the noise concentration must be positive, got {self.concentration}")
        if not 0 < self.temperature < np.inf:
            raise ValueError(f"the noise temperature must be positive and finite, got {self.temperature}")

    def mix(self, prior: FloatArray, stream: int) -> FloatArray:
        """The noisy priors, float32[L]; `stream` fixes the noise."""
        if len(prior) == 0:
            return prior
        if self.temperature != 1:
            prior = (prior / prior.max()) ** (1 / self.temperature)
            prior /= prior.sum()
        generator = np.random.Generator(np.random.Philox(key=stream))
        noise = generator.dirichlet(np.full(len(prior), self.concentration / len(prior)))
        return ((1 - self.weight) * prior + self.weight * noise).astype(np.float32)


def add_root_noise(forest: Forest[Any], b: int, noise: DirichletNoise, stream: int) -> None:
    """Mix noise into the priors of the root of tree b, which has been evaluated."""
    edges = forest.root_edges(b)
    by_action = edges.start + np.argsort(forest.tree.action[b, edges])
    forest.tree.prior[b, by_action] = noise.mix(forest.tree.prior[b, by_action], draw(stream, _NOISE))
