"""The README cannot drift: every command and every piece of Python in it runs, every file that it names exists.

The comment above a block says how: `ci: NAME` leaves it to the stage of `.ci/run` that takes the block from here,
`shortened: OPTIONS` adds these to the command, `file: NAME` saves the block under that name. Blocks run in order, in
one directory, without a terminal.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from azero.players.spec import parse_player

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


class Block(NamedTuple):
    how: str
    argument: str
    language: str
    text: str


BLOCKS = [
    Block(how or "run", argument, language, text)
    for how, argument, language, text in re.findall(
        r"^(?:<!-- (\w+): ([^\n]*) -->\n)?```(\w+)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE
    )
]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reader")


@pytest.mark.compiled
@pytest.mark.parametrize("block", BLOCKS, ids=[block.text.splitlines()[-1][:60] for block in BLOCKS])
def test_what_the_readme_says_works(block: Block, directory: Path) -> None:
    if block.how == "ci":
        assert f"readme_command {block.argument})" in (ROOT / ".ci" / "run").read_text()
        return
    if block.how == "file":
        (directory / block.argument).write_text(block.text)
        return
    interpreter = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}[block.language]
    text = block.text.strip() + (f" {block.argument}" if block.how == "shortened" else "")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*interpreter, text],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()


def test_every_player_that_the_readme_names_is_one() -> None:
    players = re.findall(r"`((?:flat|ucb1|uct|minimax|alphabeta|azero|network):[^`{}]*)`", README)
    assert len(players) > 20
    for player in players:
        parse_player(player)


def test_what_the_readme_says_of_the_network_that_comes_with_azero_is_what_its_card_says() -> None:
    card = (ROOT / "checkpoints" / "connect4" / "README.md").read_text()
    found = {}
    for player, table in re.findall(r"^`([^`]+)`\n\n(.*?)(?=^`|\Z)", card, re.DOTALL | re.MULTILINE):
        found[player] = re.findall(r"^\| [\w-]+ \| 1000 \| (\S+) ", table, re.MULTILINE)
    assert {player: len(figures) for player, figures in found.items()} == dict.fromkeys(found, 6)
    network, search, ahead = found.values()
    row = (
        f"network alone {', '.join(network)} %; with 600 simulations {', '.join(search)} %; "
        f"looking four plies ahead of each leaf too {', '.join(ahead)} %"
    )
    assert row in README
    first, last = ", ".join(search[:-1]), search[-1]
    assert f"loses value with 600 simulations in {first} and {last} % of the six sets" in " ".join(README.split())


def test_the_readme_holds_the_commands_to_install_and_run() -> None:
    assert [block.argument for block in BLOCKS if block.how == "ci"] == ["install", "train", "test"]


def test_every_file_that_the_readme_names_exists() -> None:
    named = re.findall(r"`((?:azero|configs|checkpoints|scripts|tests|\.ci)/[\w./]*|\w+\.txt|LICENSE)`", README)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_layout_names_every_part_of_azero() -> None:
    parts = {
        path.name for path in (ROOT / "azero").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    named = {Path(name).name for name in re.findall(r"`(azero/[\w.]+/?)`", README)}
    assert parts - {"__init__.py"} <= named
