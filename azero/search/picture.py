"""A picture of a search tree: its most visited nodes, as boards in boxes."""

from collections.abc import Hashable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from azero.games.game import result_text
from azero.search.result import Proof
from azero.search.view import Node, TreeView, value_text

S = TypeVar("S", bound=Hashable)
Point = tuple[float, float]

FORMATS = (".svg", ".png")

_FONT = 7.0  # points
_LETTER, _LINE = 0.62 * _FONT / 72, 1.2 * _FONT / 72  # inches that a character of a board is wide and high
_MAX_LETTERS, _MAX_LINES = 30, 12  # of a board that is drawn
_MIN_WIDTH, _HEAD = 7.5, 0.9  # inches, of the whole and of what stands above the root
_GAP, _MARGIN, _PAD = 0.14, 0.3, 0.06  # inches beside a box, around all, and within a box
MAX_NODES = 200  # in a picture
_DPI = 130
_GREY, _BLACK, _PLAYED = "#757575", "#000000", "#8a00a8"
_COLOURS = ("#e8857a", "#ffffff", "#7db3e8")  # of a lost, an even and a won box


class Place(NamedTuple, Generic[S]):
    """Where a node is drawn."""

    node: Node[S]
    parent: int  # its number in the list of places; -1 for the root
    x: float  # of its middle, in widths of a box from that of the box furthest left
    num_hidden: int  # further children, which are not in the picture
    others: tuple[int, ...] = ()  # places of nodes that it leads to too, but that are drawn below another


def save_picture(view: TreeView[S], path: Path, num_nodes: int, title: str) -> None:
    """Draw the `num_nodes` most visited nodes into a file, SVG or PNG by its suffix. Raises ValueError for another."""
    check_picture_path(path)
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "azero"}):  # the same tree gives the same bytes
        metadata = {"Date": None} if path.suffix == ".svg" else {}
        tree_figure(view, num_nodes, title).savefig(path, dpi=_DPI, metadata=metadata)


def check_picture_path(path: Path) -> None:
    """Raises ValueError for a file that `save_picture` would refuse."""
    if path.suffix not in FORMATS:
        raise ValueError(f"a picture is a file that ends in {' or '.join(FORMATS)}, not {str(path)!r}")


def tree_figure(view: TreeView[S], num_nodes: int, title: str) -> Any:
    """A matplotlib figure of the `num_nodes` >= 1 most visited nodes.

    A box shows a state, with what was played last in another colour, its visits, and its value for the player to move
    at the root, which is also the colour of the box. What is proven has a heavy frame, and its result for a value.
    """
    places = lay_out(view, num_nodes)
    sheet = _Sheet(view, places)
    for place in places:
        sheet.draw_lines(place)
        sheet.draw_box(place)
        sheet.draw_board(place)
    sheet.draw_head(title)
    return sheet.figure


def lay_out(view: TreeView[S], num_nodes: int) -> list[Place[S]]:
    """The most visited nodes, each after its parent, side by side without overlapping.

    A parent stands above the middle of its children, which are in the order of their actions, and subtrees are as close
    as they can be (tidy drawings of trees: Reingold, Tilford 1981).
    """
    nodes = list(islice(view.nodes(), num_nodes))
    numbers = {node.number: number for number, node in enumerate(nodes)}
    parents = [-1, *(numbers[node.path[-2].child] for node in nodes[1:])]
    children: list[list[int]] = [[] for _ in nodes]
    for number in sorted(range(1, len(nodes)), key=lambda number: nodes[number].path[-1].action):
        children[parents[number]].append(number)
    x = [0.0] * len(nodes)  # at first from the parent
    contours: list[list[Point]] = [[] for _ in nodes]  # where each level of a subtree begins and ends
    for number in reversed(range(len(nodes))):
        contours[number] = _join(children[number], contours, x)
    for number in range(1, len(nodes)):
        x[number] += x[parents[number]]
    left = min(x)
    places = []
    for i, node in enumerate(nodes):
        below = {edge.child for edge in view.edges(node) if edge.child >= 0}
        shown = {numbers[child] for child in below if child in numbers}
        others = tuple(sorted(number for number in shown if parents[number] != i))
        places.append(Place(node, parents[i], x[i] - left, len(below) - len(shown), others))
    return places


def _join(children: Sequence[int], contours: list[list[Point]], x: list[float]) -> list[Point]:
    """Put the subtrees of these nodes side by side, setting their x; returns the contour of their parent's."""
    joined: list[Point] = []
    for child in children:
        contour = contours[child]
        x[child] = max((end - begin + 1 for (_, end), (begin, _) in zip(joined, contour, strict=False)), default=0.0)
        moved = [(begin + x[child], end + x[child]) for begin, end in contour]
        both = [(left[0], right[1]) for left, right in zip(joined, moved, strict=False)]
        joined = both + joined[len(both) :] + moved[len(both) :]
    middle = sum(joined[0]) / 2 if joined else 0.0
    for child in children:
        x[child] -= middle
    return [(0.0, 0.0), *((begin - middle, end - middle) for begin, end in joined)]


class _Sheet(Generic[S]):
    """What a tree is drawn on, in inches from the top left corner."""

    def __init__(self, view: TreeView[S], places: Sequence[Place[S]]) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import LinearSegmentedColormap, Normalize
        from matplotlib.figure import Figure

        colours = LinearSegmentedColormap.from_list("value", _COLOURS)
        self._view = view
        self._places = places
        self._scale: Any = ScalarMappable(Normalize(-1, 1), colours)
        boards = [self._board(place) for place in places]
        letters = max([12, *(len(line) for board in boards for line in board)])  # 12 for the line of numbers
        self._width = letters * _LETTER + 2 * _PAD
        self._height = (max(map(len, boards)) + 1) * _LINE + 2 * _PAD
        extent = max(place.x for place in places) * (self._width + _GAP) + self._width
        self._drop = max(0.6, extent / 25)  # wide trees need room for lines that can be told apart
        self._across = max(extent + 2 * _MARGIN, _MIN_WIDTH)
        self._left = (self._across - extent + self._width) / 2
        down = self._middle(max(places, key=lambda place: place.node.depth))[1] + self._height / 2 + _MARGIN
        self.figure = Figure(figsize=(self._across, down))
        self._axes = self.figure.add_axes((0, 0, 1, 1), xlim=(0, self._across), ylim=(down, 0))
        self._axes.set_axis_off()

    def _middle(self, place: Place[S]) -> Point:
        x = self._left + place.x * (self._width + _GAP)
        return x, _HEAD + self._height / 2 + place.node.depth * (self._height + self._drop)

    def _board(self, place: Place[S]) -> list[str]:
        """The lines of its board; none if it is too large for a box."""
        lines = self._view.game.state_text(place.node.state).splitlines()
        return lines if len(lines) <= _MAX_LINES and max(map(len, lines)) <= _MAX_LETTERS else []

    def _write(self, x: float, y: float, text: str, **style: Any) -> None:
        self._axes.text(x, y, text, **{"size": _FONT, "ha": "center", "va": "center", **style})

    def draw_lines(self, place: Place[S]) -> None:
        """The line from a node's parent, as wide as its share of the visits, with the action; others are dashed."""
        for number in place.others:
            (x, y), (below_x, below_y) = self._middle(place), self._middle(self._places[number])
            ends = (y + self._height / 2, below_y - self._height / 2)
            self._axes.plot((x, below_x), ends, color=_GREY, linewidth=0.6, linestyle="dashed", zorder=-1)
        if place.parent < 0:
            return
        (x, y), (parent_x, parent_y) = self._middle(place), self._middle(self._places[place.parent])
        ends = (parent_y + self._height / 2, y - self._height / 2)
        width = 0.5 + 6 * place.node.path[-1].visits / self._view.root.visits
        self._axes.plot((parent_x, x), ends, color="#555555", linewidth=width, solid_capstyle="round", zorder=0)
        action = self._view.game.action_text(place.node.path[-1].action)
        self._write(
            x, ends[1] - 0.14, action, size=_FONT + 1, weight="bold", bbox={"fc": "white", "ec": "none", "pad": 1}
        )

    def draw_box(self, place: Place[S]) -> None:
        """The box of a node, its visits and its value."""
        from matplotlib.patches import FancyBboxPatch

        node, game, (x, y) = place.node, self._view.game, self._middle(place)
        value, proof = self._worth(node)
        finished = game.is_terminal(node.state)
        left, top, bottom = x - self._width / 2, y - self._height / 2, y + self._height / 2
        frame: dict[str, Any] = (
            {"edgecolor": _BLACK, "linewidth": 2} if proof else {"edgecolor": _GREY, "linewidth": 0.6}
        )
        round_box = "round,pad=0,rounding_size=0.05"
        colour = self._scale.to_rgba(value)
        box = FancyBboxPatch((left, top), self._width, self._height, boxstyle=round_box, facecolor=colour, **frame)
        self._axes.add_patch(box)
        result = result_text(game, node.state) if finished else proof.text() if proof else value_text(value)
        self._write(x, bottom - _PAD - _LINE / 2, f"{node.visits}  {result}")
        if place.num_hidden:
            self._write(x + self._width / 2, bottom + 0.04, f"+{place.num_hidden}", ha="right", va="top", color=_GREY)

    def _worth(self, node: Node[S]) -> tuple[float, Proof | None]:
        """The value of a node for the player to move at the root, and what is proven of it for that player."""
        me = self._view.root.player
        if node.proof is None:
            return node.path[-1].q_for(me), None
        value = node.proof.value if node.player == me else -node.proof.value
        return value, Proof(value, node.proof.plies)

    def draw_board(self, place: Place[S]) -> None:
        """The board of a node, letter by letter."""
        board, before = self._board(place), self._board(self._places[max(0, place.parent)])
        alike = [len(line) for line in board] == [len(line) for line in before]
        x, y = self._middle(place)
        left, top = x - max(map(len, board), default=0) * _LETTER / 2, y - self._height / 2 + _PAD
        for row, line in enumerate(board):
            for column, letter in enumerate(line):
                if letter != " ":
                    stone, played = letter in self._view.game.player_names, alike and letter != before[row][column]
                    colour = _PLAYED if played else _BLACK if stone else _GREY
                    at = left + (column + 0.5) * _LETTER, top + (row + 0.5) * _LINE
                    self._write(*at, letter, color=colour, weight="bold" if stone or played else "normal")

    def draw_head(self, title: str) -> None:
        """The title, and what colours, numbers and lines mean."""
        view, down = self._view, self.figure.get_figheight()
        me = view.game.player_names[view.root.player]
        size = min(11.0, 110 * (self._across - 2 * _MARGIN) / max(1, len(title)))  # a letter is 0.65 as wide as high
        self._write(_MARGIN, 0.25, title, size=size, weight="bold", ha="left")
        num_nodes, num_shown = int(view.tree.size[view.b]), len(self._places)
        which = f"All {num_nodes}" if num_shown == num_nodes else f"The {num_shown} most visited of {num_nodes}"
        dashed = " Dashed: another way." if any(place.others for place in self._places) else ""
        legend = (
            f"{which} nodes, with their visits and value for {me}.\n"
            f"The wider a line, the more visits. Heavy frame: proven. +3: three more children.{dashed}"
        )
        self._write(_MARGIN, 0.42, legend, size=8, ha="left", va="top", color="#444444")
        corner = 1 - (1.3 + 2 * _MARGIN) / self._across, 1 - 0.58 / down
        scale = self.figure.add_axes((*corner, 1.3 / self._across, 0.12 / down))
        bar = self.figure.colorbar(self._scale, cax=scale, orientation="horizontal", ticks=[-1, 0, 1])
        bar.ax.tick_params(labelsize=7, length=2)
        bar.ax.set_xticklabels([f"{me} loses", "even", f"{me} wins"])
