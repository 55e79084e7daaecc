"""Where batches of events go: the question of `RoutingBroker.route` for many lines at once.

Lines are read as columns and matched by two indexes: one of the filters of the broker's own clients, each of which is
told, and one of those of neighbours, where a hit is enough. Both follow the broker's tables by changes in groups, for
an index takes hundreds of filters in nearly the time of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from comity.event.formats.jsonlines import Rejected, decode
from comity.filter.index.columns import Growing
from comity.match.index import Matches
from comity.match.live import LiveIndex
from comity.route.broker import Directions, RoutingBroker
from comity.route.choosing.covering import Uncovered
from comity.route.filters import FilterPool
from comity.route.messages import Key
from comity.route.open_types import OpenTypes
from comity.route.policy import Strategy
from comity.route.route_filter import RouteFilter
from comity.route.wanted import HERE, Interest, Wanted

Rows = NDArray[np.int64]
"""Events by their place in the batch, ascending."""

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
    clients: dict[str, dict[int, list[Key]]] = field(default_factory=dict)
    """The events that each client of the broker gets, with the subscriptions that match."""
    durable_clients: dict[str, set[int]] = field(default_factory=dict)
    """Those of them that the client must not miss."""
    refused: dict[int, Rejected] = field(default_factory=dict)
    """Lines that are no events; they go nowhere."""

    def of(self, row: int) -> Directions:
        """Where one of the events goes."""
        clients = {client: tuple(found[row]) for client, found in self.clients.items() if row in found}
        durable = tuple(client for client in clients if row in self.durable_clients.get(client, ()))
        return Directions(clients, _with(row, self.neighbours), durable, _with(row, self.durable_neighbours))


def _with(row: int, rows: dict[str, Rows]) -> tuple[str, ...]:
    return tuple(name for name, found in rows.items() if row in found)


class BatchMatcher:
    """Matches batches for one broker. `follow` has to be called for changes to count.

    >>> from comity.route.policy import Policy
    >>> pool = FilterPool()
    >>> broker = RoutingBroker("one", Policy(), pool)
    >>> matcher = BatchMatcher(broker)
    >>> _ = broker.subscribe("Ada", 1, pool.read("price > 45"), 0)
    >>> matcher.follow()
    >>> lines = [b'{"id": "%d", "source": "/a", "type": "Quote", "data": {"price": %d}}' % (n, n) for n in (40, 50)]
    >>> matcher.match(None, lines).clients
    {'Ada': {1: [1]}}
    """

    def __init__(self, broker: RoutingBroker) -> None:
        self._broker = broker
        self._touched = broker.watch()
        self._types = OpenTypes()
        self._own = _Numbered()
        self._links = _Numbered()
        self._receivers: dict[int, list[tuple[str, Key, bool]]] = {}
        """The clients, with their keys, and whether they must not miss it, by the number of the filter."""
        self._flags: dict[str, _Flags] = {}
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
        own, linked = [], list[RouteFilter]()
        for filter in touched:
            wanted = self._broker.wanted(filter)
            own.append((filter, wanted is not None and wanted.held is not None))
            linked += self._follow_links(filter, wanted)
        for filter, is_own in own:
            if not is_own and filter in self._own.numbers:
                del self._receivers[self._own.numbers[filter]]
        self._take(self._own, own)
        for filter, is_own in own:
            self._note_receivers(filter, is_own)
        self._take(
            self._links,
            ((filter, any(f.has(filter) for f in self._flags.values())) for filter in dict.fromkeys(linked)),
        )
        for name in self._flags.keys() - set(self._broker.neighbours):
            del self._flags[name]
        for flags in self._flags.values():
            flags.number(self._links)

    def _note_receivers(self, filter: RouteFilter, is_own: bool) -> None:
        """Who gets what passes the filter, at hand for every event that does."""
        wanted = self._broker.wanted(filter) if is_own else None
        if wanted is not None and wanted.held is not None:
            held = wanted.held.values()
            self._receivers[self._own.numbers[filter]] = [(one.client, one.key, one.durable) for one in held]

    def _is_linked(self, filter: RouteFilter) -> bool:
        return any(flags.has(filter) for flags in self._flags.values())

    def _follow_links(self, filter: RouteFilter, wanted: Wanted | None) -> Iterator[RouteFilter]:
        """What has changed for the neighbours: the filter, and others that it hid, or hides now."""
        durable: dict[str, bool] = {}
        for holder in () if wanted is None else wanted.holders:
            if holder.origin != HERE:
                durable[holder.origin] = durable.get(holder.origin, False) or holder.durable
        for name in durable.keys() - self._flags.keys():
            self._flags[name] = _Flags(None if self._plain else self._broker.pool)
        for name, flags in self._flags.items():
            yield from flags.put(filter, durable.get(name))

    def _take(self, index: _Numbered, wished: Iterable[tuple[RouteFilter, bool]]) -> None:
        added = [filter for filter, wanted in wished if index.wish(filter, wanted, self._types.release)]
        self._types.use(added)
        index.add(added)

    # Matching

    def match(self, origin: str | None, lines: pa.Array | Sequence[bytes]) -> BatchDirections:
        """Where events go, in lines of CloudEvents JSON, that came from a neighbour, or (None) from a client."""
        found = _Found(len(lines))
        if len(lines) < SINGLY:
            singly: Iterable[int] = range(len(lines))
        else:
            array = lines if isinstance(lines, pa.Array) else pa.array(lines, pa.binary())
            singly = self._scan(array, found)
        for row in singly:
            line = lines[row]
            self._match_one(row, line.as_py() if isinstance(line, pa.Scalar) else line, found)
        return self._directions(origin, found)

    def _scan(self, lines: pa.Array, found: _Found) -> Iterable[int]:
        """Match the lines that the scanner vouches for; gives the others."""
        scanned = self._types.scanner().scan(lines)
        vouched = np.zeros(len(lines), np.bool_)
        for _, rows, batch in scanned.groups:
            sure = ~_too_large(batch)
            if not sure.all():
                rows, batch = rows[sure], batch.filter(pa.array(sure))
            vouched[rows] = True
            found.own.append(_pairs(rows, self._own.index.match(batch)))
            found.linked.append(_pairs(rows, self._links.index.match(batch)))
        return np.flatnonzero(~vouched).tolist()

    def _match_one(self, row: int, line: bytes, found: _Found) -> None:
        event = decode(line)
        if isinstance(event, Rejected):
            found.refused[row] = event
            return
        self._types.learn(event)
        for pairs, index in ((found.own, self._own.index), (found.linked, self._links.index)):
            numbers = np.array(index.match_one(event), np.int64)
            pairs.append(_Pairs(np.full(len(numbers), row, np.int64), numbers))

    def _directions(self, origin: str | None, found: _Found) -> BatchDirections:
        directions = BatchDirections(found.size, refused=found.refused)
        events = np.setdiff1d(np.arange(found.size), np.array(list(found.refused), np.int64))
        linked = _joined(found.linked)
        passed: dict[str, Rows] = {}
        for name in self._broker.neighbours:
            if name != origin:
                passed[name], durable = self._passing(name, linked, events)
                _note(directions.neighbours, name, events if self._broker.sends_everything(name) else passed[name])
                _note(directions.durable_neighbours, name, durable)
        own = _joined(found.own)
        self._deliver(own, directions)
        if self._broker.policy.adaptive is not None:
            wanted = np.unique(np.concatenate([own.rows, *passed.values()]))
            self._broker.count(origin, len(events), {name: len(rows) for name, rows in passed.items()}, len(wanted))
        return directions

    def _passing(self, name: str, linked: _Pairs, events: Rows) -> tuple[Rows, Rows]:
        """The events that a neighbour wants, and those that somebody there must not miss."""
        if self._broker.policy.strategy is Strategy.FLOODING:
            return events, events
        flags = self._flags.get(name)
        return (_NO_ROWS, _NO_ROWS) if flags is None else (flags.rows(linked), flags.durable_rows(linked))

    def _deliver(self, own: _Pairs, directions: BatchDirections) -> None:
        """Note which clients get which events."""
        clients, receivers = directions.clients, self._receivers
        for row, number in zip(own.rows.tolist(), own.numbers.tolist(), strict=True):
            for client, key, durable in receivers[number]:
                clients.setdefault(client, {}).setdefault(row, []).append(key)
                if durable:
                    directions.durable_clients.setdefault(client, set()).add(row)


class _Pairs(NamedTuple):
    """Events, and the numbers of the filters that they pass."""

    rows: Rows
    numbers: NDArray[np.int64]


@dataclass(slots=True)
class _Found:
    """What passes which filters, in parts."""

    size: int
    own: list[_Pairs] = field(default_factory=list)
    linked: list[_Pairs] = field(default_factory=list)
    refused: dict[int, Rejected] = field(default_factory=dict)


_NO_ROWS: Rows = np.zeros(0, np.int64)


def _pairs(rows: Rows, matches: Matches) -> _Pairs:
    return _Pairs(np.repeat(rows, np.diff(matches.offsets)), matches.ids.astype(np.int64))


def _joined(parts: list[_Pairs]) -> _Pairs:
    """All of them, in the order of the events."""
    if not parts:
        return _Pairs(_NO_ROWS, _NO_ROWS)
    rows, numbers = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    return _Pairs(rows[order], numbers[order])


def _note(noted: dict[str, Rows], name: str, rows: Rows) -> None:
    if len(rows):
        noted[name] = rows


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


class _Flags:
    """What one neighbour wants: of its filters those that no other one covers, and which of them are durable."""

    def __init__(self, pool: FilterPool | None) -> None:
        self._wanted: dict[RouteFilter, bool] = {}
        """Whether each is durable."""
        self._maximal = None if pool is None else Uncovered("", pool.kept)
        self._durable, self._any = Growing(np.bool_), Growing(np.bool_)
        """By the number that a filter has in the index."""
        self._changed: dict[RouteFilter, None] = {}

    def has(self, filter: RouteFilter) -> bool:
        return filter in self._wanted

    def put(self, filter: RouteFilter, durable: bool | None) -> list[RouteFilter]:
        """The neighbour wants the filter, durably or not, or (None) wants it not. Gives what has changed."""
        if self._maximal is None:
            return self._set(filter, durable)
        if durable is None:
            self._maximal.forget(filter)
        else:
            self._maximal.put(Interest(filter, durable))
        for orphan in self._maximal.orphaned:
            self._maximal.place(orphan)
        self._maximal.orphaned.clear()
        changes = self._maximal.take_changes()
        gone = [changed for interest, count in changes.items() if not count for changed in self._set(interest[0], None)]
        come = [f for interest, count in changes.items() if count for f in self._set(interest[0], interest[1])]
        return gone + come

    def _set(self, filter: RouteFilter, durable: bool | None) -> list[RouteFilter]:
        if self._wanted.get(filter) is durable:
            return []
        if durable is None:
            del self._wanted[filter]
        else:
            self._wanted[filter] = durable
        self._changed[filter] = None
        return [filter]

    def number(self, index: _Numbered) -> None:
        """Note the numbers that the filters have in the index."""
        for column in (self._any, self._durable):
            column.extend(index.size)
        for filter in self._changed:
            number = index.numbers.get(filter)
            if number is not None:
                self._any.view[number] = filter in self._wanted
                self._durable.view[number] = self._wanted.get(filter, False)
        self._changed.clear()

    def rows(self, linked: _Pairs) -> Rows:
        """The events that the neighbour wants."""
        return np.unique(linked.rows[self._any.view[linked.numbers]])

    def durable_rows(self, linked: _Pairs) -> Rows:
        """Those that somebody there must not miss."""
        return np.unique(linked.rows[self._durable.view[linked.numbers]])
