"""A series: matches between many players, measured once and kept in a directory.

Every game is in the file `games.txt` (see `record`) as soon as it ends. A series that was killed, and one that is asked
for more matches or more games, plays what is missing and no game twice: a game is fixed by the players, its index and
the settings, which `settings.json` holds, so that games of other settings never join them.
"""

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from azero.games import load_game
from azero.games.game import Game
from azero.players.match import MatchSettings, match_openings
from azero.players.record import GameRecord, read_records, record_text
from azero.players.workers import Task, Workers

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

Pair = tuple[str, str]  # two players' descriptions; the first one moves first in games of even index
_FIXING = ("num_opening_moves", "seed", "max_moves", "max_move_seconds")  # the settings that fix what is played


@contextmanager
def open_series(directory: Path, game: str, settings: MatchSettings) -> Iterator["Series"]:
    """The series in a directory, which is made if it is new. `game` is what `load_game` takes.

    Raises ValueError if the directory has games of another game or of other settings, or games that no rules allow, and
    if another process has it open.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with locked(directory), closing(Series(directory, game, settings)) as series:
        yield series


class Series:
    """The games of many matches of one game, in one directory; `open_series` makes it.

    The players of a match are descriptions such as ("uct:1000", "random"); both may be the same. Of the settings,
    `num_games` is how many games `play` sees to unless it is told, and `num_workers` how many processes play them.
    """

    def __init__(self, directory: Path, game: str, settings: MatchSettings) -> None:
        """See `open_series`."""
        self.directory = directory
        self.settings = settings
        self.game = load_game(game)
        self._workers = Workers(game, settings)
        self._path = directory / "games.txt"
        self._records: dict[Pair, list[GameRecord]] = defaultdict(list)
        self.is_current = self._check_settings()  # False if azero's code, or the game's, has changed since the first
        for record in self._read():
            games = self._records[_pair(record)]
            if record.index != len(games):
                raise ValueError(f"{self._path}: game {len(games)} of {' against '.join(_pair(record))} is missing")
            games.append(record)

    def records(self, pair: Pair, num_games: int | None = None) -> list[GameRecord]:
        """The games that the match has so far, in order, or the first `num_games` of them."""
        return self._records[_tidy(pair)][:num_games]

    def play(self, pairs: Iterable[Pair], num_games: int | None = None) -> Generator[tuple[Pair, GameRecord]]:
        """Play what these matches lack of `num_games` games each, and yield each game once it is in the file.

        Games come in order: match after match, index after index. Closing the generator, or an interrupt, stops at
        once. Raises ValueError or OSError for a player that cannot be made.
        """
        num_games = num_games or self.settings.num_games
        openings = match_openings(self.game, replace(self.settings, num_games=num_games))
        tasks = [
            Task(pair, index, openings[index // 2])
            for pair in dict.fromkeys(map(_tidy, pairs))
            for index in range(len(self._records[pair]), num_games)
        ]
        with (
            self._path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file,
            closing(self._workers.play(tasks)) as records,
        ):
            for record in records:
                file.write(f"{record_text(self.game, record, clock=True)}\n")
                file.flush()
                self._records[_pair(record)].append(record)
                yield _pair(record), record

    def close(self) -> None:
        """End the processes that played the games, which wait for further ones."""
        self._workers.close()

    def _check_settings(self) -> bool:
        """Raise ValueError if the games here are of other settings; tell whether they are of the same code."""
        path = self.directory / "settings.json"
        mine: dict[str, Any] = {"game": self.game.name} | {name: getattr(self.settings, name) for name in _FIXING}
        code = _code_digest(self.game)
        if not self._path.exists():
            path.write_text(json.dumps({**mine, "code": code}) + "\n")
        try:
            kept = dict(json.loads(path.read_text()))
        except (FileNotFoundError, ValueError, TypeError, RecursionError):
            raise ValueError(f"{path} cannot be read, so it is unknown how the games beside it were played") from None
        different = [f"{name}={kept.get(name)}, not {mine[name]}" for name in mine if kept.get(name) != mine[name]]
        if different:
            raise ValueError(f"the games in {self.directory} are of {'; '.join(different)}: name another directory")
        return bool(kept.get("code") == code)

    def _read(self) -> list[GameRecord]:
        """The games in the file; the last one, if it is only half there, is cut off, to be played again."""
        if not self._path.exists():
            return []
        try:
            return read_records(self._path, self.game)
        except ValueError as error:
            text = self._path.read_bytes()
            whole = self._path.with_suffix(".whole")
            whole.write_bytes(text[: text.rfind(b"\n[game ") + 1])
            try:
                records = read_records(whole, self.game)
            except ValueError:  # the fault is in another game: the file is left as it is
                whole.unlink()
                raise error from None
            whole.replace(self._path)
            return records


def _code_digest(game: Game[Any]) -> str:
    """Stands for the sources of all that fixes what is played, the game's own file among them."""
    package = Path(__file__).parents[1]
    paths = [path for part in ("games", "evaluators", "search", "players") for path in (package / part).glob("*.py")]
    modules = [sys.modules.get(part.__module__) for part in type(game).__mro__]
    own = [Path(file) for module in modules if (file := getattr(module, "__file__", None))]
    digest = hashlib.sha256()
    for path in (*sorted(paths), *(path for path in own if path not in paths)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _pair(record: GameRecord) -> Pair:
    """The match that a game is of."""
    first, second = record.players
    return _tidy((first, second) if record.index % 2 == 0 else (second, first))


def _tidy(pair: Pair) -> Pair:
    """The players as a file names them."""
    return " ".join(pair[0].split()), " ".join(pair[1].split())


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other processes out of a directory; the system opens the lock when this one ends, however it does.

    Raises ValueError if another process has locked it.
    """
    with (directory / ".lock").open("w") as file:
        if fcntl:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(f"another process is at work in {directory}") from None
        yield
