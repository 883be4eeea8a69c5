"""The policy loss over legal actions only, and the figures of a training iteration."""

import numpy as np
import pytest
import torch

from azero.learning.losses import Tally, log_probabilities, policy_losses


def test_illegal_logits_get_a_gradient_of_exactly_zero() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(4, 7, generator=generator, requires_grad=True)
    legal = torch.tensor([[True] * 7, [False] + [True] * 6, [False] * 5 + [True] * 2, [False] * 6 + [True]])
    policy = torch.rand(4, 7, generator=generator) * legal
    torch.autograd.backward(policy_losses(logits, legal, policy / policy.sum(1, keepdim=True)).sum())
    assert logits.grad is not None
    assert (logits.grad[~legal] == 0).all()
    assert (logits.grad[:3][legal[:3]] != 0).all()
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("logit", [0.0, -1e4, 1e4])
def test_a_single_legal_action_costs_nothing_and_teaches_nothing(logit: float) -> None:
    logits = torch.tensor([[1e4, logit, -1e4]], requires_grad=True)
    legal = torch.tensor([[False, True, False]])
    loss = policy_losses(logits, legal, torch.tensor([[0.0, 1.0, 0.0]]))
    torch.autograd.backward(loss.sum())
    assert loss.tolist() == [0]
    assert logits.grad is not None
    assert (logits.grad == 0).all()


def test_the_loss_is_the_cross_entropy_over_the_legal_actions() -> None:
    logits = torch.tensor([[0.0, 1.0, 100.0]])
    legal = torch.tensor([[True, True, False]])
    loss = policy_losses(logits, legal, torch.tensor([[0.25, 0.75, 0.0]]))
    p = np.exp([0, 1]) / np.exp([0, 1]).sum()
    assert loss.item() == pytest.approx(-(0.25 * np.log(p[0]) + 0.75 * np.log(p[1])))


def test_a_position_without_a_policy_to_learn_costs_nothing_and_teaches_nothing() -> None:
    logits = torch.tensor([[0.0, 1.0], [5.0, 0.0]], requires_grad=True)
    losses = policy_losses(logits, torch.ones(2, 2, dtype=torch.bool), torch.tensor([[0.5, 0.5], [0.0, 0.0]]))
    torch.autograd.backward(losses.sum())
    assert losses[1].item() == 0
    assert logits.grad is not None
    assert (logits.grad[1] == 0).all()


def tally_of(values: list[float], outcomes: list[float]) -> dict[str, float]:
    number, tally = len(values), Tally()
    batch = {
        "legal": torch.tensor([[True, True, False]] * number),
        "policy": torch.tensor([[1.0, 0.0, 0.0]] * number),
        "outcome": torch.tensor(outcomes),
    }
    logits = torch.tensor([[1.0, 1.0 - 1e-3, 50.0]] * number)
    tally.add(batch, logits, torch.tensor(values), {"policy_loss": 0.5})
    return tally.metrics()


def test_the_policy_is_measured_over_legal_actions() -> None:
    metrics = tally_of([0.0], [0.0])
    assert metrics["policy_entropy"] == pytest.approx(np.log(2), abs=1e-4)
    assert metrics["target_entropy"] == 0
    assert metrics["policy_agreement"] == 1
    assert metrics["policy_loss"] == 0.5


def test_honest_values_are_calibrated_and_bold_ones_are_not() -> None:
    outcomes = [1.0] * 75 + [-1.0] * 25  # on average 0.5
    assert tally_of([0.5] * 100, outcomes)["value_calibration"] == pytest.approx(0, abs=1e-6)
    assert tally_of([0.9] * 100, outcomes)["value_calibration"] == pytest.approx(0.4)


def test_a_policy_as_sure_as_the_search_is_calibrated_and_a_surer_one_is_not() -> None:
    sure = torch.tensor([[2.0, 0.0]] * 8)  # the favourite has 0.88
    target = torch.stack([sure.softmax(1)[0], torch.tensor([0.5, 0.5])])
    for policy, error in zip(target, (0.0, float(sure.softmax(1)[0, 0]) - 0.5), strict=True):
        tally = Tally()
        batch = {"legal": torch.ones(8, 2, dtype=torch.bool), "policy": policy.repeat(8, 1), "outcome": torch.zeros(8)}
        tally.add(batch, sure, torch.zeros(8), {})
        assert tally.metrics()["policy_calibration"] == pytest.approx(error, abs=1e-6)


def test_values_that_say_nothing_have_no_spread_and_no_correlation() -> None:
    assert tally_of([0.0] * 4, [1.0, -1.0, 1.0, -1.0])["value_correlation"] == 0
    metrics = tally_of([0.5, -0.5, 0.5, -0.5], [1.0, -1.0, 1.0, -1.0])
    assert (metrics["value_spread"], metrics["value_correlation"]) == (0.5, pytest.approx(1))
    assert tally_of([0.5, -0.5], [-1.0, 1.0])["value_correlation"] == pytest.approx(-1)


def test_figures_are_means_over_the_steps() -> None:
    tally = Tally()
    batch = {"legal": torch.ones(1, 2, dtype=torch.bool), "policy": torch.ones(1, 2) / 2, "outcome": torch.zeros(1)}
    for loss in (1.0, 2.0, 6.0):
        tally.add(batch, torch.zeros(1, 2), torch.zeros(1), {"policy_loss": loss})
    assert tally.metrics()["policy_loss"] == 3


def test_the_log_probabilities_of_legal_actions_sum_to_one_and_others_are_marked_zero() -> None:
    logs = log_probabilities(torch.tensor([[3.0, 1.0, 9.0]]), torch.tensor([[True, True, False]]))
    assert logs[0, :2].exp().sum().item() == pytest.approx(1)
    assert logs[0, 2].item() == 0


def test_of_actions_that_the_search_likes_equally_the_network_may_like_any() -> None:
    tally = Tally()
    policy = torch.tensor([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])  # the last has none to learn
    batch = {"legal": torch.ones(3, 3, dtype=torch.bool), "policy": policy, "outcome": torch.zeros(3)}
    tally.add(batch, torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), torch.zeros(3), {})
    assert tally.metrics()["policy_agreement"] == 0.5
