"""Those that a node sends events to: neighbours and clients, connected or away, each with a bounded queue."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from comity.server.connection import NodeConnection
from comity.wire import Deliver, Dropped, EventBatch, Events, Marks, encode_message

LINK, CLIENT = "link:", "client:"
"""In front of names, where those of neighbours and clients stand together."""


class Flow(Enum):
    """How what is durable comes to a receiver."""

    LIVE = "live"
    """As it is committed: everything before it is in the queue."""
    LAGGING = "lagging"
    """From the log, since it did not take it in as it came, or was away."""


class EventReceiver:
    """One that events are sent to. It stays while it is away if something durable waits for it."""

    def __init__(self, key: str) -> None:
        self.key = key
        """`link:` or `client:`, and its name."""
        self.connection: NodeConnection | None = None
        self.flow = Flow.LIVE
        self.is_durable = False
        self.looked_at = 0
        """The number in the log up to which everything was put into the queue, or is of no concern."""
        self.sent_position = self.acknowledged = 0
        self.sent = self.passed_through = self.dropped = 0
        self._untold = 0

    @property
    def is_link(self) -> bool:
        return self.key.startswith(LINK)

    @property
    def name(self) -> str:
        return self.key.partition(":")[2]

    def offer(self, frame: bytes, events: int, position: int = 0) -> bool:
        """Put a frame of events into the queue, if there is room and somebody to take it."""
        connection = self.connection
        if connection is None or not connection.is_open or not connection.queue.has_room(len(frame)):
            return False
        if self._untold:
            connection.send(Dropped(self._untold, self.dropped))
            self._untold = 0
        connection.send_frame(frame, is_charged=True)
        self.sent += events
        self.sent_position = max(self.sent_position, position)
        return True

    def drop(self, events: int) -> None:
        """Count events that were not sent; the receiver is told as soon as there is room."""
        self.dropped += events
        self._untold += events

    def tell_dropped(self) -> None:
        """Tell what is not yet told, if there is room now."""
        if self._untold and self.connection is not None and self.connection.queue.is_low:
            self.connection.send(Dropped(self._untold, self.dropped))
            self._untold = 0

    def frame(self, batch: EventBatch, marks: Marks, places: Sequence[int] = ()) -> bytes:
        """A frame of events in the form in which this one gets them; `places` are their numbers in the log, or 0."""
        position = max(places, default=0)
        if self.is_link:
            return encode_message(Events(position, batch))
        return encode_message(Deliver(position, marks, batch, tuple(places) if position else ()))

    def take_acknowledgement(self, position: int) -> int | None:
        """The position to note down, if the acknowledgement says something new of what was sent."""
        position = min(position, self.sent_position)
        if position <= self.acknowledged:
            return None
        self.acknowledged = position
        return position

    def gone(self) -> None:
        """The connection is lost; what was in its queue is not sent."""
        self.connection = None
        self.flow = Flow.LAGGING
        self.sent_position = self.acknowledged
        self._untold = 0
