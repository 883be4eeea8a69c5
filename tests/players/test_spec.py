import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from azero.games import load_game
from azero.games.tictactoe import TicTacToe
from azero.players.minimax import MinimaxPlayer
from azero.players.player import RandomPlayer, SearchPlayer
from azero.players.spec import parse_player
from tests.evaluators.networks import random_network

TTT = TicTacToe()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("random", RandomPlayer),
        ("flat:100", SearchPlayer),
        ("flat:7,rollout=heuristic", SearchPlayer),
        ("ucb1:7,c=2,choice=value", SearchPlayer),
        ("uct:30,rave=50", SearchPlayer),
        ("uct:30,rave=50,grave=5,transpositions=states", SearchPlayer),
        ("uct:30,widening=1.5,transpositions=symmetries,choice=lcb", SearchPlayer),
        ("uct:30,proven=no,early=yes,keep=no", SearchPlayer),
        ("uct:30,children=all", SearchPlayer),
        ("uct:30,threads=2,proven=yes", SearchPlayer),
        ("uct:30,lookahead=3", SearchPlayer),
        ("uct:10", SearchPlayer),
        ("uct:0.01s", SearchPlayer),
        ("uct:20,0.5s", SearchPlayer),
        ("minimax:2", MinimaxPlayer),
        ("alphabeta:2", MinimaxPlayer),
        ("alphabeta:2,0.5s,nodes=9", MinimaxPlayer),
        ("alphabeta", MinimaxPlayer),
        (" uct:10,c=1.0,rollout=heuristic,rollouts=4,sampled=2 ", SearchPlayer),
    ],
)
def test_a_description_makes_a_player_that_plays(text: str, kind: type) -> None:
    player = parse_player(text).make(TTT)
    assert isinstance(player, kind)
    assert player.name == text.strip()
    player.start(0)
    assert player.choose(TTT.initial_state()) in range(9)


def test_a_budget_is_kept_to() -> None:
    for text, spent in (("uct:30", 30), ("uct:30,60s", 30), ("flat:30", 30), ("random", 0)):
        player = parse_player(text).make(TTT)
        player.start(0)
        player.choose(TTT.initial_state())
        assert player.num_simulations == spent


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "",
            "unknown player ''; players are random, flat:100, ucb1:100, uct:1000, minimax:4, alphabeta:8, perfect",
        ),
        ("utc:100", "did you mean 'uct'?"),
        ("1000", "players are random"),
        ("uct", "the simulations of a move are missing; an example is uct:1000"),
        ("uct:c=1.0", "the simulations of a move are missing"),
        ("uct:0", "from 1 to"),
        ("uct:-5", "from 1 to 2147483646, not '-5'"),
        ("uct:2147483647", "from 1 to 2147483646"),  # which with the root's evaluation would be 2**31
        ("uct:1e3", "whole number"),
        ("uct:99999999999", "whole number"),
        ("uct:١٠", "whole number"),
        ("uct:0s", "seconds must be above 0"),
        ("uct:-1s", "seconds must be a number like 1.5"),
        ("uct:nans", "seconds must be a number"),
        ("uct:10,20", "simulations is given twice"),
        ("uct:10,", "whole number"),
        ("uct:10,d=1", "unknown 'd'; allowed are"),
        ("uct:10,rolout=random", "did you mean 'rollout'?"),
        ("uct:10,rollout=smart", "random or heuristic, not 'smart'"),
        ("uct:10,rollouts=0", "rollouts must be a whole number from 1"),
        ("uct:10,c=inf", "c must be a number"),
        ("uct:10,grave=50", "grave needs rave"),
        ("uct:10,rave=50,children=all", "children is an option of plain UCT"),
        ("uct:10,gumbel=16", "unknown 'gumbel'"),
        ("uct:10,transpositions=all", "transpositions must be none or states or symmetries, not 'all'"),
        ("uct:10,proven=maybe", "proven must be yes or no"),
        ("uct:10,lookahead=0", "lookahead must be a whole number from 1"),
        ("uct:10,widening=0", "widening must be above 0"),
        ("uct:10,threads=2000", "threads must be at most 1024"),
        ("uct:10,early=yes,choice=lcb", "the choice must be by visits"),
        ("uct:1s,early=yes", "needs simulations"),
        ("uct:10,early=yes,threads=2", "it takes one thread"),
        ("uct:10,children=all,widening=2", "the opposite of widening"),
        ("azero:somewhere@16,gumbel=8,c=1", "c does not go with gumbel"),
        ("azero:somewhere@1s,gumbel=8", "needs their number"),
        ("azero:somewhere@16,scale=1", "scale is an option of gumbel"),
        ("flat:0.5s", "unknown 'seconds'"),
        ("flat:", "the number of rollouts is missing"),
        ("minimax", "the plies to look ahead are missing; an example is minimax:4"),
        ("minimax:1s", "unknown 'seconds'"),
        ("alphabeta:0", "depth must be a whole number from 1"),
        ("alphabeta:5,c=1", "unknown 'c'; allowed are depth, seconds, nodes"),
        ("random:3", "nothing may follow"),
        ("azero:somewhere", "the simulations of a move are missing; an example is azero:PATH@200; the network without"),
        ("azero:somewhere@0", "the network without search is network:PATH"),
        ("azero:@200", "the path of a run"),
        ("azero:somewhere@200,rollout=random", "unknown 'rollout'"),
        ("network:", "the path of a run"),
    ],
)
def test_a_wrong_description_is_refused_with_what_is_allowed(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)) as refusal:
        parse_player(text)
    assert repr(text) in str(refusal.value)
    assert "\n" not in str(refusal.value)


kinds = st.sampled_from(["random", "flat", "uct", "azero", "network", "human", "UCT", ""])
settings = st.lists(st.sampled_from(["1", "0.5s", "c=1", "rollouts=2", "rollout=random", "x@y", "=", "s", " "])).map(
    ",".join
)


@given(st.one_of(st.text(), st.tuples(kinds, st.one_of(st.text(), settings)).map(":".join)))
@example("azero:a@b@1")
def test_any_text_is_either_a_player_or_a_value_error(text: str) -> None:
    try:
        spec = parse_player(text)
    except ValueError:
        return
    assert parse_player(spec.name).name == spec.name == text.strip()


def test_a_human_is_sent_to_the_terminal() -> None:
    assert parse_player("human").is_human
    with pytest.raises(ValueError, match=r"azero\.play"):
        parse_player("human").make(load_game("connect4"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    checkpoint = tmp_path / "a run@home" / "iteration-3"
    checkpoint.mkdir(parents=True)
    (checkpoint / "weights.safetensors").write_bytes(random_network(TTT).to_bytes())
    return checkpoint.parent


def test_a_network_is_found_by_its_run_its_checkpoint_or_its_file(run: Path) -> None:
    checkpoint = run / "iteration-3"
    choices = set()
    for path in (run, checkpoint, checkpoint / "weights.safetensors"):
        searching = parse_player(f"azero:{path}@20,c=2.0").make(TTT)
        alone = parse_player(f"network:{path}").make(TTT)
        for player in (searching, alone):
            player.start(7)
        choices.add((searching.choose(TTT.initial_state()), alone.choose(TTT.initial_state())))
        assert (searching.num_simulations, alone.num_simulations) == (20, 0)
        assert searching.value is not None
        assert alone.value is not None
    assert len(choices) == 1


def test_a_network_of_another_game_or_none_is_refused_in_one_line(run: Path) -> None:
    with pytest.raises(ValueError, match="checkpoint: tictactoe, asked: connect4"):
        parse_player(f"azero:{run}@20").make(load_game("connect4"))
    with pytest.raises(OSError, match="does not exist"):
        parse_player(f"network:{run}/nowhere").make(TTT)
