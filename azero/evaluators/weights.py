"""A network as plain data: what it is for, its size, its weights, and the file it is kept in.

The file `weights.safetensors` describes itself, so that playing needs no settings, and holds tensors and text only, so
that reading one runs no code. No PyTorch is needed here.
"""

import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from azero.games.game import Game
from azero.resources import resource_directory

Weights = dict[str, npt.NDArray[Any]]

WEIGHTS_FILE = "weights.safetensors"
LAST = "last"  # the name of the layer for training only that predicts the last state, see `ResNet.with_last`
BATCH_NORM_EPSILON = 1e-5
_FORMAT = 1
_CHECKPOINT_NAME = re.compile(r"iteration-(\d{1,12})")


class NetworkFileError(ValueError):
    """A file that holds no usable network; the message is one line that names it."""


@dataclass(frozen=True)
class NetworkSettings:
    """The size of the network."""

    channels: int = 32  # filters of each convolution, 1 to 1024; AlphaGo Zero: 256
    blocks: int = 3  # residual blocks of two convolutions, 0 to 100; AlphaGo Zero: 19 or 39
    head_channels: int = 32  # filters of the first layer of either head, 1 to 1024; AlphaGo Zero: 2 and 1
    value_hidden: int = 64  # units of the value head's hidden layer, 1 to 4096; AlphaGo Zero: 256

    def __post_init__(self) -> None:
        """Raises ValueError for a size out of range."""
        ranges = {"channels": (1, 1024), "blocks": (0, 100), "head_channels": (1, 1024), "value_hidden": (1, 4096)}
        for name, (least, most) in ranges.items():
            size = getattr(self, name)
            if type(size) is not int or not least <= size <= most:
                raise ValueError(f"network.{name} must be a whole number from {least} to {most}, got {size!r}")


@dataclass(frozen=True, eq=False)
class Network:
    """A network and what it plays. Its weights never change: a better network is another one."""

    game: str  # the game's name
    observation_shape: tuple[int, int, int]
    num_actions: int
    settings: NetworkSettings
    weights: Weights  # as trained: batch norm not folded, the names of the PyTorch module
    iteration: int = 0  # of the run that trained it

    def check_game(self, game: Game[Any]) -> None:
        """Raises ValueError unless this network was made for `game`."""
        if self.game != game.name:
            raise ValueError(f"the network is for another game; checkpoint: {self.game}, asked: {game.name}")
        shape = (*game.observation_shape, game.num_actions)
        if (*self.observation_shape, self.num_actions) != shape:
            raise ValueError(
                f"the network is for another size of {game.name}; observation and actions in the checkpoint: "
                f"{self.observation_shape} and {self.num_actions}, asked: {shape[:3]} and {shape[3]}"
            )

    def layers(self) -> dict[str, tuple[int, ...]]:
        """The shape of each layer's weights: (out, in, size, size) of a convolution, (out, in) of a linear layer."""
        return layer_shapes(self.observation_shape, self.num_actions, self.settings)

    def folded_weights(self) -> Weights:
        """The weights for playing: a weight and a bias for each layer, batch norm folded into the convolutions."""
        folded: Weights = {}
        for name, shape in self.layers().items():
            if len(shape) == 2:
                folded |= {key: self.weights[key] for key in (f"{name}.weight", f"{name}.bias")}
                continue
            norm = {key: self.weights[f"{name}.norm.{key}"].astype(np.float64) for key in _NORM}
            scale = norm["weight"] / np.sqrt(norm["running_var"] + BATCH_NORM_EPSILON)
            kernel = self.weights[f"{name}.conv.weight"] * scale[:, None, None, None]
            folded[f"{name}.weight"] = kernel.astype(np.float32)
            folded[f"{name}.bias"] = (norm["bias"] - norm["running_mean"] * scale).astype(np.float32)
        return folded

    def to_bytes(self) -> bytes:
        """The contents of a weights file. The same network gives the same bytes."""
        header = {key: value for key, value in asdict(self).items() if key != "weights"}
        header |= {"format": _FORMAT, "azero": version()}
        # One entry: the library writes several in no fixed order.
        return save(self.weights, {"azero": json.dumps(header, sort_keys=True)})


_NORM = ("weight", "bias", "running_mean", "running_var")


def layer_shapes(
    observation_shape: tuple[int, int, int], num_actions: int, settings: NetworkSettings
) -> dict[str, tuple[int, ...]]:
    """The layers of a network and the shapes of their weights, see `Network.layers`."""
    planes, height, width = observation_shape
    channels, head = settings.channels, settings.head_channels
    shapes: dict[str, tuple[int, ...]] = {"stem": (channels, planes, 3, 3)}
    for i in range(settings.blocks):
        shapes[f"block{i}_conv1"] = shapes[f"block{i}_conv2"] = (channels, channels, 3, 3)
    shapes["policy_conv"] = shapes["value_conv"] = (head, channels, 1, 1)
    shapes["policy_out"] = (num_actions, head * height * width)
    shapes["value_hidden"] = (settings.value_hidden, head * height * width)
    shapes["value_out"] = (1, settings.value_hidden)
    return shapes


def version() -> str:
    """The version of azero, as its files name it."""
    try:
        return metadata.version("azero")
    except metadata.PackageNotFoundError:
        return "not installed"


def checkpoint_number(directory: Path) -> int | None:
    """The iteration of a checkpoint by its directory's name, None for anything else."""
    match = _CHECKPOINT_NAME.fullmatch(directory.name)
    return int(match[1]) if match and directory.is_dir() else None


def checkpoints(run_directory: Path) -> list[Path]:
    """The checkpoints of a run, the newest first."""
    numbered = {path: checkpoint_number(path) for path in run_directory.iterdir()}
    found = [(number, path) for path, number in numbered.items() if number is not None]
    return [path for _, path in sorted(found, reverse=True)]


def find_network(path: str | Path) -> Network:
    """The network in a weights file, in a checkpoint, or in the newest checkpoint of a run that has a sound one.

    Where there is nothing at `path`, it may be the name of a network that comes with azero. A damaged checkpoint of a
    run is passed over with a warning. Raises FileNotFoundError if there is no such thing, NetworkFileError if what is
    there holds no network.
    """
    name, path = str(path), Path(path).expanduser().absolute()
    if not path.exists():
        if name not in (known := shipped_networks()):
            raise FileNotFoundError(
                f"{path} does not exist; {_EXPECTED}, or one that comes with azero: {', '.join(known)}"
            )
        path = known[name]
    if path.is_file():
        return read_network(path)
    if (path / WEIGHTS_FILE).exists() or checkpoint_number(path) is not None:
        return read_network(path / WEIGHTS_FILE)
    for directory in checkpoints(path):
        try:
            return read_network(directory / WEIGHTS_FILE)
        except (OSError, NetworkFileError) as error:
            warnings.warn(f"passed over a damaged checkpoint: {error}", stacklevel=2)
    raise NetworkFileError(f"{path} holds no sound checkpoint; {_EXPECTED}")


_EXPECTED = f"expected a run, one of its checkpoints (iteration-...), or a {WEIGHTS_FILE}"


def shipped_networks() -> dict[str, Path]:
    """The weights files that come with azero, by name."""
    files = resource_directory("checkpoints").glob(f"*/{WEIGHTS_FILE}")
    return {path.parent.name: path for path in sorted(files)}


def read_network(path: Path) -> Network:
    """The network in a weights file. Raises NetworkFileError unless it is all there, of the right types and sound."""
    try:
        with safe_open(path, "numpy") as file:
            header = json.loads((file.metadata() or {})["azero"])
            if header["format"] != _FORMAT:
                raise NetworkFileError(f"{path} has format {header['format']}; azero {version()} reads {_FORMAT}")
            weights = {name: file.get_tensor(name) for name in list(file.keys())}
        header["settings"] = NetworkSettings(**header["settings"])
        header["observation_shape"] = tuple(header["observation_shape"])
        known = {field.name for field in fields(Network)}
        network = Network(weights=weights, **{key: value for key, value in header.items() if key in known})
        _check_description(network)
        check_tensors(weights, network.layers())
    except NetworkFileError:
        raise
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist") from None
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise NetworkFileError(f"{path} is not a network of azero, or is damaged ({reason})") from None
    return network


def training_shapes(layers: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The tensors of a network as trained, and their shapes."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in layers.items():
        if len(shape) == 2:
            shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
        else:
            shapes |= {f"{name}.conv.weight": shape, f"{name}.norm.num_batches_tracked": ()}
            shapes |= {f"{name}.norm.{key}": shape[:1] for key in _NORM}
    return shapes


def check_tensors(weights: Weights, layers: Mapping[str, tuple[int, ...]]) -> None:
    """Raises ValueError unless these are the tensors of a network as trained, all of them, of sound numbers."""
    expected = training_shapes(layers)
    found = {name: tensor.shape for name, tensor in weights.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise ValueError(f"tensor {name}: expected {expected.get(name)}, found {found.get(name)}")
    for name, tensor in weights.items():
        kind = np.dtype(np.int64 if name.endswith("num_batches_tracked") else np.float32)
        if tensor.dtype != kind:
            raise ValueError(f"tensor {name}: expected {kind}, found {tensor.dtype}")
        least = 0 if name.endswith("running_var") else -np.inf
        if not (np.isfinite(tensor) & (tensor >= least)).all():
            raise ValueError(f"tensor {name}: a number is not finite, or is a variance below 0")


def _check_description(network: Network) -> None:
    numbers = [*network.observation_shape, network.num_actions, network.iteration]
    if not (isinstance(network.game, str) and len(numbers) == 5 and all(type(n) is int and n >= 0 for n in numbers)):
        raise ValueError(f"the description is of no game and network: {network.game!r}, {numbers}")
