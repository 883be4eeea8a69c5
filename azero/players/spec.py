"""Players in a few characters, as the commands take them.

    random                  any legal action
    flat:100                flat Monte Carlo, 100 rollouts a move
    ucb1:100                the same, but UCB1 says which action gets the next rollout
    uct:1000                tree search by UCT with random rollouts, 1000 simulations a move
    minimax:4               minimax, 4 plies deep
    alphabeta:8             the same by alpha-beta; alone, `alphabeta` looks on until it knows how perfect play ends
    perfect                 never gives a result away: by theory (Nim), a book and a solver (Connect Four), or else as
                            `alphabeta` alone
    azero:PATH@200          tree search by PUCT with a trained network, 200 simulations a move
    network:PATH            the network's policy alone, without search
    human                   a person at the terminal; in azero.play only

PATH is a run, one of its checkpoints, a file of weights, or the name of a network that comes with azero, as `connect4`.
However the run itself searched, the player does so as said here: by PUCT with its defaults, but for the options. In
place of simulations, or of plies for alphabeta, `0.5s` is half a second a move, and `1000,0.5s` whichever comes first.
Options follow after commas, as in `uct:1000,c=1.0,sampled=4`:

    c=1.0                   exploration (uct, ucb1 and azero; its meaning and default are those of the rule)
    rollout=heuristic       rollouts take immediate wins and prevent the opponent's (flat, ucb1, uct); default: random
    rollouts=4              rollouts for each simulation (flat, ucb1, uct)
    children=all            a new node's children are tried at once, not one at each visit (uct)
    rave=300                RAVE with this equivalence parameter (uct); with grave=50, GRAVE from nodes with 50 visits
    gumbel=16               Gumbel AlphaZero, its first round trying so many actions; with scale=0.3 values weigh less
                            than the paper's 1 (azero)
    widening=1.5            progressive widening: a node with N visits has 1.5 sqrt(N) actions (uct and azero)
    transpositions=states   states share a node however they are reached; symmetries: mirror images too (uct and azero)
    lookahead=4             alpha-beta looks so many plies ahead of every new leaf: what it proves is not evaluated
                            (uct and azero)
    proven=no               do not use what the tree proves (uct and azero)
    threads=2               so many trees side by side, added up (uct)
    leaves=8                so many leaves for each call of the network (azero)
    choice=lcb              the action is chosen by visits, value or lcb (uct, ucb1 and azero; see `best_action`)
    keep=no                 every move's search begins with an empty tree (uct and azero)
    early=yes               stop when no other action can become the most visited (uct and azero)
    nodes=100000            states to visit for a move (alphabeta)
    sampled=4               the first 4 moves of a game are drawn in proportion to their visits (uct and azero)
"""

import re
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from azero.evaluators.evaluator import Evaluator
from azero.evaluators.network import load_network
from azero.evaluators.rollout import HeuristicPolicy, RandomPolicy, RolloutEvaluator
from azero.games.game import Game
from azero.games.suggest import suggestion
from azero.players.minimax import MinimaxPlayer
from azero.players.perfect import perfect_player
from azero.players.player import NetworkPlayer, Player, RandomPlayer, SearchPlayer
from azero.search.alphabeta import AlphaBeta, Limits
from azero.search.forest import SearchOptions
from azero.search.gumbel import Gumbel
from azero.search.mcts import MCTS, Budget
from azero.search.puct import PUCT
from azero.search.rave import RAVE
from azero.search.result import CHOICES
from azero.search.uct import UCB1, UCT, Flat, UCTByNode
from azero.search.widening import Widening

S = TypeVar("S", bound=Hashable)

_Maker = Callable[[Game[Any]], Player[Any]]
_MAX_SIDE_BY_SIDE = 1024  # trees or leaves
_MAX_COUNT = 2**31 - 2  # a tree's counters hold one more, which is the root's own evaluation


class PlayerSpec(NamedTuple):
    """A player's description, read and checked."""

    name: str  # the description itself
    is_human: bool
    network: str | None  # where its network is, if it has one
    maker: _Maker

    def make(self, game: Game[S]) -> Player[S]:
        """A new player. Raises ValueError or OSError if its network cannot be read or knows another game."""
        try:
            player = self.maker(game)
        except ValueError as error:
            raise ValueError(f"player {self.name!r}: {error}") from error
        player.name = self.name
        return player


def parse_player(text: str) -> PlayerSpec:
    """Read a description such as "uct:1000". Raises ValueError that says what is wrong and what is allowed."""
    text = text.strip()
    kind, _, rest = text.partition(":")
    if kind not in _KINDS:
        examples = ", ".join(example for example, _ in _KINDS.values())
        raise ValueError(f"unknown player {text!r};{suggestion(kind, _KINDS)} players are {examples}")
    example, read = _KINDS[kind]
    network = {"azero": rest.rpartition("@")[0], "network": rest}.get(kind)
    try:
        return PlayerSpec(text, kind == "human", network, read(rest))
    except ValueError as error:
        instead = "; the network without search is network:PATH" if kind == "azero" else ""
        raise ValueError(f"player {text!r}: {error}; an example is {example}{instead}") from None


def _read_random(text: str) -> _Maker:
    _nothing(text)
    return RandomPlayer


def _read_human(text: str) -> _Maker:
    _nothing(text)

    def refuse(_game: Game[Any]) -> Player[Any]:
        raise ValueError("a human cannot play here; python -m azero.play is the place")

    return refuse


_SEARCH = (
    "simulations",
    "seconds",
    "sampled",
    "transpositions",
    "proven",
    "lookahead",
    "widening",
    "choice",
    "early",
    "keep",
)


def _read_flat(text: str) -> _Maker:
    values = _values(text, "simulations", "rollout", "rollouts")
    if "simulations" not in values:
        raise ValueError("the number of rollouts is missing")
    return _searching(values | {"choice": "value"}, Flat())


def _read_ucb1(text: str) -> _Maker:
    values = _values(text, "simulations", "seconds", "rollout", "rollouts", "c", "choice")
    return _searching(values, UCB1(values["c"]) if "c" in values else UCB1())


def _read_uct(text: str) -> _Maker:
    values = _values(text, *_SEARCH, "c", "rollout", "rollouts", "children", "rave", "grave", "threads")
    if "grave" in values and "rave" not in values:
        raise ValueError("grave needs rave, the equivalence parameter")
    exploration = {"c": values["c"]} if "c" in values else {}
    rule: Any = UCTByNode(**exploration) if values.get("children") == "all" else UCT(**exploration)
    if "rave" in values and "children" in values:
        raise ValueError("children is an option of plain UCT, not of rave")
    if "rave" in values:
        rule = RAVE(values["rave"], values.get("grave", 0), **exploration)
    return _searching(values, rule)


def _searching(values: dict[str, Any], rule: Any) -> _Maker:
    """A player that searches with rollouts."""
    evaluator = RolloutEvaluator(values.get("rollout", RandomPolicy()), values.get("rollouts", 1))
    return _player(values, rule, lambda _: evaluator)


def _player(values: dict[str, Any], rule: Any, evaluator: Callable[[Game[Any]], Evaluator]) -> _Maker:
    budget = _budget(values)
    if "widening" in values and values.get("children") == "all":
        raise ValueError("children=all is the opposite of widening")
    if "widening" in values:
        rule = Widening(rule, values["widening"])
    options = SearchOptions(
        proven_values=values.get("proven", True),
        transpositions=values.get("transpositions", "none"),
        lookahead=values.get("lookahead", 0),
        leaves=values.get("leaves", 1),
    )
    sampled, choice, keep = values.get("sampled", 0), values.get("choice", "visits"), values.get("keep", True)

    def make(game: Game[Any]) -> Player[Any]:
        mcts = MCTS(game, evaluator(game), rule, options, values.get("threads", 1))
        return SearchPlayer(mcts, budget, sampled, choice, keep)

    return make


def _read_minimax(text: str) -> _Maker:
    values = _values(text, "depth")
    if "depth" not in values:
        raise ValueError("the plies to look ahead are missing")
    return lambda game: MinimaxPlayer(game, AlphaBeta(game, prunes=False, table_size=0), Limits(**values))


def _read_alphabeta(text: str) -> _Maker:
    limits = Limits(**_values(text, "depth", "seconds", "nodes"))
    return lambda game: MinimaxPlayer(game, AlphaBeta(game), limits)


def _read_perfect(text: str) -> _Maker:
    _nothing(text)
    return perfect_player


def _read_azero(text: str) -> _Maker:
    path, at, settings = text.rpartition("@")
    if not at:
        raise ValueError("the simulations of a move are missing")
    path = _path(path)
    values = _values(settings, *_SEARCH, "c", "gumbel", "scale", "leaves")
    for other, reason in (("c", "belongs to PUCT"), ("early", "would spoil its plan"), ("widening", "is its own")):
        if "gumbel" in values and other in values:
            raise ValueError(f"{other} does not go with gumbel: it {reason}")
    if "gumbel" in values and "simulations" not in values:
        raise ValueError("gumbel divides the simulations of a move between its rounds, so it needs their number")
    if "scale" in values and "gumbel" not in values:
        raise ValueError("scale is an option of gumbel")
    rule: Any = PUCT(values["c"]) if "c" in values else PUCT()
    if "gumbel" in values:
        rule = Gumbel(values["gumbel"], c_scale=values.get("scale", 1.0), noise=0.0)
    return _player(values, rule, lambda game: load_network(path, game))


def _read_network(text: str) -> _Maker:
    path = _path(text)
    return lambda game: NetworkPlayer(game, load_network(path, game))


def _nothing(text: str) -> None:
    if text:
        raise ValueError("nothing may follow this kind of player")


def _path(text: str) -> str:
    if not text or "\0" in text:
        raise ValueError("the path of a run, a checkpoint or a file of weights is missing")
    return text


def _values(text: str, *allowed: str) -> dict[str, Any]:
    """The settings in `text`, by name: a bare number is the first one allowed, one that ends in s "seconds"."""
    values: dict[str, Any] = {}
    for word in text.split(",") if text else []:
        name, equals, value = (part.strip() for part in word.partition("="))
        if not equals:
            name, value = "seconds" if word.endswith("s") else allowed[0], name
        if name not in allowed:
            raise ValueError(f"unknown {name!r};{suggestion(name, allowed)} allowed are {', '.join(allowed)}")
        setting = _READERS[name](name, value)
        if name in values:
            raise ValueError(f"{name} is given twice")
        values[name] = setting
    return values


def _budget(values: dict[str, Any]) -> Budget:
    if "simulations" not in values and "seconds" not in values:
        raise ValueError("the simulations of a move are missing")
    early = values.get("early", False)
    if early and values.get("choice", "visits") != "visits":
        raise ValueError("early compares visits, so the choice must be by visits")
    if early and values.get("threads", 1) > 1:
        raise ValueError("early compares the visits of one tree, so it takes one thread")
    return Budget(values.get("simulations"), values.get("seconds"), early)


def _count(name: str, text: str) -> int:
    if not re.fullmatch("[0-9]{1,10}", text) or not 1 <= int(text) <= _MAX_COUNT:
        raise ValueError(f"{name} must be a whole number from 1 to {_MAX_COUNT}, not {text!r}")
    return int(text)


def _few(name: str, text: str) -> int:
    if not 1 <= (count := _count(name, text)) <= _MAX_SIDE_BY_SIDE:
        raise ValueError(f"{name} must be at most {_MAX_SIDE_BY_SIDE}, not {text!r}")
    return count


def _number(name: str, text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{0,9})?", text):
        raise ValueError(f"{name} must be a number like 1.5, at least 0, not {text!r}")
    return float(text)


def _seconds(name: str, text: str) -> float:
    seconds = _number(name, text.removesuffix("s"))
    if seconds == 0:
        raise ValueError("seconds must be above 0")
    return seconds


def _positive(name: str, text: str) -> float:
    if not (number := _number(name, text)):
        raise ValueError(f"{name} must be above 0")
    return number


def _policy(name: str, text: str) -> RandomPolicy | HeuristicPolicy:
    policies: dict[str, RandomPolicy | HeuristicPolicy] = {"random": RandomPolicy(), "heuristic": HeuristicPolicy()}
    if text not in policies:
        raise ValueError(f"{name} must be {' or '.join(policies)}, not {text!r}")
    return policies[text]


def _word(*words: str) -> Callable[[str, str], str]:
    def read(name: str, text: str) -> str:
        if text not in words:
            raise ValueError(f"{name} must be {' or '.join(words)}, not {text!r}")
        return text

    return read


def _yes(name: str, text: str) -> bool:
    return _word("yes", "no")(name, text) == "yes"


_READERS: dict[str, Callable[[str, str], Any]] = {
    "simulations": _count,
    "seconds": _seconds,
    "c": _number,
    "rollout": _policy,
    "rollouts": _count,
    "children": _word("one", "all"),
    "rave": _number,
    "grave": _count,
    "gumbel": _count,
    "scale": _number,
    "widening": _positive,
    "transpositions": _word("none", "states", "symmetries"),
    "proven": _yes,
    "threads": _few,
    "leaves": _few,
    "choice": _word(*CHOICES),
    "early": _yes,
    "keep": _yes,
    "lookahead": _few,
    "depth": _count,
    "nodes": _count,
    "sampled": _count,
}
_KINDS: dict[str, tuple[str, Callable[[str], _Maker]]] = {
    "random": ("random", _read_random),
    "flat": ("flat:100", _read_flat),
    "ucb1": ("ucb1:100", _read_ucb1),
    "uct": ("uct:1000", _read_uct),
    "minimax": ("minimax:4", _read_minimax),
    "alphabeta": ("alphabeta:8", _read_alphabeta),
    "perfect": ("perfect", _read_perfect),
    "azero": ("azero:PATH@200", _read_azero),
    "network": ("network:PATH", _read_network),
    "human": ("human", _read_human),
}
