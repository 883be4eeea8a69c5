"""The network in ONNX Runtime on the CPU, in floats or in integers of 8 bits."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from azero.evaluators.layers import forward
from azero.evaluators.weights import Network, Weights
from azero.games.game import FloatArray

Range = tuple[float, float]  # the least and the largest of some numbers, with 0 between them

_LEVELS = 63  # of a weight on either side of 0: products of larger ones overflow on processors without VNNI
_MOST = 2.0**30  # of a bias, which sums are added to in 32 bits


class OnnxRunner:
    """Policies over the legal actions and values, on the calling thread.

    Its optimiser keeps planes in blocks of the vector width, which doubles the speed, so it is left on; the masked
    softmax is part of the graph because NumPy takes a tenth of the time of a batch of one. Measured: 3 ms to build.
    """

    def __init__(self, network: Network, calibration: FloatArray | None = None) -> None:
        """With observations for `calibration`, float32[n, C, H, W], convolutions are of integers.

        Each number between them is rounded to one of 256 levels, over the range that it has for these observations.
        """
        weights = network.folded_weights()
        layers = _OnnxLayers(weights) if calibration is None else _Int8Layers(weights, _ranges(network, calibration))
        self.session = _session(network, layers, _answers(network, layers))

    def __call__(self, observations: FloatArray, legal: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """Of observations [B, C, H, W] and legal actions [B, A]: [B, A] and [B]."""
        policy, value = self.session.run(None, {"observations": observations, "legal": legal})
        return policy, value[:, 0]


class _OnnxLayers:
    """Writes the network as an ONNX graph; a value is known by its name in the graph."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def conv(self, name: str, x: str, /) -> str:
        """A convolution."""
        return self._conv(name, x, *self._parameters(name))

    def linear(self, name: str, x: str, /) -> str:
        """A linear layer."""
        return self.node("Gemm", self.node("Flatten", x), *self._parameters(name), transB=1)

    def add(self, x: str, y: str, /) -> str:
        """The sum."""
        return self.node("Add", x, self.rounded(y))

    def relu(self, x: str, /) -> str:
        """max(x, 0)."""
        return self.rounded(self.node("Relu", x))

    def tanh(self, x: str, /) -> str:
        """The hyperbolic tangent."""
        return self.node("Tanh", x)

    def rounded(self, x: str) -> str:
        """`x` as coarse as the network takes it; here as it is."""
        return x

    def softmax(self, logits: str, legal: str) -> str:
        """Probabilities over the legal actions; the operator subtracts the largest logit first."""
        return self.node("Softmax", self.node("Where", legal, logits, self.constant(np.float32(-np.inf))))

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and give its output a name."""
        from onnx import helper

        output = f"{operator}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, array: Any) -> str:
        """Add an array."""
        from onnx import numpy_helper

        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def _conv(self, name: str, x: str, weight: str, bias: str) -> str:
        border = self.weights[f"{name}.weight"].shape[-1] // 2
        return self.node("Conv", x, weight, bias, pads=[border] * 4)

    def _parameters(self, name: str) -> list[str]:
        return [self.constant(self.weights[f"{name}.{kind}"]) for kind in ("weight", "bias")]


class _WatchedLayers(_OnnxLayers):
    """The same in floats, and the least and the largest of all that is to be rounded."""

    def __init__(self, weights: Weights) -> None:
        super().__init__(weights)
        self.extremes: list[str] = []

    def rounded(self, x: str) -> str:
        """As it is."""
        self.extremes += [self.node(operator, x, keepdims=0) for operator in ("ReduceMin", "ReduceMax")]
        return x


class _Int8Layers(_OnnxLayers):
    """Convolutions of integers, as ONNX Runtime recognises them: of what was rounded, and is to be rounded next."""

    def __init__(self, weights: Weights, ranges: Iterable[Range]) -> None:
        super().__init__(weights)
        self.ranges = iter(ranges)
        self.steps: dict[str, float] = {}  # between the levels of what is rounded

    def rounded(self, x: str) -> str:
        """To the nearest of 256 levels."""
        low, high = next(self.ranges)
        step = max(high - low, 1e-6) / 255
        levels = [self.constant(np.float32(step)), self.constant(np.uint8(round(-low / step)))]
        y = self.node("DequantizeLinear", self.node("QuantizeLinear", x, *levels), *levels)
        self.steps[y] = step
        return y

    def conv(self, name: str, x: str, /) -> str:
        """A convolution with levels of its own for each filter."""
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        least = np.maximum(np.abs(bias), 1e-20) / (self.steps[x] * _MOST)
        step = np.maximum(np.abs(weight).max((1, 2, 3)) / _LEVELS, least)
        integers = np.rint(weight / step[:, None, None, None]).astype(np.int8)
        bias_step = step * self.steps[x]
        bias_integers = np.rint(bias / bias_step).astype(np.int32)
        return self._conv(name, x, self._integers(integers, step), self._integers(bias_integers, bias_step))

    def _integers(self, integers: npt.NDArray[Any], steps: npt.NDArray[Any]) -> str:
        zeros = np.zeros(len(steps), integers.dtype)
        inputs = (self.constant(array) for array in (integers, steps.astype(np.float32), zeros))
        return self.node("DequantizeLinear", *inputs, axis=0)


def _answers(network: Network, layers: _OnnxLayers) -> list[str]:
    logits, value = forward(layers, network.settings.blocks, layers.rounded("observations"))
    return [layers.softmax(logits, "legal"), value]


def _ranges(network: Network, observations: FloatArray) -> list[Range]:
    """What `rounded` is given for these observations, each time in its order."""
    layers = _WatchedLayers(network.folded_weights())
    _answers(network, layers)
    session = _session(network, layers, layers.extremes)
    legal = np.ones((len(observations), network.num_actions), np.bool_)
    extremes = iter(map(float, session.run(None, {"observations": observations, "legal": legal})))
    return [(min(low, 0.0), max(high, 0.0)) for low, high in zip(extremes, extremes, strict=True)]


def _session(network: Network, layers: _OnnxLayers, outputs: Sequence[str]) -> Any:
    import onnxruntime  # with onnx a third of a second, which commands without a network need not pay
    from onnx import TensorProto, helper

    inputs = [
        helper.make_tensor_value_info("observations", TensorProto.FLOAT, ["B", *network.observation_shape]),
        helper.make_tensor_value_info("legal", TensorProto.BOOL, ["B", network.num_actions]),
    ]
    found = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(layers.nodes, "azero", inputs, found, layers.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
