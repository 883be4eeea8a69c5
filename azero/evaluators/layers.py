"""The policy and value network: what it computes, written once.

A residual network (He et al. 2015) with two heads, as in AlphaGo Zero (Silver et al. 2017). `forward` says what it
computes in terms of a few layers; whoever runs it brings the layers: ONNX Runtime on the CPU, PyTorch on a GPU, and
the module that is trained (`azero.learning.network`).
"""

from typing import Protocol, TypeVar

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
    return heads(layers, trunk(layers, num_blocks, observations))


def trunk(layers: Layers[T], num_blocks: int, observations: T) -> T:
    """What all heads see: planes [B, channels, H, W]."""
    x = layers.relu(layers.conv("stem", observations))
    for i in range(num_blocks):
        y = layers.relu(layers.conv(f"block{i}_conv1", x))
        x = layers.relu(layers.add(x, layers.conv(f"block{i}_conv2", y)))
    return x


def heads(layers: Layers[T], x: T) -> tuple[T, T]:
    """Logits and values, from the trunk's planes."""
    policy = layers.relu(layers.conv("policy_conv", x))
    value = layers.relu(layers.conv("value_conv", x))
    value = layers.relu(layers.linear("value_hidden", value))
    return layers.linear("policy_out", policy), layers.tanh(layers.linear("value_out", value))
