"""A network in which stocks are traded: publishers that advertise what they quote, and clients that come and go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random

from comity.route.changes import Change, Hold, Release
from comity.route.messages import Topic
from comity.simulate.market import Market, Taste
from comity.simulate.network import Network

_PLACES = 8
"""Parts of a network with tastes of their own."""


@dataclass(slots=True)
class Trading:
    """What publishers and subscribers do; all of it follows from the chance that is given."""

    network: Network
    market: Market
    publishers: int
    taste: Taste
    chance: Random
    _homes: list[str] = field(init=False)
    _numbers: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self._homes = list(self.network.stations)
        self.publishers = min(self.publishers, len(self.market.symbols), len(self._homes))

    def advertise(self) -> None:
        """Publishers come, far from each other, and say what they quote."""
        for number in range(self.publishers):
            text = self.market.offer(number, self.publishers)
            self.network.hold(self.home(number), Topic.ADVERTISEMENTS, self.name(number), 0, text)

    def subscribe(self, number: int) -> None:
        """So many clients come with a wish each, those of one broker at once."""
        wishes: dict[str, list[Change]] = {}
        for _ in range(number):
            at = self.chance.randrange(len(self._homes))
            text = self.market.wish(at * _PLACES // len(self._homes), self.taste, self.chance)
            hold = Hold(Topic.SUBSCRIPTIONS, f"c{next(self._numbers)}", 0, self.network.pool.read(text))
            wishes.setdefault(self._homes[at], []).append(hold)
        for broker, changes in wishes.items():
            self.network.change(broker, changes)

    def churn(self, number: int) -> None:
        """So many clients change their minds, one after the other, while the network tells of it."""
        wishes = list(self.network.truth.every(Topic.SUBSCRIPTIONS))
        for wish in self.chance.sample(wishes, min(number, len(wishes))):
            home = self.network.truth.homes[wish.client]
            place = self._homes.index(home) * _PLACES // len(self._homes) if home in self._homes else 0
            text = self.market.wish(place, self.taste, self.chance)
            new = Hold(Topic.SUBSCRIPTIONS, wish.client, next(self._numbers) + 1, self.network.pool.read(text))
            self.network.change(home, [Release(Topic.SUBSCRIPTIONS, wish.client, wish.key), new])
            self.network.advance(self.network.conditions.delay_s[0])

    def home(self, publisher: int) -> str:
        """The broker of a publisher."""
        return self._homes[publisher * len(self._homes) // self.publishers]

    def name(self, publisher: int) -> str:
        """The client that publishes."""
        return f"exchange {publisher}"

    def origins(self, events: Sequence[int]) -> list[str]:
        """The brokers at which quotes are published, by their numbers."""
        return [self.home(self.market.publisher(self.market.quotes[event], self.publishers)) for event in events]

    def publish(self, event: int) -> None:
        """One quote, through the brokers' own steps."""
        publisher = self.market.publisher(self.market.quotes[event], self.publishers)
        self.network.publish(self.home(publisher), self.name(publisher), event)
