"""What somebody may have meant who wrote a name that is not known."""

from collections.abc import Iterable
from difflib import SequenceMatcher


def suggestion(name: str, known: Iterable[str]) -> str:
    """The question " did you mean 'this'?" for the known name most like `name`; nothing if none is much like it.

    Names are compared as a whole and by what follows their last dot, so that simulation finds search.simulations.
    """

    def likeness(other: str) -> float:
        parts = name.rpartition(".")[2], other.rpartition(".")[2]
        return (SequenceMatcher(None, name, other).ratio() + SequenceMatcher(None, *parts).ratio()) / 2

    best = max(known, key=likeness, default="")
    return f" did you mean {best!r}?" if best and likeness(best) > 0.5 else ""
