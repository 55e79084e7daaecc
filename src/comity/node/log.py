"""The log as its readers see it: pages of entries, with the rules that there were by then."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from comity.event.taxonomy import Taxonomy
from comity.node.catalog import TypeCatalog
from comity.node.entries import LogEntry, read_entries
from comity.node.rule_book import RuleBook
from comity.node.tables import one_view, rule_changes
from comity.server.store.port import EventPage
from comity.server.store.reading import read_page
from comity.server.store.sqlite import SqliteStore


@dataclass(frozen=True, slots=True)
class LogPage:
    """Entries behind a number up to `position`. Where `floor` is above the number asked for, some may be gone."""

    entries: Sequence[LogEntry]
    position: int
    floor: int


class NodeLog:
    """Reads the log of a node. What it gives is never ahead of the rules that are in memory."""

    def __init__(self, store: SqliteStore, book: RuleBook, catalog: TypeCatalog) -> None:
        self.store, self.book, self.catalog = store, book, catalog

    @property
    def taxonomy(self) -> Taxonomy:
        """The types as they are now."""
        return self.catalog.taxonomy

    @property
    def last(self) -> int:
        """The number of the last entry."""
        return self.store.last

    async def page(self, after: int) -> LogPage:
        """Some entries behind a number; the rules that were there by then are known when they are given."""
        page, changes = await self.store.look(lambda base: _page_and_changes(base, self.store.path, after))
        await self.book.reached(changes)
        return LogPage(read_entries(page.events, self.taxonomy), page.position, page.floor)


def _page_and_changes(base: sqlite3.Connection, path: Path, after: int) -> tuple[EventPage, int]:
    with one_view(base):
        return read_page(base, path, after, None), rule_changes(base)
