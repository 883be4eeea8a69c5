import inspect
import sys
from contextlib import closing
from functools import partial
from multiprocessing import active_children
from pathlib import Path

import pytest

from azero.games.tictactoe import TicTacToe
from azero.players.match import MatchSettings, play_match, report
from azero.players.record import GameRecord, record_text
from azero.players.series import Pair, open_series
from azero.players.spec import parse_player
from azero.players.workers import WorkerError
from tests.evaluators.networks import random_network
from tests.games import plain_tictactoe

SETTINGS = MatchSettings(num_games=5, num_opening_moves=1, seed=3, num_workers=1)
PAIRS = [("uct:10", "random"), ("random", "random")]
TTT = TicTacToe()


def texts(records: list[GameRecord]) -> list[str]:
    return [record_text(TTT, record) for record in records]


def measured(directory: Path, pairs: list[Pair] = PAIRS, settings: MatchSettings = SETTINGS) -> list[str]:
    """All games of some matches, those that were there included."""
    with open_series(directory, "tictactoe", settings) as series:
        for _ in series.play(pairs):
            pass
        return [text for pair in pairs for text in texts(series.records(pair, settings.num_games))]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return measured(tmp_path_factory.mktemp("whole"))


def test_the_games_are_those_of_a_match(whole: list[str]) -> None:
    for number, pair in enumerate(PAIRS):
        match = play_match(TTT, [partial(parse_player(name).make, TTT) for name in pair], SETTINGS)
        assert texts(list(match)) == whole[5 * number : 5 * number + 5]


def test_a_series_that_stopped_goes_on_to_the_same_games(tmp_path: Path, whole: list[str]) -> None:
    with open_series(tmp_path, "tictactoe", SETTINGS) as series, closing(series.play(PAIRS)) as games:
        first = [next(games) for _ in range(3)]
    assert [pair for pair, _ in first] == [PAIRS[0]] * 3
    with open_series(tmp_path, "tictactoe", SETTINGS) as series:
        assert texts(series.records(PAIRS[0])) == whole[:3]
        assert [(pair, record.index) for pair, record in series.play(PAIRS)] == [
            (PAIRS[0], 3), (PAIRS[0], 4), *((PAIRS[1], index) for index in range(5)),
        ]  # fmt: skip
    assert measured(tmp_path) == whole


def test_a_game_that_is_half_written_is_played_again(tmp_path: Path, whole: list[str]) -> None:
    measured(tmp_path)
    path = tmp_path / "games.txt"
    text = path.read_bytes()
    for end in (len(text) - 2, text.rindex(b"[index"), text.rindex(b"[game") + 3, 40):
        path.write_bytes(text[:end])
        assert measured(tmp_path) == whole


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    measured(tmp_path)
    path = tmp_path / "games.txt"
    path.write_text(path.read_text().replace('[result "', '[result "x', 1))
    with pytest.raises(ValueError, match="the game at line 1"):
        measured(tmp_path)


def test_more_games_continue_a_match(tmp_path: Path, whole: list[str]) -> None:
    with open_series(tmp_path, "tictactoe", SETTINGS) as series:
        assert [record.index for _, record in series.play(PAIRS[:1], 2)] == [0, 1]
        assert [record.index for _, record in series.play(PAIRS[:1])] == [2, 3, 4]
        assert texts(series.records(PAIRS[0])) == whole[:5]
        assert texts(series.records(PAIRS[0], 2)) == whole[:2]


def test_seats_belong_to_the_match_also_where_the_same_two_meet_the_other_way_round(tmp_path: Path) -> None:
    there, back = ("uct:50", "random"), ("random", "uct:50")
    with open_series(tmp_path, "tictactoe", SETTINGS) as series:
        assert [pair for pair, _ in series.play([there, back, there])] == [there] * 5 + [back] * 5
        assert report(series.records(there)).score.points > 3
        assert report(series.records(back)).score.points < 2


def test_the_times_are_kept(tmp_path: Path) -> None:
    measured(tmp_path)
    with open_series(tmp_path, "tictactoe", SETTINGS) as series:
        spent = report(series.records(PAIRS[0])).spent
    assert spent[0].seconds > spent[1].seconds > 0


@pytest.mark.compiled
def test_processes_play_the_same_games_in_the_same_order(tmp_path: Path, whole: list[str]) -> None:
    beside = MatchSettings(num_games=5, num_opening_moves=1, seed=3, num_workers=2)
    assert measured(tmp_path, settings=beside) == whole


@pytest.mark.compiled
def test_processes_stay_for_the_next_games_but_not_beyond_the_series(tmp_path: Path) -> None:
    beside = MatchSettings(num_games=6, num_opening_moves=1, seed=3, num_workers=2)
    with open_series(tmp_path, "tictactoe", beside) as series:
        list(series.play(PAIRS, 2))
        workers = active_children()
        assert len(workers) == 2
        list(series.play(PAIRS, 4))
        assert set(active_children()) == set(workers)
        with closing(series.play(PAIRS)) as games:
            next(games)
        assert active_children() == []  # those that were in the middle of a game cannot be used again
        list(series.play(PAIRS))
        assert len(active_children()) == 2
    assert active_children() == []
    alone = MatchSettings(num_games=6, num_opening_moves=1, seed=3, num_workers=1)
    assert measured(tmp_path, settings=alone) == measured(tmp_path / "alone", settings=alone)


@pytest.mark.compiled
def test_a_process_that_dies_is_an_error(tmp_path: Path) -> None:
    beside = MatchSettings(num_games=4, num_workers=2)
    with open_series(tmp_path, "tictactoe", beside) as series:
        list(series.play([("random", "random")], 2))
        for worker in active_children():
            worker.kill()
        with pytest.raises(WorkerError, match="has died; perhaps memory has run out"):
            list(series.play([("random", "random")]))


@pytest.mark.parametrize("num_workers", [1, 2])
def test_a_player_that_cannot_be_made_is_an_error(tmp_path: Path, num_workers: int) -> None:
    settings = MatchSettings(num_games=2, num_workers=num_workers)
    with pytest.raises(ValueError, match="a human cannot play here"):
        measured(tmp_path, [("random", "human")], settings)


@pytest.mark.parametrize(
    ("game", "settings", "complaint"),
    [
        ("connect4", SETTINGS, "game=tictactoe, not connect4"),
        ("tictactoe", MatchSettings(num_opening_moves=1, seed=4), "seed=3, not 4: name another directory"),
        ("tictactoe", MatchSettings(seed=3, num_opening_moves=2), "num_opening_moves=1, not 2"),
    ],
)
def test_games_of_other_settings_are_not_mixed(
    tmp_path: Path, game: str, settings: MatchSettings, complaint: str
) -> None:
    measured(tmp_path)
    with pytest.raises(ValueError, match=complaint), open_series(tmp_path, game, settings):
        pass


def test_games_of_another_network_of_the_same_name_are_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, directory = tmp_path / "weights.safetensors", tmp_path / "series"
    pairs = [(f"network:{path}", "random")]
    path.write_bytes(random_network(TTT, seed=1).to_bytes())
    games = measured(directory, pairs)
    monkeypatch.setattr("azero.evaluators.weights.version", lambda *_: "another version")
    path.write_bytes(random_network(TTT, seed=1).to_bytes())
    assert measured(directory, pairs) == games
    path.write_bytes(random_network(TTT, seed=2).to_bytes())
    for wanted in (pairs, [("random", "random"), *pairs]):
        with pytest.raises(ValueError, match=r"the network of network:.* is not the one of its games in .*series"):
            measured(directory, wanted)
    measured(directory, [("random", "random")])  # which has none
    (directory / "games.txt").unlink()
    assert measured(directory, pairs) != games  # there are none by now that it could be mixed with
    (directory / "networks.json").write_text("{")
    with pytest.raises(ValueError, match=r"networks.json cannot be read"):
        measured(directory, pairs)


def test_settings_that_are_lost_are_missed(tmp_path: Path) -> None:
    measured(tmp_path)
    (tmp_path / "settings.json").write_text("{")
    with pytest.raises(ValueError, match="cannot be read"):
        measured(tmp_path)
    (tmp_path / "settings.json").unlink()
    with pytest.raises(ValueError, match="cannot be read"):
        measured(tmp_path)


def test_games_of_other_code_are_noticed(tmp_path: Path) -> None:
    measured(tmp_path)
    with open_series(tmp_path, "tictactoe", SETTINGS) as series:
        assert series.is_current
    path = tmp_path / "settings.json"
    path.write_text(path.read_text().replace('"code": "', '"code": "0'))
    with open_series(tmp_path, "tictactoe", SETTINGS) as series:
        assert not series.is_current


def test_a_missing_game_is_missed(tmp_path: Path) -> None:
    measured(tmp_path)
    path = tmp_path / "games.txt"
    text = path.read_text()
    path.write_text(text[text.index("[game", 1) :])
    with pytest.raises(ValueError, match="game 0 of uct:10 against random is missing"):
        measured(tmp_path)


def test_two_processes_do_not_share_a_directory(tmp_path: Path) -> None:
    again = open_series(tmp_path, "tictactoe", SETTINGS)
    with open_series(tmp_path, "tictactoe", SETTINGS), pytest.raises(ValueError, match="is at work"), again:
        pass


def test_games_by_other_rules_in_the_games_own_file_are_not_of_the_same_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = inspect.getsource(plain_tictactoe)
    current = []
    for edited in (text, text, f"{text}# edited\n"):
        path = tmp_path / "rules_of_mine.py"
        path.write_text(edited)
        monkeypatch.delitem(sys.modules, "rules_of_mine", raising=False)
        game = f"{path}:TicTacToe"
        with open_series(tmp_path / "games", game, MatchSettings(num_games=2, num_workers=1)) as series:
            assert len(list(series.play([("random", "random")], 2))) == (2 if not current else 0)
            current.append(series.is_current)
    assert current == [True, True, False]
