"""A broker's routing: what it knows, what it tells its neighbours, and where an event goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from comity.errors import Misuse
from comity.expression.evaluate import AttributeReader
from comity.route.adaptive import LinkFilter
from comity.route.changes import Change, Hold, Leave, Release
from comity.route.clients import Clients
from comity.route.filters import FilterPool, RouteFilter
from comity.route.link import Link, Toward
from comity.route.messages import Control, Entry, Key, Outgoing, Refresh, SendEverything, Topic, Update
from comity.route.notices import RESERVED, Cause, RoutingNotice
from comity.route.policy import Policy, Strategy
from comity.route.telling import Telling
from comity.route.wanted import HERE, Held, Wanted, holder_of

_REFRESHES = 3
"""Times that a lease is refreshed before it would end."""
_TYPE = ("event", "type")


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
    >>> for _, control in one.link_up("other", 0): pass  # to be received by the other one, and the other way round
    >>> [(_, nothing)] = other.link_up("one", 0)
    >>> [(neighbour, update)] = one.subscribe("Ada", 1, pool.read("price > 45"), 0)
    >>> neighbour, [entry.filter.text for entry in update.added]
    ('other', ['price > 45'])
    """

    def __init__(self, name: str, policy: Policy, pool: FilterPool) -> None:
        if not name:
            raise Misuse("a broker needs a name", code="bad-name")
        pool.serve()
        self.name = name
        self.policy = policy
        self.pool = pool
        self._links: dict[str, Link] = {}
        self._clients = Clients()
        self._tellings = {topic: Telling(topic, policy, pool) for topic in Topic}
        self._notices: list[RoutingNotice] = []
        self._about_notices = pool.read(f"event.type starts with '{RESERVED}'")

    @property
    def neighbours(self) -> tuple[str, ...]:
        """Those whose links are up."""
        return tuple(self._links)

    @property
    def has_clients(self) -> bool:
        """Whether any client of the broker holds anything."""
        return bool(self._clients)

    # Links

    def link_up(self, neighbour: str, now: float, toward: Toward = Toward.PEER) -> Outgoing:
        """A link has come up, or came back: the neighbour is told all, and its own step tells us all."""
        if neighbour in self._links or not neighbour:
            raise Misuse(f"the link to {neighbour} is up already", code="duplicate-link")
        link = self._links[neighbour] = Link(neighbour, toward)
        if self.policy.lease_s is not None:
            link.refresh_at = now + self.policy.lease_s / _REFRESHES
        if self.policy.adaptive is not None:
            link.filter = LinkFilter(self.policy.adaptive, now)
        for topic in self._topics():
            self._tellings[topic].open(link)
        return self._settle()

    def link_down(self, neighbour: str, now: float) -> Outgoing:
        """A link is lost, and with it what was heard over it."""
        link = self._link(neighbour)
        for topic in self._topics():
            self._drop(link, topic, list(link.table[topic]), Cause.FAILURE, now)
            self._tellings[topic].close(link)
        del self._links[neighbour]
        return self._settle()

    def _link(self, neighbour: str) -> Link:
        link = self._links.get(neighbour)
        if link is None:
            raise Misuse(f"there is no link to {neighbour}", code="unknown-link")
        return link

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

    def leave(self, client: str, now: float, cause: Cause = Cause.CALL) -> Outgoing:
        """A client takes all back, or was lost."""
        self._apply(Leave(client), now, cause)
        return self._settle()

    def renew(self, client: str, now: float) -> None:
        """The leases of all that a client holds begin anew."""
        self._clients.renew(client, now)

    def change(self, changes: Iterable[Change], now: float) -> Outgoing:
        """Many changes at once: at most one message for each neighbour and topic. A wrong one ends the step there."""
        for change in changes:
            self._apply(change, now, Cause.CALL)
        return self._settle()

    def _apply(self, change: Change, now: float, cause: Cause) -> None:
        match change:
            case Hold(topic, client, key, filter, durable, lease_s):
                held = Held(client, key, filter, durable, lease_s, now)
                self._clients.add(topic, held)
                self._tellings[topic].hold(held)
                self._note(topic, True, client, filter, cause, now)
            case Release(topic, client, key):
                held = self._clients.remove(topic, client, key)
                self._tellings[topic].release(held)
                self._note(topic, False, client, held.filter, cause, now)
            case Leave(client):
                for topic in Topic:
                    for key in list(self._clients.of(topic, client)):
                        self._apply(Release(topic, client, key), now, cause)
            case _:
                assert_never(change)

    def is_held(self, topic: Topic, client: str, key: Key) -> bool:
        """Whether the client subscribes, or advertises, by that key."""
        return key in self._clients.of(topic, client)

    def may_publish(self, client: str, record: AttributeReader) -> bool:
        """Whether a client may publish such an event: none of a reserved type, and with advertisements only its own."""
        if str(record.get(_TYPE)).startswith(RESERVED):
            return False
        if not self.policy.advertisements:
            return True
        return any(held.filter.matches(record) for held in self._clients.of(Topic.ADVERTISEMENTS, client).values())

    # Neighbours

    def receive(self, neighbour: str, control: Control, now: float) -> Outgoing:
        """A neighbour told something."""
        link = self._link(neighbour)
        match control:
            case Update():
                self._take(link, control, now)
            case Refresh(topic):
                self._extend(link, topic, now)
            case SendEverything():
                return [] if link.filter is None else [(neighbour, said) for said in link.filter.take(control, now)]
            case _:
                assert_never(control)
        return self._settle()

    def _take(self, link: Link, update: Update, now: float) -> None:
        """Apply what the neighbour told; what it said before it began anew is old, and is passed over."""
        topic, table = update.topic, link.table[update.topic]
        if update.whole:
            link.heard.add(topic)
        elif topic not in link.heard:
            return
        self._drop(link, topic, list(table) if update.whole else update.removed, Cause.CALL, now)
        for entry in update.added:
            self._drop(link, topic, [entry.number], Cause.CALL, now)
            table[entry.number] = entry
            self._tellings[topic].add(entry.filter, holder_of(link.name, entry))
            self._note(topic, True, link.name, entry.filter, Cause.CALL, now)
            if topic is Topic.ADVERTISEMENTS:
                self._offer(link, entry.filter)
        self._extend(link, topic, now)

    def _drop(self, link: Link, topic: Topic, numbers: Iterable[int], cause: Cause, now: float) -> None:
        table = link.table[topic]
        for number in numbers:
            entry = table.pop(number, None)
            if entry is not None:
                self._tellings[topic].remove(entry.filter, holder_of(link.name, entry))
                self._note(topic, False, link.name, entry.filter, cause, now)
                if topic is Topic.ADVERTISEMENTS:
                    self._withdraw(link, entry.filter)

    def _offer(self, link: Link, filter: RouteFilter) -> None:
        link.offers[filter] += 1
        if link.offers[filter] == 1:
            self.pool.meetings.offered.add(filter)
            self._reconsider(link, filter)

    def _withdraw(self, link: Link, filter: RouteFilter) -> None:
        link.offers[filter] -= 1
        if not link.offers[filter]:
            del link.offers[filter]
            self._reconsider(link, filter)
            self.pool.meetings.offered.remove(filter)

    def _reconsider(self, link: Link, offer: RouteFilter) -> None:
        self._tellings[Topic.SUBSCRIPTIONS].reconsider(link, self.pool.meetings.offered.met(offer))

    def _extend(self, link: Link, topic: Topic, now: float) -> None:
        if self.policy.lease_s is not None:
            link.expires[topic] = now + self.policy.lease_s

    # Time

    def wakes_at(self) -> float | None:
        """When `tick` has something to do next; None: never, unless something else happens."""
        return min(self._deadlines(), default=None)

    def _deadlines(self) -> Iterable[float]:
        ends = self._clients.next_end()
        yield from () if ends is None else (ends,)
        for link in self._links.values():
            if link.refresh_at is not None:
                yield link.refresh_at
            yield from (at for topic, at in link.expires.items() if link.table[topic])
            ready = None if link.filter is None else link.filter.ready_at()
            yield from () if ready is None else (ready,)

    def tick(self, now: float) -> Outgoing:
        """Time has passed: leases end, and those that this broker was given are refreshed."""
        for topic, held in self._clients.ended(now):
            self._apply(Release(topic, held.client, held.key), now, Cause.LEASE)
        for link in self._links.values():
            for topic, at in list(link.expires.items()):
                if at <= now:
                    del link.expires[topic]
                    self._drop(link, topic, list(link.table[topic]), Cause.LEASE, now)
        return self._settle() + self._refreshes(now) + self._adapt(now)

    def _adapt(self, now: float) -> Outgoing:
        return [
            (link.name, said)
            for link in self._links.values()
            for said in (() if link.filter is None else link.filter.decide(now))
        ]

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

    @property
    def has_work(self) -> bool:
        """Whether a change was too large for one step (`Policy.slice`): call `work`, events may go between."""
        return not all(self._tellings[topic].is_settled for topic in self._topics())

    def work(self) -> Outgoing:
        """Go on with what earlier steps left over."""
        return self._settle()

    def _settle(self) -> Outgoing:
        left, found = self.policy.slice, []
        for topic in self._topics():
            messages, placed = self._tellings[topic].settle(left)
            left = None if left is None else max(left - placed, 0)
            found += messages
        return found

    # Events

    def route(self, origin: str | None, record: AttributeReader) -> Directions:
        """Where an event goes that came from a neighbour, or (None) from a client or the broker itself."""
        wanted = self._tellings[Topic.SUBSCRIPTIONS].demand.by_filter
        return self.route_matched(origin, [filter for filter in wanted if filter.matches(record)])

    def route_matched(self, origin: str | None, matched: Iterable[RouteFilter]) -> Directions:
        """The same for an event of which it is known which filters it passes; any others may be among them."""
        clients: dict[str, list[Key]] = {}
        durable_clients: dict[str, None] = {}
        passed: dict[str, bool] = {}
        by_filter = self._tellings[Topic.SUBSCRIPTIONS].demand.by_filter
        for wanted in filter(None, map(by_filter.get, matched)):
            for holder in wanted.holders:
                if holder.origin != HERE:
                    passed[holder.origin] = passed.get(holder.origin, False) or holder.durable
            for held in (wanted.held or {}).values():
                clients.setdefault(held.client, []).append(held.key)
                if held.durable:
                    durable_clients[held.client] = None
        if self.policy.strategy is Strategy.FLOODING:
            passed = dict.fromkeys(self._links, True)
        if self.policy.adaptive is not None:
            self.count(origin, 1, dict.fromkeys(passed, 1), int(bool(clients or passed.keys() - {origin})))
        neighbours = tuple(n for n in self._links if n != origin and (n in passed or self.sends_everything(n)))
        return Directions(
            {client: tuple(keys) for client, keys in clients.items()},
            neighbours,
            tuple(durable_clients),
            tuple(name for name in neighbours if passed.get(name)),
        )

    def count(self, origin: str | None, events: int, passed: Mapping[str, int], wanted: int) -> None:
        """Take note of events that came from one place, for adaptive filtering.

        Of these so many passed what each neighbour wants, and so many were wanted by anybody here or beyond.
        """
        for link in self._links.values():
            if link.filter is not None and link.name == origin:
                link.filter.count_received(events, wanted)
            elif link.filter is not None:
                link.filter.count_sent(events, passed.get(link.name, 0))

    def sends_everything(self, neighbour: str) -> bool:
        """Whether the neighbour gets every event now, whatever it wants."""
        if self.policy.strategy is Strategy.FLOODING:
            return True
        link = self._links[neighbour]
        return link.filter is not None and link.filter.sends_everything

    # For those who look on

    def filters(self, topic: Topic = Topic.SUBSCRIPTIONS) -> tuple[RouteFilter, ...]:
        """All filters that the broker knows of, each once."""
        return tuple(self._tellings[topic].demand.by_filter)

    def wanted(self, filter: RouteFilter) -> Wanted | None:
        """Who wants what passes the filter; None: nobody."""
        return self._tellings[Topic.SUBSCRIPTIONS].demand.by_filter.get(filter)

    def watch(self) -> dict[RouteFilter, None]:
        """The filters that anybody wants; those that somebody begins or ceases to want are added as this happens."""
        telling = self._tellings[Topic.SUBSCRIPTIONS]
        if telling.watched is None:
            telling.watched = dict.fromkeys(telling.demand.by_filter)
        return telling.watched

    def table(self, neighbour: str, topic: Topic) -> tuple[Entry, ...]:
        """What the neighbour told. Who floods takes everything to be wanted, and not to be missed."""
        if self.policy.strategy is Strategy.FLOODING:
            return self._flooded(topic)
        return tuple(self._link(neighbour).table[topic].values())

    def told(self, neighbour: str, topic: Topic) -> tuple[Entry, ...]:
        """What the neighbour was told."""
        if self.policy.strategy is Strategy.FLOODING:
            return self._flooded(topic)
        return tuple(entry for entries in self._link(neighbour).told[topic].entries.values() for entry in entries)

    def _flooded(self, topic: Topic) -> tuple[Entry, ...]:
        return (Entry(0, self.pool.everything, durable=True),) if topic is Topic.SUBSCRIPTIONS else ()

    def take_notices(self) -> list[RoutingNotice]:
        """What has changed since the last call, to be published as events by whoever runs the broker."""
        taken, self._notices = self._notices, []
        return taken

    def _note(self, topic: Topic, come: bool, by: str, filter: RouteFilter, cause: Cause, now: float) -> None:
        """Tell of a change, if the policy says so; who subscribes to such notices is not told of."""
        if self.policy.notices and not self.pool.covers(self._about_notices, filter):
            self._notices.append(RoutingNotice(topic, come, self.name, by, filter, cause, now))
