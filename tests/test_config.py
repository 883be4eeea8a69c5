"""From words on a command line to settings: what is accepted, what is refused and how, and nothing else."""

from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from azero.config import command, compose_settings, saved_words, settings_text


@dataclass(frozen=True)
class SearchSettings:
    simulations: int = 32  # simulations for each action, at least 1
    c: float | None = None  # exploration
    reuse: bool = True  # keep the tree

    def __post_init__(self) -> None:
        if self.simulations < 1:
            raise ValueError(f"search.simulations must be at least 1, got {self.simulations}")


@dataclass(frozen=True)
class SeededSettings:
    seed: int = 0  # fixes all that is drawn


@dataclass(frozen=True)
class Settings(SeededSettings):
    # the game: one of azero's,
    # or your own
    game: str = "connect4"
    players: tuple[str, ...] = ()  # who plays
    search: SearchSettings = SearchSettings()
    resume: str | None = None  # a run to go on with


@pytest.fixture(autouse=True)
def configs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of configs for a command called `demo`; tests stand in an empty directory beside it."""
    directory = tmp_path / "configs"
    files = {
        "demo.yaml": "defaults: [schema, _self_, game: connect4]",
        "plain.yaml": "defaults: [schema]",
        "game/connect4.yaml": "# @package _global_\ngame: connect4\nsearch: {simulations: 64}",
        "game/tictactoe.yaml": "# @package _global_\ngame: tictactoe",
    }
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    monkeypatch.setattr("azero.config.resource_directory", lambda name: directory)
    monkeypatch.delenv("AZERO_TRACEBACK", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return directory


def settings(*words: str) -> Settings:
    return compose_settings(Settings, "demo", words)


def run(*words: str) -> list[Settings]:
    """The settings that a command, given these words, was called with."""
    calls: list[Settings] = []

    @command(Settings, "demo", positional="players")
    def main(settings: Settings) -> None:
        """Play a demonstration."""
        calls.append(settings)

    main(words)
    return calls


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is said on standard error about words that a command refuses."""
    with pytest.raises(SystemExit) as stop:
        run(*words)
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_defaults_come_from_the_dataclass_and_the_chosen_files() -> None:
    assert settings() == Settings(search=SearchSettings(simulations=64))
    assert settings("game=tictactoe") == Settings(game="tictactoe")


def test_the_command_line_goes_over_the_files() -> None:
    assert settings("search.simulations=3", "search.c=2", "seed=9").search == SearchSettings(3, 2.0)


def test_a_game_of_ones_own_is_a_path_and_starts_from_the_dataclass() -> None:
    assert settings("game=some where/my,game.py:MyGame") == Settings(game="some where/my,game.py:MyGame")


def test_a_command_without_settings_for_games_takes_a_game_too() -> None:
    assert compose_settings(Settings, "plain", ["game=tictactoe"]) == Settings(game="tictactoe")
    assert compose_settings(Settings, "plain") == Settings()


def test_lists_arrive_as_tuples() -> None:
    assert settings("players=[uct:10,random]").players == ("uct:10", "random")


def test_words_that_are_no_option_fill_the_positional_field() -> None:
    assert run("uct:10", "seed=3", "azero:runs/lr=0.1,b@50") == [
        Settings(players=("uct:10", "azero:runs/lr=0.1,b@50"), search=SearchSettings(64), seed=3)
    ]


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("search.simz=100", "unknown option 'search.simz'; did you mean 'search.simulations'?"),
        ("simulations=100", "did you mean 'search.simulations'?"),
        ("+foo=1", "unknown option 'foo'"),
        ("hydra.output_sbdir=x", "unknown option 'hydra.output_sbdir'"),
        ("hydra.job.chdir=true", "unknown option 'hydra.job.chdir'"),
        ("search.simulations=many", "search.simulations=many: a whole number is needed"),
        ("search.simulations=1e3", "search.simulations=1e3: a whole number is needed"),
        ("search.simulations=-3", "search.simulations must be at least 1, got -3"),
        ("search.simulations=null", "search.simulations=null: a value is needed"),
        ("search.simulations=${seeds}", "Interpolation key 'seeds' not found"),
        ("search.c=high", "search.c=high: a number is needed"),
        ("search.reuse=perhaps", "search.reuse=perhaps: true or false is needed"),
        ("players=3", "players=3: a list is needed: [a,b]"),
        ("seed=1,2", "--multirun runs once with each"),
        ("search.c=a=b", "search.c=a=b: quote a value that holds = , or brackets"),
        ("game=conect4", "unknown game 'conect4': did you mean 'connect4'? azero has "),
        ("game=", "unknown game ''"),
    ],
)
def test_a_wrong_option_is_refused_in_one_line_that_helps(
    capsys: pytest.CaptureFixture[str], word: str, answer: str
) -> None:
    said = refusal(capsys, word)
    assert said.startswith("azero.demo: error: ")
    assert answer in said
    assert said.count("\n") == 1


def test_a_wrong_flag_is_refused_with_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert "usage: python -m azero.demo [players ...] [option=value ...]" in refusal(capsys, "--seed=1")


def test_a_word_that_is_no_option_is_refused_where_no_words_are_expected() -> None:
    with pytest.raises(ValueError, match="'~seed' is no option; options are written name=value"):
        settings("~seed")


def test_a_wrong_choice_of_a_file_lists_those_there_are(configs: Path) -> None:
    (configs / "demo.yaml").write_text("defaults: [schema, _self_, network: small]")
    (configs / "network").mkdir()
    for choice in ("small", "big"):
        (configs / "network" / f"{choice}.yaml").write_text("# @package _global_\nseed: 5")
    assert settings("network=big").seed == 5
    with pytest.raises(ValueError, match=r"unknown network 'bigg'; did you mean 'big'\? there are big, small"):
        settings("network=bigg")


def test_a_wrong_name_in_a_file_is_an_error_that_names_both(configs: Path) -> None:
    (configs / "game" / "connect4.yaml").write_text("# @package _global_\nsearch: {simz: 3}")
    with pytest.raises(ValueError, match=r"In 'game/connect4': .* Key 'simz' not in 'SearchSettings'"):
        settings()


def test_the_help_shows_every_option_with_its_default_and_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help", "seed=7", "uct:1", "random") == []
    said = capsys.readouterr().out
    assert "Play a demonstration." in said
    lines = {tuple(line.split(maxsplit=1)) for line in said.splitlines() if "=" in line}
    assert lines >= {
        ("game=connect4", "the game: one of azero's, or your own"),
        ("search.simulations=64", "simulations for each action, at least 1"),
        ("search.c=null", "exploration"),
        ("search.reuse=true", "keep the tree"),
        ("players=[uct:1,random]", "who plays"),
        ("seed=7", "fixes all that is drawn"),
    }
    assert "game=connect4 or tictactoe" in said


def test_the_composed_settings_can_be_printed_as_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    assert "at least 1, got 0" in refusal(capsys, "--cfg", "job", "search.simulations=0")
    assert run("--cfg", "job", "game=tictactoe", "random") == []
    printed = yaml.safe_load(capsys.readouterr().out)
    assert printed["game"] == "tictactoe"
    assert printed["players"] == ["random"]
    assert printed["search"] == {"simulations": 32, "c": None, "reuse": True}


def test_a_path_can_be_taken_back() -> None:
    assert settings("resume=here").resume == "here"
    assert settings("resume=here", "resume=null").resume is None


@pytest.mark.parametrize("text", ["runs/lr=0.1,b", "it's [é]", "'", r"C:\it\'s\\", "null", "3", ""])
def test_saved_settings_read_back_as_they_were(tmp_path: Path, text: str) -> None:
    path = "./null" if text == "null" else text  # paths are taken as they stand, but for null
    before = Settings(game="my game.py:G", players=(text, "uct:1,c=2"), search=SearchSettings(3, 1e-5), resume=path)
    (tmp_path / "saved.yaml").write_text(settings_text(before))
    assert settings(*saved_words(tmp_path / "saved.yaml")) == before


def test_a_saved_null_goes_over_the_default_and_a_later_word_over_what_is_saved(tmp_path: Path, configs: Path) -> None:
    (configs / "game" / "connect4.yaml").write_text("# @package _global_\nsearch: {c: 2}")
    (tmp_path / "saved.yaml").write_text(settings_text(Settings(seed=4)))
    words = saved_words(tmp_path / "saved.yaml")
    assert settings(*words) == Settings(seed=4)
    assert settings(*words, "seed=5") == Settings(seed=5)


def test_a_multirun_runs_every_combination_and_says_which(capsys: pytest.CaptureFixture[str]) -> None:
    calls = run("--multirun", "seed=1,2", "game=tictactoe,connect4", "players=[a,b]")
    assert [(call.seed, call.game) for call in calls] == [
        (1, "tictactoe"), (1, "connect4"), (2, "tictactoe"), (2, "connect4"),
    ]  # fmt: skip
    assert "azero.demo: run 3 of 4: seed=2 game=tictactoe players=[a,b]\n" in capsys.readouterr().err


def test_games_with_parameters_start_from_the_settings_of_their_name(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[str] = []
    monkeypatch.setattr("azero.config.load_game", looked_up.append)
    assert settings("game=connect4(size=6)") == Settings(game="connect4(size=6)", search=SearchSettings(64))
    assert settings("game=othello(size=6)") == Settings(game="othello(size=6)")
    assert looked_up == ["connect4(size=6)", "othello(size=6)"]
    assert settings("game=file.py:Class(size=6)") == Settings(game="file.py:Class(size=6)")


def test_a_multirun_takes_games_with_parameters_apart_at_the_commas_between_them() -> None:
    words = "game=tictactoe,a/b.py:G(rows=6,columns=6),openspiel:hex(board_size=5)"
    assert [call.game for call in run("-m", words)] == [
        "tictactoe", "a/b.py:G(rows=6,columns=6)", "openspiel:hex(board_size=5)",
    ]  # fmt: skip


def test_a_command_writes_nothing_and_stays_where_the_user_stands(tmp_path: Path) -> None:
    here = Path.cwd()
    run("resume=../run")
    run("-m", "seed=1,2")
    assert Path.cwd() == here
    assert list(here.iterdir()) == []


@command(Settings, "demo")
def failing(settings: Settings) -> None:
    """Raise what `resume` names."""
    errors = {"value": ValueError("no such run"), "bug": TypeError("a bug"), "stop": KeyboardInterrupt()}
    raise errors[str(settings.resume)]


def test_an_error_that_tells_the_user_something_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        failing(["resume=value"])
    assert capsys.readouterr().err == "azero.demo: error: no such run\n"


def test_a_trace_is_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZERO_TRACEBACK", "1")
    with pytest.raises(ValueError, match="no such run"):
        failing(["resume=value"])


def test_a_bug_keeps_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("azero.games.blame._files", set())  # no game of a user's is at work
    with pytest.raises(TypeError, match="a bug"):
        failing(["resume=bug"])


def test_ctrl_c_ends_in_one_line_with_the_status_of_an_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="130"):
        failing(["resume=stop"])
    assert capsys.readouterr().err == "\nazero.demo: interrupted\n"
