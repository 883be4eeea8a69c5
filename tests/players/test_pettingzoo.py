"""azero's players in the real environments of PettingZoo."""

import random
import re

import numpy as np
import pytest
from pettingzoo import make

from azero.games import load_game
from azero.games.game import state_after, winner
from azero.players.pettingzoo import Policy

GAMES = {"connect_four_v3": "connect4", "tictactoe_v3": "tictactoe"}
every_environment = pytest.mark.parametrize("name", GAMES)


def new_environment(name):
    environment = make("aec", f"classic/{name.replace('_v', '-v')}")
    assert environment.metadata["name"] == name
    return environment


def play(environment, *policies):
    """A game between two policies: its actions, and what each side gets."""
    environment.reset(seed=0)
    seated = dict(zip(environment.possible_agents, policies, strict=True))
    actions, results = [], dict.fromkeys(seated, 0)
    for seat in environment.agent_iter():
        results[seat] += environment.last()[1]
        actions.append(seated[seat](*environment.last()))
        environment.step(actions[-1])
    assert actions[-2:] == [None, None]
    return actions[:-2], list(results.values())


@every_environment
def test_random_games_are_those_of_azeros_rules(name):
    environment, game = new_environment(name), load_game(GAMES[name])
    policy, outcomes = Policy(name, "random"), set()
    for _ in range(300):
        actions, results = play(environment, policy, policy)
        end = state_after(game, actions)
        assert game.is_terminal(end)
        outcomes.add(winner(game, end))
        assert results == {0: [1, -1], 1: [-1, 1], None: [0, 0]}[winner(game, end)]
    assert outcomes >= {0, 1}


@every_environment
def test_actions_are_cells_of_the_observation_by_azeros_numbers(name):
    environment, game = new_environment(name), load_game(GAMES[name])
    rng = random.Random(1)
    for _ in range(50):
        environment.reset(seed=0)
        state = game.initial_state()
        while not game.is_terminal(state):
            observation, *_ = environment.last()
            seen = game.observation(state)
            assert np.moveaxis(observation["observation"], -1, 0).tolist() == seen.tolist()
            assert np.flatnonzero(observation["action_mask"]).tolist() == game.legal_actions(state)
            action = rng.choice(game.legal_actions(state))
            environment.step(action)
            state = game.step(state, action)


@every_environment
def test_uct_beats_random_in_either_seat(name):
    environment, strong, weak = new_environment(name), Policy(name, "uct:200"), Policy(name, "random", seed=1)
    for seat, seated in enumerate([(strong, weak), (weak, strong)]):
        results = [play(environment, *seated)[1][seat] for _ in range(20)]
        assert sum(results) >= 14
        assert results.count(-1) <= 1


def test_one_perfect_player_takes_the_only_winning_column_of_two_games_one_for_either_side():
    policy = Policy("connect_four_v3", "perfect")
    environments = [new_environment("connect_four_v3") for _ in range(2)]
    for environment, opening in zip(environments, [[3, 0, 3, 0, 3, 0], [0, 3, 0, 3, 1, 3, 6]], strict=True):
        environment.reset(seed=0)
        for action in opening:
            environment.step(action)
    for environment in environments:
        environment.step(policy(*environment.last()))
    assert [environment.rewards["player_0"] for environment in environments] == [1, -1]


@every_environment
def test_a_seed_fixes_the_games_and_another_one_gives_others(name):
    def games(seed):
        environment, policy = new_environment(name), Policy(name, "uct:20,sampled=9", seed)
        return [play(environment, policy, policy)[0] for _ in range(5)]

    assert games(1) == games(1) != games(2)
    assert len(set(map(tuple, games(1)))) > 1


def test_a_game_ended_by_an_illegal_action_asks_for_none():
    environment, policy = new_environment("tictactoe_v3"), Policy("tictactoe_v3", "random")
    environment.reset(seed=0)
    for action in (4, 4):
        environment.step(action)
    assert environment.terminations == {"player_1": True, "player_2": True}
    for _ in environment.agent_iter():
        assert policy(*environment.last()) is None
        environment.step(None)


def test_a_game_goes_by_its_name_in_its_metadata_and_in_make():
    observation = {"observation": np.zeros((3, 3, 2), np.int8), "action_mask": np.ones(9, np.int8)}
    assert [Policy(name, "perfect").name for name in ("tictactoe_v3", "classic/tictactoe-v3")] == ["tictactoe_v3"] * 2
    assert Policy("classic/tictactoe-v3", "random")(observation) in range(9)
    with pytest.raises(
        ValueError, match=r"^azero plays connect_four_v3 and tictactoe_v3 of PettingZoo, not 'chess_v6'$"
    ):
        Policy("chess_v6", "random")
    with pytest.raises(ValueError, match="a human cannot play here"):
        Policy("tictactoe_v3", "human")


def test_what_no_player_to_move_can_see_is_refused():
    environment, policy = new_environment("tictactoe_v3"), Policy("tictactoe_v3", "random")
    environment.reset(seed=0)
    for action in (0, 3, 1, 4):
        environment.step(action)
    other = environment.observe("player_2")  # it is the turn of player 1
    complaint = "tictactoe_v3: the action_mask allows [], and by the rules are legal [2, 5, 6, 7, 8]"
    with pytest.raises(ValueError, match=re.escape(complaint)):
        policy(other)
    environment.step(2)
    with pytest.raises(ValueError, match="and by the rules are legal \\[\\]; an observation must be that of"):
        policy(environment.observe("player_2"))
    with pytest.raises(ValueError, match="a cell of the observation holds stones of both players"):
        policy(other | {"observation": np.ones_like(other["observation"])})
    with pytest.raises(ValueError, match=re.escape("an observation has the shape (6, 7, 2), not (3, 3, 2)")):
        Policy("connect_four_v3", "random")(other)
