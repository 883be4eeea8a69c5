import pytest


@pytest.fixture
def sources(monkeypatch):
    """The files that compiled games, made during a test, would add to the key of the kernels' cache."""
    files = []
    monkeypatch.setattr("azero.games.compiled.add_source", lambda *paths: files.extend(paths))
    return files
