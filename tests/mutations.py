"""What may become of a file's contents, as a strategy for hypothesis, and what a reader may make of it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

NUM_EXAMPLES = int(os.environ.get("AZERO_FUZZ_EXAMPLES", "40"))  # of each test; thousands for a long search
fuzzed = settings(max_examples=NUM_EXAMPLES)


@st.composite
def mutated(draw: Any, *wholes: bytes) -> bytes:
    """The contents of one after some flipped bytes, cuts, insertions and repetitions; now and then anything at all."""
    if draw(st.integers(0, 9)) == 0:
        return bytes(draw(st.binary(max_size=300)))
    contents = bytearray(draw(st.sampled_from(wholes)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(len(contents) - 1, 0)))
        end = draw(st.integers(start, min(start + 40, len(contents))))
        match draw(st.sampled_from(["flip", "cut", "insert", "repeat", "end"])):
            case "flip" if contents:
                contents[start] ^= draw(st.integers(1, 255))
            case "cut":
                del contents[start:end]
            case "insert":
                contents[start:start] = draw(st.binary(max_size=20))
            case "repeat":
                contents[start:start] = contents[start:end]
            case _:
                del contents[start:]
    return bytes(contents)


@contextmanager
def read_or_refused(*refusals: type[Exception], lines: int = 1) -> Iterator[list[str]]:
    """What is done here is done, or refused by one of these errors, in words, which are then in the list."""
    said: list[str] = []
    try:
        yield said
    except refusals as error:
        said.append(str(error))
    for words in said:
        assert words.strip()
        assert words.count("\n") < lines
