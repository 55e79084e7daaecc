"""Events for a store."""

from __future__ import annotations

from comity.server.store import NewEvent


def event(number: int, size: int = 100) -> NewEvent:
    """One whose line tells its number."""
    head = b'{"id":"%d","source":"/quotes","type":"stocks.Quote","data":{"pad":"' % number
    return NewEvent("/quotes", str(number), head + b"x" * (size - len(head) - 3) + b'"}}')


def number_of(line: bytes) -> int:
    """The number of such an event."""
    return int(line.split(b'"', 4)[3])
