"""Pictures of a sweep: strength and speed over the parameter, as PNG. No display is needed."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator

from azero.players.points import PLACE, SELF, Point, Template
from azero.players.rating import Score, wilson_interval
from azero.players.record import Spent

_COLOURS = ("#0b6e99", "#d9730d", "#4d8b31", "#9b51a5", "#b03a48", "#8a6d3b")
_SEATS = ("#0b6e99", "#d9730d")  # of who moves first, and second
_DRAWS = "#8a8f98"
_LOGARITHMIC = 10  # an axis is logarithmic if its largest value is so many times the smallest
_SHIFT = 0.01  # of curves at the same place


def draw_sweep(path: Path, points: Sequence[Point], title: str, parameter: str, seats: tuple[str, str]) -> None:
    """Draw a panel for each opponent, then the time of a move and the simulations in a second.

    `points` are those with games, at least one of a template that is not constant; `seats` are the names of the sides.
    A constant template is a horizontal line. Scores have 95 % intervals.
    """
    opponents = list(dict.fromkeys(point.template.opponent for point in points))
    axis = _Axis([point.value for point in points if not point.template.is_constant])
    colours = _colours(points)
    points = sorted(points, key=axis.order)  # values may be given in any order
    num_panels = len(opponents) + 2
    columns = 2 if num_panels == 4 else 3
    rows = -(-num_panels // columns)
    figure = Figure(figsize=(4.6 * columns, 4.4 * rows + 0.3), dpi=110, layout="constrained")
    figure.suptitle(title, fontweight="bold")
    panels = [figure.add_subplot(rows, columns, number + 1) for number in range(num_panels)]
    for panel, opponent in zip(panels, opponents, strict=False):
        met = [point for point in points if point.template.opponent == opponent]
        (_draw_mirror if opponent == SELF else _draw_opponent)(panel, axis, met, seats, colours)
    limits = np.array([panel.get_ylim() for panel in panels[: len(opponents)]])
    for panel in panels[: len(opponents)]:  # one scale, so that they can be compared
        panel.set_ylim(max(limits.min(), -0.03), min(limits.max(), 1.03))
    _draw_cost(panels[-2], axis, points, lambda spent: spent.seconds_per_move, colours)
    panels[-2].set_title("time of a move", fontsize=10)
    panels[-2].yaxis.set_major_formatter(EngFormatter("s"))
    _draw_cost(panels[-1], axis, points, lambda spent: spent.simulations_per_second, colours)
    panels[-1].set_title("simulations a second", fontsize=10)
    panels[-1].yaxis.set_major_formatter(EngFormatter(sep=""))
    for panel in panels:
        axis.label(panel, parameter)
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
        if names := panel.get_legend_handles_labels()[1]:
            columns = 2 if max(map(len, names)) < 20 else 1
            below = (0.0, -0.2)  # where it hides nothing
            panel.legend(loc="upper left", bbox_to_anchor=below, fontsize=8, frameon=False, ncols=columns)
    figure.savefig(path)


class _Axis:
    """Where the parameter's values lie: at the numbers that they are, or side by side."""

    def __init__(self, values: Sequence[str]) -> None:
        self._values = list(dict.fromkeys(values))
        try:
            self._places = {value: float(value) for value in self._values}
            is_numeric = True
        except ValueError:
            self._places = {value: float(place) for place, value in enumerate(self._values)}
            is_numeric = False
        smallest, largest = min(self._places.values()), max(self._places.values())
        self.is_logarithmic = is_numeric and smallest > 0 and largest >= _LOGARITHMIC * smallest
        self._span = largest / smallest if self.is_logarithmic else largest - smallest

    def places(self, values: Iterable[str], shift: float = 0.0) -> list[float]:
        """The values' places, moved to the right by a part of the axis, so that intervals do not hide each other."""
        if self.is_logarithmic:
            return [self._places[value] * self._span**shift for value in values]
        return [self._places[value] + self._span * shift for value in values]

    def order(self, point: Point) -> float:
        """Sorts points from left to right, behind those that do not depend on the parameter."""
        return -math.inf if point.template.is_constant else self._places[point.value]

    def label(self, panel: Axes, parameter: str) -> None:
        """Write the values below a panel."""
        panel.set_xlabel(parameter)
        if self.is_logarithmic:
            panel.set_xscale("log")
            panel.minorticks_off()
        panel.set_xticks(list(self._places.values()), self._values)
        if len(self._values) > 6:
            panel.tick_params("x", labelsize=8, labelrotation=30)


def _colours(points: Sequence[Point]) -> dict[str, str]:
    """The colour of each player and opponent, the same in all panels."""
    players = [point.template.player for point in points] + [point.template.opponent for point in points]
    return dict(zip(dict.fromkeys(players), cycle(_COLOURS), strict=False))


def _curves(points: Sequence[Point]) -> dict[Template, list[Point]]:
    curves: dict[Template, list[Point]] = {}
    for point in points:
        curves.setdefault(point.template, []).append(point)
    return curves


def _draw_opponent(
    panel: Axes, axis: _Axis, points: Sequence[Point], seats: tuple[str, str], colours: Mapping[str, str]
) -> None:
    """The score of each player: in either seat, or, where several depend on the parameter, in both together."""
    panel.set_title(f"against {points[0].template.opponent}", fontsize=10)
    panel.axhline(0.5, color="black", linewidth=0.6, alpha=0.5)
    curves = _curves(points)
    moving = [template for template in curves if not template.is_constant]
    panel.set_ylabel("score in both seats" if len(moving) > 1 else "score")
    for template, curve in curves.items():
        colour, name = colours[template.player], template.player
        if template.is_constant:
            _draw_line(panel, curve[0].as_first, f"{name} as {seats[0]}", color=colour, linestyle=":")
            _draw_line(panel, curve[0].as_second, f"{name} as {seats[1]}", color=colour, linestyle="-.")
            continue
        values, both = [point.value for point in curve], [point.score for point in curve]
        if len(moving) > 1:
            places = axis.places(values, _SHIFT * moving.index(template))
            _draw_scores(panel, places, both, name, color=colour, marker="o")
            continue
        styles: tuple[dict[str, str], ...] = ({"marker": "o"}, {"marker": "s", "linestyle": "--"})
        for place, (seat, style) in enumerate(zip(seats, styles, strict=True)):
            scores = [(point.as_first, point.as_second)[place] for point in curve]
            own = _SEATS[place] if len(curves) == 1 else colour
            label = f"as {seat}" if len(curves) == 1 else f"{name} as {seat}"
            _draw_scores(panel, axis.places(values, _SHIFT * (2 * place - 1)), scores, label, color=own, **style)
        if len(curves) == 1:
            _draw_scores(panel, axis.places(values), both, "both", color="black", marker=".")


def _draw_mirror(
    panel: Axes, axis: _Axis, points: Sequence[Point], seats: tuple[str, str], colours: Mapping[str, str]
) -> None:
    """How the games of one player ended, or how many games of each of several players were decisive."""
    panel.set_title("against itself", fontsize=10)
    panel.set_ylabel("share of the games")
    curves = _curves(points)
    for number, (template, curve) in enumerate(curves.items()):
        values, scores = [point.value for point in curve], [point.score for point in curve]
        shares = [
            (f"{seats[0]} wins", _SEATS[0], [_share(s.wins, s) for s in scores]),
            ("draw", _DRAWS, [_share(s.draws, s) for s in scores]),
            (f"{seats[1]} wins", _SEATS[1], [_share(s.losses, s) for s in scores]),
        ]
        if len(curves) > 1:
            decisive = [_share(s.wins + s.losses, s) for s in scores]
            shares = [(f"{template.player}: decisive", colours[template.player], decisive)]
        for place, (text, colour, share) in enumerate(shares):
            if template.is_constant:
                _draw_line(panel, share[0], text, color=colour, linestyle=":")
            else:
                places = axis.places(values, _SHIFT * (place + number - 1))
                _draw_scores(panel, places, share, text, color=colour, marker="o")


def _share(count: int, score: Score) -> Score:
    """So many of the games, as if they were won."""
    return Score(count, 0, score.num_games - count)


def _draw_scores(panel: Axes, places: Sequence[float], scores: Sequence[Score], label: str, **style: Any) -> None:
    """A curve with intervals; a match that was stopped may have no game in one seat."""
    played = [(place, score) for place, score in zip(places, scores, strict=True) if score.num_games]
    means = np.array([score.mean for _, score in played])
    low, high = np.reshape([wilson_interval(score.points, score.num_games) for _, score in played], (-1, 2)).T
    style |= {"label": label, "markersize": 4, "linewidth": 1.4, "elinewidth": 1, "capsize": 2}
    panel.errorbar([place for place, _ in played], means, np.maximum(0, [means - low, high - means]), **style)


def _draw_line(panel: Axes, score: Score, label: str, **style: Any) -> None:
    if score.num_games:
        panel.axhline(score.mean, label=label, **style)
        panel.axhspan(*wilson_interval(score.points, score.num_games), color=style["color"], alpha=0.12, linewidth=0)


def _draw_cost(
    panel: Axes, axis: _Axis, points: Sequence[Point], measure: Callable[[Spent], float], colours: Mapping[str, str]
) -> None:
    """One curve for each player, and each opponent, that depends on the parameter: the mean over its matches."""
    curves: dict[str, dict[str, Spent]] = {}
    for point in points:
        for player, spent in ((point.template.player, point.spent), (point.template.opponent, point.opponent_spent)):
            if PLACE in player:
                curve = curves.setdefault(player, {})
                curve[point.value] = curve.get(point.value, Spent()).plus(spent)
    heights: list[float] = []
    for player, curve in curves.items():
        measured = {value: measure(spent) for value, spent in curve.items() if measure(spent)}
        heights_of = list(measured.values())
        panel.plot(axis.places(measured), heights_of, "o-", color=colours[player], label=player, markersize=4)
        heights += measured.values()
    if heights and max(heights) >= _LOGARITHMIC * min(heights):
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    else:
        panel.set_ylim(bottom=0)
