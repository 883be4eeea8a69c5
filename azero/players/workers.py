"""Games on several cores, each core's in a process of its own.

Threads would do where players think for long; but short moves wait for each other there, and their times tell nothing.
"""

import signal
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from azero._jit import compile_silently
from azero.games import load_game
from azero.games.blame import told
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


class WorkerError(RuntimeError):
    """A process that played games is gone."""


class Workers:
    """Processes that play one game's matches; they start when they are first needed, and stay until `close`."""

    def __init__(self, game: str, settings: MatchSettings) -> None:
        """`game` is what `load_game` takes; `settings.num_workers` says how many there may be."""
        self._game = game
        self._settings = settings
        self._processes: list[BaseProcess] = []
        self._connections: list[Connection] = []  # of each process

    def play(self, tasks: Sequence[Task]) -> Generator[GameRecord]:
        """Play games side by side, or in this process if one worker is all there may be, or one game.

        They come in the order of `tasks`. Closing the generator early, or an interrupt, ends the processes; a later
        call starts new ones. Raises what making a player does, and WorkerError if a process dies.
        """
        num_workers = min(self._settings.num_workers, len(tasks))
        if num_workers <= 1:
            yield from map(self._table.play, tasks)
            return
        try:
            while len(self._processes) < num_workers:
                self._start()
            yield from _distribute(tasks, list(self._connections))
        except BaseException as error:
            self.close()  # some are busy still
            if isinstance(error, (EOFError, ConnectionError)):
                raise WorkerError("a process that played games has died; perhaps memory has run out") from None
            raise

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.kill()
            process.join()
        for connection in self._connections:
            connection.close()
        self._processes.clear()
        self._connections.clear()

    @cached_property
    def _table(self) -> "_Table":
        return _Table(self._game, self._settings)

    def _start(self) -> None:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        is_first = not self._processes
        process = context.Process(target=_work, args=(theirs, self._game, self._settings, is_first), daemon=True)
        process.start()
        theirs.close()
        self._processes.append(process)
        self._connections.append(ours)


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
    answer: GameRecord | Exception = worker.recv()
    if isinstance(answer, Exception):
        raise answer
    return answer


def _work(connection: Connection, game: str, settings: MatchSettings, speaks: bool) -> None:
    """A worker's life: play what comes, until who sends it is gone. One speaks for all of compiling kernels."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it hears of Ctrl-C too, and ends it
    if not speaks:
        compile_silently()
    table: _Table | None = None
    with suppress(EOFError, ConnectionError):
        while True:
            task = connection.recv()
            try:
                table = table or _Table(game, settings)
                answer: GameRecord | Exception = table.play(task)
            except Exception as error:
                answer = _sendable(error)
            connection.send(answer)


def _sendable(error: Exception) -> Exception:
    """The error, or one that says the same where another process may not know how to make it, with who is to blame."""
    known = type(error).__module__.partition(".")[0] in ("builtins", "azero")
    answer = error if known else WorkerError(f"{type(error).__name__}: {error}")
    vars(answer)["told"] = told(error)
    return answer


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
