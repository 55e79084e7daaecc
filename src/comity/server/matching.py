"""Who wants which events: one by one while that is little work, by the indexes of `route.matching` from then on.

The compiled code of the indexes takes seconds to load. It does so in a thread, and events go on meanwhile.
"""

from __future__ import annotations

import logging
import threading

import numpy as np

from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, decode
from comity.logs import log
from comity.route.broker import Directions, RoutingBroker
from comity.route.filters import FilterPool
from comity.route.matching import SINGLY, BatchDirections, BatchMatcher
from comity.route.policy import Policy
from comity.server.sharing import BatchSharing, gathered, shared
from comity.wire import EventBatch

_MANY = 100
"""Filters with which indexes are loaded before there are events."""
_PATIENCE = 20_000
"""Tests of single events by single filters, some ten milliseconds of them, after which indexes are loaded."""


class EventMatching:
    """Answers for batches."""

    def __init__(self, routing: RoutingBroker) -> None:
        self._routing = routing
        self._matcher: BatchMatcher | None = None
        self._tests = 0
        self._loading: threading.Thread | None = None
        self._is_loaded = False

    def share(self, neighbour: str | None, origin: str, batch: EventBatch) -> BatchSharing:
        """The shares of a batch that came from a neighbour, or (None) from a client."""
        matcher = self._followed()
        if matcher is None:
            return shared(self._singly(neighbour, batch), origin)
        if len(batch) < SINGLY:
            return shared(matcher.match(neighbour, batch.lines()), origin)
        return shared(matcher.match_text(neighbour, batch.text, batch.offsets.astype(np.int64)), origin)

    def _singly(self, neighbour: str | None, batch: EventBatch) -> BatchDirections:
        directions: dict[int, Directions] = {}
        refused: dict[int, Rejected] = {}
        for row, line in enumerate(batch.lines()):
            event = decode(line)
            if isinstance(event, Event):
                directions[row] = self._routing.route(neighbour, event)
            else:
                refused[row] = event
        self._tests += len(batch) * max(1, len(self._routing.filters()))
        self.prepare()
        return gathered(directions, len(batch), refused)

    def _followed(self) -> BatchMatcher | None:
        """The indexes, with all that is wanted now; None until they are loaded."""
        if self._matcher is None and self._is_loaded:
            self._matcher = BatchMatcher(self._routing)
        if self._matcher is not None and self._matcher.pending:
            self._matcher.follow()
        return self._matcher

    @property
    def is_loading(self) -> bool:
        """Whether the indexes are there, or will be soon."""
        return self._loading is not None or self._is_loaded

    def prepare(self) -> None:
        """Called often: begins to load the indexes if there is much to match, or will be, and takes up changes.

        So most of many subscriptions stand in the indexes before the next event comes.
        """
        if self._followed() is not None:
            return
        is_much = self._tests > _PATIENCE or len(self._routing.filters()) > _MANY
        if is_much and not self.is_loading:
            self._loading = threading.Thread(target=self.load_now, name="comity-load-match", daemon=True)
            self._loading.start()

    def load_now(self) -> None:
        """Match something once, so that all code is there that matching needs; afterwards indexes are used."""
        pool = FilterPool()
        broker = RoutingBroker("warm-up", Policy(), pool)
        matcher = BatchMatcher(broker)
        broker.subscribe("client", 1, pool.read("n > 1 and s = 'a'"), 0)
        matcher.follow()
        lines = [b'{"id": "%d", "source": "/", "type": "T", "data": {"n": %d, "s": "a"}}' % (n, n) for n in range(64)]
        matcher.match(None, lines[:1])
        matcher.match(None, lines)
        self._is_loaded = True
        log("indexes loaded", level=logging.DEBUG)
