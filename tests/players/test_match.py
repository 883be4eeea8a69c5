import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from azero.evaluators.evaluator import EvaluatorError
from azero.games.connect4 import Connect4
from azero.games.game import Game, state_after, winner
from azero.games.tictactoe import TicTacToe
from azero.players.match import MatchReport, MatchSettings, play_game, play_match, random_openings, report
from azero.players.player import NetworkPlayer, Player, RandomPlayer
from azero.players.rating import Score
from azero.players.record import GameRecord, record_text
from azero.players.spec import parse_player
from tests.players.doubles import Scripted, Weights, lowest, replaying

TTT, C4 = TicTacToe(), Connect4()

DRAWN_IN_42 = [1, 3, 1, 1, 1, 1, 1, 3, 5, 2, 3, 0, 4, 3, 2, 5, 5, 2, 6, 0, 6]
DRAWN_IN_42 += [4, 0, 0, 0, 4, 2, 6, 3, 0, 5, 4, 2, 2, 4, 4, 6, 5, 5, 6, 6, 3]
WON_IN_42 = [1, 0, 0, 0, 2, 0, 3, 0, 5, 4, 6, 1, 2, 3, 4, 5, 6, 6, 5, 4, 3]
WON_IN_42 += [2, 1, 6, 5, 4, 3, 2, 1, 1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1, 0]


def match(game: Game[Any], players: Sequence[str | Callable[[], Player[Any]]], **settings: Any) -> list[GameRecord]:
    makers = [partial(parse_player(player).make, game) if isinstance(player, str) else player for player in players]
    return list(play_match(game, makers, MatchSettings(**settings)))


def test_openings_lead_to_different_unfinished_positions() -> None:
    openings = random_openings(C4, 40, 2, stream=0)
    states = [state_after(C4, opening) for opening in openings]
    assert len(set(states)) == 40
    assert {len(opening) for opening in openings} == {2}
    assert openings != random_openings(C4, 40, 2, stream=1)
    assert openings[:10] == random_openings(C4, 10, 2, stream=0)


def test_openings_grow_where_short_ones_run_out() -> None:
    openings = random_openings(TTT, 200, 1, stream=0)
    states = [state_after(TTT, opening) for opening in openings]
    assert len(set(states)) == 200
    assert not any(map(TTT.is_terminal, states))
    assert sorted(map(len, openings))[:9] == [1] * 9
    assert len(openings[-1]) > 1


def test_openings_repeat_only_in_a_game_too_small_for_more() -> None:
    class Coin(Game[tuple[int, ...]]):
        name, num_actions, max_game_length = "coin", 2, 2

        def initial_state(self) -> tuple[int, ...]:
            return ()

        def current_player(self, state: tuple[int, ...]) -> int:
            return len(state)

        def legal_actions(self, state: tuple[int, ...]) -> list[int]:
            return [] if len(state) == 2 else [0, 1]

        def step(self, state: tuple[int, ...], action: int) -> tuple[int, ...]:
            return (*state, action)

        def outcome(self, state: tuple[int, ...]) -> float:
            return 1.0

    assert sorted(random_openings(Coin(), 5, 1, stream=0)[:2]) == [(0,), (1,)]
    assert len(random_openings(Coin(), 5, 1, stream=0)) == 5
    assert random_openings(Coin(), 3, 2, stream=0) == [()] * 3
    assert random_openings(C4, 3, 0, stream=0) == [()] * 3


def test_each_opening_is_played_from_both_sides() -> None:
    records = match(C4, ["flat:7", "random"], num_games=10)
    assert [record.index for record in records] == list(range(10))
    for even, odd in zip(records[::2], records[1::2], strict=True):
        assert even.actions[:2] == odd.actions[:2]
        assert even.players == odd.players[::-1] == ("flat:7", "random")
    assert len({record.actions[:2] for record in records}) == 5


def test_no_game_depends_on_how_many_run_beside_it() -> None:
    players = ["uct:20", "flat:20"]
    alone = match(TTT, players, num_games=12, num_workers=1, seed=3)
    for num_workers in (2, 5):
        beside = match(TTT, players, num_games=12, num_workers=num_workers, seed=3)
        assert [record_text(TTT, record) for record in beside] == [record_text(TTT, record) for record in alone]
    assert [record.actions for record in match(TTT, players, num_games=5, seed=3)] == [r.actions for r in alone[:5]]
    assert [record.actions for record in match(TTT, players, num_games=12, seed=4)] != [r.actions for r in alone]


def test_players_without_any_randomness_still_play_different_games() -> None:
    def network() -> Player[Any]:
        return NetworkPlayer(C4, Weights(1, 2, 3, 4, 3.5, 2.5, 1.5))

    summary = report(match(C4, [network, network], num_games=40))
    assert summary.num_distinct == 20  # two networks that are one play both games of a pair alike
    assert summary.score == Score(summary.score.wins, 40 - 2 * summary.score.wins, summary.score.wins)


def test_the_same_player_on_both_sides_is_even_and_the_first_move_is_an_advantage() -> None:
    summary = report(match(TTT, ["random", "random"], num_games=400, num_opening_moves=0))
    assert 0.4 < summary.score.mean < 0.6
    assert summary.as_first.mean > 0.55 > 0.45 > summary.as_second.mean


def test_an_odd_number_of_games_is_counted_as_it_is() -> None:
    summary = report(match(TTT, ["random", "random"], num_games=7))
    assert (summary.as_first.num_games, summary.as_second.num_games) == (4, 3)


@pytest.mark.parametrize(("actions", "points", "ending"), [(DRAWN_IN_42, 0.5, "draw"), (WON_IN_42, 0.0, "O wins")])
def test_the_last_stone_decides_as_the_rules_say(actions: list[int], points: float, ending: str) -> None:
    record = play_game(C4, [replaying(C4, actions)] * 2)
    assert (record.actions, record.points, record.ending) == (tuple(actions), points, ending)


def test_results_are_those_of_the_rules_from_every_seat() -> None:
    records = match(TTT, ["flat:9", "random"], num_games=60)
    expected = [winner(TTT, state_after(TTT, record.actions)) for record in records]
    flat_wins = sum(won_by == record.index % 2 for record, won_by in zip(records, expected, strict=True))
    summary = report(records)
    assert summary.score == Score(flat_wins, expected.count(None), 60 - flat_wins - expected.count(None))
    assert summary.as_first.plus(summary.as_second) == summary.score


@pytest.mark.parametrize("action", [9, -1, 0, 4.0, "4", None, RuntimeError("out of\nideas")])
def test_whoever_breaks_the_rules_forfeits_and_it_shows(action: Any) -> None:
    def choose(state: Any) -> Any:
        if state == TTT.initial_state():
            return 0
        if isinstance(action, Exception):
            raise action
        return action

    records = match(TTT, [lambda: Scripted(choose), lambda: lowest(TTT)], num_games=2, num_opening_moves=0)
    assert [record.forfeited_by for record in records] == [0, 1]
    assert [record.points for record in records] == [0, 1]
    if isinstance(action, Exception):
        assert records[1].ending == "forfeit by O: RuntimeError: out of ideas"
    else:
        legal = "legal: 1 2 3 4 5 6 7 8"
        assert (
            records[1].ending == f"forfeit by O: IllegalActionError: tictactoe: {action!r} is not legal here; {legal}"
        )
    summary = report(records)
    assert summary.num_forfeits == (2, 0)
    assert summary.score == Score(0, 0, 2)


def test_a_fault_while_starting_or_listening_is_a_forfeit_too() -> None:
    class Deaf(RandomPlayer[Any]):
        def observe(self, action: int) -> None:
            raise RuntimeError("what?")

    class Absent(RandomPlayer[Any]):
        def start(self, stream: int) -> None:
            raise RuntimeError("where?")

    assert play_game(TTT, [RandomPlayer(TTT), Deaf(TTT)]).ending == "forfeit by O: RuntimeError: what?"
    assert play_game(TTT, [Absent(TTT), RandomPlayer(TTT)]).points == 0


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("can't start new thread"), EvaluatorError("the network: CUDA out of memory.")]
)
def test_nobody_loses_a_game_because_the_machine_has_no_memory_left(error: Exception) -> None:
    class Starved(RandomPlayer[Any]):
        def choose(self, state: Any) -> int:
            raise error

    with pytest.raises(type(error)):
        play_game(TTT, [RandomPlayer(TTT), Starved(TTT)])


def test_thinking_too_long_loses_the_game() -> None:
    settings = MatchSettings(max_move_seconds=1e-9)
    record = play_game(TTT, [RandomPlayer(TTT), RandomPlayer(TTT)], settings=settings)
    assert record.forfeited_by == 0
    assert "1e-09 s allowed" in record.ending
    relaxed = play_game(TTT, [RandomPlayer(TTT), RandomPlayer(TTT)], settings=MatchSettings(max_move_seconds=60))
    assert relaxed.forfeited_by is None


def test_games_cut_short_are_neither_draws_nor_part_of_the_score() -> None:
    records = match(C4, ["random", "random"], num_games=20, max_moves=9)
    summary = report(records)
    cut = [record for record in records if record.points is None]
    assert summary.num_cut_short == len(cut) > 0
    assert summary.score.num_games == 20 - len(cut)
    assert {len(record.actions) for record in cut} == {9}
    assert cut[0].ending == "cut short after 9 moves"
    assert {len(record.actions) for record in match(C4, ["random", "random"], num_games=2, max_moves=1)} == {2}
    assert all(winner(C4, state_after(C4, record.actions)) is not None for record in records if record not in cut)


def test_what_both_sides_spent_is_reported_per_player_not_per_seat() -> None:
    records = match(C4, ["flat:50", "random"], num_games=4)
    flat, rest = report(records).spent
    assert flat.num_simulations <= 50 * flat.num_moves
    assert flat.num_simulations > 40 * flat.num_moves
    assert rest.num_simulations == 0
    assert flat.seconds > rest.seconds > 0
    assert flat.num_moves + rest.num_moves == sum(len(record.actions) - 2 for record in records)


def test_no_games_make_an_empty_report() -> None:
    assert report([]).score.text() == "no games"
    assert isinstance(report([]), MatchReport)


def test_closing_a_match_stops_it_within_a_move_and_leaves_no_thread() -> None:
    before = threading.active_count()
    started, go_on = threading.Semaphore(0), threading.Event()

    def choose(state: Any) -> int:
        started.release()
        go_on.wait(60)
        return int(TTT.legal_actions(state)[0])

    makers = [lambda: lowest(TTT), lambda: Scripted(choose)]
    games = play_match(TTT, makers, MatchSettings(num_games=50, num_workers=2))
    first = threading.Timer(0, lambda: next(games))
    first.start()
    started.acquire(timeout=60)
    go_on.set()
    first.join()
    games.close()
    assert threading.active_count() == before


def test_an_interrupt_before_all_games_are_queued_stops_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    num_moves, stopping = 0, threading.Event()

    class Pool(ThreadPoolExecutor):
        num_games = 0

        def submit(self, *arguments: Any, **options: Any) -> Any:
            self.num_games += 1
            if self.num_games == 3:
                raise KeyboardInterrupt
            return super().submit(*arguments, **options)

        def shutdown(self, *arguments: Any, **options: Any) -> None:
            stopping.set()
            super().shutdown(*arguments, **options)

    def choose(state: Any) -> int:
        nonlocal num_moves
        num_moves += 1
        stopping.wait(60)
        return int(TTT.legal_actions(state)[0])

    monkeypatch.setattr("azero.players.match.ThreadPoolExecutor", Pool)
    player = Scripted(choose)
    with pytest.raises(KeyboardInterrupt):
        match(TTT, [lambda: player, lambda: player], num_games=50, num_workers=1)
    assert num_moves <= 1


def test_a_player_that_cannot_be_made_is_the_callers_error() -> None:
    def missing() -> Player[Any]:
        raise FileNotFoundError("no such network")

    with pytest.raises(FileNotFoundError, match="no such network"):
        match(TTT, [missing, "random"], num_games=2)


@pytest.mark.parametrize(
    "wrong", [{"num_games": 0}, {"num_opening_moves": -1}, {"seed": -1}, {"num_workers": 0}, {"max_moves": 0}]
)
def test_numbers_out_of_range_are_refused_by_name(wrong: dict[str, int]) -> None:
    [name] = wrong
    with pytest.raises(ValueError, match=f"{name} must be at least"):
        MatchSettings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_move_seconds must be above 0"):
        MatchSettings(max_move_seconds=0)
