"""What one event costs a broker, in processor time, beside floors and nats-server in the same run.

`python benchmarks/broker.py [--quick] [--subscriptions 10000,100000] [--hops 1,3,7] [--out FILE]`

A broker in a process of its own takes quotes in from a publisher, tests them against the subscriptions of its clients,
of which none or one wants an event, and passes them on to a neighbour, which wants all of them, or about half. Figures
are processor time of the broker (both ends are in this process, and do not count), the best of several runs. Floors:
`pass bytes`, and `decode and forward`, which also decodes the JSON of each event. nats-server, if it is in the path,
gets the same payload, on a subject of stock and price range, with as many subscriptions to such subjects.
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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import which
from threading import Thread

import msgspec
import numpy as np

from broker_ends import End, World, event_frames, until  # isort: skip
from broker_floors import floor, nats  # isort: skip

RESULTS = Path(__file__).parent / "results" / "broker.json"
_AHEAD = 16_384
"""Events that may be under way."""
_HALF = "volume > 20000000"


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
class Latency:
    """How long events were under way."""

    hops: int
    load: float
    events_a_second: int
    p50_ms: float
    p99_ms: float


def cpu_s(process: subprocess.Popen[str]) -> float:
    """What the main thread of a process, which has the event loop, has used until now; on Linux."""
    return int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]) / 1e9


def cpu_of_threads_s(process: subprocess.Popen[str]) -> float:
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
            until(lambda had=had: sink.events - had >= expected)
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
            clients = [End.client(port, f"c{n}") for n in range(max(1, subscriptions // 10_000))]
            before, share = time.monotonic(), subscriptions // len(clients)
            for client in clients:
                client.subscribe(self.world.filters(subscriptions)[:share])
            took_s = time.monotonic() - before
            print(f"{subscriptions:,} subscriptions taken in {took_s:.1f} s, {memory_mb(process):,.0f} MB", flush=True)
            source = End.client(port)
            for wants, name in (("exists symbol", "all passed on"), (_HALF, "half passed on")):
                sink = End.neighbour(port, wants)
                until(lambda sink=sink: sink.informed > 0)
                time.sleep(1.0)
                self._load_indexes(source, sink)
                for batch in batches if wants == "exists symbol" else batches[-1:]:
                    us = self.best(process, source, sink, batch, None if wants == "exists symbol" else 20_000_000)
                    through = passed_through(port)
                    yield Row(name, subscriptions, batch, 1, us, self.decoding.get(batch, 0.0) / us, through)
                sink.socket.close()
                time.sleep(0.5)

    def _load_indexes(self, source: End, sink: End) -> None:
        """Events until the broker matches by its indexes."""
        for _ in range(3):
            had = sink.events
            for frame in event_frames(self.lines[:4_096], 256):
                source.send_events(frame)
            until(lambda had=had: sink.events - had >= 1_500)
            time.sleep(1.0)

    def chain(self, hops: int, batch: int) -> Iterator[Row]:
        with brokers(hops) as row:
            source, sink = End.client(row[0][1]), End.client(row[-1][1])
            sink.subscribe(["exists symbol"])
            self._until_linked(source, sink)
            self.best(row[0][0], source, sink, batch, None)  # until all match by their indexes
            before = [cpu_s(process) for process, _ in row]
            self.best(row[0][0], source, sink, batch, None)
            used = sum(cpu_s(process) - at for (process, _), at in zip(row, before, strict=True))
            mean = used / hops / len(self.lines) / (self.runs + 1) * 1e6
            yield Row("row of brokers, mean", 1, batch, hops, mean, self.decoding.get(batch, 0.0) / mean)

    def _until_linked(self, source: End, sink: End) -> None:
        while not sink.events:
            source.send_events(event_frames(self.lines[:1], 1)[0])
            time.sleep(0.1)
        time.sleep(1.0)

    def latencies(self, hops: int, seconds: float) -> Iterator[Latency]:
        with brokers(hops) as row:
            source, sink = End.client(row[0][1]), End.client(row[-1][1])
            sink.subscribe(["exists symbol"])
            self._until_linked(source, sink)
            fastest = self._rate(source, sink)
            sink.is_timed = True
            for load in (0.1, 0.5, 0.9):
                sink.latencies_s.clear()
                self._send_at(source, load * fastest, seconds)
                time.sleep(1.0)
                p50, p99 = np.percentile(sink.latencies_s, [50, 99]) * 1_000
                yield Latency(hops, load, round(load * fastest), round(float(p50), 2), round(float(p99), 2))

    def _rate(self, source: End, sink: End) -> float:
        """Events a second that arrive when as many are sent as may be, sixteen in a frame."""
        frames, had, began = event_frames(self.lines, 16), sink.events, time.monotonic()
        for sent, frame in enumerate(frames):
            source.send_events(frame)
            while 16 * sent - (sink.events - had) > _AHEAD:
                time.sleep(0.0005)
        until(lambda: sink.events - had >= len(self.lines))
        return len(self.lines) / (time.monotonic() - began)

    def _send_at(self, source: End, rate: float, seconds: float) -> None:
        began, sent = time.perf_counter(), 0
        while (now := time.perf_counter()) - began < seconds:
            if sent < (now - began) * rate:
                data = {"symbol": "S0001", "sent": now}
                first = msgspec.json.encode({"id": str(sent), "source": "/timed", "type": "Quote", "data": data})
                source.send_events(event_frames([first, *self.lines[sent % 4_096 : sent % 4_096 + 15]], 16)[0])
                sent += 16
            else:
                time.sleep(0.0005)

    def nats(self, subscriptions: int) -> Iterator[Row]:
        program = which("nats-server")
        if program is None:
            print("nats-server is not in the path")
            return
        with nats(program) as server:
            own, sink, source = (_nats_connection(server.port) for _ in range(3))
            ranges = max(1, subscriptions // len(self.world.symbols))
            subjects = [f"quotes.{symbol}.{part}" for symbol in self.world.symbols for part in range(ranges)]
            own.sendall("".join(f"SUB {one} {n}\r\n" for n, one in enumerate(subjects)).encode())
            sink.sendall(b"SUB quotes.> 1\r\n")
            time.sleep(1.0)
            for connection in (own, source):
                Thread(target=_drain, args=(connection,), daemon=True).start()
            payload = b"".join(_nats_message(line, ranges) for line in self.lines)
            found = []
            for _ in range(self.runs):
                before = cpu_of_threads_s(server.process)
                Thread(target=source.sendall, args=(payload,), daemon=True).start()
                _count_nats(sink, len(self.lines))
                found.append((cpu_of_threads_s(server.process) - before) / len(self.lines) * 1e6)
            us = min(found)
        yield Row("nats-server, by subject", subscriptions, 1, 1, us, self.decoding.get(1_024, 0.0) / us)


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


def _nats_connection(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.recv(4_096)
    connection.sendall(b'CONNECT {"verbose":false}\r\n')
    return connection


def _nats_message(line: bytes, ranges: int) -> bytes:
    data = msgspec.json.decode(line)["data"]
    return b"PUB quotes.%s.%d %d\r\n%s\r\n" % (data["symbol"].encode(), int(data["high"]) % ranges, len(line), line)


def _drain(connection: socket.socket) -> None:
    while connection.recv(1 << 20):
        pass


def _count_nats(connection: socket.socket, count: int) -> None:
    seen, rest = 1, b""  # the first one has no line end in front of it
    while seen < count:
        data = rest + connection.recv(1 << 20)
        seen += data.count(b"\r\nMSG ")
        rest = data[-5:]  # less than what is counted, so nothing is counted twice


def rows(bench: Bench, options: argparse.Namespace) -> Iterator[Row]:
    batches = [1, 1_024] if options.quick else [1, 16, 64, 256, 1_024]
    for batch in batches:
        yield from bench.floors(batch)
    for subscriptions in options.subscriptions:
        yield from bench.one_broker(subscriptions, batches)
    for hops in options.hops:
        yield from bench.chain(hops, 1_024)
    yield from bench.nats(10_000)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def keep(out: Path, rows: list[Row], late: list[Latency]) -> None:
    """Write down what is known until now."""
    machine = {"python": platform.python_version(), "cores": os.cpu_count()}
    told = {"rows": [asdict(row) for row in rows], "latencies": [asdict(one) for one in late], **machine}
    out.write_text(json.dumps(told, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--subscriptions", type=numbers, default=[10_000, 100_000])
    parser.add_argument("--hops", type=numbers, default=[1, 3, 7])
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    world = World()
    bench = Bench(world, world.quotes(32_768 if options.quick else 131_072), 1 if options.quick else 3, {})
    found: list[Row] = []
    late: list[Latency] = []
    print(f"{'case':26}{'subscriptions':>14}{'batch':>7}{'hops':>5}{'µs':>8}{'of decoding':>13}{'passed through':>16}")
    for row in rows(bench, options):
        found.append(row)
        keep(options.out, found, late)
        told = f"{row.case:26}{row.subscriptions:>14,}{row.batch:>7,}{row.hops:>5}{row.us:>8.2f}"
        print(f"{told}{row.of_decoding:>13.0%}{row.passed_through:>16.0%}", flush=True)
    for hops in options.hops:
        for one in bench.latencies(hops, 1.0 if options.quick else 3.0):
            late.append(one)
            keep(options.out, found, late)
            print(f"{one.hops} hops at {one.load:.0%}, {one.events_a_second:,}/s: {one.p50_ms} ms, {one.p99_ms} ms")


if __name__ == "__main__":
    main()
