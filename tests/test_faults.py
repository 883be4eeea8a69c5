"""Whatever goes wrong, a run ends as the README's table says, and goes on from there to the same bytes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLE = (ROOT / "README.md").read_text().partition("<!-- faults: begin -->\n")[2].partition("<!-- faults: end -->")[0]


@pytest.mark.compiled
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="faults are injected by means of Linux")
def test_every_fault_ends_as_the_readme_says() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/faults.py", "--kills", "10"],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False, timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert comparable(done.stdout) == comparable(TABLE)


def comparable(table: str) -> list[str]:
    """The lines of the table, however often runs were killed."""
    return [re.sub(r"\d+ (instants|runs)", r"n \1", line) for line in table.splitlines()]
