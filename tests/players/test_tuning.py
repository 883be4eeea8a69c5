"""A race keeps the best as surely as it says, which only many simulated races can show."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from azero.players.match import MatchSettings
from azero.players.record import GameRecord
from azero.players.series import open_series
from azero.players.tuning import Race, RaceSettings, common_player, expand, mean_interval, opening_points, run_race

SETTINGS = MatchSettings(seed=3, num_workers=1)


def openings(generator, scores, draws, num_openings):
    """Results of two games from each opening, for players with these expected scores who draw so often."""
    numbers = generator.random((len(scores), num_openings, 2))
    wins = np.array(scores)[:, None, None] - draws / 2
    return np.where(numbers < wins, 1, np.where(numbers < wins + draws, 0.5, 0)).mean(axis=2)


def simulate(generator, scores, draws=0.3, num_games=3000, error=0.2):
    """A race among players of known strength, looked at after every ten openings, as long as the games suffice."""
    race = Race(len(scores), error)
    while len(race.running) > 1 and num_games >= 20 * len(race.running):
        num_games -= 20 * len(race.running)
        race.add(openings(generator, [scores[candidate] for candidate in race.running], draws, 10))
    return race


def test_the_best_is_lost_as_rarely_as_asked_for():
    generator = np.random.default_rng(0)
    races = [simulate(generator, [0.51, 0.5, 0.5, 0.45]) for _ in range(300)]
    assert sum(0 not in race.running for race in races) / 300 < 0.2


def test_among_equals_a_winner_is_declared_as_rarely_as_asked_for():
    generator = np.random.default_rng(1)
    for num_candidates in (2, 5):
        races = [simulate(generator, [0.5] * num_candidates) for _ in range(300)]
        assert sum(len(race.running) == 1 for race in races) / 300 < 0.2


def test_without_the_allowance_for_many_looks_equals_would_be_parted():
    generator = np.random.default_rng(2)
    num_parted = 0
    for _ in range(200):
        ahead = np.subtract(*openings(generator, [0.5, 0.5], 0.3, 500))
        ends = np.arange(10, 501, 10)
        means = ahead.cumsum()[ends - 1] / ends
        num_parted += bool((abs(means) > 1.28 * ahead.std() / np.sqrt(ends)).any())  # 20 % if looked at once
    assert num_parted / 200 > 0.4


def test_a_clear_winner_is_found_and_before_the_games_run_out():
    generator = np.random.default_rng(3)
    races = [simulate(generator, [0.6, 0.5, 0.5, 0.35, 0.3]) for _ in range(100)]
    assert sum(race.running == [0] for race in races) >= 90
    num_openings = np.mean([[race.num_openings(candidate) for candidate in range(5)] for race in races], axis=0)
    assert num_openings[4] < num_openings[1] / 2


@given(st.integers(0, 10**6), st.lists(st.floats(0.2, 0.8), min_size=2, max_size=6))
def test_the_leader_never_leaves(seed, scores):
    generator, race = np.random.default_rng(seed), Race(len(scores), 0.3)
    for _ in range(5):
        race.add(openings(generator, [scores[candidate] for candidate in race.running], 0.2, 10))
        means = [race.score(candidate).mean for candidate in range(len(scores))]
        assert race.score(race.leader).mean == max(means[candidate] for candidate in race.running)


def test_who_left_was_behind_the_leader_by_more_than_nothing():
    race = simulate(np.random.default_rng(4), [0.7, 0.3])
    assert race.running == [race.leader] == [0]
    behind = race.lead(1)
    assert 0 < behind.low < behind.mean < behind.high
    assert behind.mean == pytest.approx(race.score(0).mean - race.score(1).mean)


def test_what_an_opening_does_to_both_does_not_blur_their_difference():
    generator = np.random.default_rng(5)
    luck = generator.integers(0, 2, 40) / 2  # half of the openings give half a point to everyone
    race = Race(2, 0.05)
    race.add(np.stack([luck + 0.3, luck]))
    assert race.running == [0]


def test_the_bounds_of_a_mean_are_where_the_bet_is_won():
    # The stakes 1/2, 1/4, 1/8 and 1/16, 15/64 on average, have won (1 - m) / (1 + m) of themselves after one draw of 1.
    low = mean_interval(np.array([1.0]), error=0.05).low
    assert 1 + 15 / 64 * (1 - low) / (1 + low) == pytest.approx(20)
    assert mean_interval(np.array([1.0]), error=0.05).high == pytest.approx(1)
    assert mean_interval(np.empty(0), error=0.05) == (0, -1, 1)


def test_bounds_hold_however_often_one_looks():
    generator = np.random.default_rng(6)
    num_broken = 0
    for _ in range(150):
        values = generator.choice([-1, 0, 0.5], 200, p=[0.3, 0.2, 0.5])  # of the mean -0.05
        looks = [mean_interval(values[:end], error=0.1) for end in range(10, 201, 10)]
        num_broken += any(look.low > -0.05 or look.high < -0.05 for look in looks)
    assert num_broken / 150 < 0.2


def test_more_draws_narrow_the_bounds_and_mirrored_draws_mirror_them():
    values = np.random.default_rng(7).uniform(-1, 1, 400)
    few, many = mean_interval(values[:40], 0.05), mean_interval(values, 0.05)
    assert many.high - many.low < (few.high - few.low) / 2
    mean, low, high = mean_interval(-values, 0.05)
    assert (-mean, -high, -low) == pytest.approx(many)


@pytest.mark.parametrize(
    ("words", "candidates"),
    [
        (["uct:9,c={1,2.5}"], ["uct:9,c=1", "uct:9,c=2.5"]),
        (["uct:9,c=1", "uct:9,c=2.5"], ["uct:9,c=1", "uct:9,c=2.5"]),  # a shell has read the braces
        (["uct:{1,2},c={3,4}"], ["uct:1,c=3", "uct:1,c=4", "uct:2,c=3", "uct:2,c=4"]),
        (["random", "uct:{1,2}", "uct:2"], ["random", "uct:1", "uct:2"]),
    ],
)
def test_braces_stand_for_every_combination(words, candidates):
    assert expand(words) == candidates


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "two candidates"),
        (["uct:9,c={1}"], "two"),
        (["uct:9,c={1,2"], "'uct:9,c={1,2': braces hold"),
        (["}"], "hold"),
    ],
)
def test_what_stands_for_no_candidates_is_refused(words, complaint):
    with pytest.raises(ValueError, match=complaint):
        expand(words)


@pytest.mark.parametrize(
    ("word", "common"),
    [
        ("uct:9,c={1,2}", "uct:9"),
        ("uct:9,c={1,2},rollout=heuristic", "uct:9,rollout=heuristic"),
        ("azero:a/b@9,c={1,2}", "azero:a/b@9"),
        ("uct:9,c={1,2},rollouts={1,2}", "uct:9"),
        ("uct:9,rollouts=2,c={1,2}", "uct:9,rollouts=2"),
    ],
)
def test_the_default_is_the_player_without_what_differs(word, common):
    assert common_player(expand([word])) == common


@pytest.mark.parametrize("word", ["uct:{1,2}", "{uct,flat}:9", "azero:{a,b}@9"])
def test_candidates_that_differ_otherwise_have_no_default(word):
    with pytest.raises(ValueError, match="default=PLAYER"):
        common_player(expand([word]))


def record(index, points):
    return GameRecord("tictactoe", index, ("a", "b"), 0, (), points, "")


def test_an_opening_counts_all_its_games():
    against_one = [record(0, 1.0), record(1, 1.0), record(2, 0.5), record(3, 0.0)]
    against_other = [record(0, 1.0), record(1, 0.0), record(2, None), record(3, 0.5)]
    assert opening_points([against_one]).tolist() == [0.5, 0.75]
    assert opening_points([against_one, against_other]).tolist() == [0.75, 0.625]


def run(directory: Path, **settings):
    """A race of three and the number of games that were played for it."""
    num_games = 0

    def count():
        nonlocal num_games
        num_games += 1

    candidates, opponents = ["uct:60", "random", "uct:1"], ["random", "uct:5"]
    with open_series(directory, "tictactoe", SETTINGS) as series:
        races = list(run_race(series, candidates, opponents, RaceSettings(**settings), count))
    return races, num_games


@pytest.mark.compiled
def test_a_race_of_players_ends_with_the_best_one(tmp_path):
    races, num_games = run(tmp_path, num_games=1200, first_openings=5)
    assert races[-1].running == [0]
    played = sum(races[-1].num_openings(candidate) for candidate in range(3))
    assert num_games == 4 * played < 1200


@pytest.mark.compiled
def test_a_race_takes_no_more_games_than_it_may_and_goes_on_from_those_it_has(tmp_path):
    short, num_games = run(tmp_path, num_games=200, first_openings=5)
    assert num_games == 4 * sum(short[-1].num_openings(candidate) for candidate in range(3)) <= 200
    again, num_new = run(tmp_path, num_games=200, first_openings=5)
    assert num_new == 0
    assert [again[-1].score(candidate) for candidate in range(3)] == [short[-1].score(c) for c in range(3)]
    _, num_more = run(tmp_path, num_games=260, first_openings=5)
    assert 0 < num_more <= 60


def test_too_few_games_for_one_opening_are_refused(tmp_path):
    with pytest.raises(ValueError, match="one opening of all candidates takes 12 games: num_games=11 is too few"):
        run(tmp_path, num_games=11)


@pytest.mark.parametrize("wrong", [{"num_games": 0}, {"first_openings": 0}, {"error": 0.0}, {"error": 1.0}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be .* got {next(iter(wrong.values()))}"):
        RaceSettings(**wrong)
