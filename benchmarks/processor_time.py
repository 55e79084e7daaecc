"""The processor time of a job on Spark: of this process, of the Java that it started, and of Java's Python workers.

It holds under load, where wall time does not. It is read from `/proc`, which Linux has, in steps of 10 ms. Workers end
when they had nothing to do for a minute, and then the time they took is noted nowhere, since the daemon that forks them
ignores how its children end. So we look at them every few seconds, and remember what each process has used.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from timed import Case

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_LOOK_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class CpuSeconds:
    """Apart for who spent them."""

    driver: float
    jvm: float
    workers: float

    @property
    def total(self) -> float:
        return self.driver + self.jvm + self.workers

    def __sub__(self, earlier: CpuSeconds) -> CpuSeconds:
        return CpuSeconds(self.driver - earlier.driver, self.jvm - earlier.jvm, self.workers - earlier.workers)


@dataclass(slots=True)
class CpuCase(Case):
    """A thing that is timed with its processor time; what comes `before` it each time does not count."""

    before: Callable[[], object] = field(default=lambda: None, kw_only=True)
    cpu: list[CpuSeconds] = field(default_factory=list, kw_only=True)

    @property
    def best_cpu(self) -> CpuSeconds:
        return min(self.cpu, key=lambda one: one.total)

    def take(self) -> None:
        self.before()
        earlier = cpu_until_now()
        with _watched():
            Case.take(self)
        self.cpu.append(cpu_until_now() - earlier)

    def forget(self) -> None:
        """Runs until now were there to warm up."""
        self.seconds.clear()
        self.cpu.clear()


def cpu_until_now() -> CpuSeconds:
    """What this process has used since it began, and those below it since then, also those that ended."""
    for process in _below(os.getpid()):
        _seen[process.number, process.begun] = process
    jvm = sum(process.used_s for process in _seen.values() if process.name == "java")
    workers = sum(process.used_s for process in _seen.values() if process.name != "java")
    return CpuSeconds(time.process_time(), jvm, workers)


@dataclass(frozen=True, slots=True)
class _Process:
    number: int
    begun: int
    parent: int
    name: str
    used_s: float


_seen: dict[tuple[int, int], _Process] = {}
"""As it was when we last looked; numbers of processes are given again, so when one began tells it from another."""


@contextmanager
def _watched() -> Iterator[None]:
    is_over = Event()

    def watch() -> None:
        while not is_over.wait(_LOOK_EVERY_S):
            cpu_until_now()

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


def _below(root: int) -> Iterator[_Process]:
    children: dict[int, list[_Process]] = {}
    for process in _processes():
        children.setdefault(process.parent, []).append(process)
    waiting = [root]
    while waiting:
        found = children.get(waiting.pop(), [])
        waiting += [process.number for process in found]
        yield from found


def _processes() -> Iterator[_Process]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            yield _parsed(path.read_text(errors="replace"))


def _parsed(stat: str) -> _Process:
    """The line of a process; its name stands in parentheses, and may hold spaces and parentheses itself."""
    head, _, tail = stat.rpartition(")")
    number, _, name = head.partition(" (")
    fields = tail.split()
    used_s = (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
    return _Process(int(number), int(fields[19]), int(fields[1]), name, used_s)
