"""Brokers with a fault each, as people make them: the suite has to find every one.

A fault is planted at the door of the broker, in what it hears, says or does, so it stays the same fault however the
broker is built inside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from comity.expression.evaluate import AttributeReader
from comity.route.broker import Directions, RoutingBroker
from comity.route.changes import Change, Hold, Leave, Release
from comity.route.filters import FilterPool
from comity.route.messages import Control, Entry, Key, Outgoing, Refresh, Topic, Update
from comity.route.policy import Policy


class SilencedBroker(RoutingBroker):
    """Base of those that keep something to themselves: what they believe to have told is not what they should tell."""

    def __init__(self, name: str, policy: Policy, pool: FilterPool) -> None:
        super().__init__(name, policy, pool)
        self._unsaid: dict[tuple[str, Topic], set[int]] = {}

    def told(self, neighbour: str, topic: Topic) -> tuple[Entry, ...]:
        unsaid = self._unsaid.get((neighbour, topic), set())
        return tuple(entry for entry in super().told(neighbour, topic) if entry.number not in unsaid)

    def link_up(self, neighbour: str, now: float) -> Outgoing:
        for topic in Topic:
            self._unsaid.pop((neighbour, topic), None)
        return super().link_up(neighbour, now)

    def withhold(self, neighbour: str, update: Update, entries: Iterable[Entry]) -> Update:
        """The update without some of its entries; they are not taken back later, either."""
        gone = {entry.number for entry in entries}
        unsaid = self._unsaid.setdefault((neighbour, update.topic), set())
        unsaid |= gone
        added = tuple(entry for entry in update.added if entry.number not in gone)
        return replace(update, added=added, removed=tuple(one for one in update.removed if one not in unsaid))


class ForgetsLocalClients(SilencedBroker):
    """When a neighbour cancels, what it covered is told again for neighbours only: the seed's wording."""

    def change(self, changes: Iterable[Change], now: float) -> Outgoing:
        listed = list(changes)
        held = self.__dict__.setdefault("_local", {})
        for change in listed:
            if isinstance(change, Hold):
                held[change.topic, change.client, change.key] = change.filter.text
        return super().change(listed, now)

    def receive(self, neighbour: str, control: Control, now: float) -> Outgoing:
        own = set(self.__dict__.get("_local", {}).values())
        return [
            (to, self.withhold(to, said, [entry for entry in said.added if entry.filter.text in own]))
            if isinstance(said, Update) and said.removed
            else (to, said)
            for to, said in super().receive(neighbour, control, now)
        ]


class CancelsFirst(RoutingBroker):
    """Cancels in one message, and tells what was hidden in the next one."""

    def change(self, changes: Iterable[Change], now: float) -> Outgoing:
        return _in_two(super().change(changes, now))

    def receive(self, neighbour: str, control: Control, now: float) -> Outgoing:
        return _in_two(super().receive(neighbour, control, now))


def _in_two(outgoing: Outgoing) -> Outgoing:
    found: Outgoing = []
    for to, said in outgoing:
        if isinstance(said, Update) and said.added and said.removed and not said.whole:
            found += [(to, replace(said, added=())), (to, replace(said, removed=()))]
        else:
            found.append((to, said))
    return found


class TakesEqualFiltersForOne(RoutingBroker):
    """Two subscriptions of a client with one text are one to it: who cancels one cancels both."""

    def change(self, changes: Iterable[Change], now: float) -> Outgoing:
        held: dict[tuple[Topic, str, Key], str] = self.__dict__.setdefault("_texts", {})
        kept: list[Change] = []
        for change in changes:
            match change:
                case Hold(topic, client, key, filter):
                    held[topic, client, key] = filter.text
                    kept.append(change)
                case Release(topic, client, key):
                    text = held.pop((topic, client, key), None)
                    equal = [name for name, other in held.items() if name[:2] == (topic, client) and other == text]
                    for name in equal:
                        del held[name]
                    if text is not None:
                        kept += [change, *(Release(*name) for name in equal)]
                case Leave(client):
                    for name in [name for name in held if name[1] == client]:
                        del held[name]
                    kept.append(change)
        return super().change(kept, now)


class RemovesEqualEntries(RoutingBroker):
    """Its tables are keyed by text: a neighbour that takes one of two equal filters back loses both."""

    def receive(self, neighbour: str, control: Control, now: float) -> Outgoing:
        if isinstance(control, Update) and not control.whole:
            table = self.table(neighbour, control.topic)
            gone = {entry.filter.text for entry in table if entry.number in control.removed}
            equal = tuple(entry.number for entry in table if entry.filter.text in gone)
            control = replace(control, removed=equal)
        return super().receive(neighbour, control, now)


class TellsTheOrigin(RoutingBroker):
    """Makes one set of filters for all neighbours, so each is told what it wants itself."""

    def receive(self, neighbour: str, control: Control, now: float) -> Outgoing:
        outgoing = super().receive(neighbour, control, now)
        echoed: dict[str, int] = self.__dict__.setdefault("_echoed", {})
        if isinstance(control, Update) and control.topic is Topic.SUBSCRIPTIONS:
            new = [entry.filter for entry in control.added if entry.filter.text not in echoed]
            echoed.update((filter.text, 1_000_000 + len(echoed)) for filter in new)
            entries = tuple(Entry(echoed[filter.text], filter) for filter in new)
            outgoing += [(neighbour, Update(Topic.SUBSCRIPTIONS, entries))] if entries else []
        return outgoing


class ForgetsToTellNewPublishers(SilencedBroker):
    """An advertisement that comes makes no subscription go there."""

    def receive(self, neighbour: str, control: Control, now: float) -> Outgoing:
        outgoing = super().receive(neighbour, control, now)
        if not (isinstance(control, Update) and control.topic is Topic.ADVERTISEMENTS and control.added):
            return outgoing
        return [
            (to, self.withhold(to, said, said.added) if isinstance(said, Update) and to == neighbour else said)
            for to, said in outgoing
        ]


class ForgetsToAdvertiseAgain(SilencedBroker):
    """When an advertisement is taken back, those that it covered are not told."""

    def receive(self, neighbour: str, control: Control, now: float) -> Outgoing:
        return self._without_advertisements(super().receive(neighbour, control, now))

    def change(self, changes: Iterable[Change], now: float) -> Outgoing:
        return self._without_advertisements(super().change(changes, now))

    def _without_advertisements(self, outgoing: Outgoing) -> Outgoing:
        return [
            (to, self.withhold(to, said, said.added))
            if isinstance(said, Update) and said.topic is Topic.ADVERTISEMENTS and said.removed
            else (to, said)
            for to, said in outgoing
        ]


class KeepsStaleLeases(RoutingBroker):
    """Refreshes what it told, and never ends what it was told."""

    _refresh_at = 0.0

    def wakes_at(self) -> float | None:
        return self._refresh_at

    def tick(self, now: float) -> Outgoing:
        self._refresh_at = now + (self.policy.lease_s or 1.0) / 3
        return [(to, Refresh(topic)) for to in self.neighbours for topic in Topic]


class DoesNotRefresh(RoutingBroker):
    """What it told ends with its lease, though it still stands."""

    def tick(self, now: float) -> Outgoing:
        return [(to, said) for to, said in super().tick(now) if not isinstance(said, Refresh)]


class KeepsWhatALostNeighbourTold(RoutingBroker):
    """A lost link changes nothing for the others."""

    def link_down(self, neighbour: str, now: float) -> Outgoing:
        super().link_down(neighbour, now)
        return []


class SaysNothingWhenALinkComesBack(SilencedBroker):
    """A link that comes up is told later changes only."""

    def link_up(self, neighbour: str, now: float) -> Outgoing:
        return [
            (to, self.withhold(to, said, said.added) if isinstance(said, Update) else said)
            for to, said in super().link_up(neighbour, now)
        ]


class SendsBack(RoutingBroker):
    """Events go back to where they came from, if that side wants them, too. (A few: they would never end.)"""

    _sent_back = 0

    def route(self, origin: str | None, record: AttributeReader) -> Directions:
        route = super().route(origin, record)
        back = super().route(None, record).neighbours
        if origin not in back or self._sent_back > 3:
            return route
        self._sent_back += 1
        return replace(route, neighbours=back)


class DeliversForOneSubscriptionOnly(RoutingBroker):
    """A client with two subscriptions that match gets the event for the first one."""

    def route(self, origin: str | None, record: AttributeReader) -> Directions:
        route = super().route(origin, record)
        return replace(route, clients={client: keys[:1] for client, keys in route.clients.items()})
