"""AlphaZero-style learned search: one MCTS core with pluggable evaluators, self-play training, an arena."""

from azero.evaluators.cached import CachedEvaluator
from azero.evaluators.evaluator import Evaluation, Evaluator, EvaluatorError
from azero.evaluators.network import load_network
from azero.evaluators.rollout import HeuristicPolicy, RandomPolicy, RolloutEvaluator
from azero.evaluators.scripted import ScriptedEvaluator
from azero.evaluators.uniform import UniformEvaluator
from azero.games import load_game
from azero.games.batch import StateBatch
from azero.games.check import check_game
from azero.games.compiled import CompiledGame
from azero.games.decorator import compiled
from azero.games.game import Game, Symmetry, state_after
from azero.search.mcts import MCTS, Budget
from azero.search.puct import PUCT
from azero.search.result import SearchResult, best_action, sample_action
from azero.search.uct import UCT

__all__ = [
    "MCTS",
    "PUCT",
    "UCT",
    "Budget",
    "CachedEvaluator",
    "CompiledGame",
    "Evaluation",
    "Evaluator",
    "EvaluatorError",
    "Game",
    "HeuristicPolicy",
    "RandomPolicy",
    "RolloutEvaluator",
    "ScriptedEvaluator",
    "SearchResult",
    "StateBatch",
    "Symmetry",
    "UniformEvaluator",
    "best_action",
    "check_game",
    "compiled",
    "load_game",
    "load_network",
    "sample_action",
    "state_after",
]
