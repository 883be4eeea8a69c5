"""AlphaZero-style learned search: one MCTS core with pluggable evaluators, self-play training, an arena."""
