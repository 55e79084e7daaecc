"""What each routing strategy costs in a network of brokers, and how that grows: stock trading, 4 to 1,000 brokers.

`python benchmarks/route.py [--brokers 4,16,64,256,1000] [--clients 10] [--events 100000] [--quotes FILE] [--most-s 100]
[--only covering,covering+] [--out FILE] [--plot FILE]` (a plus is for advertisements)

Ten clients a broker (`--clients`) subscribe symbols with ranges of prices and least volumes (Zipf over symbols, half by
the taste of their part of the network), a twentieth of them change their minds, and quotes come from four brokers.
Quotes are those of `--quotes` (a CSV file with symbol, close and volume), otherwise random walks. Every strategy sees
the same. All brokers share one pool of filters, so a pair of filters is compared once, and events go through the
network at rest all at once; `tests/simulate` compares that with the brokers' own steps.

*entries* are filters in the tables of all brokers about neighbours, *control* the messages between brokers with
*changed* entries, *a change* the messages when one client then changes its mind, *link* the events on a link,
*unwanted* the share of them that the receiver had no use for. *µs/event* is the processor time that the broker with
the largest table takes to tell where an event goes, in batches of 1,024 lines, decoding included; the row of flooding,
which asks local clients only, is its floor. *CPU s* is that of the simulation, on one core. A strategy is left out
where it would take more than `--most-s`, by its growth from the size before, and the table says so.

At the end it is checked that `simple`, `identity`, `covering` and `merging` sent exactly the same events over the same
links, and that the tables of each are no larger than those of the one before.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import resource
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from time import process_time

import pyarrow as pa

from comity.filter.statistics import Statistics
from comity.pattern.tracing.svg import Canvas
from comity.route.broker import RoutingBroker
from comity.route.filters import FilterPool
from comity.route.matching import BatchMatcher
from comity.route.messages import Topic
from comity.route.policy import Policy, Strategy
from comity.simulate.costs import Costs, aligned, costs_of, entries_of
from comity.simulate.market import Market, Taste
from comity.simulate.network import Network
from comity.simulate.quiet_traffic import QuietTraffic, as_batch
from comity.simulate.space import EventSpace, Record
from comity.simulate.topology import Topology
from comity.simulate.trading import Trading

PUBLISHERS = 4
SYMBOLS = 100
CHURN = 0.05
BATCH = 1_024
JUDGED = 100
"""Events by which losses are estimated."""
MOST_ENTRIES = 3_000_000
"""Beyond them the tables of all brokers do not fit into the memory of a small machine: some 0.7 KB each."""
PERFECT = ("simple", "identity", "covering", "merging")


@dataclass(frozen=True, slots=True)
class Row:
    """One policy at one size."""

    costs: Costs
    us_per_event: float
    cpu_s: float
    settle_s: float
    """Of these, until clients had come and changed their minds and the network was at rest."""
    messages_per_change: float
    """Control messages that follow when one client changes its mind, of the clients that do."""
    filters: int
    """Different filters that were compared."""
    peak_mb: int
    """The most memory that the process had until then."""
    ways: Counter[tuple[str, str]]


def policies() -> Iterator[tuple[Strategy, bool]]:
    """All of them; advertisements change nothing for who floods."""
    for strategy in Strategy:
        yield from ((strategy, offers) for offers in ((False,) if strategy is Strategy.FLOODING else (False, True)))


def name_of(strategy: Strategy, advertisements: bool) -> str:
    """As `--only` has it."""
    return strategy.value + ("+" if advertisements else "")


def measured(
    brokers: int, clients: int, strategy: Strategy, advertisements: bool, market: Market, events: pa.RecordBatch
) -> Row:
    """One run from the start."""
    start = process_time()
    statistics = Statistics(tuple(market.quotes[:JUDGED]))
    policy = Policy(strategy, advertisements, 0.1 if strategy is Strategy.IMPERFECT else 0.0, statistics)
    pool = FilterPool()
    space = EventSpace(market.quotes, judged=JUDGED)
    network = Network(lambda name: RoutingBroker(name, policy, pool), Random(1), pool, space)
    trading = _settled(network, brokers, clients, market)
    before, changing = network.counters.control.total(), round(clients * CHURN)
    trading.churn(changing)
    network.settle()
    messages = (network.counters.control.total() - before) / max(changing, 1)
    settled = process_time() - start
    QuietTraffic(network).carry(events, trading.origins(range(events.num_rows)))
    total = process_time() - start
    assert not list(network.findings), network.findings.kept[0]
    return Row(
        costs_of(network, policy, timed=False),
        _us_per_event(network, market),
        total,
        settled,
        messages,
        len({wish.text for wish in network.truth.every(Topic.SUBSCRIPTIONS)}),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        network.counters.events,
    )


def _settled(network: Network, brokers: int, clients: int, market: Market) -> Trading:
    network.build(Topology.tree(brokers, Random(2)))
    network.settle()
    trading = Trading(network, market, PUBLISHERS, Taste(), Random(3))
    trading.advertise()
    network.settle()
    trading.subscribe(clients)
    network.settle()
    return trading


def _us_per_event(network: Network, market: Market) -> float:
    """At the broker with the largest table; the best of three times, after one that does not count."""
    broker = max(network.live.values(), key=lambda one: (len(entries_of(one, Topic.SUBSCRIPTIONS)), one.name))
    matcher = BatchMatcher(broker)
    matcher.follow()
    lines = [_line(number, market.quotes[number % len(market.quotes)]) for number in range(BATCH)]
    origin = broker.neighbours[0]
    times = []
    for _ in range(4):
        start = process_time()
        matcher.match(origin, lines)
        times.append(process_time() - start)
    return min(times[1:]) / BATCH * 1e6


def _line(number: int, quote: Record) -> bytes:
    data = {path[0]: value for path, value in quote.items()}
    return json.dumps({"id": str(number), "source": "/market", "type": "Quote", "data": data}).encode()


class Plan:
    """Which policies are worth their time at the next size, by the sizes before."""

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self._latest: dict[tuple[Strategy, bool], Row] = {}

    def reason_against(self, policy: tuple[Strategy, bool], brokers: int) -> str | None:
        """Why it is left out; None if it is not."""
        before = self._latest.get(policy)
        if before is None:
            return None
        growth = (brokers / before.costs.brokers) ** 2
        if before.cpu_s * growth > self._most_s:
            return f"left out: some {before.cpu_s * growth:,.0f} s"
        if before.costs.entries * growth > MOST_ENTRIES:
            return f"left out: some {before.costs.entries * growth:,.0f} entries"
        return None

    def took(self, policy: tuple[Strategy, bool], row: Row) -> None:
        self._latest[policy] = row


HEADINGS = (
    "strategy",
    "ads",
    "entries",
    "largest",
    "control",
    "changed",
    "a change",
    "link",
    "busiest",
    "unwanted",
    "µs/event",
    "CPU s",
)


def cells(row: Row) -> tuple[str, ...]:
    """The row of the table."""
    one = row.costs
    return (
        one.strategy,
        "yes" if one.advertisements else "no",
        f"{one.entries:,}",
        f"{one.largest_table:,}",
        f"{one.control_messages:,}",
        f"{one.changed_entries:,}",
        f"{row.messages_per_change:,.1f}",
        f"{one.events_per_link:,.0f}",
        f"{one.busiest_link:,}",
        f"{one.unwanted_share:.1%}",
        f"{row.us_per_event:.1f}",
        f"{row.cpu_s:.1f}",
    )


def check(rows: list[Row]) -> None:
    """That perfect strategies send the same events over the same links, and that tables get smaller (I6)."""
    perfect = [row for row in rows if row.costs.strategy in PERFECT]
    assert not perfect or all(row.ways == perfect[0].ways and not row.costs.unwanted for row in perfect), (
        "perfect strategies differ"
    )
    for advertisements in (False, True):
        sizes = [row.costs.entries for row in perfect if row.costs.advertisements == advertisements]
        assert sizes == sorted(sizes, reverse=True), sizes


COLOURS = dict(zip(Strategy, ("#94a3b8", "#b91c1c", "#d97706", "#2563eb", "#15803d", "#7c3aed")))


def plot(rows: list[Row]) -> str:
    """Entries and control messages over brokers, both axes logarithmic; dashed with advertisements."""
    canvas = Canvas()
    canvas.element("rect", width=900, height=430, fill="#ffffff")
    _axes(canvas, rows, 60, "entries in all tables", "entries")
    _axes(canvas, rows, 510, "control messages", "control_messages")
    x = 60.0
    for strategy in Strategy:
        if strategy is not Strategy.FLOODING:
            canvas.element("line", x1=x, y1=412, x2=x + 22, y2=412, stroke=COLOURS[strategy], stroke_width=2.5)
            canvas.text(strategy.value, x + 28, 416)
            x += 110
    canvas.text("dashed: with advertisements", x, 416)
    style = "text{font-family:system-ui,sans-serif;font-size:12px;fill:#1e293b}"
    return canvas.document(900, 430, "What strategies cost by the number of brokers", style)


def _axes(canvas: Canvas, rows: list[Row], left: float, title: str, what: str) -> None:
    width, height, top = 350, 320, 40
    sizes = sorted({row.costs.brokers for row in rows})
    most = math.ceil(math.log10(max(getattr(row.costs, what) for row in rows) or 10))

    def at(brokers: int, value: float) -> tuple[float, float]:
        share = math.log(brokers / sizes[0]) / (math.log(sizes[-1] / sizes[0]) or 1)
        return left + width * share, top + height * (1 - math.log10(max(value, 1)) / most)

    canvas.text(title, left, top - 16, font_weight=600)
    for power in range(most + 1):
        _, y = at(sizes[0], 10**power)
        canvas.element("line", x1=left, y1=y, x2=left + width, y2=y, stroke="#e2e8f0")
        canvas.text(f"{10**power:,}", left - 6, y + 4, text_anchor="end", style="font-size:10px")
    for size in sizes:
        canvas.text(f"{size:,}", at(size, 1)[0], top + height + 18, text_anchor="middle", style="font-size:10px")
    canvas.text("brokers", left + width / 2, top + height + 34, text_anchor="middle")
    for strategy, offers in policies():
        own = [row.costs for row in rows if (row.costs.strategy, row.costs.advertisements) == (strategy.value, offers)]
        if own and strategy is not Strategy.FLOODING:
            _curve(canvas, [at(one.brokers, getattr(one, what)) for one in own], COLOURS[strategy], offers)


def _curve(canvas: Canvas, points: list[tuple[float, float]], colour: str, dashed: bool) -> None:
    written = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = "5 4" if dashed else None
    canvas.element("polyline", points=written, fill="none", stroke=colour, stroke_width=2, stroke_dasharray=dashes)
    for x, y in points:
        canvas.element("circle", cx=x, cy=y, r=3, fill=colour)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brokers", default="4,16,64,256,1000")
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--quotes", type=Path)
    parser.add_argument("--most-s", type=float, default=100)
    parser.add_argument("--only", default=",".join(name_of(*one) for one in policies()))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    market = (
        Market.read(given.quotes, given.events) if given.quotes else Market.generated(SYMBOLS, given.events, Random(5))
    )
    batch, plan, every = as_batch(market.quotes), Plan(given.most_s), []
    print(f"{platform.machine()}, Python {platform.python_version()}, {given.events:,} quotes", end=" ")
    print(f"of {given.quotes.name if given.quotes else f'{SYMBOLS} generated symbols'}")
    left_out: list[dict[str, object]] = []
    for brokers in map(int, given.brokers.split(",")):
        rows: list[Row] = []
        print(f"\n{brokers:,} brokers, {given.clients * brokers:,} subscriptions", flush=True)
        for policy in [one for one in policies() if name_of(*one) in given.only.split(",")]:
            reason = plan.reason_against(policy, brokers)
            if reason is not None:
                left_out.append({"policy": name_of(*policy), "brokers": brokers, "reason": reason})
                print(f"{name_of(*policy)} {reason}", flush=True)
                continue
            rows.append(measured(brokers, given.clients * brokers, *policy, market, batch))
            plan.took(policy, rows[-1])
        print("\n".join(aligned(map(cells, rows), HEADINGS)), flush=True)
        check(rows)
        every += rows
    if given.plot:
        given.plot.write_text(plot(every), encoding="utf-8")
    if given.out:
        results = [{**asdict(row), "ways": None} for row in every]
        given.out.write_text(json.dumps({"rows": results, "left_out": left_out}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
