"""What `faults.py` does to a process of azero.train, from inside: at a moment, or from a moment on.

A hook is called in the process before it begins.
"""

import ctypes
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from azero import train
from azero.evaluators.evaluator import Evaluation
from azero.evaluators.onnx_runner import OnnxRunner

Hook = Callable[[], Any]


def when_opened(words: str, action: Hook, nth: int = 2) -> None:
    """Do something as soon as a file whose path holds `words` is opened for writing the nth time."""
    count = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event == "open" and words in str(arguments[0]) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            count += 1
            if count == nth:
                action()

    sys.addaudithook(hook)


def at_change(number: int, action: Hook) -> None:
    """Do something just before the nth time that a file is opened, renamed or removed, or a directory made."""
    events = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"}
    count = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event in events and "run-" in str(arguments[0]):
            count += 1
            if count == number:
                action()

    sys.addaudithook(hook)


def at_phase(words: str, action: Hook, iteration: int = 2) -> None:
    """Do something amid a phase of an iteration."""
    honest_phase, honest_step = train._Screen.on_phase, train._Screen.on_step
    due = False

    def on_phase(self: Any, now: int, name: str, total: int) -> None:
        nonlocal due
        due = due or (now == iteration and name.startswith(words))
        honest_phase(self, now, name, total)

    def on_step(self: Any) -> None:
        nonlocal due
        if due:
            due = False
            action()
        honest_step(self)

    screen: Any = train._Screen
    screen.on_phase, screen.on_step = on_phase, on_step


def signalled(*numbers: int) -> None:
    """Get signals from outside."""
    for number in numbers:
        os.kill(os.getpid(), number)


def no_room(num_bytes: int = 64) -> None:
    """Let no file grow beyond a size from now on, which fails as a full disk does."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, resource.RLIM_INFINITY))


def die_amid_a_write(phase: str, iteration: int) -> None:
    """Die at the first write beyond a size after a phase, with half of it on the disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    at_phase(phase, partial(no_room, 500), iteration)


def evaluator(answer: Callable[[Evaluation], Evaluation], after: int = 30) -> None:
    """Let the network answer otherwise, beginning with a call."""
    honest, calls = OnnxRunner.__call__, []

    def run(self: Any, *inputs: Any) -> Evaluation:
        calls.append(1)
        given = Evaluation(*honest(self, *inputs))
        return answer(given) if len(calls) >= after else given

    runner: Any = OnnxRunner
    runner.__call__ = run


def not_a_number(given: Evaluation) -> Evaluation:
    """An evaluation without a value."""
    return Evaluation(given.policy, given.value * np.float32(np.nan))


def broken(given: Evaluation) -> Evaluation:
    """No evaluation at all."""
    raise RuntimeError("the graphics card has fallen off the bus")


def hanging(given: Evaluation) -> Evaluation:
    """No evaluation, ever, for which somebody has enough of it."""
    for seconds in (0.2, 0.6):
        threading.Timer(seconds, partial(signalled, signal.SIGINT)).start()
    time.sleep(3600)
    return given


def clock_back(_run: Path) -> None:
    """Let the wall clock jump back by an hour."""
    honest = time.time
    time.time = lambda: honest() - 3600


def read_only(directory: Path) -> None:
    """Make a directory read-only, for root as well."""
    directory.chmod(0o555)
    header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(header, nothing) == 0


def limited(kind: int, limit: int) -> None:
    """Set a limit of the system's."""
    resource.setrlimit(kind, (limit, limit))


def output_to(path: str | None) -> None:
    """Let the run talk to a file, or to a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    for descriptor in (1, 2):
        os.dup2(os.open(path, os.O_WRONLY) if path else writing, descriptor)


def in_phase(phase: str, action: Callable[[Path], Any], run: Path) -> None:
    """Do something to the run's directory amid a phase."""
    at_phase(phase, lambda: action(run))


def crowd_out_the_events(run: Path) -> None:
    """Leave no room for the largest file alone."""
    at_phase("self-play", lambda: no_room(max(p.stat().st_size for p in run.glob("tensorboard/*"))), 3)


def no_descriptor() -> None:
    """Let the system open no file more, whatever number of them this process has open."""
    lowest_free = os.dup(0)
    os.close(lowest_free)
    limited(resource.RLIMIT_NOFILE, lowest_free)


def starve() -> None:
    """Ask the system for more memory than it gives."""
    limited(resource.RLIMIT_AS, in_use() + 2**22)
    np.ones(2**24)


def in_use() -> int:
    """How much memory this process has taken from the system, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
