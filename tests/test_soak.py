"""The soak of hours, for some seconds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.compiled
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a process is watched by means of Linux")
def test_a_long_run_is_watched(tmp_path: Path) -> None:
    words = ["minutes=null", "iterations=8", "selfplay.games=8", "matches.every=4", "matches.opponents=[random]"]
    done = subprocess.run(
        [sys.executable, "scripts/soak.py", str(tmp_path / "run"), *words],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()]
    assert (len(rows), rows[-1][head.index("iterations")]) == (10, "8")
    for row in rows:
        assert 50 < float(row[head.index("memory, MB")]) < 5000
        assert 3 <= int(row[head.index("files")]) < 100
        assert 1 <= int(row[head.index("threads")]) < 100
