"""Everything that learns: networks, self-play, replay, training and checkpoints."""
