"""The checkpoints of a run: everything that it needs to go on, kept so that a kill at any instant costs one iteration.

    RUN/iteration-000012/weights.safetensors    the network to play with; describes itself
    RUN/iteration-000012/training.safetensors   the weights trained on and the optimiser's memory
    RUN/iteration-000012/state.json             the manifest: versions, game, settings, counters, and a checksum of
                                                each file that the checkpoint needs, itself and the samples included
    RUN/replay/iteration-000012.npz             the samples of that iteration (`azero.learning.replay`)

There is no state of random generators to keep: all that is random comes from the seed, which is among the settings, and
from the counters. A checkpoint is written under another name, synced to the disk and renamed, so that one that has its
name is whole; it loses its name before it is removed. Nothing that could run code is read or written, and no name that
stands in a file is ever opened.

Formats: 1 had no settings, and no checksums of samples and manifest. It is still read.
"""

import hashlib
import json
import shutil
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load, save

from azero.evaluators.weights import (
    LAST,
    WEIGHTS_FILE,
    Network,
    Weights,
    check_tensors,
    checkpoint_number,
    checkpoints,
    read_network,
    version,
)
from azero.files import check_contents, remove_directory, remove_partials, sync_directory, write_durably
from azero.learning.replay import check_window, damaged_files, replay_files

REPLAY_DIRECTORY = "replay"
_TRAINING_FILE = "training.safetensors"
_STATE_FILE = "state.json"
_FORMAT = 2
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
    settings: dict[str, Any] = field(default_factory=dict)  # that made it, the seed among them; none in format 1

    @property
    def iteration(self) -> int:
        """How many iterations the run had done."""
        return self.network.iteration


def checkpoint_directory(run_directory: Path, iteration: int) -> Path:
    """Where the checkpoint after an iteration lies."""
    return run_directory / f"iteration-{iteration:06d}"


def save_checkpoint(run_directory: Path, checkpoint: Checkpoint, keep: int = 3, best: int | None = None) -> Path:
    """Write a checkpoint, then drop older ones as `is_kept` says, but for iteration `best`. Returns its directory.

    Raises CheckpointError if it cannot be written, for example because the disk is full; every older one is untouched.
    """
    if keep < 1:
        raise ValueError(f"at least the newest checkpoint is kept, got keep={keep}")
    final = checkpoint_directory(run_directory, checkpoint.iteration)
    partial = run_directory / f".{final.name}.partial"
    files = {WEIGHTS_FILE: checkpoint.network.to_bytes(), _TRAINING_FILE: save(checkpoint.training)}
    files[_STATE_FILE] = _manifest(checkpoint, files)
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        for name, contents in files.items():
            write_durably(partial / name, contents)
        if final.exists():  # the iteration is being done again
            remove_directory(final)
        partial.rename(final)
        sync_directory(run_directory)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise CheckpointError(f"could not save {final}: {error.strerror or error}") from error
    _drop_old(run_directory, checkpoint.iteration, keep, best)
    return final


def load_checkpoint(directory: Path) -> Checkpoint:
    """The checkpoint in a directory. Raises CheckpointError unless every file in it is there, sound, and of a format
    that is known. Samples lie elsewhere: `damaged_files` and `Replay.restore` look at those.
    """
    try:
        state = _read_state(directory)
        for name in (WEIGHTS_FILE, _TRAINING_FILE):
            check_contents(directory / name, state["sha256"][name])
        network = read_network(directory / WEIGHTS_FILE)
        if not checkpoint_number(directory) == network.iteration == state["iteration"]:
            raise ValueError(f"it is of iteration {state['iteration']}, its network of {network.iteration}")
        training = load((directory / _TRAINING_FILE).read_bytes())
        _check_training(training, network)
        return Checkpoint(network, training, state["replay"], state["counters"], state.get("settings", {}))
    except _DAMAGES as error:
        raise CheckpointError(f"{directory} is no sound checkpoint ({_reason(error)})") from None


def load_latest(run_directory: Path) -> Checkpoint | None:
    """The newest sound checkpoint of a run; None if it has none at all. What a killed run left half-done is removed.

    One whose samples are all sound comes before a newer one that has lost some: what it lacks is done again, to the
    same bytes. If there is none, the newest goes on with the samples that are left. Whatever is passed over is named in
    a warning that says why. Raises CheckpointError if all are damaged.
    """
    for directory in (run_directory, run_directory / REPLAY_DIRECTORY):
        remove_partials(directory)
    found = checkpoints(run_directory)
    without_all_samples: Checkpoint | None = None
    for directory in found:
        try:
            checkpoint = load_checkpoint(directory)
        except CheckpointError as error:
            warnings.warn(f"passed over a checkpoint: {error}", stacklevel=2)
            continue
        damaged = damaged_files(run_directory / REPLAY_DIRECTORY, checkpoint.replay)
        if not damaged and (checkpoint.replay["iterations"] or not without_all_samples):
            if without_all_samples:
                warnings.warn(f"the newest checkpoint with all its samples: {directory}", stacklevel=2)
            return checkpoint
        if not without_all_samples:
            warnings.warn(f"{directory} has lost samples: {damaged[0]}", stacklevel=2)
        without_all_samples = without_all_samples or checkpoint
    if found and not without_all_samples:
        raise CheckpointError(f"none of the {len(found)} checkpoints in {run_directory} is sound")
    return without_all_samples


def latest_settings(run_directory: Path) -> dict[str, Any]:
    """The settings of the newest checkpoint whose manifest is sound; none where there is no such thing."""
    for directory in checkpoints(run_directory) if run_directory.is_dir() else ():
        with suppress(*_DAMAGES):
            settings: dict[str, Any] = _read_state(directory).get("settings", {})
            return settings
    return {}


def is_kept(iteration: int, newest: int, keep: int) -> bool:
    """Whether the checkpoint of an iteration stays once there is that of `newest`.

    The `keep` newest do, and of older ones ever fewer: of those up to twice as old every second, up to four times as
    old every fourth, and so on, the first one always. One that goes would not stay later either.
    """
    spacing = iteration & -iteration  # the largest power of two that divides it
    return iteration == 0 or newest - iteration < keep * spacing


def _manifest(checkpoint: Checkpoint, files: dict[str, bytes]) -> bytes:
    state = {
        "format": _FORMAT,
        "azero": version(),
        "game": checkpoint.network.game,
        "iteration": checkpoint.iteration,
        "counters": checkpoint.counters,
        "settings": checkpoint.settings,
        "replay": checkpoint.replay,
        "sha256": {name: hashlib.sha256(contents).hexdigest() for name, contents in files.items()},
    }
    return _json(state | {"sha256_of_the_above": hashlib.sha256(_json(state)).hexdigest()})


def _json(state: dict[str, Any]) -> bytes:
    return json.dumps(state, indent=1, allow_nan=False).encode()


def _read_state(directory: Path) -> dict[str, Any]:
    """The manifest. Raises one of `_DAMAGES` if it is not what was written, or nothing that azero would write."""
    state: dict[str, Any] = json.loads((directory / _STATE_FILE).read_bytes())
    if state["format"] not in (1, _FORMAT):
        raise ValueError(f"format {state['format']}; azero {version()} reads formats 1 to {_FORMAT}")
    if state["format"] > 1:
        digest = state.pop("sha256_of_the_above")
        if digest != hashlib.sha256(_json(state)).hexdigest():
            raise ValueError(f"{_STATE_FILE} is not what was written")
    if not (isinstance(state["counters"], dict) and isinstance(state.get("settings", {}), dict)):
        raise ValueError(f"{_STATE_FILE} holds no counters or settings")
    check_window(state["replay"])
    return state


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def _check_training(training: Weights, network: Network) -> None:
    """Raises KeyError or ValueError where a learner could not go on from this, which the checksum does not tell."""
    module = {name.removeprefix("module."): array for name, array in training.items() if name.startswith("module.")}
    layers = network.layers()
    if f"{LAST}.weight" in module:
        layers[LAST] = (network.observation_shape[0], network.settings.channels)
    check_tensors(module, layers)
    if training["num_steps"].shape != ():
        raise ValueError(f"num_steps must be one number, found {training['num_steps']}")


def _drop_old(run_directory: Path, newest: int, keep: int, best: int | None) -> None:
    """Delete the checkpoints that are not to be kept, and the samples that no new one's window reaches back to.

    One that is newer than the newest was passed over when the run was resumed, and its iteration is done again.
    """
    found = [(number, path) for path in checkpoints(run_directory) if (number := checkpoint_number(path)) is not None]
    kept = [(number, path) for number, path in found if number <= newest][:keep]
    for number, path in found:
        if (number, path) not in kept and (number > newest or not (number == best or is_kept(number, newest, keep))):
            with suppress(OSError):
                remove_directory(path)
    try:
        windows = [_read_state(path)["replay"]["iterations"] for _, path in kept]
    except _DAMAGES:
        return  # a damaged one among them: rather keep too much
    needed = min((window[0] for window in windows if window), default=0)
    for iteration, path in replay_files(run_directory / REPLAY_DIRECTORY).items():
        if iteration < needed:
            path.unlink(missing_ok=True)
