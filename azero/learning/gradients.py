"""The gradient of one batch, computed by several threads.

PyTorch's own threads meet after every operation, and wait busily: beside another program that wants the cores, two of
them were measured to be ten times slower than one. Here a batch is cut into parts, each the work of one thread from end
to end, and their gradients are added in order; neither depends on how many threads there are. Batch norm sees one part
at a time; the running statistics are those of the first parts.
"""

import copy
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from azero.learning.cores import num_cores
from azero.learning.losses import last_losses, policy_losses
from azero.learning.network import ResNet

_PART = 128  # samples; fewer are slower, more are no faster


class Gradient(NamedTuple):
    """What a batch of B samples, or a part of one, says; a part gives its share of the losses and gradients."""

    gradients: Sequence[Tensor]  # of the policy loss plus the other weighted losses, for each parameter of the module
    policy_loss: Tensor  # mean over the samples that have a policy to learn
    value_loss: Tensor  # mean over the samples
    last_loss: Tensor  # of the predicted last state, likewise; 0 where the module has no head for it
    logits: Tensor  # [B, A]
    values: Tensor  # [B]


def computes_in_bfloat16(device: str) -> bool:
    """Whether the processor, or the graphics card, has products of bfloat16; without, they are slower than others."""
    if device != "cpu":
        return bool(torch.cuda.is_bf16_supported())
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16"))


@contextmanager
def training_threads(num_threads: int) -> Iterator[Executor]:
    """Threads for `batch_gradient`, one for each core if `num_threads` is 0. PyTorch uses no others meanwhile."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        num_threads = num_threads or num_cores()
        with ThreadPoolExecutor(num_threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)


def modules_for(module: ResNet, batch_size: int) -> list[ResNet]:
    """A module for each part of a batch: `module`, and copies that share its parameters but not its statistics."""
    on_gpu = next(module.parameters()).is_cuda
    num_parts = 1 if on_gpu else -(-batch_size // _PART)
    return [module, *(_sharing_parameters(module) for _ in range(num_parts - 1))]


def batch_gradient(
    pool: Executor,
    modules: Sequence[ResNet],
    batch: dict[str, Tensor],
    value_weight: float,
    last_weight: float,
    bfloat16: bool = False,
) -> Gradient:
    """The gradient at a batch: the arrays of `Samples` by name, and "target", the value to be learned.

    With `bfloat16` the module's products are of such numbers; the losses and the gradients are in float32 all the same.
    """
    num_samples = len(batch["target"])
    num_policies = int((batch["policy"].sum(1) > 0).sum().clamp(min=1))

    def part_gradient(module: ResNet, part: dict[str, Tensor]) -> Gradient:
        observations = part["observations"].contiguous(memory_format=torch.channels_last)
        with torch.autocast(observations.device.type, torch.bfloat16, enabled=bfloat16):
            logits, values, last = module.with_last(observations)
        logits, values = logits.float(), values.float()
        policy_loss = policy_losses(logits, part["legal"], part["policy"]).sum() / num_policies
        value_loss = ((values - part["target"]) ** 2).sum() / num_samples
        last_loss = torch.zeros(())
        if last is not None:
            last_loss = last_losses(last.float(), part["last"]).sum() / num_samples
        loss = policy_loss + value_weight * value_loss + last_weight * last_loss
        gradients = torch.autograd.grad(loss, list(module.parameters()))
        return Gradient(
            gradients, *(tensor.detach() for tensor in (policy_loss, value_loss, last_loss, logits, values))
        )

    chunks = zip(*(tensor.chunk(len(modules)) for tensor in batch.values()), strict=True)
    parts = list(pool.map(part_gradient, modules, [dict(zip(batch, chunk, strict=True)) for chunk in chunks]))
    return Gradient(
        gradients=[torch.stack(same).sum(0) for same in zip(*(part.gradients for part in parts), strict=True)],
        policy_loss=torch.stack([part.policy_loss for part in parts]).sum(),
        value_loss=torch.stack([part.value_loss for part in parts]).sum(),
        last_loss=torch.stack([part.last_loss for part in parts]).sum(),
        logits=torch.cat([part.logits for part in parts]),
        values=torch.cat([part.values for part in parts]),
    )


def _sharing_parameters(module: ResNet) -> ResNet:
    twin = copy.deepcopy(module)
    for name, parameter in module.named_parameters():
        owner, _, key = name.rpartition(".")
        setattr(twin.get_submodule(owner), key, parameter)
    return twin
