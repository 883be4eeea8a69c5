"""python -m azero.play: a game at the terminal."""

import random
import re
import sys
import time
from collections.abc import Hashable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Generic, TypeVar

from rich.console import Console
from rich.text import Text

from azero._jit import below, draw
from azero.config import command
from azero.games import load_game
from azero.games.game import Game, listed, result_text, state_after, winner
from azero.games.moves import moves_text, parse_moves
from azero.players.player import Player, SearchPlayer
from azero.players.record import GameRecord, Spent, add_record, num_saved, points_of_first, read_records
from azero.players.spec import parse_player
from azero.screen import text_table
from azero.search.result import rank_actions

S = TypeVar("S", bound=Hashable)

_HELP = """\
an action   plays it
hint        shows what a search thinks of the best actions
undo        takes back your last move and what followed
help        shows this
quit        ends the game, as Ctrl-D and Ctrl-C do"""
_MAX_HINTED = 5  # actions in a hint


@dataclass(frozen=True)
class PlaySettings:
    """Who plays what."""

    game: str = "connect4"  # a name, path/to/file.py:Class or openspiel:name; parameters in parentheses, in quotes
    players: tuple[str, ...] = ("human", "uct:1000")  # who begins and who follows; one alone is the human's opponent
    shuffle: bool = False  # draw who begins
    moves: str = ""  # what has been played already, as in moves='3 3 2' or, in Othello, moves=f5d6c3
    save: str | None = None  # a file, or FILE.sgf, that each game is added to as it ends, also by your leaving
    record: str | None = None  # a file of games, as azero.arena and save= write them, or SGF, to be shown instead
    index: int | None = None  # which of them to go through move by move; null: how each one ended
    resume: bool = False  # play on from where that game ends, or the last one of record=, instead of showing it
    hint: str = "uct:10000,1s"  # the search that gives hints: an uct or azero player
    seed: int | None = None  # fixes all that is drawn, >= 0; null: new every time

    def __post_init__(self) -> None:
        """Raises ValueError for what cannot be played."""
        if len(self.players) not in (1, 2):
            raise ValueError(f"a game has two players, got {len(self.players)}: {' '.join(self.players)}")
        if self.seed is not None and self.seed < 0:
            raise ValueError(f"seed must be at least 0, or null for a new one every time; got {self.seed}")
        if self.resume and self.record is None:
            raise ValueError("resume=true goes on with a recorded game: record=FILE must tell where it is")


@command(PlaySettings, "play", positional="players")
def main(settings: PlaySettings) -> None:
    """Play a game at the terminal, against any player, or watch two of them.

        python -m azero.play game=connect4 uct:1000
        python -m azero.play game=connect4 record=checkpoints/arena/connect4-20260101-120000.txt index=7
        python -m azero.play game=othello uct:1000 moves=f5d6c3 save=mine.txt

    A player is human, random, flat:100 (rollouts a move), uct:1000 (simulations a move) or uct:0.5s (seconds a move),
    azero:PATH@200 (a trained network and search) or network:PATH (without search). The first one named begins; one
    alone is your opponent, and you begin. At your turn, `help` tells what you can answer.
    """
    game = load_game(settings.game)
    console = Console(markup=False, highlight=False, soft_wrap=True)
    if settings.record is not None and not settings.resume:
        _show_records(game, _records(game, settings), settings.index, console)
        return
    opening = _opening(game, settings)
    save = Path(settings.save) if settings.save is not None else None
    first_number = num_saved(save, game) if save is not None else 0
    players = _players(game, settings, console)
    seed = random.SystemRandom().getrandbits(62) if settings.seed is None else settings.seed
    for number in count():
        stream = draw(seed, number)
        if settings.shuffle and below(draw(stream, 2), 2):
            players.reverse()
        played = _Game(game, players, console)
        try:
            played.play(stream, opening)
        except EOFError:
            console.print("\nGoodbye; the game is not finished.")
            return
        finally:
            if save is not None:
                add_record(save, game, played.record(first_number + number))
            elif settings.resume:
                console.print("This game was not kept: save=FILE would add it to a file.")
        if not (any(isinstance(player, _Human) for player in players) and _wants_more(console)):
            return


def _records(game: Game[Any], settings: PlaySettings) -> list[GameRecord]:
    path, index = Path(settings.record or ""), settings.index
    records = [record for record in read_records(path, game) if index in (None, record.index)]
    if not records:
        raise ValueError(f"{path} holds no game{'' if index is None else f' {index}'}")
    return records


def _opening(game: Game[Any], settings: PlaySettings) -> list[int]:
    """What has been played already."""
    recorded = _records(game, settings)[-1].actions if settings.resume else ()
    actions, _ = parse_moves(game, settings.moves, state_after(game, recorded))
    return [*recorded, *actions]


def _show_records(game: Game[Any], records: list[GameRecord], index: int | None, console: Console) -> None:
    for record in records:
        first, second = (" as ".join(pair) for pair in zip(record.players, game.player_names, strict=True))
        console.print(f"game {record.index}: {first} against {second}")
        console.print(moves_text(game, record.actions), end="\n\n")
        state = game.initial_state()
        for action in record.actions:
            if index is not None:
                _show_state(game, state, console)
                console.print(f"{game.player_names[game.current_player(state)]} plays {game.action_text(action)}")
            state = game.step(state, action)
        _show_state(game, state, console)
        console.print(record.ending, end="\n\n")


def _show_state(game: Game[S], state: S, console: Console) -> None:
    picture = Text(f"{game.state_text(state)}\n")
    for name, style in zip(game.player_names, ("bold red", "bold yellow"), strict=True):
        picture.highlight_words([name], style)
    console.print(picture)


def _players(game: Game[S], settings: PlaySettings, console: Console) -> list[Player[S]]:
    specs = [parse_player(text) for text in ("human", *settings.players)[-2:]]  # one alone is the human's opponent
    return [
        _Human(game, _hinting(game, settings.hint), console) if spec.is_human else spec.make(game) for spec in specs
    ]


def _wants_more(console: Console) -> bool:
    try:
        return sys.stdin.isatty() and console.input("Play again? (y/n) ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _hinting(game: Game[S], text: str) -> SearchPlayer[S]:
    player = parse_player(text).make(game)
    if not isinstance(player, SearchPlayer):
        raise ValueError(f"hint must be a player that searches, such as uct:1000, not {text!r}")
    return player


class _TakeBackError(Exception):
    """The human wants to take back his last move."""


class _Human(Player[S]):
    """A person at the terminal."""

    name = "human"

    def __init__(self, game: Game[S], hints: SearchPlayer[S], console: Console) -> None:
        self._game = game
        self._hints = hints
        self._console = console

    def start(self, stream: int) -> None:
        """Begin a new game."""
        super().start(stream)
        self._hints.start(stream)

    def choose(self, state: S) -> int:
        """Ask until the answer is a legal action. Raises _TakeBackError, or EOFError when the human leaves."""
        game = self._game
        legal = listed(map(game.action_text, game.legal_actions(state)))
        question = f"{game.player_names[game.current_player(state)]}, your move ({legal}): "
        action = None
        while action is None:
            action = self._follow(self._console.input(question, markup=False).strip(), state)
        return action

    def _follow(self, answer: str, state: S) -> int | None:
        """The action that an answer stands for; None for any other answer, once it is dealt with."""
        match answer:
            case "quit":
                raise EOFError
            case "undo":
                raise _TakeBackError
            case "hint":
                self._show_hint(state)
            case "help":
                self._console.print(_HELP, _sheet_of_actions(self._game), sep="\n")
            case str() if answer:
                try:
                    return self._game.check_action(state, self._game.parse_action(answer))
                except ValueError as error:
                    self._console.print(f"{error} (or hint, undo, help, quit)")
        return None

    def _show_hint(self, state: S) -> None:
        with self._console.status(Text(f"{self._hints.name} is thinking")):
            result = self._hints.search(state, self._next_stream())
        table = text_table("action", "visits", "share", "value")
        ranks = rank_actions(result)
        for i in sorted(range(len(ranks)), key=ranks.__getitem__, reverse=True)[:_MAX_HINTED]:
            visits, proof = int(result.visit_counts[i]), result.proofs[i]
            share = visits / max(1, result.visit_counts.sum())
            value = f"{result.q[i]:+.2f}" if proof is None else proof.text()
            table.add_row(self._game.action_text(int(result.actions[i])), f"{visits}", f"{share:.0%}", value)
        self._console.print(table)
        self._console.print(f"({self._hints.name}; value +1 is a sure win for you, -1 a sure loss)")


def _sheet_of_actions(game: Game[Any]) -> str:
    """What the game's sheet says of its actions."""
    sheet = sys.modules[type(game).__module__].__doc__ or ""
    found = re.search(r"^Actions: .*?(?=^\S+:|^$|\Z)", sheet, re.MULTILINE | re.DOTALL)
    return found[0].strip() if found else ""


class _Game(Generic[S]):
    """One game, as it is shown."""

    def __init__(self, game: Game[S], players: Sequence[Player[S]], console: Console) -> None:
        self._game = game
        self._players = players
        self._console = console
        self._state, self._actions = game.initial_state(), list[int]()
        self._num_given = 0  # of the actions, before the players chose the others
        self._spent = [Spent(), Spent()]  # also on moves that were taken back
        self._labels = [f"{name} ({player.name})" for name, player in zip(game.player_names, players, strict=True)]

    def play(self, stream: int, opening: Sequence[int]) -> None:
        """From what has been played already to the result. Raises EOFError when the human leaves."""
        self._console.print(f"{self._game.name}: {self._labels[0]} against {self._labels[1]}\n")
        self._num_given = len(opening)
        self._set_up(stream, list(opening))
        while not self._game.is_terminal(self._state):
            try:
                self._move()
            except _TakeBackError:
                self._take_back()
        self._console.print(self._result())

    def _set_up(self, stream: int, actions: list[int]) -> None:
        self._stream, self._actions = stream, actions
        self._state = state_after(self._game, actions)
        for seat, player in enumerate(self._players):
            player.start(draw(stream, seat))
            for action in actions:
                player.observe(action)
        _show_state(self._game, self._state, self._console)

    def _move(self) -> None:
        game, seat = self._game, self._game.current_player(self._state)
        player = self._players[seat]
        human = isinstance(player, _Human)
        with nullcontext() if human else self._console.status(Text(f"{self._labels[seat]} is thinking")):
            before = time.perf_counter()
            action = game.check_action(self._state, player.choose(self._state))
        seconds = time.perf_counter() - before
        self._spent[seat] = self._spent[seat].plus(Spent(1, player.num_simulations, seconds))
        if not human:
            details = [f"{1000 * seconds:.0f} ms"]
            if player.num_simulations:
                details.insert(0, f"{player.num_simulations} simulations")
            if player.value is not None:
                details.append(f"value {player.value:+.2f} for {game.player_names[seat]}")
            self._console.print(f"{self._labels[seat]} plays {game.action_text(action)}   [{', '.join(details)}]")
        self._state = game.step(self._state, action)
        self._actions.append(action)
        for other in self._players:
            other.observe(action)
        _show_state(self._game, self._state, self._console)

    def record(self, index: int) -> GameRecord:
        """The game as far as it went."""
        game, state = self._game, self._state
        over = game.is_terminal(state)
        return GameRecord(
            game=game.name,
            index=index,
            players=(self._players[0].name, self._players[1].name),
            num_opening_actions=self._num_given,
            actions=tuple(self._actions),
            points=points_of_first(game, state) if over else None,
            ending=result_text(game, state) if over else "not finished",
            spent=(self._spent[0], self._spent[1]),
        )

    def _take_back(self) -> None:
        """Go back to where the human made his last move."""
        for kept in reversed(range(len(self._actions))):
            state = state_after(self._game, self._actions[:kept])
            if isinstance(self._players[self._game.current_player(state)], _Human):
                self._num_given = min(self._num_given, kept)
                self._set_up(self._stream, self._actions[:kept])
                return
        self._console.print("There is no move of yours to take back.")

    def _result(self) -> str:
        """How the finished game ended, from the human's view if just one is playing."""
        humans = [isinstance(player, _Human) for player in self._players]
        won_by, text = winner(self._game, self._state), result_text(self._game, self._state)
        if won_by is None:
            return "The game is a draw."
        if sum(humans) != 1:
            return f"{self._labels[won_by]} wins."
        return f"You {'win' if humans[won_by] else 'lose'}: {text}."


if __name__ == "__main__":
    main()
