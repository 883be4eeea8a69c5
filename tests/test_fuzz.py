"""Every reader of files and text takes anything: it answers, or refuses with an error that is meant to be told.

`tests/corpus` keeps one input for each answer that was ever found. AZERO_FUZZ_EXAMPLES=20000 in the environment makes
this a search of minutes that begins from them, AZERO_FUZZ_KEEP=1 adds what gets an answer of another kind.
"""

import os
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from azero.config import saved_words
from azero.evaluators.weights import NetworkFileError, read_network
from azero.games import GAMES, load_game
from azero.games.moves import parse_moves
from azero.games.tictactoe import TicTacToe
from azero.learning.checkpoint import CheckpointError, load_checkpoint
from azero.learning.samples import SamplesFileError, read_samples
from azero.players.match import MatchSettings
from azero.players.record import read_records
from azero.players.series import open_series
from azero.players.sgf import parse_sgf
from azero.players.spec import parse_player
from tests.mutations import fuzzed, mutated, read_or_refused
from tests.players.test_record import TEXT

CORPUS = Path(__file__).parent / "corpus"
RUN = Path(__file__).parent / "learning" / "data" / "format1"
RECORD = TEXT.encode()
SGF = b"(;FF[4]GM[4]SZ[15]PB[a]PW[b]RE[B+];B[hh];W[hi](;B[ii])(;B[aa]))"
TTT = TicTacToe()
fuzzing = settings(fuzzed, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Kind(NamedTuple):
    """A kind of input."""

    whole: list[bytes]  # sound ones
    read: Callable[[bytes, Path], Any]  # what is to be made of one; a directory to work in
    refusals: tuple[type[Exception], ...] = (ValueError,)
    lines: int = 1  # a refusal has fewer line breaks


def from_file(name: str, read: Callable[[Path], Any], contents: bytes, directory: Path) -> None:
    """Read a file that holds this."""
    (directory / name).write_bytes(contents)
    read(directory / name)


def from_checkpoint(name: str, contents: bytes, directory: Path) -> None:
    """Load a checkpoint one of whose files holds this."""
    checkpoint = directory / "iteration-000001"
    checkpoint.mkdir(exist_ok=True)
    for path in (RUN / checkpoint.name).iterdir():
        (checkpoint / path.name).write_bytes(contents if path.name == name else path.read_bytes())
    load_checkpoint(checkpoint)


def from_series(name: str, contents: bytes, directory: Path) -> None:
    """Open a series one of whose files holds this."""
    for path, sound in (("games.txt", RECORD), ("settings.json", SERIES)):
        (directory / path).write_bytes(contents if path == name else sound)
    with open_series(directory, "tictactoe", MatchSettings(num_opening_moves=1, seed=3)):
        pass


def from_text(parse: Callable[[str], Any], contents: bytes, _directory: Path) -> None:
    """Parse this text."""
    parse(contents.decode(errors="replace"))


def file(name: str, read: Callable[[Path], Any], whole: bytes, refusal: type[Exception] = ValueError) -> Kind:
    """Files with a reader."""
    return Kind([whole], partial(from_file, name, read), (refusal,))


def part(name: str) -> Kind:
    """Files of a checkpoint."""
    return Kind([(RUN / "iteration-000001" / name).read_bytes()], partial(from_checkpoint, name), (CheckpointError,))


def text(whole: list[str], parse: Callable[[str], Any], *refusals: type[Exception], lines: int = 1) -> Kind:
    """Text with a parser."""
    return Kind([some.encode() for some in whole], partial(from_text, parse), (ValueError, *refusals), lines)


SERIES = b'{"game": "tictactoe", "num_opening_moves": 1, "seed": 3, "max_moves": null, "max_move_seconds": null}'
WEIGHTS = (RUN / "iteration-000001/weights.safetensors").read_bytes()
SAMPLES = (RUN / "replay/iteration-000001.npz").read_bytes()
PLAYERS = ["uct:1000,c=1.5", "azero:run@200,noise=0.1", "alphabeta:8", "flat:0.5s"]
SETTINGS = b"seed: 0\ngame: hex\nsearch:\n  rule: puct\nlist:\n- a\n"
SOME_GAMES = [*GAMES, "nim(heaps=3-4,take=2)", "mnk(rows=3)", "othello(size=6)", "hex(size=3,swap=yes)"]
KINDS = {
    "weights": file("a.safetensors", read_network, WEIGHTS, NetworkFileError),
    "samples": file("a.npz", partial(read_samples, game=TTT), SAMPLES, SamplesFileError),
    "record": file("a.txt", partial(read_records, game=TTT), RECORD),
    "sgf-file": file("a.sgf", partial(read_records, game=load_game("gomoku")), SGF),
    "settings": file("a.yaml", saved_words, SETTINGS),
    "checkpoint-state": part("state.json"),
    "checkpoint-training": part("training.safetensors"),
    "checkpoint-weights": part("weights.safetensors"),
    "series-games": Kind([RECORD], partial(from_series, "games.txt")),
    "series-settings": Kind([SERIES], partial(from_series, "settings.json")),
    "game": text(SOME_GAMES, load_game, ImportError, OSError),
    "player": text(PLAYERS, parse_player),
    "sgf": text([SGF.decode()], partial(parse_sgf, load_game("gomoku"))),
}
for name in sorted(GAMES):  # some of whose refusals show a picture
    board = load_game(name)
    start = board.initial_state()
    moves = [" ".join(map(board.action_text, board.legal_actions(start)[:3]))]
    KINDS[f"state-{name}"] = text([board.state_text(start)], board.parse_state, lines=99)
    KINDS[f"action-{name}"] = text(moves, board.parse_action, lines=99)
    KINDS[f"moves-{name}"] = text(moves, partial(parse_moves, board), lines=99)


@cache
def kept(kind: str) -> list[bytes]:
    """What was found before this process began."""
    return [path.read_bytes() for path in found(kind)]


def found(kind: str) -> list[Path]:
    """The files of the corpus; the name of each is what is said of it, "sound" where it is read."""
    return sorted((CORPUS / kind).glob("*"))


def answer(kind: str, contents: bytes, directory: Path) -> str:
    """What the reader says, without what varies in it; nothing of what it reads well."""
    with read_or_refused(*KINDS[kind].refusals, lines=KINDS[kind].lines) as said:
        KINDS[kind].read(contents, directory)
    words = re.sub(r"'.*'|\".*\"|\(.*\)|\[.*\]", "", "".join(said).partition("\n")[0].replace(str(directory), ""))
    return " ".join(re.findall(r"[A-Za-z]{2,}", words)[:8])


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_found_before_is_read_or_refused_in_words(kind: str, tmp_path: Path) -> None:
    assert found(kind)
    for path in found(kind):
        assert (answer(kind, path.read_bytes(), tmp_path) == "") == (path.name == "sound"), path


@pytest.mark.parametrize("kind", KINDS)
@fuzzing
@given(data=st.data())
def test_anything_is_read_or_refused_in_words(kind: str, tmp_path: Path, data: Any) -> None:
    contents = data.draw(mutated(*KINDS[kind].whole, *kept(kind)))
    said = answer(kind, contents, tmp_path)
    place = CORPUS / kind / (re.sub(r"\W+", "-", said).lower() or "sound")
    if os.environ.get("AZERO_FUZZ_KEEP") and (not place.exists() or len(contents) < place.stat().st_size):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(contents)
