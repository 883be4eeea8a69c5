"""What learning makes small, and the figures that show how it goes."""

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

_NUM_BINS = 10  # of the predicted values, for their calibration


def policy_losses(logits: Tensor, legal: Tensor, policy: Tensor) -> Tensor:
    """The cross entropy of each row of `policy`, a target over the legal actions, and the softmax of their logits: [B].

    Illegal logits get a gradient of exactly zero. A single legal action costs nothing, nor does a row of zeros, which
    has no policy to learn.
    """
    return -(policy * log_probabilities(logits, legal)).sum(1)


def last_losses(logits: Tensor, last: Tensor) -> Tensor:
    """The cross entropy of each last state, as observations [B, C, H, W] from 0 to 1, and what was said of it: [B].

    A mean over the cells of a plane, summed over planes. Numbers beyond 0 and 1 count as these.
    """
    losses = binary_cross_entropy_with_logits(logits, last.clamp(0, 1), reduction="none")
    return losses.mean((2, 3)).sum(1)


def log_probabilities(logits: Tensor, legal: Tensor) -> Tensor:
    """The logarithms of the softmax over the legal actions; 0 for illegal ones, so that 0 times them is 0."""
    masked = logits.masked_fill(~legal, -torch.inf).log_softmax(1)
    return masked.masked_fill(~legal, 0.0)


class Tally:
    """Collects what the gradient steps of an iteration showed, each before it changed the weights."""

    def __init__(self) -> None:
        self._rows: list[dict[str, float]] = []
        self._values: list[Tensor] = []
        self._outcomes: list[Tensor] = []
        self._confidences: list[Tensor] = []  # the network's probability of its favourite action
        self._shares: list[Tensor] = []  # the search's

    @torch.no_grad()
    def add(self, batch: dict[str, Tensor], logits: Tensor, values: Tensor, losses: dict[str, float]) -> None:
        """One step: its batch by the names of `Samples`, what the network said, and figures to be averaged."""
        legal, policy = batch["legal"], batch["policy"]
        has_policy = policy.sum(1) > 0
        logs = log_probabilities(logits, legal)
        entropy = -(logs.exp() * logs).sum(1).mean()  # illegal actions add exp(0) * 0
        target_entropy = -(policy * policy.clamp(min=1e-30).log()).sum() / has_policy.sum().clamp(min=1)
        favourite = logits.masked_fill(~legal, -torch.inf).argmax(1)
        agrees = policy.gather(1, favourite[:, None])[:, 0] == policy.amax(1)  # of equals, any will do
        agreement = (agrees & has_policy).sum() / has_policy.sum().clamp(min=1)
        figures = {"policy_entropy": entropy, "target_entropy": target_entropy, "policy_agreement": agreement}
        self._rows.append(losses | {name: float(tensor) for name, tensor in figures.items()})
        self._confidences.append(logs.exp().gather(1, favourite[:, None])[has_policy, 0].cpu())
        self._shares.append(policy.gather(1, favourite[:, None])[has_policy, 0].cpu())
        self._values.append(values.cpu())
        self._outcomes.append(batch["outcome"].cpu())

    def metrics(self) -> dict[str, float]:
        """Means over the steps, and how the predicted values compare with the outcomes of the games.

        `policy_entropy` is the network's, `target_entropy` the search's: the least policy loss that can be.
        `policy_agreement`: how often both like the same action best. `policy_calibration`: by how much the network's
        probability of its favourite action misses the search's, in the mean over positions with like probabilities.
        `value_spread`: the standard deviation of the predicted values. `value_correlation`: theirs with the outcomes.
        `value_calibration`: by how much the mean outcome of positions with like predictions misses their mean.
        """
        values, outcomes = (torch.cat(parts).numpy() for parts in (self._values, self._outcomes))
        spread, outcome_spread = float(values.std()), float(outcomes.std())
        covariance = float(((values - values.mean()) * (outcomes - outcomes.mean())).mean())
        means = {name: float(np.mean([row[name] for row in self._rows])) for name in self._rows[0]}
        return means | {
            "value_spread": spread,
            "value_correlation": covariance / (spread * outcome_spread) if spread * outcome_spread > 0 else 0.0,
            "value_calibration": 2 * _calibration_error((values + 1) / 2, (outcomes + 1) / 2),
            "policy_calibration": _calibration_error(
                torch.cat(self._confidences).numpy(), torch.cat(self._shares).numpy()
            ),
        }


def _calibration_error(predicted: np.ndarray, actual: np.ndarray) -> float:
    """Predictions in [0, 1] in bins: how far each bin's mean is from that of what came, over all predictions."""
    bins = np.clip((predicted * _NUM_BINS).astype(np.int64), 0, _NUM_BINS - 1)
    misses = np.bincount(bins, predicted - actual, _NUM_BINS)
    return float(np.abs(misses).sum() / max(len(predicted), 1))
