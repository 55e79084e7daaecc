"""Who gets which events of a batch: one share for each receiver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from comity.event.formats.jsonlines import Rejected
from comity.route.broker import Directions
from comity.route.holder_table import ClientEvents
from comity.route.matching import BatchDirections
from comity.route.messages import Key
from comity.server.receivers import CLIENT, LINK
from comity.wire import Marks

_NOTHING: frozenset[int] = frozenset()
_UNMARKED = Marks.of([])


@dataclass(slots=True)
class Share:
    """The events of a batch for one receiver: their rows, for a client its subscriptions, and which are durable."""

    rows: Sequence[int]
    marks: Marks = _UNMARKED
    durable: frozenset[int] = _NOTHING


@dataclass(slots=True)
class BatchSharing:
    """What becomes of a batch."""

    shares: dict[str, Share] = field(default_factory=dict)
    """By the key of the receiver."""
    durable: list[int] = field(default_factory=list)
    """The rows that must be stored, for whomever."""
    unwanted: int = 0
    """Events that nobody gets."""
    refused: dict[int, Rejected] = field(default_factory=dict)
    """Lines that are no events."""


def shared(found: BatchDirections, origin: str) -> BatchSharing:
    """The shares of a batch; a neighbour that it comes from has none."""
    sharing = BatchSharing(refused=found.refused)
    for name, rows in found.neighbours.items():
        durable = found.durable_neighbours.get(name)
        # Most often a neighbour wants nothing of a batch or all.
        own: Sequence[int] = range(found.size) if len(rows) == found.size else rows.tolist()
        sharing.shares[LINK + name] = Share(own, durable=_NOTHING if durable is None else frozenset(durable.tolist()))
    for key, delivered in found.clients.items():
        # A neighbour whose link is just up may be held in its own place.
        if key not in sharing.shares and not (key == origin and origin.startswith(LINK)):
            # Of a neighbour there are the names of what it has in the store, which it does not want to know.
            numbers = cast(list[int], delivered.keys)
            marks = Marks.of_runs(numbers, delivered.begins) if key.startswith(CLIENT) else _UNMARKED
            sharing.shares[key] = Share(delivered.rows, marks, delivered.durable)
    _sum_up(sharing, found.size)
    return sharing


def _sum_up(sharing: BatchSharing, size: int) -> None:
    shares = sharing.shares.values()
    sharing.durable = sorted(_NOTHING.union(*(share.durable for share in shares)))
    wanted = max((len(share.rows) for share in shares), default=0)
    if wanted < size - len(sharing.refused) and len(shares) > 1:
        wanted = len(_NOTHING.union(*(share.rows for share in shares)))
    sharing.unwanted = size - wanted - len(sharing.refused)


def gathered(directions: dict[int, Directions], size: int, refused: dict[int, Rejected]) -> BatchDirections:
    """The directions of single events in the form of those of a batch."""
    found = BatchDirections(size, refused=refused)
    clients: dict[str, dict[int, tuple[Key, ...]]] = {}
    missed: dict[str, list[int]] = {}
    neighbours: dict[str, list[int]] = {}
    durable: dict[str, list[int]] = {}
    for row, one in directions.items():
        for client, keys in one.clients.items():
            clients.setdefault(client, {})[row] = keys
        for rows, names in (
            (neighbours, one.neighbours),
            (durable, one.durable_neighbours),
            (missed, one.durable_clients),
        ):
            for name in names:
                rows.setdefault(name, []).append(row)
    found.clients = {name: ClientEvents.of(keys, missed.get(name, ())) for name, keys in clients.items()}
    found.neighbours = {name: np.array(rows, np.int64) for name, rows in neighbours.items()}
    found.durable_neighbours = {name: np.array(rows, np.int64) for name, rows in durable.items()}
    return found


def client_key(name: str) -> str:
    """By what a client goes among the receivers, and in the routing."""
    return CLIENT + name
