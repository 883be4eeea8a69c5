"""`scripts/model_card.py` keeps a network with a card that says how it was made and what it can do."""

import re
import runpy
from pathlib import Path

import pytest

from azero.evaluators.weights import read_network
from azero.train import main as train
from tests.learning.test_time_to_strength import TINY


def test_a_card_tells_how_a_network_was_made_and_what_it_gives_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "model_card.py"))["main"]
    monkeypatch.setitem(script.__globals__, "resource_directory", lambda name: tmp_path / name)
    monkeypatch.setattr("azero.evaluators.weights.resource_directory", lambda name: tmp_path / name)
    run = tmp_path / "run"
    words = ["game=five-stones", *TINY[1:], "matches.games=0", "iterations=2", "minutes=null", "seed=4"]
    words.append("selfplay.solver_nodes=2")
    train([*words, f"run={run}"])
    script(str(run), "stones", "azero:stones@20")
    network = read_network(tmp_path / "checkpoints" / "stones" / "weights.safetensors")
    assert (network.game, network.iteration) == ("nim(heaps=5,take=2)", 2)
    card = (tmp_path / "checkpoints" / "stones" / "README.md").read_text()
    assert card.startswith("# stones: nim(heaps=5,take=2)\n\nTrained from nothing but the rules, seed 4, in 0.")
    command = next(line for line in card.splitlines() if line.startswith("python -m azero.train"))
    assert set(words) <= set(command.split())
    assert "run=" not in command
    assert re.search(r" positions, [1-9]\d?% of them solved by alpha-beta and the others searched, ", card)
    assert card.count("| all | 8 | ") == 2
    assert "`azero:stones@20`" in card
