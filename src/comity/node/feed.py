"""Follows the log once for all subscribers who are there and have come to its end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from comity.node.entries import LogEntry
from comity.node.log import NodeLog
from comity.node.rule_book import ActiveRule

Wanted = Sequence[tuple[ActiveRule, LogEntry]]
"""Entries, in their order, with the rules that they are for."""


class LiveReader(Protocol):
    """A subscriber who has come to the end of the log."""

    def offer(self, wanted: Wanted, position: int) -> bool:
        """Take what is wanted of the log up to a number; False: too much now; it reads the log later."""
        ...


class LogFeed:
    """Offers what is new to those who follow, each entry read and matched once, however many they are."""

    def __init__(self, log: NodeLog) -> None:
        self._log = log
        self.position = log.last
        self._readers: dict[str, LiveReader] = {}

    def join(self, name: str, reader: LiveReader, position: int) -> bool:
        """Offer the reader what comes behind a number; False: it is not that far yet."""
        if position < self.position:
            return False
        self._readers[name] = reader
        return True

    def leave(self, name: str, reader: LiveReader) -> None:
        """Offer it nothing more; passed over if another one took its place."""
        if self._readers.get(name) is reader:
            del self._readers[name]

    async def run(self) -> None:
        """Follow the log until this is cancelled."""
        while True:
            last = await self._log.store.grown(self.position)
            if not self._readers:
                self.position = last  # whoever joins later reads from where it is
                continue
            page = await self._log.page(self.position)
            self._share(page.entries, page.position)

    def _share(self, entries: Sequence[LogEntry], position: int) -> None:
        by_reader: dict[str, list[tuple[ActiveRule, LogEntry]]] = defaultdict(list)
        for entry in entries:
            for rule in self._log.book.wanting(entry):
                if rule.kept.subscriber in self._readers:
                    by_reader[rule.kept.subscriber].append((rule, entry))
        self.position = position
        for name, reader in list(self._readers.items()):
            if not reader.offer(by_reader.get(name, ()), position):
                self.leave(name, reader)
