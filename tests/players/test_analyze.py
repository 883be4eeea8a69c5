"""python -m azero.analyze, as it is typed."""

import re
from pathlib import Path

import pytest

from azero import analyze
from azero.games import load_game
from azero.games.game import state_after
from tests.evaluators.networks import random_network


def analyzed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    analyze.main(list(arguments))
    return capsys.readouterr().out


def test_it_shows_the_position_the_actions_and_the_tree(capsys: pytest.CaptureFixture[str]) -> None:
    said = analyzed(capsys, "game=tictactoe", "moves=4 0", "player=uct:100")
    assert said.startswith("tictactoe, X to move\n\nO . .\n. X .\n. . .\n\nuct:100: value ")
    rows = re.findall(r"^ (\d) +(\d+) +([+-][01]\.\d\d) +0\.143 +(\d+\.\d)% +draw $", said, re.MULTILINE)
    visits = [int(row[1]) for row in rows]
    assert sorted(row[0] for row in rows) == ["1", "2", "3", "5", "6", "7", "8"]
    assert visits == sorted(visits, reverse=True)
    assert sum(visits) == 100
    assert [float(row[3]) for row in rows] == visits
    lines = re.search(r"principal variations.*\n.*\n((?: .*\n)+)", said)
    assert lines
    assert [line.split()[0] for line in lines[1].splitlines()] == [row[0] for row in rows[:3]]
    assert re.search(
        r"^tree: \d+ nodes, \d+ different states, \d+ proven, \d+ of them finished games$", said, re.MULTILINE
    )
    assert re.search(r"^depth: \d, \d\.\d on average; nodes by depth: 1 7 \d+ ", said, re.MULTILINE)
    assert re.search(
        r"^branching: \d\.\d legal actions where the game goes on, \d\.\d tried where any is$", said, re.MULTILINE
    )


def test_perfect_play_is_told_beside_each_action(capsys: pytest.CaptureFixture[str]) -> None:
    said = analyzed(capsys, "game=tictactoe", "moves=0 3 1 4", "player=uct:100,proven=no")
    rows = re.findall(r"^ (\d) .*%  +(.*) $", said, re.MULTILINE)
    assert dict(rows) == {"2": "win in 1", "5": "draw", "6": "loss in 2", "7": "loss in 2", "8": "loss in 2"}
    assert "perfect play is not known" not in said
    assert "perfect play" not in analyzed(capsys, "game=tictactoe", "player=uct:100", "exact_seconds=0")


def test_what_the_search_has_proven_is_told_beside_perfect_play_and_the_best_comes_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = analyzed(capsys, "game=tictactoe", "moves=0 4 8", "player=uct:2000")
    assert re.search(r"^uct:2000: value \+0\.00 for O, proven: draw, after \d+ simulations in ", said, re.MULTILINE)
    assert "share     proven  perfect play" in said
    rows = re.findall(r"^ (\d) .*%  +(draw|loss in 4) +(draw|loss in 4) $", said, re.MULTILINE)
    assert [row[1] for row in rows] == ["draw"] * 4 + ["loss in 4"] * 2
    assert all(row[1] == row[2] for row in rows)
    assert {row[0] for row in rows[4:]} == {"2", "6"}
    said = analyzed(capsys, "game=tictactoe", "player=uct:9", "exact_seconds=0")
    assert "proven" not in said.partition("principal variations")[0]


def test_steps_tell_of_joined_nodes_and_of_proven_edges_until_the_root_is_proven(
    capsys: pytest.CaptureFixture[str],
) -> None:
    player = "player=uct:9,transpositions=symmetries"
    said = analyzed(capsys, "game=tictactoe", "moves=0 4 8 1", player, "steps=999")
    assert "Nodes are shared: the q of an edge is that of its state" in said
    assert "it leads to a state that is in the tree already, reached another way" in said
    assert re.search(r"not chosen: proven (draw|loss in \d) \n", said)
    assert re.search(r"SIMULATE nothing: it is proven, (draw|win in \d|loss in \d) for [XO], who is to move", said)
    assert said.count("is proven, draw for X: no simulation is left.") == 1
    assert len(re.findall(r"simulation \d+ ─", said)) < 999


def test_steps_of_gumbel_follow_the_plan_of_the_whole_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(random_network(load_game("tictactoe")).to_bytes())
    said = analyzed(capsys, "game=tictactoe", f"player=azero:{path}@32,gumbel=4", "steps=10")
    due = re.findall(r"halving: an action with (\d) visits is due", said)
    assert due == ["0"] * 4 + ["1"] * 4 + ["2"] * 2


def test_perfect_play_that_takes_too_long_to_find_is_said_to_be_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    said = analyzed(capsys, "game=connect4", "player=uct:9", "exact_seconds=0.001")
    assert "perfect play is not known after 0.001 s; exact_seconds=60 looks longer" in said
    assert "share  perfect play" not in said
    # X wins at once in column 3; what column 0 leads to takes minutes to find.
    said = analyzed(capsys, "game=connect4", "moves=3 2 3 2 3 6", "player=uct:9", "exact_seconds=0.5")
    assert re.search(r"^ 3 .* win in 1 $", said, re.MULTILINE)
    assert re.search(r"^ 0 .* \? $", said, re.MULTILINE)


def test_the_position_can_be_given_as_it_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    game = load_game("connect4")
    text = game.state_text(state_after(game, [3, 3, 2]))
    shown = analyzed(capsys, "game=connect4", f"state={text}", "player=uct:20", "exact_seconds=0")
    played = analyzed(capsys, "game=connect4", "moves=3 3 2", "player=uct:20", "exact_seconds=0")
    without_time = [re.sub(r"in \d+ ms", "", said) for said in (shown, played)]
    assert without_time[0] == without_time[1]
    assert "X . ." not in analyzed(capsys, "game=connect4", "player=uct:20", "exact_seconds=0")


def test_moves_go_on_from_the_given_state(capsys: pytest.CaptureFixture[str]) -> None:
    said = analyzed(capsys, "game=tictactoe", "state=X . .\n. . .\n. . .", "moves=4", "player=uct:9")
    assert "X . .\n. O .\n. . .\n" in said


def test_a_players_options_need_no_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    assert "uct:20,c=0.5: value" in analyzed(capsys, "game=tictactoe", "player=uct:20,c=0.5")


def test_the_same_seed_finds_the_same_and_another_something_else(capsys: pytest.CaptureFixture[str]) -> None:
    said = [
        re.sub(r"in \d+ ms", "", analyzed(capsys, "game=connect4", "player=uct:50", "exact_seconds=0", f"seed={seed}"))
        for seed in (1, 1, 2)
    ]
    assert said[0] == said[1] != said[2]


def test_no_simulation_at_all_is_shown_as_the_evaluators_opinion(capsys: pytest.CaptureFixture[str]) -> None:
    said = analyzed(capsys, "game=tictactoe", "steps=0")
    assert "simulation 0" in said
    assert "simulation 1" not in said
    assert "principal variations" not in said
    assert "tree: 1 nodes" in said


@pytest.mark.parametrize(("suffix", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_a_picture_is_drawn_on_demand(
    suffix: str, start: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"tree.{suffix}"
    said = analyzed(capsys, "game=tictactoe", "player=uct:50", f"picture={path}", "num_nodes=5")
    assert said.endswith(f"The picture is in {path}\n")
    assert path.read_bytes().startswith(start)


TWO_SIMULATIONS = """
SELECT from the root down to a leaf
at the root: O to move, N = 1
     action  visits  q  prior  score
 ->       2       0  -  0.500  first
          5       0  -  0.500  first

EXPAND the state after 2
X X O
O O .
X X O
X to move; new edges with their priors: 5 (1.00)

SIMULATE rollouts to the end of the game, 1 for each leaf: +0.00 for X, who is to move

BACKUP +0.00 for X, from the leaf to the root; with the other sign where the other chose
 edge         chosen by   adds  visits           total               q
 2                    O  +0.00  0 -> 1  +0.00 -> +0.00      - -> +0.00
 to the root          O  +0.00  1 -> 2  +0.00 -> +0.00  +0.00 -> +0.00

───────────────────────────────── simulation 2 ─────────────────────────────────

SELECT from the root down to a leaf
at the root: O to move, N = 2
     action  visits      q  prior  score
          2       1  +0.00  0.500  1.333
 ->       5       0      -  0.500  first

EXPAND the state after 5
X X .
O O O
X X O
no edges: the game is over, O wins

SIMULATE nothing: the result is -1.00 for X, who would be next to move

BACKUP -1.00 for X, from the leaf to the root; with the other sign where the other chose
 edge         chosen by   adds  visits           total               q
 5                    O  +1.00  0 -> 1  +0.00 -> +1.00      - -> +1.00
 to the root          O  +1.00  2 -> 3  +0.00 -> +1.00  +0.00 -> +0.33
proven: 5 is a win in 1 for O

The root is proven, win in 1 for O: no simulation is left.
"""


def test_steps_show_select_expand_simulate_and_backup(capsys: pytest.CaptureFixture[str]) -> None:
    said = analyzed(capsys, "game=tictactoe", "moves=0 3 1 4 6 8 7", "steps=9")
    assert (
        re.sub(r" +$", "", said[said.index("\nSELECT from") : said.index("\nprincipal")], flags=re.MULTILINE)
        == TWO_SIMULATIONS
    )


def test_steps_tell_of_leaves_that_a_look_ahead_has_proven(capsys: pytest.CaptureFixture[str]) -> None:
    said = analyzed(capsys, "game=tictactoe", "moves=0 3 1", "player=uct:9,lookahead=1", "steps=9")
    assert "SIMULATE nothing: it is proven, win in 1 for X, who is to move" in said
    assert "the game is over" not in said


def test_steps_are_those_of_the_search(capsys: pytest.CaptureFixture[str]) -> None:
    stepped = analyzed(capsys, "game=tictactoe", "steps=50")
    searched = analyzed(capsys, "game=tictactoe", "player=uct:50")
    endings = [said.partition("principal variations")[2] for said in (stepped, searched)]
    assert endings[0] == endings[1] != ""


def test_at_a_terminal_one_is_asked_after_each_simulation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter(["", "10", "what", "q"])
    monkeypatch.setattr("builtins.input", lambda *_: next(answers))
    said = analyzed(capsys, "game=tictactoe", "step=true")
    assert re.findall(r"simulation (\d+) ─", said) == ["0", "1", "12"]
    assert "tree: 13 nodes" in said


def test_a_network_is_shown_with_its_priors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(random_network(load_game("tictactoe")).to_bytes())
    said = analyzed(capsys, "game=tictactoe", f"player=azero:{path}@20", "steps=2")
    assert "Leaves are valued by NetworkEvaluator.\nActions are selected by PUCT(c_puct=" in said
    priors = [float(prior) for prior in re.findall(r"\d \(([01]\.\d\d)\)", said.partition("SIMULATE")[0])]
    assert len(set(priors)) > 1
    assert sum(priors) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("game=tictactoe|moves=0 3 1 4 2", "the game is over: X wins"),
        ("game=tictactoe|moves=0 3 1 4 2|steps=3", "the game is over: X wins"),
        ("game=tictactoe|moves=4 4", "4 is not legal here; legal: 0 1 2 3 5 6 7 8"),
        ("game=tictactoe|moves=e4", "'e4' is no action of tictactoe"),
        ("game=tictactoe|state=nonsense", "a board of 3 rows and 3 columns is needed"),
        ("game=tests/games/plain.py:Heap|state=5", "'5' is no state of heap"),
        ("game=tests/games/plain.py:Heap|state=[5, 0]", "'[5, 0]' is no state of heap"),
        ("player=random", "player must be one that searches, such as uct:1000, not 'random'"),
        ("player=utc:5", "did you mean 'uct'?"),
        ("picture=tree.jpg", "a picture is a file that ends in .svg or .png, not 'tree.jpg'"),
        ("num_nodes=0", "num_nodes must be 1 to 200, got 0"),
        ("num_variations=-1", "num_variations must be at least 0, got -1"),
        ("steps=-1", "steps must be at least 0, got -1"),
        ("seed=-1", "seed must be at least 0, got -1"),
        ("exact_seconds=-1", "exact_seconds must be at least 0, got -1"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        analyze.main(arguments.split("|"))
    said = capsys.readouterr()
    assert (end.value.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith("azero.analyze: error: ")
    assert complaint in said.err
