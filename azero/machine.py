"""What measurements hold for: the machine and the versions."""

import os
import platform
from importlib import metadata
from pathlib import Path

_PACKAGES = ("torch", "numba", "numpy", "onnxruntime")


def machine_text() -> str:
    """The processor, its cores and the versions that matter, in one line."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.processor() or platform.machine()
    versions = ", ".join(f"{package} {metadata.version(package)}" for package in _PACKAGES)
    return f"{model}, {os.cpu_count()} cores; Python {platform.python_version()}, {versions}"
