"""Messages as JSON, and the form of them that is signed."""

from __future__ import annotations

import msgspec

from comity.errors import Misuse
from comity.gateway.messages.envelope import NOBODY_SAID, NOWHERE_SAID, GatewayMessage

_DECODE = msgspec.json.Decoder(GatewayMessage).decode
_ENCODE = msgspec.json.Encoder().encode
_IN_ORDER = msgspec.json.Encoder(order="sorted").encode


def encode_json(message: GatewayMessage) -> bytes:
    """The message as one object of JSON."""
    return _ENCODE(message)


def decode_json(data: bytes) -> GatewayMessage:
    """The message in an object of JSON; members that are not known are passed over. Raises `Misuse`."""
    try:
        return _DECODE(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise bad_message(str(error)) from None


def canonical(message: GatewayMessage) -> bytes:
    """What is signed: the same bytes whichever way the message came, without what changes from hop to hop."""
    plain = msgspec.structs.replace(message, hops=0, via=None, signature="")
    if plain.to == NOBODY_SAID:  # msgspec leaves out a default by what object it is, not by what it says
        plain = msgspec.structs.replace(plain, to=NOBODY_SAID)
    if plain.sender.node == NOWHERE_SAID:
        plain = msgspec.structs.replace(plain, sender=msgspec.structs.replace(plain.sender, node=NOWHERE_SAID))
    return _IN_ORDER(plain)


def bad_message(reason: str) -> Misuse:
    """What cannot be read as a message."""
    hint = "docs/reference/gateway-messages.md says what messages look like"
    return Misuse(f"this is no message: {reason}"[:500], code="bad-message", hint=hint)
