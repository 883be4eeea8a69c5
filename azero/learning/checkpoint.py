"""The checkpoints of a run: everything that it needs to go on, kept so that a kill at any instant costs one iteration.

    RUN/iteration-000012/weights.safetensors    the network to play with; describes itself
    RUN/iteration-000012/training.safetensors   the weights trained on and the optimiser's memory
    RUN/iteration-000012/state.json             counters, settings of the format, and a checksum of each file
    RUN/replay/iteration-000012.npz             the samples of that iteration (`azero.learning.replay`)

A checkpoint is written under another name, synced to the disk and renamed, so that one that has its name is whole.
Nothing that could run code is read or written.
"""

import hashlib
import json
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load, save

from azero.evaluators.weights import (
    WEIGHTS_FILE,
    Network,
    Weights,
    check_tensors,
    checkpoint_number,
    checkpoints,
    read_network,
    version,
)
from azero.learning.files import sync_directory, write_durably
from azero.learning.replay import replay_files

REPLAY_DIRECTORY = "replay"
_TRAINING_FILE = "training.safetensors"
_STATE_FILE = "state.json"
_FORMAT = 1
_DAMAGES = (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError)  # what reading one may raise


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be read or written; the message is one line that names it."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A run after an iteration."""

    network: Network  # to play with; knows the iteration
    training: Weights  # `Learner.training_state`
    replay: dict[str, Any]  # `Replay.state`
    counters: dict[str, Any]  # whatever else the run counts: numbers, text, lists, dictionaries

    @property
    def iteration(self) -> int:
        """How many iterations the run had done."""
        return self.network.iteration


def checkpoint_directory(run_directory: Path, iteration: int) -> Path:
    """Where the checkpoint after an iteration lies."""
    return run_directory / f"iteration-{iteration:06d}"


def save_checkpoint(run_directory: Path, checkpoint: Checkpoint, keep: int = 3, best: int | None = None) -> Path:
    """Write a checkpoint, then drop all but the `keep` newest and that of iteration `best`. Returns its directory.

    Raises CheckpointError if it cannot be written, for example because the disk is full; every older one is untouched.
    """
    if keep < 1:
        raise ValueError(f"at least the newest checkpoint is kept, got keep={keep}")
    final = checkpoint_directory(run_directory, checkpoint.iteration)
    partial = run_directory / f".{final.name}.partial"
    files = {WEIGHTS_FILE: checkpoint.network.to_bytes(), _TRAINING_FILE: save(checkpoint.training)}
    state = {
        "format": _FORMAT,
        "azero": version(),
        "iteration": checkpoint.iteration,
        "counters": checkpoint.counters,
        "replay": checkpoint.replay,
        "sha256": {name: hashlib.sha256(contents).hexdigest() for name, contents in files.items()},
    }
    files[_STATE_FILE] = json.dumps(state, indent=1, allow_nan=False).encode()
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        for name, contents in files.items():
            write_durably(partial / name, contents)
        if final.exists():  # the iteration is being done again
            shutil.rmtree(final)
        partial.rename(final)
        sync_directory(run_directory)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise CheckpointError(f"could not save {final}: {error.strerror or error}") from error
    _drop_old(run_directory, keep, best)
    return final


def load_checkpoint(directory: Path) -> Checkpoint:
    """The checkpoint in a directory. Raises CheckpointError unless every file is there, sound, and of this format."""
    try:
        state = _read_state(directory)
        for name in (WEIGHTS_FILE, _TRAINING_FILE):
            if hashlib.sha256((directory / name).read_bytes()).hexdigest() != state["sha256"][name]:
                raise ValueError(f"{name} is not what was written")
        network = read_network(directory / WEIGHTS_FILE)
        training = load((directory / _TRAINING_FILE).read_bytes())
        _check_training(training, network)
        return Checkpoint(network, training, replay=state["replay"], counters=state["counters"])
    except _DAMAGES as error:
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise CheckpointError(f"{directory} is no sound checkpoint ({reason})") from None


def load_latest(run_directory: Path) -> Checkpoint | None:
    """The newest sound checkpoint of a run; None if it has none at all. What a killed run left half-done is removed.

    Damaged ones are passed over with a warning that says why. Raises CheckpointError if all are damaged.
    """
    for partial in [*run_directory.glob(".*.partial"), *run_directory.glob(f"{REPLAY_DIRECTORY}/.*.partial")]:
        shutil.rmtree(partial) if partial.is_dir() else partial.unlink()
    found = checkpoints(run_directory)
    for directory in found:
        try:
            return load_checkpoint(directory)
        except CheckpointError as error:
            warnings.warn(f"passed over a checkpoint: {error}", stacklevel=2)
    if found:
        raise CheckpointError(f"none of the {len(found)} checkpoints in {run_directory} is sound")
    return None


def _read_state(directory: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((directory / _STATE_FILE).read_bytes())
    if state["format"] != _FORMAT:
        raise ValueError(f"format {state['format']}; azero {version()} reads format {_FORMAT}")
    return state


def _check_training(training: Weights, network: Network) -> None:
    """Raises KeyError or ValueError where a learner could not go on from this, which the checksum does not tell."""
    module = {name.removeprefix("module."): array for name, array in training.items() if name.startswith("module.")}
    check_tensors(module, network.layers())
    if training["num_steps"].shape != ():
        raise ValueError(f"num_steps must be one number, found {training['num_steps']}")


def _drop_old(run_directory: Path, keep: int, best: int | None) -> None:
    """Delete checkpoints that are neither new nor best, and the samples that no new one's window reaches back to."""
    found = checkpoints(run_directory)
    for directory in found[keep:]:
        if checkpoint_number(directory) != best:
            shutil.rmtree(directory, ignore_errors=True)
    try:
        windows = [_read_state(directory)["replay"]["iterations"] for directory in found[:keep]]
    except _DAMAGES:
        return  # a damaged one among them: rather keep too much
    needed = min((window[0] for window in windows if window), default=0)
    for iteration, path in replay_files(run_directory / REPLAY_DIRECTORY).items():
        if iteration < needed:
            path.unlink(missing_ok=True)
