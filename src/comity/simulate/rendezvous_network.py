"""A network whose nodes form a rendezvous overlay, in the place of one whose brokers route along one tree."""

from __future__ import annotations

from typing import cast

from comity.route.broker import Directions
from comity.route.messages import Topic
from comity.route.rendezvous.node import RendezvousNode
from comity.simulate.deliveries import Publication
from comity.simulate.door import BrokerDoor
from comity.simulate.network import Network
from comity.simulate.space import Events
from comity.simulate.topology import Pair

_TYPE = ("event", "type")


class RendezvousNetwork(Network):
    """Nodes that are `RendezvousNode`s. What a node must know is a matter of the tree of each type."""

    def changed(self) -> None:
        """A link that comes may change trees, and what is on its way on the old ones is dropped."""
        Network.changed(self)
        self.failed()

    def nodes(self) -> dict[str, RendezvousNode]:
        """Those that are neither down nor hang."""
        return {name: cast(RendezvousNode, steps) for name, steps in self.live.items()}

    def is_used(self, pair: Pair) -> bool:
        """Links as such carry nothing but what is told of links; those of trees are looked at tree by tree."""
        return False

    def types(self) -> dict[str, Events]:
        """The types of the events of the space, each with its events."""
        found: dict[str, Events] = {}
        for number, record in enumerate(self.space.records):
            type = str(record[_TYPE])
            found[type] = found.get(type, 0) | 1 << number
        return found

    def wished(self, among: set[str], topic: Topic, events: Events) -> Events:
        """Of these events, those that clients of these nodes wish for."""
        return self.space.union(self.truth.at(among, topic)) & events

    def directions(self, steps: BrokerDoor, origin: str | None, publication: Publication) -> Directions:
        identity = publication.producer, str(publication.number)
        return cast(RendezvousNode, steps).route(origin, identity, self.space.records[publication.event])

    def stream(self, client: str, event: int) -> str:
        """Events of different types go along different trees, and may overtake each other."""
        return f"{client} of {self.space.records[event][_TYPE]}"
