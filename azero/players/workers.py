"""Games on several cores, each core's in a process of its own.

Threads would do where players think for long; but short moves wait for each other there, and their times tell nothing.
"""

import signal
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from azero.games import load_game
from azero.players.match import MatchSettings, play_match_game
from azero.players.player import Player
from azero.players.record import GameRecord
from azero.players.spec import parse_player


@dataclass(frozen=True)
class Task:
    """One game of a match."""

    pair: tuple[str, str]  # the players' descriptions; the first one moves first in games of even index
    index: int  # the game's number in the match, >= 0
    opening: tuple[int, ...]  # actions


def play_tasks(game: str, tasks: Sequence[Task], settings: MatchSettings) -> Generator[GameRecord]:
    """Play games with `settings.num_workers` processes, or in this one if that is 1; they come in the order of `tasks`.

    `game` is what `load_game` takes. Closing the generator, or an interrupt, ends the processes. Raises what making a
    player does, and RuntimeError if a process dies.
    """
    num_workers = min(settings.num_workers, len(tasks))
    if num_workers <= 1:
        table = _Table(game, settings)
        yield from map(table.play, tasks)
        return
    context = get_context("spawn")
    idle: list[Connection] = []
    workers = []
    try:
        for _ in range(num_workers):
            ours, theirs = context.Pipe()
            workers.append(context.Process(target=_work, args=(theirs, game, settings), daemon=True))
            workers[-1].start()
            theirs.close()
            idle.append(ours)
        yield from _distribute(tasks, idle)
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def _distribute(tasks: Sequence[Task], idle: list[Connection]) -> Generator[GameRecord]:
    """Give a task to whoever is idle, until all are done."""
    todo = deque(enumerate(tasks))
    busy: dict[Connection, int] = {}
    done: dict[int, GameRecord] = {}
    for number in range(len(tasks)):
        while number not in done:
            while idle and todo:
                worker = idle.pop()
                busy[worker], task = todo.popleft()
                worker.send(task)
            ready = wait(list(busy))
            for worker in [worker for worker in busy if worker in ready]:
                done[busy.pop(worker)] = _received(worker)
                idle.append(worker)
        yield done.pop(number)


def _received(worker: Connection) -> GameRecord:
    try:
        answer: GameRecord | Exception = worker.recv()
    except EOFError:
        raise RuntimeError("a process that played games has died; perhaps memory has run out") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _work(connection: Connection, game: str, settings: MatchSettings) -> None:
    """A worker's life: play what comes, until who sends it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it hears of Ctrl-C too, and ends it
    table = _Table(game, settings)
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        try:
            answer: GameRecord | Exception = table.play(task)
        except Exception as error:
            answer = error
        connection.send(answer)


class _Table:
    """Where the games of one process are played; its players are kept for the match's next games."""

    def __init__(self, game: str, settings: MatchSettings) -> None:
        self._game = load_game(game)
        self._settings = settings
        self._players = lru_cache(maxsize=4)(self._make)

    def play(self, task: Task) -> GameRecord:
        pair = [self._players(name, place) for place, name in enumerate(task.pair)]
        return play_match_game(self._game, pair, task.index, task.opening, self._settings)

    def _make(self, name: str, _place: int) -> Player[Any]:
        """A player; the place tells apart two of the same name, since one serves one side only."""
        return parse_player(name).make(self._game)
