"""What stands around every message between gateways: whose it is, for whom, from when on and until when."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from comity.gateway.messages.bodies import Body, Count, Name, Port

MESSAGES_VERSION = 1
"""The version of these messages that is spoken here."""


class NodeAddress(Struct, frozen=True, omit_defaults=True):
    """Where a node is reached."""

    name: Name = ""
    port: Port = 0


NOWHERE_SAID = NodeAddress()


class MessageSender(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whose message it is."""

    domain: Name = ""
    number: Count = 0
    """The number of the domain, as old gateways know it; 0: it has none."""
    key: Name = ""
    """Which key of the domain signed."""
    identity: str = ""
    """The document by which the authority says whose key that is."""
    node: NodeAddress = NOWHERE_SAID


class Audience(StrEnum):
    """What kind of receiver a message is for."""

    DOMAIN = "domain"
    NODE = "node"
    RENDEZVOUS = "type"
    ALL = "all"


class Addressee(Struct, frozen=True, omit_defaults=True):
    """Whom a message is for; without a name: whoever gets it."""

    scope: Audience = Audience.DOMAIN
    name: Name = ""


NOBODY_SAID = Addressee()


class GatewayMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message between gateways: the envelope, and what it says."""

    comity: Count = MESSAGES_VERSION
    """The version of these messages."""
    id: Annotated[str, Meta(min_length=1, max_length=300)]
    """Unique among the messages of the sender's domain."""
    reply_to: Name = ""
    """The message that this one answers."""
    federation: Name = ""
    sender: MessageSender
    to: Addressee = NOBODY_SAID
    sent: datetime | None = None
    expires: datetime | None = None
    hops: Count = 0
    """How often it was passed on; no part of what is signed."""
    via: NodeAddress | None = None
    """The node that passed it on last; no part of what is signed."""
    signature: Annotated[str, Meta(max_length=200)] = ""
    content: Body
