"""What is wrong with what came over a connection. Its sender is foreign: it gets the code, and is hung up on."""

from __future__ import annotations

from comity.errors import Permanent


class ProtocolFault(Permanent):
    """The other side does not speak the protocol, or breaks a promise; the connection ends."""


def malformed(what: str) -> ProtocolFault:
    """What cannot be read at all."""
    return ProtocolFault(what, code="malformed-frame", hint="the other side must speak Comity's protocol, version 1")
