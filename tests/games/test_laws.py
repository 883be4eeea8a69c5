"""The laws and the naive twins on boards that nobody chose: hypothesis draws the parameters of every game that has any.

`AZERO_TEST_GAMES`, as for the games against OpenSpiel, says how many are drawn, and from its default on how large.
"""

import os
import re
from inspect import signature

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import booleans, composite, data, from_regex, integers, lists, one_of, sampled_from

from azero.games import GAMES, load_game
from azero.games.breakthrough import Breakthrough
from azero.games.check import check_game
from azero.games.compiled import write_key
from azero.games.dots_and_boxes import DotsAndBoxes
from azero.games.hex import Hex
from azero.games.mnk import MNK
from azero.games.nim import Nim
from azero.games.othello import Othello
from tests.games.playing import COMPILED, assert_same_game, random_game, states_along
from tests.naive.breakthrough import Breakthrough as NaiveBreakthrough
from tests.naive.dots_and_boxes import DotsAndBoxes as NaiveDotsAndBoxes
from tests.naive.hex import Hex as NaiveHex
from tests.naive.mnk import Mnk as NaiveMnk
from tests.naive.nim import Nim as NaiveNim
from tests.naive.othello import Othello as NaiveOthello

NUM_GAMES = int(os.environ.get("AZERO_TEST_GAMES", "2000"))
NUM_BOARDS = 20 + NUM_GAMES // 500 if COMPILED else 5  # of each game
MOST_CELLS = 40 if NUM_GAMES <= 2000 else 400


@composite
def m_n_k(draw):
    rows = draw(integers(1, 19))
    columns = draw(integers(1, min(19, MOST_CELLS // rows)))
    return {"rows": rows, "columns": columns, "line": draw(integers(1, max(rows, columns)))}


@composite
def heaps(draw):
    stones = draw(lists(integers(1, MOST_CELLS // 4), min_size=1, max_size=6))
    return {
        "heaps": "-".join(map(str, stones)),
        "take": draw(integers(0, max(stones))),
        "misere": draw(booleans()),
    }


@composite
def pieces(draw):
    rows = draw(integers(2, 8))
    return {
        "rows": rows,
        "columns": draw(integers(2, min(8, MOST_CELLS // rows))),
        "ranks": draw(integers(1, rows // 2)),
    }


@composite
def boxes(draw):
    rows = draw(integers(1, min(20, MOST_CELLS // 3)))
    most_lines = min(62, MOST_CELLS)
    return {"rows": rows, "columns": draw(integers(1, max(1, (most_lines - rows) // (2 * rows + 1))))}


@composite
def hexagons(draw):
    return {"size": draw(integers(2, min(14, int(MOST_CELLS**0.5)))), "swap": draw(booleans())}


@composite
def discs(draw):
    return {"size": draw(sampled_from([size for size in (4, 6, 8) if size**2 <= MOST_CELLS]))}


def naive_nim(heaps, take, misere):
    return NaiveNim(tuple(map(int, heaps.split("-"))), take, misere)


BOARDS = {  # for each game its class, its twin, and all parameters within its limits
    "breakthrough": (Breakthrough, NaiveBreakthrough, pieces()),
    "dots_and_boxes": (DotsAndBoxes, NaiveDotsAndBoxes, boxes()),
    "hex": (Hex, NaiveHex, hexagons()),
    "mnk": (MNK, NaiveMnk, m_n_k()),
    "nim": (Nim, naive_nim, heaps()),
    "othello": (Othello, NaiveOthello, discs()),
}
every_game = pytest.mark.parametrize("name", BOARDS)


def other_than(least, most):
    return one_of(integers(max_value=least - 1), integers(min_value=most + 1))


WRONG = [  # a game, a parameter, values beyond its limits beside the others' defaults, and what the complaint allows
    ("breakthrough", "rows", other_than(2, 8), "rows and columns must be 2 to 8"),
    ("breakthrough", "columns", other_than(2, 8), "rows and columns must be 2 to 8"),
    ("breakthrough", "ranks", other_than(1, 4), "ranks 1 to half the rows"),
    ("dots_and_boxes", "rows", other_than(1, 8), "at least one box, and at most 62 lines"),
    ("dots_and_boxes", "columns", other_than(1, 8), "at least one box, and at most 62 lines"),
    ("hex", "size", other_than(2, 14), "size must be from 2 to 14"),
    ("mnk", "rows", other_than(1, 19), "rows must be from 1 to 19"),
    ("mnk", "columns", other_than(1, 19), "columns must be from 1 to 19"),
    ("mnk", "line", other_than(1, 3), "line must be from 1 to 3"),
    ("nim", "heaps", other_than(1, 4095), "heaps must be numbers from 1 to 4095 joined by '-'"),
    ("nim", "heaps", from_regex(r"(\A|-)[^(),=\d]+(-|\Z)"), "heaps must be numbers from 1 to 4095 joined by '-'"),
    ("nim", "heaps", integers(6, 50).map(lambda num: "4095" + "-4095" * (num - 1)), "may be at most 5"),
    ("nim", "take", other_than(0, 5), "take must be 0, for no bound, or 1 to 5"),
    ("othello", "size", other_than(4, 8) | sampled_from([5, 7]), "size must be 4, 6 or 8"),
]


def test_boards_are_drawn_for_every_game_with_parameters_and_every_limit_is_overstepped():
    parameters = {name: set(signature(type(load_game(name))).parameters) for name in GAMES if "(" not in GAMES[name]}
    assert {name for name, known in parameters.items() if known} == BOARDS.keys()
    switches = {("hex", "swap"), ("nim", "misere")}
    assert {(name, key) for name, known in parameters.items() for key in known} == switches | {w[:2] for w in WRONG}


@every_game
@settings(max_examples=NUM_BOARDS, suppress_health_check=[HealthCheck.too_slow])
@given(data=data(), seed=integers(0, 1 << 30))
def test_on_any_board_the_laws_hold_and_the_naive_twin_plays_the_same_game(name, data, seed):
    game_class, twin_class, boards = BOARDS[name]
    parameters = data.draw(boards)
    game = game_class(**parameters)
    actions = random_game(game, seed)
    check_game(game, num_games=1, seed=seed)
    assert_same_game(game, twin_class(**parameters), actions)
    assert load_game(game.name).rules == game.rules
    states = list(states_along(game, actions))
    assert len({key_of(game, state) for state in states}) == len(set(states)) == len(actions) + 1


def key_of(game, state):
    key = np.zeros(game.rules.key_width, np.int64)
    write_key(game.rules, state, key)
    return tuple(key.tolist())


@pytest.mark.parametrize(("name", "parameter", "values", "allowed"), WRONG)
@given(data=data())
def test_a_value_beyond_the_limits_is_refused_in_a_sentence_with_what_was_given_and_what_is_allowed(
    name, parameter, values, allowed, data
):
    value = data.draw(values)
    with pytest.raises(ValueError, match=re.escape(allowed)) as caught:
        BOARDS[name][0](**{parameter: value})
    said = str(caught.value)
    assert "\n" not in said
    assert not re.search(r"\. ", said)
    if parameter == "heaps" and "at most" in allowed:
        value = value.count("-") + 1
    assert (repr(value) if isinstance(value, str) else str(value)) in said


@every_game
@given(text=from_regex(r"[a-z0-9.+-]{0,4}[a-z.]", fullmatch=True))
def test_what_is_neither_a_number_nor_yes_or_no_is_refused_where_such_is_needed(name, text):
    for key, parameter in signature(BOARDS[name][0]).parameters.items():
        kind = {int: "a whole number", bool: "yes or no"}.get(type(parameter.default))
        if kind and text not in ("yes", "no"):
            with pytest.raises(ValueError, match=f"^{name}: {key} must be {kind}, got {re.escape(repr(text))}$"):
                load_game(f"{name}({key}={text})")
