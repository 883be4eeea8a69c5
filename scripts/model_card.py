"""Puts the network of a run among those that come with azero, with a card that says what it is and what it can do.

    python scripts/model_card.py RUN NAME [PLAYER ...]

writes checkpoints/NAME/weights.safetensors, from the run's newest sound checkpoint, and checkpoints/NAME/README.md: how
the network was made and the command that makes it again, the machine and the time, and what it gives away in the
positions of azero.evaluate, alone and as each PLAYER, a description as in `azero:NAME@600`. It takes minutes, on the
machine that trained the network.
"""

import shlex
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from azero.config import compose_settings, saved_words
from azero.evaluators.weights import WEIGHTS_FILE, find_network
from azero.files import write_durably
from azero.games import load_game
from azero.games.game import Game
from azero.learning.checkpoint import checkpoint_directory, load_checkpoint
from azero.learning.cores import num_cores
from azero.learning.metrics import METRICS_FILE, count_evaluations, read_metrics
from azero.machine import machine_text
from azero.players.exact import Figures, PositionSet, measure, position_sets
from azero.players.spec import parse_player
from azero.resources import resource_directory
from azero.screen import markdown_table
from azero.train import CONFIG_FILE, TrainSettings

FIGURES = ("moves that lose value, %", "... in positions not lost already", "not exactly best", "value right")


def figures_table(player: str, game: Game[Any], sets: list[PositionSet[Any]]) -> str:
    """What a player gives away in each set of positions, with 95 % intervals."""
    make = partial(parse_player(player).make, game)
    rows: list[Figures] = [measure(make, known.positions, num_cores()) for known in sets]
    lines = [
        [known.name, str(len(known.positions)), *(count.text() for count in found)]
        for known, found in zip(sets, rows, strict=True)
    ]
    if len(sets) > 1:
        mean = 100 * sum(found.lost_value.share for found in rows) / len(rows)
        lines.append(["mean", "", f"{mean:.2f}", "", "", ""])
    return markdown_table(["positions", "", *FIGURES], lines)


def made(run: Path) -> str:
    """How the run was trained, from what it kept."""
    config, rows = OmegaConf.load(run / CONFIG_FILE), read_metrics(run / METRICS_FILE)
    network = find_network(run)
    checkpoint = load_checkpoint(checkpoint_directory(run, network.iteration))
    rows = [row for row in rows if int(row["iteration"]) <= network.iteration]
    evaluations, counters = count_evaluations(rows, config.rollout_iterations), checkpoint.counters
    counted = ("running_mean", "running_var", "num_batches_tracked")  # by batch norm, not learned
    parameters = sum(array.size for name, array in network.weights.items() if not name.endswith(counted))
    positions = [float(row["speed/positions_per_second"]) * float(row["speed/selfplay_seconds"]) for row in rows]
    solved = sum(float(row["selfplay/solved_share"]) * number for row, number in zip(rows, positions, strict=True))
    how = (
        f", {solved / sum(positions):.0%} of them solved by alpha-beta and the others searched"
        if solved
        else " searched"
    )
    size = ", ".join(f"{value} {key.replace('_', ' ')}" for key, value in config.network.items())
    return (
        f"Trained from nothing but the rules, seed {config.seed}, in {counters['seconds'] / 60:.1f} minutes "
        f"of wall clock: {network.iteration} iterations, "
        f"{counters['games']:,} games, {counters['positions']:,} positions{how}, "
        f"{evaluations:,} evaluations by the network. The network: {size}; {parameters:,} parameters. It is "
        "the last checkpoint of its run; the positions below were not used to choose it, and nothing but games against "
        "itself was learned from."
    )


def command_of(run: Path) -> str:
    """The command that trains such a network again: what the run's settings add to those that ship."""
    words = saved_words(run / CONFIG_FILE)
    game = next(word for word in words if word.startswith("game="))
    shipped = saved_words(asdict(compose_settings(TrainSettings, "train", [game])))
    added = [word for word in words if word not in shipped and not word.startswith(("run=", "resume="))]
    return shlex.join(["python", "-m", "azero.train", game, *added])


def main(run: str, name: str, *players: str) -> None:
    """Write the weights, then the card."""
    network = find_network(run)
    directory = resource_directory("checkpoints") / name
    directory.mkdir(parents=True, exist_ok=True)
    write_durably(directory / WEIGHTS_FILE, network.to_bytes())
    game, call = load_game(network.game), " ".join(("RUN", name, *players))
    sets = position_sets(game)
    parts = [
        f"# {name}: {network.game}\n\n{made(Path(run))}\n\n```sh\n{command_of(Path(run))}\n```\n\n"
        f"Trained and measured on {machine_text()}. Written by `python scripts/model_card.py {call}`. In per cent, "
        "with 95 % intervals:\n"
    ]
    for player in (f"network:{name}", *players):
        parts.append(f"`{player}`\n\n{figures_table(player, game, sets)}")
    write_durably(directory / "README.md", "\n".join(parts).encode())


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
