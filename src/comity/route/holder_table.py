"""Which clients of a broker get the events of a batch, and for which of their subscriptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import NamedTuple, cast

import numpy as np

from comity.filter.index.columns import Growing
from comity.match.access import expand
from comity.route.kernels.fan_out import count_by_client, fan_out
from comity.route.messages import Key
from comity.route.passed import PassedFilters, Rows
from comity.route.wanted import Held

_NONE: frozenset[int] = frozenset()
_MOST = 2**63 - 1
_SPARE = 4096
"""Places of subscriptions that were given up before all are put together again."""


class ClientEvents(NamedTuple):
    """The events of a batch that one client gets."""

    rows: list[int]
    """Ascending, each once."""
    keys: list[Key]
    """Its subscriptions that match, one event after the other."""
    begins: list[int] | None
    """Where those of each event begin, and the end; None: each has one."""
    durable: frozenset[int]
    """The rows that it must not miss."""

    @classmethod
    def of(cls, keys: Mapping[int, Sequence[Key]], durable: Iterable[int] = ()) -> ClientEvents:
        """From the subscriptions of each event, by ascending rows."""
        begins = list(accumulate(map(len, keys.values()), initial=0))
        each = None if begins[-1] == len(keys) else begins
        return cls(list(keys), list(chain.from_iterable(keys.values())), each, frozenset(durable))

    def put_together(self) -> ClientEvents:
        """The same if `rows` has an event once for each subscription that it matches."""
        begins = [at for at, row in enumerate(self.rows) if not at or row != self.rows[at - 1]]
        if len(begins) == len(self.rows):
            return self
        return self._replace(rows=[self.rows[at] for at in begins], begins=[*begins, len(self.rows)])

    def keys_of(self, row: int) -> tuple[Key, ...]:
        """The subscriptions that one event matches."""
        at = self.rows.index(row)
        return tuple(
            self.keys[at : at + 1] if self.begins is None else self.keys[self.begins[at] : self.begins[at + 1]]
        )


class HolderTable:
    """Who holds which filter, by the number that the filter has in the index.

    Those who hold a filter stand in places one behind the other, so that all matches of a batch become places by
    arrays, however many there are; places that are given up are left, until there are many of them.
    """

    def __init__(self) -> None:
        self._begin, self._count = Growing(np.int64), Growing(np.int64)
        """Of each filter its first place, and how many there are."""
        self._client, self._durable = Growing(np.int32), Growing(np.bool_)
        self._keys: list[Key] = []
        """By place."""
        self._numbers = Growing(np.int64)
        """The keys that are whole numbers, as those of clients on a connection are; else -1."""
        self._names: list[str] = []
        self._number_of: dict[str, int] = {}
        """Of clients; those that have gone are forgotten when places are put together."""
        self._live = self._durables = 0
        """Places in use, and those with a durable subscription that were given since places were put together."""

    def make_room(self, size: int) -> None:
        """Filters have numbers up to here."""
        for column in (self._begin, self._count):
            column.extend(size)

    def hold(self, number: int, held: Iterable[Held]) -> None:
        """These, and no others, hold the filter now."""
        self._release(number)
        begin = len(self._keys)
        for one in held:
            self._put(one.client, one.key, one.durable)
        self._begin.view[number], self._count.view[number] = begin, len(self._keys) - begin
        self._live += len(self._keys) - begin

    def release(self, number: int) -> None:
        """Nobody holds the filter any more."""
        self._release(number)
        if len(self._keys) > 2 * self._live + _SPARE:
            self._put_together()

    def _release(self, number: int) -> None:
        self._live -= int(self._count.view[number])
        self._count.view[number] = 0

    def _put(self, client: str, key: Key, durable: bool) -> None:
        number = self._number_of.setdefault(client, len(self._names))
        if number == len(self._names):
            self._names.append(client)
        self._client.append(number)
        self._durable.append(durable)
        self._keys.append(key)
        self._numbers.append(key if isinstance(key, int) and 0 <= key <= _MOST else -1)
        self._durables += durable

    def _put_together(self) -> None:
        used = np.flatnonzero(self._count.view)
        counts = self._count.view[used]
        places = expand(self._begin.view[used], counts)
        clients, durable = self._client.view[places].tolist(), self._durable.view[places].tolist()
        names, keys = self._names, self._keys
        self._client, self._durable = Growing(np.int32), Growing(np.bool_)
        self._keys, self._numbers = [], Growing(np.int64)
        self._names, self._number_of, self._durables = [], {}, 0
        for place, client, is_durable in zip(places.tolist(), clients, durable, strict=True):
            self._put(names[client], keys[place], is_durable)
        self._begin.view[used] = np.cumsum(counts) - counts

    def of(self, passed: PassedFilters) -> dict[str, ClientEvents]:
        """Who gets what, by the filters that events pass; other filters may be among them."""
        rows, offsets, numbers = passed
        held = self._begin.view, self._count.view, self._client.view
        ends = np.empty(len(self._names) + 1, np.int64)
        total = count_by_client(numbers, *held, ends) if self._live else 0
        if not total:
            return {}
        own_rows, places = np.empty(total, np.int64), np.empty(total, np.int64)
        begins = ends.copy()
        repeats = fan_out(rows, offsets, numbers, *held, ends, own_rows, places)
        durable = self._durable.view[places] if self._durables else None
        clients = np.flatnonzero(ends[:-1] > begins[:-1])
        spans = zip(clients.tolist(), begins[clients].tolist(), ends[clients].tolist(), strict=True)
        row_list, keys = own_rows.tolist(), self._keys_at(places)
        found = {}
        for client, begin, end in spans:
            missed = _NONE if durable is None else frozenset(own_rows[begin:end][durable[begin:end]].tolist())
            mine = ClientEvents(row_list[begin:end], keys[begin:end], None, missed)
            found[self._names[client]] = mine.put_together() if repeats else mine
        return found

    def _keys_at(self, places: Rows) -> list[Key]:
        numbers = self._numbers.view[places]
        if (numbers >= 0).all():
            return cast(list[Key], numbers.tolist())
        return [self._keys[place] for place in places.tolist()]
