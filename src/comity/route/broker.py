"""A broker's routing: what it knows, what it tells its neighbours, and where an event goes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from comity.errors import Misuse
from comity.expression.evaluate import AttributeReader
from comity.route.changes import Change, Hold, Leave, Release
from comity.route.choice import Interest, choose
from comity.route.clients import Clients, Held
from comity.route.filters import FilterPool, RouteFilter
from comity.route.link import Link
from comity.route.messages import Control, Entry, Key, Outgoing, Refresh, SendEverything, Topic, Update
from comity.route.notices import Cause, RoutingNotice
from comity.route.policy import Policy, Strategy

_REFRESHES = 3
"""Times that a lease is refreshed before it would end."""


@dataclass(frozen=True, slots=True)
class Directions:
    """Where one event goes."""

    clients: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)
    """The clients of this broker that get it, each with its subscriptions that match."""
    neighbours: tuple[str, ...] = ()
    durable_clients: tuple[str, ...] = ()
    """Those of the clients that must not miss it."""
    durable_neighbours: tuple[str, ...] = ()
    """Those of the neighbours with somebody behind them who must not miss it."""

    @property
    def durable(self) -> bool:
        """Whether it must be kept until it was taken."""
        return bool(self.durable_clients or self.durable_neighbours)


class RoutingBroker:
    """One broker of a network. Every step gives the messages that it causes, with the neighbours that get them.

    Messages to one neighbour have to arrive in the order in which they were given, and before events that are routed
    later. `now` is any clock in seconds that does not run backwards.

    >>> pool = FilterPool()
    >>> one, other = RoutingBroker("one", Policy(), pool), RoutingBroker("other", Policy(), pool)
    >>> for control in [c for _, c in one.link_up("other", 0)]: pass
    >>> for control in [c for _, c in other.link_up("one", 0)]: pass
    >>> [(neighbour, update)] = one.subscribe("Ada", 1, pool.read("price > 45"), 0)
    >>> neighbour, [entry.filter.text for entry in update.added]
    ('other', ['price > 45'])
    >>> _ = other.receive("one", update, 0)
    >>> other.route(None, {("price",): 50}).neighbours
    ('one',)
    """

    def __init__(self, name: str, policy: Policy, pool: FilterPool) -> None:
        self.name = name
        self.policy = policy
        self.pool = pool
        self._links: dict[str, Link] = {}
        self._clients = Clients()
        self._notices: list[RoutingNotice] = []

    @property
    def neighbours(self) -> tuple[str, ...]:
        """Those whose links are up."""
        return tuple(self._links)

    # Links

    def link_up(self, neighbour: str, now: float) -> Outgoing:
        """A link has come up, or came back: the neighbour is told all, and is asked to do the same by its own step."""
        if neighbour in self._links:
            raise Misuse(f"the link to {neighbour} is up already", code="duplicate-link")
        link = self._links[neighbour] = Link(neighbour)
        if self.policy.lease_s is not None:
            link.refresh_at = now + self.policy.lease_s / _REFRESHES
        return [(neighbour, update) for topic in self._topics() for update in self._tell(link, topic, whole=True)]

    def link_down(self, neighbour: str, now: float) -> Outgoing:
        """A link is lost, and with it what was heard over it."""
        link = self._links.pop(neighbour, None)
        if link is None:
            raise Misuse(f"there is no link to {neighbour}", code="unknown-link")
        for topic in self._topics():
            for entry in link.table[topic].values():
                self._note(topic, False, neighbour, entry.filter, Cause.FAILURE, now)
        return self._tell_all()

    # Clients

    def subscribe(
        self,
        client: str,
        key: Key,
        filter: RouteFilter,
        now: float,
        *,
        durable: bool = False,
        lease_s: float | None = None,
    ) -> Outgoing:
        """A client wants what passes the filter; it ends with its lease, unless `renew` is called before."""
        return self.change([Hold(Topic.SUBSCRIPTIONS, client, key, filter, durable, lease_s)], now)

    def unsubscribe(self, client: str, key: Key, now: float) -> Outgoing:
        """A client takes one of its subscriptions back."""
        return self.change([Release(Topic.SUBSCRIPTIONS, client, key)], now)

    def advertise(
        self, client: str, key: Key, filter: RouteFilter, now: float, *, lease_s: float | None = None
    ) -> Outgoing:
        """A client will publish events that pass the filter."""
        return self.change([Hold(Topic.ADVERTISEMENTS, client, key, filter, lease_s=lease_s)], now)

    def unadvertise(self, client: str, key: Key, now: float) -> Outgoing:
        """A client takes one of its advertisements back."""
        return self.change([Release(Topic.ADVERTISEMENTS, client, key)], now)

    def leave(self, client: str, now: float) -> Outgoing:
        """A client takes all back."""
        return self.change([Leave(client)], now)

    def renew(self, client: str, now: float) -> None:
        """The leases of all that a client holds begin anew."""
        for topic in Topic:
            for held in self._clients.of(topic, client).values():
                held.expires = None if held.lease_s is None else now + held.lease_s

    def change(self, changes: Iterable[Change], now: float) -> Outgoing:
        """Many changes at once: at most one message for each neighbour and topic."""
        for change in changes:
            self._apply(change, now, Cause.CALL)
        return self._tell_all()

    def _apply(self, change: Change, now: float, cause: Cause) -> None:
        match change:
            case Hold(topic, client, key, filter, durable, lease_s):
                held = Held(filter, durable, lease_s, None if lease_s is None else now + lease_s)
                self._clients.add(topic, client, key, held)
                self._note(topic, True, client, filter, cause, now)
            case Release(topic, client, key):
                held = self._clients.remove(topic, client, key)
                self._note(topic, False, client, held.filter, cause, now)
            case Leave(client):
                for topic in Topic:
                    for key in list(self._clients.of(topic, client)):
                        self._apply(Release(topic, client, key), now, cause)
            case _:
                assert_never(change)

    def may_publish(self, client: str, record: AttributeReader) -> bool:
        """Whether the client advertised such an event; with advertisements off, anybody may publish anything."""
        if not self.policy.advertisements:
            return True
        return any(held.filter.matches(record) for held in self._clients.of(Topic.ADVERTISEMENTS, client).values())

    # Neighbours

    def receive(self, neighbour: str, control: Control, now: float) -> Outgoing:
        """A neighbour told something."""
        link = self._links.get(neighbour)
        if link is None:
            raise Misuse(f"there is no link to {neighbour}", code="unknown-link")
        match control:
            case Update():
                self._take(link, control, now)
                return self._tell_all()
            case Refresh(topic):
                self._extend(link, topic, now)
                return []
            case SendEverything():
                link.sends_everything = control.on
                return []
            case _:
                assert_never(control)

    def _take(self, link: Link, update: Update, now: float) -> None:
        table = link.table[update.topic]
        removed = list(table) if update.whole else [number for number in update.removed if number in table]
        for number in removed:
            self._note(update.topic, False, link.name, table.pop(number).filter, Cause.CALL, now)
        for entry in update.added:
            table[entry.number] = entry
            self._note(update.topic, True, link.name, entry.filter, Cause.CALL, now)
        self._extend(link, update.topic, now)

    def _extend(self, link: Link, topic: Topic, now: float) -> None:
        if self.policy.lease_s is not None:
            link.expires[topic] = now + self.policy.lease_s

    # Time

    def wakes_at(self) -> float | None:
        """When `tick` has something to do next; None: never, unless something else happens."""
        return min(self._deadlines(), default=None)

    def _deadlines(self) -> Iterable[float]:
        for link in self._links.values():
            if link.refresh_at is not None:
                yield link.refresh_at
            yield from (at for topic, at in link.expires.items() if link.table[topic])
        for topic in Topic:
            yield from (held.expires for _, _, held in self._clients.all(topic) if held.expires is not None)

    def tick(self, now: float) -> Outgoing:
        """Time has passed: leases end, and those that this broker was given are refreshed."""
        for topic in Topic:
            due = [
                (c, k) for c, k, held in self._clients.all(topic) if held.expires is not None and held.expires <= now
            ]
            for client, key in due:
                self._apply(Release(topic, client, key), now, Cause.LEASE)
        for link in self._links.values():
            self._expire(link, now)
        return self._tell_all() + self._refreshes(now)

    def _expire(self, link: Link, now: float) -> None:
        for topic, at in list(link.expires.items()):
            if at <= now:
                del link.expires[topic]
                for entry in link.table[topic].values():
                    self._note(topic, False, link.name, entry.filter, Cause.LEASE, now)
                link.table[topic].clear()

    def _refreshes(self, now: float) -> Outgoing:
        found: Outgoing = []
        for link in self._links.values():
            if link.refresh_at is not None and link.refresh_at <= now and self.policy.lease_s is not None:
                link.refresh_at = now + self.policy.lease_s / _REFRESHES
                found += [(link.name, Refresh(topic)) for topic in self._topics()]
        return found

    # The rule

    def _topics(self) -> tuple[Topic, ...]:
        if self.policy.strategy is Strategy.FLOODING:
            return ()
        return (Topic.ADVERTISEMENTS, Topic.SUBSCRIPTIONS) if self.policy.advertisements else (Topic.SUBSCRIPTIONS,)

    def _tell_all(self) -> Outgoing:
        return [
            (link.name, update)
            for topic in self._topics()
            for link in self._links.values()
            for update in self._tell(link, topic)
        ]

    def _tell(self, link: Link, topic: Topic, *, whole: bool = False) -> list[Update]:
        chosen = choose(self._wanted(link, topic), self.policy, self.pool)
        update = link.told[topic].become(chosen, whole=whole)
        return [] if update is None else [update]

    def _wanted(self, link: Link, topic: Topic) -> dict[Hashable, Interest]:
        """What others than the neighbour want, by who wants it; with advertisements, only what it may publish."""
        found: dict[Hashable, Interest] = {
            (client, key, "client"): Interest(held.filter, held.durable)
            for client, key, held in self._clients.all(topic)
        }
        for other in self._links.values():
            if other is not link:
                for entry in other.table[topic].values():
                    found[other.name, entry.number, "neighbour"] = Interest(entry.filter, entry.durable, entry.lost)
        if topic is Topic.SUBSCRIPTIONS and self.policy.advertisements:
            offers = [entry.filter for entry in link.table[Topic.ADVERTISEMENTS].values()]
            found = {k: i for k, i in found.items() if any(self.pool.overlaps(i.filter, offer) for offer in offers)}
        return found

    # Events

    def route(self, origin: str | None, record: AttributeReader) -> Directions:
        """Where an event goes that came from a neighbour, or (None) from a client or the broker itself."""
        clients: dict[str, list[Key]] = {}
        durable_clients: dict[str, None] = {}
        for client, key, held in self._clients.all(Topic.SUBSCRIPTIONS):
            if held.filter.matches(record):
                clients.setdefault(client, []).append(key)
                if held.durable:
                    durable_clients[client] = None
        neighbours, durable = self._directions(origin, record)
        keys = {client: tuple(keys) for client, keys in clients.items()}
        return Directions(keys, tuple(neighbours), tuple(durable_clients), tuple(durable))

    def _directions(self, origin: str | None, record: AttributeReader) -> tuple[list[str], list[str]]:
        neighbours, durable = [], []
        for link in self._links.values():
            if link.name == origin:
                continue
            matching = [entry for entry in self.table(link.name, Topic.SUBSCRIPTIONS) if entry.filter.matches(record)]
            if matching or link.sends_everything:
                neighbours.append(link.name)
            if any(entry.durable for entry in matching):
                durable.append(link.name)
        return neighbours, durable

    # For those who look on

    def table(self, neighbour: str, topic: Topic) -> tuple[Entry, ...]:
        """What the neighbour told. Who floods takes everything to be wanted, durably."""
        if self.policy.strategy is Strategy.FLOODING:
            return (Entry(0, self.pool.everything, durable=True),) if topic is Topic.SUBSCRIPTIONS else ()
        return tuple(self._links[neighbour].table[topic].values())

    def told(self, neighbour: str, topic: Topic) -> tuple[Entry, ...]:
        """What the neighbour was told."""
        if self.policy.strategy is Strategy.FLOODING:
            return (Entry(0, self.pool.everything, durable=True),) if topic is Topic.SUBSCRIPTIONS else ()
        return tuple(self._links[neighbour].told[topic].entries.values())

    def take_notices(self) -> list[RoutingNotice]:
        """What has changed since the last call, to be published as events by whoever runs the broker."""
        taken, self._notices = self._notices, []
        return taken

    def _note(self, topic: Topic, come: bool, by: str, filter: RouteFilter, cause: Cause, now: float) -> None:
        self._notices.append(RoutingNotice(topic, come, self.name, by, filter, cause, now))
