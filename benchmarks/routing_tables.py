"""What subscriptions cost a broker, and how much matching slows down while they come and go.

`python benchmarks/routing_tables.py [--sizes 1000,10000,100000] [--links 1,4] [--out FILE] [--part tables|storm]`

*Tables*: a broker with some links takes subscriptions of its clients, from their texts to the messages for neighbours,
and then takes them back in random order. Beside it, in the same run, two plain `FilterSet`s do what a broker needs at
least on one link: one of all filters, and one of those that no other covers. *Clustered* filters are of a stock
exchange: of one symbol each, some with bounds on price and volume, and few without. *Generated* ones are those of
`benchmarks/relations.py`. Times are processor time.

*Storm*: batches of lines are matched one after the other, by `BatchMatcher`, and between them subscriptions come and go
at a given rate and are taken into the index in groups, all in one thread as in a broker. The rate is of all that is
done, changes of the tables included, and in processor time as well; the share that is kept is the rate in the storm by
that before it.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import random
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time

import numpy as np

from comity.expression.bind import bind_text
from comity.expression.scope import Scope
from comity.filter.index.filter_set import FilterSet
from comity.route.broker import RoutingBroker
from comity.route.changes import Change, Hold, Release
from comity.route.filters import FilterPool
from comity.route.matching import BatchMatcher
from comity.route.messages import Topic
from comity.route.policy import Policy, Strategy

from workload import Workload, text_of  # isort: skip

SYMBOLS = 100
MEASURED_MEMORY = 2_000
"""Subscriptions of which the memory is measured at most, since measuring is slow."""
BATCH = 1_024
STORM_S = 2.0
STORMS = 3
"""Runs of each storm, the best of which counts."""


def clustered(count: int, seed: int = 1) -> list[str]:
    """Filters over quotes, most of them about symbols that many ask for."""
    chance = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(SYMBOLS)]
    return [_about(chance.choices(range(SYMBOLS), weights)[0], chance) for _ in range(count)]


def _about(symbol: int, chance: random.Random) -> str:
    parts = ["class = 'STOCK'", f"symbol = 'S{symbol}'"]
    bounds = (f"high > {chance.randrange(200)}", f"low < {chance.randrange(200)}")
    bounds = (*bounds, f"volume > {chance.randrange(100) * 1000}")
    if chance.random() > 0.03:
        parts += [bound for bound in bounds if chance.random() < 0.5]
    return " and ".join(parts)


def generated(count: int) -> list[str]:
    """Filters of two to six constraints over twenty attributes."""
    return [text_of(filter) for filter in Workload().filters(count)]


@dataclass(frozen=True, slots=True)
class TableRow:
    """What was measured for one strategy, some filters and some links; of the peer, only what it has."""

    filters: str
    way: str
    links: int
    size: int
    per_second: float
    """Subscriptions, from text to messages."""
    read_us: float
    told: int
    """Filters that one neighbour knows in the end."""
    bytes_each: int
    back_us: float = 0.0
    back_p99_us: float = 0.0
    back_worst_ms: float = 0.0
    times_peer: float = 1.0


def two_filter_sets(name: str, texts: list[str]) -> TableRow:
    """The floor: what a broker needs at least, by plain calls."""
    known, told = FilterSet(Scope()), FilterSet(Scope())
    start = process_time()
    for number, text in enumerate(texts):
        tree = bind_text(text, Scope())
        known.add(number, tree)
        if not told.covering(tree):
            for hidden in told.covered_by(tree):
                told.remove(hidden)
            told.add(number, tree)
    rate = len(texts) / (process_time() - start)
    return TableRow(name, "two FilterSets", 1, len(texts), rate, 0.0, len(told), 0)


def one_broker(name: str, texts: list[str], links: int, strategy: Strategy, peer: TableRow) -> TableRow:
    """A broker with neighbours that want nothing, and one client."""
    pool, broker = _broker(links, strategy)
    gc.collect()
    start = process_time()
    filters = [pool.read(text) for text in texts]
    read = process_time()
    for number, filter in enumerate(filters):
        broker.subscribe("client", number, filter, 0.0)
    rate = len(texts) / (process_time() - start)
    read_us = (read - start) / len(texts) * 1e6
    told = len(broker.told("link0", Topic.SUBSCRIPTIONS))
    order = random.Random(2).sample(range(len(texts)), len(texts))
    times = sorted(_timed(lambda at=at: broker.unsubscribe("client", at, 0.0)) for at in order)  # type: ignore[misc]
    assert not broker.told("link0", Topic.SUBSCRIPTIONS), "what was taken back is gone"
    back = sum(times) / len(times) * 1e6, times[len(times) * 99 // 100] * 1e6, times[-1] * 1e3
    memory = _bytes_each(texts[:MEASURED_MEMORY], links, strategy)
    return TableRow(name, strategy.value, links, len(texts), rate, read_us, told, memory, *back, rate / peer.per_second)


def _broker(links: int, strategy: Strategy) -> tuple[FilterPool, RoutingBroker]:
    pool = FilterPool()
    broker = RoutingBroker("here", Policy(strategy), pool)
    for number in range(links):
        broker.link_up(f"link{number}", 0.0)
    return pool, broker


def _timed(job: Callable[[], object]) -> float:
    start = process_time()
    job()
    return process_time() - start


def _bytes_each(texts: list[str], links: int, strategy: Strategy) -> int:
    tracemalloc.start()
    pool, broker = _broker(links, strategy)
    for number, text in enumerate(texts):
        broker.subscribe("client", number, pool.read(text), 0.0)
    gc.collect()
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return used // len(texts)


@dataclass(frozen=True, slots=True)
class StormRow:
    """The rate of matching before a storm and in it."""

    size: int
    group_ms: float
    changes_per_second: float
    quiet: float
    storm: float

    @property
    def kept(self) -> float:
        return self.storm / self.quiet


def storm(size: int, changes_per_second: int, group_ms: float) -> StormRow:
    """Batches are matched in turn with changes: each batch takes up what is due by then, in groups."""
    texts = clustered(size + changes_per_second * int(STORM_S + 1))
    pool, broker = _broker(1, Strategy.COVERING)
    standing = [Hold(Topic.SUBSCRIPTIONS, "client", at, pool.read(text)) for at, text in enumerate(texts[:size])]
    broker.change(standing, 0.0)
    matcher = BatchMatcher(broker)
    matcher.follow()
    lines = _quotes(BATCH)
    text, offsets = b"".join(lines), np.cumsum([0, *map(len, lines)])
    for _ in range(3):
        matcher.match_text(None, text, offsets)  # types are learned, kernels are compiled
    quiet = _matched_per_second(lambda: matcher.match_text(None, text, offsets), STORM_S)
    coming = _Coming(broker, matcher, texts, size, changes_per_second, group_ms / 1e3)
    stormy = _matched_per_second(lambda: coming.step(lambda: matcher.match_text(None, text, offsets)), STORM_S)
    return StormRow(size, group_ms, coming.changed / STORM_S, quiet, stormy)


class _Coming:
    """Subscriptions that come at a rate, one for each that goes; who is behind takes more of them at once."""

    def __init__(
        self, broker: RoutingBroker, matcher: BatchMatcher, texts: list[str], size: int, rate: int, group_s: float
    ) -> None:
        self._broker, self._matcher, self._texts = broker, matcher, texts
        self._next, self._oldest, self._rate, self._group_s = size, 0, rate, group_s
        self._began = self._followed = process_time()
        self.changed = 0

    def step(self, match: Callable[[], object]) -> None:
        """Match a batch; before, take up what has come meanwhile."""
        now = process_time()
        if now - self._followed >= self._group_s:
            self._followed = now
            due = int((now - self._began) * self._rate) - self.changed
            self._broker.change(self._changes(min(due, (len(self._texts) - self._next) * 2)), 0.0)
            self._matcher.follow()
        match()

    def _changes(self, count: int) -> list[Change]:
        changes: list[Change] = []
        for _ in range(count // 2):
            filter = self._broker.pool.read(self._texts[self._next])
            changes.append(Hold(Topic.SUBSCRIPTIONS, "client", self._next, filter))
            changes.append(Release(Topic.SUBSCRIPTIONS, "client", self._oldest))
            self._next, self._oldest = self._next + 1, self._oldest + 1
        self.changed += len(changes)
        return changes


def _matched_per_second(job: Callable[[], object], seconds: float) -> float:
    start, batches = process_time(), 0
    while process_time() - start < seconds:
        job()
        batches += 1
    return batches * BATCH / (process_time() - start)


def _quotes(count: int) -> list[bytes]:
    chance = random.Random(3)
    return [
        json.dumps(
            {
                "specversion": "1.0",
                "id": str(number),
                "source": "/exchange",
                "type": "Quote",
                "data": {
                    "class": "STOCK",
                    "symbol": f"S{chance.randrange(SYMBOLS * 20)}",
                    "high": chance.randrange(200),
                    "low": chance.randrange(200),
                    "volume": chance.randrange(100_000),
                },
            }
        ).encode()
        for number in range(count)
    ]


_HEAD = (
    f"{'filters':10} {'way':15} {'links':>5} {'size':>7} {'per s':>8} {'x peer':>6} {'read us':>8} {'told':>6}"
    f" {'bytes':>6} {'back us':>8} {'p99 us':>7} {'worst ms':>8}"
)


def _line(row: TableRow) -> str:
    return (
        f"{row.filters:10} {row.way:15} {row.links:5} {row.size:7} {row.per_second:8,.0f} {row.times_peer:6.1f}"
        f" {row.read_us:8.1f} {row.told:6} {row.bytes_each:6} {row.back_us:8.1f} {row.back_p99_us:7.0f}"
        f" {row.back_worst_ms:8.1f}"
    )


def measure_tables(sizes: list[int], links: list[int]) -> list[TableRow]:
    """All rows, printed as they come."""
    rows: list[TableRow] = []
    print(_HEAD)
    for name, make in (("clustered", clustered), ("generated", generated)):
        for size in sizes if name == "clustered" else [size for size in sizes if size <= 10_000]:
            texts = make(size)
            peer = two_filter_sets(name, texts)
            cases = [(Strategy.COVERING, count) for count in links]
            cases += [(Strategy.SIMPLE, links[0]), (Strategy.IDENTITY, links[0])] if size <= 10_000 else []
            for row in (peer, *(one_broker(name, texts, count, strategy, peer) for strategy, count in cases)):
                rows.append(row)
                print(_line(row), flush=True)
    return rows


def measure_storms() -> list[StormRow]:
    """All rows, printed as they come."""
    rows: list[StormRow] = []
    print(f"{'size':>7} {'group ms':>8} {'changes/s':>9} {'quiet ev/s':>11} {'storm ev/s':>11} {'kept':>5}")
    for changes, group_ms in ((500, 200.0), (1_000, 200.0), (2_000, 200.0)):
        row = max((storm(10_000, changes, group_ms) for _ in range(STORMS)), key=lambda run: run.kept)
        rows.append(row)
        print(
            f"{row.size:7} {row.group_ms:8.0f} {row.changes_per_second:9,.0f} {row.quiet:11,.0f} {row.storm:11,.0f}"
            f" {row.kept:5.2f}",
            flush=True,
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--links", default="1,4")
    parser.add_argument("--part", choices=["tables", "storm"])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "routing_tables.json")
    given = parser.parse_args()
    sizes, links = [int(size) for size in given.sizes.split(",")], [int(count) for count in given.links.split(",")]
    tables = measure_tables(sizes, links) if given.part != "storm" else []
    storms = measure_storms() if given.part != "tables" else []
    found = {
        "python": platform.python_version(),
        "tables": [asdict(row) for row in tables],
        "storms": [asdict(row) | {"kept": row.kept} for row in storms],
    }
    given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
