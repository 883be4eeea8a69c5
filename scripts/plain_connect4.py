"""Connect Four in plain Python, as a user of azero may write it, for `bench.py`."""

from azero.games.game import Game

WIDTH, HEIGHT = 7, 6
COLUMN = HEIGHT + 1  # bits of a column: its cells from below, and one that stays empty

State = tuple[int, int, int]


class Connect4(Game[State]):
    """A state is the stones of who is to move, the other's, each a set of bits, and their number."""

    name = "plain-connect4"
    num_actions = WIDTH
    max_game_length = WIDTH * HEIGHT

    def initial_state(self) -> State:
        """The empty board."""
        return 0, 0, 0

    def current_player(self, state: State) -> int:
        """Players take turns."""
        return state[2] % 2

    def legal_actions(self, state: State) -> list[int]:
        """The columns with room, unless who moved last has won."""
        own, other, _ = state
        if self.has_four(other):
            return []
        return [column for column in range(WIDTH) if not (own | other) >> (COLUMN * column + HEIGHT - 1) & 1]

    def step(self, state: State, action: int) -> State:
        """A stone falls onto the others of its column."""
        own, other, num_stones = state
        stones = own | other
        return other, own | (stones + (1 << COLUMN * action)) & ~stones, num_stones + 1

    def outcome(self, state: State) -> float:
        """Lost by who is to move, or drawn."""
        return -1.0 if self.has_four(state[1]) else 0.0

    def has_four(self, stones: int) -> bool:
        """Whether four of these stones stand in a row."""
        for step in (1, COLUMN, COLUMN - 1, COLUMN + 1):
            pairs = stones & (stones >> step)
            if pairs & (pairs >> 2 * step):
                return True
        return False
