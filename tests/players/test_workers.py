"""What goes wrong in a process that plays games is told by the one that asked for them."""

import numpy as np
import pytest

from azero.evaluators.evaluator import EvaluatorError
from azero.games.blame import is_shortage, told
from azero.players.workers import WorkerError, _sendable


class OddError(Exception):
    """Cannot be made from its words alone, so no other process can make it again."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{reason} at {place}")


@pytest.mark.parametrize("error", [ValueError("no"), EvaluatorError("no"), OSError(28, "No space left", "file")])
def test_errors_that_any_process_knows_are_sent_as_they_are(error: Exception) -> None:
    assert _sendable(error) is error


def test_others_are_sent_in_words_with_who_is_to_blame() -> None:
    answer = _sendable(OddError("here", "nothing"))
    assert isinstance(answer, WorkerError)
    assert str(answer) == "OddError: nothing at here"
    assert told(answer) is None


def test_a_lack_of_memory_is_known_as_one_in_words_too() -> None:
    with pytest.raises(MemoryError) as caught:
        np.empty(2**55, np.uint8)
    assert is_shortage(_sendable(caught.value))
    assert isinstance(_sendable(caught.value), WorkerError)
