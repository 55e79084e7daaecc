"""Who gets which events of a batch: one share for each receiver, made from the directions of each event."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from comity.route.broker import Directions
from comity.server.receivers import CLIENT, LINK


@dataclass(slots=True)
class Share:
    """The events of a batch for one receiver: their rows, for a client its subscriptions, and which are durable."""

    rows: list[int] = field(default_factory=list)
    marks: list[tuple[int, ...]] = field(default_factory=list)
    durable: set[int] = field(default_factory=set)


@dataclass(slots=True)
class BatchSharing:
    """What becomes of a batch."""

    shares: dict[str, Share] = field(default_factory=dict)
    """By the key of the receiver."""
    durable: list[int] = field(default_factory=list)
    """The rows that must be stored, for whomever."""
    unwanted: int = 0
    """Events that nobody gets."""

    @classmethod
    def of(cls, directions: Iterable[tuple[int, Directions]], origin: str) -> BatchSharing:
        """The shares of some rows; a neighbour that they come from has none."""
        found = cls()
        for row, one in directions:
            found._add(row, one)
        if origin.startswith(LINK):
            found.shares.pop(origin, None)
        return found

    def _add(self, row: int, directions: Directions) -> None:
        if not (directions.clients or directions.neighbours):
            self.unwanted += 1
            return
        shares = self.shares
        for key, numbers in directions.clients.items():
            share = _share(shares, key)
            share.rows.append(row)
            share.marks.append(_numbers(numbers))
        for name in directions.neighbours:
            share = _share(shares, LINK + name)
            if not share.rows or share.rows[-1] != row:  # else it is held in the place of the neighbour, too
                share.rows.append(row)
        if directions.durable:
            self.durable.append(row)
            for key in directions.durable_clients:
                shares[key].durable.add(row)
            for name in directions.durable_neighbours:
                shares[LINK + name].durable.add(row)


def _share(shares: dict[str, Share], key: str) -> Share:
    found = shares.get(key)
    if found is None:
        found = shares[key] = Share()
    return found


def _numbers(keys: tuple[object, ...]) -> tuple[int, ...]:
    return tuple(key if isinstance(key, int) else 0 for key in keys)


def client_key(name: str) -> str:
    """By what a client goes among the receivers, and in the routing."""
    return CLIENT + name
