"""The policy and value network: what it computes, written once, and the evaluator that runs it.

A residual network (He et al. 2015) with two heads, as in AlphaGo Zero (Silver et al. 2017). `forward` says what it
computes in terms of a few layers; whoever runs it brings the layers: ONNX Runtime on the CPU, PyTorch on a GPU, and
the module that is trained (`azero.learning.network`).
"""

from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from azero.evaluators.evaluator import Evaluation, EvaluatorError
from azero.evaluators.weights import Network, Weights, find_network
from azero.games.batch import StateBatch
from azero.games.game import FloatArray, Game

T = TypeVar("T")


class Layers(Protocol[T]):
    """What a network is made of; `name` tells which weights a layer uses (see `Network.layers`)."""

    def conv(self, name: str, x: T, /) -> T:
        """A convolution with its batch norm that keeps the size of the planes."""

    def linear(self, name: str, x: T, /) -> T:
        """A linear layer on all that `x` holds for each state."""

    def add(self, x: T, y: T, /) -> T:
        """The sum."""

    def relu(self, x: T, /) -> T:
        """max(x, 0)."""

    def tanh(self, x: T, /) -> T:
        """The hyperbolic tangent."""


def forward(layers: Layers[T], num_blocks: int, observations: T) -> tuple[T, T]:
    """The network: logits [B, A] and values [B, 1] of observations [B, C, H, W]."""
    x = layers.relu(layers.conv("stem", observations))
    for i in range(num_blocks):
        y = layers.relu(layers.conv(f"block{i}_conv1", x))
        x = layers.relu(layers.add(x, layers.conv(f"block{i}_conv2", y)))
    policy = layers.relu(layers.conv("policy_conv", x))
    value = layers.relu(layers.conv("value_conv", x))
    value = layers.relu(layers.linear("value_hidden", value))
    return layers.linear("policy_out", policy), layers.tanh(layers.linear("value_out", value))


class NetworkEvaluator:
    """Values states by a network, one call for each batch; any number of threads may call at once.

    On the CPU the answer for a state is the same to the bit whatever stands beside it in the batch, so that self-play
    can be repeated whatever is played in parallel (a test holds this for the machine it runs on). A GPU promises only
    nearly the same.
    """

    def __init__(self, network: Network, device: str = "cpu") -> None:
        """`device` is cpu (ONNX Runtime, on the calling thread) or cuda (PyTorch).

        Raises ValueError for another device, or for cuda where PyTorch sees no GPU.
        """
        self.network = network
        check_device(device)
        self._run = _OnnxRunner(network) if device == "cpu" else _TorchRunner(network, device)

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


class _OnnxLayers:
    """Writes the network as an ONNX graph; a value is known by its name in the graph."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def conv(self, name: str, x: str, /) -> str:
        """A convolution."""
        border = self.weights[f"{name}.weight"].shape[-1] // 2
        return self.node("Conv", x, *self._parameters(name), pads=[border] * 4)

    def linear(self, name: str, x: str, /) -> str:
        """A linear layer."""
        return self.node("Gemm", self.node("Flatten", x), *self._parameters(name), transB=1)

    def add(self, x: str, y: str, /) -> str:
        """The sum."""
        return self.node("Add", x, y)

    def relu(self, x: str, /) -> str:
        """max(x, 0)."""
        return self.node("Relu", x)

    def tanh(self, x: str, /) -> str:
        """The hyperbolic tangent."""
        return self.node("Tanh", x)

    def softmax(self, logits: str, legal: str) -> str:
        """Probabilities over the legal actions; the operator subtracts the largest logit first."""
        return self.node("Softmax", self.node("Where", legal, logits, self.constant("never", np.float32(-np.inf))))

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and give its output a name."""
        from onnx import helper

        output = f"{operator}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, name: str, array: Any) -> str:
        """Add an array."""
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def _parameters(self, name: str) -> list[str]:
        return [self.constant(key, self.weights[key]) for key in (f"{name}.weight", f"{name}.bias")]


def _onnx_model(network: Network) -> bytes:
    from onnx import TensorProto, helper

    layers = _OnnxLayers(network.folded_weights())
    logits, value = forward(layers, network.settings.blocks, "observations")
    policy = layers.softmax(logits, "legal")
    inputs = [
        helper.make_tensor_value_info("observations", TensorProto.FLOAT, ["B", *network.observation_shape]),
        helper.make_tensor_value_info("legal", TensorProto.BOOL, ["B", network.num_actions]),
    ]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in (policy, value)]
    graph = helper.make_graph(layers.nodes, "azero", inputs, outputs, layers.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    contents: bytes = model.SerializeToString()
    return contents


class _OnnxRunner:
    """The network in ONNX Runtime on the CPU.

    Its optimiser keeps planes in blocks of the vector width, which doubles the speed, so it is left on; the masked
    softmax is part of the graph because NumPy takes a tenth of the time of a batch of one. Measured: 3 ms to build.
    """

    def __init__(self, network: Network) -> None:
        import onnxruntime  # with onnx a third of a second, which commands without a network need not pay

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(_onnx_model(network), options, providers=["CPUExecutionProvider"])

    def __call__(self, observations: FloatArray, legal: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        policy, value = self.session.run(None, {"observations": observations, "legal": legal})
        return policy, value[:, 0]


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
