"""Measuring by taking turns, for `bench.py`: what else the machine does hits all contestants alike."""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from typing import NamedTuple

Work = Callable[[], float]  # does some work, and says how much


class Row(NamedTuple):
    """A row of the table: a figure of azero, the figure it is to be seen beside, and the ratio of the first to that."""

    measured: str
    azero: str
    beside: str = ""
    other: str = ""
    ratio: str = ""


class Peer(NamedTuple):
    """Another library's way to do the same work."""

    package: str
    name: str
    prepare: Callable[[], Work]

    def version(self) -> str | None:
        """The version that is installed, if any."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return None


class Bench:
    """How often to measure, and by which clock."""

    def __init__(self, num_runs: int, clock: str) -> None:
        """`clock` is a function of the module `time`: perf_counter or process_time."""
        self.num_runs = num_runs
        self.clock_name = clock
        self.clock: Callable[[], float] = getattr(time, clock)

    def contest(self, *contestants: Work) -> list[list[float]]:
        """For each contestant its work per second in every round, after a first run that does not count."""
        for contestant in contestants:
            contestant()
        rounds = [[self.rate(contestant) for contestant in contestants] for _ in range(self.num_runs)]
        return [list(rates) for rates in zip(*rounds, strict=True)]

    def rate(self, work: Work) -> float:
        """How much of the work is done in a second."""
        start = self.clock()
        return work() / (self.clock() - start)

    def against(self, measured: str, ours: Work, *peers: Peer) -> Iterator[Row]:
        """One row for each peer."""
        there = [peer for peer in peers if peer.version()]
        rates, *others = self.contest(ours, *(peer.prepare() for peer in there))
        for peer in peers:
            name = f"{peer.package} {peer.version() or ''} {peer.name}"
            if peer in there:
                other = others[there.index(peer)]
                yield Row(measured, per_second(rates), name, per_second(other), ratio(rates, other))
            else:
                yield Row(measured, per_second(rates), name, "not installed")


def per_second(rates: Sequence[float]) -> str:
    """Their median, with three digits that count."""
    return f"{float(f'{statistics.median(rates):.3g}'):,.0f}/s"


def seconds(times: Sequence[float]) -> str:
    """Their median."""
    return f"{statistics.median(times):.2f} s"


def ratio(rates: Sequence[float], others: Sequence[float]) -> str:
    """The median of the rounds' ratios."""
    return f"{statistics.median(a / b for a, b in zip(rates, others, strict=True)):.2f}"


def use_cores(number: int) -> None:
    """Keep this thread, and those it starts, to so many cores, where the system can do that."""
    if CORES:
        os.sched_setaffinity(0, CORES[:number])


CORES = sorted(os.sched_getaffinity(0), reverse=True) if hasattr(os, "sched_getaffinity") else []
