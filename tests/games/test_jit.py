"""Random numbers and the kernels' cache on disk."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers, sampled_from

from azero import _jit
from azero._cache import TEMPORARY, cache_directory
from azero._jit import below, count_bits, draw, drop_lowest_bit, kernel, lowest_bit, shift_left, shift_right

INT64 = integers(-(2**63), 2**63 - 1)


@kernel
def draw_in_a_kernel(stream, counter):
    return draw(stream, counter)


@kernel
def below_in_a_kernel(number, bound):
    return below(number, bound)


@kernel
def word_functions_in_a_kernel(bits, n):
    return shift_left(bits, n), shift_right(bits, n), count_bits(bits), lowest_bit(bits), drop_lowest_bit(bits)


def chi_square(counts):
    expected = counts.sum() / counts.size
    return ((counts - expected) ** 2 / expected).sum()


def test_a_stream_is_splitmix64_as_published():
    outputs = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]  # from seed 0, of the authors' own code
    assert [draw(0, counter) for counter in range(3)] == [output >> 1 for output in outputs]


@given(INT64, integers(0, 2**62))
def test_kernels_draw_the_same_numbers_as_plain_python(stream, counter):
    number = draw(stream, counter)
    assert 0 <= number < 2**63
    assert draw_in_a_kernel(stream, counter) == number


@given(integers(0, 2**63 - 1), integers(1, 2**31 - 1))
def test_kernels_map_numbers_below_a_bound_as_plain_python_does(number, bound):
    assert 0 <= below(number, bound) < bound
    assert below_in_a_kernel(number, bound) == below(number, bound)


def test_the_smallest_and_the_largest_number_map_to_the_ends_of_the_range():
    for bound in (1, 2, 7, 2**31 - 1):
        assert (below(0, bound), below(2**63 - 1, bound)) == (0, bound - 1)


@pytest.mark.parametrize("bound", [2, 7, 9])
def test_numbers_are_even_along_a_stream_across_streams_and_in_pairs(bound):
    # 99.9 % of fair samples stay below these limits of chi-square with bound - 1, and bound**2 - 1, degrees of freedom.
    limit, limit_of_pairs = {2: (10.8, 16.3), 7: (22.5, 84.1), 9: (26.1, 124.8)}[bound]
    along = [below(draw(5, counter), bound) for counter in range(20_000)]
    across = [below(draw(stream, 0), bound) for stream in range(20_000)]
    derived = [below(draw(draw(5, stream), 3), bound) for stream in range(20_000)]
    for numbers in (along, across, derived):
        assert chi_square(np.bincount(numbers, minlength=bound)) < limit
        pairs = np.array(numbers[:-1]) * bound + numbers[1:]
        assert chi_square(np.bincount(pairs, minlength=bound**2)) < limit_of_pairs


def signed(word):
    """A word as the signed integer that has its 64 bits."""
    return word - (1 << 64) if word >> 63 else word


@given(integers(0, 2**64 - 1) | sampled_from([0, 1, 1 << 63, 2**64 - 1]), integers(0, 63))
def test_words_are_shifted_and_counted_alike_in_kernels_and_in_plain_python(word, n):
    digits = f"{word:064b}"
    bits = signed(word)
    expected = (
        signed(int((digits + "0" * n)[-64:], 2)),
        signed(int(("0" * n + digits)[:64], 2)),
        digits.count("1"),
        63 - digits.rindex("1") if word else 64,
        signed(int(digits[: digits.rindex("1")] + "0" * (64 - digits.rindex("1")), 2)) if word else 0,
    )
    in_python = shift_left(bits, n), shift_right(bits, n), count_bits(bits), lowest_bit(bits), drop_lowest_bit(bits)
    assert in_python == expected
    assert word_functions_in_a_kernel(bits, n) == expected


HEAP = """
from typing import NamedTuple
from azero.games.compiled import CompiledGame

class State(NamedTuple):
    left: int
    player: int

class Rules(NamedTuple):
    def initial_state(self):
        return State(5, 0)
    def current_player(self, state):
        return state.player
    def write_legal_actions(self, state, out):
        for take in range(min(state.left, 2)):
            out[take] = take
        return min(state.left, 2)
    def step(self, state, action):
        return State(state.left - 1 - action, 1 - state.player)
    def outcome(self, state):
        return -1.0

class Heap(CompiledGame[State]):
    name = "heap"
    rules = Rules()
    num_actions = 2
    max_game_length = 5
"""
CHECK = (
    "from azero.games import load_game; from azero.games.check import check_game; check_game(load_game('heap.py:Heap'))"
)


def said_by_a_check(directory):
    """What a process that holds the kernels in a directory against the rules there writes on standard error."""
    places = {"AZERO_CACHE_DIR": str(directory / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "error", "-c", CHECK]
    process = subprocess.run(command, cwd=directory, env=os.environ | places, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return process.stderr


@pytest.mark.compiled
def test_a_new_process_loads_its_kernels_from_disk_and_sees_an_edit_of_the_rules(tmp_path):
    game = tmp_path / "heap.py"
    game.write_text(HEAP)
    assert "compiling its kernels" in said_by_a_check(tmp_path)
    assert said_by_a_check(tmp_path) == ""
    game.write_text(HEAP.replace("return -1.0", "return 1.0"))
    assert "compiling its kernels" in said_by_a_check(tmp_path)


@pytest.mark.compiled
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_kernels_that_are_damaged_on_disk_are_compiled_again(tmp_path, suffix):
    (tmp_path / "heap.py").write_text(HEAP)
    said_by_a_check(tmp_path)
    for keep in (0, 30):
        for path in tmp_path.rglob(f"*.{suffix}"):
            path.write_bytes(path.read_bytes()[:keep])
        assert "compiling its kernels" in said_by_a_check(tmp_path)
        assert said_by_a_check(tmp_path) == ""


def test_without_a_home_kernels_are_kept_for_one_process(monkeypatch):
    def fail(path):
        raise RuntimeError("Could not determine home directory.")

    for name in ("AZERO_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "expanduser", fail)
    assert cache_directory().name.startswith(TEMPORARY)


def test_of_several_processes_that_compile_one_may_speak_for_all(capsys, monkeypatch):
    for silently in (False, True):
        monkeypatch.setattr(_jit._notice, "said", False)
        if silently:
            _jit.compile_silently()
        for _ in range(2):
            _jit._notice.on_start(None)
        assert capsys.readouterr().err.count("compiling its kernels") == (0 if silently else 1)
