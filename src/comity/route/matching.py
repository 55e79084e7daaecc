"""Where batches of events go: the question of `RoutingBroker.route` for many lines at once.

Lines are read as columns and matched by one index: of the filters of the broker's own clients, each of which is told,
and of those of neighbours that no other one of the same neighbour covers, where a hit is enough. It follows the tables
of the broker by changes in groups, for an index takes hundreds of filters in nearly the time of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from comity.event.formats.jsonlines import Rejected, decode
from comity.event.scan.lanes import LaneGroup
from comity.match.live import LiveIndex
from comity.route.broker import Directions, RoutingBroker
from comity.route.holder_table import ClientEvents, HolderTable
from comity.route.link_flags import LinkFlags
from comity.route.open_types import OpenTypes
from comity.route.passed import NO_ROWS, PassedFilters, Rows, rows_among
from comity.route.policy import Strategy
from comity.route.route_filter import RouteFilter
from comity.route.wanted import HERE, Wanted

SINGLY = 24
"""Events of a batch below which each is decoded and matched by itself, which is quicker then."""
_EXACT = 2.0**53
"""From here on a column of floats does not tell whole numbers from their neighbours."""


@dataclass(slots=True)
class BatchDirections:
    """Where the events of a batch go."""

    size: int
    neighbours: dict[str, Rows] = field(default_factory=dict)
    """The events that each neighbour gets; who gets none is not there."""
    durable_neighbours: dict[str, Rows] = field(default_factory=dict)
    """Those of them that somebody behind the neighbour must not miss."""
    clients: dict[str, ClientEvents] = field(default_factory=dict)
    """The events that each client of the broker gets, with the subscriptions that match."""
    refused: dict[int, Rejected] = field(default_factory=dict)
    """Lines that are no events; they go nowhere."""

    def of(self, row: int) -> Directions:
        """Where one of the events goes."""
        clients = {client: found.keys_of(row) for client, found in self.clients.items() if row in found.rows}
        durable = tuple(client for client in clients if row in self.clients[client].durable)
        return Directions(clients, _with(row, self.neighbours), durable, _with(row, self.durable_neighbours))


def _with(row: int, rows: dict[str, Rows]) -> tuple[str, ...]:
    return tuple(name for name, found in rows.items() if row in found)


class BatchMatcher:
    """Matches batches for one broker. `follow` has to be called for changes to count.

    >>> from comity.route.filters import FilterPool
    >>> from comity.route.policy import Policy
    >>> pool = FilterPool()
    >>> broker = RoutingBroker("one", Policy(), pool)
    >>> matcher = BatchMatcher(broker)
    >>> _ = broker.subscribe("Ada", 1, pool.read("price > 45"), 0)
    >>> matcher.follow()
    >>> lines = [b'{"id": "%d", "source": "/a", "type": "Quote", "data": {"price": %d}}' % (n, n) for n in (40, 50)]
    >>> found = matcher.match(None, lines)
    >>> found.of(0).clients, found.of(1).clients
    ({}, {'Ada': (1,)})
    """

    def __init__(self, broker: RoutingBroker) -> None:
        self._broker = broker
        self._touched = broker.watch()
        self._types = OpenTypes()
        self._index = _Numbered()
        self._holders = HolderTable()
        self._flags: dict[str, LinkFlags] = {}
        self._plain = broker.policy.strategy not in (Strategy.SIMPLE, Strategy.IDENTITY)
        """Whether neighbours tell what no other filter covers, and nothing else."""

    @property
    def pending(self) -> int:
        """Filters whose changes do not count yet."""
        return len(self._touched)

    # Following

    def follow(self) -> None:
        """Take up what has changed at the broker since the last call, all at once."""
        touched = list(self._touched)
        self._touched.clear()
        concerned = dict.fromkeys(touched)
        for filter in touched:
            wanted = self._broker.wanted(filter)
            concerned.update(dict.fromkeys(self._follow_links(filter, wanted)))
            if filter in self._index.numbers and (wanted is None or wanted.held is None):
                self._holders.release(self._index.numbers[filter])
        self._take(concerned)
        self._holders.make_room(self._index.size)
        for filter in touched:
            wanted = self._broker.wanted(filter)
            if wanted is not None and wanted.held is not None:
                self._holders.hold(self._index.numbers[filter], wanted.held.values())
        for name in self._flags.keys() - set(self._broker.neighbours):
            del self._flags[name]
        for flags in self._flags.values():
            flags.number(self._index.numbers, self._index.size)

    def _is_wanted(self, filter: RouteFilter) -> bool:
        """Whether the filter has to stand in the index."""
        wanted = self._broker.wanted(filter)
        return (wanted is not None and wanted.held is not None) or any(f.has(filter) for f in self._flags.values())

    def _follow_links(self, filter: RouteFilter, wanted: Wanted | None) -> Iterator[RouteFilter]:
        """What has changed for the neighbours: the filter, and others that it hid, or hides now."""
        durable: dict[str, bool] = {}
        for holder in () if wanted is None else wanted.holders:
            if holder.origin != HERE:
                durable[holder.origin] = durable.get(holder.origin, False) or holder.durable
        for name in durable.keys() - self._flags.keys():
            self._flags[name] = LinkFlags(None if self._plain else self._broker.pool)
        for name, flags in self._flags.items():
            yield from flags.put(filter, durable.get(name))

    def _take(self, filters: Iterable[RouteFilter]) -> None:
        index, release = self._index, self._types.release
        added = [filter for filter in filters if index.wish(filter, self._is_wanted(filter), release)]
        self._types.use(added)
        index.add(added)

    # Matching

    def match(self, origin: str | None, lines: Sequence[bytes]) -> BatchDirections:
        """Where events go, in lines of CloudEvents JSON, that came from a neighbour, or (None) from a client."""
        if len(lines) < SINGLY:
            found = _Found(len(lines))
            for row, line in enumerate(lines):
                # Events of a type are alike, so one of a batch teaches enough.
                self._match_one(row, line, found, learns=row == 0)
            return self._directions(origin, found)
        offsets = np.zeros(len(lines) + 1, np.int64)
        np.cumsum(list(map(len, lines)), out=offsets[1:])
        return self.match_text(origin, b"".join(lines), offsets)

    def match_text(self, origin: str | None, text: bytes, offsets: Rows) -> BatchDirections:
        """The same for lines that stand one behind the other: where each begins, and the end."""
        found = _Found(len(offsets) - 1)
        for row in self._scan(text, offsets, found):
            self._match_one(row, text[offsets[row] : offsets[row + 1]], found)
        return self._directions(origin, found)

    def _scan(self, text: bytes, offsets: Rows, found: _Found) -> list[int]:
        """Match the lines that the scanner vouches for; gives the others."""
        groups, doubtful = self._types.scanner().scan(np.frombuffer(text or b"\0", np.uint8), offsets)
        singly: list[Rows] = [doubtful]
        for group in groups:
            rows = group.rows
            if group.has_beyond(_EXACT):
                large = _too_large(group.batch())
                singly.append(rows[large])
                rows, matches = rows[~large], self._index.index.match(group.batch().filter(pa.array(~large)))
            else:
                matches = self._index.index.match_lanes(group)
            found.passed.append(PassedFilters.matched(rows, matches))
        blank = _blank(found.size, groups, doubtful)
        return sorted(row for rows in (*singly, blank) for row in rows.tolist())

    def _match_one(self, row: int, line: bytes, found: _Found, *, learns: bool = True) -> None:
        event = decode(line)
        if isinstance(event, Rejected):
            found.refused[row] = event
            return
        if learns:
            self._types.learn(event)
        found.single_rows.append(row)
        found.single_numbers.append(self._index.index.match_one(event))

    def _directions(self, origin: str | None, found: _Found) -> BatchDirections:
        size = found.size
        directions = BatchDirections(size, refused=found.refused)
        events = np.arange(size)
        if found.refused:
            events = np.setdiff1d(events, np.array(list(found.refused), np.int64))
        matched = found.joined()
        passed: dict[str, Rows] = {}
        for name in self._broker.neighbours:
            if name != origin:
                passed[name], durable = self._passing(name, matched, events, size)
                _note(directions.neighbours, name, events if self._broker.sends_everything(name) else passed[name])
                _note(directions.durable_neighbours, name, durable)
        directions.clients = self._holders.of(matched)
        if self._broker.policy.adaptive is not None:
            own = [np.array(one.rows, np.int64) for one in directions.clients.values()]
            wanted = rows_among(np.concatenate([NO_ROWS, *own, *passed.values()]), size)
            self._broker.count(origin, len(events), {name: len(rows) for name, rows in passed.items()}, len(wanted))
        return directions

    def _passing(self, name: str, matched: PassedFilters, events: Rows, size: int) -> tuple[Rows, Rows]:
        """The events that a neighbour wants, and those that somebody there must not miss."""
        if self._broker.policy.strategy is Strategy.FLOODING:
            return events, events
        flags = self._flags.get(name)
        return (NO_ROWS, NO_ROWS) if flags is None else (flags.rows(matched, size), flags.durable_rows(matched, size))


@dataclass(slots=True)
class _Found:
    """What passes which filters, in parts; those of events that were matched singly as lists."""

    size: int
    passed: list[PassedFilters] = field(default_factory=list)
    single_rows: list[int] = field(default_factory=list)
    single_numbers: list[list[int]] = field(default_factory=list)
    refused: dict[int, Rejected] = field(default_factory=dict)

    def joined(self) -> PassedFilters:
        """All of them, in the order of the events."""
        singly = [PassedFilters.of(self.single_rows, self.single_numbers)] if self.single_rows else []
        return PassedFilters.joined([*self.passed, *singly])


def _note(noted: dict[str, Rows], name: str, rows: Rows) -> None:
    if len(rows):
        noted[name] = rows


def _blank(size: int, groups: Sequence[LaneGroup], doubtful: Rows) -> Rows:
    """The lines of which the scanner says nothing."""
    if sum(len(group.rows) for group in groups) + len(doubtful) == size:
        return NO_ROWS
    is_told = np.zeros(size, np.bool_)
    for rows in (doubtful, *(group.rows for group in groups)):
        is_told[rows] = True
    return np.flatnonzero(~is_told)


def _too_large(batch: pa.RecordBatch) -> NDArray[np.bool_]:
    """Which events have a number that a float may not say exactly."""
    found = np.zeros(batch.num_rows, np.bool_)
    for column in batch.columns:
        found |= _large_in(column)
    return found


def _large_in(column: pa.Array) -> NDArray[np.bool_]:
    found = np.zeros(len(column), np.bool_)
    if pa.types.is_struct(column.type):
        for part in column.flatten():
            found |= _large_in(part)
    elif pa.types.is_float64(column.type) and column.null_count < len(column):
        found |= np.abs(np.nan_to_num(column.to_numpy(zero_copy_only=False))) >= _EXACT
    return found


class _Numbered:
    """An index, and which filter has which number in it."""

    def __init__(self) -> None:
        self.index = LiveIndex(is_shared=False)  # an event loop matches and changes in one thread
        self.numbers: dict[RouteFilter, int] = {}
        self.filters: dict[int, RouteFilter] = {}
        self.size = 0
        """Numbers that were ever given."""

    def wish(self, filter: RouteFilter, wanted: bool, released: Callable[[RouteFilter], None]) -> bool:
        """Whether the filter has to be added; one that is there and not wanted is removed."""
        number = self.numbers.get(filter)
        if number is not None and not wanted:
            self.index.remove(number)
            del self.numbers[filter], self.filters[number]
            released(filter)
        return wanted and number is None

    def add(self, filters: list[RouteFilter]) -> None:
        """Take in filters that are not there."""
        if filters:
            numbers = self.index.add_all([filter.tree for filter in filters])
            self.numbers.update(zip(filters, numbers, strict=True))
            self.filters.update(zip(numbers, filters, strict=True))
            self.size = numbers[-1] + 1
        if self.index.wants_compaction and len(self.numbers) > _COMPACTED:
            self.index.compact_beside()  # which may take a second, and events do not wait for it


_COMPACTED = 4096
"""Filters from which on it pays to build an index anew after many changes."""
