"""What all tests share: the same examples on every run, and the choice of tests that run without Numba's compiler."""

import numba
import pytest
from hypothesis import settings

settings.register_profile("azero", derandomize=True, deadline=None)
settings.load_profile("azero")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not numba.config.DISABLE_JIT:
        return
    compiled = [item for item in items if item.get_closest_marker("compiled")]
    config.hook.pytest_deselected(items=compiled)
    items[:] = [item for item in items if item not in compiled]
