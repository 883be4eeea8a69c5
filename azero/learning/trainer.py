"""The training loop: self-play with fixed weights, learning, measuring, committing a checkpoint, and again.

Iterations follow one another rather than overlap: that is reproducible, and the cores are busy in either part. All that
is random in iteration i comes from the seed and i, so a run that was stopped goes on as if it had not been.
"""

import time
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from azero._jit import draw
from azero.evaluators.cached import CachedEvaluator
from azero.evaluators.evaluator import Evaluator
from azero.evaluators.network import NetworkEvaluator
from azero.evaluators.rollout import RolloutEvaluator
from azero.evaluators.weights import Network, NetworkSettings
from azero.games.game import Game
from azero.learning.checkpoint import REPLAY_DIRECTORY, Checkpoint, load_latest, save_checkpoint
from azero.learning.learner import Learner, LearnerSettings
from azero.learning.metrics import MetricsWriter, game_text, policy_figure
from azero.learning.replay import Replay, ReplaySettings
from azero.learning.selfplay import PlayedGame, SelfPlay, SelfPlayCounts, SelfPlaySettings, samples_of
from azero.players.match import MatchSettings, play_match, report
from azero.players.player import Player, SearchPlayer
from azero.players.spec import parse_player
from azero.search.mcts import MCTS, Budget
from azero.search.puct import PUCT

S = TypeVar("S", bound=Hashable)

_SELF_PLAY, _LEARNING, _MATCHES = 0, 1, 2  # counters of the seed's stream


@dataclass(frozen=True)
class SearchSettings:
    """How self-play and the measuring matches search; see `azero.search.puct.PUCT`."""

    c_puct: float = 1.25  # exploration, >= 0, for values in [-1, 1]; AlphaZero: 1.25
    fpu_reduction: float = 0.2  # how much worse an untried action is presumed to be, 0 to 2; KataGo: 0.2

    def __post_init__(self) -> None:
        """Raises ValueError for a value out of range."""
        if not self.c_puct >= 0:
            raise ValueError(f"search.c_puct must be at least 0, got {self.c_puct}")
        if not 0 <= self.fpu_reduction <= 2:
            raise ValueError(f"search.fpu_reduction must be from 0 to 2, got {self.fpu_reduction}")

    def rule(self) -> PUCT:
        """The selection rule with these settings."""
        return PUCT(c_puct=self.c_puct, fpu_reduction=self.fpu_reduction)


@dataclass(frozen=True)
class MatchesSettings:
    """How progress is measured: matches against a player that never changes."""

    opponent: str = "uct:200"  # a player, as in azero.arena
    every: int = 5  # iterations between matches, >= 1; there is one at the end in any case
    games: int = 20  # of a match, >= 0; 0 measures nothing
    simulations: int = 50  # of the learned player's search for each action, >= 1

    def __post_init__(self) -> None:
        """Raises ValueError for a value out of range or an unknown player."""
        parse_player(self.opponent)
        for name, least in (("every", 1), ("games", 0), ("simulations", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"matches.{name} must be at least {least}, got {getattr(self, name)}")


@dataclass(frozen=True)
class TrainingSettings:
    """Everything that decides what a run learns."""

    game: str = "connect4"  # a name, or path/to/file.py:Class
    seed: int = 0  # the same seed and settings give the same weights to the bit, >= 0
    iterations: int | None = None  # the run ends after so many, >= 0; null: no limit
    games: int | None = None  # ... or after so many games of self-play
    minutes: float | None = 15.0  # ... or before so many minutes, whichever comes first
    rollout_iterations: int = 1  # first ones, which value leaves by random rollouts: better than an untrained network
    rollout_simulations: int = 400  # of the search for each action in those, >= 1; rollouts are cheap
    cache: int = 200_000  # states whose evaluation is remembered, until the network changes, >= 1
    device: str = "cpu"  # of the network: cpu or cuda
    keep: int = 3  # newest checkpoints kept, >= 1; the best one is kept besides
    network: NetworkSettings = field(default_factory=NetworkSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    selfplay: SelfPlaySettings = field(default_factory=SelfPlaySettings)
    replay: ReplaySettings = field(default_factory=ReplaySettings)
    learner: LearnerSettings = field(default_factory=LearnerSettings)
    matches: MatchesSettings = field(default_factory=MatchesSettings)

    def __post_init__(self) -> None:
        """Raises ValueError for a value out of range."""
        least = {"seed": 0, "iterations": 0, "games": 0, "minutes": 0, "rollout_iterations": 0}
        least |= {"rollout_simulations": 1, "cache": 1, "keep": 1}
        for name, limit in least.items():
            value = getattr(self, name)
            if value is not None and not value >= limit:
                raise ValueError(f"{name} must be at least {limit}, got {value}")
        if self.device not in ("cpu", "cuda"):
            raise ValueError(f"device is cpu or cuda, not {self.device!r}")


class Watcher(Protocol):
    """Who is told how the run goes."""

    def on_phase(self, iteration: int, name: str, total: int | None) -> None:
        """A part of an iteration begins; it has `total` steps, or None if they are not counted."""

    def on_step(self) -> None:
        """One step of the part is done."""

    def on_iteration(self, iteration: int, metrics: dict[str, float]) -> None:
        """An iteration is committed."""


class Trainer(Generic[S]):
    """A run: what it has learned so far, and the way on."""

    def __init__(self, game: Game[S], settings: TrainingSettings, directory: Path, watcher: Watcher) -> None:
        """Goes on from the newest sound checkpoint in `directory`, or begins a run there by committing iteration 0."""
        self.game = game
        self.settings = settings
        self.directory = directory
        self.watcher = watcher
        self.counters: dict[str, float] = {"games": 0, "positions": 0, "seconds": 0.0, "best": 0, "best_score": -1.0}
        self._stream = draw(settings.seed, 0)
        self._replay = Replay(game, settings.replay, directory / REPLAY_DIRECTORY)
        self._learner = Learner(game, settings.network, settings.learner, settings.seed, settings.device)
        checkpoint = load_latest(directory)
        self.iteration = 0
        if checkpoint is None:
            self._commit()
        else:
            self._restore(checkpoint)
        self._iteration_seconds = 0.0

    def run(self) -> None:
        """Train until a limit of the settings is reached."""
        with MetricsWriter(self.directory, self.iteration + 1) as writer:
            while not self.is_over():
                start = time.monotonic()
                network = self._learner.network(self.iteration)
                games, metrics = self._play(network)
                metrics |= self._learn(games)
                self.iteration += 1
                metrics |= self._measure()
                self._iteration_seconds = time.monotonic() - start
                self.counters["seconds"] += self._iteration_seconds
                self._commit()
                self._tell(writer, network, games, metrics | {"run/seconds": self.counters["seconds"]})

    def is_over(self) -> bool:
        """Whether a limit is reached, or would be passed by one more iteration as long as the last."""
        return self.progress(self._iteration_seconds) >= 1

    def progress(self, seconds_ahead: float = 0.0) -> float:
        """How much of the run is done, from 0 to 1 and beyond, by the limit that is nearest."""
        settings = self.settings
        done = {"iterations": self.iteration, "games": self.counters["games"]}
        done["minutes"] = (self.counters["seconds"] + seconds_ahead) / 60
        limits = {name: getattr(settings, name) for name in done if getattr(settings, name) is not None}
        return max((done[name] / limit if limit else 1.0 for name, limit in limits.items()), default=0.0)

    def _play(self, network: Network) -> tuple[list[PlayedGame[S]], dict[str, float]]:
        settings, selfplay = self.settings, self.settings.selfplay
        cache = CachedEvaluator(NetworkEvaluator(network, settings.device), settings.cache)
        evaluator: Evaluator = cache
        if self.iteration < settings.rollout_iterations:  # rollouts differ each time, so they are not cached
            selfplay = replace(selfplay, simulations=settings.rollout_simulations)
            evaluator = RolloutEvaluator()
        self.watcher.on_phase(self.iteration + 1, "self-play", selfplay.games)
        start = time.monotonic()
        games, counts = SelfPlay(self.game, settings.search.rule(), selfplay).play(
            evaluator, draw(self._stream, _SELF_PLAY), int(self.counters["games"]), lambda _: self.watcher.on_step()
        )
        seconds = time.monotonic() - start
        self.counters["games"] += len(games)
        self.counters["positions"] += counts.positions
        return games, _selfplay_metrics(games, counts, cache, seconds)

    def _learn(self, games: list[PlayedGame[S]]) -> dict[str, float]:
        samples = samples_of(self.game, games)
        self._replay.add(self.iteration + 1, samples)
        num_steps = self._learner.num_steps_for(len(samples))
        self.watcher.on_phase(self.iteration + 1, "learning", None)
        stream = draw(draw(self._stream, _LEARNING), self.iteration + 1)
        start = time.monotonic()
        metrics = self._learner.learn(self._replay, num_steps, stream, self.progress())
        metrics |= {"replay": len(self._replay), "seconds": time.monotonic() - start}
        return {f"learning/{name}": value for name, value in metrics.items()}

    def _measure(self) -> dict[str, float]:
        matches = self.settings.matches
        due = self.iteration % matches.every == 0 or self.is_over()
        if not matches.games or not due:
            return {}
        self.watcher.on_phase(self.iteration, f"match against {matches.opponent}", matches.games)
        evaluator = NetworkEvaluator(self._learner.network(self.iteration), self.settings.device)

        def learned() -> Player[S]:
            mcts = MCTS(self.game, evaluator, self.settings.search.rule())
            return SearchPlayer(mcts, Budget(matches.simulations))

        def opponent() -> Player[S]:
            return parse_player(matches.opponent).make(self.game)

        seed = draw(draw(self._stream, _MATCHES), self.iteration)
        records = []
        for record in play_match(self.game, [learned, opponent], MatchSettings(matches.games, seed=seed)):
            records.append(record)
            self.watcher.on_step()
        score = report(records).score.mean
        if score >= self.counters["best_score"]:
            self.counters |= {"best": self.iteration, "best_score": score}
        return {f"score/{matches.opponent}": score}

    def _commit(self) -> None:
        checkpoint = Checkpoint(
            network=self._learner.network(self.iteration),
            training=self._learner.training_state(),
            replay=self._replay.state(),
            counters=self.counters,
        )
        save_checkpoint(self.directory, checkpoint, self.settings.keep, int(self.counters["best"]))

    def _restore(self, checkpoint: Checkpoint) -> None:
        self.iteration = checkpoint.iteration
        self.counters |= checkpoint.counters
        self._learner.restore(checkpoint.network, checkpoint.training)
        self._replay.restore(checkpoint.replay)

    def _tell(
        self, writer: MetricsWriter, network: Network, games: list[PlayedGame[S]], metrics: dict[str, float]
    ) -> None:
        writer.write(self.iteration, metrics)
        writer.write_text(self.iteration, "selfplay/sample_game", game_text(self.game, games[0].actions))
        evaluator = NetworkEvaluator(network, self.settings.device)
        writer.write_figure(self.iteration, "selfplay/policy", policy_figure(self.game, games[0], evaluator))
        self.watcher.on_iteration(self.iteration, metrics)


def _selfplay_metrics(
    games: list[PlayedGame[Any]], counts: SelfPlayCounts, cache: CachedEvaluator, seconds: float
) -> dict[str, float]:
    num_leaves = counts.simulations + counts.positions  # each search evaluates its root besides
    evaluated = cache.num_evaluations if cache.num_requests else counts.evaluations
    return {
        "selfplay/first_player_wins": sum(game.winner == 0 for game in games) / len(games),
        "selfplay/draws": sum(game.winner is None for game in games) / len(games),
        "selfplay/second_player_wins": sum(game.winner == 1 for game in games) / len(games),
        "selfplay/game_length": float(np.mean([len(game.actions) for game in games])),
        "selfplay/distinct_games": len({tuple(game.actions) for game in games}) / len(games),
        "selfplay/terminal_share": 1 - counts.evaluations / num_leaves,
        "selfplay/cached_share": (counts.evaluations - evaluated) / num_leaves,
        "speed/positions_per_second": counts.positions / seconds,
        "speed/evaluations_per_second": evaluated / seconds,
        "speed/selfplay_seconds": seconds,
    }
