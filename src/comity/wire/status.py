"""What a node tells of itself to whoever asks. Figures count from its start, unless they are said to be of now."""

from __future__ import annotations

from msgspec import Struct


class LinkStatus(Struct, frozen=True, kw_only=True):
    """A link to another broker, which may be down."""

    name: str
    """Of the neighbour; empty as long as it never answered."""
    address: str | None = None
    """Where the neighbour listens, for whoever wants to ask it, too."""
    is_up: bool
    why_down: str = ""
    subscriptions: int = 0
    """Entries that the neighbour told us, now."""
    subscriptions_told: int = 0
    """Entries that we told the neighbour, now."""
    advertisements: int = 0
    advertisements_told: int = 0
    events_in: int = 0
    events_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    control_in: int = 0
    control_out: int = 0
    unwanted: int = 0
    """Events that came over the link, and that nobody here or behind here wants."""
    passed_through: int = 0
    """Of the events out, those in batches that were passed on as they came."""
    repeats: int = 0
    """Events that came again, and were left out."""
    dropped: int = 0
    """Events for it that were not sent because it took them in too slowly."""
    queued_bytes: int = 0
    """Bytes that wait to be sent to it, now."""
    unacknowledged: int = 0
    """Positions of the log between what it acknowledged and the last one, now; without a log zero."""


class ClientStatus(Struct, frozen=True, kw_only=True):
    """A client: connected, or away with durable subscriptions."""

    name: str
    is_here: bool
    subscriptions: int = 0
    advertisements: int = 0
    published: int = 0
    delivered: int = 0
    dropped: int = 0
    queued_bytes: int = 0
    unacknowledged: int = 0


class TypeStatus(Struct, frozen=True, kw_only=True):
    """A type of events in a rendezvous overlay, as one node has it."""

    name: str
    role: str
    """What the node keeps of it: `primary` of the rendezvous, `replica`, or `absent`."""
    rendezvous: str
    """The node where its ways meet, as far as this one knows."""
    up: str | None = None
    """The neighbour on the way there; None at the rendezvous, and for who takes no part in the tree."""
    takes_part: bool = False
    subscriptions: int = 0
    """Entries of neighbours in its tree, now."""


class OverlayStatus(Struct, frozen=True, kw_only=True):
    """What a node knows of the overlay that it is part of."""

    nodes: tuple[str, ...]
    """Those that links lead to, this one included."""
    types: tuple[TypeStatus, ...] = ()
    """Those whose tree the node is in, or whose record it keeps; not all, when there are very many."""
    types_here: int = 0


class NodeStatus(Struct, frozen=True, kw_only=True):
    """A node."""

    request: int
    name: str
    instance: str
    address: str | None = None
    strategy: str
    advertisements: bool
    uptime_s: float
    links: tuple[LinkStatus, ...] = ()
    clients: tuple[ClientStatus, ...] = ()
    """The busiest of them, when there are very many."""
    clients_here: int = 0
    events_in: int = 0
    events_out: int = 0
    refused: dict[str, int] = {}
    """What was refused, by code: events, requests, connections."""
    cpu_s: float = 0.0
    """Seconds of computing."""
    memory_bytes: int = 0
    stored_events: int = 0
    """Events in its log, now."""
    overlay: OverlayStatus | None = None
    """Of a node of a rendezvous overlay."""
