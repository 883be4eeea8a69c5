"""The settings of the search in training: which rule they stand for, and what is refused."""

from typing import Any

import pytest

from azero.config import compose_settings
from azero.learning.rules import SearchSettings
from azero.learning.trainer import TrainingSettings
from azero.search.gumbel import Gumbel
from azero.search.puct import PUCT


def settings(*words: str) -> TrainingSettings:
    return compose_settings(TrainingSettings, "train", words)


def test_the_default_is_puct_as_it_is() -> None:
    assert settings() == settings("search=puct")
    assert settings("game=othello") == TrainingSettings(game="othello")  # whose file of settings has none
    assert SearchSettings().selfplay_rule() == SearchSettings().match_rule() == PUCT()


def test_gumbel_comes_with_its_own_noise_in_self_play_and_none_in_matches() -> None:
    chosen = settings("search=gumbel", "search.num_considered=4", "search.c_scale=0.1")
    assert chosen.search.selfplay_rule() == Gumbel(num_considered=4, c_scale=0.1, noise=1.0)
    assert chosen.search.match_rule() == Gumbel(num_considered=4, c_scale=0.1, noise=0.0)
    assert (chosen.selfplay.noise.weight, chosen.selfplay.temperature) == (0, 0)
    assert SearchSettings("gumbel").selfplay_rule() == Gumbel()


def test_every_option_of_puct_reaches_its_rule_and_visits_are_forced_in_self_play_only() -> None:
    options = {"c_puct": 2.0, "fpu_reduction": 0.3, "fpu_value": -1.0, "root_fpu_value": 0.5, "forced_visits": 2.0}
    chosen = SearchSettings(**options)
    assert chosen.selfplay_rule() == PUCT(**options)
    assert chosen.match_rule() == PUCT(**options | {"forced_visits": 0.0})
    assert SearchSettings(root_fpu_reduction=0.1).match_rule() == PUCT(root_fpu_reduction=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "uct"}, "search.rule must be puct or gumbel, got 'uct'"),
        ({"c_puct": -1.0}, "search.c_puct must be at least 0 and finite, got -1.0"),
        ({"c_puct": float("inf")}, "search.c_puct"),
        ({"fpu_reduction": 3.0}, "search.fpu_reduction must be from 0 to 2, got 3.0"),
        ({"fpu_value": float("nan")}, "search.fpu_value must be from -1 to 1"),
        ({"root_fpu_reduction": -0.1}, "search.root_fpu_reduction"),
        ({"root_fpu_value": 1.5}, "search.root_fpu_value"),
        ({"forced_visits": -1.0}, "search.forced_visits"),
        ({"rule": "gumbel", "num_considered": 0}, "search.num_considered must be at least 1"),
        ({"rule": "gumbel", "c_visit": -1.0}, "search.c_visit"),
        ({"rule": "gumbel", "c_scale": float("inf")}, "search.c_scale"),
        ({"root_fpu_reduction": 0.1, "root_fpu_value": 0.0}, "exclude each other"),
        ({"rule": "gumbel", "forced_visits": 2.0}, "search.forced_visits is no option of search.rule=gumbel"),
        ({"rule": "gumbel", "fpu_value": 0.0}, "search.fpu_value is no option of search.rule=gumbel"),
        ({"c_scale": 0.1}, "search.c_scale is no option of search.rule=puct"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchSettings(**options)


@pytest.mark.parametrize(
    "words",
    [
        ["search.rule=gumbel"],
        ["search=gumbel", "selfplay.noise.weight=0.25"],
        ["search=gumbel", "selfplay.noise.temperature=1.25"],
    ],
)
def test_gumbel_with_other_noise_is_refused(words: list[str]) -> None:
    with pytest.raises(ValueError, match=r"noise of its own.*selfplay.noise.weight=0 .*or search=gumbel"):
        settings(*words)


def test_integers_are_for_the_cpu() -> None:
    assert settings("selfplay.int8=true").selfplay.int8
    with pytest.raises(ValueError, match=r"selfplay\.int8 is for device=cpu"):
        settings("selfplay.int8=true", "device=cuda")
