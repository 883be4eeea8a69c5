"""python -m azero.check: whether a game keeps the laws, and plays the same with compiled and with plain rules."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise, zip_longest
from typing import Any

from rich.console import Console
from rich.text import Text

from azero._jit import draw
from azero.config import command
from azero.evaluators.rollout import RolloutEvaluator
from azero.games import load_game
from azero.games.check import LawError, check_game, random_states
from azero.games.compiled import CompiledGame
from azero.games.game import Game, listed, winner
from azero.search.forest import Forest
from azero.search.uct import UCT

_NUM_TREES, _SIMULATIONS = 10, 200  # to compare, and how large


@dataclass(frozen=True)
class CheckSettings:
    """Which game to check, and how long."""

    game: str = "connect4"  # a name, path/to/file.py:Class or openspiel:name; parameters in parentheses, in quotes
    num_games: int = 20  # random games to play, at least 1
    seed: int = 0  # which ones

    def __post_init__(self) -> None:
        """Raises ValueError for what cannot be checked."""
        if self.num_games < 1:
            raise ValueError(f"num_games must be at least 1, got {self.num_games}")


@command(CheckSettings, "check")
def main(settings: CheckSettings) -> None:
    """Play random games and hold every state against the laws that azero/games/game.py lists.

        python -m azero.check game=path/to/file.py:Class
        python -m azero.check game='path/to/file.py:Class(size=6)'

    The first law broken is an error, which names the state. A line tells what the games were like: look whether that is
    what you expect. If the rules are compiled, searches by UCT from some of the states must plant the same trees, node
    by node, with compiled and with plain rules.
    """
    game = load_game(settings.game)
    console = Console(markup=False, highlight=False, soft_wrap=True)
    with console.status(Text(f"playing {settings.num_games} random games of {game.name}")):
        num_states = check_game(game, settings.num_games, settings.seed)
    console.print(f"{game.name} keeps every law in {num_states} states of {settings.num_games} random games")
    console.print(describe_games(game, settings.num_games, settings.seed))
    if isinstance(game, CompiledGame):
        with console.status(Text(f"searching {_NUM_TREES} states of {game.name} with compiled and with plain rules")):
            num_nodes = check_trees(game, settings.seed)
        console.print(f"Compiled and plain rules plant the same {_NUM_TREES} trees, {num_nodes} nodes in all")
    reason = getattr(game, "uncompiled_observation", "")
    if reason:
        console.print(f"Its observation() stays in plain Python, for it cannot be compiled: {reason}")


def describe_games(game: Game[Any], num_games: int, seed: int) -> str:
    """In one line what random games are like, so that a person sees what is odd about them."""
    games = [list(random_states(game, draw(seed, number))) for number in range(num_games)]
    ends = Counter(winner(game, states[-1]) for states in games)
    won = ", ".join(f"{game.player_names[player]} wins {ends[player] / num_games:.0%}" for player in (0, 1))
    lengths = [len(states) - 1 for states in games]
    legal = {action for states in games for state in states for action in game.legal_actions(state)}
    unseen = [game.action_text(action) for action in range(game.num_actions) if action not in legal]
    facts = [f"{won}, draws {ends[None] / num_games:.0%}", f"{min(lengths)} to {max(lengths)} actions long"]
    facts.append(f"{len(legal)} of {game.num_actions} actions seen{f', never {listed(unseen)}' if unseen else ''}")
    if any(isinstance(number, float) for states in games for number in _leaves(states)):
        facts.append("states hold floating-point numbers, and what differs by rounding counts as another state")
    try:
        looks_fixed = all(map(partial(_only_fills, game), games))
    except NotImplementedError:
        facts.append("no observation(): a network cannot learn it")
    else:
        if looks_fixed:
            facts.append("observation() only ever fills up: does it begin with the stones of the player to move?")
    return "; ".join(facts)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        yield from (leaf for part in value for leaf in _leaves(part))
    else:
        yield value


def _only_fills(game: Game[Any], states: Sequence[Any]) -> bool:
    """Whether stones of each player stay where they are in the observation, although the mover changes."""
    seen = [game.observation(state) for state in states]
    return len(seen[0]) > 1 and all((before <= after).all() for before, after in pairwise(seen))


def check_trees(game: CompiledGame[Any], seed: int) -> int:
    """Search states of random games with compiled and with plain rules; returns how many nodes were found equal.

    Raises LawError, naming a state from which two trees differ.
    """
    forests = [Forest(rules, RolloutEvaluator(), UCT()) for rules in (game, _Plain(game))]
    num_nodes = 0
    for number in range(_NUM_TREES):
        *_, root = islice(random_states(game, draw(seed, number)), number + 1)
        if game.is_terminal(root):
            root = game.initial_state()
        for forest in forests:
            forest.set_root(0, root, number)
            forest.grow(0, _SIMULATIONS)
        for node, records in enumerate(zip_longest(*map(_records, forests))):
            if records[0] != records[1]:
                raise LawError(
                    f"{game.name}: searches with compiled and with plain rules must plant the same tree, but those "
                    f"from this state differ in node {node}, {records[0]} and {records[1]}\n{game.state_text(root)}"
                )
            num_nodes += 1
    return num_nodes


class _Plain(Game[Any]):
    """A compiled game with its kernels hidden, as plain Python plays it."""

    def __init__(self, game: Game[Any]) -> None:
        self.name = game.name
        self.num_actions = game.num_actions
        self.max_game_length = game.max_game_length
        self._game = game

    def initial_state(self) -> Any:
        return self._game.initial_state()

    def current_player(self, state: Any) -> int:
        return self._game.current_player(state)

    def legal_actions(self, state: Any) -> Sequence[int]:
        return self._game.legal_actions(state)

    def step(self, state: Any, action: int) -> Any:
        return self._game.step(state, action)

    def outcome(self, state: Any) -> float:
        return self._game.outcome(state)


def _records(forest: Forest[Any]) -> list[tuple[Any, Any]]:
    """Each node of the tree, with its edges."""
    tree = forest.tree
    bounds = tree.first_edge[0, : tree.size[0] + 1].tolist()
    edges = [tree.edges[0, first:last].tolist() for first, last in pairwise(bounds)]
    return list(zip(tree.nodes[0, : tree.size[0]].tolist(), edges, strict=True))


if __name__ == "__main__":
    main()
