"""A network whose links may form circles: brokers agree on a tree, and events that come twice are dropped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from comity.expression.evaluate import AttributeReader
from comity.route.broker import Directions, RoutingBroker
from comity.route.changes import Change
from comity.route.generic.broker import GenericBroker
from comity.route.messages import Entry, Topic
from comity.route.policy import Policy
from comity.simulate.deliveries import Publication
from comity.simulate.door import BrokerDoor, Said
from comity.simulate.network import Network
from comity.simulate.topology import Pair, neighbours, side


class GenericDoor:
    """A broker on any graph behind the door of one on a tree: `neighbours` are those on the tree."""

    def __init__(self, routing: RoutingBroker, life: int) -> None:
        self.name = routing.name
        self.routing = routing
        self.generic = GenericBroker(routing, life=life)

    @property
    def policy(self) -> Policy:
        return self.routing.policy

    @property
    def neighbours(self) -> tuple[str, ...]:
        return self.routing.neighbours

    @property
    def has_work(self) -> bool:
        return self.routing.has_work

    def link_up(self, neighbour: str, now: float) -> Said:
        return list(self.generic.link_up(neighbour, now))

    def link_down(self, neighbour: str, now: float) -> Said:
        return list(self.generic.link_down(neighbour, now))

    def receive(self, neighbour: str, control: Any, now: float) -> Said:
        return list(self.generic.receive(neighbour, control, now))

    def change(self, changes: Iterable[Change], now: float) -> Said:
        return list(self.routing.change(changes, now))

    def renew(self, client: str, now: float) -> None:
        self.routing.renew(client, now)

    def may_publish(self, client: str, record: AttributeReader) -> bool:
        return self.routing.may_publish(client, record)

    def wakes_at(self) -> float | None:
        return self.routing.wakes_at()

    def tick(self, now: float) -> Said:
        return list(self.routing.tick(now))

    def work(self) -> Said:
        return list(self.routing.work())

    def table(self, neighbour: str, topic: Topic) -> tuple[Entry, ...]:
        return self.routing.table(neighbour, topic)

    def told(self, neighbour: str, topic: Topic) -> tuple[Entry, ...]:
        return self.routing.told(neighbour, topic)

    def route(self, origin: str | None, record: AttributeReader) -> Directions:
        return self.routing.route(origin, record)


class GenericNetwork(Network):
    """Brokers made by `GenericDoor`. What a broker must know of a side is a matter of the tree that they agreed on."""

    def changed(self) -> None:
        """A link that comes may change the tree, and what is on its way on the old one is dropped."""
        Network.changed(self)
        self.failed()

    def is_used(self, pair: Pair) -> bool:
        """Whether both ends hold the link to be in the tree."""
        live = self.live
        return live.keys() >= set(pair) and all(
            other in live[end].neighbours for end, other in (pair, (pair[1], pair[0]))
        )

    def reachable(self, name: str, without: str | None = None) -> set[str]:
        if without is None:
            return super().reachable(name)
        used = [pair for pair in self.wires if self.is_used(pair)]
        return side(name, neighbours(used), without)

    def directions(self, steps: BrokerDoor, origin: str | None, publication: Publication) -> Directions:
        identity = publication.producer, str(publication.number)
        record = self.space.records[publication.event]
        return cast(GenericDoor, steps).generic.route(origin, identity, record)

    def agrees(self) -> bool:
        """Whether the links in use join all that links join, and no two ways lead anywhere."""
        used = [pair for pair in self.wires if self.is_used(pair)]
        parts = {frozenset(side(name, neighbours(used))) for name in self.live}
        joined = {frozenset(super(GenericNetwork, self).reachable(name)) for name in self.live}
        return parts == joined and len(used) == len(self.live) - len(parts)
