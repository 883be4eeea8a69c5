"""What comes with azero besides its code: configs and trained networks."""

from pathlib import Path


def resource_directory(name: str) -> Path:
    """Where `configs` or `checkpoints` lie: inside an installed package, beside it in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name
