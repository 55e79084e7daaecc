"""A link under virtual time: first in, first out, with delay and loss, and it breaks.

Two brokers are joined by a connection as TCP gives it: what is sent arrives in order, later when a packet is lost and
sent again, and what is on its way when the connection breaks is gone. A connection that comes after it has another
number, so nothing of an earlier one arrives in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random


@dataclass(frozen=True, slots=True)
class LinkConditions:
    """How links are; times in seconds. Delays differ from message to message, so links overtake each other."""

    delay_s: tuple[float, float] = (0.001, 0.005)
    loss: float = 0.0
    """The share of packets that must be sent again."""
    resend_s: float = 0.2
    """How long it takes until a lost packet is sent again."""
    notice_s: tuple[float, float] = (0.0, 0.5)
    """How long an end takes to notice that the connection is gone."""

    def delay(self, chance: Random) -> float:
        """How long one message takes."""
        taken = chance.uniform(*self.delay_s)
        while self.loss and chance.random() < self.loss:
            taken += self.resend_s
        return taken

    def notice(self, chance: Random) -> float:
        """When an end notices a loss."""
        return chance.uniform(*self.notice_s)


@dataclass(slots=True)
class Direction:
    """What goes one way: when the latest message arrives, and how many are on their way."""

    sender: str
    receiver: str
    arrives_at: float = 0.0
    on_the_way: int = 0
    believed: int | None = None
    """The connection that the sender believes to have, None if it has none."""

    def due(self, now: float, delay: float) -> float:
        """When a message that is sent now arrives: never before one that was sent earlier."""
        self.arrives_at = max(self.arrives_at, now + delay)
        return self.arrives_at


@dataclass(slots=True)
class Wire:
    """A link with its two directions; `connection` is the number of the present or the latest connection."""

    ends: tuple[str, str]
    is_up: bool = False
    connection: int = 0
    is_gone: bool = False
    """Whether it will never be up again."""
    directions: dict[str, Direction] = field(init=False)
    """By who sends."""

    def __post_init__(self) -> None:
        one, other = self.ends
        self.directions = {one: Direction(one, other), other: Direction(other, one)}

    def connect(self) -> int:
        """A new connection, whose number is given back."""
        self.is_up = True
        return self._renewed()

    def lose(self) -> int:
        """The connection is gone with what was in it; its number is given back."""
        lost, self.is_up = self.connection, False
        self._renewed()
        return lost

    @property
    def is_empty(self) -> bool:
        """Whether both ends have the present connection, and nothing is on its way."""
        return self.is_up and all(
            one.believed == self.connection and not one.on_the_way for one in self.directions.values()
        )

    def _renewed(self) -> int:
        self.connection += 1
        for one in self.directions.values():
            one.on_the_way = 0
            one.arrives_at = 0.0
        return self.connection
