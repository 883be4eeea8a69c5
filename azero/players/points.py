"""What a sweep measures: matches whose players depend on one parameter."""

from collections.abc import Iterable
from typing import NamedTuple

from azero.players.match import report
from azero.players.rating import Score
from azero.players.record import GameRecord, Spent
from azero.players.series import Pair

PLACE = "{}"  # where a template has the parameter
SELF = "self"  # the opponent that is the player itself


class Template(NamedTuple):
    """A match between two players that are written with a place for the parameter."""

    player: str  # such as uct:{}
    opponent: str  # such as uct:1000, or SELF

    @property
    def is_constant(self) -> bool:
        """Whether neither of the two depends on the parameter."""
        return PLACE not in self.player + self.opponent

    @property
    def is_mirror(self) -> bool:
        """Whether the player meets itself, so that all there is to see is who moves first."""
        return self.opponent == SELF

    def pair(self, value: str) -> Pair:
        """Who meets whom where the parameter has this value."""
        player, opponent = (text.replace(PLACE, value) for text in self)
        return player, player if self.is_mirror else opponent


class Point(NamedTuple):
    """One measured match, from the side of its player."""

    template: Template
    value: str  # the parameter's; of no meaning if the template is constant
    player: str
    as_first: Score  # where the player moved first, which against itself it did in every game
    as_second: Score
    num_distinct: int  # different games
    num_forfeits: int  # games that either side lost by breaking a rule
    num_cut_short: int  # games without a result; they are not in the scores
    spent: Spent  # by the player, on all its moves
    opponent_spent: Spent

    @property
    def score(self) -> Score:
        """All results."""
        return self.as_first if self.template.is_mirror else self.as_first.plus(self.as_second)


def measured(template: Template, value: str, records: Iterable[GameRecord]) -> Point:
    """What the games of the template's match say."""
    match = report(records)
    first, second = match.as_first, match.as_second
    mine, others = match.spent
    if template.is_mirror:
        first = first.plus(second.reversed())
        second = first.reversed()
        mine = others = mine.plus(others)
    return Point(
        template,
        value,
        player=template.pair(value)[0],
        as_first=first,
        as_second=second,
        num_distinct=match.num_distinct,
        num_forfeits=sum(match.num_forfeits),
        num_cut_short=match.num_cut_short,
        spent=mine,
        opponent_spent=others,
    )
