"""The two classic bugs of tree search, and what a sweep over simulations shows of each: `python scripts/lesson.py`.

Tic-tac-toe, UCT with random rollouts, against a random player and against sound UCT with as many simulations. The bugs
stand here, behind the two things that a search is given, the game and the evaluator; azero has none of them.

**The terminal-node bug.** Legal actions are "the empty cells", also after three in a row. So the tree grows past
finished games, where the loser may still get three in a row himself and is credited with a win.

**The sign bug.** A value of one player is credited to the other: that of rollouts, that of finished games, or both.

What to see in the tables and in the picture:

- Sound: close to 1 against the random player, 0.5 against itself.
- Terminal nodes: against the random player little is lost, which is why this bug lives long. Against its equal it does
  the worse the more it searches, for only a deep tree gets past the ends of games. With O's two and X's two in

      O O .
      . X .
      . . X

  O threatens the upper corner. With 100 simulations X goes there; with 3,000 it plays the lower corner, loses at once,
  and had expected a value of 0.98: it meant to go on. More search that plays worse is always a bug.
- Sign of rollouts: bad while it sees nothing but rollouts; with many simulations finished games, whose sign is right,
  outweigh them. In so small a game a large budget hides this bug. Look at small budgets too.
- Sign of finished games: it shuns its own wins, and the better it finds them, the better it shuns them.
- Both: it plays to lose, and well. A weak player may be no better than a random one; below it is a wrong sign.

None of them needs a sweep to be found. The checker of games refuses the first (`python -m azero.check`); a win in one
move that is not taken shows a wrong sign, and so do random games, of which the first player wins 58 %, not 29 %; all of
them plant other trees than sound rules do, and lose lines that sound search does not. `tests/test_lesson.py` tries it.
"""

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from azero.evaluators.evaluator import Evaluation, Evaluator
from azero.evaluators.rollout import RolloutEvaluator
from azero.games.batch import StateBatch
from azero.games.compiled import PackedStates
from azero.games.game import Game
from azero.games.tictactoe import State, TicTacToe
from azero.players.match import MatchSettings, play_match, report
from azero.players.player import Player, SearchPlayer
from azero.players.rating import Score, wilson_interval
from azero.players.spec import parse_player
from azero.screen import text_table
from azero.search.forest import SearchOptions
from azero.search.mcts import MCTS, Budget
from azero.search.uct import UCT

TRUE_GAME = TicTacToe()
UNPROVEN = SearchOptions(proven_values=False)  # proofs would hide part of what a bug does
SIMULATIONS = (10, 30, 100, 300, 1000)
OPPONENTS = {"a random player": "random", "sound UCT": "uct:{},proven=no"}


class SoundGame(Game[State]):
    """Tic-tac-toe, in a shape that a bug can be put into: the search believes what its methods say."""

    name = TRUE_GAME.name
    num_actions = TRUE_GAME.num_actions
    max_game_length = TRUE_GAME.max_game_length

    def state_text(self, state: State) -> str:
        """See `Game`."""
        return TRUE_GAME.state_text(state)

    def parse_state(self, text: str) -> State:
        """See `Game`."""
        return TRUE_GAME.parse_state(text)

    def initial_state(self) -> State:
        """See `Game`."""
        return TRUE_GAME.initial_state()

    def current_player(self, state: State) -> int:
        """See `Game`."""
        return TRUE_GAME.current_player(state)

    def legal_actions(self, state: State) -> list[int]:
        """See `Game`."""
        return TRUE_GAME.legal_actions(state)

    def is_terminal(self, state: State) -> bool:
        """See `Game`."""
        return TRUE_GAME.is_terminal(state)

    def step(self, state: State, action: int) -> State:
        """See `Game`."""
        after: State = TRUE_GAME.rules.step(state, action)
        return after

    def outcome(self, state: State) -> float:
        """See `Game`."""
        return TRUE_GAME.outcome(state)


class EndlessGame(SoundGame):
    """THE TERMINAL-NODE BUG: who asks for the legal actions of a finished game gets some."""

    def legal_actions(self, state: State) -> list[int]:
        """See `Game`."""
        return [cell for cell in range(9) if not (state.own | state.other) >> cell & 1]


class SwappedOutcomes(SoundGame):
    """THE SIGN BUG, in finished games: the outcome is the other player's."""

    def outcome(self, state: State) -> float:
        """See `Game`."""
        return -super().outcome(state)


class Rollouts:
    """Random rollouts by the true rules, so that only the bug that is asked for is there."""

    def __init__(self) -> None:
        self._evaluator = RolloutEvaluator()

    def evaluate(self, batch: StateBatch[State]) -> Evaluation:
        """See `Evaluator`."""
        states = PackedStates(TRUE_GAME.initial_state(), np.array(batch.states, np.int64))
        return self._evaluator.evaluate(replace(batch, game=TRUE_GAME, states=states))


class SwappedRollouts(Rollouts):
    """THE SIGN BUG, in rollouts: the value is the other player's."""

    def evaluate(self, batch: StateBatch[State]) -> Evaluation:
        """See `Evaluator`."""
        policy, value = super().evaluate(batch)
        return Evaluation(policy, -value)


BUGS: dict[str, tuple[Callable[[], Game[State]], Callable[[], Evaluator]]] = {
    "none": (SoundGame, Rollouts),
    "terminal nodes": (EndlessGame, Rollouts),
    "sign of rollouts": (SoundGame, SwappedRollouts),
    "sign of finished games": (SwappedOutcomes, Rollouts),
    "sign of both": (SwappedOutcomes, SwappedRollouts),
}


def make_player(bug: str, num_simulations: int) -> Player[State]:
    """A UCT player with this bug."""
    game, evaluator = BUGS[bug]
    return SearchPlayer(MCTS(game(), evaluator(), UCT(), UNPROVEN), Budget(num_simulations))


class Point(NamedTuple):
    """One of the lesson's measurements."""

    bug: str
    opponent: str
    num_simulations: int


def measure(point: Point, num_games: int) -> Score:
    """The score of the player with the bug; every opening move is played from both sides."""
    opponent = parse_player(OPPONENTS[point.opponent].format(point.num_simulations))
    makers = (partial(make_player, point.bug, point.num_simulations), partial(opponent.make, TRUE_GAME))
    settings = MatchSettings(num_games=num_games, num_opening_moves=1, num_workers=1)
    return report(play_match(TRUE_GAME, makers, settings)).score


def show_table(console: Console, scores: dict[Point, Score]) -> None:
    """One table for each opponent."""
    for opponent in OPPONENTS:
        console.print(f"[bold]score against {opponent}[/], by simulations a move")
        table = text_table("bug", *map(str, SIMULATIONS))
        for bug in BUGS:
            table.add_row(bug, *(_text(scores[Point(bug, opponent, number)]) for number in SIMULATIONS))
        console.print(table)


def _text(score: Score) -> str:
    low, high = wilson_interval(score.points, score.num_games)
    return f"{score.mean:.2f} [{low:.2f}, {high:.2f}]"


def draw_picture(path: Path, scores: dict[Point, Score]) -> None:
    """The same as lines: one plot for each opponent."""
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    for axes, opponent in zip(figure.subplots(1, 2, sharey=True), OPPONENTS, strict=True):
        for bug in BUGS:
            row = [scores[Point(bug, opponent, number)] for number in SIMULATIONS]
            low, high = np.transpose([wilson_interval(score.points, score.num_games) for score in row])
            axes.plot(SIMULATIONS, [score.mean for score in row], marker="o", label=bug)
            axes.fill_between(SIMULATIONS, low, high, alpha=0.15)
        axes.axhline(0.5, color="grey", linewidth=0.8, linestyle="dotted")
        axes.set(xscale="log", xlabel="simulations a move", title=f"against {opponent}", ylim=(0, 1))
        axes.set_xticks(SIMULATIONS, map(str, SIMULATIONS))
        axes.minorticks_off()
    figure.supylabel("score, 95 % interval")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(BUGS), title="bug")
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run the lesson."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=100, help="games for each figure (default: 100)")
    parser.add_argument("--picture", type=Path, default=Path("lesson.png"), help="where the plot goes")
    arguments = parser.parse_args()
    points = [Point(*place) for place in product(BUGS, OPPONENTS, SIMULATIONS)]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        scores = dict(zip(points, pool.map(partial(measure, num_games=arguments.games), points), strict=True))
    console = Console(width=120, highlight=False)
    show_table(console, scores)
    draw_picture(arguments.picture, scores)
    console.print(f"{arguments.games} games each, with 95 % intervals; drawn in {arguments.picture}")


if __name__ == "__main__":
    main()
