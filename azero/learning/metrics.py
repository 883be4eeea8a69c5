"""What a run tells of itself: a table of metrics, and the same in TensorBoard with a sample game and a picture."""

import csv
import gc
import io
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from azero.evaluators.cached import CachedEvaluator
from azero.evaluators.evaluator import Evaluator, checked
from azero.files import append_durably, write_durably
from azero.games.batch import batch_of
from azero.games.game import Game, result_text, state_after
from azero.learning.played import PlayedGame
from azero.learning.selfplay import SelfPlayCounts

METRICS_FILE = "metrics.csv"
_NUMBER = re.compile("[1-9][0-9]{0,11}")


class MetricsWriter:
    """Writes one row an iteration to `metrics.csv`, and its numbers to TensorBoard at the iteration's step.

    A row is added to the end of the file; only where it has a new column is the table written anew.
    """

    def __init__(self, run_directory: Path, iteration: int) -> None:
        """`iteration` is the first to be written: what an interrupted run told of it or later ones is taken back."""
        self._path = run_directory / METRICS_FILE
        rows = [row for row in read_metrics(self._path) if int(row["iteration"]) < iteration]
        lost = {*range(1, iteration)} - {int(row["iteration"]) for row in rows}
        if lost:
            kept = self._path.with_suffix(".damaged.csv")
            warnings.warn(f"{self._path} has lost iterations {sorted(lost)}; as it was: {kept.name}", stacklevel=2)
            if self._path.exists():
                self._path.replace(kept)
        self._names: list[str] = []  # the columns
        if rows:
            self._write_anew(rows)
        else:
            self._path.unlink(missing_ok=True)
        self._board = _board(run_directory, iteration)

    def __enter__(self) -> "MetricsWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._board:
            self._board.close()

    def write(self, iteration: int, metrics: Mapping[str, float]) -> None:
        """Add a row."""
        row = {"iteration": str(iteration)} | {name: f"{value:.6g}" for name, value in metrics.items()}
        if row.keys() <= {*self._names}:
            append_durably(self._path, _table([row], self._names).encode())
        else:
            self._write_anew([*read_metrics(self._path), row])
        if self._board:
            for name, value in metrics.items():
                self._board.add_scalar(name, value, iteration)
            self._board.flush()

    def write_text(self, iteration: int, name: str, text: str) -> None:
        """Show text with its line breaks in TensorBoard."""
        if self._board:
            self._board.add_text(name, "\n".join("    " + line for line in text.splitlines()), iteration)

    def write_figure(self, iteration: int, name: str, figure: Any) -> None:
        """Show a matplotlib figure in TensorBoard."""
        if self._board:
            self._board.add_figure(name, figure, iteration)
        figure.clear()
        gc.collect()  # a figure holds itself in cycles of megabytes

    def _write_anew(self, rows: Sequence[Mapping[str, str]]) -> None:
        self._names = [*dict.fromkeys(name for row in rows for name in row)]
        header = dict(zip(self._names, self._names, strict=True))
        write_durably(self._path, _table([header, *rows], self._names).encode())


def read_metrics(path: Path) -> list[dict[str, str]]:
    """The rows of a metrics table, the first of each iteration, without damaged ones; none if there is no table."""
    if not path.exists():
        return []
    rows: dict[str, dict[str, str]] = {}
    whole = path.read_bytes().rpartition(b"\n")  # a last line without an end is one that a kill cut short
    lines = io.StringIO("".join(part.decode(errors="replace") for part in whole[:2]), newline="")
    with suppress(csv.Error):
        for row in csv.DictReader(lines):
            if None not in row.values() and None not in row and _NUMBER.fullmatch(row.get("iteration", "")):
                rows.setdefault(row["iteration"], row)
    return list(rows.values())


def count_evaluations(rows: Sequence[Mapping[str, str]], rollout_iterations: int) -> int:
    """How many states the network valued in self-play, but for the first iterations, which had rollouts instead."""
    rates = [
        (float(row["speed/evaluations_per_second"]), float(row["speed/selfplay_seconds"]))
        for row in rows
        if int(row["iteration"]) > rollout_iterations
    ]
    return round(sum(rate * seconds for rate, seconds in rates))


def _table(rows: Sequence[Mapping[str, str]], names: Sequence[str]) -> str:
    """Rows as text, a cell for each of the columns."""
    contents = io.StringIO(newline="")
    csv.DictWriter(contents, names, restval="").writerows(rows)
    return contents.getvalue()


def _board(run_directory: Path, iteration: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        warnings.warn("tensorboard is not installed (pip install tensorboard): metrics.csv only", stacklevel=2)
        return None
    return SummaryWriter(str(run_directory / "tensorboard"), purge_step=iteration)


def game_text(game: Game[Any], actions: Sequence[int]) -> str:
    """A finished game for people: its actions, its last state, and how it ended."""
    state = state_after(game, actions)
    moves = " ".join(map(game.action_text, actions))
    return f"{moves}\n\n{game.state_text(state)}\n\n{result_text(game, state)}"


def policy_figure(game: Game[Any], played: PlayedGame[Any], evaluator: Evaluator) -> Any:
    """A matplotlib figure of the middle of a game: the board, and what the network and the search thought of it."""
    from matplotlib.figure import Figure

    middle = len(played.states) // 2
    state, search = played.states[middle], played.policies[middle]
    answer = checked(evaluator, batch_of(game, [state]))
    legal = game.legal_actions(state)
    places = np.arange(len(legal))
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    board, bars = figure.subplots(1, 2)
    board.text(0.5, 0.5, game.state_text(state), family="monospace", ha="center", va="center", in_layout=False)
    board.set_axis_off()
    mover = game.player_names[game.current_player(state)]
    values = f"network {answer.value[0]:+.2f}, search {played.values[middle]:+.2f}"
    board.set_title(f"{mover} to move; value: {values}", size=9)
    bars.bar(places - 0.2, answer.policy[0][legal], 0.4, label="network")
    bars.bar(places + 0.2, search[legal], 0.4, label="search")
    bars.set_xticks(places, [game.action_text(action) for action in legal], size=7)
    bars.set(xlabel="action", ylabel="probability", ylim=(0, 1))
    bars.legend()
    return figure


def selfplay_metrics(
    games: list[PlayedGame[Any]], counts: SelfPlayCounts, cache: CachedEvaluator, seconds: float
) -> dict[str, float]:
    """How the games of an iteration came out, as the first sample of each says, and what they took.

    Of all positions: the share that was solved without a search. Of all leaves of the searches: the share that ended in
    finished games, or was proven by a look ahead, and the share whose evaluation was remembered. With several threads
    the latter is not the same each time: two may ask for one state at once.
    """
    num_leaves = counts.simulations + counts.positions - counts.solved  # each search evaluates its root besides
    evaluated = cache.num_evaluations if cache.num_requests else counts.evaluations
    return {
        "selfplay/first_player_wins": sum(game.outcomes[0] > 0 for game in games) / len(games),
        "selfplay/draws": sum(game.outcomes[0] == 0 for game in games) / len(games),
        "selfplay/second_player_wins": sum(game.outcomes[0] < 0 for game in games) / len(games),
        "selfplay/game_length": float(np.mean([len(game.actions) for game in games])),
        "selfplay/distinct_games": len({tuple(game.actions) for game in games}) / len(games),
        "selfplay/solved_share": counts.solved / counts.positions,
        "selfplay/terminal_share": 1 - counts.evaluations / max(num_leaves, 1),
        "selfplay/cached_share": (counts.evaluations - evaluated) / max(num_leaves, 1),
        "speed/positions_per_second": counts.positions / seconds,
        "speed/evaluations_per_second": evaluated / seconds,
        "speed/selfplay_seconds": seconds,
    }
