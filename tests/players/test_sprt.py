import math

import numpy as np
import pytest

from azero.players.rating import elo_difference, expected_score
from azero.players.record import GameRecord
from azero.players.sprt import PAIR_SCORES, SPRT, pentanomial


def pairs_drawn(elo, draws, spread, generator):
    """Random sizes of pairs, 0 to 4, of two independent games from openings that favour one side or the other."""
    while True:
        favour = generator.choice([-spread, spread])
        total = 0
        for seat in (favour, -favour):
            win = min(max(expected_score(elo + seat) - draws / 2, 0.0), 1 - draws)
            total += generator.choice([0, 1, 2], p=[1 - draws - win, draws, win])
        yield int(total)


@pytest.mark.parametrize(("draws", "spread"), [(0.0, 0), (0.3, 0), (0.1, 200)])
def test_each_hypothesis_is_rejected_where_it_is_true_no_more_often_than_said(draws, spread):
    test = SPRT(0, 60, error=0.1)
    for elo, wrong in ((0, "elo1"), (60, "elo0")):
        # With unbalanced openings the mean is not exactly that of the Elo difference: take the one it really is.
        generator, num_wrong, num_pairs = np.random.default_rng(7), 0, []
        shift = elo_difference((expected_score(elo + spread) + expected_score(elo - spread)) / 2) - elo
        moved = SPRT(0 + (shift if elo == 0 else 0), 60 + (shift if elo == 60 else 0), error=test.error)
        for _ in range(150):
            counts, verdict = [0] * 5, None
            for total in pairs_drawn(elo, draws, spread, generator):
                counts[total] += 1
                verdict = moved.verdict(counts) if sum(counts) % 8 == 0 else None
                if verdict:
                    break
            num_wrong += verdict == wrong
            num_pairs.append(sum(counts))
        assert num_wrong <= 150 * 0.1 + 3 * math.sqrt(150 * 0.09)
        assert num_wrong > 0  # a test that never errs would be no test of this size
        assert 20 < np.mean(num_pairs) < 400


def test_the_ratio_is_that_of_the_most_likely_shares_under_either_hypothesis():
    test = SPRT(-50, 50)
    assert test.log_likelihood_ratio([0] * 5) == 0
    assert test.log_likelihood_ratio([10, 20, 30, 20, 10]) == pytest.approx(0, abs=1e-6)
    one, two = [3, 10, 30, 25, 12], [12, 25, 30, 10, 3]
    assert test.log_likelihood_ratio(one) == pytest.approx(-test.log_likelihood_ratio(two))
    # Near the middle it is the normal approximation of the shares' mean.
    counts = np.array([40, 200, 420, 230, 50])
    scores = np.array(PAIR_SCORES)
    mean = (counts * scores).sum() / counts.sum()
    variance = (counts * (scores - mean) ** 2).sum() / counts.sum()
    s0, s1 = expected_score(-5), expected_score(5)
    approximate = counts.sum() * (s1 - s0) * (2 * mean - s0 - s1) / (2 * variance)
    assert SPRT(-5, 5).log_likelihood_ratio(counts.tolist()) == pytest.approx(approximate, rel=0.02)


def test_pairs_of_one_kind_only_decide_too():
    assert SPRT(0, 20).verdict([0, 0, 0, 0, 200]) == "elo1"
    assert SPRT(0, 20).verdict([0, 0, 1000, 0, 0]) == "elo0"
    assert SPRT(0, 20).verdict([0, 0, 3, 0, 0]) is None
    assert SPRT(0, 20).bound == pytest.approx(math.log(19))


@pytest.mark.parametrize(
    ("elos", "error", "message"),
    [((20, 0), 0.05, "the smaller first"), ((0, 1e9), 0.05, "Elo differences"), ((0, 20), 0.5, "below 0.5, got 0.5")],
)
def test_hypotheses_that_make_no_sense_are_refused(elos, error, message):
    with pytest.raises(ValueError, match=message):
        SPRT(*elos, error)


def record(index, points):
    return GameRecord("tictactoe", index, ("a", "b"), 0, (), points, "")


def test_pairs_are_counted_from_the_side_of_the_matchs_first_player():
    games = [record(0, 1.0), record(1, 0.0), record(2, 0.5), record(3, 1.0), record(4, 0.0), record(5, 1.0)]
    assert pentanomial(games) == (1, 1, 0, 0, 1)
    assert pentanomial([*games, record(6, 1.0)]) == (1, 1, 0, 0, 1)  # the partner is not there yet
    assert pentanomial([*games, record(6, 1.0), record(7, None)]) == (1, 1, 0, 0, 1)
