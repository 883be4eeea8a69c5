"""The training loop: self-play with fixed weights, learning, measuring, committing a checkpoint, and again.

Iterations follow one another rather than overlap: that is reproducible, and the cores are busy in either part. All that
is random in iteration i comes from the seed and i, so a run that was stopped goes on as if it had not been. Only two
things follow the clock: how many iterations `minutes` allow, and a learning rate that falls towards that limit.
"""

import itertools
import time
import warnings
from collections.abc import Callable, Hashable
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from azero._jit import draw
from azero.evaluators.cached import CachedEvaluator
from azero.evaluators.evaluator import Evaluator
from azero.evaluators.network import NetworkEvaluator
from azero.evaluators.rollout import RolloutEvaluator
from azero.evaluators.weights import Network, NetworkSettings
from azero.files import write_durably
from azero.games.check import random_states
from azero.games.game import FloatArray, Game
from azero.learning.checkpoint import REPLAY_DIRECTORY, Checkpoint, load_latest, save_checkpoint
from azero.learning.cores import num_cores
from azero.learning.learner import Learner, LearnerSettings
from azero.learning.metrics import MetricsWriter, game_text, policy_figure, selfplay_metrics
from azero.learning.played import PlayedGame, record_of, samples_of
from azero.learning.replay import Replay, ReplaySettings
from azero.learning.rules import SearchSettings
from azero.learning.selfplay import GameWatcher, SelfPlay, SelfPlaySettings
from azero.players.exact import known_sets, measure, thinned
from azero.players.match import MatchSettings, play_match, report
from azero.players.player import NetworkPlayer, Player, SearchPlayer
from azero.players.record import record_text
from azero.players.spec import parse_player
from azero.search.mcts import MCTS, Budget

S = TypeVar("S", bound=Hashable)

_SELF_PLAY, _LEARNING, _MATCHES, _CALIBRATION = 0, 1, 2, 3  # counters of the seed's stream
_NUM_CALIBRATED = 256  # states of random games


@dataclass(frozen=True)
class MatchesSettings:
    """How progress is measured: matches against players that never change."""

    opponents: tuple[str, ...] = ("uct:200", "uct:1000")  # players, as in azero.arena; the last decides what is best
    # Iterations between matches and pictures, >= 1; also at the end, if the run comes to it by an iteration.
    every: int = 5
    games: int = 20  # of a match, >= 0; 0 plays none
    positions: int = 50  # of each set whose perfect play is known (see azero.evaluate) that both are asked, >= 0
    simulations: int = 50  # of the learned player's search for each action, >= 1

    def __post_init__(self) -> None:
        """Raises ValueError for a value out of range or an unknown player."""
        if not self.opponents:
            raise ValueError("matches.opponents must name a player; matches.games=0 plays no matches")
        for opponent in self.opponents:
            parse_player(opponent)
        for name, least in (("every", 1), ("games", 0), ("positions", 0), ("simulations", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"matches.{name} must be at least {least}, got {getattr(self, name)}")


@dataclass(frozen=True)
class TrainingSettings:
    """Everything that decides what a run learns."""

    game: str = "connect4"  # a name, path/to/file.py:Class or openspiel:name; parameters in parentheses, in quotes
    seed: int = 0  # the same seed and settings give the same weights to the bit, on the CPU, >= 0
    iterations: int | None = None  # the run ends after so many, >= 0; null: no limit
    games: int | None = None  # ... or after so many games of self-play
    # ... or before so many minutes, by the clock, but for its last measuring; whichever of the three comes first
    minutes: float | None = 12.0
    rollout_iterations: int = 1  # first ones, which value leaves by random rollouts: better than an untrained network
    rollout_simulations: int = 200  # of the search for each action in those, >= 1; rollouts are cheap
    cache: int = 200_000  # states whose evaluation is remembered, until the network changes, >= 1
    device: str = "cpu"  # of the network: cpu or cuda
    keep: int = 3  # newest checkpoints kept, >= 1; besides them the best, and of older ones ever fewer
    network: NetworkSettings = field(default_factory=NetworkSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    selfplay: SelfPlaySettings = field(default_factory=SelfPlaySettings)
    replay: ReplaySettings = field(default_factory=ReplaySettings)
    learner: LearnerSettings = field(default_factory=LearnerSettings)
    matches: MatchesSettings = field(default_factory=MatchesSettings)

    def __post_init__(self) -> None:
        """Raises ValueError for a value out of range, or values that do not go together."""
        least = {"seed": 0, "iterations": 0, "games": 0, "minutes": 0, "rollout_iterations": 0}
        least |= {"rollout_simulations": 1, "cache": 1, "keep": 1}
        for name, limit in least.items():
            value = getattr(self, name)
            if value is not None and not value >= limit:
                raise ValueError(f"{name} must be at least {limit}, got {value}")
        if self.seed >= 2**63:
            raise ValueError(f"seed must be below 2**63, got {self.seed}")
        if self.device not in ("cpu", "cuda"):
            raise ValueError(f"device is cpu or cuda, not {self.device!r}")
        if self.selfplay.int8 and self.device != "cpu":
            raise ValueError("selfplay.int8 is for device=cpu: a graphics card computes in floats")
        noise = self.selfplay.noise
        if self.search.rule == "gumbel" and (noise.weight, noise.temperature) != (0, 1):
            raise ValueError(
                "search.rule=gumbel has noise of its own and learns from the priors as they are: "
                "give selfplay.noise.weight=0 and selfplay.noise.temperature=1, or search=gumbel"
            )


class Watcher(GameWatcher, Protocol):
    """Who is told how the run goes; a step is a game, a gradient step or a position."""

    def on_phase(self, iteration: int, name: str, total: int) -> None:
        """A part of an iteration begins; it has `total` steps."""

    def on_iteration(self, iteration: int, metrics: dict[str, float]) -> None:
        """An iteration is committed."""


class Trainer(Generic[S]):
    """A run: what it has learned so far, and the way on."""

    def __init__(self, game: Game[S], settings: TrainingSettings, directory: Path, watcher: Watcher) -> None:
        """Goes on from the newest sound checkpoint in `directory`, or begins a run there by committing iteration 0.

        Raises ValueError where the settings do not fit the game or what was learned so far.
        """
        self.game = game
        self.settings = settings
        self.directory = directory
        self.watcher = watcher
        self.iteration = 0  # the last one that is committed
        self.counters: dict[str, Any] = {"games": 0, "positions": 0, "seconds": 0.0, "last_seconds": 0.0}
        self.counters |= _no_best(settings.matches)
        self._stream = draw(settings.seed, 0)
        for opponent in settings.matches.opponents:  # better to hear of a wrong one before the first match
            parse_player(opponent).make(game)
        self._sets = (
            [thinned(known, settings.matches.positions) for known in known_sets(game)]
            if settings.matches.positions
            else []
        )
        self._calibration = self._random_observations() if settings.selfplay.int8 else None
        self._replay = Replay(game, settings.replay, directory / REPLAY_DIRECTORY)
        self._learner = Learner(game, settings.network, settings.learner, settings.seed, settings.device)
        checkpoint = load_latest(directory)
        self.settings_before = checkpoint.settings if checkpoint else {}  # those of the iteration it goes on from
        if checkpoint is None:
            self._commit(0)
        else:
            self._restore(checkpoint)

    def run(self) -> None:
        """Train until a limit of the settings is reached."""
        over = self._progress(self.iteration, self.counters["last_seconds"]) >= 1
        started = time.monotonic() - self.counters["seconds"]
        with MetricsWriter(self.directory, self.iteration + 1) as writer:
            while not over:
                start, iteration = time.monotonic(), self.iteration + 1
                network, progress = self._learner.network(self.iteration), self._progress(self.iteration)
                games, metrics = self._play(network, iteration)
                metrics |= self._learn(games, iteration, progress)
                elapsed = self.counters["last_seconds"] = time.monotonic() - start
                over = self._progress(iteration, 2 * elapsed) >= 1  # another one as long would pass the limit
                if over or iteration % self.settings.matches.every == 0:
                    metrics |= self._measure(iteration)
                    self._show_game(writer, iteration, network, games[0])
                self.counters["seconds"] = time.monotonic() - started
                metrics |= {"run/seconds": self.counters["seconds"]}
                # The table first: what it says beyond the checkpoint is taken back when the run is resumed.
                writer.write(iteration, metrics)
                if self.settings.selfplay.records:
                    self._keep_records(iteration, games)
                self._commit(iteration)
                before = time.monotonic()
                self.watcher.on_iteration(iteration, metrics)
                started += time.monotonic() - before

    def _random_observations(self) -> FloatArray:
        """What the network sees of some random games, by which its integers find their ranges."""
        game, stream = self.game, draw(self._stream, _CALIBRATION)
        games = (random_states(game, draw(stream, number)) for number in itertools.count())
        unfinished = (state for states in games for state in states if not game.is_terminal(state))
        return game.observations(list(itertools.islice(unfinished, _NUM_CALIBRATED)))

    def _progress(self, iteration: int, more_seconds: float = 0.0) -> float:
        """How much of the run is done after an iteration, from 0 to 1 and beyond, by the limit that is nearest."""
        settings = self.settings
        done = {"iterations": iteration, "games": self.counters["games"]}
        done["minutes"] = (self.counters["seconds"] + more_seconds) / 60
        limits = {name: getattr(settings, name) for name in done if getattr(settings, name) is not None}
        return max((done[name] / limit if limit else 1.0 for name, limit in limits.items()), default=0.0)

    def _play(self, network: Network, iteration: int) -> tuple[list[PlayedGame[S]], dict[str, float]]:
        settings, selfplay = self.settings, self.settings.selfplay
        cache = CachedEvaluator(NetworkEvaluator(network, settings.device, self._calibration), settings.cache)
        evaluator: Evaluator = cache
        if iteration <= settings.rollout_iterations:  # rollouts differ each time, so they are not cached
            selfplay = replace(selfplay, simulations=settings.rollout_simulations)
            evaluator = RolloutEvaluator()
        self.watcher.on_phase(iteration, "self-play", selfplay.games)
        start = time.monotonic()
        games, counts = SelfPlay(self.game, settings.search.selfplay_rule(), selfplay).play(
            evaluator, draw(self._stream, _SELF_PLAY), self.counters["games"], self.watcher
        )
        metrics = selfplay_metrics(games, counts, cache, time.monotonic() - start)
        self.counters["games"] += len(games)
        self.counters["positions"] += counts.positions
        return games, metrics

    def _learn(self, games: list[PlayedGame[S]], iteration: int, progress: float) -> dict[str, float]:
        samples = samples_of(self.game, games)
        self._replay.add(iteration, samples)
        num_steps = self._learner.num_steps_for(len(samples))
        self.watcher.on_phase(iteration, "learning", num_steps)
        stream = draw(draw(self._stream, _LEARNING), iteration)
        start = time.monotonic()
        metrics = self._learner.learn(self._replay, num_steps, stream, progress, self._on_step)
        metrics |= {"replay": len(self._replay), "seconds": time.monotonic() - start}
        return {f"learning/{name}": value for name, value in metrics.items()}

    def _on_step(self) -> None:
        self.watcher.on_step()
        self.watcher.on_wait()

    def _measure(self, iteration: int) -> dict[str, float]:
        """What the network with search, and the network alone, make of what never changes: opponents and positions."""
        matches = self.settings.matches
        evaluator = NetworkEvaluator(self._learner.network(iteration), self.settings.device)
        rule, budget = self.settings.search.match_rule(), Budget(matches.simulations)

        def searching() -> Player[S]:
            return SearchPlayer(MCTS(self.game, evaluator, rule), budget)

        def alone() -> Player[S]:
            return NetworkPlayer(self.game, evaluator)

        metrics: dict[str, float] = {}
        for opponent in matches.opponents if matches.games else ():
            score = self._score(iteration, opponent, searching)
            metrics |= {f"score/{opponent}": score}
            metrics |= {f"score/{opponent}/network_alone": self._score(iteration, opponent, alone)}
            if opponent == matches.opponents[-1] and score >= self.counters["best_score"]:
                self.counters |= {"best": iteration, "best_score": score}
        metrics |= self._exact_figures(iteration, "exact", searching)
        return metrics | self._exact_figures(iteration, "exact_network_alone", alone)

    def _exact_figures(self, iteration: int, name: str, make_player: Callable[[], Player[S]]) -> dict[str, float]:
        """What a player makes of the positions whose perfect play is known; it never learns from them."""
        self.watcher.on_phase(iteration, "known positions", sum(len(known.positions) for known in self._sets))
        metrics: dict[str, float] = {}
        for known in self._sets:
            found = measure(make_player, known.positions, num_cores(), self.watcher.on_step)._asdict()
            self.watcher.on_wait()
            metrics |= {f"{name}/{known.name}/{figure}": count.share for figure, count in found.items() if count.of}
        return metrics

    def _score(self, iteration: int, opponent: str, learned: Callable[[], Player[S]]) -> float:
        matches = self.settings.matches
        settings = MatchSettings(matches.games, seed=draw(draw(self._stream, _MATCHES), iteration))
        makers = [learned, lambda: parse_player(opponent).make(self.game)]
        self.watcher.on_phase(iteration, f"match against {opponent}", matches.games)
        records = []
        with closing(play_match(self.game, makers, settings)) as games:
            for record in games:
                records.append(record)
                self._on_step()
        forfeits = [record.ending for record in records if record.forfeited_by is not None]
        if forfeits:
            warnings.warn(f"{len(forfeits)} games of the match were forfeited, the first: {forfeits[0]}", stacklevel=2)
        return report(records).score.mean

    def _commit(self, iteration: int) -> None:
        checkpoint = Checkpoint(
            network=self._learner.network(iteration),
            training=self._learner.training_state(),
            replay=self._replay.state(),
            counters=self.counters,
            settings=self._own_settings(),
        )
        save_checkpoint(self.directory, checkpoint, self.settings.keep, self.counters["best"])
        self.iteration = iteration

    def _own_settings(self) -> dict[str, Any]:
        """The settings, without what a command has added to them."""
        return {field.name: asdict(self.settings)[field.name] for field in fields(TrainingSettings)}

    def _restore(self, checkpoint: Checkpoint) -> None:
        counters = {"last_seconds": 0.0} | checkpoint.counters  # which early versions did not count
        odd = [name for name, count in self.counters.items() if type(counters.get(name)) is not type(count)]
        if odd:
            raise ValueError(f"the checkpoint of iteration {checkpoint.iteration} has no count of {', '.join(odd)}")
        self.iteration = checkpoint.iteration
        self.counters |= counters
        if self.counters["measured"] != _no_best(self.settings.matches)["measured"]:
            self.counters |= _no_best(self.settings.matches)  # scores of other matches do not compare
        self._learner.restore(checkpoint.network, checkpoint.training)
        self._replay.restore(checkpoint.replay)

    def _keep_records(self, iteration: int, games: list[PlayedGame[S]]) -> None:
        texts = [record_text(self.game, record_of(self.game, played, f"iteration {iteration}")) for played in games]
        (self.directory / "games").mkdir(exist_ok=True)
        write_durably(self.directory / "games" / f"{iteration:06}.txt", "\n".join(texts).encode())

    def _show_game(self, writer: MetricsWriter, iteration: int, network: Network, played: PlayedGame[S]) -> None:
        writer.write_text(iteration, "selfplay/sample_game", game_text(self.game, played.actions))
        evaluator = NetworkEvaluator(network, self.settings.device)
        writer.write_figure(iteration, "selfplay/policy", policy_figure(self.game, played, evaluator))


def _no_best(matches: MatchesSettings) -> dict[str, Any]:
    """The counters of a run without a best checkpoint: scores are compared only if they were measured alike."""
    measured = f"{matches.games} games, {matches.simulations} simulations, {matches.opponents[-1]}"
    return {"best": 0, "best_score": -1.0, "measured": measured}
