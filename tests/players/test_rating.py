import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from azero.players.rating import Score, elo_difference, fit_ratings, wilson_interval


@pytest.mark.parametrize(("score", "elo"), [(0.75, 190.8), (0.64, 100.0), (0.55, 34.9), (0.5, 0.0), (0.25, -190.8)])
def test_elo_differences_are_those_of_the_logistic_curve(score: float, elo: float) -> None:
    assert elo_difference(score) == pytest.approx(elo, abs=0.05)


@pytest.mark.parametrize(
    ("wins", "losses", "low", "high"),
    [(24, 16, 0.446, 0.737), (220, 180, 0.501, 0.598), (20, 0, 0.839, 1), (0, 20, 0, 0.161), (1, 1, 0.095, 0.905)],
)
def test_intervals_are_wilsons(wins: int, losses: int, low: float, high: float) -> None:
    assert wilson_interval(wins, wins + losses) == pytest.approx((low, high), abs=0.0005)


@given(st.integers(1, 10**6).flatmap(lambda games: st.tuples(st.integers(0, 2 * games), st.just(games))))
def test_an_interval_holds_its_score_and_stays_in_range(halves_and_games: tuple[int, int]) -> None:
    halves, games = halves_and_games
    low, high = wilson_interval(halves / 2, games)
    assert 0 <= low <= halves / 2 / games <= high <= 1
    assert low < high


def test_a_draw_counts_as_half_a_win() -> None:
    assert Score(0, 40, 0).mean == 0.5
    assert Score(1, 39, 0).mean == 0.5125
    assert Score(2, 2, 1).reversed() == Score(1, 2, 2)
    assert Score(2, 2, 1).plus(Score(1, 0, 3)) == Score(3, 2, 4)


@pytest.mark.parametrize(
    ("score", "text", "elo"),
    [
        (Score(24, 0, 16), "0.600 [0.446, 0.737]", "+70 [-38, +179]"),
        (Score(0, 8, 0), "0.500 [0.215, 0.785]", "+0 [-225, +225]"),
        (Score(20, 0, 0), "1.000 [0.839, 1.000]", "above +287 (lost nothing)"),
        (Score(0, 0, 20), "0.000 [0.000, 0.161]", "below -287 (won nothing)"),
        (Score(0, 0, 0), "no games", "no games"),
    ],
)
def test_no_result_is_shown_as_an_infinity_or_nan(score: Score, text: str, elo: str) -> None:
    assert (score.text(), score.elo_text()) == (text, elo)


def test_no_games_say_nothing_about_strength() -> None:
    assert wilson_interval(0, 0) == (0, 1)


def test_what_is_no_result_is_refused() -> None:
    with pytest.raises(ValueError, match="5 points in 4 games"):
        wilson_interval(5, 4)
    with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.5"):
        elo_difference(1.5)
    with pytest.raises(ValueError, match="no games"):
        _ = Score(0, 0, 0).mean


def test_two_players_are_rated_by_their_difference() -> None:
    anchor, other = fit_ratings([[0, 10], [30, 0]])
    assert anchor == (0, 0)
    assert other.elo == pytest.approx(elo_difference(0.75))
    assert other.margin == pytest.approx(1.959964 * 400 / math.log(10) / math.sqrt(40 * 0.75 * 0.25))
    assert (anchor.text(), other.text()) == ("0 (anchor)", "+191 ± 124")


@given(st.lists(st.lists(st.integers(1, 50), min_size=4, max_size=4), min_size=4, max_size=4), st.integers(0, 3))
def test_ratings_give_every_player_the_points_he_has(points: list[list[int]], anchor: int) -> None:
    won = np.array(points, float) * (1 - np.eye(4))
    ratings = fit_ratings(won.tolist(), anchor)
    elo = np.array([rating.elo for rating in ratings])
    expected = (won + won.T) / (1 + 10 ** ((elo[None, :] - elo[:, None]) / 400))
    assert expected.sum(axis=1) == pytest.approx(won.sum(axis=1))
    assert elo[anchor] == 0
    assert all(rating.margin > 0 for place, rating in enumerate(ratings) if place != anchor)


def test_ratings_use_all_games_together_instead_of_a_chain() -> None:
    chained = elo_difference(0.75) + elo_difference(0.75)
    unchained = fit_ratings([[0, 25, 40], [75, 0, 25], [60, 75, 0]])[2].elo
    assert 0 < unchained < chained


def test_a_player_who_lost_everything_leaves_the_others_ratings_alone() -> None:
    first, second, hopeless, perfect = fit_ratings([[0, 10, 20, 0], [30, 0, 20, 0], [0, 0, 0, 0], [5, 5, 5, 0]])
    assert [first, second] == fit_ratings([[0, 10], [30, 0]])
    assert hopeless.text() == "below, too far to measure"
    assert perfect.text() == "above, too far to measure"


def test_groups_without_points_both_ways_are_not_measured_against_each_other() -> None:
    strong_and_weak = [[0, 5, 9, 9], [5, 0, 9, 9], [0, 0, 0, 5], [0, 0, 5, 0]]
    texts = [rating.text() for rating in fit_ratings(strong_and_weak, anchor=3)]
    assert texts == ["above, too far to measure"] * 2 + ["+0 ± 215", "0 (anchor)"]
    assert [rating.text() for rating in fit_ratings([[0, 0], [0, 0]])] == ["0 (anchor)", "not comparable"]


def test_a_large_difference_is_fitted_too() -> None:
    assert fit_ratings([[0, 1], [9999, 0]])[1].elo == pytest.approx(elo_difference(0.9999))
