"""The messages: what frames mean. Most are JSON; those of events, and the small ones between them, are binary."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from comity.wire.batches import EventBatch
from comity.wire.marks import Marks
from comity.wire.status import NodeStatus

PROTOCOL = 1
"""The version of the protocol that is spoken here."""

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Number = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Position = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Seconds = Annotated[float, Meta(gt=0, le=1e9)]
Share = Annotated[float, Meta(ge=0, le=1)]
TypeName = Annotated[str, Meta(max_length=1_000)]
Definition = Annotated[str, Meta(max_length=65_536)]


class PeerRole(StrEnum):
    """What somebody is who says hello."""

    BROKER = "broker"
    CLIENT = "client"


class LogPosition(Struct, frozen=True):
    """How far somebody is in the log of stored events of somebody else."""

    log: str
    """Which log; another one begins anew."""
    position: Position


class Hello(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first message, by whoever opened the connection."""

    comity: int = PROTOCOL
    role: PeerRole
    name: str = ""
    """Of a broker; of a client that wants to be known again. Without one the broker gives it one."""
    instance: str = ""
    """Another one each time that a broker is started."""
    window: Position
    """Bytes of frames of events that may be sent to whoever says this until it grants more."""
    token: str | None = None
    listens: str | None = None
    """Of a broker: where others reach it, as host and port."""
    strategy: str | None = None
    advertisements: bool = False
    log: str | None = None
    """Of a broker: the log that positions of stored events are in, which it sends."""
    taken: LogPosition | None = None
    """The last stored event that was taken of the other one."""
    options: tuple[str, ...] = ()
    """What it could do beyond this version of the protocol."""


class KeptSubscription(Struct, frozen=True):
    """A subscription that was kept while its client was away."""

    number: Number
    filter: str
    label: str = ""


class Welcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to a hello. What stands in a hello, too, means the same here."""

    comity: int = PROTOCOL
    name: Name
    """Of the broker."""
    you: Name
    """Of the one that said hello."""
    instance: str
    window: Position
    listens: str | None = None
    strategy: str = ""
    advertisements: bool = False
    log: str | None = None
    taken: LogPosition | None = None
    kept: tuple[KeptSubscription, ...] = ()
    """To a client: what it subscribed to, durably, when it was here before."""
    options: tuple[str, ...] = ()
    """Those that both can do."""
    silence_s: Seconds = 30.0
    """After so long without a byte either side takes the other one for gone."""


class Bye(Struct, frozen=True, omit_defaults=True):
    """The last message: the connection ends, by a code if something is wrong."""

    code: str = ""
    message: str = ""
    hint: str = ""


class Ping(Struct, frozen=True):
    """Is there anybody? It is answered at once."""

    number: Position


class Pong(Struct, frozen=True):
    """The answer, with the number of the question."""

    number: Position


class Credit(Struct, frozen=True):
    """So many bytes of frames of events may be sent beyond those of before."""

    bytes: Position


class Acknowledged(Struct, frozen=True):
    """Everything up to this position is where it will not be lost."""

    position: Position


class Events(Struct, frozen=True):
    """Events that somebody publishes, or that a broker passes on to another one.

    A position above zero wants to be acknowledged: of a publisher it is a number of its own, which grows; between
    brokers the place of the last of the events in the log of the sender.
    """

    position: Position
    batch: EventBatch


class Deliver(Struct, frozen=True):
    """Events for a client, and for which of its subscriptions each is; with a position it is to be acknowledged."""

    position: Position
    marks: Marks
    batch: EventBatch
    places: tuple[Position, ...] = ()
    """The position of each event, so that a client can acknowledge some; 0: that event is not to be acknowledged."""


class Dropped(Struct, frozen=True):
    """Events that were not sent to whoever gets this, because it took them in too slowly."""

    events: Position
    """Since the last such message."""
    total: Position
    """Since the connection began."""


class RefuseEvents(Struct, frozen=True):
    """Events of a batch that were refused; the others were taken."""

    position: Position
    count: Position
    rows: tuple[tuple[Number, str, str], ...]
    """Of the first of them: the row in the batch, a code, and a text."""


class Reach(Struct, frozen=True):
    """Between brokers: whom one reaches through the sender, itself included, by name. It replaces the one before."""

    brokers: tuple[Name, ...]


class ToldTopic(StrEnum):
    """What filters between brokers say."""

    SUBSCRIPTIONS = "subscriptions"
    ADVERTISEMENTS = "advertisements"


class ToldFilter(Struct, frozen=True, array_like=True, omit_defaults=True):
    """A filter that a broker tells another one; its number is never used again on this connection."""

    number: Position
    filter: str
    lost: Share = 0.0
    durable: bool = False


class Inform(Struct, frozen=True, omit_defaults=True):
    """Between brokers: what the sender wants, or has, changes by this, at once."""

    topic: ToldTopic
    added: tuple[ToldFilter, ...] = ()
    removed: tuple[Position, ...] = ()
    whole: bool = False
    """Whether what was told before no longer counts."""
    type: TypeName = ""
    """In a rendezvous overlay: in the tree of which type."""


class Renew(Struct, frozen=True, omit_defaults=True):
    """Between brokers: all that was told still stands."""

    topic: ToldTopic
    type: TypeName = ""


class SendAll(Struct, frozen=True, omit_defaults=True):
    """Between brokers: to send everything, whatever was told, or no longer.

    Of whoever gets the events it is a wish; of whoever sends them (`from_sender`) it says what is so from here on.
    """

    on: bool
    from_sender: bool = False


class SaidLinks(Struct, frozen=True, omit_defaults=True):
    """Between brokers whose links may form circles: what a broker says of its links, which everybody passes on."""

    broker: Name
    version: Position
    links: tuple[tuple[Name, float], ...]
    """Neighbours, each with what the link costs."""
    life: Position = 0
    """Of two that one broker said the one with the greater life counts, and of one life that of the greater version."""


class InTree(Struct, frozen=True):
    """Between such brokers: the sender holds this link to be in the tree along which events go, or no longer."""

    on: bool


class AttachTree(Struct, frozen=True):
    """In a rendezvous overlay: the way of the sender to where this type meets leads over this link, or no longer."""

    type: TypeName
    on: bool


class SaidType(Struct, frozen=True, omit_defaults=True):
    """In such an overlay, on its way to the rendezvous: events of this type are published, or (removed) no more."""

    name: TypeName
    definition: Definition = ""
    version: Position = 1
    removed: bool = False


class KeptType(Struct, frozen=True):
    """That a broker keeps the record of a type, in this life of it."""

    name: TypeName
    version: Position
    life: Position


class HandedOn(Struct, frozen=True, omit_defaults=True):
    """In such an overlay, from a broker to one that may be far: keep this record, or (`kept`) it is kept."""

    to: Name
    by: Name
    hops: Annotated[int, Meta(ge=0, le=1_000)]
    record: SaidType | None = None
    kept: KeptType | None = None


class RemovedType(Struct, frozen=True):
    """In such an overlay, from the rendezvous to all in the tree: the type was removed."""

    type: TypeName


class Subscribe(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of a client. The number is the client's own; a durable subscription keeps it while the client is away.

    The same number again is the same subscription with another filter.
    """

    request: Number
    number: Number
    filter: str
    durable: bool = False
    label: Annotated[str, Meta(max_length=200)] = ""
    lease_s: Seconds | None = None


class Unsubscribe(Struct, frozen=True):
    """Of a client."""

    request: Number
    number: Number


class Advertise(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of a client: its events will match the filter, or another one that it advertises."""

    request: Number
    number: Number
    filter: str
    lease_s: Seconds | None = None


class Unadvertise(Struct, frozen=True):
    """Of a client."""

    request: Number
    number: Number


class Granted(Struct, frozen=True):
    """A request was carried out."""

    request: Number


class RefuseRequest(Struct, frozen=True, omit_defaults=True):
    """A request was not carried out; the connection goes on."""

    request: Number
    code: str
    message: str
    hint: str = ""


class StatusRequest(Struct, frozen=True):
    """What do you do? It is answered by a `NodeStatus`."""

    request: Number


Message = (
    Hello
    | Welcome
    | Bye
    | Ping
    | Pong
    | Credit
    | Acknowledged
    | Events
    | Deliver
    | Dropped
    | RefuseEvents
    | Reach
    | Inform
    | Renew
    | SendAll
    | SaidLinks
    | InTree
    | AttachTree
    | SaidType
    | HandedOn
    | RemovedType
    | Subscribe
    | Unsubscribe
    | Advertise
    | Unadvertise
    | Granted
    | RefuseRequest
    | StatusRequest
    | NodeStatus
)
