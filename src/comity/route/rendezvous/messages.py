"""What the nodes of a rendezvous overlay tell each other."""

from __future__ import annotations

from dataclasses import dataclass

from comity.route.generic.graph import LinkState
from comity.route.messages import Control


@dataclass(frozen=True, slots=True)
class TypeRecord:
    """A type that the overlay knows; of two records the one with the higher version counts."""

    name: str
    definition: str = ""
    version: int = 1
    removed: bool = False

    @property
    def order(self) -> tuple[int, bool, str]:
        """Of two records of a type, the one for which this is greater counts, wherever they meet."""
        return self.version, self.removed, self.definition


@dataclass(frozen=True, slots=True)
class Attach:
    """For this type, the way of the sender to the rendezvous leads over this link, or does so no longer."""

    type: str
    on: bool


@dataclass(frozen=True, slots=True)
class ForType:
    """What a broker tells a neighbour in the tree of a type."""

    type: str
    control: Control


@dataclass(frozen=True, slots=True)
class Publish:
    """On the way to the rendezvous of the type: make it known, or (a removed one) known no longer."""

    record: TypeRecord


@dataclass(frozen=True, slots=True)
class KeepRecord:
    """The receiver is to keep this record, and to say so."""

    record: TypeRecord
    by: str


@dataclass(frozen=True, slots=True)
class RecordKept:
    """The sender keeps the record of this version."""

    type: str
    version: int
    by: str
    life: int
    """Of the sender: when it begins anew, it has lost the record."""


@dataclass(frozen=True, slots=True)
class Passed:
    """A message on its way to a node; who gets it passes it on over the cheapest way."""

    to: str
    body: KeepRecord | RecordKept
    hops: int


@dataclass(frozen=True, slots=True)
class TypeGone:
    """A type was removed: from the rendezvous to all in its tree."""

    type: str


TypeControl = Attach | ForType | Publish | Passed | TypeGone
"""What is about types."""
OverlayControl = LinkState | TypeControl
OverlayOutgoing = list[tuple[str, OverlayControl]]
