"""Records of games: one text file that a person can read and a program can replay.

Like PGN, a game is header lines in brackets, an empty line, and the actions as the game writes them:

    [game "connect4"]
    [index "0"]
    [first "uct:1000"]
    [second "uct:100"]
    [opening "2"]
    [simulations "17000 1600"]
    [moves "17 16"]
    [result "1-0"]
    [ending "X wins"]

    3 2 3 3 ...

The actions may also run together, and forced passes be left out, as in Othello's "f5d6c3d3"; and a file may have
nothing but such actions, a game on each line. A file FILE.sgf is in SGF (see `azero.players.sgf`), which does not tell
what was spent, nor which actions were drawn.

No clock time is written, so that the same seed gives the same bytes; where times are what is measured, a last header
[seconds "0.312405 0.029514"] has those that each side thought.
"""

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple, TypeVar

from azero.games.game import Game, result_text, state_after, winner
from azero.games.moves import moves_words, parse_moves
from azero.players.sgf import SgfGame, check_sgf, parse_sgf, sgf_text

S = TypeVar("S", bound=Hashable)

_RESULTS = {1.0: "1-0", 0.0: "0-1", 0.5: "1/2-1/2", None: "*"}
_POINTS = {text: points for points, text in _RESULTS.items()}
_HEADERS = ("game", "index", "first", "second", "opening", "moves", "simulations", "result", "ending")
_CLOCK = "seconds"  # the header that may be left out
_HEADER_LINE = re.compile(r'\[(\w+) "(.*)"\]')
_LINE_WIDTH = 100
_SGF_RESULTS = {1.0: "B+", 0.0: "W+", 0.5: "0", None: "?"}
_SGF_FORFEIT = re.compile(r"([BW])\+(R|Resign|T|Time|F|Forfeit)", re.IGNORECASE)


class Spent(NamedTuple):
    """What a player spent on choosing in one game or many."""

    num_moves: int = 0
    num_simulations: int = 0
    seconds: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        """Both together."""
        return Spent(
            self.num_moves + other.num_moves,
            self.num_simulations + other.num_simulations,
            self.seconds + other.seconds,
        )

    @property
    def simulations_per_move(self) -> float:
        """The mean of the moves; 0 if there was none."""
        return self.num_simulations / max(1, self.num_moves)

    @property
    def seconds_per_move(self) -> float:
        """The mean of the moves; 0 if there was none."""
        return self.seconds / max(1, self.num_moves)

    @property
    def simulations_per_second(self) -> float:
        """Simulations in a second of thought; 0 for a player that makes none."""
        return self.num_simulations / self.seconds if self.num_simulations else 0.0


@dataclass(frozen=True)
class GameRecord:
    """One game: who played, what was played, how it ended. Pairs are (who moves first, who moves second)."""

    game: str  # the game's name
    index: int  # number of the game in its match, >= 0
    players: tuple[str, str]  # their names
    num_opening_actions: int  # so many of the first actions were drawn, not chosen
    actions: tuple[int, ...]  # all of them, the opening included
    points: float | None  # of who moves first: 1, 0.5 or 0; None if the game was cut short
    ending: str  # in words, one line: "X wins", "forfeit by O: ...", "cut short after 10 moves"
    spent: tuple[Spent, Spent] = (Spent(), Spent())

    @property
    def forfeited_by(self) -> int | None:
        """The seat, 0 or 1, that lost the game by breaking a rule of the match; None in all other games."""
        return (1 if self.points else 0) if self.ending.startswith("forfeit") else None


def points_of_first(game: Game[S], state: S) -> float:
    """What who moved first has got from a finished game: 1, 0.5 or 0. Raises ValueError for an unfinished one."""
    won_by = winner(game, state)
    return 0.5 if won_by is None else 1.0 - won_by


def record_text(game: Game[Any], record: GameRecord, clock: bool = False) -> str:
    """One game as text, ending with a line break; with `clock` the times are in it."""
    values = (
        record.game,
        record.index,
        *record.players,
        record.num_opening_actions,
        " ".join(str(spent.num_moves) for spent in record.spent),
        " ".join(str(spent.num_simulations) for spent in record.spent),
        _RESULTS[record.points],
        record.ending,
        " ".join(f"{spent.seconds:.6f}" for spent in record.spent),
    )
    names = (*_HEADERS, _CLOCK) if clock else _HEADERS
    lines = [f'[{name} "{" ".join(str(value).split())}"]' for name, value in zip(names, values, strict=False)]
    actions = wrap(moves_words(game, record.actions), _LINE_WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join([*lines, "", *actions, ""])


def check_path(path: Path, game: Game[Any]) -> None:
    """Raises ValueError for a file that cannot hold games of this kind."""
    if _is_sgf(path):
        check_sgf(game)


def num_saved(path: Path, game: Game[Any]) -> int:
    """How many games a file has that `add_record` may add to. Raises ValueError for one that it would spoil."""
    check_path(path, game)
    records = read_records(path, game) if path.exists() else []
    if records and not _is_sgf(path) and not path.read_text(encoding="utf-8").lstrip().startswith("["):
        raise ValueError(f"{path} holds bare moves, to which no other record can be added: name another file")
    return len(records)


def write_records(path: Path, game: Game[Any], records: Iterable[GameRecord]) -> None:
    """Write games to a new file, each as soon as it comes.

    Raises FileExistsError rather than lose an old file, and ValueError, before anything is played, for one that cannot
    hold games of this kind.
    """
    check_path(path, game)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        for record in records:
            file.write(_file_text(path, game, record))
            file.flush()


def add_record(path: Path, game: Game[Any], record: GameRecord) -> None:
    """Write one more game at the end of a file, which need not be there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.write(_file_text(path, game, record))


def _is_sgf(path: Path) -> bool:
    return path.suffix.lower() == ".sgf"


def _file_text(path: Path, game: Game[Any], record: GameRecord) -> str:
    if not _is_sgf(path):
        return f"{record_text(game, record)}\n"
    result = _SGF_RESULTS[record.points] + "F" * (record.forfeited_by is not None)
    return f"{sgf_text(game, SgfGame(record.players, record.actions, result))}\n"


def read_records(path: Path, game: Game[Any]) -> list[GameRecord]:
    """The games in a file, every one replayed under the rules. Raises ValueError, saying where, for anything else."""
    if _is_sgf(path):
        return _read_sgf(path, game)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no record of games: it is not text") from None
    starts = [number for number, line in enumerate(lines) if line.startswith(f"[{_HEADERS[0]} ")]
    if not starts:
        return _read_bare(path, game, lines)
    if any(line.strip() for line in lines[: starts[0]]):
        raise ValueError(f'{path}, line 1: a record of games begins with [{_HEADERS[0]} "..."]')
    records: list[GameRecord] = []
    for start, end in pairwise([*starts, len(lines)]):
        try:
            records.append(_parse(lines[start:end], game))
        except ValueError as error:
            raise ValueError(f"{path}, the game at line {start + 1}: {error}") from None
    return records


def _read_bare(path: Path, game: Game[Any], lines: list[str]) -> list[GameRecord]:
    """Games of which only the actions are known, one on each line."""
    records: list[GameRecord] = []
    for number, line in enumerate(lines):
        try:
            actions, state = parse_moves(game, line)
        except ValueError as error:
            raise ValueError(f"{path}, line {number + 1}: {error}") from None
        if actions:
            result = _result(game, state)
            records.append(GameRecord(game.name, len(records), ("?", "?"), 0, tuple(actions), *result))
    return records


def _read_sgf(path: Path, game: Game[Any]) -> list[GameRecord]:
    """The games in SGF; who gave one up, or lost it on time, has forfeited it."""
    try:
        games = parse_sgf(game, path.read_text(encoding="utf-8", errors="replace"))
    except ValueError as error:
        raise ValueError(f"{path}, {error}") from None
    records: list[GameRecord] = []
    for players, actions, said in games:
        points, ending = _result(game, state_after(game, actions))
        given_up = _SGF_FORFEIT.fullmatch(said)
        if points is None and given_up:
            loser = "WB".index(given_up[1].upper())
            points, ending = float(loser == 1), f"forfeit by {game.player_names[loser]}: {said}"
        records.append(GameRecord(game.name, len(records), players, 0, actions, points, ending))
    return records


def _result(game: Game[S], state: S) -> tuple[float | None, str]:
    """The points of who moves first and the ending of a game that went so far."""
    if not game.is_terminal(state):
        return None, "not finished"
    return points_of_first(game, state), result_text(game, state)


def _parse(lines: list[str], game: Game[Any]) -> GameRecord:
    """The game that the lines tell of. Raises ValueError unless the rules allow what was played."""
    head = [line for line in lines if line.startswith("[")]
    headers = {match[1]: match[2] for match in map(_HEADER_LINE.fullmatch, head) if match}
    well_formed = len(headers) == len(head) and lines[: len(head)] == head
    clock = headers.pop(_CLOCK, "0 0").split()
    if tuple(headers) != _HEADERS or not well_formed:
        raise ValueError(f"the headers must be {', '.join(_HEADERS)}, in this order, once each")
    if headers["game"] != game.name:
        raise ValueError(f"a game of {headers['game']}, not of {game.name}")
    if len(clock) != 2 or not all(re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", word) for word in clock):
        raise ValueError(f"{_CLOCK} must be two times like 0.25, not {' '.join(clock)!r}")
    actions, state = parse_moves(game, " ".join(lines[len(head) :]))
    if headers["result"] not in _POINTS:
        raise ValueError(f"the result must be one of {', '.join(_POINTS)}, not {headers['result']!r}")
    moves, simulations = (_numbers(headers, name, 2) for name in ("moves", "simulations"))
    record = GameRecord(
        game=game.name,
        index=_numbers(headers, "index", 1)[0],
        players=(headers["first"], headers["second"]),
        num_opening_actions=_numbers(headers, "opening", 1)[0],
        actions=tuple(actions),
        points=_POINTS[headers["result"]],
        ending=headers["ending"],
        spent=(
            Spent(moves[0], simulations[0], float(clock[0])),
            Spent(moves[1], simulations[1], float(clock[1])),
        ),
    )
    _check_result(game, record, state)
    return record


def _numbers(headers: dict[str, str], name: str, count: int) -> list[int]:
    words = headers[name].split(" ")
    if len(words) != count or not all(re.fullmatch(r"[0-9]{1,18}", word) for word in words):
        raise ValueError(f"{name} must be {count} whole number{'s' * (count > 1)}, not {headers[name]!r}")
    return list(map(int, words))


def _check_result(game: Game[S], record: GameRecord, state: S) -> None:
    """Raise ValueError unless the rules give the result that was written to a game that ended in `state`."""
    if record.num_opening_actions > len(record.actions):
        raise ValueError(f"an opening of {record.num_opening_actions} in a game of {len(record.actions)} actions")
    if record.points is None or (record.forfeited_by is not None and record.points != 0.5):
        return
    points = points_of_first(game, state)
    if points != record.points:
        raise ValueError(f"the result is {_RESULTS[points]}, not {_RESULTS[record.points]}")
