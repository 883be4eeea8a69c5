"""The network as PyTorch trains it."""

from collections import OrderedDict
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from azero.evaluators.layers import heads, trunk
from azero.evaluators.network import TorchOperators
from azero.evaluators.weights import BATCH_NORM_EPSILON, LAST, NetworkSettings, Weights, layer_shapes


class ResNet(nn.ModuleDict, TorchOperators):
    """The layers of `azero.evaluators.layers.forward`, by name, with batch norm after each convolution.

    Fresh from the generator of PyTorch, it gives every action the same logit and every state the value 0: the last
    layer of each head starts at zero, so that the first games are played without prejudice. A third head, which is
    for training only, says what the board will look like at the end.
    """

    def __init__(
        self,
        observation_shape: tuple[int, int, int],
        num_actions: int,
        settings: NetworkSettings,
        predicts_last: bool = False,
    ) -> None:
        shapes = layer_shapes(observation_shape, num_actions, settings)
        super().__init__({name: _layer(shape) for name, shape in shapes.items()})
        self.num_blocks = settings.blocks
        if predicts_last:
            self[LAST] = nn.Linear(settings.channels, observation_shape[0])  # of each cell
        for name in ("policy_out", "value_out", *([LAST] if predicts_last else [])):
            nn.init.zeros_(self.get_parameter(f"{name}.weight"))
            nn.init.zeros_(self.get_parameter(f"{name}.bias"))

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [B, A], illegal actions included, and values [B] of observations [B, C, H, W]."""
        logits, values, _ = self.with_last(observations)
        return logits, values

    def with_last(self, observations: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Logits, values, and of the observation of the last state that the player will have to move in, the logits of
        what is there: [B, C, H, W].
        """
        x = trunk(self, self.num_blocks, observations)
        logits, value = heads(self, x)
        last = self[LAST](x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2) if LAST in self else None
        return logits, value[:, 0], last

    def conv(self, name: str, x: Tensor, /) -> Tensor:
        """Convolution and batch norm."""
        y: Tensor = self[name](x)
        return y

    def linear(self, name: str, x: Tensor, /) -> Tensor:
        """A linear layer on the flattened planes."""
        y: Tensor = self[name](x.flatten(1))
        return y


def _layer(shape: tuple[int, ...]) -> nn.Module:
    if len(shape) == 2:
        return nn.Linear(shape[1], shape[0])
    filters, planes, size, _ = shape
    conv = nn.Conv2d(planes, filters, size, padding=size // 2, bias=False)
    return nn.Sequential(OrderedDict(conv=conv, norm=nn.BatchNorm2d(filters, BATCH_NORM_EPSILON)))


def arrays_of(tensors: Mapping[str, Tensor]) -> Weights:
    """Copies of tensors as NumPy arrays, planes first."""
    return {name: tensor.detach().cpu().contiguous().numpy().copy() for name, tensor in tensors.items()}


def tensors_of(arrays: Weights) -> dict[str, Tensor]:
    """Copies of arrays as tensors, those of convolutions laid out as the learner keeps them."""
    layouts = {4: torch.channels_last}
    return {
        name: torch.from_numpy(array.copy()).contiguous(memory_format=layouts.get(array.ndim, torch.contiguous_format))
        for name, array in arrays.items()
    }
