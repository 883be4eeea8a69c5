"""The tree search: arrays, kernels, selection rules and the drivers."""
