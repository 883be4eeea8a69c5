"""Games written down as their actions, in the ways that people do: "3 3 2" or "332", and "f5d6c3d3" in Othello."""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from azero.games.game import Game

S = TypeVar("S", bound=Hashable)

PASS = "pass"  # the text of an action that people leave out where it is forced


def moves_text(game: Game[Any], actions: Iterable[int]) -> str:
    """The actions as people write them: run together if all are one letter long, or all two, and without passes, unless
    nothing comes after them.

    `parse_moves` reads it back in any game that lets pass only those who can do nothing else.
    """
    words = _words(game)
    lengths = {len(word) for word in words if word != PASS}
    written = [words[action] for action in actions]
    last = max((number for number, word in enumerate(written) if word != PASS), default=-1)
    shown = [word for number, word in enumerate(written) if word != PASS or number > last]
    return ("" if lengths in ({1}, {2}) else " ").join(shown)


def moves_words(game: Game[Any], actions: Iterable[int]) -> str:
    """All actions, passes too, as words with spaces between them."""
    words = _words(game)
    return " ".join(words[action] for action in actions)


def parse_moves(game: Game[S], text: str, state: S | None = None) -> tuple[list[int], S]:
    """The actions that a text holds in a game that goes on from `state`, by default from the start; the state after.

    Words may stand apart or run together, in small letters or capitals; forced passes may be written or left out.
    Raises ValueError for what is no action, and IllegalActionError for one that the rules do not allow there.
    """
    state = game.initial_state() if state is None else state
    actions = []
    for action in _written(game, text):
        forced = game.legal_actions(state)
        if action not in forced and len(forced) == 1 and game.action_text(forced[0]) == PASS:
            actions.append(forced[0])
            state = game.step(state, forced[0])
        actions.append(game.check_action(state, action))
        state = game.step(state, action)
    return actions, state


def _words(game: Game[Any]) -> Sequence[str]:
    """Each action as one word."""
    return ["_".join(game.action_text(action).split()) for action in range(game.num_actions)]


def _written(game: Game[Any], text: str) -> Iterator[int]:
    exact = {word: action for action, word in enumerate(_words(game))}
    actions = {word.lower(): action for word, action in exact.items()} | exact
    for word in text.split():
        known = [spelling for spelling in (word, word.lower()) if spelling in actions]
        if known:
            yield actions[known[0]]
        else:
            yield from _run_together(actions, word) or [game.parse_action(word)]


def _run_together(actions: dict[str, int], word: str) -> list[int]:
    """The actions that a word consists of; none if there is something else in it."""
    any_action = "|".join(map(re.escape, sorted(actions, key=len, reverse=True)))  # h10 before h1
    for spelling in (word, word.lower()):
        parts = re.findall(any_action, spelling)
        if "".join(parts) == spelling:
            return [actions[part] for part in parts]
    return []
