"""Nim with its heaps in a tuple, as one would write it without a thought for speed. A state is (heaps, player)."""


class Nim:
    def __init__(self, heaps=(3, 4, 5), take=None, misere=False):
        self.heaps, self.take, self.misere = heaps, take or max(heaps), misere

    def initial_state(self):
        return self.heaps, 0

    def current_player(self, state):
        return state[1]

    def legal_actions(self, state):
        heaps, _ = state
        return sorted(
            (taken - 1) * len(heaps) + heap
            for heap, stones in enumerate(heaps)
            for taken in range(1, min(stones, self.take) + 1)
        )

    def step(self, state, action):
        heaps, player = list(state[0]), state[1]
        less, heap = divmod(action, len(heaps))
        heaps[heap] -= less + 1
        return tuple(heaps), 1 - player

    def outcome(self, state):
        return 1.0 if self.misere else -1.0

    def observation(self, state):
        largest = max(self.heaps)
        rows = [[float(place < stones) for place in range(largest)] for stones in state[0]]
        marks = [[float(place == stones - 1) for place in range(largest)] for stones in state[0]]
        return [rows, marks]

    def picture(self, state):
        return f"{'-'.join(map(str, state[0]))} {'XO'[state[1]]}"
