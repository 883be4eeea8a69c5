"""Every game of OpenSpiel that fits azero keeps the laws, can be learned, and stands in the README's table.

To play all of them takes minutes, which AZERO_TEST_OPENSPIEL=all does, and a few otherwise;
AZERO_TEST_OPENSPIEL=write besides writes the table.
"""

import os
import sys
from pathlib import Path

import pyspiel
import pytest

from azero.games import load_game
from azero.games.check import check_game
from azero.games.game import state_after
from azero.train import main as train

README = Path(__file__).parents[2] / "README.md"
BEGIN, END = "<!-- openspiel: begin -->\n", "<!-- openspiel: end -->\n"
HOW_MANY = os.environ.get("AZERO_TEST_OPENSPIEL", "few")
SMALLER = {  # than the default, which would take long
    "amazons": "board_size=6",
    "chinese_checkers": "max_moves=200",
    "cursor_go": "board_size=5,max_cursor_moves=10",
    "go": "board_size=5",
    "gomoku": "size=7",
    "havannah": "board_size=4",
    "hex": "board_size=5",
    "hive": "board_size=6",
    "lines_of_action": "max_game_length=200",
    "mnk": "m=4,n=4,k=3",
    "quoridor": "board_size=5",
    "y": "board_size=5",
}
FEW = ["breakthrough", "dots_and_boxes", "nim", "oware", "tic_tac_toe"]
NOT_LEARNED = {"shogi": "plays; a game of self-play takes too long to test"}
TINY = [
    "iterations=1", "selfplay.games=1", "selfplay.simulations=2", "rollout_iterations=0", "matches.games=0",
    "selfplay.threads=1", "selfplay.parallel_games=1", "learner.threads=1", "learner.batch_size=8",
    "network.channels=4", "network.blocks=1",
]  # fmt: skip


def fitting():
    """The games there are by now that azero can play, by their names."""
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games() if kind.default_loadable}
    wanted = {
        "dynamics": pyspiel.GameType.Dynamics.SEQUENTIAL,
        "chance_mode": pyspiel.GameType.ChanceMode.DETERMINISTIC,
        "information": pyspiel.GameType.Information.PERFECT_INFORMATION,
        "utility": pyspiel.GameType.Utility.ZERO_SUM,
    }
    return sorted(
        name
        for name, kind in kinds.items()
        if all(getattr(kind, key) == value for key, value in wanted.items())
        and kind.min_num_players <= 2 <= kind.max_num_players
    )


ALL = fitting()
PLAYED = FEW if HOW_MANY == "few" else ALL


def spec(name, smaller=False):
    return f"openspiel:{name}" + (f"({SMALLER[name]})" if smaller and name in SMALLER else "")


def row(name):
    """The game's line of the table."""
    game = load_game(spec(name))
    shape = " x ".join(map(str, game.observation_shape))
    learned = NOT_LEARNED.get(name, "yes")
    tested = f"`{SMALLER[name]}`" if name in SMALLER else ""
    return f"| `{game.name}` | {game.num_actions:,} | {game.max_game_length:,} | {shape} | {learned} | {tested} |\n"


def table():
    head = "| game | actions | longest game | observation | plays and learns | tested with |\n"
    return head + "| --- | ---: | ---: | ---: | --- | --- |\n" + "".join(map(row, ALL))


def test_the_table_in_the_readme_names_every_game_that_fits():
    before, rest = README.read_text().split(BEGIN)
    written, after = rest.split(END)
    if HOW_MANY == "write":
        README.write_text(before + BEGIN + table() + END + after)
        written = table()
    assert written == table()


@pytest.mark.parametrize("name", PLAYED)
def test_the_laws_hold(name):
    assert check_game(load_game(spec(name, smaller=True)), num_games=2, seed=1) > 10


@pytest.mark.compiled
@pytest.mark.parametrize("name", [name for name in PLAYED if name not in NOT_LEARNED])
def test_an_iteration_of_learning_works(name, tmp_path, capsys):
    train([f"game={spec(name, smaller=True)}", *TINY, f"run={tmp_path / 'run'}"])
    assert "1 iterations, 1 games" in capsys.readouterr().err


def test_actions_players_and_results_are_those_of_openspiel():
    game, reference = load_game("openspiel:connect_four"), pyspiel.load_game("connect_four").new_initial_state()
    state = game.initial_state()
    for action in [3, 3, 2, 2, 4, 4, 1]:
        assert game.legal_actions(state) == reference.legal_actions()
        assert game.current_player(state) == reference.current_player()
        reference.apply_action(action)
        state = game.step(state, action)
    assert game.is_terminal(state)
    assert game.current_player(state) == 1
    assert game.outcome(state) == -1.0 == reference.returns()[1]


def test_the_observation_is_openspiels_for_the_mover_and_a_plane_that_says_who_he_is():
    game = load_game("openspiel:connect_four")
    start = game.initial_state()
    after = game.step(start, 3)
    for player, state in enumerate([start, after]):
        seen = game.observation(state)
        assert seen[:-1].ravel().tolist() == state.state.observation_tensor(player)
        assert (seen[-1] == player).all()


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("tic_tac_toe", (4, 3, 3)),
        ("oware", (2, 1, 14)),
        ("gomoku(size=7)", (4, 1, 49)),
        ("hex(board_size=3)", (10, 3, 3)),
    ],
)
def test_whatever_its_shape_an_observation_has_planes_of_rows_and_columns(name, shape):
    game = load_game(f"openspiel:{name}")
    assert game.observation_shape == shape == game.observation(game.initial_state()).shape


def test_a_game_without_observations_says_so():
    game = load_game("openspiel:tic_tac_toe")
    del game.observation_shape
    with pytest.raises(NotImplementedError, match="has no observation"):
        game.observation(game.initial_state())


def test_who_begins_is_player_0_also_where_openspiel_calls_him_1():
    game = load_game("openspiel:chess")
    state = game.initial_state()
    for move in ["f3", "e5", "g4", "Qh4#"]:  # black mates
        assert game.current_player(state) == ["f3", "e5", "g4", "Qh4#"].index(move) % 2
        state = game.step(state, state.state.string_to_action(move))
    assert game.current_player(state) == 0
    assert game.outcome(state) == -1.0


def test_a_utility_is_told_as_a_part_of_the_largest():
    game = load_game("openspiel:dots_and_boxes(num_rows=1,num_cols=2,utility_margin=yes)")
    state = state_after(game, [0, 1, 2, 3, 4, 5, 6])
    assert abs(game.outcome(state)) == 1.0 if abs(state.state.returns()[0]) == 2 else 0.0


def test_parameters_are_written_as_openspiel_writes_them_or_with_yes_and_no():
    assert load_game("openspiel:nim(is_misere=no)").name == "openspiel:nim(is_misere=False)"
    assert load_game("openspiel:breakthrough(rows=6,columns=5)").name == "openspiel:breakthrough(columns=5,rows=6)"
    assert load_game("openspiel:breakthrough()").name == "openspiel:breakthrough"
    assert load_game("openspiel:misere(game=tic_tac_toe())").num_actions == 9


def test_states_are_the_same_after_the_same_actions_and_read_back_from_them():
    game = load_game("openspiel:tic_tac_toe")
    state, other = state_after(game, [4, 0, 8]), state_after(game, [8, 0, 4])
    assert state == state_after(game, [4, 0, 8]) != other
    assert state != "x"
    assert len({state, other, state_after(game, [4, 0, 8])}) == 2
    assert repr(state) == "OpenSpielState(4 0 8)"
    text = game.state_text(state)
    assert text.startswith("o..\n.x.\n..x\n1 o(0,1), 2 o(0,2), ")
    assert text.endswith("\nplayed: 4 0 8")
    assert game.parse_state(text) == state == game.parse_state("played: 4 0 8")
    for wrong in ("4 0 8", "played: 4 4", "played: x"):
        with pytest.raises(ValueError, match="tic_tac_toe"):
            game.parse_state(wrong)


def test_a_picture_has_no_colours_in_it():
    game = load_game("openspiel:twixt")
    assert "\x1b" in str(game.initial_state().state)
    assert "\x1b" not in game.state_text(game.initial_state())


def test_an_action_is_written_as_its_number():
    game = load_game("openspiel:tic_tac_toe")
    assert game.parse_action(" 8 ") == 8
    for wrong in ("9", "-1", "x(0,1)", ""):
        with pytest.raises(ValueError, match="is no action of openspiel:tic_tac_toe; allowed: 0 to 8"):
            game.parse_action(wrong)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "kuhn_poker",
            "is of chance mode EXPLICIT_STOCHASTIC and information IMPERFECT_INFORMATION: a game must be for",
        ),
        ("matrix_rps", "is of dynamics SIMULTANEOUS and information ONE_SHOT"),
        ("backgammon", "is of chance mode EXPLICIT_STOCHASTIC: a game must be for two players, sequential"),
        ("chinese_checkers(players=3)", "is of 3 players"),
        ("catch", "GENERAL_SUM"),
        (
            "breakthruogh",
            r"OpenSpiel has no game 'breakthruogh'; did you mean 'breakthrough'\? for azero it has amazons, ",
        ),
        ("breakthrough(row=6)", r"has no parameter 'row'; did you mean 'rows'\? it has columns=8, rows=8"),
        ("chess(size=6)", "OpenSpiel's chess has no parameter 'size'; it has chess960=False"),
        ("shogi(size=6)", "OpenSpiel's shogi has no parameter 'size'; it has none"),
        ("breakthrough(rows=six)", r"OpenSpiel does not make a game of 'breakthrough\(rows=six\)': "),
        ("misere", "OpenSpiel does not make a game of 'misere': Missing parameter game"),
    ],
)
def test_what_is_no_game_for_azero_is_refused_with_what_does_not_fit(name, reason):
    with pytest.raises(ValueError, match=reason):
        load_game(f"openspiel:{name}")


def test_without_openspiel_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(
        ImportError, match=r"this game is OpenSpiel's, which is not here: pip install 'azero\[openspiel\]'$"
    ):
        load_game("openspiel:hex")
