from collections import Counter
from typing import Any

import numpy as np
import pytest

from azero._jit import draw
from azero.evaluators.rollout import RolloutEvaluator
from azero.games import load_game
from azero.games.connect4 import Connect4
from azero.games.game import GameOverError, state_after
from azero.games.tictactoe import TicTacToe
from azero.players.match import play_game
from azero.players.player import NetworkPlayer, Player, RandomPlayer, SearchPlayer
from azero.players.spec import parse_player
from azero.search.mcts import MCTS, Budget
from azero.search.uct import UCT
from tests.players.doubles import Weights

TTT, C4 = TicTacToe(), Connect4()
KINDS = ["random", "flat:30", "uct:30", "uct:30,sampled=3"]


def started(player: Player[Any], stream: int = 0) -> Player[Any]:
    player.start(stream)
    return player


@pytest.mark.parametrize("text", KINDS)
def test_a_player_repeats_a_game_whatever_it_played_before(text: str) -> None:
    players = [parse_player(text).make(TTT) for _ in range(2)]
    first = play_game(TTT, players, stream=5)
    play_game(TTT, players[::-1], stream=6)
    again = play_game(TTT, players, stream=5)
    assert again.actions == first.actions
    assert [spent[:2] for spent in again.spent] == [spent[:2] for spent in first.spent]
    assert len({play_game(TTT, players, stream=stream).actions for stream in range(8)}) > 4


@pytest.mark.parametrize("text", KINDS)
@pytest.mark.parametrize("game", [TTT, C4])
def test_a_player_only_makes_legal_moves(game: Any, text: str) -> None:
    record = play_game(game, [parse_player(text).make(game) for _ in range(2)])
    assert record.forfeited_by is None
    assert game.is_terminal(state_after(game, record.actions))


def test_random_play_is_even() -> None:
    player = RandomPlayer(TTT)
    counts = Counter(started(player, draw(1, i)).choose(TTT.initial_state()) for i in range(900))
    assert len(counts) == 9
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 26.1  # chi-square, 8 degrees, p = 0.001


@pytest.mark.compiled
def test_flat_monte_carlo_wins_when_it_can_and_blocks_when_rollouts_show_the_threat() -> None:
    player = flat(C4, "flat:700,rollout=heuristic")
    for stream in range(20):
        assert started(player, stream).choose(state_after(C4, [3, 0, 3, 0, 3, 1])) == 3
        assert player.value == 1
        assert started(player, stream).choose(state_after(C4, [3, 0, 3, 0, 3])) == 3


def test_flat_monte_carlo_spreads_its_rollouts_evenly() -> None:
    player = started(flat(TTT, "flat:31"))
    assert sorted(player.search(TTT.initial_state(), 0).visit_counts) == [3] * 5 + [4] * 4
    assert player.num_simulations == 31


def flat(game: Any, text: str) -> SearchPlayer[Any]:
    player = parse_player(text).make(game)
    assert isinstance(player, SearchPlayer)
    return player


def test_flat_monte_carlo_does_with_fewer_rollouts_than_actions() -> None:
    player = flat(TTT, "flat:2")
    chosen = {started(player, stream).choose(TTT.initial_state()) for stream in range(60)}
    assert chosen == set(range(9))


def test_flat_monte_carlo_plays_a_game_in_plain_python(tmp_path: Any) -> None:
    plain = tmp_path / "plain_for_flat.py"
    plain.write_text(
        "from azero.games.game import Game\n"
        "class Take(Game):\n"
        "    name, num_actions, max_game_length = 'take', 2, 9\n"
        "    def initial_state(self): return (9, 0)\n"
        "    def current_player(self, state): return state[1]\n"
        "    def legal_actions(self, state): return list(range(min(2, state[0])))\n"
        "    def step(self, state, action): return (state[0] - 1 - action, 1 - state[1])\n"
        "    def outcome(self, state): return -1.0\n"
    )
    game = load_game(f"{plain}:Take")
    player = flat(game, "flat:400")
    assert started(player).choose((2, 0)) == 1  # take two, the last ones
    assert started(player).choose((4, 1)) == 0  # leaves three, a lost heap


def test_a_search_keeps_what_it_knows_of_the_next_position() -> None:
    player = SearchPlayer(MCTS(C4, RolloutEvaluator(), UCT()), Budget(500))
    state = C4.initial_state()
    started(player)
    for action in (player.choose(state), 3):
        player.observe(action)
        state = C4.step(state, action)
    result = player.search(state, 1)
    assert result.num_simulations == 500
    assert result.visit_counts.sum() > 500


def test_a_search_that_keeps_no_tree_begins_afresh() -> None:
    player = SearchPlayer(MCTS(C4, RolloutEvaluator(), UCT()), Budget(500), keeps_tree=False)
    state = C4.initial_state()
    started(player)
    for action in (player.choose(state), 3):
        player.observe(action)
        state = C4.step(state, action)
    assert player.search(state, 1).visit_counts.sum() == 500


def test_a_search_player_says_when_the_game_is_over_and_then_starts_anew() -> None:
    player = started(SearchPlayer(MCTS(TTT, RolloutEvaluator(), UCT()), Budget(50)))
    state = state_after(TTT, [0, 3, 1, 4])
    assert player.choose(state) == 2
    player.observe(2)
    with pytest.raises(GameOverError, match="X wins"):
        player.choose(TTT.step(state, 2))
    assert started(player).choose(TTT.initial_state()) in range(9)


def test_only_the_first_moves_are_sampled() -> None:
    player = SearchPlayer(MCTS(C4, RolloutEvaluator(), UCT()), Budget(300), num_sampled_moves=1)
    state = state_after(C4, [3, 0, 3, 0, 3, 1])  # X wins in column 3
    assert len({started(player, stream).choose(C4.initial_state()) for stream in range(40)}) > 4
    for stream in range(10):
        started(player, stream).choose(C4.initial_state())
        assert player.choose(state) == 3


def test_a_network_plays_its_heaviest_legal_action() -> None:
    network = started(NetworkPlayer(C4, Weights(0.5, 0, 0.1, 0.3, 0, 0, 0.1)))
    assert network.choose(C4.initial_state()) == 0
    assert network.choose(state_after(C4, [0] * 6)) == 3
    assert network.value == 0
    assert network.num_simulations == 0


def test_a_network_without_preference_is_not_drawn_to_low_numbers() -> None:
    player = NetworkPlayer(TTT, Weights(*[0.0] * 9))
    counts = Counter(started(player, draw(2, i)).choose(TTT.initial_state()) for i in range(900))
    assert sum((counts[cell] - 100) ** 2 / 100 for cell in range(9)) < 26.1


def test_thinking_changes_neither_the_state_nor_its_actions() -> None:
    state = state_after(C4, [3, 3, 2])
    before = (tuple(state), list(C4.legal_actions(state)), C4.state_text(state))
    for text in KINDS:
        started(parse_player(text).make(C4)).choose(state)
    assert (tuple(state), list(C4.legal_actions(state)), C4.state_text(state)) == before
    assert np.isscalar(state.own)
