"""The learner: the one place that takes gradient steps."""

import math
import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from azero.evaluators.network import check_device
from azero.evaluators.weights import LAST, Network, NetworkSettings, Weights
from azero.games.game import Game
from azero.learning.gradients import batch_gradient, computes_in_bfloat16, modules_for, training_threads
from azero.learning.losses import Tally
from azero.learning.network import ResNet, arrays_of, tensors_of
from azero.learning.replay import Replay
from azero.learning.samples import Samples

OPTIMIZERS = ("adamw", "sgd")


class TrainingError(RuntimeError):
    """Training has gone wrong beyond repair; the message says at which gradient step, and that nothing was written."""


@dataclass(frozen=True)
class LearnerSettings:
    """How the network learns."""

    batch_size: int = 256  # samples of a gradient step, >= 1; AlphaZero: 4096
    samples_per_position: float = 4.0  # samples drawn for each position played, > 0; more learns faster, then overfits
    optimizer: str = "adamw"  # adamw or sgd (Nesterov momentum 0.9); AlphaZero: sgd
    learning_rate: float = 3e-3  # after the warm-up, >= 0; sgd needs about 0.05. AlphaZero: 0.2
    final_learning_rate: float = 1.0  # share of it at the run's nearest limit, by a cosine, 0 to 1; 1 keeps it constant
    warmup_steps: int = 100  # gradient steps over which the learning rate rises, >= 0
    weight_decay: float = 1e-4  # of weights, not of biases and batch norm, >= 0; AlphaZero: 1e-4
    max_gradient_norm: float = 1.0  # longer gradients are shortened to it, > 0
    value_weight: float = 1.0  # of the value loss beside the policy loss, >= 0; AlphaZero: 1, MuZero Reanalyze: 0.25
    # Of the loss of predicting, for training only, the last state in which the player to move will have to move, >= 0;
    # 0: not predicted. What becomes of a board says more than who wins. KataGo: 1.5, for who owns each point.
    last_weight: float = 0.0
    q_weight: float = 0.5  # share of the search's value in the value target, 0 to 1, the rest is the game's outcome
    averaging: float = 0.99  # of the weights played with, over about 1 / (1 - averaging) gradient steps; 0 to below 1
    bfloat16: bool = False  # in gradient steps, where the processor has products of it: faster
    threads: int = 0  # for gradient steps on the CPU, each at work on up to 128 samples; 0: one for each core

    def __post_init__(self) -> None:
        """Raises ValueError for a value out of range."""
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"learner.optimizer is {' or '.join(OPTIMIZERS)}, not {self.optimizer!r}")
        ranges = {
            "batch_size": (1, 2**20), "samples_per_position": (1e-6, 1e6), "learning_rate": (0, 1e3),
            "final_learning_rate": (0, 1), "warmup_steps": (0, 10**9), "weight_decay": (0, 1e3),
            "max_gradient_norm": (1e-9, 1e9), "value_weight": (0, 1e6), "last_weight": (0, 1e6), "q_weight": (0, 1),
            "averaging": (0, 0.999999), "threads": (0, 1024),
        }  # fmt: skip
        for name, (least, most) in ranges.items():
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"learner.{name} must be from {least} to {most}, got {getattr(self, name)}")

    def learning_rate_at(self, step: int, progress: float) -> float:
        """The learning rate of gradient step number `step` in a run that is done to the fraction `progress`."""
        warmth = min(1.0, (step + 1) / (self.warmup_steps + 1))
        decay = 0.5 * (1 + math.cos(math.pi * min(max(progress, 0.0), 1.0)))
        return self.learning_rate * warmth * (self.final_learning_rate + (1 - self.final_learning_rate) * decay)


class Learner:
    """Trains a network. The same seed, samples and calls give the same weights to the bit, on one machine's CPU.

    What is played with is an average of the weights over the latest gradient steps: at a constant learning rate it is
    as good as the weights would be after the learning rate had been lowered.
    """

    def __init__(
        self, game: Game[Any], network: NetworkSettings, settings: LearnerSettings, seed: int, device: str = "cpu"
    ) -> None:
        """`device` is cpu or cuda. Raises ValueError where it is not there."""
        check_device(device)
        self.game = game
        self.network_settings = network
        self.settings = settings
        self.device = device
        self.num_steps = 0  # gradient steps ever taken
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = ResNet(game.observation_shape, game.num_actions, network, settings.last_weight > 0)
        self._module: ResNet = cast(Any, module).to(device, memory_format=torch.channels_last)  # a fifth faster
        self._bfloat16 = settings.bfloat16 and computes_in_bfloat16(device)
        self._modules = modules_for(self._module, settings.batch_size)
        self._average = {
            name: tensor.clone()
            for name, tensor in self._module.state_dict().items()
            if not name.startswith(f"{LAST}.")
        }
        self._optimizer = _optimizer(self._module, settings)

    def network(self, iteration: int) -> Network:
        """The network to play with, as it is after `iteration` iterations."""
        return Network(
            game=self.game.name,
            observation_shape=self.game.observation_shape,
            num_actions=self.game.num_actions,
            settings=self.network_settings,
            weights=arrays_of(self._average),
            iteration=iteration,
        )

    def num_steps_for(self, num_positions: int) -> int:
        """How many gradient steps so many new positions are worth: at least one for any."""
        return math.ceil(num_positions * self.settings.samples_per_position / self.settings.batch_size)

    def learn(
        self,
        replay: Replay,
        num_steps: int,
        stream: int,
        progress: float = 0.0,
        on_step: Callable[[], None] = lambda: None,
    ) -> dict[str, float]:
        """Take gradient steps on samples drawn by `stream`, and say how they went: see `Tally.metrics`.

        `progress` is how much of the run is done, from 0 to 1; `on_step` is called after each step. Warns if there is
        nothing to learn from or no step to take. Raises TrainingError for a loss or gradient that is not finite, before
        any weight is changed by it.
        """
        if num_steps < 1 or len(replay) == 0:
            warnings.warn(
                f"no gradient step was made: {num_steps} were asked for, on {len(replay)} samples", stacklevel=2
            )
            return {"gradient_steps": 0}
        training_set, generator, tally = replay.training_set(), np.random.default_rng(stream), Tally()
        with training_threads(self.settings.threads) as pool:
            for _ in range(num_steps):
                rate = self.settings.learning_rate_at(self.num_steps, progress)
                self._step(pool, training_set.draw(self.settings.batch_size, generator), rate, tally)
                on_step()
        return tally.metrics() | {"gradient_steps": num_steps, "learning_rate": rate}

    def training_state(self) -> Weights:
        """All that `restore` needs besides `network`: the weights trained on, and the optimiser's memory."""
        tensors = {f"module.{name}": tensor for name, tensor in self._module.state_dict().items()}
        for i, memory in self._optimizer.state_dict()["state"].items():
            name = f"{self.settings.optimizer}.{i}"
            tensors |= {f"{name}.{key}": tensor for key, tensor in memory.items() if tensor is not None}
        return arrays_of(tensors) | {"num_steps": np.array(self.num_steps)}

    def restore(self, network: Network, training_state: Weights) -> None:
        """Go on exactly where another learner stood; another optimiser than its starts without memory.

        Raises ValueError if it trained another network.
        """
        network.check_game(self.game)
        if network.settings != self.network_settings:
            raise ValueError(
                f"the size of a network cannot change: checkpoint: {network.settings}, asked: {self.network_settings}"
            )
        weights = tensors_of(_below("module.", training_state))
        if weights.keys() != self._module.state_dict().keys():
            allowed = "above 0" if f"{LAST}.weight" in weights else "0"
            raise ValueError(
                f"learner.last_weight must stay {allowed}, as this run began, got {self.settings.last_weight}; begin "
                "another run for that"
            )
        self.num_steps = int(training_state["num_steps"])
        self._module.load_state_dict(weights)
        for name, tensor in tensors_of(network.weights).items():
            self._average[name].copy_(tensor)
        memory: dict[int, dict[str, Tensor]] = {}
        for name, tensor in tensors_of(_below(f"{self.settings.optimizer}.", training_state)).items():
            number, _, key = name.partition(".")
            memory.setdefault(int(number), {})[key] = tensor
        self._optimizer.load_state_dict(self._optimizer.state_dict() | {"state": memory})

    def _step(self, pool: Executor, samples: Samples, rate: float, tally: Tally) -> None:
        settings = self.settings
        batch = {name: torch.from_numpy(array).to(self.device) for name, array in samples.arrays().items()}
        batch["target"] = torch.lerp(batch["outcome"], batch["value"], settings.q_weight)
        weights = settings.value_weight, settings.last_weight
        result = batch_gradient(pool, self._modules, batch, *weights, self._bfloat16)
        for parameter, gradient in zip(self._module.parameters(), result.gradients, strict=True):
            parameter.grad = gradient
        norm = nn.utils.clip_grad_norm_(self._module.parameters(), settings.max_gradient_norm)
        figures = {"policy_loss": result.policy_loss, "value_loss": result.value_loss, "gradient_norm": norm}
        if settings.last_weight > 0:
            figures["last_loss"] = result.last_loss
        shown = {name: float(tensor) for name, tensor in figures.items()}
        if not all(map(math.isfinite, shown.values())):
            raise TrainingError(
                f"gradient step {self.num_steps + 1} came out as {shown}; it was not made and nothing was written. "
                "A lower learner.learning_rate or learner.max_gradient_norm may help"
            )
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.step()
        self.num_steps += 1
        self._update_average()
        tally.add(batch, result.logits, result.values, shown)

    @torch.no_grad()
    def _update_average(self) -> None:
        # Early on, the average is of the few steps there are.
        weight = max(1 - self.settings.averaging, 9 / (self.num_steps + 9))
        trained = self._module.state_dict()
        for name, average in self._average.items():
            if average.is_floating_point():
                average.lerp_(trained[name], weight)
            else:
                average.copy_(trained[name])


def _below(prefix: str, tensors: Weights) -> Weights:
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}


def _optimizer(module: nn.Module, settings: LearnerSettings) -> torch.optim.Optimizer:
    groups = [
        {"params": [p for p in module.parameters() if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in module.parameters() if p.ndim == 1], "weight_decay": 0.0},
    ]
    if settings.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=settings.learning_rate, momentum=0.9, nesterov=True)
    return torch.optim.AdamW(groups, lr=settings.learning_rate)
