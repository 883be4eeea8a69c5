"""From a command line to typed settings: the only module besides the commands that knows hydra.

A command is a function of one frozen dataclass. `configs/<command>.yaml` names its config groups; hydra composes them
over the dataclass, so that every name and type is checked, puts the overrides of the command line on top, and
`__post_init__` checks the ranges. Defaults live in the dataclasses, and the comment of a field is its help.

The commands use hydra's compose API instead of `@hydra.main`, which also makes output directories, sets up logging, can
change the working directory, and answers a typing error with a trace. Here a relative path means what it says, and a
command writes only where it says. Groups, the grammar of overrides, `--cfg job` and `--multirun` are hydra's.
"""

import argparse
import inspect
import itertools
import os
import re
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from azero.games import load_game
from azero.games.blame import is_shortage, told, watched
from azero.games.suggest import suggestion
from azero.resources import resource_directory

T = TypeVar("T")

_OVERRIDE = re.compile(r"\+{0,2}([A-Za-z_][\w.]*)=(.*)", re.DOTALL)
_NOTATIONS = ("game", "state", "moves", "player", "anchor", "default", "hint")  # options with a notation of their own
_PATHS = ("run", "resume", "record", "save", "picture", "ladder", "directory")
_VERBATIM = (*_NOTATIONS, *_PATHS)  # options whose values are taken as they stand
_REASONS = {
    "converted to Integer": "a whole number is needed",
    "converted to Float": "a number is needed",
    "is not a valid bool": "true or false is needed",
    "is not a ListConfig": "a list is needed: [a,b]",
    "not Optional": "a value is needed",
    "Ambiguous value": "a list is written [a,b]; --multirun runs once with each",
}
_FLAGS = """
Flags:
  --help, -h      this text
  --cfg job       print all settings and stop
  --multirun, -m  one run after the other, for every combination of values that commas separate: seed=1,2,3
"""


def command(schema: type[T], name: str, positional: str = "") -> Callable[[Callable[[T], None]], Callable[..., None]]:
    """Make `function(settings)` the command `python -m azero.<name> option=value ...`.

    `schema` is the dataclass of its settings: numbers, text, booleans, tuples of them, dataclasses, each perhaps None.
    The field comments are the options' help, the function's docstring the command's. Words that are no override become
    the field `positional`, a tuple of strings. The result takes the arguments, by default those of the process.

    A wrong option, any error that tells the user what to do (ValueError, OSError, ImportError, azero's own), and any in
    a user's own game, is one line on standard error and status 2; with AZERO_TRACEBACK=1 it is raised. Ctrl-C ends with
    status 130.
    """

    def decorate(function: Callable[[T], None]) -> Callable[..., None]:
        @wraps(function)
        def main(argv: Sequence[str] | None = None) -> None:
            arguments = _parser(name, positional).parse_intermixed_args(argv)
            with exit_status(name):
                if arguments.help:
                    config = _compose(schema, name, arguments.words, positional)
                    sys.stdout.write(_help(name, _usage(name, positional), inspect.getdoc(function) or "", config))
                    return
                for words in _jobs(name, arguments.words, arguments.multirun):
                    config = _compose(schema, name, words, positional)
                    settings = _build(config)
                    if arguments.cfg:
                        sys.stdout.write(OmegaConf.to_yaml(config))
                    else:
                        function(settings)

        return main

    return decorate


def compose_settings(schema: type[T], name: str, words: Sequence[str] = ()) -> T:
    """The settings that `python -m azero.<name> <words>` runs with. Raises ValueError for a wrong option."""
    return cast(T, _build(_compose(schema, name, words)))


def settings_text(settings: Any) -> str:
    """Settings as the text of a config file, which `saved_words` reads."""
    return OmegaConf.to_yaml(OmegaConf.structured(settings))


def saved_words(saved: Path | dict[str, Any]) -> list[str]:
    """Settings, or those in a file, as words of a command line that read back as the same. Raises ValueError."""
    try:
        if isinstance(saved, Path) and not saved.read_text().endswith("\n"):
            raise ValueError("it is cut short")
        values = _flat(OmegaConf.create(saved) if isinstance(saved, dict) else OmegaConf.load(saved))
    except Exception as error:  # there is no end to what a reader of damaged text raises
        raise ValueError(f"{saved} holds no settings ({_first_line(error)})") from None
    return [f"{key}={_text(value, str if key in _VERBATIM else _quoted)}" for key, value in values.items()]


def _flat(config: Any, prefix: str = "") -> dict[str, Any]:
    """The values of a config by their full names."""
    values: dict[str, Any] = {}
    for key, value in config.items():
        values |= _flat(value, f"{prefix}{key}.") if OmegaConf.is_dict(value) else {f"{prefix}{key}": value}
    return values


def settings_changes(before: str | dict[str, Any], after: str) -> list[str]:
    """What differs between settings, in text or as they are, as "name: before -> after"; not the run they are for."""
    old, new = (_flat(OmegaConf.create(text)) for text in (before, after))
    names = [name for name in new if name not in ("run", "resume") and old.get(name) != new[name]]
    return [f"{name}: {_text(old.get(name))} -> {_text(new[name])}" for name in names]


@contextmanager
def exit_status(name: str) -> Iterator[None]:
    """End the process in one line for an interrupt, or for an error that tells the user what to do."""
    try:
        yield
    except KeyboardInterrupt:
        _say(f"\nazero.{name}: interrupted")
        sys.exit(130)
    except Exception as error:
        own = type(error).__module__.startswith("azero.")
        message = told(error)
        advice = "; what is wrong with a game of your own, python -m azero.check game=... tells best"
        if message and name != "check":
            message += advice
        elif message is None and is_shortage(error):
            message = f"out of memory ({_first_line(error)})" + "; what was committed stays" * (name == "train")
        elif message is None and (own or isinstance(error, (ValueError, OSError, ImportError))):
            message = str(error)
        elif message is None and watched():
            said = traceback.format_exception_only(error)[-1].strip()
            message = f"{said} (while a game of {', '.join(watched())} was at work; AZERO_TRACEBACK=1 shows where)"
            message += advice if name != "check" else ""
        if os.environ.get("AZERO_TRACEBACK") or message is None:
            raise
        _say(f"azero.{name}: error: {message}")
        sys.exit(2)


def _say(text: str) -> None:
    with suppress(OSError):  # nobody may be there to read it
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".strip().partition("\n")[0]


def _usage(name: str, positional: str) -> str:
    return f"python -m azero.{name} {f'[{positional} ...] ' if positional else ''}[option=value ...] [--help]"


def _parser(name: str, positional: str) -> argparse.ArgumentParser:
    usage = _usage(name, positional)
    parser = argparse.ArgumentParser(f"azero.{name}", usage=usage, add_help=False, allow_abbrev=False)
    parser.add_argument("words", nargs="*")
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("-c", "--cfg", choices=["job"])
    parser.add_argument("-m", "--multirun", action="store_true")
    return parser


def _jobs(name: str, words: list[str], multirun: bool) -> Iterator[Sequence[str]]:
    """The words of each run: a single one, or with `multirun` one for each combination of values."""
    choices = [_values(word) if multirun and _OVERRIDE.fullmatch(word) else [word] for word in words]
    jobs = list(itertools.product(*choices))
    for number, job in enumerate(jobs, 1):
        if multirun:
            sys.stderr.write(f"azero.{name}: run {number} of {len(jobs)}: {' '.join(job)}\n")
        yield job


def _values(override: str) -> list[str]:
    """The words that an override with several values stands for."""
    name, _, value = override.partition("=")
    if name in _VERBATIM:  # of these only games make a list: commas within parentheses are a game's own
        games = re.split(r",(?![^()]*\))", value) if name == "game" else [value]
        return [f"{name}={game}" for game in games]
    with _one_line_errors():
        parsed = OverridesParser.create().parse_override(override)
        if not parsed.is_sweep_override():
            return [override]
        return [f"{parsed.get_key_element()}={value}" for value in parsed.sweep_string_iterator()]


def _compose(schema: type[Any], name: str, words: Sequence[str], positional: str = "") -> DictConfig:
    """The config of one run. Raises ValueError for a word that is no option, or a value that the option cannot have."""
    structured = _writable(OmegaConf.structured(schema))
    groups = _groups(name)
    known = [*_options(structured), *groups]
    overrides: list[str] = []
    direct: dict[str, Any] = {}  # what goes past hydra's grammar
    for word in words:
        match = _OVERRIDE.fullmatch(word)
        if match is None and not positional:
            raise ValueError(f"{word!r} is no option; options are written name=value, --help lists them")
        if match is None:
            direct.setdefault(positional, []).append(word)
        elif match[1] not in known:
            raise ValueError(f"unknown option {match[1]!r};{suggestion(match[1], known)} --help lists the options")
        elif match[1] in _VERBATIM:
            direct[match[1]] = None if match[2] == "null" else match[2]
            overrides += _game_override(match[2], groups) if match[1] == "game" else []
        else:
            overrides.append(word)
    ConfigStore.instance().store("schema", structured)
    with _one_line_errors(), initialize_config_dir(str(resource_directory("configs")), version_base="1.3"):
        config = compose(name, overrides)
    for key, value in direct.items():
        OmegaConf.update(config, key, value)
    return config


def _groups(name: str) -> set[str]:
    """The config groups that `configs/<name>.yaml` chooses from."""
    defaults = OmegaConf.load(resource_directory("configs") / f"{name}.yaml").defaults
    return {str(group) for entry in defaults if OmegaConf.is_dict(entry) for group in entry}


def _game_override(game: str, groups: Iterable[str]) -> list[str]:
    """How to tell hydra of a game: the settings that go with its name, or none for a game without a file of them.

    Whatever its parameters, a game starts from the settings of its name. Raises ValueError for one that is not there;
    "place:Class" is not looked up here, as it may take long to load.
    """
    name = game.partition("(")[0]
    if ":" not in game:
        load_game(game)
    if "game" in groups and (resource_directory("configs") / "game" / f"{name}.yaml").is_file():
        return [f"game={_quoted(name)}"]
    return ["~game"] if "game" in groups else []


def _writable(config: DictConfig) -> DictConfig:
    """The config of a frozen dataclass, which OmegaConf makes read-only, open to hydra."""
    OmegaConf.set_readonly(config, None)
    for value in config.values():
        if OmegaConf.is_dict(value):
            _writable(value)
    return config


def _options(config: DictConfig, prefix: str = "") -> dict[str, tuple[Any, str]]:
    """Every option's name, with its value and its field's comment, in the order of the fields."""
    meanings = _field_comments(cast(type, OmegaConf.get_type(config)))
    options: dict[str, tuple[Any, str]] = {}
    for key, value in config.items():
        name = f"{prefix}{key!s}"
        if OmegaConf.is_dict(value):
            options |= _options(value, f"{name}.")
        else:
            options[name] = value, meanings.get(str(key), "")
    return options


def _field_comments(schema: type) -> dict[str, str]:
    """The comment on the line of each field of a dataclass, or else in the lines above it."""
    comments: dict[str, str] = {}
    above: list[str] = []
    sources = [inspect.getsource(part) for part in reversed(schema.__mro__) if is_dataclass(part)]
    for line in "".join(sources).splitlines():
        field = re.match(r"    (\w+):[^#]*(?:# *(.*))?$", line)
        comment = re.match(r"    # *(.*)$", line)
        if field:
            comments[field[1]] = field[2] or " ".join(above)
        above = [*above, comment[1]] if comment else []
    return comments


def _build(config: DictConfig) -> Any:
    """The dataclass that a structured config stands for, with tuples for its lists."""
    with _one_line_errors():
        values = {str(key): value for key, value in config.items()}
    for key, value in values.items():
        if OmegaConf.is_dict(value):
            values[key] = _build(value)
        elif OmegaConf.is_list(value):
            values[key] = tuple(value)
    return cast(type, OmegaConf.get_type(config))(**values)


def _help(name: str, usage: str, about: str, config: DictConfig) -> str:
    lines = [f"usage: {usage}", "", about, "", "Options and their defaults:"]
    for option, (value, meaning) in _options(config).items():
        start = f"  {f'{option}={_text(value)}':<34} "
        lines += textwrap.wrap(meaning, 110, initial_indent=start, subsequent_indent=" " * 37) or [start.rstrip()]
    for group in sorted(_groups(name)):
        choices = sorted(path.stem for path in (resource_directory("configs") / group).glob("*.yaml"))
        lines += ["", f"Defaults that go together: {group}={' or '.join(choices)}"]
    return "\n".join(lines) + "\n" + _FLAGS


def _text(value: Any, write: Callable[[str], str] = str) -> str:
    """A value as one would write it in an override, the strings in it as `write` does."""
    if OmegaConf.is_list(value):
        return f"[{','.join(_text(item, write) for item in value)}]"
    if isinstance(value, str):
        return write(value)
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _quoted(text: str) -> str:
    """A string as hydra's grammar quotes it: a backslash counts as one only before a quote."""
    escaped = re.sub(r"(\\*)'", r"\1\1\\'", text)
    return "'" + re.sub(r"(\\+)$", r"\1\1", escaped) + "'"


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Turn what hydra and OmegaConf raise into a ValueError of one line."""
    try:
        yield
    except MissingConfigException as error:
        group, _, choice = str(error.missing_cfg_file).rpartition("/")
        options = list(error.options or ())
        known = f"there are {', '.join(options)}"
        raise ValueError(f"unknown {group} {choice!r};{suggestion(choice, options)} {known}") from error
    except OverrideParseException as error:
        raise ValueError(f"{error.override}: quote a value that holds = , or brackets: name='\"value\"'") from error
    except (HydraException, OmegaConfBaseException) as error:
        what, *details = str(error).removeprefix("Error merging override ").split("\n")[:2]
        details += str(error.__cause__ or "").split("\n")[:1]
        shown = ": ".join(line.rstrip(".:") for line in (what, *details) if line and not line.startswith(" "))
        plain = next((reason for technical, reason in _REASONS.items() if technical in shown), "")
        raise ValueError(f"{what}: {plain}" if plain else shown) from error
