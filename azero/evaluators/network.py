"""The evaluator that runs a network: by ONNX Runtime on the CPU, by PyTorch on a GPU."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from azero.evaluators.evaluator import Evaluation, EvaluatorError
from azero.evaluators.layers import forward
from azero.evaluators.onnx_runner import OnnxRunner
from azero.evaluators.weights import Network, Weights, find_network
from azero.games.batch import StateBatch
from azero.games.game import FloatArray, Game


class NetworkEvaluator:
    """Values states by a network, one call for each batch; any number of threads may call at once.

    On the CPU the answer for a state is the same to the bit whatever stands beside it in the batch, so that self-play
    can be repeated whatever is played in parallel (a test holds this for the machine it runs on). A GPU promises only
    nearly the same.
    """

    def __init__(self, network: Network, device: str = "cpu", calibration: FloatArray | None = None) -> None:
        """`device` is cpu (ONNX Runtime, on the calling thread) or cuda (PyTorch).

        With observations, float32[n, C, H, W], for `calibration` it computes in integers of 8 bits, over the ranges
        that it has for them: two to three times as fast on the CPU, and a little off. Raises ValueError for another
        device, for cuda where PyTorch sees no GPU, and for `calibration` there.
        """
        self.network = network
        check_device(device)
        if device != "cpu" and calibration is not None:
            raise ValueError(f"only on the CPU does a network compute in integers, not on {device}")
        self._run = OnnxRunner(network, calibration) if device == "cpu" else _TorchRunner(network, device)

    def evaluate(self, batch: StateBatch[Any]) -> Evaluation:
        """Probabilities over the legal actions, 0 elsewhere, and values.

        Raises ValueError for another game, EvaluatorError where the runtime fails.
        """
        self.network.check_game(batch.game)
        observations = batch.game.observations(batch.states)
        try:
            policy, value = self._run(observations, batch.legal)
        except Exception as error:  # of ONNX Runtime or PyTorch: no memory left, a graphics card that is gone
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise EvaluatorError(f"the network could not be evaluated ({reason})") from error
        return Evaluation(policy, value.clip(-1, 1))  # the runtimes' tanh reaches 1.0000001


def load_network(path: str | Path, game: Game[Any] | None = None, device: str = "cpu") -> NetworkEvaluator:
    """An evaluator of the network at `path`: a weights file, a checkpoint, or a run (its newest sound checkpoint).

    Raises FileNotFoundError or NetworkFileError, in one line, if there is none, and ValueError if it was not made for
    `game` or the device is not there.
    """
    network = find_network(path)
    if game is not None:
        network.check_game(game)
    return NetworkEvaluator(network, device)


def check_device(device: str) -> None:
    """Raises ValueError unless `device` is cpu, or cuda with a GPU that PyTorch sees."""
    if device == "cpu":
        return
    if device.partition(":")[0] != "cuda":
        raise ValueError(f"device is cpu or cuda, not {device!r}")
    import torch

    if not torch.cuda.is_available():
        raise ValueError("device is cuda, but PyTorch sees no GPU here; use device=cpu")


class TorchOperators:
    """The layers without weights, on PyTorch's tensors."""

    def add(self, x: Any, y: Any, /) -> Any:
        """The sum."""
        return x + y

    def relu(self, x: Any, /) -> Any:
        """max(x, 0)."""
        return x.relu()

    def tanh(self, x: Any, /) -> Any:
        """The hyperbolic tangent."""
        return x.tanh()


class _TorchLayers(TorchOperators):
    """The network in PyTorch's functions."""

    def __init__(self, weights: Weights, device: str) -> None:
        import torch

        self.functions: Any = torch.nn.functional
        self.weights = {name: torch.from_numpy(array).to(device) for name, array in weights.items()}

    def conv(self, name: str, x: Any, /) -> Any:
        """A convolution."""
        weight = self.weights[f"{name}.weight"]
        return self.functions.conv2d(x, weight, self.weights[f"{name}.bias"], padding=weight.shape[-1] // 2)

    def linear(self, name: str, x: Any, /) -> Any:
        """A linear layer."""
        return self.functions.linear(x.flatten(1), self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])


class _TorchRunner:
    """The network in PyTorch, for a GPU; the tests run it on the CPU."""

    def __init__(self, network: Network, device: str) -> None:
        self.device = device
        self.num_blocks = network.settings.blocks
        self.layers = _TorchLayers(network.folded_weights(), device)

    def __call__(self, observations: FloatArray, legal: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        import torch

        with torch.inference_mode():
            logits, value = forward(self.layers, self.num_blocks, torch.from_numpy(observations).to(self.device))
            policy = logits.masked_fill(torch.from_numpy(~legal).to(self.device), -torch.inf).softmax(1)
            return policy.cpu().numpy(), value[:, 0].cpu().numpy()
