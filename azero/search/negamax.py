"""Negamax with alpha-beta pruning (Knuth, Moore 1975), without recursion: it can stop anywhere and go on later.

Written once over the rules; compiled where they are, interpreted for games in plain Python.

A score is an integer that orders what both sides care about: the value first, in units of 1e-9, then the distance to
the end, so that a win is better the sooner it comes and a loss the later. A draw has no distance. An unfinished
position at the depth limit counts as a draw: a guess. A score that rests on one is nevertheless proven if it is a win
or a loss, for then the winner's line of play avoids all guesses.
"""

from typing import Any, NamedTuple

import numpy as np

from azero._jit import compilable, kernel
from azero.games.compiled import current_player, outcome, step, write_legal_actions
from azero.search.positions import LongArray, find_entry, place_entry, read_state, write_state
from azero.search.tree import IntArray

_UNITS = 1_000_000_000  # in a value of 1
_PLIES = 1 << 32  # in a unit
_WIN = _UNITS * _PLIES  # the score of a finished game that the player to move has won
_BEST = _WIN - 1  # and of an unfinished one, at most
INFINITY = 1 << 62
_FULL_WIN = _WIN - (1 << 20)  # no win of value 1 scores less, however far away it is
_UPPER, _EXACT, _LOWER = -1, 0, 1  # what a score is to the true one
_PROVEN = 1 << 30  # the depth of a score that no deeper search can change


@compilable
def score_of(value: float) -> int:
    """The score of a finished game."""
    return round(value * _UNITS) * _PLIES


@compilable
def farther(score: int) -> int:
    """The same end, seen from one ply before."""
    return score - 1 if score > 0 else score + 1 if score < 0 else 0


@compilable
def nearer(score: int) -> int:
    """The same end, seen from one ply later."""
    return score + 1 if score > 0 else score - 1 if score < 0 else 0


@compilable
def value_of(score: int) -> tuple[float, int]:
    """The value in a score, and its plies to the end; -1 for a draw, whose length is nobody's concern."""
    units = (score + _PLIES // 2) // _PLIES
    return units / _UNITS, abs(units * _PLIES - score) if units else -1


class Line(NamedTuple):
    """The line of play that is being looked at, a row for each of its D plies; row 0 is the root."""

    actions: IntArray  # int32[D, A]: the legal actions
    num_actions: IntArray  # int32[D]
    num_tried: IntArray  # int32[D]: of them, from the front
    num_sorted: IntArray  # int32[D]: of them, put to the front already
    player: IntArray  # int32[D]
    depth: LongArray  # int64[D]: plies to look ahead
    floor: LongArray  # int64[D]: only scores above it matter
    alpha: LongArray  # int64[D]: the same, or the best score so far if that is higher
    beta: LongArray  # int64[D]: a score as high as this ends the search of the row
    best: LongArray  # int64[D]: the best score so far, for `player`
    best_action: IntArray  # int32[D]
    guessed: IntArray  # int32[D]: 1 if the score rests on a position at the depth limit
    num_nodes_before: LongArray  # int64[D]
    history: LongArray  # int64[2, A]: how well each player's actions have done at ending the search of a row
    cursor: LongArray  # int64[2]: the row at work, and the number of states visited


def new_line(num_plies: int, num_actions: int) -> Line:
    """Room for D plies and A actions."""
    ints, longs = np.zeros((6, num_plies), np.int32), np.zeros((6, num_plies), np.int64)
    return Line(
        actions=np.zeros((num_plies, num_actions), np.int32),
        num_actions=ints[0],
        num_tried=ints[1],
        num_sorted=ints[2],
        player=ints[3],
        depth=longs[0],
        floor=longs[1],
        alpha=longs[2],
        beta=longs[3],
        best=longs[4],
        best_action=ints[4],
        guessed=ints[5],
        num_nodes_before=longs[5],
        history=np.zeros((2, num_actions), np.int64),
        cursor=np.zeros(2, np.int64),
    )


@compilable
def set_root(line: Line, player: int) -> None:
    """Begin with another root."""
    line.player[0] = player
    line.history[:] = 0
    line.cursor[:] = 0


@compilable
def set_all_actions(line: Line, player: int, actions: Any, depth: int) -> None:
    """Begin with another root and prepare a search of all its actions, which tells wins and losses but not the fastest.

    The first win that is found ends it.
    """
    set_root(line, player)
    for i in range(len(actions)):
        line.actions[0, i] = actions[i]
    line.num_actions[0], line.num_tried[0], line.num_sorted[0] = len(actions), 0, 0
    line.floor[0] = line.alpha[0] = -_FULL_WIN
    line.beta[0], line.best[0], line.depth[0], line.guessed[0] = _FULL_WIN, -INFINITY, depth, 0


@compilable
def result_of_root(line: Line) -> tuple[float, int]:
    """The value of the root after such a search, and the plies to the end at most; -1 where it is not proven."""
    if not is_proven(line, 0):
        return 0.0, -1
    value, plies = value_of(line.best[0])
    return value, int(plies if plies >= 0 else line.depth[0])


def set_root_action(line: Line, action: int, depth: int, floor: int) -> None:
    """Prepare a search of one action of the root, `depth` plies deep; its score matters only above `floor`."""
    line.actions[0, 0], line.num_actions[0], line.num_tried[0], line.num_sorted[0] = action, 1, 0, 1
    line.floor[0] = line.alpha[0] = floor
    line.beta[0], line.best[0], line.depth[0], line.guessed[0], line.cursor[0] = INFINITY, -INFINITY, depth, 0, 0


@compilable
def search(rules: Any, memory: Any, line: Line, prunes: bool, max_nodes: int) -> bool:
    """Go on until the root's action is searched, and return True, or until `max_nodes` states have been visited.

    The last of them are visited together, which can make them A more.
    """
    ply = line.cursor[0]
    while line.cursor[1] < max_nodes:
        state = step(rules, read_state(memory, ply), _next_action(line, ply))
        line.cursor[1] += 1
        if not _is_settled(rules, memory, line, (ply + 1, prunes), state):
            ply += 1
            continue
        while _is_done_after_action(line, ply, prunes):
            if ply == 0:
                return True
            _close(memory, line, ply)
            ply -= 1
    line.cursor[0] = ply
    return False


@kernel
def search_packed(rules: Any, memory: Any, line: Line, prunes: bool, max_nodes: int) -> bool:
    """`search` for compiled rules."""
    return search(rules, memory, line, prunes, max_nodes)


@compilable
def _next_action(line: Line, ply: int) -> int:
    """The most promising action of those not tried yet."""
    i = line.num_tried[ply]
    line.num_tried[ply] = i + 1
    actions = line.actions[ply]
    if i >= line.num_sorted[ply]:
        history, best = line.history[line.player[ply]], i
        for j in range(i + 1, line.num_actions[ply]):
            if history[actions[j]] > history[actions[best]]:
                best = j
        actions[i], actions[best] = actions[best], actions[i]
    return int(actions[i])


@compilable
def _is_settled(rules: Any, memory: Any, line: Line, at: tuple[int, bool], state: Any) -> bool:
    """Begin row `at[0]` with `state`; returns whether its score is known without a search."""
    ply, prunes = at
    player, num_actions = current_player(rules, state), write_legal_actions(rules, state, line.actions[ply])
    depth = line.depth[ply - 1] - 1
    line.player[ply], line.num_actions[ply], line.depth[ply] = player, num_actions, depth
    line.guessed[ply] = 0
    if num_actions == 0:
        line.best[ply] = score_of(outcome(rules, state))
        return True
    if depth == 0:
        line.best[ply], line.guessed[ply] = 0, 1
        return True
    alpha, beta = nearer(line.alpha[ply - 1]), nearer(line.beta[ply - 1])
    if player != line.player[ply - 1]:
        alpha, beta = -beta, -alpha
    if prunes:
        beta = min(beta, _BEST)
        if alpha >= beta or beta <= -_BEST:
            line.best[ply] = beta if alpha >= beta else -_BEST
            return True
        if _is_settled_by_a_look(rules, line, ply, state):
            return True
    write_state(memory, ply, state)
    entry = find_entry(memory, ply, depth)
    if entry >= 0 and _is_settled_by_entry(memory, line, ply, (entry, alpha, beta)):
        return True
    line.floor[ply], line.alpha[ply], line.beta[ply], line.best[ply] = alpha, alpha, beta, -INFINITY
    line.num_nodes_before[ply], line.num_tried[ply], line.num_sorted[ply] = line.cursor[1], 0, 0
    if entry >= 0:
        _put_first(line, ply, memory.action[entry])
    return False


@compilable
def _is_settled_by_a_look(rules: Any, line: Line, ply: int, state: Any) -> bool:
    """See what each action leads to, which is soon done and finds every win in one ply; returns whether that is all."""
    best, some_unfinished = -INFINITY, False
    for i in range(line.num_actions[ply]):
        after = step(rules, state, int(line.actions[ply, i]))
        line.cursor[1] += 1
        if write_legal_actions(rules, after, line.actions[ply + 1]) > 0:
            some_unfinished = True
            continue
        score = farther(score_of(outcome(rules, after)))
        best = max(best, score if current_player(rules, after) == line.player[ply] else -score)
        if best == _BEST:
            some_unfinished = False
            break
    is_last = line.depth[ply] == 1
    if some_unfinished and is_last:
        best, line.guessed[ply] = max(best, 0), 1
    line.best[ply] = best
    return bool(is_last or not some_unfinished)


@compilable
def _is_settled_by_entry(memory: Any, line: Line, ply: int, at: tuple[int, int, int]) -> bool:
    """Take over the score that the table has, if it is deep enough and says what a search from alpha to beta would."""
    entry, alpha, beta = at
    proven = memory.depth[entry] == _PROVEN
    if not proven and memory.depth[entry] != line.depth[ply]:
        return False
    score, bound = memory.score[entry], memory.bound[entry]
    line.best[ply], line.guessed[ply] = score, 0 if proven else 1
    return bool(bound == _EXACT or (bound == _LOWER and score >= beta) or (bound == _UPPER and score <= alpha))


@compilable
def _put_first(line: Line, ply: int, action: int) -> None:
    """Have `action` tried first."""
    actions = line.actions[ply]
    for j in range(line.num_actions[ply]):
        if actions[j] == action:
            actions[0], actions[j] = actions[j], actions[0]
    line.num_sorted[ply] = 1


@compilable
def _is_done_after_action(line: Line, ply: int, prunes: bool) -> bool:
    """Take over the score of the row below; returns whether nothing more is to be searched in this one."""
    child = ply + 1
    score = farther(line.best[child])
    if line.player[child] != line.player[ply]:
        score = -score
    if score > line.best[ply]:
        line.best[ply], line.best_action[ply] = score, line.actions[ply, line.num_tried[ply] - 1]
    if prunes and score >= line.beta[ply]:  # which holds whatever the other actions are worth
        line.guessed[ply] = line.guessed[child]
        return True
    line.guessed[ply] |= line.guessed[child]
    if prunes:
        line.alpha[ply] = max(line.alpha[ply], score)
    return bool(line.num_tried[ply] == line.num_actions[ply])


@compilable
def _bound(line: Line, ply: int) -> int:
    """What the best score of a row is to the score at its depth."""
    best = line.best[ply]
    return _LOWER if best >= line.beta[ply] else _EXACT if best > line.floor[ply] else _UPPER


@compilable
def is_proven(line: Line, ply: int) -> bool:
    """Whether the best score of a row is, as the bound that it is, true however deep one searches."""
    best, bound = line.best[ply], _bound(line, ply)
    if line.guessed[ply] == 0 or best * bound > 0:  # at least so good a win, or at least so bad a loss
        return True
    return bool(bound == _EXACT and is_result_within(best, line.depth[ply]))


@compilable
def is_result_within(score: int, num_plies: int) -> bool:
    """Whether a score is a whole win or loss in so many plies: one who has looked as deep would have seen a faster."""
    return bool(abs(score) >= _WIN - num_plies)


@compilable
def _close(memory: Any, line: Line, ply: int) -> None:
    """Keep what was found out about a row."""
    best_action, depth, bound = line.best_action[ply], line.depth[ply], _bound(line, ply)
    if is_proven(line, ply):
        line.guessed[ply] = 0
    entry = place_entry(memory, ply, depth, line.cursor[1] - line.num_nodes_before[ply])
    if entry >= 0:
        memory.score[entry] = line.best[ply]
        memory.depth[entry] = depth if line.guessed[ply] else _PROVEN
        memory.bound[entry] = bound
        memory.action[entry] = best_action
    if bound == _LOWER:
        history = line.history[line.player[ply]]
        history[best_action] += depth * depth
        for action in line.actions[ply, : line.num_tried[ply] - 1]:
            history[action] -= depth * depth
