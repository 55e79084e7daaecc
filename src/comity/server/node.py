"""A broker: its routing, its links and clients, and the events that go through it. One event loop does all of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from random import Random
from secrets import token_hex
from typing import TYPE_CHECKING

from comity.errors import ComityError, Misuse
from comity.logs import log
from comity.route.changes import Change, Hold
from comity.route.filters import FilterPool, RouteFilter
from comity.route.messages import Topic
from comity.server.client_session import ClientSession
from comity.server.collecting import ChangeCollector
from comity.server.connection import NodeConnection
from comity.server.control import NodeControl
from comity.server.delivery import BatchDelivery
from comity.server.figures import NodeFigures, code_of
from comity.server.following import Followers
from comity.server.holdings import Holdings
from comity.server.kinds import node_routing
from comity.server.link_session import LinkSession
from comity.server.links import DialedLink, Links
from comity.server.parking import Parking
from comity.server.passing import EventPassing
from comity.server.receivers import CLIENT, EventReceiver, Flow
from comity.server.settings import NodeSettings
from comity.server.status import node_status
from comity.server.topology import NodeOutgoing
from comity.wire import Hello, KeptSubscription, LogPosition, NodeStatus, Welcome

if TYPE_CHECKING:
    from comity.server.ledger import Ledger

_OBSERVE_S = 2.0
_BUSY_S = 1.0
"""Seconds between two ticks from which on the silence of others may be ours."""
Observe = Callable[[NodeStatus], None]
Later = Callable[[ComityError | None], None]


class BrokerNode:
    """The state of a broker, and what changes it. `server.serve` brings sockets and signals to it."""

    def __init__(self, settings: NodeSettings, pool: FilterPool, ledger: Ledger | None = None) -> None:
        self.settings, self.pool, self.ledger = settings, pool, ledger
        self.name = settings.name
        self.instance = token_hex(8)
        self.address = str(settings.listen)
        self.figures = NodeFigures()
        self.links = Links(self.name, may_form_circles=settings.may_form_circles)
        self.clients: dict[str, ClientSession] = {}
        self.receivers: dict[str, EventReceiver] = {}
        self.routing, self.topology, self.matching = node_routing(settings, pool)
        self._followers = Followers(ledger) if ledger is not None else None
        self.delivery = BatchDelivery(self.receivers, ledger, self._lag)
        self.events = EventPassing(self)
        self._holdings = Holdings()
        self.collector = ChangeCollector(self._change)
        self._parking = Parking(self)
        self._loop = asyncio.get_running_loop()
        self.started_at = self._loop.time()
        self._unnamed = 0
        self._is_settling = False
        self.observe: Observe | None = None
        self._observed_at = -_OBSERVE_S
        self._ticked_at = self._loop.time()
        self.chance = Random(self.instance).random
        if ledger is not None:
            self._remember(ledger)

    # What was kept

    def _remember(self, ledger: Ledger) -> None:
        """Those who are away want what they wanted, before anybody can publish."""
        self.delivery.through = ledger.store.last
        for name, position in ledger.taken.items():
            self.links.remember(name, position)
        for key, kept in ledger.kept.items():
            receiver = self._receiver(key)
            receiver.is_durable, receiver.flow = True, Flow.LAGGING
            cursor = ledger.cursors.get(key)
            receiver.looked_at = receiver.acknowledged = cursor.position if cursor is not None else 0
            numbers: list[object] = [int(one) if key.startswith(CLIENT) else one for one in kept]
            holds = [
                Hold(Topic.SUBSCRIPTIONS, key, number, one.filter, True)
                for number, one in zip(numbers, kept.values(), strict=True)
            ]
            self._tell(self.routing.change(self._holdings.changes(holds, self.now), self.now))

    @property
    def now(self) -> float:
        """Seconds of the clock of the loop."""
        return self._loop.time()

    # Clients

    def welcome_client(self, connection: NodeConnection, hello: Hello) -> None:
        """A client is there."""
        name = hello.name or self._free_name()
        old = self.clients.get(name)
        if old is not None:
            old.replaced()
        session = ClientSession(self, name, connection, is_named=bool(hello.name))
        self.clients[name] = session
        connection.listened_by(session)
        kept = self.ledger.kept.get(session.key, {}) if self.ledger is not None else {}
        told = tuple(KeptSubscription(int(one.key), one.filter.text, one.label) for one in kept.values())
        connection.send(self._welcome(connection, name, kept=told))
        self._connect(session.key, connection, hello.taken)
        log("client connected", client=name, durable=len(kept))

    def _free_name(self) -> str:
        self._unnamed += 1
        return f"{self.name}/{self.instance}/{self._unnamed}"

    def client_lost(self, session: ClientSession, why: ComityError | None) -> None:
        """A client has gone, or was replaced by another connection of its own."""
        if self.clients.get(session.name) is not session:
            return
        del self.clients[session.name]
        if why is not None:
            self.figures.refuse(code_of(why))
        log("client gone", client=session.name, code=code_of(why))
        self._disconnect(session.key)
        self.collector.flush()
        self._apply(self._holdings.changes(self._holdings.leaving(session.key), self.now))

    def held(self, client: str, topic: Topic) -> dict[object, Hold]:
        """What a client holds, by number."""
        self._end_leases()
        return self._holdings.of(topic, client)

    def hold(self, changes: Sequence[Change], then: Callable[[], None]) -> None:
        """Make changes soon, and then do something."""
        self.collector.add(self._holdings.changes(changes, self.now), then)

    def keep(self, receiver: str, key: str, filter: RouteFilter, label: str, later: Later) -> None:
        """Keep a subscription in the store."""
        assert self.ledger is not None
        self._receiver(receiver).is_durable = True
        self.ledger.start(_told(self.ledger.keep(receiver, key, filter, label), later))

    def drop(self, receiver: str, key: str) -> None:
        """Keep a subscription no longer, if it was kept."""
        if self.ledger is not None and key in self.ledger.kept.get(receiver, {}):
            self.ledger.start(self.ledger.drop(receiver, key))
            if len(self.ledger.kept.get(receiver, {})) <= 1:
                self._receiver(receiver).is_durable = False

    # Receivers

    def _receiver(self, key: str) -> EventReceiver:
        found = self.receivers.get(key)
        if found is None:
            found = self.receivers[key] = EventReceiver(key)
        return found

    def _connect(self, key: str, connection: NodeConnection, taken: LogPosition | None) -> None:
        receiver = self._receiver(key)
        receiver.connection = connection
        if self.ledger is None or not receiver.is_durable:
            receiver.flow = Flow.LIVE
            return
        if taken is not None and taken.log == self.ledger.store.log:
            position = min(taken.position, self.ledger.store.last)
            receiver.acknowledged = max(receiver.acknowledged, position)
            self.ledger.note(key, position)
        receiver.looked_at = receiver.sent_position = receiver.acknowledged
        self._lag(receiver)

    def _disconnect(self, key: str) -> None:
        receiver = self._receiver(key)
        receiver.gone()
        if self._followers is not None:
            self._followers.leave(receiver)
        if not receiver.is_durable:
            del self.receivers[key]
            self.figures.dropped += receiver.dropped

    def _lag(self, receiver: EventReceiver) -> None:
        if self._followers is not None:
            self._followers.lag(receiver)

    def acknowledged(self, key: str, position: int) -> None:
        """A receiver has everything up to a position of our log."""
        new = self._receiver(key).take_acknowledgement(position)
        if new is not None and self.ledger is not None:
            self.ledger.note(key, new)

    # Links

    def welcome_broker(self, connection: NodeConnection, hello: Hello) -> None:
        """A neighbour has connected to us."""
        welcome = self._welcome(connection, hello.name, taken=self._taken(hello.name, hello.log))
        self._greet(connection, hello, hello.name, welcome)

    def welcomed(self, connection: NodeConnection, welcome: Welcome, dialed: DialedLink) -> None:
        """A peer that we dialed has welcomed us."""
        session = self._greet(connection, welcome, welcome.name, None)
        session.dialed = dialed

    def _greet(
        self, connection: NodeConnection, said: Hello | Welcome, name: str, answer: Welcome | None
    ) -> LinkSession:
        session = LinkSession(
            self,
            name,
            connection,
            instance=said.instance,
            address=said.listens,
            log=said.log,
            taken=said.taken,
        )
        connection.listened_by(session)
        self.links.add(session)
        if answer is not None:
            connection.send(answer)
        session.begin()
        return session

    def link_up(self, session: LinkSession) -> None:
        """A neighbour is there, and does not close a circle."""
        log("link up", neighbour=session.name, address=session.address or "")
        self.collector.flush()
        self._tell(self.topology.link_up(session.name, self.now))
        self._parking.up(session.name)
        self._connect(session.key, session.connection, session.taken)

    def link_lost(self, session: LinkSession, why: ComityError | None) -> None:
        """A link has gone; what is durable is kept for the neighbour."""
        was_counted = self.links.remove(session, why)
        if session.dialed is not None:
            session.dialed.ended_with(why, came_up=session.is_up)
        if why is not None:
            self.figures.refuse(code_of(why))
        log("link lost", level=logging.WARNING, neighbour=session.name, code=code_of(why))
        if not (was_counted and session.is_up):
            return
        self.collector.flush()
        self._disconnect(session.key)
        parked = self._parking.park(session.name)
        self._tell(self.routing.change(self._holdings.changes(parked, self.now), self.now))
        self._tell(self.topology.link_down(session.name, self.now))

    def control(self, session: LinkSession, control: NodeControl) -> None:
        """A neighbour told what it wants, or has."""
        self.collector.flush()
        self._tell(self.topology.receive(session.name, control, self.now))
        released = self._parking.heard(session.name, control)
        if released:
            self._tell(self.routing.change(self._holdings.changes(released, self.now), self.now))

    def _taken(self, name: str, log: str | None) -> LogPosition | None:
        taken = self.links.taken(name)
        return taken if taken is not None and taken.log == log else None

    def _welcome(
        self,
        connection: NodeConnection,
        you: str,
        *,
        taken: LogPosition | None = None,
        kept: tuple[KeptSubscription, ...] = (),
    ) -> Welcome:
        policy = self.settings.policy
        return Welcome(
            name=self.name,
            you=you,
            instance=self.instance,
            window=connection.window,
            listens=self.address,
            strategy=policy.strategy.value,
            advertisements=policy.advertisements,
            log=self.ledger.store.log if self.ledger is not None else None,
            options=self.topology.options,
            taken=taken,
            kept=kept,
            silence_s=self.settings.silence_s,
        )

    # Changes of what is wanted

    def _change(self, changes: list[Change]) -> None:
        self._apply(changes)

    def _apply(self, changes: Sequence[Change]) -> None:
        if changes:
            self._tell(self.routing.change(changes, self.now))

    def _tell(self, outgoing: NodeOutgoing) -> None:
        for neighbour, control in outgoing:
            session = self.links.sessions.get(neighbour)
            if session is not None:
                session.tell(control)
        if self.routing.has_work and not self._is_settling:
            self._is_settling = True
            self._loop.call_soon(self._settle)
        self.events.tell(self.routing.take_notices())

    def _settle(self) -> None:
        """Go on with a change that was too large for one step; events go between."""
        self._is_settling = False
        self._tell(self.routing.work())

    # Time

    def tick(self) -> None:
        """Called several times a second."""
        self._end_leases()
        self.matching.prepare()
        if self.observe is not None and self.now > self._observed_at + _OBSERVE_S:
            self._observed_at = self.now
            self.observe(self.status(0))
        wakes_at = self.routing.wakes_at()
        if wakes_at is not None and wakes_at <= self.now:
            self._tell(self.routing.tick(self.now))
        sessions: list[LinkSession | ClientSession] = [*self.links.sessions.values(), *self.clients.values()]
        was_busy, self._ticked_at = self.now > self._ticked_at + _BUSY_S, self.now
        for session in sessions if not was_busy else ():  # else we have not yet read what they said
            session.connection.watch(self.settings.silence_s)
        for receiver in self.receivers.values():
            receiver.tell_dropped()
            self._move_idle_cursor(receiver)

    def _end_leases(self) -> None:
        overdue = self._holdings.overdue(self.now)
        if overdue:
            self.collector.add(self._holdings.changes(overdue, self.now))

    def _move_idle_cursor(self, receiver: EventReceiver) -> None:
        """Who has acknowledged all that was sent, and gets what is durable as it comes, is at the end of the log."""
        if (
            self.ledger is not None
            and receiver.is_durable
            and receiver.flow is Flow.LIVE
            and receiver.acknowledged >= receiver.sent_position
        ):
            self.ledger.note(receiver.key, max(receiver.looked_at, self.delivery.through))

    # For those who look on

    def status(self, request: int) -> NodeStatus:
        """What the node tells of itself."""
        return node_status(self, request)

    # The end

    async def close(self) -> None:
        """Say goodbye to all, and wait until what was begun to be stored is stored."""
        why = Misuse("the broker stops", code="stopping")
        self.links.close(why)
        for session in list(self.clients.values()):
            session.connection.close(why)
        if self._followers is not None:
            self._followers.close()
        await self.delivery.settle()


async def _told(work: object, later: Later) -> None:
    assert asyncio.iscoroutine(work)
    try:
        await work
    except ComityError as error:
        later(error)
    else:
        later(None)
