"""Reading events in the order of their numbers."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from zlib import crc32

from comity.server.store.failure import EVENT_STATE
from comity.server.store.port import Choose, DurableCursor, EventPage, StoredEvent, StoreFigures

_PAGE_EVENTS = 1_000
_PAGE_BYTES = 1_048_576


def read_page(database: sqlite3.Connection, path: Path, after: int, choose: Choose | None) -> EventPage:
    """The events behind a number, so many as a page holds."""
    (floor,) = database.execute("select floor from state").fetchone()
    events = read_lines(database, max(after, floor), None, path)
    position = events[-1].sequence if events else max(after, floor)
    return EventPage(events if choose is None else choose(events), position, floor)


def read_lines(
    database: sqlite3.Connection, after: int, until: int | None, path: Path | None = None
) -> list[StoredEvent]:
    """The events behind a number up to another one, or up to a page of them; with a path they are checked."""
    select = "select sequence, line, at_us, crc from event where sequence > ? and sequence <= ? order by sequence"
    rows = database.execute(select, (after, after + _PAGE_EVENTS if until is None else until))
    events: list[StoredEvent] = []
    size = 0
    for sequence, line, at_us, crc in rows:
        if path is not None and crc32(line) != crc:
            raise EVENT_STATE.broken(path, f"the checksum of event {sequence} is wrong")
        events.append(StoredEvent(sequence, line, at_us))
        size += len(line)
        if until is None and size >= _PAGE_BYTES:
            break
    rows.close()
    return events


def read_cursors(database: sqlite3.Connection) -> dict[str, DurableCursor]:
    """Those of all clients."""
    return {row[0]: DurableCursor(*row) for row in database.execute("select client, position, lost from cursor")}


def read_notes(database: sqlite3.Connection) -> dict[str, str]:
    """All of them, by name."""
    return dict(database.execute("select name, value from note"))


def read_figures(database: sqlite3.Connection) -> StoreFigures:
    """How much is held."""
    floor, last, through = database.execute("select floor, last, through from state").fetchone()
    row = database.execute("select through - length(line) from event where sequence = ?", (floor + 1,)).fetchone()
    return StoreFigures(last - floor, 0 if row is None else through - row[0], floor + 1, last)
