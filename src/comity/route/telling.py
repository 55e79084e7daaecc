"""Keeps in step with each other what is wanted, and what each neighbour was told of it, for one topic.

A change is looked at once for each link. What lost its cover waits, and is placed filter by filter, for all links
together, so that what is found out about a filter serves all of them; a link gets one message when nothing waits there.
"""

from __future__ import annotations

from collections.abc import Iterable

from comity.route.choosing.chooser import Chooser
from comity.route.choosing.strategies import chooser
from comity.route.filters import FilterPool, RouteFilter
from comity.route.link import Link, Toward
from comity.route.messages import Outgoing, Topic
from comity.route.policy import Policy, Strategy
from comity.route.wanted import Demand, Held, Holder, Wanted


class Telling:
    """What all neighbours should know about one topic."""

    def __init__(self, topic: Topic, policy: Policy, pool: FilterPool) -> None:
        self.topic = topic
        self.demand = Demand()
        self._policy, self._pool = policy, pool
        self._links: dict[str, tuple[Link, Chooser]] = {}
        self._touched: dict[RouteFilter, None] = {}
        self._queue: dict[RouteFilter, None] = {}
        """What waits at some link, in the order in which it is placed."""
        self._meets = pool.meetings.wanted if policy.advertisements and topic is Topic.SUBSCRIPTIONS else None
        self._counts = policy.strategy is Strategy.SIMPLE
        """Whether it matters how often a filter is wanted."""
        self.watched: dict[RouteFilter, None] | None = None
        """Filters of which somebody looks at who wants them, as they change."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing waits."""
        return not self._queue

    # What is wanted

    def add(self, filter: RouteFilter, holder: Holder) -> None:
        """One more wants the filter."""
        if filter not in self.demand.by_filter and self._meets is not None:
            self._meets.add(filter)
        self._watch(filter)
        if self.demand.add(filter, holder) or self._counts:
            self._touched[filter] = None

    def remove(self, filter: RouteFilter, holder: Holder) -> None:
        """One less wants the filter."""
        self._watch(filter)
        if self.demand.remove(filter, holder) or self._counts:
            self._touched[filter] = None
        if filter not in self.demand.by_filter and self._meets is not None:
            self._meets.remove(filter)

    def _watch(self, filter: RouteFilter) -> None:
        if self.watched is not None:
            self.watched[filter] = None

    def hold(self, held: Held) -> None:
        """A client of the broker takes it up."""
        self.add(held.filter, held.holder)
        self.demand.hold(held)

    def release(self, held: Held) -> None:
        """A client of the broker takes it back."""
        self.demand.release(held)
        self.remove(held.filter, held.holder)

    # Links

    def open(self, link: Link) -> None:
        """Tell a new neighbour all."""
        shown = [filter for _, other in self._links.values() for filter in other.shown()]
        chooser_of_link = chooser(link.name, self._policy, self._pool)
        self._links[link.name] = link, chooser_of_link
        chooser_of_link.postpones = True
        for filter in dict.fromkeys([*shown, *self.demand.by_filter]):  # what covers others comes first
            self._look(link, chooser_of_link, filter)
        chooser_of_link.postpones = False

    def close(self, link: Link) -> None:
        """Tell a neighbour nothing any more."""
        _, gone = self._links.pop(link.name)
        gone.close()

    def reconsider(self, link: Link, filters: Iterable[RouteFilter]) -> None:
        """What the neighbour offers has changed, where these filters are concerned."""
        _, chooser_of_link = self._links[link.name]
        for filter in filters:
            if filter in self.demand.by_filter:
                self._look(link, chooser_of_link, filter)

    def _look(self, link: Link, chooser_of_link: Chooser, filter: RouteFilter) -> None:
        wanted = self.demand.by_filter.get(filter)
        if wanted is not None and self._concerns(link, wanted):
            chooser_of_link.look(wanted)
        else:
            chooser_of_link.forget(filter)
        if chooser_of_link.orphaned:
            self._queue.update(dict.fromkeys(chooser_of_link.orphaned))
            chooser_of_link.orphaned.clear()

    def _concerns(self, link: Link, wanted: Wanted) -> bool:
        """Whether the neighbour should know of it: with advertisements, if something there may match."""
        if self.topic is Topic.ADVERTISEMENTS:
            return link.toward is not Toward.DOWN
        if self._meets is None or link.toward is Toward.UP:
            return True
        return bool(link.offers) and not link.offers.keys().isdisjoint(self._meets.met(wanted.filter))

    # Messages

    def settle(self, limit: int | None = None) -> tuple[Outgoing, int]:
        """The messages to all neighbours at whom nothing waits; at most `limit` filters are placed before."""
        touched, self._touched = self._touched, {}
        for filter in sorted(touched, key=self.demand.by_filter.__contains__):  # what is gone comes first
            for link, chooser_of_link in self._links.values():
                self._look(link, chooser_of_link, filter)
        placed = self._place(limit)
        return [message for link, one in self._links.values() for message in self._message(link, one)], placed

    def _place(self, limit: int | None) -> int:
        placed = 0
        while self._queue and (limit is None or placed < limit):
            filter = next(iter(self._queue))
            del self._queue[filter]
            placed += 1
            for _, chooser_of_link in self._links.values():
                chooser_of_link.place(filter)
        return placed

    def _message(self, link: Link, chooser_of_link: Chooser) -> Outgoing:
        if chooser_of_link.waiting:
            return []
        told = link.told[self.topic]
        changes = chooser_of_link.take_changes()
        if told.begun and not changes:
            return []
        update = told.become(changes)
        return [] if update is None else [(link.name, update)]
