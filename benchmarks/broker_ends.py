"""Both ends of a connection to a broker: who sends as fast as it may, and who takes in what comes, and counts."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Lock, Thread

import msgspec
import numpy as np

from comity.wire import (
    Credit,
    Deliver,
    EventBatch,
    Events,
    Frame,
    FrameKind,
    FrameReader,
    Granted,
    Hello,
    Message,
    PeerRole,
    Ping,
    Pong,
    Reach,
    RefuseRequest,
    Subscribe,
    Welcome,
    decode_message,
    encode_message,
)

WAIT_S = 120
_BIG = 1 << 60


class End:
    """A connection that was welcomed; a thread takes in what comes."""

    def __init__(self, port: int, hello: Hello | None) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sending = Lock()
        self.credit = 0
        self.events = self.granted = self.refused = self.informed = 0
        self.latencies_s: list[float] = []
        self.is_timed = False
        self._reader = FrameReader()
        self._reader.trust()
        if hello is None:
            self.credit = _BIG
        else:
            self.say(hello)
        Thread(target=self._take, daemon=True).start()
        if hello is not None:
            until(lambda: self.credit > 0)

    @classmethod
    def client(cls, port: int, name: str = "") -> End:
        return cls(port, Hello(role=PeerRole.CLIENT, name=name, window=_BIG))

    @classmethod
    def neighbour(cls, port: int, wants: str) -> End:
        """One that plays a broker behind which everybody wants what passes a filter."""
        from comity.wire import Inform, ToldFilter, ToldTopic

        hello = Hello(role=PeerRole.BROKER, name="z", instance="z", strategy="covering", window=_BIG)
        end = cls(port, hello)
        end.say(Reach(("z",)))
        end.say(Inform(ToldTopic.SUBSCRIPTIONS, (ToldFilter(1, wants),), whole=True))
        return end

    def say(self, *messages: Message) -> None:
        with self._sending:
            self.socket.sendall(b"".join(map(encode_message, messages)))

    def send_events(self, frame: bytes) -> None:
        """A frame of events, as soon as there is credit."""
        while self.credit <= 0:
            time.sleep(0.0002)
        self.credit -= len(frame)
        with self._sending:
            self.socket.sendall(frame)

    def subscribe(self, filters: Iterable[str]) -> None:
        """All of them, as fast as they are taken."""
        asked = [Subscribe(request=n, number=n, filter=text) for n, text in enumerate(filters)]
        before = self.granted
        for at in range(0, len(asked), 500):
            self.say(*asked[at : at + 500])
        until(lambda: self.granted + self.refused >= before + len(asked), lambda: self.granted)
        assert not self.refused

    def _take(self) -> None:
        buffer = bytearray(1 << 20)
        view = memoryview(buffer)
        with suppress(OSError):  # it was closed
            while size := self.socket.recv_into(buffer):
                for frame in self._reader.read(bytes(view[:size])):
                    self._hear(frame)

    def _hear(self, frame: Frame) -> None:
        if frame.kind in (FrameKind.EVENTS, FrameKind.DELIVER):
            begin = 16  # behind header and position stands the count
            self.events += int.from_bytes(frame.whole[begin : begin + 4], "little")
            if self.is_timed:
                self._time(frame)
            return
        message = decode_message(frame)
        if isinstance(message, Welcome):
            self.credit = message.window
        elif isinstance(message, Credit):
            self.credit += message.bytes
        elif isinstance(message, Ping):
            self.say(Pong(message.number))
        self.granted += isinstance(message, Granted)
        self.refused += isinstance(message, RefuseRequest)
        self.informed += frame.kind is FrameKind.INFORM

    def _time(self, frame: Frame) -> None:
        now = time.perf_counter()
        message = decode_message(frame)
        assert isinstance(message, Events | Deliver)
        for line in message.batch.lines()[:1]:
            self.latencies_s.append(now - msgspec.json.decode(line)["data"]["sent"])


def until(condition: Callable[[], bool], progress: Callable[[], object] = lambda: None) -> None:
    """Wait for something, for two minutes at the most in which nothing goes on."""
    last, end = progress(), time.monotonic() + WAIT_S
    while not condition():
        now = progress()
        if now != last:
            last, end = now, time.monotonic() + WAIT_S
        if time.monotonic() > end:
            raise SystemExit("it took too long")
        time.sleep(0.002)


def event_frames(lines: list[bytes], batch: int) -> list[bytes]:
    """Frames of so many events each."""
    return [encode_message(Events(0, EventBatch.of(lines[at : at + batch]))) for at in range(0, len(lines), batch)]


class World:
    """Quotes of a thousand stocks, and subscriptions to ranges of their prices, always the same ones."""

    def __init__(self) -> None:
        self._chance = np.random.default_rng(3)
        self.symbols = [f"S{n:04d}" for n in range(1_000)]

    def quotes(self, count: int) -> list[bytes]:
        """Events of some 200 bytes."""
        chance = self._chance
        which, price = chance.integers(0, 1_000, count), chance.lognormal(3, 0.8, count).round(2)
        volume = chance.integers(1, 40, count) * 1_000_000
        found = []
        for n, (symbol, high, much) in enumerate(zip(which.tolist(), price.tolist(), volume.tolist())):
            data = {"symbol": self.symbols[symbol], "open": high, "high": high, "low": high, "volume": much}
            record = {"specversion": "1.0", "id": f"{n:08d}", "source": "/quotes", "type": "Quote"}
            found.append(msgspec.json.encode({**record, "time": "2026-11-16T17:00:00Z", "data": data}))
        return found

    def filters(self, count: int) -> list[str]:
        """Of which none or one matches an event, however many there are."""
        chance = self._chance
        low = chance.lognormal(3, 0.8, count).round(2)
        width = (chance.exponential(2.0, count) * 10_000 / count).round(4)
        which, volume = chance.integers(0, 1_000, count), chance.integers(0, 30, count) * 1_000_000
        columns = (which.tolist(), low.tolist(), width.tolist(), volume.tolist())
        return [
            f"symbol = '{self.symbols[symbol]}' and high between {begin} and {begin + more:.4f} and volume > {much}"
            for symbol, begin, more, much in zip(*columns)
        ]
