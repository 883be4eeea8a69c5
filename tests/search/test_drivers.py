"""The proof that there is one search core: four ways to the same tree, node by node."""

from typing import Any

import numpy as np
import pytest

from azero.evaluators.evaluator import Evaluation
from azero.evaluators.rollout import HeuristicPolicy, RandomPolicy, RolloutEvaluator
from azero.games import load_game
from azero.games.game import Game, state_after
from azero.search.forest import Forest
from azero.search.puct import PUCT
from azero.search.uct import UCT
from tests.naive.search import NaiveSearch, dump, puct, random_rollout, uct

GAMES = ["tictactoe", "connect4"]
ROOTS = {"tictactoe": [[], [4, 0], [0, 3, 1]], "connect4": [[], [3, 3, 2, 2, 4], [0, 0, 4, 1, 1, 2, 6, 2, 2, 3]]}


class Hidden(Game[Any]):
    """A compiled game whose kernels are hidden: what a game in plain Python looks like to azero."""

    name = "hidden"

    def __init__(self, game: Game[Any]) -> None:
        self.num_actions = game.num_actions
        self.max_game_length = game.max_game_length
        self.initial_state = game.initial_state
        self.current_player = game.current_player
        self.legal_actions = game.legal_actions
        self.step = game.step
        self.outcome = game.outcome

    initial_state = current_player = legal_actions = step = outcome = None  # type: ignore[assignment]


class Stepped:
    """The same evaluator in disguise, so that the fused driver does not recognise it."""

    def __init__(self, evaluator: Any) -> None:
        self.evaluate = evaluator.evaluate


class Hashed:
    """A deterministic policy and value out of the state's own numbers, uneven enough to exercise PUCT."""

    def evaluate(self, batch: Any) -> Evaluation:
        answers = [hashed(batch.game, state) for state in batch.states]
        policy = np.array([[p.get(a, 0.0) for a in range(batch.game.num_actions)] for p, _ in answers], np.float32)
        return Evaluation(policy, np.array([v for _, v in answers], np.float32))


def hashed(game: Any, state: Any) -> tuple[dict[int, float], float]:
    """Weights in eighths that sum to a power of two would be exact; the twin normalises as azero does."""
    legal = game.legal_actions(state)
    weights = {action: 1 + (action * 7 + sum(state) * 3) % 5 for action in legal}
    return weights, (sum(state) % 17 - 8) / 8


def tree_of(forest: Forest[Any], b: int = 0) -> list[Any]:
    tree = forest.tree
    nodes = []
    for node in range(tree.size[b]):
        edges = range(tree.first_edge[b, node], tree.first_edge[b, node + 1])
        rows = [(tree.action[b, e], tree.prior[b, e], tree.visits[b, e], tree.total[b, e]) for e in edges]
        nodes.append((tree.player[b, node], tree.value[b, node], rows))
    return nodes


def assert_same(naive: list[Any], tree: list[Any]) -> None:
    assert len(naive) == len(tree)
    for (player, value, edges), (tree_player, tree_value, tree_edges) in zip(naive, tree, strict=True):
        assert (player, np.float32(value)) == (tree_player, tree_value)
        assert [(a, np.float32(p), n) for a, p, n, _ in edges] == [(a, p, n) for a, p, n, _ in tree_edges]
        np.testing.assert_allclose([e[3] for e in edges], [e[3] for e in tree_edges], rtol=1e-6, atol=1e-6)


def roots(name: str) -> list[Any]:
    game = load_game(name)
    return [state_after(game, actions) for actions in ROOTS[name]]


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("stream", [1, 2, 3])
def test_uct_with_rollouts_plants_one_tree_by_every_driver(name: str, stream: int) -> None:
    game = load_game(name)
    for root in roots(name):
        rule, visits = UCT(c=1.2), 150
        naive = NaiveSearch(
            game,
            root,
            lambda node, n: uct(node, n, 1.2),
            lambda state, s: (
                {a: 1 / len(game.legal_actions(state)) for a in game.legal_actions(state)},
                random_rollout(game, state, draw_rollout(s)),
            ),
            stream,
        )
        naive.run(visits)
        for driven, evaluator in [
            (game, RolloutEvaluator()),
            (game, Stepped(RolloutEvaluator())),
            (Hidden(game), RolloutEvaluator()),
        ]:
            forest = Forest(driven, evaluator, rule)
            forest.set_root(0, root, stream)
            forest.grow(0, visits)
            assert_same(dump(naive), tree_of(forest))


def draw_rollout(stream: int) -> int:
    """The first rollout's stream within a simulation's."""
    from azero._jit import draw

    return draw(stream, 0)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("policy", [RandomPolicy(), HeuristicPolicy()])
@pytest.mark.parametrize("num_rollouts", [1, 3])
def test_fused_stepped_and_plain_python_agree_for_every_rollout(name: str, policy: Any, num_rollouts: int) -> None:
    game = load_game(name)
    trees = []
    for driven, wrap in [(game, lambda e: e), (game, Stepped), (Hidden(game), lambda e: e)]:
        forest = Forest(driven, wrap(RolloutEvaluator(policy, num_rollouts)), UCT())
        forest.set_root(0, roots(name)[1], 5)
        forest.grow(0, 60)
        trees.append(tree_of(forest))
    assert trees[0] == trees[1] == trees[2]


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("fpu_reduction", [0.0, 0.2, 1.0])
def test_puct_equals_its_naive_twin(name: str, fpu_reduction: float) -> None:
    game = load_game(name)

    def evaluate(state: Any, _stream: int) -> tuple[dict[int, float], float]:
        weights, value = hashed(game, state)
        total = np.float32(sum(weights.values()))
        return {a: float(np.float32(w) / total) for a, w in weights.items()}, value

    for root in roots(name):
        naive = NaiveSearch(game, root, lambda node, n: puct(node, n, 1.25, 19652.0, fpu_reduction), evaluate, 7)
        naive.run(200)
        for driven in (game, Hidden(game)):
            forest = Forest(driven, Hashed(), PUCT(fpu_reduction=fpu_reduction))
            forest.set_root(0, root, 7)
            forest.grow(0, 200)
            assert_same(dump(naive), tree_of(forest))


@pytest.mark.parametrize("name", GAMES)
def test_a_tree_does_not_depend_on_the_trees_beside_it(name: str) -> None:
    game, starts = load_game(name), roots(name)
    forest = Forest(game, Stepped(RolloutEvaluator()), UCT(), num_trees=7)
    for b in range(7):
        forest.set_root(b, starts[b % 3], stream=b)
    # Different trees get different numbers of simulations, in an order that changes.
    for i in range(120):
        forest.simulate(np.flatnonzero([(i + b) % 3 > 0 or b < 3 for b in range(7)]).astype(np.int32)[::-1])
    for b in range(7):
        alone = Forest(game, RolloutEvaluator(), UCT())
        alone.set_root(0, starts[b % 3], stream=b)
        alone.grow(0, int(forest.tree.visits[b, 0]))
        assert tree_of(alone) == tree_of(forest, b)
