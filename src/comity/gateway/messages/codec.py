"""Both encodings of messages, told apart by their first character."""

from __future__ import annotations

from enum import StrEnum

from comity.errors import Misuse
from comity.gateway.messages.as_json import decode_json, encode_json
from comity.gateway.messages.envelope import GatewayMessage
from comity.limits import limits


class Encoding(StrEnum):
    """How messages are written on a link, as its ends agreed."""

    JSON = "json"
    XML = "xml"
    """The elements of the appendix, and what they have no place for."""
    PLAIN_XML = "plain-xml"
    """The elements of the appendix and nothing else, for gateways that know no more."""


def encode_gateway_message(message: GatewayMessage, encoding: Encoding = Encoding.JSON) -> bytes:
    """The message in one of the encodings."""
    if encoding is Encoding.JSON:
        return encode_json(message)
    from comity.gateway.messages.to_xml import encode_xml_message  # libxml2 takes a while to load

    return encode_xml_message(message, plain=encoding is Encoding.PLAIN_XML)


def decode_gateway_message(data: bytes) -> GatewayMessage:
    """The message, whichever way it is written; raises `Misuse` for what is none, or too large."""
    if len(data) > limits().max_gateway_message_bytes:
        raise Misuse(f"a message of more than {limits().max_gateway_message_bytes:,} bytes", code="too-large-message")
    if data.lstrip()[:1] != b"<":
        return decode_json(data)
    from comity.gateway.messages.from_xml import decode_xml_message

    return decode_xml_message(data)
