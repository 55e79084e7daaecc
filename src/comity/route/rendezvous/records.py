"""Which types this node keeps, for itself or for others, so that the loss of a few nodes loses none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum

from comity.limits import limits
from comity.route.rendezvous.messages import KeepRecord, RecordKept, TypeRecord

RECORD_LEASE_S = 60.0
"""Seconds after which the record of a type is forgotten that nobody makes known again."""
REFRESHED_S = 20.0
"""Seconds after which those who publish a type make it known again."""

Lives = Mapping[str, int]
"""The nodes that can be reached, each with the life that it is in."""
Nearest = Callable[[str, int], list[str]]
"""Gives so many of the nodes, those nearest to a name, the nearest first."""


class TypeRole(Enum):
    """What a node is for a type."""

    ABSENT = "absent"
    PRIMARY = "primary"
    """Its rendezvous."""
    REPLICA = "replica"
    """It becomes the rendezvous when those before it are gone."""


class TypeRecords:
    """The records of one node, and who else is known to keep them."""

    def __init__(self, name: str, replicas: int) -> None:
        self.name = name
        self._replicas = replicas
        self._records: dict[str, TypeRecord] = {}
        self._ends: dict[str, float] = {}
        """When each is forgotten."""
        self._spread_at: dict[str, float] = {}
        """When others were last told that each still stands."""
        self._keepers: dict[str, dict[str, int]] = {}
        """Per record, other nodes that said that they keep this version, and in which life."""

    def __iter__(self) -> Iterator[TypeRecord]:
        return iter(list(self._records.values()))

    def get(self, type: str) -> TypeRecord | None:
        """The record of a type, if this node keeps it."""
        return self._records.get(type)

    def role(self, type: str, nearest: Nearest) -> TypeRole:
        """What this node is for a type that it keeps."""
        if type not in self._records:
            return TypeRole.ABSENT
        return TypeRole.PRIMARY if nearest(type, 1) == [self.name] else TypeRole.REPLICA

    def put(self, record: TypeRecord, now: float) -> bool:
        """Keep a record, or go on keeping it; whether it is news."""
        known = self._records.get(record.name)
        if known is not None and known.order >= record.order:
            if known == record:
                self._ends[record.name] = now + RECORD_LEASE_S
            return False
        if known is None and len(self._records) >= limits().max_overlay_types:
            return False
        self._records[record.name], self._keepers[record.name] = record, {}
        self._ends[record.name], self._spread_at[record.name] = now + RECORD_LEASE_S, now
        return True

    def note(self, kept: RecordKept, lives: Lives, nearest: Nearest) -> None:
        """Another node keeps a record."""
        record = self._records.get(kept.type)
        if record is not None and kept.version >= record.version:
            self._keepers[kept.type][kept.by] = kept.life
            self._missing(record, lives, nearest)

    def spread(self, lives: Lives, nearest: Nearest) -> Iterator[tuple[str, KeepRecord]]:
        """What other nodes should keep, and are not known to."""
        for record in self:
            yield from ((node, KeepRecord(record, self.name)) for node in self._missing(record, lives, nearest))

    def renew(self, type: str, nearest: Nearest, now: float) -> Iterator[tuple[str, KeepRecord]]:
        """What the other keepers are told when a type was made known again; not each time that somebody does so."""
        record = self._records.get(type)
        if record is not None and now - self._spread_at[type] >= REFRESHED_S / 2:
            self._spread_at[type] = now
            others = nearest(type, 1 + self._replicas)
            yield from ((node, KeepRecord(record, self.name)) for node in others if node != self.name)

    def next_end(self) -> float | None:
        """When the next record is forgotten."""
        return min(self._ends.values(), default=None)

    def forget_old(self, now: float) -> None:
        """Forget what nobody made known again in time."""
        for type in [type for type, at in self._ends.items() if at <= now]:
            self._forget(type)

    def _missing(self, record: TypeRecord, lives: Lives, nearest: Nearest) -> list[str]:
        """The nodes that should keep a record; once they do, it is dropped here, if this is none of them."""
        holders = nearest(record.name, 1 + self._replicas)
        keepers = {node: life for node, life in self._keepers[record.name].items() if lives.get(node) == life}
        self._keepers[record.name] = keepers
        missing = [node for node in holders if node != self.name and node not in keepers]
        if not missing and self.name not in holders:
            self._forget(record.name)
        return missing

    def _forget(self, type: str) -> None:
        for kept in (self._records, self._ends, self._spread_at, self._keepers):
            del kept[type]
