import pytest
from hypothesis import settings

settings.register_profile("azero", derandomize=True, deadline=None)
settings.load_profile("azero")


@pytest.fixture
def sources(monkeypatch):
    """The files that compiled games, made during a test, would add to the key of the kernels' cache."""
    files = []
    monkeypatch.setattr("azero.games.compiled.add_source", files.append)
    return files
