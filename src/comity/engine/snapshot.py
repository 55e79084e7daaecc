"""What a live engine writes down, so that another one can go on from there."""

from __future__ import annotations

from datetime import datetime

import msgspec

from comity.connect.sealed import sealed, unsealed
from comity.engine.pattern_stream import SavedStream
from comity.errors import Permanent

VERSION = 1
_HINT = "begin anew without it, or take an earlier one"


class Snapshot(msgspec.Struct, array_like=True, frozen=True):
    """The state of a live engine. It is bounded by what the engine remembers, and by what patterns wait for."""

    now: datetime | None
    hour: datetime
    """Of the time by which events are too old."""
    newest_wanted: datetime | None
    """The newest time of an event that some profile wanted."""
    counts: tuple[int, int, int, int]
    remembered: dict[int, list[tuple[str, str, str]]]
    patterns: SavedStream

    def encode(self) -> bytes:
        """The snapshot as bytes, with its version and a checksum."""
        return sealed(msgspec.msgpack.encode((VERSION, self)))

    @classmethod
    def decode(cls, found: bytes) -> Snapshot:
        """The snapshot in bytes; raises `Permanent` for what is damaged, or of another version."""
        content = unsealed(found)
        if content is None:
            raise Permanent("the snapshot is damaged: its checksum is wrong", code="bad-snapshot", hint=_HINT)
        try:
            version, rest = msgspec.msgpack.decode(content, type=tuple[int, msgspec.Raw])
            if version == VERSION:
                return msgspec.msgpack.decode(rest, type=cls)
        except (msgspec.DecodeError, ValueError) as error:  # a checksum says that it is whole, not that it is ours
            raise Permanent(f"this is no snapshot: {error}", code="bad-snapshot", hint=_HINT) from error
        reason = f"the snapshot has version {version}, and this program reads version {VERSION}"
        raise Permanent(reason, code="bad-snapshot", hint=_HINT)
