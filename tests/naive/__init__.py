"""Slow twins of what azero computes: obvious code, none of it shared with azero."""
