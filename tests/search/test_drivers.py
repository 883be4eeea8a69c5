"""The proof that there is one search core: four ways to the same tree, node by node, for every rule and option."""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from azero._jit import draw
from azero.evaluators.evaluator import Evaluation
from azero.evaluators.rollout import HeuristicPolicy, RandomPolicy, RolloutEvaluator
from azero.games import load_game
from azero.games.game import Game, state_after
from azero.search.forest import Forest, SearchOptions
from azero.search.gumbel import Gumbel
from azero.search.puct import PUCT
from azero.search.rave import RAVE
from azero.search.uct import UCB1, UCT, Flat, UCTByNode
from azero.search.widening import Widening
from tests.naive.search import (
    NaiveSearch,
    Options,
    dump,
    flat,
    gumbel,
    puct,
    random_rollout,
    rave,
    uct,
    widened,
)

GAMES = ["tictactoe", "connect4"]
PASSES, DOUBLE_MOVES = "othello(size=4)", "dots_and_boxes(rows=2,columns=2)"
ROOTS = {
    "tictactoe": [[], [4, 0], [0, 3, 1]],
    "connect4": [[], [3, 3, 2, 2, 4], [0, 0, 4, 1, 1, 2, 6, 2, 2, 3]],
    PASSES: [[], [4, 8, 13, 2], [11, 7, 3, 13, 0, 1]],
    DOUBLE_MOVES: [[], [0, 1, 6], [0, 6, 7, 2]],
}
PLAIN = SearchOptions(proven_values=False)
MANY = 50 if numba.config.DISABLE_JIT else 200  # simulations


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
        self.symmetries = game.symmetries

    initial_state = current_player = legal_actions = step = outcome = symmetries = None  # type: ignore[assignment]


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
        nodes.append((tree.player[b, node], tree.value[b, node], tree.plies[b, node], rows))
    return nodes


def assert_same(naive: list[Any], tree: list[Any], options: SearchOptions) -> None:
    """Where alpha-beta looks ahead, it says within how many plies at most, the twin only whether anything is proven."""
    assert len(naive) == len(tree)
    for (*node, edges), (*tree_node, tree_edges) in zip(naive, tree, strict=True):
        player, value, plies = node
        if options.lookahead:
            plies, tree_node[2] = (plies >= 0), (tree_node[2] >= 0)
        assert [player, np.float32(value), plies] == tree_node
        assert [(a, np.float32(p), n) for a, p, n, _ in edges] == [(a, p, n) for a, p, n, _ in tree_edges]
        np.testing.assert_allclose([e[3] for e in edges], [e[3] for e in tree_edges], rtol=1e-6, atol=1e-6)


def roots(name: str) -> list[Any]:
    game = load_game(name)
    return [state_after(game, actions) for actions in ROOTS[name]]


class Case(NamedTuple):
    """A rule with its naive twin, and what is added to the search."""

    rule: Any
    choose: Callable[..., Any]
    options: SearchOptions = PLAIN
    max_depth: int = 10**9


PROVEN = SearchOptions()
STATES = SearchOptions(proven_values=False, transpositions="states")
SYMMETRIES = SearchOptions(transpositions="symmetries")


def uct_12(*place: Any) -> Any:
    return uct(*place, 1.2)


WITH_ROLLOUTS = {
    "uct": Case(UCT(1.2), uct_12),
    "uct, proven values": Case(UCT(1.2), uct_12, PROVEN),
    "uct, transpositions": Case(UCT(1.2), uct_12, STATES),
    "uct, proven values and mirror images": Case(UCT(1.2), uct_12, SYMMETRIES),
    "uct, lookahead": Case(UCT(1.2), uct_12, SearchOptions(lookahead=3)),
    "uct, all children at once": Case(UCTByNode(1.2), uct_12),
    "ucb1": Case(UCB1(1.2), uct_12, max_depth=1),
    "flat": Case(Flat(), flat, PROVEN, max_depth=1),
    "rave": Case(RAVE(50.0), lambda *place: rave(*place, RAVE(50.0))),
    "grave": Case(RAVE(50.0, ref=10, c=0.3), lambda *place: rave(*place, RAVE(50.0, ref=10, c=0.3)), PROVEN),
    "rave, transpositions": Case(RAVE(50.0), lambda *place: rave(*place, RAVE(50.0)), STATES),
    "widening": Case(Widening(UCT(1.2), 1.0, 0.4), lambda *place: widened(*place, 1.0, 0.4, uct_12), PROVEN),
}
FPU = [{"fpu_reduction": r} for r in (0.0, 0.2, 1.0)]
FPU += [{"fpu_value": -1.0}, {"root_fpu_value": 0.5}, {"root_fpu_reduction": 0.0, "fpu_value": -0.5}]
WITH_PRIORS = {
    **{f"puct {fpu}": Case(PUCT(**fpu), lambda *place, fpu=fpu: puct(*place, PUCT(**fpu))) for fpu in FPU},
    "puct, forced": Case(PUCT(forced_visits=2.0), lambda *place: puct(*place, PUCT(forced_visits=2.0))),
    "puct, proven values": Case(PUCT(), lambda *place: puct(*place, PUCT()), PROVEN),
    "puct, lookahead and shared states": Case(
        PUCT(), lambda *place: puct(*place, PUCT()), SearchOptions(lookahead=2, transpositions="states")
    ),
    "puct, mirror images": Case(PUCT(), lambda *place: puct(*place, PUCT()), SYMMETRIES),
    "gumbel": Case(Gumbel(4).for_budget(199), lambda *place: gumbel(*place, Gumbel(4).for_budget(199))),
    "gumbel, proven values": Case(
        Gumbel(noise=0.0).for_budget(199), lambda *place: gumbel(*place, Gumbel(noise=0.0).for_budget(199)), PROVEN
    ),
    "widening": Case(
        Widening(PUCT(), 1.5, 0.5),
        lambda *place: widened(*place, 1.5, 0.5, lambda *place: puct(*place, PUCT()), by_prior=True),
    ),
}


# Where players pass or move twice in a row, some cases are enough: nothing in the search knows of it.
ROLLOUT_CASES = [*product(GAMES, WITH_ROLLOUTS), (PASSES, "uct, proven values"), (DOUBLE_MOVES, "grave")]
PRIOR_CASES = [*product(GAMES, WITH_PRIORS), (PASSES, "puct, proven values"), (DOUBLE_MOVES, "puct, forced")]


def naive_search(game: Any, root: Any, case: Case, evaluate: Any, stream: int) -> NaiveSearch:
    transpositions = case.options.transpositions
    canonical = None
    if transpositions == "symmetries":
        canonical = game.rules.canonical

    options = Options(
        proven_values=case.options.proven_values,
        lookahead=case.options.lookahead,
        shared=transpositions != "none",
        canonical=canonical,
        max_depth=case.max_depth,
        amaf=getattr(case.rule, "uses_amaf", False),
        by_prior=isinstance(case.rule, Widening),
        all_children=isinstance(case.rule, UCTByNode),
    )
    return NaiveSearch(game, root, case.choose, evaluate, stream, options)


def by_rollout(game: Any) -> Any:
    """Equal weights and one rollout, from the first stream within a simulation's."""

    def evaluate(state: Any, stream: int, played: Any = None) -> tuple[dict[int, float], float]:
        legal = game.legal_actions(state)
        return {a: 1 / len(legal) for a in legal}, random_rollout(game, state, draw(stream, 0), played)

    return evaluate


@pytest.mark.parametrize(("name", "case"), ROLLOUT_CASES)
def test_search_with_rollouts_plants_one_tree_by_every_driver(name: str, case: str) -> None:
    game, visits = load_game(name), MANY
    kind = WITH_ROLLOUTS[case]
    for stream, root in enumerate(roots(name)):
        naive = naive_search(game, root, kind, by_rollout(game), stream)
        naive.run(visits)
        for driven, grow in [(game, fused), (game, stepped), (Hidden(game), stepped)]:
            if driven is not game and kind.options.transpositions == "symmetries":
                continue  # it has no compiled canonical form, and takes another image
            forest = Forest(driven, RolloutEvaluator(), kind.rule, options=kind.options)
            forest.set_root(0, root, stream)
            grow(forest, visits)
            assert_same(dump(naive), tree_of(forest), kind.options)


def fused(forest: Forest[Any], num_visits: int) -> None:
    forest.grow(0, num_visits)


def stepped(forest: Forest[Any], num_visits: int) -> None:
    while forest.tree.visits[0, 0] < num_visits and not forest.is_proven(0):
        forest.simulate(np.zeros(1, np.int32))


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("policy", [RandomPolicy(), HeuristicPolicy()])
@pytest.mark.parametrize("num_rollouts", [1, 3])
def test_fused_stepped_and_plain_python_agree_for_every_rollout(name: str, policy: Any, num_rollouts: int) -> None:
    game = load_game(name)
    trees = []
    for driven, wrap in [(game, lambda e: e), (game, Stepped), (Hidden(game), lambda e: e)]:
        options = SearchOptions(lookahead=3 - num_rollouts)
        forest = Forest(driven, wrap(RolloutEvaluator(policy, num_rollouts)), UCT(), options=options)
        forest.set_root(0, roots(name)[1], 5)
        forest.grow(0, 60)
        trees.append(tree_of(forest))
    assert trees[0] == trees[1] == trees[2]


@pytest.mark.parametrize(("name", "case"), PRIOR_CASES)
def test_search_with_priors_equals_its_naive_twin(name: str, case: str) -> None:
    game, kind = load_game(name), WITH_PRIORS[case]

    def evaluate(state: Any, _stream: int) -> tuple[dict[int, float], float]:
        weights, value = hashed(game, state)
        total = np.float32(sum(weights.values()))
        return {a: float(np.float32(w) / total) for a, w in weights.items()}, value

    for root in roots(name):
        naive = naive_search(game, root, kind, evaluate, 7)
        naive.run(MANY)
        for driven in (game, Hidden(game)):
            if driven is not game and kind.options.transpositions == "symmetries":
                continue
            forest = Forest(driven, Hashed(), kind.rule, options=kind.options)
            forest.set_root(0, root, 7)
            forest.grow(0, MANY)
            assert_same(dump(naive), tree_of(forest), kind.options)


@pytest.mark.parametrize("name", GAMES)
def test_a_tree_does_not_depend_on_the_trees_beside_it(name: str) -> None:
    game, starts = load_game(name), roots(name)
    forest = Forest(game, Stepped(RolloutEvaluator()), UCT(), num_trees=7, options=PLAIN)
    for b in range(7):
        forest.set_root(b, starts[b % 3], stream=b)
    # Different trees get different numbers of simulations, in an order that changes.
    for i in range(120):
        forest.simulate(np.flatnonzero([(i + b) % 3 > 0 or b < 3 for b in range(7)]).astype(np.int32)[::-1])
    for b in range(7):
        alone = Forest(game, RolloutEvaluator(), UCT(), options=PLAIN)
        alone.set_root(0, starts[b % 3], stream=b)
        alone.grow(0, int(forest.tree.visits[b, 0]))
        assert tree_of(alone) == tree_of(forest, b)
