"""What a search has found out about its root, and the action chosen from that."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from azero._jit import below, dispatched, draw, kernel
from azero.games.game import FloatArray
from azero.search.forest import Forest
from azero.search.tree import IntArray, Tree

_CHOICE = (1 << 41) + 2  # a counter in a search's stream, beyond those of its simulations
_CONFIDENCE = 1.96  # standard deviations below the mean of the lower confidence bound, which 97.5 % of means stay above


class Proof(NamedTuple):
    """A proven value: whoever is to win can do it within so many plies, whatever the other does."""

    value: float  # for the player to move where it is told, in [-1, 1]; for SearchResult at the root
    plies: int  # from there to the end of the game

    def text(self) -> str:
        """ "win in 3", "draw", "loss in 8"."""
        name = result_name(self.value)
        return name if name == "draw" else f"{name} in {self.plies}"


def result_name(value: float) -> str:
    """A result for the player to whom the value belongs: "win", "draw" or "loss"."""
    return "win" if value > 0 else "loss" if value < 0 else "draw"


class SearchResult(NamedTuple):
    """What a search found out about its root; the arrays are over its legal actions, in ascending order."""

    actions: IntArray  # int32[L]
    visit_counts: IntArray  # int32[L]: simulations that began with the action
    q: FloatArray  # float32[L], in [-1, 1]: their mean value for the player to move, or the proven one; 0 without any
    prior: FloatArray  # float32[L], sums to 1: the evaluator's policy, with the root's noise if there was any
    proofs: tuple[Proof | None, ...]  # L of them: what is proven of each action
    improved: FloatArray  # float32[L], sums to 1: what the search makes of the prior; what a network learns
    preference: FloatArray  # float32[L]: decides between equally visited actions
    value: float  # the root's mean value for the player to move, its own evaluation included; once proven, the true
    proof: Proof | None  # what is proven of the root
    principal_variation: tuple[int, ...]  # the most visited action, the most visited reply to it, ...
    num_simulations: int  # simulations run by this search; a kept tree's visits come on top
    seconds: float

    def policy(self, num_actions: int) -> FloatArray:
        """`improved` over all actions, float32[A]: as a rule the share of visits; the priors without a simulation."""
        policy: FloatArray = np.zeros(num_actions, np.float32)
        policy[self.actions] = self.improved
        return policy


@dispatched
def root_policy(rule: Any, tree: Tree, b: int) -> npt.NDArray[np.float64]:
    """What the search makes of the root's priors, by its selection rule: float64[L] in the edges' order, any scale."""
    return tree.visits[b, slice(*tree.first_edge[b, :2])].astype(np.float64)


@dispatched
def root_preference(rule: Any, tree: Tree, b: int) -> npt.NDArray[np.float64]:
    """What decides between equally visited actions of the root, float64[L] in the edges' order: their mean value."""
    edges = slice(*tree.first_edge[b, :2])
    return tree.total[b, edges] / np.maximum(tree.visits[b, edges], 1)


def search_result(forest: Forest[Any], b: int, num_simulations: int, seconds: float) -> SearchResult:
    """What the search in tree b, whose root has been evaluated, has found."""
    tree, edges = forest.tree, forest.root_edges(b)
    by_action = np.argsort(tree.action[b, edges])
    order = edges.start + by_action
    visits, prior = tree.visits[b, order], tree.prior[b, order]
    player = int(tree.player[b, 0])
    proofs = tuple(proof_of(tree, b, edge, player) for edge in order)
    proof = Proof(float(tree.value[b, 0]), int(tree.plies[b, 0])) if forest.is_proven(b) else None
    q = np.array(
        [
            total / max(n, 1) if found is None else found.value
            for total, n, found in zip(tree.total[b, order], visits, proofs, strict=True)
        ],
        np.float32,
    )
    policy = root_policy(forest.rule, tree, b)[by_action]
    return SearchResult(
        actions=tree.action[b, order].astype(np.int32),
        visit_counts=visits,
        q=q,
        prior=prior,
        proofs=proofs,
        improved=_improved(policy if policy.any() else prior, proofs, proof),
        preference=root_preference(forest.rule, tree, b)[by_action].astype(np.float32),
        value=float(tree.total[b, 0] / tree.visits[b, 0]) if proof is None else proof.value,
        proof=proof,
        principal_variation=_principal_variation(forest, b),
        num_simulations=num_simulations,
        seconds=seconds,
    )


def merged(results: Sequence[SearchResult]) -> SearchResult:
    """What searches of one position, each in a tree of its own, have found together."""
    if len(results) == 1:
        return results[0]
    first = results[0]
    counts = np.array([result.visit_counts for result in results])
    visits: IntArray = counts.sum(axis=0, dtype=np.int32)
    mean = (counts * np.array([result.preference for result in results], np.float64)).sum(axis=0) / np.maximum(
        visits, 1
    )
    proofs = tuple(
        min((proof for proof in found if proof is not None), key=lambda proof: proof.plies, default=None)
        for found in zip(*(result.proofs for result in results), strict=True)
    )
    proof = _root_proof(proofs)
    value = float(np.average([result.value for result in results], weights=counts.sum(axis=1) + 1))
    policy = visits if visits.any() else first.prior
    return first._replace(
        visit_counts=visits,
        q=np.array([m if p is None else p.value for m, p in zip(mean, proofs, strict=True)], np.float32),
        proofs=proofs,
        improved=_improved(policy.astype(np.float64), proofs, proof),
        preference=mean.astype(np.float32),
        value=value if proof is None else proof.value,
        proof=proof,
        principal_variation=max(results, key=lambda r: r.visit_counts[np.argmax(visits)]).principal_variation,
        num_simulations=sum(result.num_simulations for result in results),
        seconds=max(result.seconds for result in results),
    )


def _root_proof(proofs: Sequence[Proof | None]) -> Proof | None:
    """What the proofs of all actions prove of the root: one wins, or there is one of each."""
    known = [proof for proof in proofs if proof is not None]
    best = max(known, key=_rank, default=None)
    return best if best is not None and (best.value >= 1 or len(known) == len(proofs)) else None


def proof_of(tree: Tree, b: int, edge: int, chooser: int) -> Proof | None:
    """What is proven of an edge, for the player who may choose it; the plies count from there."""
    if not tree.proven[b, edge]:
        return None
    child = tree.child[b, edge]
    sign = 1 if tree.player[b, child] == chooser else -1
    return Proof(sign * float(tree.value[b, child]), int(tree.plies[b, child]) + 1)


def _rank(proof: Proof) -> tuple[float, int]:
    """Of proven actions the largest is best: the quickest win, any draw, the slowest loss."""
    return proof.value, -proof.plies if proof.value > 0 else proof.plies if proof.value < 0 else 0


def _improved(policy: npt.NDArray[Any], proofs: tuple[Proof | None, ...], proof: Proof | None) -> FloatArray:
    """The policy without the actions that are proven worse than another; of a proven root, over the best ones alone."""
    known = [found for found in proofs if found is not None]
    if known:
        best = max(_rank(found) for found in known)
        worse = [
            proof is not None if found is None else _rank(found) < best or (proof is None and found.value == -1)
            for found in proofs
        ]
        without = np.where(worse, 0, policy)
        policy = without if without.any() else np.where(worse, 0.0, 1.0)
    improved: FloatArray = (policy / policy.sum()).astype(np.float32)
    return improved


def _principal_variation(forest: Forest[Any], b: int) -> tuple[int, ...]:
    actions = np.empty(forest.game.max_game_length, np.int32)
    found = actions[: _write_principal_variation(forest.tree, b, actions)].tolist()
    if forest.options.transpositions == "symmetries":  # actions mean what they do in the image
        found = _own_actions(forest, forest.roots[b], found)
    return tuple(found)


def _own_actions(forest: Forest[Any], state: Any, actions: Sequence[int]) -> Iterator[int]:
    """The actions that lead from the root's state to where these lead from image to image."""
    game, image = forest.game, state
    for action in actions:
        own = action
        if image != state:
            own = next(s.actions.index(action) for s in game.symmetries() if s.state(state) == image)
        yield own
        state, image = game.step(state, own), forest.image(game.step(image, action))


@kernel
def _write_principal_variation(tree: Tree, b: int, actions: Any) -> int:
    """Follow the most visited edge, of several the one with the higher total; returns how many there are."""
    node, length = tree.edges[b, 0]["child"], 0
    while node >= 0:
        best, visits, total = -1, 0, 0.0
        for edge in range(tree.nodes[b, node]["first_edge"], tree.nodes[b, node + 1]["first_edge"]):
            n, w = tree.edges[b, edge]["visits"], tree.edges[b, edge]["total"]
            if n > visits or (n == visits > 0 and w >= total):
                best, visits, total = edge, n, w
        if best < 0:
            break
        actions[length] = tree.edges[b, best]["action"]
        length += 1
        node = tree.edges[b, best]["child"]
    return length


CHOICES = ("visits", "value", "lcb")


def rank_actions(result: SearchResult, choice: str = "visits") -> list[tuple[float, ...]]:
    """A rank for each action, the largest for the one to play, by one of three rules.

    - "visits": the most visited; of several the one with the higher value, then prior. AlphaZero's; one lucky visit
      does not count against five hundred.
    - "value": the highest mean value among the visited: what flat Monte Carlo needs, and prone to luck.
    - "lcb": the highest lower confidence bound of the mean, q - 1.96 / sqrt(n): values in [-1, 1] have a standard
      deviation of 1 at most.

    What is proven goes before: the quickest win; nothing that is proven lost while there is another action; a proven
    draw before an action whose mean is below it; of proven losses the slowest; of proven draws the one with the highest
    mean, where the opponent may still go wrong. Raises ValueError for another rule.
    """
    if choice not in CHOICES:
        raise ValueError(f"a final choice is by {' or '.join(CHOICES)}, not {choice!r}")
    open_ranks = {i: _open_rank(result, i, choice) for i, proof in enumerate(result.proofs) if proof is None}
    favourite = max(open_ranks, key=lambda i: open_ranks[i], default=None)
    threshold = -np.inf if favourite is None else float(result.q[favourite])
    ranks: list[tuple[float, ...]] = []
    for i, proof in enumerate(result.proofs):
        if proof is None:
            ranks.append((1.0, *open_ranks[i]))
        else:
            level = 2.0 if proof.value >= 1 or proof.value > threshold else 0.0
            ranks.append((level, *_rank(proof), float(result.preference[i])))
    return ranks


def best_action(result: SearchResult, stream: int, choice: str = "visits") -> int:
    """The action to play: the best by `rank_actions`, of equals one that is drawn by the stream."""
    ranks = rank_actions(result, choice)
    best = [action for action, rank in zip(result.actions, ranks, strict=True) if rank == max(ranks)]
    return int(best[below(draw(stream, _CHOICE), len(best))])


def _open_rank(result: SearchResult, i: int, choice: str) -> tuple[float, ...]:
    visits, preference, prior = (float(a[i]) for a in (result.visit_counts, result.preference, result.prior))
    match choice:
        case "value":
            return (float(result.q[i]) if visits else -np.inf, visits, prior)
        case "lcb":
            bound = float(result.q[i]) - _CONFIDENCE / np.sqrt(visits) if visits else -np.inf
            return (bound, visits, prior)
    return (visits, preference, prior)


def sample_action(result: SearchResult, temperature: float, stream: int) -> int:
    """An action drawn with probability proportional to `improved` ** (1 / temperature); at 0 it is `best_action`.

    `improved` is the share of visits as a rule, so that what was not visited is not drawn. Worked out in logarithms,
    relative to the largest, so no temperature over- or underflows. Raises ValueError for a negative temperature.
    """
    if not temperature >= 0:
        raise ValueError(f"the temperature must not be negative, got {temperature}")
    if temperature < 1e-3:  # beyond that only the most visited has any probability
        return best_action(result, stream)
    weights = result.improved.astype(np.float64)
    positive = weights > 0
    logits = np.log(weights[positive] / weights.max()) / temperature
    cumulative = np.cumsum(np.exp(logits))
    point = draw(stream, _CHOICE) / 2**63 * cumulative[-1]
    chosen = min(int(np.searchsorted(cumulative, point, side="right")), len(cumulative) - 1)
    return int(result.actions[positive][chosen])
