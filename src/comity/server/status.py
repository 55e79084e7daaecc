"""What a node tells of itself to whoever asks."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from comity.route.messages import Topic
from comity.server.receivers import CLIENT, EventReceiver
from comity.wire import ClientStatus, LinkStatus, NodeStatus

if TYPE_CHECKING:
    from comity.server.link_session import LinkSession
    from comity.server.node import BrokerNode

_MOST_CLIENTS = 1_000


def node_status(node: BrokerNode, request: int) -> NodeStatus:
    """The figures of a node, now."""
    clients = sorted(_clients(node), key=lambda one: -(one.published + one.delivered))
    policy, figures = node.settings.policy, node.figures
    return NodeStatus(
        request=request,
        name=node.name,
        instance=node.instance,
        address=node.address,
        strategy=policy.strategy.value,
        advertisements=policy.advertisements,
        uptime_s=round(node.now - node.started_at, 3),
        links=tuple(_links(node)),
        clients=tuple(clients[:_MOST_CLIENTS]),
        clients_here=len(node.clients),
        events_in=figures.events_in,
        events_out=figures.events_out + sum(receiver.sent for receiver in node.receivers.values()),
        refused=dict(figures.refused),
        cpu_s=round(time.process_time(), 3),
        memory_bytes=_memory_bytes(),
        stored_events=node.ledger.store.last if node.ledger is not None else 0,
        overlay=node.topology.status(),
    )


def _links(node: BrokerNode) -> Iterator[LinkStatus]:
    for session in node.links.up():
        yield _link(node, session, node.receivers[session.key])
    up = {session.name for session in node.links.up()}
    for name, why in node.links.why_down.items():
        if name not in up and name not in {session.address for session in node.links.up()}:
            yield LinkStatus(name=name, is_up=False, why_down=why)


def _link(node: BrokerNode, session: LinkSession, receiver: EventReceiver) -> LinkStatus:
    connection, told = session.connection, node.topology.entries
    return LinkStatus(
        name=session.name,
        address=session.address,
        is_up=True,
        subscriptions=told(session.name, Topic.SUBSCRIPTIONS)[0],
        subscriptions_told=told(session.name, Topic.SUBSCRIPTIONS)[1],
        advertisements=told(session.name, Topic.ADVERTISEMENTS)[0],
        advertisements_told=told(session.name, Topic.ADVERTISEMENTS)[1],
        events_in=session.events_in,
        events_out=receiver.sent,
        bytes_in=connection.received_bytes,
        bytes_out=connection.queue.sent_bytes,
        control_in=session.control_in,
        control_out=session.control_out,
        unwanted=session.unwanted,
        passed_through=receiver.passed_through,
        repeats=session.repeats,
        dropped=receiver.dropped,
        queued_bytes=connection.queue.size_bytes,
        unacknowledged=receiver.sent_position - receiver.acknowledged,
    )


def _clients(node: BrokerNode) -> Iterator[ClientStatus]:
    for key, receiver in node.receivers.items():
        if key.startswith(CLIENT):
            yield _client(node, receiver)


def _client(node: BrokerNode, receiver: EventReceiver) -> ClientStatus:
    session, connection = node.clients.get(receiver.name), receiver.connection
    last = node.ledger.store.last if node.ledger is not None and receiver.is_durable else receiver.acknowledged
    return ClientStatus(
        name=receiver.name,
        is_here=session is not None,
        subscriptions=len(node.held(receiver.key, Topic.SUBSCRIPTIONS)),
        advertisements=len(node.held(receiver.key, Topic.ADVERTISEMENTS)),
        published=session.published if session is not None else 0,
        delivered=receiver.sent,
        dropped=receiver.dropped,
        queued_bytes=connection.queue.size_bytes if connection is not None else 0,
        unacknowledged=max(0, last - receiver.acknowledged),
    )


def _memory_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
