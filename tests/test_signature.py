"""The signature of the search: a change that claims to be of form only does not move it.

One that is meant to change the search writes here what `python scripts/bench.py --signature` says then.
"""

import runpy
from pathlib import Path

SIGNATURE = "d4876c23488c9059"


def test_the_search_visits_what_it_visited_when_it_was_signed() -> None:
    script = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "signature.py"))
    assert script["signature"]() == SIGNATURE
