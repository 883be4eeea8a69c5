import pytest

from azero.games.suggest import suggestion

OPTIONS = ["seed", "iterations", "search.simulations", "network.channels", "matches.games"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("sead", "seed"),
        ("iteration", "iterations"),
        ("simulations", "search.simulations"),
        ("channel", "network.channels"),
        ("search.simulation", "search.simulations"),
        ("match.games", "matches.games"),
    ],
)
def test_a_slip_is_answered_with_the_name_that_is_most_like_it(name: str, meant: str) -> None:
    assert suggestion(name, OPTIONS) == f" did you mean {meant!r}?"


@pytest.mark.parametrize("name", ["", "x", "foo", "hydra.run.dir", "42"])
def test_what_is_like_nothing_gets_no_answer(name: str) -> None:
    assert suggestion(name, OPTIONS) == ""
    assert suggestion(name, []) == ""
