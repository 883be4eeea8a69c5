import re
from itertools import combinations_with_replacement, permutations

import pytest

from azero import MCTS, UCT, Budget, RolloutEvaluator, best_action, load_game
from azero.games.check import LawError, check_game
from azero.games.game import exact_values, result_text, state_after, winner
from azero.games.nim import Nim, State
from azero.search.forest import SearchOptions
from tests.games.playing import layers, random_game, states_along
from tests.naive.minimax import minimax
from tests.naive.nim import Nim as Naive

NIM = Nim()
FIVE = load_game("five-stones")
MISERE = {True: "misere", False: "normal"}.get


def heaps_text(stones):
    return "-".join(map(str, stones))


def winning(game, text):
    """The actions after which the opponent has lost."""
    values = exact_values(game, game.parse_state(text))
    return [game.action_text(action) for action, value in values.items() if value > 0]


@pytest.mark.parametrize(
    ("heaps", "misere", "best"),
    [
        ("3-4-5", False, ["a2"]),
        ("1-3-5-7", False, []),
        ("2-1", False, ["a1"]),
        ("5", False, ["5"]),
        ("1-1", False, []),
        ("1-2-3", False, []),
        ("3-4-5", True, ["a2"]),
        ("5", True, ["4"]),
        ("2-1", True, ["a2"]),
        ("1-1", True, ["a1", "b1"]),
        ("1-1-1", True, []),
        ("1-3-5-7", True, []),
    ],
)
def test_the_winning_actions_of_known_positions(heaps, misere, best):
    assert winning(Nim(heaps, misere=misere), heaps) == best


@pytest.mark.parametrize("heap", range(1, 17))
def test_who_may_take_three_at_most_loses_with_a_multiple_of_four(heap):
    game = Nim(str(heap), take=min(3, heap))
    assert winning(game, str(heap)) == ([str(heap % 4)] if heap % 4 else [])


@pytest.mark.parametrize("misere", [False, True], ids=MISERE)
@pytest.mark.parametrize("take", [1, 2, 3, 4, 6])
def test_the_theory_says_what_brute_force_finds(take, misere):
    for num_heaps, largest in [(1, 16), (2, 8), (3, 6)]:
        memory = {}
        game = Nim(heaps_text([largest] * num_heaps), take, misere)
        for heaps in combinations_with_replacement(range(largest + 1), num_heaps):
            truth, _ = minimax(Naive([largest] * num_heaps, take, misere), (heaps, 0), -1, memory)
            assert game.exact_value(game.parse_state(heaps_text(heaps))) == truth, heaps


def test_every_position_of_3_4_5_is_reached_and_its_theory_is_right():
    memory, states = {}, {state for layer in layers(NIM) for state in layer}
    assert len(states) == 4 * 5 * 6 * 2 - 8  # both players in each; but where no heap lacks more than one, one of them
    for state in states:
        assert NIM.exact_value(state) == minimax(Naive(), (tuple(NIM.heaps(state)), state.player), -1, memory)[0]


@pytest.mark.parametrize(
    "game",
    [
        Nim("5", 2),
        Nim("1-3-5-7", misere=True),
        Nim("5-4-3-2-1", 3),
        Nim("4095-4095-4095-4095-4095", 2),
        Nim(heaps_text([1] * 26)),
    ],
    ids=lambda game: game.name,
)
def test_the_laws_hold_and_the_naive_twin_agrees_for_other_heaps(game):
    if game.max_game_length < 26:
        assert check_game(game, num_games=3, seed=1) > 0
    twin = Naive(tuple(game.start), game.rules.take, bool(game.rules.misere))
    actions = random_game(game, seed=1)[:200]
    for state, other in zip(states_along(game, actions), states_along(twin, actions), strict=True):
        assert (game.heaps(state), state.player) == (list(other[0]), other[1])
        assert game.legal_actions(state) == twin.legal_actions(other)


def test_an_exact_value_that_is_not_that_of_the_best_action_breaks_a_law():
    class Hopeful(Nim):
        def exact_value(self, state):
            return 1.0

    with pytest.raises(LawError, match=r"the exact value must be that of the best action, -1.0, not 1.0, in the state"):
        check_game(Hopeful())


def test_who_takes_the_last_stone_has_won_and_in_misere_play_lost():
    for game, name in [(Nim("1"), "X wins"), (Nim("1", misere=True), "O wins")]:
        last = state_after(game, [0])
        assert game.legal_actions(last) == []
        assert result_text(game, last) == name
        assert game.outcome(last) == game.exact_value(last) == (1 if winner(game, last) == 1 else -1)


def test_a_state_is_read_from_its_heaps_and_the_player_to_move():
    state = state_after(NIM, [NIM.parse_action("b4")])
    assert NIM.state_text(state) == "3-0-5 O"
    assert NIM.parse_state(" 3-0-5 O\n") == state
    assert NIM.parse_state("3-0-5") == state._replace(player=0)
    assert NIM.heaps(NIM.parse_state("5-3-4")) == [5, 3, 4]
    assert NIM.parse_action("c5") == 4 * 3 + 2
    assert FIVE.action_text(1) == "2"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is a text like '3-4-5 X', not ''"),
        ("3-4-5 Z", "is a text like '3-4-5 X'"),
        ("3,4,5", "is a text like '3-4-5 X'"),
        ("3-4", "the heaps 3-4 cannot be what is left of 3-4-5"),
        ("5-5-1", "the heaps 5-5-1 cannot be"),
    ],
)
def test_a_text_of_no_state_is_refused(text, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        NIM.parse_state(text)


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"heaps": "0"}, "heaps must be numbers from 1 to 4095 joined by '-', such as 3-4-5; got '0'"),
        ({"heaps": ""}, "got ''"),
        ({"heaps": "3--4"}, "got '3--4'"),
        ({"heaps": "4096"}, "got '4096'"),
        ({"heaps": "4000-1-1-1-1-1"}, "heaps of up to 4000 stones may be at most 5, got 6"),
        ({"heaps": heaps_text([1] * 27)}, "may be at most 26, got 27"),
        ({"take": 6}, "take must be 0, for no bound, or 1 to 5, the largest heap; got 6"),
        ({"take": -1}, "got -1"),
    ],
)
def test_heaps_and_bounds_that_cannot_be_are_refused(parameters, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        Nim(**parameters)


def test_the_name_says_which_nim_it_is():
    assert NIM.name == Nim("03-4-5").name == "nim"
    assert FIVE.name == "nim(heaps=5,take=2)"
    assert Nim(5, misere=True).name == "nim(heaps=5,misere=yes)"


def test_all_orders_of_few_heaps_are_symmetries_and_the_rotations_of_many():
    assert len(NIM.symmetries()) == 5
    assert FIVE.symmetries() == []
    many = Nim("3-3-2-1-1")
    assert [many.heaps(symmetry.state(many.initial_state())) for symmetry in many.symmetries()] == [
        [1, 3, 3, 2, 1],
        [1, 1, 3, 3, 2],
        [2, 1, 1, 3, 3],
        [3, 2, 1, 1, 3],
    ]


def test_the_canonical_state_has_its_heaps_in_ascending_order():
    game = Nim("7-7-7-7")
    for heaps in permutations([0, 3, 3, 7]):
        image = game.rules.canonical(game.parse_state(f"{heaps_text(heaps)} O"))
        assert game.state_text(image) == "0-3-3-7 O"


def test_of_more_heaps_than_have_every_order_the_canonical_state_is_a_rotation():
    game = Nim("7-7-7-7-7")
    for heaps in permutations([0, 3, 3, 5, 7]):
        state = game.parse_state(f"{heaps_text(heaps)} O")
        images = {state, *(symmetry.state(state) for symmetry in game.symmetries())}
        assert {game.rules.canonical(image) for image in images} == {min(images)}


def test_a_search_of_many_heaps_up_to_symmetry_tells_its_variation():
    game = Nim("2-1-2-1-2-1")
    search = MCTS(game, RolloutEvaluator(), UCT(), SearchOptions(proven_values=False, transpositions="symmetries"))
    result = search.search(game.initial_state(), Budget(simulations=300), stream=1)
    assert len(result.principal_variation) > 2
    state_after(game, result.principal_variation)  # all of them are legal


def test_the_tree_of_the_five_stone_game_has_twenty_positions():
    assert sum(sum(layer.values()) for layer in layers(FIVE)) == 20
    assert len({state for layer in layers(FIVE) for state in layer}) == 10


def visits_of_two(c, simulations, seed):
    """The share of visits of taking 2, the only winning action, in a search that does not prove values."""
    search = MCTS(FIVE, RolloutEvaluator(), UCT(c), SearchOptions(proven_values=False))
    counts = search.search(FIVE.initial_state(), Budget(simulations=simulations), stream=seed).visit_counts
    return counts[1] / counts.sum()


def test_forty_simulations_put_most_visits_on_taking_two():
    assert all(visits_of_two(1.0, 40, seed) > 0.5 for seed in range(100))


def test_little_exploration_can_stay_with_the_wrong_action_for_long_but_recovers():
    stuck = [seed for seed in range(100) if visits_of_two(0.2, 40, seed) < 0.5]
    assert stuck
    assert all(visits_of_two(0.2, 2000, seed) > 0.9 for seed in stuck)


def test_much_exploration_splits_the_visits_and_recovers():
    shares = [visits_of_two(3.0, 40, seed) for seed in range(100)]
    assert all(0.4 < share < 0.85 for share in shares)
    assert all(visits_of_two(3.0, 2000, seed) > 0.9 for seed in range(10))


def test_a_search_that_proves_values_needs_few_simulations_to_know_the_winner():
    result = MCTS(FIVE, RolloutEvaluator(), UCT()).search(FIVE.initial_state(), Budget(simulations=40), stream=0)
    assert result.num_simulations < 40
    assert result.proof == (1.0, 3)


@pytest.mark.compiled
def test_the_value_of_a_search_is_for_the_player_to_move():
    unproven = SearchOptions(proven_values=False)
    won, lost = (
        MCTS(Nim(heap, take=3), RolloutEvaluator(), UCT(), unproven).search(
            Nim(heap, take=3).initial_state(), Budget(simulations=20_000), stream=0
        )
        for heap in ("15", "16")
    )
    assert won.value > 0.5
    assert won.actions[won.visit_counts.argmax()] == 2
    assert lost.value < -0.5


@pytest.mark.compiled
def test_a_search_with_shared_states_proves_the_only_winning_action_of_3_4_5():
    search = MCTS(NIM, RolloutEvaluator(), UCT(), SearchOptions(transpositions="symmetries"))
    result = search.search(NIM.initial_state(), Budget(simulations=20_000), stream=0)
    assert result.value == 1
    assert NIM.action_text(best_action(result, stream=0)) == "a2"


def test_a_state_is_two_integers():
    assert NIM.initial_state() == State(3 | 4 << 3 | 5 << 6, 0)
