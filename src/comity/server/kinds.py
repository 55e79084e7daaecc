"""The kinds of networks that a node may be part of, each with what routes, keeps the topology, and matches."""

from __future__ import annotations

import time

from comity.route.broker import RoutingBroker
from comity.route.filters import FilterPool
from comity.route.rendezvous.node import RendezvousNode
from comity.server.matching import EventMatching
from comity.server.overlay.matching import TypeMatching
from comity.server.overlay.topology import TypeTopology
from comity.server.settings import NodeSettings
from comity.server.topology import Circles, NodeTopology, Tree

NodeRouting = RoutingBroker | RendezvousNode
NodeMatching = EventMatching | TypeMatching


def node_routing(settings: NodeSettings, pool: FilterPool) -> tuple[NodeRouting, NodeTopology, NodeMatching]:
    """What a node of these settings is made of."""
    if settings.overlay is not None:
        overlay = RendezvousNode(settings.name, settings.policy, pool, life=time.time_ns())
        return overlay, TypeTopology(overlay), TypeMatching(overlay)
    routing = RoutingBroker(settings.name, settings.policy, pool)
    return routing, Circles(routing) if settings.is_generic else Tree(routing), EventMatching(routing)
