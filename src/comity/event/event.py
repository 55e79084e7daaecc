"""Events as they travel through the system."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from comity.event.kinds import Point, Value
from comity.event.types import ENVELOPE, ENVELOPE_NAME


class Event(msgspec.Struct, frozen=True):
    """A typed, timed record: the envelope, and the attributes in `data`. Nothing in it may be changed.

    >>> event = Event("1", "/house", "house.Fire", data={"room": "attic", "device": {"serial": "x1"}})
    >>> event.get(("device", "serial")), event.get(("event", "id")), event.get(("heat",))
    ('x1', '1', None)
    """

    id: str
    source: str
    type: str
    """The qualified name of its type."""
    time: datetime | None = None
    data: dict[str, Value] = {}
    subject: str | None = None
    sequence: int | None = None
    mode: str | None = None
    version: str | None = None

    @property
    def identity(self) -> tuple[str, str]:
        """Two events are the same when source and id are."""
        return self.source, self.id

    def get(self, path: tuple[str, ...]) -> Value | None:
        """The value at a dotted path (`event.…` is the envelope, `.x` and `.y` are of a point); None if missing."""
        first = path[0]
        if first == ENVELOPE_NAME:
            return getattr(self, path[1]) if len(path) == 2 and path[1] in ENVELOPE else None
        value = self.data.get(first)
        if len(path) == 1:
            return value
        return _descend(value, path)

    def replace(self, **changes: Any) -> Event:
        """A copy with other fields."""
        return msgspec.structs.replace(self, **changes)

    def __hash__(self) -> int:
        return hash((self.source, self.id))


def _descend(value: Value, path: tuple[str, ...]) -> Value | None:
    for name in path[1:]:
        if type(value) is dict:
            value = value.get(name)
        elif type(value) is Point and name in ("x", "y"):
            value = value.x if name == "x" else value.y
        else:
            return None
    return value
