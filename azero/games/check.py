"""The laws of the game contract, checked on any game: `check_game(MyGame())`.

Random games are played, and every state that they pass through is held against the laws that `azero.games.game` lists.
Two things stay for a test of your own, on positions whose answer you know: that `outcome` has the right sign, and that
`observation` begins with the mover's side. Random play shows a slip there only when two games end in the same picture;
`azero.check` wonders, too, where stones that are laid down never change sides.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from numbers import Real
from typing import Any, TypeVar, cast

import numpy as np

from azero._jit import below, draw, pack, unpack
from azero.games.blame import told
from azero.games.compiled import CompiledGame, PackedStates, describe
from azero.games.game import Game, Symmetry, exact_values

S = TypeVar("S", bound=Hashable)
_MAX_STEPPED = 16  # of a state's actions, whose successors are looked at
Law = Callable[[Game[S], S], None]


class LawError(AssertionError):
    """A game breaks a law of the contract; the message says which, and in which state."""


def check_game(game: Game[S], num_games: int = 20, seed: int = 0) -> int:
    """Play `num_games` random games, drawn from `seed`, and return how many states were found to keep every law.

    Takes any game, compiled or plain, known to azero or not; one without observations or symmetries is spared their
    laws. Raises LawError at the first law broken.
    """
    try:
        _check_sheet(game)
        laws = _laws(game)
    except LawError:
        raise
    except Exception as error:  # a method with other parameters, a name that is not there
        raise LawError(f"{game.name}: {_fault(error)}") from error
    return sum(_hold(game, draw(seed, number), laws) for number in range(num_games))


def _hold(game: Game[S], stream: int, laws: list[Law[S]]) -> int:
    """Hold the states of a random game against the laws, and count them; a method that fails breaks one too."""
    num_states, state = 0, game.initial_state()
    try:
        for state in random_states(game, stream):
            for law in laws:
                law(game, state)
            num_states += 1
    except LawError:
        raise
    except Exception as error:
        raise _broken(game, _fault(error), state) from error
    return num_states


def _fault(error: Exception) -> str:
    return told(error) or f"{type(error).__name__}: {error}"


def _laws(game: Game[S]) -> list[Law[S]]:
    """The laws of a state, each relying on those before it."""
    laws: list[Law[S]] = [_is_a_value, _has_lawful_actions, _steps_purely, _has_an_outcome]
    laws += [_knows_perfect_play, _reads_back]
    observed, symmetries = _observed_shape(game) is not None, game.symmetries()
    endings: dict[bytes, tuple[float, S]] = {}
    laws += [_is_observed, partial(_ends_alike, endings)] if observed else []
    laws += [partial(_commutes, symmetry) for symmetry in symmetries]
    laws += [partial(_moves_cells, symmetry) for symmetry in symmetries if observed]
    if isinstance(game, CompiledGame):
        laws.append(partial(_is_the_same_compiled, game.rules))
        laws += [_looks_the_same_compiled] if observed else []
    return laws


def random_states(game: Game[S], stream: int) -> Iterator[S]:
    """The states of a random game, which `stream` fixes. Raises LawError if it is too long."""
    state = game.initial_state()
    yield state
    for ply in range(game.max_game_length):
        legal = game.legal_actions(state)
        if not legal:
            return
        state = game.step(state, legal[below(draw(stream, ply), len(legal))])
        yield state
    if not game.is_terminal(state):
        raise _broken(
            game, f"a game must end within max_game_length = {game.max_game_length} actions, not go on", state
        )


def _broken(game: Game[S], fault: str, state: S) -> LawError:
    text = _attempt(game.state_text, state)
    return LawError(f"{game.name}: {fault}, in the state\n{text if isinstance(text, str) else repr(state)}")


def _attempt(function: Callable[[Any], Any], argument: Any) -> Any:
    """What the function returns, or the error that it raises instead."""
    try:
        return function(argument)
    except Exception as error:
        return error


def _some(legal: Sequence[int]) -> Sequence[int]:
    """Legal actions: all if they are few, else evenly spaced ones, others where there are one more or less."""
    stride = -(-len(legal) // _MAX_STEPPED)
    return legal[len(legal) % stride :: stride] if legal else legal


def _check_sheet(game: Game[S]) -> None:
    """The facts that hold for the game as a whole."""
    name = getattr(game, "name", None)
    if not isinstance(name, str):
        raise LawError(f"{type(game).__name__}: a game must have a `name`, a string, not {name!r}")
    for fact in ("num_actions", "max_game_length"):
        number = getattr(game, fact, None)
        if not isinstance(number, int) or number < 1:
            raise LawError(f"{name}: `{fact}` must be an integer above 0, not {number!r}")
    for action in range(game.num_actions):
        text = game.action_text(action)
        read = _attempt(game.parse_action, text)
        if read != action:
            raise LawError(f"{name}: the text {text!r} of action {action} must read back as {action}, not as {read!r}")
    shape = _observed_shape(game)
    for symmetry in game.symmetries():
        if sorted(symmetry.actions) != list(range(game.num_actions)):
            raise LawError(f"{name}: a symmetry must permute all {game.num_actions} actions, not be {symmetry.actions}")
        if shape is not None and sorted(symmetry.cells) != list(range(shape[1] * shape[2])):
            raise LawError(
                f"{name}: a symmetry must permute all {shape[1]} x {shape[2]} cells, not be {symmetry.cells}"
            )
    if game.current_player(game.initial_state()) != 0:
        raise _broken(game, "player 0 must move first", game.initial_state())


def _observed_shape(game: Game[S]) -> tuple[int, ...] | None:
    """The observations' shape, as declared; None for a game that has none."""
    try:
        shape = np.shape(game.observation(game.initial_state()))
    except NotImplementedError:
        return None
    declared = getattr(game, "observation_shape", None)
    if not isinstance(declared, tuple) or len(declared) != 3:
        raise LawError(f"{game.name}: observation_shape must be (planes, rows, columns), not {declared}")
    if shape != declared:
        raise LawError(f"{game.name}: observation() gives {shape}, but observation_shape says {declared}")
    return shape


def _is_a_value(game: Game[S], state: S) -> None:
    if state is None:
        raise _broken(game, "a state must not be None: is initial_state() to return one?", state)
    if not isinstance(_attempt(hash, state), int):
        raise _broken(game, f"a state must be hashable, not of {type(state)}", state)


def _has_lawful_actions(game: Game[S], state: S) -> None:
    legal = game.legal_actions(state)
    if not isinstance(legal, Sequence):
        raise _broken(game, f"legal actions must be a list, or another sequence, not {legal!r}", state)
    legal = list(legal)
    if not all(type(action) is int and 0 <= action < game.num_actions for action in legal):
        raise _broken(game, f"legal actions must be ints in [0, {game.num_actions}), not {legal}", state)
    if legal != sorted(set(legal)):
        raise _broken(game, f"legal actions must be distinct and ascending, not {legal}", state)
    if bool(game.is_terminal(state)) == bool(legal):
        said = f"is_terminal() is {game.is_terminal(state)} where legal are {legal}"
        raise _broken(game, f"{said}, but a state is terminal if and only if none is", state)
    if game.current_player(state) not in (0, 1):
        raise _broken(game, f"the player to move must be 0 or 1, not {game.current_player(state)!r}", state)


def _steps_purely(game: Game[S], state: S) -> None:
    def look() -> tuple[int, str, list[int]]:
        return hash(state), game.state_text(state), list(game.legal_actions(state))

    before = look()
    for action in _some(game.legal_actions(state)):
        after, again = _step(game, state, action), _step(game, state, action)
        if look() != before:
            raise _broken(game, f"a step must leave its state as it was, but action {action} changed it", state)
        if after != again or hash(after) != hash(again):
            raise _broken(game, f"a step must always lead to the same state, but action {action} does not", state)


def _step(game: Game[S], state: S, action: int) -> S:
    """The state after an action. Raises LawError, naming the action, if there is none that can be a state."""
    try:
        after = game.step(state, action)
    except Exception as error:
        raise _broken(game, f"step(state, {action}) fails: {_fault(error)}", state) from error
    if after is None or not isinstance(_attempt(hash, after), int):
        wanted = "a state, which must be hashable, like a tuple"
        raise _broken(game, f"step(state, {action}) must return {wanted}, not {after!r}", state)
    return after


def _has_an_outcome(game: Game[S], state: S) -> None:
    if game.is_terminal(state):
        outcome = game.outcome(state)
        if not isinstance(outcome, Real) or not -1 <= outcome <= 1:
            raise _broken(game, f"an outcome must be in [-1, 1], not {outcome!r}", state)


def _knows_perfect_play(game: Game[S], state: S) -> None:
    """An exact value is that of the best action, down to the end of the game."""
    said = game.exact_value(state)
    if said is None:
        return
    values = exact_values(game, state)
    best = max(values.values()) if values else game.outcome(state)
    if said != best:
        raise _broken(game, f"the exact value must be that of the best action, {best}, not {said}", state)


def _reads_back(game: Game[S], state: S) -> None:
    read = _attempt(game.parse_state, game.state_text(state))
    if read != state:
        names = ("state_text", "parse_state")
        written = [getattr(type(game), name) is not getattr(Game, name) for name in names]
        advice = f"; write {names[written.index(False)]} too" if sum(written) == 1 else ""
        raise _broken(game, f"the text of a state must read back as {state!r}, not as {read!r}{advice}", state)


def _is_observed(game: Game[S], state: S) -> None:
    seen = game.observation(state)
    if seen.dtype != np.float32 or seen.shape != game.observation_shape or not np.isfinite(seen).all():
        wanted = f"finite float32{list(game.observation_shape)}"
        raise _broken(
            game, f"an observation must be {wanted}, not {seen.dtype}{list(seen.shape)} {seen.tolist()}", state
        )
    if not np.array_equal(game.observations([state]), seen[np.newaxis]):
        raise _broken(game, "a state must look the same in observation() and in observations()", state)


def _ends_alike(endings: dict[bytes, tuple[float, S]], game: Game[S], state: S) -> None:
    """What looks the same to whoever is to move is worth the same to him: the two players are treated alike."""
    if not game.is_terminal(state):
        return
    ours = game.outcome(state)
    theirs, twin = endings.setdefault(game.observation(state).tobytes(), (ours, state))
    if ours != theirs:
        fault = f"finished games that look the same to the mover must have one outcome, not {ours} and, in {twin!r},"
        raise _broken(game, f"{fault} {theirs}", state)


def _commutes(symmetry: Symmetry[S], game: Game[S], state: S) -> None:
    image, legal = symmetry.state(state), game.legal_actions(state)
    name = f"a symmetry (of actions {symmetry.actions})"
    if game.current_player(image) != game.current_player(state):
        raise _broken(game, f"{name} must leave the player to move", state)
    if sorted(symmetry.actions[action] for action in legal) != list(game.legal_actions(image)):
        raise _broken(game, f"{name} must move the legal actions along", state)
    if not legal and game.outcome(image) != game.outcome(state):
        raise _broken(game, f"{name} must leave the outcome", state)
    for action in _some(legal):
        if game.step(image, symmetry.actions[action]) != symmetry.state(game.step(state, action)):
            raise _broken(game, f"{name} must commute with step, but with action {action} it does not", state)


def _moves_cells(symmetry: Symmetry[S], game: Game[S], state: S) -> None:
    seen, image = game.observation(state), game.observation(symmetry.state(state))
    num_planes = len(seen)
    if not np.array_equal(image.reshape(num_planes, -1)[:, symmetry.cells], seen.reshape(num_planes, -1)):
        raise _broken(game, f"a symmetry must move an observation's cells along, but {symmetry.cells} does not", state)


def _is_the_same_compiled(rules: Any, game: Game[S], state: S) -> None:
    """What kernels say of a state, which reaches them packed, is what plain Python says."""
    fields: Any = state
    row = np.zeros(len(fields), np.int64)
    if _attempt(partial(pack, fields), row) is not None or unpack(state, row) != state:
        raise _broken(game, f"a compiled game's state must consist of 64-bit integers, unlike {state!r}", state)
    actions, rows = np.zeros(game.num_actions, np.int32), np.zeros((game.num_actions, len(fields)), np.int64)
    answer = _attempt(lambda row: describe(rules, state, row, actions, rows), row)
    if isinstance(answer, Exception):
        raise LawError(f"{game.name}: the rules must compile, but {answer}") from answer
    player, num_legal, result = answer
    compiled = player, actions[:num_legal].tolist(), list(PackedStates(state, rows[:num_legal])), result
    legal = list(game.legal_actions(state))
    successors = [game.step(state, action) for action in legal]
    for action, successor in zip(legal, successors, strict=True):
        if any(not -(1 << 63) <= number < 1 << 63 for number in cast(Any, successor)):
            fault = f"step(state, {action}) leads beyond 64 bits, which compiled rules cannot, to {successor!r}"
            raise _broken(game, fault, state)
    plain = game.current_player(state), legal, successors, 0.0 if legal else game.outcome(state)
    if compiled != plain:
        raise _broken(game, f"compiled rules must say what plain Python says, {plain}, not {compiled}", state)


def _looks_the_same_compiled(game: Game[S], state: S) -> None:
    packed = PackedStates(state, np.array([state], np.int64))
    if not np.array_equal(game.observations(packed), game.observations([state])):
        raise _broken(game, "compiled rules must observe what plain Python observes", state)
