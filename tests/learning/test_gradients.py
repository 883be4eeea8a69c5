"""The gradient of a batch in parts: that of the whole, by any number of threads."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from azero.evaluators.weights import NetworkSettings
from azero.games.connect4 import Connect4
from azero.learning.gradients import Gradient, batch_gradient, modules_for, training_threads
from azero.learning.losses import policy_losses
from azero.learning.network import ResNet
from tests.learning.samples import random_samples

GAME = Connect4()
VALUE_WEIGHT, LAST_WEIGHT = 0.7, 1.3


def random_module() -> ResNet:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = ResNet(GAME.observation_shape, 7, NetworkSettings(8, 1, 4, 8), predicts_last=True)
        for parameter in module.parameters():
            nn.init.normal_(parameter, std=0.1)
    return module


def batch_of(number: int) -> dict[str, Tensor]:
    samples, _ = random_samples(GAME, number)
    samples.policy[: number // 3] = 0  # no policy to learn
    batch = {name: torch.from_numpy(array) for name, array in samples.arrays().items()}
    return batch | {"target": batch["outcome"]}


def in_parts(module: ResNet, batch: dict[str, Tensor], threads: int, bfloat16: bool = False) -> Gradient:
    with training_threads(threads) as pool:
        modules = modules_for(module, len(batch["target"]))
        return batch_gradient(pool, modules, batch, VALUE_WEIGHT, LAST_WEIGHT, bfloat16)


def same(a: Gradient, b: Gradient, **tolerance: Any) -> None:
    for x, y in zip([*a.gradients, *a[1:]], [*b.gradients, *b[1:]], strict=True):
        torch.testing.assert_close(x, y, **tolerance)


@pytest.mark.parametrize("bfloat16", [False, True])
@pytest.mark.parametrize("size", [1, 100, 128, 129, 300])
def test_the_number_of_threads_does_not_change_a_bit(size: int, bfloat16: bool) -> None:
    module, batch = random_module(), batch_of(size)
    for threads in (2, 3):
        same(in_parts(module, batch, threads, bfloat16), in_parts(module, batch, 1, bfloat16), rtol=0, atol=0)


def test_a_gradient_by_products_of_bfloat16_points_the_same_way() -> None:
    batch = batch_of(300)
    exact, coarse = (in_parts(random_module(), batch, 2, bfloat16) for bfloat16 in (False, True))
    assert {gradient.dtype for gradient in coarse.gradients} == {torch.float32}
    one, other = (torch.cat([x.flatten() for x in found.gradients]) for found in (exact, coarse))
    assert not torch.equal(one, other)
    assert torch.nn.functional.cosine_similarity(one, other, dim=0) > 0.99
    torch.testing.assert_close(coarse.value_loss, exact.value_loss, rtol=0.02, atol=0)


def test_the_parts_add_up_to_the_gradient_of_the_mean_losses_over_the_batch() -> None:
    module, batch = random_module().eval(), batch_of(300)  # without batch statistics the parts can be compared
    logits, values, last = module.with_last(batch["observations"])
    assert last is not None
    policy_loss = policy_losses(logits, batch["legal"], batch["policy"])[100:].mean()
    value_loss = nn.functional.mse_loss(values, batch["target"])
    last_loss = 2 * nn.functional.binary_cross_entropy_with_logits(last, batch["last"])  # two planes
    loss = policy_loss + VALUE_WEIGHT * value_loss + LAST_WEIGHT * last_loss
    gradients = torch.autograd.grad(loss, list(module.parameters()))
    expected = [output.detach() for output in (policy_loss, value_loss, last_loss, logits, values)]
    same(in_parts(module, batch, 2), Gradient(gradients, *expected))


def test_the_modules_of_the_parts_share_parameters_but_not_statistics() -> None:
    first, second = modules_for(random_module(), 200)
    assert all(a is b for a, b in zip(first.parameters(), second.parameters(), strict=True))
    assert all(a is not b for a, b in zip(first.buffers(), second.buffers(), strict=True))
    with torch.no_grad():
        first.get_parameter("stem.conv.weight").fill_(2)
    assert (second.get_parameter("stem.conv.weight") == 2).all()


def test_pytorchs_own_threads_are_as_many_afterwards_as_before() -> None:
    before = torch.get_num_threads()
    with training_threads(2):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
