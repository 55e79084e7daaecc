"""What was published: events of a type and a time that fulfil a filter, page by page."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from comity.errors import Misuse, Place
from comity.event.event import Event
from comity.event.taxonomy import Taxonomy
from comity.expression.bind import bind_text
from comity.expression.compile import Test, compile_filter
from comity.expression.scope import Scope
from comity.limits import limits
from comity.node.entries import read_entry
from comity.node.log import NodeLog
from comity.node.publication_rows import find_logged
from comity.node.settings import EventServerSettings
from comity.node.tables import one_view
from comity.pattern.occurrence import microseconds
from comity.server.store.port import StoredEvent

_END_OF_TIME = 1 << 62


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """Events of a type and of those below it, from a time to before another, behind a number in the log."""

    type: str
    begin: datetime | None = None
    end: datetime | None = None
    filter: str = "true"
    after: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Some of them, with their numbers, in the order in which they were stored. None: there are no more behind them."""

    events: Sequence[StoredEvent]
    next: int | None

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape of it."""
        events = [{"position": one.sequence, "event": msgspec.Raw(one.line)} for one in self.events]
        return {"events": events, "next": self.next}


async def read_history(log: NodeLog, settings: EventServerSettings, query: HistoryQuery, now: datetime) -> HistoryPage:
    """A page. A filter that hardly anything fulfils gives short pages, even empty ones, that are not the last."""
    types, test = _asked(query, log.taxonomy)
    kept = [(one, microseconds(now - timedelta(seconds=settings.history_of(one)))) for one in types]
    begin = microseconds(query.begin) if query.begin is not None else 0
    end = microseconds(query.end) if query.end is not None else _END_OF_TIME
    most = min(query.most or limits().max_history_page, limits().max_history_page)
    oldest = dict(kept)
    asked = (types, max(begin, min(oldest.values())), end)
    found = await log.store.look(lambda base: _read(base, asked, query.after, most))
    wanted = [one for one in found if _is_wanted(one, log.taxonomy, oldest, test)]
    return HistoryPage(wanted, found[-1].sequence if len(found) == most else None)


def _is_wanted(stored: StoredEvent, taxonomy: Taxonomy, oldest: dict[str, int], test: Test) -> bool:
    event = read_entry(stored, taxonomy).content
    assert isinstance(event, Event), "reports are not in the index"
    assert event.time is not None, "events get a time when they are published"
    return microseconds(event.time) >= oldest[event.type] and bool(test(event))


def _asked(query: HistoryQuery, taxonomy: Taxonomy) -> tuple[list[str], Test]:
    """The types, and the filter over them."""
    try:
        type = taxonomy.type(query.type)
    except Misuse as error:
        raise Misuse(error.message, code=error.code, place=Place(path="type"), hint=error.hint) from None
    scope = Scope(type, taxonomy)
    test = compile_filter(bind_text(query.filter, scope))
    return [one.qualified_name for one in taxonomy.subtypes(query.type)], test


def _read(base: sqlite3.Connection, asked: tuple[Sequence[str], int, int], after: int, most: int) -> list[StoredEvent]:
    types, begin, end = asked
    with one_view(base):
        sequences = find_logged(base, types, begin, end, after, most)
        marks = ", ".join("?" * len(sequences))
        select = f"select sequence, line, at_us from event where sequence in ({marks}) order by sequence"
        return [StoredEvent(*row) for row in base.execute(select, sequences)]
