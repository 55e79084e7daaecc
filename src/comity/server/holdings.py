"""What the clients of a node hold, by number, and until when."""

from __future__ import annotations

from collections.abc import Iterable

from comity.route.changes import Change, Hold, Release
from comity.route.messages import Topic


class Holdings:
    """Subscriptions and advertisements as their clients know them, from the moment in which they ask.

    >>> from comity.route.filters import FilterPool
    >>> holdings, price = Holdings(), FilterPool().read("price > 45")
    >>> hold = Hold(Topic.SUBSCRIPTIONS, "client:Ada", 1, price, lease_s=30)
    >>> len(holdings.changes([hold], now=0)), len(holdings.changes([hold], now=10))
    (1, 2)
    >>> [change.key for change in holdings.overdue(now=39)], [change.key for change in holdings.overdue(now=41)]
    ([], [1])
    """

    def __init__(self) -> None:
        self._held: dict[tuple[Topic, str], dict[object, Hold]] = {}
        self._until: dict[tuple[Topic, str, object], float] = {}

    def of(self, topic: Topic, client: str) -> dict[object, Hold]:
        """What one client holds."""
        return self._held.get((topic, client), {})

    def changes(self, asked: Iterable[Change], now: float) -> list[Change]:
        """The changes to make: what a client has already under a number is taken back before."""
        found: list[Change] = []
        for change in asked:
            if isinstance(change, Hold):
                if change.key in self.of(change.topic, change.client):
                    found.append(Release(change.topic, change.client, change.key))
                self._add(change, now)
                # Leases end by our clock, so that nobody takes back what has ended a moment before.
                change = Hold(change.topic, change.client, change.key, change.filter, change.durable)
            elif isinstance(change, Release):
                self._remove(change.topic, change.client, change.key)
            found.append(change)
        return found

    def _add(self, hold: Hold, now: float) -> None:
        self._held.setdefault((hold.topic, hold.client), {})[hold.key] = hold
        self._until.pop((hold.topic, hold.client, hold.key), None)
        if hold.lease_s is not None:
            self._until[hold.topic, hold.client, hold.key] = now + hold.lease_s

    def _remove(self, topic: Topic, client: str, key: object) -> None:
        own = self._held.get((topic, client), {})
        own.pop(key, None)
        if not own:
            self._held.pop((topic, client), None)
        self._until.pop((topic, client, key), None)

    def overdue(self, now: float) -> list[Release]:
        """What is to be taken back because its lease has ended."""
        return [Release(topic, client, key) for (topic, client, key), until in self._until.items() if until <= now]

    def leaving(self, client: str) -> list[Release]:
        """What is to be taken back of a client that has gone: all but its durable subscriptions."""
        return [
            Release(topic, client, key)
            for topic in Topic
            for key, hold in self.of(topic, client).items()
            if not hold.durable
        ]
