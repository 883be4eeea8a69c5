"""Rules of the code base that a reader could forget and a script cannot. Ruff and mypy hold the rest."""

import ast
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

import azero
from azero.analyze import AnalyzeSettings
from azero.arena import ArenaSettings
from azero.config import compose_settings
from azero.doctor import DoctorSettings
from azero.play import PlaySettings
from azero.resources import resource_directory
from azero.train import TrainSettings
from azero.tune import TuneSettings

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "azero").rglob("*.py"))
TREES = {path.relative_to(ROOT): ast.parse(path.read_text()) for path in SOURCES}
# Lower may not import higher.
LADDER = ("_cache", "_jit", "files", "resources", "games", "evaluators", "search", "players", "learning", "config")
COMMANDS = sorted(path.stem for path in resource_directory("configs").glob("*.yaml"))
SCRIPTS = sorted(path.name for path in (ROOT / "scripts").glob("*.py") if "__main__" in path.read_text())
CHOICES = [
    (name, group, path.stem)
    for name in COMMANDS
    for entry in yaml.safe_load((resource_directory("configs") / f"{name}.yaml").read_text())["defaults"]
    if isinstance(entry, dict)
    for group in entry
    for path in sorted((resource_directory("configs") / group).glob("*.yaml"))
]


def module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported anywhere in a file, also inside its functions; azero has no relative imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert node.module
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rung(module: str) -> int:
    """How high a module of azero stands: the commands above the ladder, azero itself above them."""
    part = module.split(".")[1] if "." in module else ""
    return LADDER.index(part) if part in LADDER else len(LADDER) + (part == "")


def users_of(*libraries: str) -> set[str]:
    """The files of azero that import one of these libraries."""
    return {
        path.as_posix()
        for path, tree in TREES.items()
        if any(name.split(".")[0] in libraries for name in imports(tree))
    }


def internal_imports() -> dict[str, set[str]]:
    modules = {module_name(path) for path in TREES}
    return {module_name(path): modules.intersection(imports(tree)) for path, tree in TREES.items()}


def test_imports_point_down_the_ladder() -> None:
    upward = [
        f"{module} imports {other}"
        for module, others in internal_imports().items()
        for other in others
        if rung(other) > rung(module)
    ]
    assert upward == []


def test_imports_form_no_cycle() -> None:
    remaining = internal_imports()
    while remaining:
        free = [module for module, others in remaining.items() if not others & (remaining.keys() - {module})]
        assert free, f"a cycle among {sorted(remaining)}"
        for module in free:
            del remaining[module]


def test_torch_stays_in_learning_and_the_network_evaluator() -> None:
    outside = {path for path in users_of("torch") if not path.startswith("azero/learning/")}
    assert outside <= {"azero/evaluators/network.py"}


def test_hydra_stays_in_the_commands_and_config() -> None:
    assert users_of("hydra", "omegaconf") <= {"azero/config.py", *(f"azero/{name}.py" for name in COMMANDS)}


def test_numba_stays_behind_kernel() -> None:
    assert users_of("numba") == {"azero/_jit.py"}


def test_every_library_in_use_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = [*project["dependencies"], *project["optional-dependencies"]["openspiel"]]
    declared = {re.split(r"[<>=]", requirement)[0] for requirement in requirements}
    package = {"hydra": "hydra-core", "omegaconf": "hydra-core", "pyspiel": "open-spiel"}
    used = {name.split(".")[0] for tree in TREES.values() for name in imports(tree)}
    used -= {"azero", *sys.stdlib_module_names}
    assert {package.get(name, name) for name in used} <= declared


@pytest.mark.parametrize("module", ["azero", "azero.play", "azero.arena"])
def test_what_needs_no_network_does_not_import_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_the_public_names_are_exactly_those_listed() -> None:
    public = {name for name, value in vars(azero).items() if name[0] != "_" and not isinstance(value, type(azero))}
    assert set(azero.__all__) == public
    assert len(public) <= 25


def test_loading_a_file_never_runs_code_from_it() -> None:
    assert users_of("pickle", "shelve", "marshal", "dill", "joblib", "yaml") == set()
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant):
                assert (node.arg, node.value.value) not in {("allow_pickle", True), ("weights_only", False)}, path
            assert not (isinstance(node, ast.Attribute) and ast.unparse(node) in {"torch.load", "torch.save"}), path


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_each_of_its_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    import_module(f"azero.{name}").main(["--help"])
    said = capsys.readouterr().out
    assert f"python -m azero.{name} " in said.partition("Options")[0].partition("\n")[2], "an example is missing"
    options = re.findall(r"^  ([a-z][\w.]*)=.*", said, re.MULTILINE)
    explained = re.findall(r"^  ([a-z][\w.]*)=.* [^\s].*$", said, re.MULTILINE)
    assert options
    assert options == explained


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_explains_itself_and_does_nothing_else(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "scripts")  # as Python does
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / "scripts" / name), run_name="__main__")
    assert f"scripts/{name}" in (str(end.value.code) + capsys.readouterr().out)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "group", "choice"), CHOICES)
def test_every_config_composes(name: str, group: str, choice: str, capsys: pytest.CaptureFixture[str]) -> None:
    import_module(f"azero.{name}").main(["--cfg", "job", f"{group}={choice}"])
    printed = yaml.safe_load(capsys.readouterr().out)
    if group == "game":
        assert printed["game"] == choice


def identifiers(tree: ast.AST) -> Iterator[str]:
    """Every name that a file gives to something."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


WORDS = {  # one for each idea: a pattern within a name in snake case, and what azero calls it
    "agents?": "player",
    "env|envs": "game",
    "episodes?": "match or game",
    "epochs?": "iteration",
    "^n_.+": "num_*",
    "num_sims|sims": "simulations",
    "obs": "observation",
    "playouts?": "rollout",
    "rewards?": "outcome or value",
    "(legal|valid|possible|best|next|make)_moves?": "action",
    "winrate|win_rate": "score",
}


@pytest.mark.parametrize(
    ("schema", "name", "given"),
    [
        (TrainSettings, "train", {"run": "a=b (2), c", "resume": "[x]"}),
        (ArenaSettings, "arena", {"anchor": "uct:100,c=1", "record": "a,b.txt", "ladder": "lr=0.1"}),
        (TuneSettings, "tune", {"default": "uct:10,c=2", "run": "{x}"}),
        (PlaySettings, "play", {"save": "x(1).sgf", "hint": "uct:10,c=2"}),
        (AnalyzeSettings, "analyze", {"picture": "a,b.svg", "player": "uct:10,c=2"}),
        (DoctorSettings, "doctor", {"directory": "'quoted'"}),
    ],
)
def test_paths_and_players_are_taken_as_they_stand(schema: Any, name: str, given: dict[str, str]) -> None:
    players = ["players=[random,random]"] if name == "arena" else ["players=['uct:{10,20}']"] if name == "tune" else []
    made = compose_settings(schema, name, [*players, *(f"{option}={value}" for option, value in given.items())])
    assert {option: getattr(made, option) for option in given} == given


def test_there_is_one_word_for_each_idea() -> None:
    found = {
        f"{path}: {name} (say {word})"
        for path, tree in TREES.items()
        for name in identifiers(tree)
        for pattern, word in WORDS.items()
        if re.search(rf"(^|_)({pattern})(_|$)", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    }
    assert found == set()


def functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                yield f"{path}: {node.name}", node


def test_nothing_is_too_big_to_read_at_once() -> None:
    assert [path.name for path in SOURCES if path.read_text().count("\n") > 350] == []
    assert [name for name, node in functions() if (node.end_lineno or 0) - node.lineno >= 70] == []
    assert [name for name, node in functions() if len(node.args.args + node.args.kwonlyargs) > 8] == []


def test_checkers_are_hardly_ever_silenced() -> None:
    text = "".join(path.read_text() for path in SOURCES)
    assert len(re.findall(r"type: ignore|# noqa", text)) <= text.count("\n") / 2000


def test_nothing_is_left_to_do_and_no_machine_is_named() -> None:
    leftovers = re.compile("TO" + "DO|FIX" + r"ME|/wo" + r"rk/|/ro" + r"ot/|/ho" + r"me/\w|/op" + r"t/|py" + r"pi\.\w")
    folders = ("azero", "configs", "scripts", "tests", ".ci")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
    files += [path for path in ROOT.glob("*") if path.suffix in {".md", ".toml", ".txt"}]
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in files
        if path.is_file() and path.suffix not in {".npz", ".safetensors", ".onnx", ".png"}
        for line in path.read_text(errors="replace").splitlines()
        if leftovers.search(line)
    ]
    assert found == []
