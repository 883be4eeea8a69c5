"""What a picture of a tree shows, and that it can be read."""

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from azero.evaluators.rollout import RolloutEvaluator
from azero.games import load_game
from azero.games.game import result_text, state_after
from azero.search.forest import Forest, SearchOptions
from azero.search.picture import Place, lay_out, save_picture, tree_figure
from azero.search.result import Proof
from azero.search.uct import UCT
from azero.search.view import TreeView, view
from tests.search.test_mcts import Subtraction


def searched(name: str, *moves: int, num_simulations: int = 300, transpositions: str = "none") -> TreeView[Any]:
    game = load_game(name)
    forest = Forest(game, RolloutEvaluator(), UCT(), options=SearchOptions(transpositions=transpositions))
    forest.set_root(0, state_after(game, moves), 7)
    forest.grow(0, num_simulations + 1)
    return view(forest)


def texts(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


@pytest.fixture(params=["tictactoe", "connect4"])
def tree(request: pytest.FixtureRequest) -> TreeView[Any]:
    return searched(request.param, 4, 0)


def test_the_most_visited_nodes_are_laid_out(tree: TreeView[Any]) -> None:
    places = lay_out(tree, 30)
    visits = sorted((node.visits for node in tree.nodes()), reverse=True)
    assert [place.node.visits for place in places] == visits[:30]
    assert all(places[place.parent].node.path == place.node.path[:-1] for place in places[1:])
    assert places[0].parent == -1


def test_a_small_tree_is_laid_out_whole() -> None:
    places = lay_out(searched("tictactoe", num_simulations=5), 30)
    assert len(places) == 6
    assert all(place.num_hidden == 0 for place in places)


def test_boxes_never_overlap(tree: TreeView[Any]) -> None:
    levels = defaultdict(list)
    for place in lay_out(tree, 60):
        levels[place.node.depth].append(place.x)
    assert len(levels) > 2
    for level in levels.values():
        level.sort()
        assert all(right - left > 1 - 1e-9 for left, right in pairwise(level))
    assert min(min(level) for level in levels.values()) == 0


def test_parents_stand_above_the_middle_of_their_children_which_are_in_order(tree: TreeView[Any]) -> None:
    places = lay_out(tree, 60)
    children: dict[int, list[Place[Any]]] = defaultdict(list)
    for place in places[1:]:
        children[place.parent].append(place)
    for parent, group in children.items():
        group.sort(key=lambda place: place.x)
        actions = [place.node.path[-1].action for place in group]
        assert actions == sorted(actions)
        assert places[parent].x == pytest.approx((group[0].x + group[-1].x) / 2)


def test_children_that_are_left_out_are_counted(tree: TreeView[Any]) -> None:
    places = lay_out(tree, 20)
    for number, place in enumerate(places):
        shown = sum(other.parent == number for other in places)
        assert shown + place.num_hidden == len(list(tree.children(place.node)))


def test_a_figure_says_what_each_node_is_and_what_it_is_worth() -> None:
    tree = searched("tictactoe", 4, 0, 8, 2)
    shown = texts(tree_figure(tree, 10, "the title"))
    assert shown.count("the title") == 1
    for place in lay_out(tree, 10):
        value = place.node.path[-1].q_for(0)
        finished = tree.game.is_terminal(place.node.state)
        result = result_text(tree.game, place.node.state) if finished else f"{round(value, 2) + 0.0:+.2f}"
        if (proof := place.node.proof) and not finished:
            result = Proof(proof.value if place.node.player == 0 else -proof.value, proof.plies).text()
        assert f"{place.node.visits}  {result}" in shown
    num_hidden = [place.num_hidden for place in lay_out(tree, 10) if place.num_hidden]
    assert sorted(text for text in shown if text.startswith("+")) == sorted(f"+{num}" for num in num_hidden)
    assert any("for X" in text for text in shown)


def test_what_is_proven_has_a_heavy_frame() -> None:
    tree = searched("tictactoe", 4, 0, 8)
    places = lay_out(tree, 60)
    boxes = tree_figure(tree, 60, "").axes[0].patches
    assert [box.get_linewidth() > 1 for box in boxes] == [place.node.proof is not None for place in places]
    assert {place.node.proof is None for place in places} == {True, False}


def test_other_ways_to_a_node_are_dashed() -> None:
    tree = searched("tictactoe", 4, transpositions="symmetries")
    places = lay_out(tree, 40)
    others = [(number, other) for number, place in enumerate(places) for other in place.others]
    assert others
    for number, other in others:
        assert places[other].parent != number
        assert places[other].node.number in {edge.child for edge in tree.edges(places[number].node)}
    figure = tree_figure(tree, 40, "")
    assert sum(line.get_linestyle() == "--" for line in figure.axes[0].lines) == len(others)
    assert any("Dashed: another way." in text for text in texts(figure))
    assert not any("Dashed" in text for text in texts(tree_figure(searched("tictactoe", 4), 40, "")))


def test_what_was_played_last_has_a_colour_of_its_own() -> None:
    figure = tree_figure(searched("tictactoe", 4, 0, num_simulations=7), 8, "")
    letters = [text for text in figure.axes[0].texts if text.get_text() in ("X", "O")]
    by_colour = defaultdict(list)
    for text in letters:
        by_colour[text.get_color()].append(text.get_text())
    assert sorted(map(sorted, by_colour.values())) == [["O"] * 8 + ["X"] * 8, ["X"] * 7]


def test_a_state_without_a_board_is_drawn_as_it_is_written() -> None:
    game = Subtraction(5)
    forest = Forest(game, RolloutEvaluator(), UCT())
    forest.set_root(0, game.initial_state(), 0)
    forest.grow(0, 20)
    assert "5" in texts(tree_figure(view(forest), 5, ""))


def test_a_large_board_is_left_out() -> None:
    tree = searched("tictactoe", 4, 0)
    tree.game.state_text = lambda state: "X" * 31  # type: ignore[method-assign]
    assert "X" not in texts(tree_figure(tree, 5, ""))


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<?xml"), (".png", b"\x89PNG")])
def test_pictures_are_saved_by_their_suffix_and_the_same_each_time(suffix: str, start: bytes, tmp_path: Path) -> None:
    tree = searched("tictactoe", 4, 0)
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        save_picture(tree, path, 5, "title")
    contents = [path.read_bytes() for path in paths]
    assert contents[0].startswith(start)
    assert contents[0] == contents[1]


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"ends in \.svg or \.png, not '.*tree\.jpg'"):
        save_picture(searched("tictactoe", num_simulations=1), tmp_path / "tree.jpg", 5, "")
