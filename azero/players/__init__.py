"""Everything that chooses actions, and what measures it: players, matches, ratings."""
