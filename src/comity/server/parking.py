"""Neighbours that are away: what they want durably still stands, and waits for them in the log."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from comity.route.changes import Change, Hold, Release
from comity.route.filters import RouteFilter
from comity.route.messages import Topic, Update
from comity.server.control import NodeControl
from comity.server.receivers import LINK

if TYPE_CHECKING:
    from comity.server.node import BrokerNode

_KEY_BYTES = 16


class Parking:
    """Keeps in the store what neighbours want durably, and holds it in their place while they are away."""

    def __init__(self, node: BrokerNode) -> None:
        self._node = node

    def up(self, name: str) -> None:
        """A neighbour is there. Who floods says nothing, and wants everything."""
        if self._node.ledger is not None:
            self._keep(name, self._wanted(name), is_all=False)

    def heard(self, name: str, control: NodeControl) -> list[Change]:
        """A neighbour has told what it wants. Gives what is to be taken back of what was held in its place."""
        if self._node.ledger is None or not isinstance(control, Update) or control.topic is not Topic.SUBSCRIPTIONS:
            return []
        kept = self._node.ledger.kept.get(LINK + name, {})
        if control.whole or kept or any(entry.durable for entry in control.added):
            self._keep(name, self._wanted(name), is_all=True)
        if not control.whole:
            return []
        held = self._node.held(LINK + name, Topic.SUBSCRIPTIONS)
        return [Release(Topic.SUBSCRIPTIONS, LINK + name, key) for key in held]

    def park(self, name: str) -> list[Change]:
        """A neighbour goes. Gives what is to be held in its place; what was held before still is."""
        if self._node.ledger is None:
            return []
        held = self._node.held(LINK + name, Topic.SUBSCRIPTIONS)
        wanted = self._wanted(name).items()
        return [Hold(Topic.SUBSCRIPTIONS, LINK + name, key, one, True) for key, one in wanted if key not in held]

    def _wanted(self, name: str) -> dict[str, RouteFilter]:
        table = self._node.routing.table(name, Topic.SUBSCRIPTIONS)
        return {_key(entry.filter): entry.filter for entry in table if entry.durable}

    def _keep(self, name: str, wanted: dict[str, RouteFilter], *, is_all: bool) -> None:
        ledger, receiver = self._node.ledger, LINK + name
        if ledger is None:
            return
        kept = ledger.kept.get(receiver, {})
        for key in [key for key in kept if is_all and key not in wanted]:
            self._node.drop(receiver, key)
        for key, filter in wanted.items():
            if key not in kept:
                self._node.keep(receiver, key, filter, "", lambda error: None)


def _key(filter: RouteFilter) -> str:
    return blake2b(filter.text.encode(), digest_size=_KEY_BYTES).hexdigest()
