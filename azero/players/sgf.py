"""Games in SGF, the Smart Game Format (FF[4], red-bean.com/sgf), as the players of each game write it.

Gomoku and its kin (GM[4]) write a cell as two letters, column and row from the top left, "hh"; Hex (GM[11], as HexGui)
and Othello (GM[2], as Edax and Cassio) as a letter and a number, "d3", rows from the top. All three ways begin in the
same corner, and Hex and Othello are read in both. Hex's swap is "swap-pieces"; a pass in Othello is empty, or left out.
B is who moves first. Of a file with variations the main line is read; comments and marks are passed over.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from azero.games.game import Game, IllegalActionError
from azero.games.hex import Hex
from azero.games.mnk import MNK
from azero.games.moves import parse_moves
from azero.games.othello import Othello

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_COLOURS = "BW"  # of who moves first, and of the other
_TOKEN = re.compile(r"\s+|[();]|[A-Za-z]+|\[(?:\\.|[^\]\\])*\]", re.DOTALL)
_MOVES_IN_LINE = 12


class SgfGame(NamedTuple):
    """What a game in SGF tells."""

    players: tuple[str, str]  # who moves first, and the other
    actions: tuple[int, ...]  # forced passes included
    result: str  # as RE says it: "B+", "W+Resign", "0" for a draw, "?"


class _Property(NamedTuple):
    name: str
    values: list[str]
    line: int


class _Kind(NamedTuple):
    """How a game is written."""

    number: int  # of GM
    columns: int
    rows: int
    lettered: bool = False  # rows are letters, not numbers
    last: tuple[str, ...] = ()  # ways to write the action after the cells; the first is written
    stones: tuple[tuple[str, str], tuple[str, str]] | None = None  # of B and W, that lie there at the start

    def text(self, action: int) -> str:
        """How an action is written."""
        if action == self.rows * self.columns:
            return self.last[0]
        row, column = divmod(action, self.columns)
        return f"{_LETTERS[column]}{_LETTERS[row] if self.lettered else row + 1}"

    def action(self, text: str) -> int | None:
        """The action that is written so; None if there is no such."""
        word = text.strip().lower()
        if word in self.last:
            return self.rows * self.columns
        cell = re.fullmatch("([a-z])(?:([a-z])|([0-9]{1,2}))", word)
        if cell is None or (self.lettered and cell[3]):
            return None
        column, row = ord(cell[1]) - ord("a"), ord(cell[2]) - ord("a") if cell[2] else int(cell[3]) - 1
        return row * self.columns + column if column < self.columns and 0 <= row < self.rows else None


def _kind(game: Game[Any]) -> _Kind:
    match game:
        case MNK(rules=rules):
            return _Kind(4, rules.columns, rules.rows, lettered=True)
        case Hex(rules=rules):
            return _Kind(11, rules.size, rules.size, last=("swap-pieces", "swap") if rules.swap else ())
        case Othello(rules=rules):
            half = rules.size // 2
            left, right, upper, lower = _LETTERS[half - 1], _LETTERS[half], half, half + 1
            stones = (f"{right}{upper}", f"{left}{lower}"), (f"{left}{upper}", f"{right}{lower}")
            return _Kind(2, rules.size, rules.size, last=("", "pass", "pa", "@@@@", "tt"), stones=stones)
    raise ValueError(f"{game.name} cannot be kept in SGF, as gomoku, other mnk, hex and othello can; take a .txt file")


def check_sgf(game: Game[Any]) -> None:
    """Raises ValueError for a game that is not written in SGF."""
    _kind(game)


def sgf_text(game: Game[Any], played: SgfGame) -> str:
    """One game as SGF, ending with a line break. Raises ValueError for a game that is not written so."""
    kind = _kind(game)
    size = f"{kind.columns}" if kind.rows == kind.columns else f"{kind.columns}:{kind.rows}"
    values = {"FF": "4", "GM": f"{kind.number}", "CA": "UTF-8", "SZ": size}
    values |= {"PB": played.players[0], "PW": played.players[1], "RE": played.result}
    root = "".join(f"{name}[{_escaped(value)}]" for name, value in values.items())
    moves = [f";{_COLOURS[ply % 2]}[{kind.text(action)}]" for ply, action in enumerate(played.actions)]
    rows = ["".join(moves[start : start + _MOVES_IN_LINE]) for start in range(0, len(moves), _MOVES_IN_LINE)]
    return "\n".join([f"(;{root}", *rows]) + ")\n"


def parse_sgf(game: Game[Any], text: str) -> list[SgfGame]:
    """The main lines of the games in a text. Raises ValueError, naming the line, for what is no SGF of this game."""
    kind = _kind(game)
    try:
        return [_parse(game, kind, properties) for properties in _main_lines(text)] if text.strip() else []
    except ValueError as error:
        raise ValueError(" ".join(str(error).split())) from None  # a value that it shows may have line breaks


def _parse(game: Game[Any], kind: _Kind, properties: list[_Property]) -> SgfGame:
    _check_board(game, kind, properties)
    values = {name: " ".join(" ".join(values).split()) for name, values, _ in reversed(properties)}  # the first of each
    result, actions, state = values.get("RE", "?"), list[int](), game.initial_state()
    moves = [entry for entry in properties if entry.name in _COLOURS]
    for number, (colour, written, line) in enumerate(moves, 1):
        value = " ".join(written)
        where = f"line {line}: move {number}, {colour}[{value}]"
        if value.strip().lower() in ("resign", "forfeit"):
            result = f"{_COLOURS[1 - _COLOURS.index(colour)]}+{value.strip().title()}"
            break
        action = kind.action(value)
        if action is None:
            cells = f"{kind.text(0)} to {kind.text(kind.rows * kind.columns - 1)}"
            swap = f"; with the swap: {_sized(game, kind.columns, kind.rows, swap=True)}" if "swap" in value else ""
            raise ValueError(f"{where} is no cell, {cells}{swap}")
        try:
            played, state = parse_moves(game, game.action_text(action), state)
        except IllegalActionError:
            over = "the game is over" if game.is_terminal(state) else "the rules do not allow it there"
            raise ValueError(f"{where}: {over}") from None
        actions += played
        if _COLOURS[(len(actions) - 1) % 2] != colour:  # in these games players take turns, a pass is one
            raise ValueError(f"{where}: it is the other's turn" + (", B moves first" if number == 1 else ""))
    return SgfGame((values.get("PB") or "?", values.get("PW") or "?"), tuple(actions), result)


def _check_board(game: Game[Any], kind: _Kind, properties: list[_Property]) -> None:
    """Raise ValueError unless the game is the one asked for, of its size, and begins at its start."""
    start = dict(zip(("AB", "AW"), kind.stones or (), strict=False))
    for name, values, line in properties:
        said = f"line {line}: {name}[{']['.join(values)}]"
        if name == "GM" and values[0].strip() != f"{kind.number}":
            raise ValueError(f"{said} is another game; {game.name} is GM[{kind.number}]")
        if name == "SZ":
            size = re.fullmatch(r"\s*(\d{1,3})\s*(?::\s*(\d{1,3})\s*)?", values[0])
            if size is None:
                raise ValueError(f"{said} is no size, such as SZ[11] or, columns and rows, SZ[7:6]")
            columns, rows = int(size[1]), int(size[2] or size[1])
            if (columns, rows) != (kind.columns, kind.rows):
                raise ValueError(f"{said} is not the size of {game.name}: {_sized(game, columns, rows)}")
        if name in ("AB", "AW", "AE") and sorted(map(str.lower, values)) != sorted(start.get(name, ())):
            raise ValueError(f"{said} sets a position up; only games from the start are read")


def _sized(game: Game[Any], columns: int, rows: int, swap: bool = False) -> str:
    """What to ask for to play such a game on another board, or why there is none."""
    try:
        match game:
            case MNK():
                return f"take game='{MNK(rows, columns, min(5, max(rows, columns))).name}'"  # GM[4] is five in a row
            case _ if columns != rows:
                return f"{type(game).name} has square boards only"
            case Hex(rules=rules):
                return f"take game='{Hex(rows, swap or rules.swap).name}'"
            case _:
                return f"take game='{Othello(rows).name}'"
    except ValueError as error:
        return str(error)


def _main_lines(text: str) -> Iterator[list[_Property]]:
    """Of each game the properties of its main line, which ends where the first ')' does."""
    main: list[_Property] = []
    values: list[str] | None = None  # of the property that is being read
    line, depth, is_main = 1, 0, True
    for line, word in _tokens(text):
        if depth == 0 and word != "(":
            raise ValueError(f"line {line}: {word!r} is outside of a game")
        if values == [] and word[0] != "[":
            raise ValueError(f"line {line}: a property before {word!r} has no value")
        if word in ("(", ")", ";"):
            depth, values = depth + {"(": 1, ")": -1, ";": 0}[word], None
            is_main = depth == 0 or (is_main and word != ")")
            if depth == 0:
                yield main
                main = []
        elif word[0] != "[":
            values = []
            if is_main:
                main.append(_Property(re.sub("[a-z]", "", word), values, line))
        elif values is None:
            raise ValueError(f"line {line}: the value {word} has no name")
        else:
            values.append(re.sub(r"\\(.)", lambda escaped: escaped[1].strip("\n"), word[1:-1], flags=re.DOTALL))
    if depth:
        raise ValueError(f"line {line}: the file ends before the ')' of its last game")


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    """The words of SGF with their lines; what comes before the first game is passed over."""
    start = re.search(r"\(\s*;", text)
    if start is None:
        raise ValueError("line 1: this is no SGF, which begins with '(;'")
    position, line = start.start(), 1 + text.count("\n", 0, start.start())
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            what = "a value without its ']'" if text[position] == "[" else f"{text[position]!r} is no SGF"
            raise ValueError(f"line {line}: {what}")
        if not token[0].isspace():
            yield line, token[0]
        line, position = line + token[0].count("\n"), token.end()


def _escaped(text: str) -> str:
    return re.sub(r"([\\\]])", r"\\\1", " ".join(text.split()))
