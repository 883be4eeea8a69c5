"""Games between two players, and matches of the many games that a fair comparison needs.

A match is played in pairs of games: both begin with the same opening, a few random legal actions, and the players swap
seats in between. In even games the match's first player moves first. Every game is fixed by the seed and its index,
whatever else is played beside it.
"""

import math
import threading
import time
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import cycle, islice
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

from azero._jit import below, draw
from azero.games.blame import is_shortage
from azero.games.game import Game, result_text
from azero.players.player import Player
from azero.players.rating import Score
from azero.players.record import GameRecord, Spent, points_of_first

S = TypeVar("S", bound=Hashable)

_MAX_GAMES = 1_000_000
_NUM_TRIES = 100  # for an opening that was not drawn before
_OPENINGS, _GAMES = 0, 1  # counters of the seed's stream


@dataclass(frozen=True)
class MatchSettings:
    """How many games are played, from where, and within which limits."""

    num_games: int = 100  # of each two players, >= 1; even, so that every opening is played from both sides
    num_opening_moves: int = 2  # random moves that begin a game, >= 0; more where fewer give no new opening
    seed: int = 0  # fixes the openings and the players' randomness, >= 0
    max_moves: int | None = None  # a game this long is cut short and counted apart, >= 1; null: none is
    max_move_seconds: float | None = None  # who thinks longer about a move loses the game, > 0; null: no limit
    num_workers: int = 2  # games played side by side, >= 1; changes no result, unless players are given times

    def __post_init__(self) -> None:
        """Raises ValueError for a number out of its range."""
        for name, least in (("num_games", 1), ("num_opening_moves", 0), ("seed", 0), ("num_workers", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if self.num_games > _MAX_GAMES:
            raise ValueError(f"num_games must be at most {_MAX_GAMES}, got {self.num_games}")
        if self.max_moves is not None and self.max_moves < 1:
            raise ValueError(f"max_moves must be at least 1, or null for no limit; got {self.max_moves}")
        if self.max_move_seconds is not None and not self.max_move_seconds > 0:
            raise ValueError(f"max_move_seconds must be above 0, or null for no limit; got {self.max_move_seconds}")


def random_openings(game: Game[S], num_openings: int, num_moves: int, stream: int) -> list[tuple[int, ...]]:
    """Random legal actions that lead to as many different, unfinished states.

    An opening has `num_moves` actions, and more where no new one of that length is found; in a game too small even for
    that, openings repeat. With `num_moves` 0 all games begin at the start.
    """
    if num_moves == 0:
        return [()] * num_openings
    openings: dict[S, tuple[int, ...]] = {}
    counter = num_failures = 0
    while len(openings) < num_openings and num_moves < game.max_game_length:
        state, opening = _random_walk(game, num_moves, draw(stream, counter))
        counter += 1
        if not game.is_terminal(state) and state not in openings:
            openings[state] = opening
            num_failures = 0
            continue
        num_failures += 1
        if num_failures == _NUM_TRIES:
            num_moves, num_failures = num_moves + 1, 0
    return list(islice(cycle(openings.values() or [()]), num_openings))


def _random_walk(game: Game[S], num_moves: int, stream: int) -> tuple[S, tuple[int, ...]]:
    state = game.initial_state()
    actions: list[int] = []
    while len(actions) < num_moves and not game.is_terminal(state):
        legal = game.legal_actions(state)
        actions.append(int(legal[below(draw(stream, len(actions)), len(legal))]))
        state = game.step(state, actions[-1])
    return state, tuple(actions)


class _ForfeitError(Exception):
    def __init__(self, seat: int, reason: str) -> None:
        super().__init__(reason)
        self.seat = seat


@contextmanager
def _responsible(seat: int) -> Iterator[None]:
    """Whatever goes wrong inside is the fault of the player in this seat, unless the machine has no memory left."""
    try:
        yield
    except Exception as error:
        if is_shortage(error):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise _ForfeitError(seat, reason) from error


def play_game(
    game: Game[S],
    players: Sequence[Player[S]],
    opening: Sequence[int] = (),
    stream: int = 0,
    settings: MatchSettings = MatchSettings(),
    stop: threading.Event | None = None,
) -> GameRecord:
    """One game; `players[0]` moves first. Of the settings, the limits count.

    An illegal action, an exception or an overrun time loses the game, and the record tells; but where memory runs out,
    that is raised, and nobody loses. Setting `stop` from another thread cuts the game short at the next move.
    """
    actions: list[int] = []
    spent = [Spent(), Spent()]
    state = game.initial_state()
    try:
        for seat, player in enumerate(players):
            with _responsible(seat):
                player.start(draw(stream, seat))
        while not game.is_terminal(state):
            if len(actions) < len(opening):
                action = game.check_action(state, opening[len(actions)])
            elif len(actions) >= (settings.max_moves or math.inf) or (stop and stop.is_set()):
                break
            else:
                action = _choose(game, players, state, spent, settings.max_move_seconds)
            state = game.step(state, action)
            actions.append(action)
            for seat, player in enumerate(players):
                with _responsible(seat):
                    player.observe(action)
        points = points_of_first(game, state) if game.is_terminal(state) else None
        ending = f"cut short after {len(actions)} moves" if points is None else result_text(game, state)
    except _ForfeitError as forfeit:
        points = float(forfeit.seat)
        ending = f"forfeit by {game.player_names[forfeit.seat]}: {forfeit}"
    names = (players[0].name, players[1].name)
    num_opening_actions = min(len(opening), len(actions))
    return GameRecord(game.name, 0, names, num_opening_actions, tuple(actions), points, ending, (spent[0], spent[1]))


def _choose(
    game: Game[S], players: Sequence[Player[S]], state: S, spent: list[Spent], max_seconds: float | None
) -> int:
    """The action of the player to move, whose `spent` grows."""
    seat = game.current_player(state)
    before = time.perf_counter()
    with _responsible(seat):
        action = game.check_action(state, players[seat].choose(state))
    seconds = time.perf_counter() - before
    spent[seat] = spent[seat].plus(Spent(1, players[seat].num_simulations, seconds))
    if max_seconds is not None and seconds > max_seconds:
        raise _ForfeitError(seat, f"thought for {seconds:.3f} s, of {max_seconds} s allowed")
    return action


def match_openings(game: Game[S], settings: MatchSettings) -> list[tuple[int, ...]]:
    """The openings of a match: number i is that of the games 2 i and 2 i + 1. A longer match begins with the same."""
    num_openings = (settings.num_games + 1) // 2
    return random_openings(game, num_openings, settings.num_opening_moves, draw(settings.seed, _OPENINGS))


def play_match_game(
    game: Game[S],
    pair: Sequence[Player[S]],
    index: int,
    opening: Sequence[int],
    settings: MatchSettings,
    stop: threading.Event | None = None,
) -> GameRecord:
    """Game number `index` of a match between the players of `pair`; the first one has the first seat in even games."""
    seated = pair if index % 2 == 0 else pair[::-1]
    stream = draw(draw(settings.seed, _GAMES), index)
    return replace(play_game(game, seated, opening, stream, settings, stop), index=index)


def play_match(
    game: Game[S], makers: Sequence[Callable[[], Player[S]]], settings: MatchSettings
) -> Generator[GameRecord]:
    """The games of a match between two players, in order, as they end.

    A maker gives a new player, one for each of the games that run side by side. Closing the iterator, or an interrupt,
    stops the games within one move.
    """
    openings = match_openings(game, settings)
    num_workers = min(settings.num_workers, settings.num_games)
    pairs: SimpleQueue[list[Player[S]]] = SimpleQueue()
    for _ in range(num_workers):
        pairs.put([make() for make in makers])
    stop = threading.Event()

    def play(index: int) -> GameRecord:
        pair = pairs.get()
        try:
            return play_match_game(game, pair, index, openings[index // 2], settings, stop)
        finally:
            pairs.put(pair)

    with ThreadPoolExecutor(num_workers) as pool:
        try:
            for future in [pool.submit(play, index) for index in range(settings.num_games)]:
                yield future.result()
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


class MatchReport(NamedTuple):
    """What a match's games say about its first player; pairs are (first player, second player)."""

    as_first: Score  # where it moved first
    as_second: Score
    num_forfeits: tuple[int, int]  # games lost by breaking a rule of the match; they are in the scores
    num_cut_short: int  # games without a result; they are not
    num_distinct: int  # different sequences of actions
    spent: tuple[Spent, Spent]

    @property
    def score(self) -> Score:
        """All results."""
        return self.as_first.plus(self.as_second)


def report(records: Iterable[GameRecord]) -> MatchReport:
    """Count the games of one match."""
    records = list(records)
    scores = [Score(0, 0, 0), Score(0, 0, 0)]
    forfeits = [0, 0]
    spent = [Spent(), Spent()]
    for record in records:
        swapped = record.index % 2  # 1 if the first player had the second seat
        for seat in (0, 1):
            spent[seat ^ swapped] = spent[seat ^ swapped].plus(record.spent[seat])
        if record.forfeited_by is not None:
            forfeits[record.forfeited_by ^ swapped] += 1
        if record.points is not None:
            points = abs(swapped - record.points)
            result = Score(points == 1, points == 0.5, points == 0)
            scores[swapped] = scores[swapped].plus(result)
    return MatchReport(
        scores[0],
        scores[1],
        (forfeits[0], forfeits[1]),
        sum(record.points is None for record in records),
        len({record.actions for record in records}),
        (spent[0], spent[1]),
    )
