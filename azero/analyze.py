"""python -m azero.analyze: what a search thinks of a position, and how it comes to think so."""

import inspect
import math
import re
import textwrap
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Generic, TypeVar

from rich.console import Console
from rich.table import Table

from azero._jit import draw
from azero.config import command
from azero.evaluators.rollout import RolloutEvaluator
from azero.games import load_game
from azero.games.game import Game, GameOverError, exact_values, result_text
from azero.games.moves import parse_moves
from azero.players.player import SearchPlayer
from azero.players.spec import parse_player
from azero.screen import text_table
from azero.search.alphabeta import AlphaBeta, Limits
from azero.search.forest import Forest
from azero.search.mcts import for_budget
from azero.search.picture import MAX_NODES, check_picture_path, save_picture
from azero.search.result import Proof, SearchResult, rank_actions, result_name
from azero.search.trace import Choice, Simulation, trace_simulation
from azero.search.view import Edge, Node, TreeView, value_text, view

S = TypeVar("S", bound=Hashable)


@dataclass(frozen=True)
class AnalyzeSettings:
    """What is looked at, and how closely."""

    game: str = "connect4"  # a name, path/to/file.py:Class or openspiel:name; parameters in parentheses, in quotes
    state: str | None = None  # the position, as the game shows it to people; null: the start
    moves: str = ""  # actions played from there, as in moves='3 3 2'
    player: str = "uct:10000"  # who searches: an uct or azero player
    exact_seconds: float = 2.0  # alpha-beta may take so long to find the result of perfect play; 0: it is not asked
    num_variations: int = 3  # the most visited actions whose principal variations are shown, >= 0
    picture: str | None = None  # a new file for a picture of the tree, .svg or .png
    num_nodes: int = 30  # in the picture, 1 to 200
    step: bool = False  # go through the search one simulation at a time, from an empty tree
    steps: int | None = None  # go through so many simulations without asking
    seed: int = 0  # fixes all that is drawn, >= 0

    def __post_init__(self) -> None:
        """Raises ValueError for what cannot be shown."""
        for name in ("exact_seconds", "num_variations", "seed", "steps"):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}")
        if not 1 <= self.num_nodes <= MAX_NODES:
            raise ValueError(f"num_nodes must be 1 to {MAX_NODES}, got {self.num_nodes}")
        if self.picture is not None:
            check_picture_path(Path(self.picture))


@command(AnalyzeSettings, "analyze")
def main(settings: AnalyzeSettings) -> None:
    """Search one position, and show what the search found and the tree that it grew.

        python -m azero.analyze game=connect4 moves='3 3 2' picture=tree.svg
        python -m azero.analyze game=tictactoe moves='4 0' player=uct:200,c=0.7 step=true

    Every value is between -1, a loss, and +1, a win, for the player who is named; q is the mean value of an action's
    simulations for the player who takes it. With step=true, or steps=5 where nobody can be asked, each simulation is
    gone through: select, expand, simulate, backup.
    """
    game = load_game(settings.game)
    player = parse_player(settings.player).make(game)
    if not isinstance(player, SearchPlayer):
        raise ValueError(f"player must be one that searches, such as uct:1000, not {settings.player!r}")
    state = _position(game, settings)
    console = Console(markup=False, emoji=False, highlight=False, soft_wrap=True)
    console.print(f"{game.name}, {game.player_names[game.current_player(state)]} to move\n")
    console.print(game.state_text(state), end="\n\n")
    stream = draw(settings.seed, 0)
    if settings.step or settings.steps is not None:
        player.forest.rule = for_budget(player.forest.rule, player.budget.simulations)
        _Walk(player.forest, console).walk(state, stream, settings.steps)
        tree = view(player.forest)
    else:
        player.start(stream)
        result = player.search(state, stream)
        tree = view(player.forest)
        exact = _exact_results(game, state, settings.exact_seconds)
        _show_result(console, tree, player, result, exact)
        if settings.exact_seconds and len(exact) < len(result.actions):
            console.print(
                f"perfect play is not known after {settings.exact_seconds:g} s; exact_seconds=60 looks longer\n"
            )
    _show_tree(console, tree, settings.num_variations)
    if settings.picture is not None:
        title = f"{game.name}, {game.player_names[tree.root.player]} to move: {player.name}"
        save_picture(tree, Path(settings.picture), settings.num_nodes, title)
        console.print(f"\nThe picture is in {Path(settings.picture).absolute()}")


def _position(game: Game[S], settings: AnalyzeSettings) -> S:
    """The state to look at. Raises ValueError if there is none, GameOverError if it is finished."""
    state = game.initial_state() if settings.state is None else _parse_state(game, settings.state)
    _, state = parse_moves(game, settings.moves, state)
    if game.is_terminal(state):
        raise GameOverError(f"the game is over: {result_text(game, state)}")
    return state


def _parse_state(game: Game[S], text: str) -> S:
    """The state in the text, if the rules can make something of it; a game in plain Python need not have checked."""
    state = game.parse_state(text)
    try:
        hash(state)
        game.current_player(state)
        game.legal_actions(state)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        example = game.state_text(game.initial_state())
        raise ValueError(f"{text!r} is no state of {game.name} ({error}); one is {example}") from error
    return state


def _exact_results(game: Game[S], state: S, seconds: float) -> dict[int, str]:
    """What the actions lead to in perfect play, as in "win in 3", where that is found out in time.

    A game's own theory knows the rest, but not in how many plies.
    """
    if seconds == 0:
        return {}
    found = AlphaBeta(game).search(state, Limits(seconds=seconds), every_action=True)
    results = zip(found.actions.tolist(), found.values.tolist(), found.plies.tolist(), found.exact, strict=True)
    known = {action: result_name(value) for action, value in exact_values(game, state).items()}
    return known | {action: Proof(value, plies).text() for action, value, plies, exact in results if exact}


def _show_result(
    console: Console, tree: TreeView[Any], player: SearchPlayer[Any], result: SearchResult, exact: dict[int, str]
) -> None:
    """The root's actions, the best first, with what is proven of them, and what perfect play makes of them if known."""
    game = tree.game
    value = f"value {value_text(result.value)} for {game.player_names[tree.root.player]}"
    known = f", proven: {result.proof.text()}," if result.proof else ""
    spent = f"{result.num_simulations} simulations in {1000 * result.seconds:.0f} ms"
    console.print(f"{player.name}: {value}{known} after {spent}", end="\n\n")
    proven = any(result.proofs)
    table = text_table(
        *("action", "visits", "q", "prior", "share"), *["proven"][:proven], *["perfect play"][: len(exact)]
    )
    ranks = rank_actions(result, player.choice)
    for i in sorted(range(len(ranks)), key=lambda i: ranks[i], reverse=True):
        action, visits, proof = int(result.actions[i]), int(result.visit_counts[i]), result.proofs[i]
        q = value_text(float(result.q[i])) if visits or proof else "-"
        share = f"{visits / max(1, result.visit_counts.sum()):.1%}"
        table.add_row(
            *(game.action_text(action), str(visits), q, f"{result.prior[i]:.3f}", share),
            *[proof.text() if proof else ""][:proven],
            *[exact.get(action, "?")][: len(exact)],
        )
    console.print(table, "")


def _show_tree(console: Console, tree: TreeView[Any], num_variations: int) -> None:
    """The principal variations, and the tree's size and shape."""
    variations = tree.principal_variations(num_variations)
    if variations:
        console.print("principal variations, with visits and q of their first action, or what is proven of it")
        table = text_table("line", "visits", "q")
        for line in variations:
            actions = " ".join(tree.game.action_text(edge.action) for edge in line)
            proof = line[0].proof
            table.add_row(actions, str(line[0].visits), proof.text() if proof else value_text(line[0].q))
        console.print(table, "")
    size = tree.statistics()
    at_depth = " ".join(map(str, size.nodes_at_depth))
    console.print(
        f"tree: {size.num_nodes} nodes, {size.num_states} different states, "
        f"{size.num_proven} proven, {size.num_finished} of them finished games\n"
        f"depth: {len(size.nodes_at_depth) - 1}, {size.mean_depth:.1f} on average; nodes by depth: {at_depth}\n"
        f"branching: {size.mean_legal:.1f} legal actions where the game goes on, "
        f"{size.mean_tried:.1f} tried where any is"
    )


def _cells(game: Game[Any], edge: Edge) -> list[str]:
    """An edge as it stands in tables: action, visits, q, prior."""
    q = value_text(edge.q) if edge.visits else "-"
    return [game.action_text(edge.action), str(edge.visits), q, f"{edge.prior:.3f}"]


def _score_text(edge: Edge, score: float) -> str:
    """What an edge is compared by, or why it is not."""
    if edge.proof:
        return f"not chosen: proven {edge.proof.text()}"
    return "-" if math.isnan(score) else "first" if score == math.inf else f"{score:.3f}"


class _Walk(Generic[S]):
    """A search that is gone through simulation by simulation."""

    def __init__(self, forest: Forest[S], console: Console) -> None:
        self._forest = forest
        self._game = forest.game
        self._console = console

    def walk(self, state: S, stream: int, steps: int | None) -> None:
        """Show the root's evaluation and `steps` simulations after it; without a number ask before each."""
        rule = self._forest.rule
        self._console.print(f"Leaves are valued by {self._evaluator}.\nActions are selected by {rule}:\n")
        self._console.print(textwrap.indent(inspect.getdoc(rule) or "", "    "), end="\n\n")
        if self._forest.options.transpositions != "none":
            self._console.print("Nodes are shared: the q of an edge is that of its state, however that was reached.\n")
        self._forest.set_root(0, state, stream)
        for shown in count():  # the first one evaluates the root
            self._show(trace_simulation(self._forest))
            if shown == steps or (steps is None and not self._goes_on()):
                break
            if (proof := view(self._forest).root.proof) is not None:
                mover = self._name(self._game.current_player(state))
                self._console.print(f"The root is proven, {proof.text()} for {mover}: no simulation is left.\n")
                break

    def _goes_on(self) -> bool:
        """Ask whether to show another simulation, and run those that are to be skipped before it."""
        answer = "?"
        while not re.fullmatch("q|[0-9]{0,6}", answer):
            try:
                answer = self._console.input("Enter: the next one; a number: skip so many; q: the end ").strip()
            except EOFError:
                self._console.print()
                answer = "q"
        self._forest.grow(0, int(self._forest.tree.visits[0, 0]) + int(answer if answer.isdecimal() else 0))
        return answer != "q"

    def _show(self, simulation: Simulation[S]) -> None:
        self._console.rule(f"simulation {simulation.number}")
        self._show_choices(simulation)
        self._show_leaf(simulation)
        self._show_changes(simulation)

    def _head(self, step: str, text: str) -> None:
        self._console.print()
        self._console.print(step, style="bold cyan", end=" ")
        self._console.print(text)

    def _name(self, player: int) -> str:
        return self._game.player_names[player]

    def _show_choices(self, simulation: Simulation[S]) -> None:
        print = self._console.print
        self._head("SELECT", "from the root down to a leaf" if simulation.choices else "nothing: the tree is empty")
        for choice in simulation.choices:
            node = choice.node
            where = f"after {self._actions(node)}" if node.depth else "at the root"
            note = f"; {choice.note}" if choice.note else ""
            print(f"{where}: {self._name(node.player)} to move, N = {choice.num_visits}{note}")
            print(self._comparison(choice))
            if choice.joins:
                print("it leads to a state that is in the tree already, reached another way")

    def _comparison(self, choice: Choice[S]) -> Table:
        table = text_table("", "action", "visits", "q", "prior", "score")
        for edge, score in zip(choice.edges, choice.scores, strict=True):
            mark, style = ("->", "bold") if edge == choice.chosen else ("", None)
            table.add_row(mark, *_cells(self._game, edge), _score_text(edge, score), style=style)
        return table

    def _actions(self, node: Node[S]) -> str:
        return " ".join(self._game.action_text(edge.action) for edge in node.path[1:])

    def _show_leaf(self, simulation: Simulation[S]) -> None:
        game, leaf, print = self._game, simulation.leaf, self._console.print
        mover, value = self._name(leaf.player), value_text(simulation.value)
        if simulation.is_new:
            self._head("EXPAND", f"the state after {self._actions(leaf)}" if leaf.depth else "the root")
        else:
            self._head("EXPAND", f"nothing: the state after {self._actions(leaf)} is in the tree already")
        print(game.state_text(leaf.state))
        if game.is_terminal(leaf.state):
            print(f"no edges: the game is over, {result_text(game, leaf.state)}")
            self._head("SIMULATE", f"nothing: the result is {value} for {mover}, who would be next to move")
        elif leaf.proof:
            self._head("SIMULATE", f"nothing: it is proven, {leaf.proof.text()} for {mover}, who is to move")
        else:
            if simulation.is_new:
                edges = view(self._forest).edges(leaf)
                priors = ", ".join(f"{game.action_text(edge.action)} ({edge.prior:.2f})" for edge in edges)
                print(f"{mover} to move; new edges with their priors: {priors}")
            self._head("SIMULATE", f"{self._evaluator}: {value} for {mover}, who is to move")

    @property
    def _evaluator(self) -> str:
        evaluator = self._forest.evaluator
        if isinstance(evaluator, RolloutEvaluator):
            return f"rollouts to the end of the game, {evaluator.num_rollouts} for each leaf"
        return type(evaluator).__name__

    def _show_changes(self, simulation: Simulation[S]) -> None:
        value, mover = value_text(simulation.value), self._name(simulation.leaf.player)
        self._head(
            "BACKUP", f"{value} for {mover}, from the leaf to the root; with the other sign where the other chose"
        )
        table = text_table("edge", "chosen by", "adds", "visits", "total", "q")
        for before, after, added in simulation.changes:
            table.add_row(
                self._game.action_text(after.action) if after.action >= 0 else "to the root",
                self._name(after.chooser),
                value_text(added),
                f"{before.visits} -> {after.visits}",
                f"{before.total:+.2f} -> {after.total:+.2f}",
                f"{value_text(before.q) if before.visits else '-'} -> {value_text(after.q)}",
            )
        self._console.print(table)
        for before, after, _ in simulation.changes:
            if after.proof and not before.proof:
                action, chooser = self._game.action_text(after.action), self._name(after.chooser)
                self._console.print(f"proven: {action} is a {after.proof.text()} for {chooser}")
        self._console.print()


if __name__ == "__main__":
    main()
