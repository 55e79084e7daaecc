"""Who wants which events, in an overlay of types: each event is matched in the tree of its type."""

from __future__ import annotations

from collections.abc import Sequence

from comity.event.formats.jsonlines import Rejected, decode
from comity.route.broker import RoutingBroker
from comity.route.rendezvous.node import RendezvousNode
from comity.server.matching import EventMatching
from comity.server.overlay.topology import type_of
from comity.server.sharing import BatchSharing, Share
from comity.wire import EventBatch, Marks


class TypeMatching:
    """Answers for batches, of whatever types."""

    def __init__(self, routing: RendezvousNode) -> None:
        self._routing = routing
        self._matching: dict[str, tuple[RoutingBroker, EventMatching]] = {}

    def prepare(self) -> None:
        """Called often: takes up changes before the next event comes, and forgets trees that this node has left."""
        for type in list(self._matching):
            found = self._of(type)
            if found is None:
                del self._matching[type]
            else:
                found.prepare()

    def share(self, neighbour: str | None, origin: str, batch: EventBatch) -> BatchSharing:
        """The shares of a batch that came from a neighbour, or (None) from a client."""
        rows: dict[str, list[int]] = {}
        for row, line in enumerate(batch.lines()):
            rows.setdefault(type_of(line), []).append(row)
        if len(rows) == 1:
            return self._share(next(iter(rows)), neighbour, origin, batch)
        parts = [(own, self._share(type, neighbour, origin, batch.take(own))) for type, own in rows.items()]
        return _together(parts)

    def _share(self, type: str, neighbour: str | None, origin: str, batch: EventBatch) -> BatchSharing:
        matching = self._of(type)
        if matching is not None:
            return matching.share(neighbour, origin, batch)
        read = {row: decode(line) for row, line in enumerate(batch.lines())}
        refused = {row: event for row, event in read.items() if isinstance(event, Rejected)}
        return BatchSharing(unwanted=len(batch) - len(refused), refused=refused)

    def _of(self, type: str) -> EventMatching | None:
        """That of the tree as it is now; None: this node takes no part."""
        broker = self._routing.tree(type)
        if broker is None:
            return None
        known = self._matching.get(type)
        if known is None or known[0] is not broker:
            known = self._matching[type] = broker, EventMatching(broker)
        return known[1]


def _together(parts: Sequence[tuple[list[int], BatchSharing]]) -> BatchSharing:
    """The shares of all types; each part was found with rows of its own, which are `rows` in the whole batch."""
    found = BatchSharing()
    shared: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
    for rows, sharing in parts:
        found.unwanted += sharing.unwanted
        found.refused.update((rows[at], why) for at, why in sharing.refused.items())
        for key, share in sharing.shares.items():
            marks = share.marks if share.marks.count else [()] * len(share.rows)
            shared.setdefault(key, []).extend((rows[at], mark) for at, mark in zip(share.rows, marks, strict=True))
    for key, wanted in shared.items():
        wanted.sort()
        rows = [row for row, _ in wanted]
        found.shares[key] = Share(rows, Marks.of([mark for _, mark in wanted])) if wanted[0][1] else Share(rows)
    return found
