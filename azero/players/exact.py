"""Positions whose perfect play is known, and what a player gives away in them."""

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import cache
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from azero._jit import below, draw
from azero.games.compiled import CompiledGame
from azero.games.connect4 import Connect4, State
from azero.games.game import Game, state_after
from azero.players.player import Player
from azero.players.rating import wilson_interval
from azero.search.alphabeta import AlphaBeta, Limits

S = TypeVar("S", bound=Hashable)

_PONS = Path(__file__).parent / "data" / "connect4_pons.npz"
_FULL = 127  # in place of the score of a column that is full
_MAX_STATES = 6_000  # of a game all of whose states are looked at
_NUM_SOLVED = 300  # positions of a larger game
_MOST_PLIES = 15  # before the end, where they are looked for
_MAX_NODES = 300_000  # that alpha-beta may visit to solve one of them,
_MAX_PLAIN_NODES = 3_000  # or of a game in plain Python
_SOONER = 1e-6  # what a ply is worth to who wins


class Position(NamedTuple, Generic[S]):
    """An unfinished state, and how good each legal action is for the player to move."""

    state: S
    values: dict[int, float]  # the result of perfect play after it, in [-1, 1]
    scores: dict[int, float]  # orders as the values do, and sooner wins and later losses before others

    @property
    def value(self) -> float:
        """The result of perfect play, for the player to move."""
        return max(self.values.values())

    def best_actions(self) -> list[int]:
        """Those of the highest score."""
        best = max(self.scores.values())
        return [action for action, score in self.scores.items() if score == best]


class PositionSet(NamedTuple, Generic[S]):
    """Positions that belong together."""

    name: str
    positions: Sequence[Position[S]]


class Count(NamedTuple):
    """In how many of so many positions."""

    num: int
    of: int

    @property
    def share(self) -> float:
        """In [0, 1]; NaN of no positions."""
        return self.num / self.of if self.of else math.nan

    def text(self) -> str:
        """The share and its 95 % interval, in per cent: "2.5 [1.7, 3.7]"; finer where it is small."""
        low, high = (100 * bound for bound in wilson_interval(self.num, self.of))
        places = 2 if high < 1.95 else 1
        share = f"{100 * self.share:.{places}f} [{low:.{places}f}, {high:.{places}f}]"
        return share if self.of else "none"


class Figures(NamedTuple):
    """What a player does in a set of positions."""

    lost_value: Count  # moves that make a draw or a loss of a win, or a loss of a draw
    lost_value_open: Count  # the same in positions that are not lost already, where every move is right
    not_best: Count  # moves that are not exactly best: slower wins and faster losses too
    right_sign: Count  # won and lost positions whose value the player has on the right side of 0, if it says one


class Answer(NamedTuple):
    """What a player does in a position."""

    action: int
    value: float | None  # that it expects, for the player to move; None if it does not say


def figures(positions: Sequence[Position[S]], answers: Sequence[Answer]) -> Figures:
    """The figures of a player that answers these positions so."""
    both = list(zip(positions, answers, strict=True))
    loses = [position.values[answer.action] < position.value for position, answer in both]
    is_open = [position.value > -1 for position in positions]
    signs = [value * position.value > 0 for position, (_, value) in both if value is not None and position.value]
    return Figures(
        Count(sum(loses), len(loses)),
        Count(sum(loses), sum(is_open)),
        Count(sum(answer.action not in position.best_actions() for position, answer in both), len(both)),
        Count(sum(signs), len(signs)),
    )


def answer(player: Player[S], position: Position[S], number: int) -> Answer:
    """What the player does in a position, as at the start of a game; `number` is what is random in it."""
    player.start(draw(0, number))
    action = player.choose(position.state)
    return Answer(action, player.value)


def measure(
    make_player: Callable[[], Player[S]],
    positions: Sequence[Position[S]],
    num_threads: int = 1,
    on_step: Callable[[], None] = lambda: None,
) -> Figures:
    """The figures of a player in these positions, which are dealt to the threads, each with a player of its own.

    They depend on the number of threads only where a player's budget is a time. `on_step` is called after each
    position, by any thread. An exception in a thread, or Ctrl-C, stops all threads and is raised.
    """
    answers: dict[int, Answer] = {}
    stop = Event()

    def work(first: int) -> None:
        player = make_player()
        for number in range(first, len(positions), num_threads):
            if stop.is_set():
                return
            answers[number] = answer(player, positions[number], number)
            on_step()

    with ThreadPoolExecutor(num_threads) as pool:
        futures = [pool.submit(work, first) for first in range(num_threads)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
        for future in futures:
            future.result()
    return figures(positions, [answers[number] for number in range(len(positions))])


def known_sets(game: Game[S]) -> list[PositionSet[S]]:
    """What is known of a game without much work: for Connect Four the six sets of Pascal Pons; all of a small game."""
    if isinstance(game, Connect4):
        return pons_sets()
    positions = _all_positions(game)
    return [] if positions is None else [PositionSet("all", positions)]


def position_sets(game: Game[S]) -> list[PositionSet[S]]:
    """What is known of a game, or else positions of random games, near their ends, that alpha-beta could solve."""
    return known_sets(game) or [PositionSet("solved", list(islice(_late_positions(game), _NUM_SOLVED)))]


def thinned(known: PositionSet[S], num_positions: int) -> PositionSet[S]:
    """At most so many positions of a set, evenly spread."""
    total = len(known.positions)
    num = min(num_positions, total)
    return known._replace(positions=[known.positions[i * total // num] for i in range(num)])


@cache
def pons_sets() -> list[PositionSet[Any]]:
    """The six public sets of Connect Four positions of Pascal Pons, a thousand each, with their exact scores."""
    game = Connect4()
    with np.load(_PONS) as data:
        names, actions, scores = data["names"].tolist(), data["actions"], data["scores"]
    positions = [_pons_position(game, *row) for row in zip(actions.tolist(), scores.tolist(), strict=True)]
    size = len(positions) // len(names)
    return [PositionSet(name, positions[i * size : (i + 1) * size]) for i, name in enumerate(names)]


def _pons_position(game: Connect4, actions: list[int], scores: list[int]) -> Position[State]:
    state = state_after(game, [action for action in actions if action >= 0])
    known = {action: float(score) for action, score in enumerate(scores) if score != _FULL}
    return Position(state, {action: float(np.sign(score)) for action, score in known.items()}, known)


def _all_positions(game: Game[S]) -> list[Position[S]] | None:
    """All unfinished states that can be reached, solved from the ends of the game; None if they are too many."""
    results: dict[S, tuple[float, int]] = {}  # the value for the player to move, and the plies to the end
    positions: list[Position[S]] = []
    pending = [game.initial_state()]
    seen = set(pending)
    while pending and len(seen) <= _MAX_STATES:  # where games are long it may take much longer until they are solved
        state = pending[-1]
        successors = {action: game.step(state, action) for action in game.legal_actions(state)}
        unsolved = [after for after in successors.values() if after not in results]
        pending += unsolved
        seen.update(unsolved)
        if unsolved:
            continue
        pending.pop()
        if state not in results and successors:
            position = _backed_up(
                game, state, {action: (after, *results[after]) for action, after in successors.items()}
            )
            positions.append(position)
            best = position.best_actions()[0]
            results[state] = position.values[best], results[successors[best]][1] + 1
        elif not successors:
            results[state] = game.outcome(state), 0
    return None if pending else positions


def _backed_up(game: Game[S], state: S, known: dict[int, tuple[S, float, int]]) -> Position[S]:
    """A position of whose actions the state after, its value for who moves there and its plies to the end are known."""
    mover = game.current_player(state)
    values = {a: value if game.current_player(after) == mover else -value for a, (after, value, _) in known.items()}
    return Position(state, values, {a: _score(values[a], plies + 1) for a, (_, _, plies) in known.items()})


def _score(value: float, plies: int) -> float:
    return value - _SOONER * plies if value > 0 else value + _SOONER * plies if value < 0 else 0.0


def _late_positions(game: Game[S]) -> Iterator[Position[S]]:
    """Positions of random games, as far from their ends as alpha-beta can solve, none twice."""
    search, seen = AlphaBeta(game), set[S]()
    limits = Limits(nodes=_MAX_NODES if isinstance(game, CompiledGame) else _MAX_PLAIN_NODES)
    for number in range(10 * _NUM_SOLVED):
        stream = draw(0, number)
        state, line = game.initial_state(), []
        while legal := game.legal_actions(state):
            line.append(state)
            state = game.step(state, legal[below(draw(stream, len(line)), len(legal))])
        state = line[-min(len(line), 2 + below(draw(stream, 0), _MOST_PLIES - 1))]
        if state in seen:
            continue
        seen.add(state)
        found = search.search(state, limits, every_action=True)
        if found.exact.all():
            values = dict(zip(found.actions.tolist(), found.values.tolist(), strict=True))
            plies = dict(zip(values, found.plies.tolist(), strict=True))
            yield Position(state, values, {action: _score(values[action], plies[action]) for action in values})
