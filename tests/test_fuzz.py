"""Every reader of files and text takes anything: it answers, or refuses with an error that is meant to be told.

AZERO_FUZZ_EXAMPLES=20000 in the environment makes it a search of minutes.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
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

RUN = Path(__file__).parent / "learning" / "data" / "format1"
RECORD = TEXT.encode()
SGF = b"(;FF[4]GM[4]SZ[15]PB[a]PW[b]RE[B+];B[hh];W[hi](;B[ii])(;B[aa]))"
TTT = TicTacToe()
fuzzing = settings(fuzzed, suppress_health_check=[HealthCheck.function_scoped_fixture])
Reader = Callable[[Path], Any]

FILES: dict[str, tuple[str, bytes, Reader, type[Exception]]] = {
    "weights": (
        "a.safetensors", (RUN / "iteration-000001/weights.safetensors").read_bytes(), read_network, NetworkFileError,
    ),
    "samples": (
        "a.npz", (RUN / "replay/iteration-000001.npz").read_bytes(), partial(read_samples, game=TTT), SamplesFileError,
    ),
    "record": ("a.txt", RECORD, partial(read_records, game=TTT), ValueError),
    "sgf": ("a.sgf", SGF, partial(read_records, game=load_game("gomoku")), ValueError),
    "settings": ("a.yaml", b"seed: 0\ngame: hex\nsearch:\n  rule: puct\nlist:\n- a\n", saved_words, ValueError),
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
@fuzzing
@given(data=st.data())
def test_a_file_is_read_or_refused_in_one_line(kind: str, tmp_path: Path, data: Any) -> None:
    name, whole, read, refusal = FILES[kind]
    (tmp_path / name).write_bytes(data.draw(mutated(whole)))
    with read_or_refused(refusal):
        read(tmp_path / name)


@fuzzing
@given(data=st.data())
@pytest.mark.parametrize("name", ["state.json", "training.safetensors", "weights.safetensors"])
def test_a_checkpoint_is_read_or_refused_in_one_line(name: str, tmp_path: Path, data: Any) -> None:
    directory = tmp_path / "iteration-000001"
    directory.mkdir(exist_ok=True)
    for path in (RUN / directory.name).iterdir():
        contents = path.read_bytes()
        (directory / path.name).write_bytes(data.draw(mutated(contents)) if path.name == name else contents)
    with read_or_refused(CheckpointError):
        load_checkpoint(directory)


@fuzzing
@given(data=st.data())
def test_a_series_is_read_or_refused(tmp_path: Path, data: Any) -> None:
    (tmp_path / "games.txt").write_bytes(data.draw(mutated(RECORD)))
    (tmp_path / "settings.json").write_bytes(data.draw(mutated(b'{"game": "tictactoe", "seed": 0}')))
    with read_or_refused(ValueError), open_series(tmp_path, "tictactoe", MatchSettings()):
        pass


games = st.sampled_from([*GAMES, "nim(heaps=3-4,take=2)", "mnk(rows=3)", "othello(size=6)", "hex(size=3,swap=yes)"])


@pytest.mark.parametrize("name", sorted(GAMES))
@fuzzing
@given(data=st.data())
def test_moves_and_states_of_any_text_are_parsed_or_refused(name: str, data: Any) -> None:
    game = load_game(name)
    state = game.initial_state()
    shown = [game.state_text(state), " ".join(map(game.action_text, game.legal_actions(state)[:3]))]
    known = (
        st.sampled_from([text.encode() for text in shown]).flatmap(mutated).map(lambda b: b.decode(errors="replace"))
    )
    text = data.draw(st.one_of(st.text(max_size=40), known))
    for parse in (game.parse_state, game.parse_action, lambda text: parse_moves(game, text)):
        with read_or_refused(ValueError, lines=99):  # some show a picture
            parse(text)


@fuzzing
@example("\nhex(=yes)")
@given(games.map(str.encode).flatmap(mutated).map(lambda contents: contents.decode(errors="replace")))
def test_a_game_of_any_text_is_loaded_or_refused(text: str) -> None:
    with read_or_refused(ValueError, ImportError, OSError):
        load_game(text)


@fuzzing
@given(st.sampled_from([b"uct:1000,c=1.5", b"azero:run@200,noise=0.1", b"alphabeta:8", b"flat:0.5s"]).flatmap(mutated))
def test_a_player_of_any_text_is_parsed_or_refused(contents: bytes) -> None:
    with read_or_refused(ValueError):
        parse_player(contents.decode(errors="replace"))


@fuzzing
@given(mutated(SGF))
def test_games_in_sgf_are_parsed_or_refused(contents: bytes) -> None:
    with read_or_refused(ValueError):
        parse_sgf(load_game("gomoku"), contents.decode(errors="replace"))
