"""Minimax and alpha-beta: what a position is worth when both sides play it perfectly.

The search looks one ply deeper at a time; what it learned before tells where to look first.
"""

import time
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from azero.evaluators.rollout import rules_of
from azero.games.compiled import CompiledGame
from azero.games.game import Game, GameOverError, result_text
from azero.search.negamax import (
    INFINITY,
    is_proven,
    is_result_within,
    new_line,
    search,
    search_packed,
    set_root,
    set_root_action,
    value_of,
)
from azero.search.positions import new_memory, write_state
from azero.search.tree import IntArray

S = TypeVar("S", bound=Hashable)

_SECONDS_PER_CHUNK = 0.002  # the clock is read about this often
_MAX_CHUNK = 1 << 30  # states; short searches would double the chunk forever
_PLIES_PER_STEP = 4  # of a search for the result alone; of 1, 2, 3, 4 and 6 it solved most of Connect Four for its time


@dataclass(frozen=True)
class Limits:
    """When a search ends, whichever comes first; without any limit, when it knows the result of perfect play."""

    depth: int | None = None  # plies to look ahead, >= 1
    nodes: int | None = None  # states to visit, >= 0
    seconds: float | None = None  # wall clock, >= 0

    def __post_init__(self) -> None:
        """Raises ValueError for a limit out of range."""
        for name, limit, least in (("depth", self.depth, 1), ("nodes", self.nodes, 0), ("seconds", self.seconds, 0)):
            if limit is not None and not limit >= least:
                raise ValueError(f"{name} must be at least {least}, got {limit}")


class Solution(NamedTuple):
    """What a search found out about its root; the arrays are over its legal actions, in ascending order."""

    actions: IntArray  # int32[L]
    values: npt.NDArray[np.float64]  # float64[L], in [-1, 1], for the player to move
    plies: IntArray  # int32[L]: actions to the end, this one included, if both play well; -1 if the value is 0
    exact: npt.NDArray[np.bool_]  # bool[L]: proven; else the action is, as far as the depth shows, at most so good
    best_actions: tuple[int, ...]  # those of the highest value and, of these, the soonest wins or the latest losses
    value: float  # of the best actions
    num_plies: int  # likewise
    is_exact: bool  # whether these are proven to the end
    depth: int  # plies looked ahead in all lines; 0 if not even the first ply was finished
    num_nodes: int  # states visited
    seconds: float


class _Root:
    """What is known of each action of the root so far, in the search's scores."""

    def __init__(self, actions: list[int]) -> None:
        self.actions = np.array(actions, np.int32)
        self.scores = np.zeros(len(actions), np.int64)
        self.exact = np.zeros(len(actions), np.bool_)  # else at most as good
        self.proven = np.zeros(len(actions), np.bool_)  # else true of the depth only

    def is_known(self, every_action: bool, depth: int) -> bool:
        """Whether to look deeper than `depth` would show neither another best action nor, if asked, another score."""
        sure = self.proven & self.exact
        if sure.all() or every_action:
            return bool(sure.all())
        return bool(sure[self.is_best()].all() and self.is_result_known(depth))

    def is_result_known(self, depth: int) -> bool:
        """Whether to look deeper than `depth` would not show a better score."""
        best = int(self.scores.max())
        is_sure = (self.proven & self.exact)[self.is_best()].any()
        return bool(is_sure and (is_result_within(best, depth) or self.proven.all()))

    def is_best(self) -> npt.NDArray[np.bool_]:
        """Which actions have the best score, or one that may be as good."""
        best: npt.NDArray[np.bool_] = self.scores == self.scores.max()
        return best


class AlphaBeta(Generic[S]):
    """Searches positions of one game, one at a time; what its table holds of one search serves the next."""

    def __init__(self, game: Game[S], prunes: bool = True, table_size: int = 1 << 18) -> None:
        """With pruning off and a table of no entries it is plain minimax. Compiles, so that no search is late.

        An entry takes 32 bytes and 8 for each number in a state; of a game in plain Python, the state. Raises
        ValueError for a negative size.
        """
        if table_size < 0:
            raise ValueError(f"table_size must be at least 0, got {table_size}")
        self.game = game
        self._prunes = prunes
        num_plies = game.max_game_length + 1
        self._line = new_line(num_plies, game.num_actions)
        self._rules, self._memory = rules_of(game), new_memory(game, num_plies, table_size)
        self._chunk = 1
        self.search(game.initial_state(), Limits(depth=1))
        self.reset()

    def reset(self) -> None:
        """Forget what the table holds."""
        self._memory = self._memory.emptied()

    def search(self, state: S, limits: Limits = Limits(), every_action: bool = False) -> Solution:
        """Search `state`; of actions that are not best it tells only how good they are at most, unless asked for all.

        Raises GameOverError for a finished game.
        """
        start, root, depth = time.perf_counter(), self._begin(state), 0
        end = limits.nodes, None if limits.seconds is None else start + limits.seconds
        max_depth = min(limits.depth or self.game.max_game_length, self.game.max_game_length)
        margin = 2 * INFINITY if every_action or not self._prunes else 1  # 1: actions as good as the best are exact too
        while depth < max_depth and not root.is_known(every_action, depth):
            if not self._deepen(root, depth + 1, margin, end):
                break
            depth += 1
        return _solution(root, depth, int(self._line.cursor[1]), time.perf_counter() - start)

    def solve(self, state: S, max_nodes: int) -> Solution | None:
        """What a search for the best actions finds, if it is exact; None where so many states do not show it.

        It looks some plies deeper at a time, asks of other actions only whether they are better until the best is
        proven, and gives up where the next step would not fit, should it grow as the last one did. Raises GameOverError
        for a finished game.
        """
        start, root, depth = time.perf_counter(), self._begin(state), 0
        end, nodes, length = (max_nodes, None), [0], self.game.max_game_length
        while not root.is_result_known(depth):
            ahead = min(_PLIES_PER_STEP, length - depth)
            if len(nodes) > 2:
                last, before = nodes[-1] - nodes[-2], nodes[-2] - nodes[-3]
                if nodes[-1] + last * (last / max(before, 1)) ** (ahead / _PLIES_PER_STEP) > max_nodes:
                    return None
            depth += ahead
            if not self._deepen(root, depth, 0, end):
                return None
            nodes.append(int(self._line.cursor[1]))
        ahead = 0
        while not root.is_known(False, depth):
            depth, ahead = min(depth + ahead, length), _PLIES_PER_STEP
            if not self._deepen(root, depth, 1, end):
                return None
        return _solution(root, depth, int(self._line.cursor[1]), time.perf_counter() - start)

    def _begin(self, state: S) -> _Root:
        game = self.game
        if game.is_terminal(state):
            raise GameOverError(f"this game of {game.name} is over: {result_text(game, state)}")
        write_state(self._memory, 0, state)
        set_root(self._line, game.current_player(state))
        return _Root(list(game.legal_actions(state)))

    def _deepen(self, root: _Root, depth: int, margin: int, end: tuple[int | None, float | None]) -> bool:
        """Look `depth` plies ahead; returns False where that was interrupted, of which only what is proven is kept.

        A score is exact if it is above the best one less the margin, and of others an upper bound.
        """
        scores, exact = root.scores.copy(), root.exact.copy()
        best = -INFINITY
        for i in np.lexsort((~root.exact, -root.scores)):  # of as good ones those first that may be known already
            floor = max(best - margin, -INFINITY)
            if not (root.proven[i] and (root.exact[i] or root.scores[i] <= floor)):
                if not self._search_action(int(root.actions[i]), depth, floor, end):
                    return False
                scores[i], exact[i] = self._line.best[0], self._line.best[0] > floor
                root.proven[i] = is_proven(self._line, 0)
                if root.proven[i]:
                    root.scores[i], root.exact[i] = scores[i], exact[i]
            best = max(best, int(scores[i]))
        root.scores, root.exact = scores, exact
        return True

    def _search_action(self, action: int, depth: int, floor: int, end: tuple[int | None, float | None]) -> bool:
        """Search one action of the root; returns False where that was interrupted."""
        line, (max_nodes, deadline) = self._line, end
        set_root_action(line, action, depth, floor)
        limit = INFINITY if max_nodes is None else max_nodes
        run = search_packed if isinstance(self.game, CompiledGame) else search
        while True:
            before, now = int(line.cursor[1]), time.perf_counter()
            if before >= limit or (deadline is not None and now >= deadline):
                return False
            if run(self._rules, self._memory, line, self._prunes, min(before + self._chunk, limit)):
                return True
            fitting = self._chunk * _SECONDS_PER_CHUNK / (time.perf_counter() - now)
            self._chunk = int(max(1, min(2 * self._chunk, fitting, _MAX_CHUNK)))


def _solution(root: _Root, depth: int, num_nodes: int, seconds: float) -> Solution:
    values, plies = zip(*map(value_of, root.scores.tolist()), strict=True)
    best = int(root.scores.argmax())
    return Solution(
        actions=root.actions,
        values=np.array(values),
        plies=np.array(plies, np.int32),
        exact=root.exact & root.proven,
        best_actions=tuple(root.actions[root.scores == root.scores[best]].tolist()),
        value=values[best],
        num_plies=plies[best],
        is_exact=root.is_known(False, depth),
        depth=depth,
        num_nodes=num_nodes,
        seconds=seconds,
    )
