"""What can be told of a line without looking at its data: whose notification it is, or why it was rejected."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from comity.connect.identity import DIGEST_BYTES

_encoder = msgspec.json.Encoder()


def notification_line(event: bytes, profile: str) -> bytes:
    """The JSON of an event with the name of the profile that it is for, as an extension attribute.

    >>> notification_line(b'{"id":"1"}', "fires")
    b'{"id":"1","profile":"fires"}'
    """
    return b'%b,"profile":%b}' % (event[:-1], _encoder.encode(profile))


class Identity(msgspec.Struct, frozen=True):
    """What makes two notifications the same, and the time of the event.

    >>> identity = identity_of(b'{"profile":"fires","source":"/a","id":"1","time":"2026-01-02T03:04:05Z"}')
    >>> identity.key, identity.day
    ('["fires","/a","1"]', '2026-01-02')
    """

    profile: str
    source: str
    id: str
    time: str

    @property
    def key(self) -> str:
        """JSON text of profile, source and id."""
        return _encoder.encode([self.profile, self.source, self.id]).decode()

    @property
    def day(self) -> str:
        """The date in UTC: the times of notifications are written so."""
        return self.time[:10]


def key_digests(profiles: Iterable[str], sources: Iterable[str], ids: Iterable[str]) -> list[bytes]:
    """What `key_digest` gives for the keys of many notifications.

    >>> key_digests(["fires"], ["/a"], ["1"])[0].hex()
    'fbac2b287d3b94bf4861c5f494d650a4'
    """
    encode = _encoder.encode
    keys = zip(profiles, sources, ids, strict=True)
    return [blake2b(encode(key), digest_size=DIGEST_BYTES).digest() for key in keys]


_identity = msgspec.json.Decoder(Identity)


def identity_of(line: bytes) -> Identity:
    """The identity of a notification that a run has written."""
    return _identity.decode(line)
