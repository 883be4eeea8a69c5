"""How many cores this process may use."""

import os


def num_cores() -> int:
    """The cores that the process is allowed to run on, or, where the system does not say, those of the machine."""
    allowed = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(allowed(0)) if allowed else os.cpu_count() or 1
