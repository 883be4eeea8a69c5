"""A series: matches between many players, measured once and kept in a directory.

Every game is in the file `games.txt` (see `record`) as soon as it ends. A series that was killed, and one that is asked
for more matches or more games, plays what is missing and no game twice: a game is fixed by the players, its index and
the settings, which `settings.json` holds, so that games of other settings never join them. Nor do those of another
network of the same name, such as a run's that has learned more: `networks.json` tells which one a player had.
"""

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from azero.evaluators.weights import find_network
from azero.files import locked, write_durably
from azero.games import load_game
from azero.games.game import Game
from azero.players.match import MatchSettings, match_openings
from azero.players.record import GameRecord, read_records, record_text
from azero.players.spec import parse_player
from azero.players.workers import Task, Workers

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
        once. Raises ValueError or OSError for a player that cannot be made, or whose network is another one by now.
        """
        tidy = list(dict.fromkeys(map(_tidy, pairs)))
        self._check_networks(dict.fromkeys(chain.from_iterable(tidy)))
        return self._play(tidy, num_games or self.settings.num_games)

    def _play(self, pairs: Sequence[Pair], num_games: int) -> Generator[tuple[Pair, GameRecord]]:
        openings = match_openings(self.game, replace(self.settings, num_games=num_games))
        tasks = [
            Task(pair, index, openings[index // 2])
            for pair in pairs
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
        kept = _read_dict(path)
        different = [f"{name}={kept.get(name)}, not {mine[name]}" for name in mine if kept.get(name) != mine[name]]
        if different:
            raise ValueError(f"the games in {self.directory} are of {'; '.join(different)}: name another directory")
        return bool(kept.get("code") == code)

    def _check_networks(self, players: Iterable[str]) -> None:
        """Raise ValueError if a player's network is not the one of its games here."""
        path = self.directory / "networks.json"
        kept = _read_dict(path) if path.exists() else {}
        have_games = {name for pair, games in self._records.items() if games for name in pair}
        places = {name: place for name in players if (place := parse_player(name).network) is not None}
        digests = {place: _network_digest(place) for place in set(places.values())}  # many players may share one
        found = {name: digests[place] for name, place in places.items()}
        for name in found.keys() & kept.keys() & have_games:
            if kept[name] != found[name]:
                raise ValueError(
                    f"the network of {name} is not the one of its games in {self.directory}: name another directory"
                )
        if kept | found != kept:
            write_durably(path, f"{json.dumps(kept | found, indent=1)}\n".encode())

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


def _read_dict(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text()))
    except (FileNotFoundError, ValueError, TypeError, RecursionError):
        raise ValueError(f"{path} cannot be read, so it is unknown how the games beside it were played") from None


def _network_digest(place: str) -> str:
    """Stands for all of a network that decides what it plays."""
    network = find_network(place)
    digest = hashlib.sha256(repr((network.game, network.settings)).encode())
    for name, array in sorted(network.weights.items()):
        digest.update(name.encode() + array.tobytes())
    return digest.hexdigest()


def _code_digest(game: Game[Any]) -> str:
    """Stands for the sources of all that fixes what is played, the game's own file among them."""
    package = Path(__file__).parents[1]
    paths = [path for part in ("games", "evaluators", "search", "players") for path in (package / part).glob("*.py")]
    paths.append(package / "_jit.py")  # the random streams
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
