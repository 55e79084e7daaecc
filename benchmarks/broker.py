"""What one event costs a broker, in processor time, beside floors and other brokers in the same run.

`python benchmarks/broker.py [--quick] [--subscriptions 10000,100000] [--batches 1,1024] [--hops 1,3,7] [--out FILE]`

A broker in a process of its own takes quotes in from a publisher, tests them against the subscriptions of its clients,
of which none or one wants an event, and passes them on to a neighbour, which wants all of them, or about half. Figures
are processor time of the broker (both ends are in this process, and do not count), the best of several runs. Floors:
`pass bytes`, and `decode and forward`, which also decodes the JSON of each event. nats-server and mosquitto, if they
are there, get the same payload, under a name of stock and price range, with as many subscriptions to such names.

Every 10,000 subscriptions it is told what taking them in cost. Latencies are of every sixteenth event, at shares of the
rate at which events arrive when as many are sent as may be, in frames of sixteen; of other brokers they are written to
the socket together. Where the machine has other work to do, latencies say little but the order of size.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from broker_ends import End, World, event_frames, until  # isort: skip
from broker_floors import floor  # isort: skip
from broker_others import Mosquitto, NatsServer, OtherBroker, OtherEnds, other_broker  # isort: skip

RESULTS = Path(__file__).parent / "results" / "broker.json"
_AHEAD = 16_384
"""Events that may be under way."""
_HALF = "volume > 20000000"
LOADS = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Row:
    """One case."""

    case: str
    subscriptions: int
    batch: int
    hops: int
    us: float
    """Processor time for an event, of one broker."""
    of_decoding: float = 0.0
    """The time of `decode and forward` with such batches, as a share of this."""
    passed_through: float = 0.0
    """The share of the events out that went on in the batches in which they came."""


@dataclass(frozen=True)
class Intake:
    """What it took to take in a part of the subscriptions."""

    subscriptions: int
    """There are then."""
    us: float
    """Processor time of the event loop for each of the part, from request to answer."""
    memory_mb: float


@dataclass(frozen=True)
class Latency:
    """How long events were under way."""

    case: str
    hops: int
    load: float
    events_a_second: int
    p50_ms: float
    p99_ms: float


def cpu_s(process: subprocess.Popen[Any]) -> float:
    """What the main thread of a process, which has the event loop, has used until now; on Linux."""
    return int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]) / 1e9


def cpu_of_threads_s(process: subprocess.Popen[Any]) -> float:
    """The same for all threads of a process that ends none."""
    tasks = Path(f"/proc/{process.pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


@contextmanager
def brokers(count: int) -> Iterator[list[tuple[subprocess.Popen[str], int]]]:
    """A row of brokers, each with its port."""
    found: list[tuple[subprocess.Popen[str], int]] = []
    try:
        for number in range(count):
            peer = ["--peer", f"127.0.0.1:{found[-1][1]}"] if found else []
            command = [sys.executable, "-m", "comity", "serve", "--broker", f"b{number}", "--listen", "127.0.0.1:0"]
            process = subprocess.Popen([*command, *peer, "--format", "json"], stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            address = json.loads(process.stdout.readline())["address"]
            found.append((process, int(address.rpartition(":")[2])))
        yield found
    finally:
        for process, _ in found:
            process.kill()
            process.wait()


@dataclass
class Bench:
    """The events, and how often a case is run."""

    world: World
    lines: list[bytes]
    runs: int
    decoding: dict[int, float]
    intakes: list[Intake] = field(default_factory=list)

    def best(self, process: subprocess.Popen[str], source: End, sink: End, batch: int, wanted: int | None) -> float:
        """Microseconds of an event: the best of several runs. Each run ends when all that is wanted has arrived."""
        lines = self.lines if batch > 1 else self.lines[: len(self.lines) // 8]
        frames = event_frames(lines, batch)
        expected = (
            len(lines) if wanted is None else sum(b'"volume":' in line and _volume(line) > wanted for line in lines)
        )
        found = []
        for _ in range(self.runs + 1):
            before, had, sent = cpu_s(process), sink.events, 0
            for frame in frames:
                source.send_events(frame)
                sent += batch
                # Else a sink that has to share this process with its source takes in too slowly, and misses some.
                while sent * expected / len(lines) - (sink.events - had) > _AHEAD:
                    time.sleep(0.0005)
            until(lambda had=had: sink.events - had >= expected, lambda: sink.events)
            found.append((cpu_s(process) - before) / len(lines) * 1e6)
        return min(found[1:])

    def floors(self, batch: int) -> Iterator[Row]:
        for kind, name in (("bytes", "pass bytes"), ("decode", "decode and forward")):
            with floor(kind) as forwarder:
                sink = End(forwarder.port, None)
                time.sleep(0.2)
                source = End(forwarder.port, None)
                us = self.best(forwarder.process, source, sink, batch, None)
            if kind == "decode":
                self.decoding[batch] = us
            yield Row(name, 0, batch, 1, us, self.decoding.get(batch, 0.0) / us)

    def one_broker(self, subscriptions: int, batches: list[int]) -> Iterator[Row]:
        with brokers(1) as [(process, port)]:
            filters = self.world.filters(subscriptions)
            for at in range(0, subscriptions, 10_000):
                self._take_in(process, End.client(port, f"c{at}"), filters[at : at + 10_000], at)
            source = End.client(port)
            for wants, name in (("exists symbol", "all passed on"), (_HALF, "half passed on")):
                sink = End.neighbour(port, wants)
                until(lambda sink=sink: sink.informed > 0)
                self._load_indexes(process, source, sink)
                for batch in batches if wants == "exists symbol" else batches[-1:]:
                    us = self.best(process, source, sink, batch, None if wants == "exists symbol" else 20_000_000)
                    through = passed_through(port)
                    yield Row(name, subscriptions, batch, 1, us, self.decoding.get(batch, 0.0) / us, through)
                sink.socket.close()
                time.sleep(0.5)

    def _take_in(self, process: subprocess.Popen[str], client: End, filters: list[str], before: int) -> None:
        began = cpu_s(process)
        client.subscribe(filters)
        us = (cpu_s(process) - began) / len(filters) * 1e6
        self.intakes.append(Intake(before + len(filters), us, memory_mb(process)))
        print(f"{before + len(filters):,} subscriptions: {us:.0f} µs each, {memory_mb(process):,.0f} MB", flush=True)

    def _load_indexes(self, process: subprocess.Popen[str], source: End, sink: End) -> None:
        """Events until the broker matches by its indexes, and has put together what came in groups.

        With many filters it loads them by itself; until then every event is tested against each of the filters.
        """
        _until_alone(process)
        for _ in range(2):
            had = sink.events
            for frame in event_frames(self.lines[:32_768], 256):
                source.send_events(frame)
            until(lambda had=had: sink.events - had >= 12_000, lambda: sink.events)
            _until_alone(process)

    def chain(self, hops: int, batch: int, seconds: float) -> Iterator[Row | Latency]:
        with brokers(hops) as row:
            source, sink = End.client(row[0][1]), End.client(row[-1][1])
            sink.subscribe(["exists symbol"])
            self._until_linked(source, sink)
            for process, _ in row:
                self._load_indexes(process, source, sink)
            before = [cpu_s(process) for process, _ in row]
            self.best(row[0][0], source, sink, batch, None)
            used = sum(cpu_s(process) - at for (process, _), at in zip(row, before, strict=True))
            mean = used / hops / len(self.lines) / (self.runs + 1) * 1e6
            yield Row("row of brokers, mean", 1, batch, hops, mean, self.decoding.get(batch, 0.0) / mean)
            yield from self._latencies(hops, source, sink, seconds)

    def _until_linked(self, source: End, sink: End) -> None:
        while not sink.events:
            source.send_events(event_frames(self.lines[:1], 1)[0])
            time.sleep(0.1)
        time.sleep(1.0)

    def _latencies(self, hops: int, source: End, sink: End, seconds: float) -> Iterator[Latency]:
        fastest = self._rate(source, sink)
        sink.is_timed = True
        for load in LOADS:
            sink.latencies_s.clear()
            paced(load * fastest, seconds, lambda sent: source.send_events(event_frames(self._timed(sent), 16)[0]))
            time.sleep(1.0)
            yield latency("row of brokers", hops, load, fastest, sink.latencies_s)

    def _timed(self, sent: int) -> list[bytes]:
        """Sixteen events, the first of which says when it was sent."""
        data = {"symbol": "S0001", "sent": time.perf_counter()}
        head = {"specversion": "1.0", "id": str(sent), "source": "/timed", "type": "Quote"}
        return [msgspec.json.encode({**head, "data": data}), *self.lines[sent % 4_096 : sent % 4_096 + 15]]

    def _rate(self, source: End, sink: End) -> float:
        """Events a second that arrive when as many are sent as may be, sixteen in a frame."""
        frames, had, began = event_frames(self.lines, 16), sink.events, time.monotonic()
        for sent, frame in enumerate(frames):
            source.send_events(frame)
            while 16 * sent - (sink.events - had) > _AHEAD:
                time.sleep(0.0005)
        until(lambda: sink.events - had >= len(self.lines))
        return len(self.lines) / (time.monotonic() - began)

    def others(self, kind: OtherBroker, subscriptions: int, seconds: float) -> Iterator[Row | Latency]:
        with other_broker(kind, self.world.symbols, subscriptions) as ends:
            if ends is None:
                print(f"{kind.program} is not there", flush=True)
                return
            ends.connect("sink", ends.count).sendall(kind.subscriptions([kind.everything]))
            source = ends.connect("source", lambda data: None)
            time.sleep(1.0)
            found = []
            for _ in range(self.runs + 1):
                before, began = cpu_of_threads_s(ends.process), time.monotonic()
                self._publish(ends, source)
                took_s = time.monotonic() - began
                found.append((cpu_of_threads_s(ends.process) - before) / len(self.lines) * 1e6)
            us = min(found)
            yield Row(f"{kind.program}, by name", subscriptions, 1, 1, us, self.decoding.get(1, 0.0) / us)
            fastest = len(self.lines) / took_s
            for load in LOADS:
                ends.latencies_s.clear()
                paced(load * fastest, seconds, lambda sent: source.sendall(ends.publications(self._timed(sent))))
                time.sleep(1.0)
                yield latency(kind.program, 1, load, fastest, ends.latencies_s)

    def _is_near(self, ends: OtherEnds, sent: int) -> bool:
        return sent - ends.seen < _AHEAD

    def _publish(self, ends: OtherEnds, source: socket.socket) -> None:
        had = ends.seen
        for at in range(0, len(self.lines), 256):
            source.sendall(ends.publications(self.lines[at : at + 256]))
            until(partial(self._is_near, ends, had + at), lambda: ends.seen)
        until(lambda: ends.seen - had >= len(self.lines), lambda: ends.seen)


def paced(rate: float, seconds: float, send: Callable[[int], None]) -> None:
    """Sends sixteen events each time that they are due."""
    began, sent = time.perf_counter(), 0
    while (now := time.perf_counter()) - began < seconds:
        if sent < (now - began) * rate:
            send(sent)
            sent += 16
        else:
            time.sleep(0.0005)


def latency(case: str, hops: int, load: float, fastest: float, found_s: list[float]) -> Latency:
    """What was measured at a share of the rate."""
    p50, p99 = np.percentile(found_s, [50, 99]) * 1_000
    return Latency(case, hops, load, round(load * fastest), round(float(p50), 2), round(float(p99), 2))


def _until_alone(process: subprocess.Popen[str]) -> None:
    """Until no thread of the broker but that of its loop has done anything for a while."""
    quiet, last = 0, -1.0
    while quiet < 4:
        time.sleep(0.5)
        now = cpu_of_threads_s(process) - cpu_s(process)
        quiet, last = (quiet + 1 if abs(now - last) < 0.002 else 0), now


def _volume(line: bytes) -> int:
    return int(msgspec.json.decode(line)["data"]["volume"])


def passed_through(port: int) -> float:
    """The share of the events to the neighbour that went on as they came."""
    from comity.wire import Hello, NodeStatus, PeerRole, StatusRequest, decode_message, encode_message
    from comity.wire.frames import FrameReader

    with socket.create_connection(("127.0.0.1", port)) as asking:
        asking.sendall(encode_message(Hello(role=PeerRole.CLIENT, window=1)) + encode_message(StatusRequest(1)))
        reader = FrameReader()
        reader.trust()
        while True:
            for frame in reader.read(asking.recv(1 << 16)):
                status = decode_message(frame)
                if isinstance(status, NodeStatus):
                    (link,) = (one for one in status.links if one.is_up)
                    return link.passed_through / max(1, link.events_out)


def memory_mb(process: subprocess.Popen[str]) -> float:
    """What a process has in memory, on Linux."""
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def measured(bench: Bench, options: argparse.Namespace) -> Iterator[Row | Latency]:
    batches = options.batches or ([1, 1_024] if options.quick else [1, 16, 64, 256, 1_024])
    seconds = 2.0 if options.quick else 5.0
    for batch in batches:
        yield from bench.floors(batch)
    for kind in (NatsServer(), Mosquitto()) if options.others else ():
        yield from bench.others(kind, 10_000, seconds)
    for subscriptions in options.subscriptions:
        yield from bench.one_broker(subscriptions, batches)
    for hops in options.hops:
        yield from bench.chain(hops, 1_024, seconds)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part]


def keep(out: Path, bench: Bench, found: list[Row | Latency]) -> None:
    """Write down what is known until now."""
    told = {
        "rows": [asdict(one) for one in found if isinstance(one, Row)],
        "intakes": [asdict(one) for one in bench.intakes],
        "latencies": [asdict(one) for one in found if isinstance(one, Latency)],
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }
    out.write_text(json.dumps(told, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--subscriptions", type=numbers, default=[10_000, 100_000])
    parser.add_argument("--batches", type=numbers, default=[])
    parser.add_argument("--hops", type=numbers, default=[1, 3, 7])
    parser.add_argument("--others", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    world = World()
    bench = Bench(world, world.quotes(32_768 if options.quick else 131_072), 1 if options.quick else 3, {})
    found: list[Row | Latency] = []
    print(f"{'case':26}{'subscriptions':>14}{'batch':>7}{'hops':>5}{'µs':>8}{'of decoding':>13}{'passed through':>16}")
    for one in measured(bench, options):
        found.append(one)
        keep(options.out, bench, found)
        if isinstance(one, Latency):
            where = f"{one.case}, {one.hops} hops at {one.load:.0%}"
            print(f"{where}: {one.events_a_second:,}/s, p50 {one.p50_ms} ms, p99 {one.p99_ms} ms", flush=True)
            continue
        told = f"{one.case:26}{one.subscriptions:>14,}{one.batch:>7,}{one.hops:>5}{one.us:>8.2f}"
        print(f"{told}{one.of_decoding:>13.0%}{one.passed_through:>16.0%}", flush=True)


if __name__ == "__main__":
    main()
