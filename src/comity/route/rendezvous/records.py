"""Which types this node keeps, for itself or for others, so that the loss of a few nodes loses none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from comity.route.rendezvous.messages import KeepRecord, RecordKept, TypeRecord
from comity.route.rendezvous.ring import nearest

Lives = Mapping[str, int]
"""The nodes that can be reached, each with the life that it is in."""


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
        self._keepers: dict[str, dict[str, int]] = {}
        """Per record, other nodes that said that they keep this version, and in which life."""

    def get(self, type: str) -> TypeRecord | None:
        """The record of a type, if this node keeps it."""
        return self._records.get(type)

    def role(self, type: str, live: Iterable[str]) -> TypeRole:
        """What this node is for a type that it keeps."""
        if type not in self._records:
            return TypeRole.ABSENT
        return TypeRole.PRIMARY if nearest(live, type, 1) == [self.name] else TypeRole.REPLICA

    def put(self, record: TypeRecord) -> bool:
        """KeepRecord a record; whether it is news."""
        known = self._records.get(record.name)
        if known is not None and known.order >= record.order:
            return False
        self._records[record.name], self._keepers[record.name] = record, {}
        return True

    def note(self, kept: RecordKept, live: Lives) -> None:
        """Another node keeps a record."""
        record = self._records.get(kept.type)
        if record is not None and kept.version >= record.version:
            self._keepers[kept.type][kept.by] = kept.life
            self._missing(record, live)

    def spread(self, live: Lives) -> Iterator[tuple[str, KeepRecord]]:
        """What other nodes should keep, and are not known to."""
        for record in list(self._records.values()):
            yield from ((node, KeepRecord(record, self.name)) for node in self._missing(record, live))

    def _missing(self, record: TypeRecord, live: Lives) -> list[str]:
        """The nodes that should keep a record; once they do, it is dropped here, if this is none of them."""
        holders = nearest(live, record.name, 1 + self._replicas)
        keepers = {node: life for node, life in self._keepers[record.name].items() if live.get(node) == life}
        self._keepers[record.name] = keepers
        missing = [node for node in holders if node != self.name and node not in keepers]
        if not missing and self.name not in holders:
            del self._records[record.name], self._keepers[record.name]
        return missing
