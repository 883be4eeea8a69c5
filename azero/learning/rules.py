"""The selection rules that training can search by, and their settings."""

import math
from dataclasses import dataclass, fields

from azero.search.gumbel import Gumbel
from azero.search.puct import PUCT

_RULES: dict[str, type[PUCT] | type[Gumbel]] = {"puct": PUCT, "gumbel": Gumbel}
_RANGES = {
    "c_puct": (0, math.inf),
    "fpu_reduction": (0, 2),
    "fpu_value": (-1, 1),
    "root_fpu_reduction": (0, 2),
    "root_fpu_value": (-1, 1),
    "forced_visits": (0, math.inf),
    "num_considered": (1, math.inf),
    "c_visit": (0, math.inf),
    "c_scale": (0, math.inf),
}


@dataclass(frozen=True)
class SearchSettings:
    """How self-play and the measuring matches search: by PUCT or Gumbel, each with its own options."""

    rule: str = "puct"  # puct; or gumbel, which learns from few simulations: search=gumbel sets what goes with it
    c_puct: float = 1.25  # puct: exploration, >= 0, for values in [-1, 1]; AlphaZero: 2.5
    fpu_reduction: float = 0.2  # puct: how much worse an untried action is presumed to be, 0 to 2; KataGo: 0.2
    fpu_value: float | None = None  # puct: or what it is presumed to be worth, -1 to 1; AlphaZero: -1, a loss
    root_fpu_reduction: float | None = None  # puct: the same at the root, 0 to 2; null: as elsewhere. KataGo: 0.1
    root_fpu_value: float | None = None  # puct: the same at the root, -1 to 1; null: as elsewhere
    forced_visits: float = 0.0  # puct: of tried root actions, sqrt(this P N), not learned; self-play only. KataGo: 2
    num_considered: int = 16  # gumbel: root actions that its first round tries, >= 1; the paper: 16
    c_visit: float = 50.0  # gumbel: weight of the values against the prior, >= 0; the paper: 50
    c_scale: float = 1.0  # gumbel: the same, a factor, >= 0; the paper: 1.0

    def __post_init__(self) -> None:
        """Raises ValueError for a value out of range, or one that the rule does not know."""
        if self.rule not in _RULES:
            raise ValueError(f"search.rule must be {' or '.join(_RULES)}, got {self.rule!r}")
        for field in fields(self)[1:]:
            name, value = field.name, getattr(self, field.name)
            if name not in _RULES[self.rule]._fields and value != field.default:
                raise ValueError(f"search.{name} is no option of search.rule={self.rule}; leave it at {field.default}")
            low, high = _RANGES[name]
            if value is not None and not (low <= value <= high and math.isfinite(value)):
                allowed = f"from {low} to {high}" if math.isfinite(high) else f"at least {low} and finite"
                raise ValueError(f"search.{name} must be {allowed}, got {value}")
        if self.root_fpu_reduction is not None and self.root_fpu_value is not None:
            raise ValueError("search.root_fpu_reduction and search.root_fpu_value exclude each other: give one of them")

    def selfplay_rule(self) -> PUCT | Gumbel:
        """The selection rule of self-play, which explores."""
        rule = _RULES[self.rule]
        options = {name: getattr(self, name) for name in rule._fields if getattr(self, name, None) is not None}
        return rule(**options)

    def match_rule(self) -> PUCT | Gumbel:
        """The selection rule of matches: the same, without what only explores."""
        rule = self.selfplay_rule()
        return rule._replace(noise=0.0) if isinstance(rule, Gumbel) else rule._replace(forced_visits=0.0)
