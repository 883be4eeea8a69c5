"""Minimax as the textbook says it, by recursion over every line of play."""


def better(result):
    """A key that puts results (value, plies to the end) in order: the value, then soon if won and late if lost."""
    value, plies = result
    return value, -plies if value > 0 else plies if value < 0 else 0


def minimax(game, state, depth, memory=None):
    """The value for the player to move and the plies to the end, where `depth` plies ahead everything is a draw.

    `memory` is a dict, for games in which many lines lead to one state.
    """
    memory = {} if memory is None else memory
    if (state, depth) not in memory:
        if not list(game.legal_actions(state)):
            memory[state, depth] = game.outcome(state), 0
        elif depth == 0:
            memory[state, depth] = 0, 0
        else:
            memory[state, depth] = max(action_results(game, state, depth, memory).values(), key=better)
    return memory[state, depth]


def action_results(game, state, depth, memory=None):
    """The same for each action, seen by the player who takes it."""
    player, results = game.current_player(state), {}
    for action in game.legal_actions(state):
        after = game.step(state, action)
        value, plies = minimax(game, after, depth - 1, memory)
        results[action] = (value if game.current_player(after) == player else -value), plies + 1
    return results
