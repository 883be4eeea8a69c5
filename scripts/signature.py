"""The signature of the search, which `bench.py --signature` prints."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from azero.evaluators.rollout import RolloutEvaluator
from azero.evaluators.scripted import ScriptedEvaluator
from azero.games import load_game
from azero.games.game import Game, state_after
from azero.search.forest import Forest
from azero.search.mcts import MCTS, Budget
from azero.search.puct import PUCT
from azero.search.uct import UCT

POSITIONS: dict[str, list[list[int]]] = {
    "tictactoe": [[], [4, 0], [0, 4, 8]],
    "connect4": [[], [3, 3, 2, 2, 4], [0, 0, 4, 1, 1, 2, 6, 2, 2, 3]],
}


def signature() -> str:
    """A hash of visit counts over fixed positions: whoever changes it has changed the search, not only its form."""
    lines = []
    for name, positions in POSITIONS.items():
        game = load_game(name)
        states = [state_after(game, actions) for actions in positions]
        lines += [f"{name} {result}" for state in states for result in fused_counts(game, state)]
        lines += [f"{name} {result}" for result in stepped_counts(game, states)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def fused_counts(game: Game[Any], state: Any) -> Iterator[list[int]]:
    """UCT with rollouts, and once more in what is kept of the tree after the first action and a reply."""
    search = MCTS(game, RolloutEvaluator(), UCT())
    result = search.search(state, Budget(simulations=200), stream=1)
    yield result.visit_counts.tolist()
    for action in result.principal_variation[:2]:
        state = game.step(state, action)
        search.advance(action)
    if not game.is_terminal(state):
        yield search.search(state, Budget(simulations=100), stream=2).visit_counts.tolist()


def stepped_counts(game: Game[Any], states: Sequence[Any]) -> Iterator[list[int]]:
    """PUCT with made-up evaluations, in all states at once."""

    def script(state: Any) -> tuple[list[int], float]:
        *policy, value = hashlib.blake2b(game.state_text(state).encode(), digest_size=game.num_actions + 1).digest()
        return policy, value % 17 / 8 - 1  # exact as float32, also when added up

    forest = Forest(game, ScriptedEvaluator(script), PUCT(), num_trees=len(states))
    for b, state in enumerate(states):
        forest.set_root(b, state, stream=b)
    for _ in range(200):
        forest.simulate(np.arange(len(states), dtype=np.int32))
    for b in range(len(states)):
        edges = forest.root_edges(b)
        yield forest.tree.visits[b, edges][np.argsort(forest.tree.action[b, edges])].tolist()
