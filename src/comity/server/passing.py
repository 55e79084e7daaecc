"""Events as they come to a node: from clients, who may be refused some, from neighbours, and its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING

from comity.errors import ComityError
from comity.event.event import Event
from comity.event.formats.jsonlines import encode
from comity.route.notices import RoutingNotice
from comity.server.client_session import ClientSession
from comity.server.delivery import Origin, Passing
from comity.server.intake import incoming
from comity.server.link_session import LinkSession
from comity.server.objections import RefusedLine, objections, refused
from comity.server.sharing import BatchSharing
from comity.wire import EventBatch, Frame, LogPosition

if TYPE_CHECKING:
    from comity.server.node import BrokerNode

_NOTICES = 1_000
"""Notices that are published at once at the most."""


class EventPassing:
    """Finds out who wants which events, and gives them on."""

    def __init__(self, node: BrokerNode) -> None:
        self._node = node
        self._untold: list[RoutingNotice] = []
        self._told = 0
        self._is_telling = False

    def tell(self, notices: Iterable[RoutingNotice]) -> None:
        """Publish soon who subscribed and advertised."""
        self._untold += notices
        if self._untold and not self._is_telling:
            self._is_telling = True
            asyncio.get_running_loop().call_soon(self._publish_notices)

    def _publish_notices(self) -> None:
        """Events about subscriptions and advertisements, for whoever subscribes to them."""
        self._is_telling = False
        notices, self._untold = self._untold, []
        events: list[Event] = []
        for notice in notices[:_NOTICES]:
            self._told += 1
            id, at = f"{self._node.instance}-{self._told}", datetime.now(UTC)
            events.append(Event(id, f"/comity/brokers/{self._node.name}", notice.type, at, dict(notice.data())))
        if events:
            batch, own = EventBatch.of([encode(event) for event in events]), _OwnOrigin()
            self._node.delivery.take(own, Passing(batch, self._share(own, batch)))

    def publish(self, session: ClientSession, frames: list[Frame]) -> None:
        """A client publishes."""
        for one in incoming(frames):
            objected = objections(one.batch, self._may_publish(session.key))
            bad = {refusal.row for refusal in objected}
            rows = [row for row in range(len(one.batch)) if row not in bad] if bad else range(len(one.batch))
            batch = one.batch.take(rows) if bad else one.batch
            self._node.topology.news(None, batch)  # what a client publishes goes on, but does not come back
            sharing = self._share(session, batch)
            session.published += len(rows) - len(sharing.refused)
            rejected = [refused(rows[at], why) for at, why in sharing.refused.items()]
            self._refuse(session, one.position, objected, rejected)
            self._node.delivery.take(session, Passing(batch, sharing, one.position, one.size))

    def _refuse(self, session: ClientSession, position: int, *refusals: list[RefusedLine]) -> None:
        found = sorted(chain.from_iterable(refusals))
        for refusal in found:
            self._node.figures.refuse(refusal.code)
        if found:
            session.refuse_events(position, found)

    def _may_publish(self, client: str) -> Callable[[Event], bool] | None:
        if not self._node.settings.policy.advertisements:
            return None
        self._node.collector.flush()
        return lambda event: self._node.routing.may_publish(client, event)

    def forward(self, session: LinkSession, frames: list[Frame]) -> None:
        """A neighbour sends events."""
        last = max(session.heard_position, self._node.links.position_of(session))
        for one in incoming(frames, last):
            session.events_in += len(one.batch)
            if one.is_repeat:
                session.heard_again(one)
                continue
            session.heard_position = max(session.heard_position, one.position)
            batch = self._node.topology.news(session.name, one.batch)
            session.repeats += len(one.batch) - len(batch)
            sharing = self._share(session, batch)
            self._node.delivery.take(session, Passing(batch, sharing, one.position, one.size))
            for rejected in sharing.refused.values():
                self._node.figures.refuse(rejected.faults[0].code)
            session.unwanted += sharing.unwanted

    def _share(self, origin: Origin, batch: EventBatch) -> BatchSharing:
        self._node.figures.events_in += len(batch)
        neighbour = origin.name if isinstance(origin, LinkSession) else None
        sharing = self._node.matching.share(neighbour, origin.key, batch)
        self._node.figures.unwanted += sharing.unwanted
        return sharing


class _OwnOrigin:
    """The origin of what the node itself publishes."""

    key = ""

    def finished(self, passing: Passing) -> None: ...

    def failed(self, passing: Passing, error: ComityError) -> None: ...

    def taken_with(self, position: int) -> tuple[tuple[str, LogPosition], ...]:
        return ()
