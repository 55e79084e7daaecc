"""An event server in an event loop: its base, its rules, and whoever is connected. HTTP is not known here."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, closing, suppress
from typing import Any, TypeVar

from comity.connect.claim import lock_folder
from comity.document import DataDocument, Document
from comity.errors import Misuse
from comity.event.formats.jsonlines import Rejected
from comity.event.schemas.domain_file import type_declaration
from comity.event.taxonomy import Taxonomy
from comity.limits import limits
from comity.logs import log as note
from comity.node.accounts import ClientAccounts
from comity.node.catalog import TypeCatalog, TypeVersion
from comity.node.connections import Connections
from comity.node.detecting import Detecting
from comity.node.entries import read_entries
from comity.node.feed import LogFeed
from comity.node.history import HistoryPage, HistoryQuery, read_history
from comity.node.log import NodeLog
from comity.node.passwords import Passwords
from comity.node.publication_rows import forget_gone, publish
from comity.node.publishing import PublishOutcome, as_events, now_of, outcomes, prepared
from comity.node.rule_book import ActiveRule, RuleBook
from comity.node.rule_rows import add_rules, add_types, read_rules_of, read_types, remove_rule, remove_subscriber
from comity.node.rules import RuleText, StoreKind, read_rules, rules_that_break
from comity.node.settings import EventServerSettings
from comity.node.tables import make_tables, one_view, rule_changes
from comity.server.store.port import StoredEvent, StoredSubscription
from comity.server.store.sqlite import Keeping, SqliteStore, open_store

T = TypeVar("T")
_TIDY_S = 60.0


class EventServer:
    """What clients ask of a node, each with the name of who asks. What is awaited is on the disk when it returns."""

    def __init__(self, settings: EventServerSettings, log: NodeLog, accounts: ClientAccounts) -> None:
        self.settings, self.log, self.accounts = settings, log, accounts
        self.feed = LogFeed(log)
        self.connections = Connections(log, self.feed)
        self.detecting = Detecting(log, settings.lateness_us)
        self.counts: Counter[str] = Counter()
        self.task: asyncio.Task[None] = asyncio.create_task(self._run())
        """What follows the log. It ends when it fails."""
        self._changing = asyncio.Lock()
        self._work: set[asyncio.Task[Any]] = set()

    # Types

    async def declare(self, document: Document) -> list[TypeVersion]:
        """Take up the types of a document; gives what is new."""
        async with self._changing:
            catalog, added = self.log.catalog.declared(document)
            if not added:
                return []
            broken = rules_that_break([rule.kept.rule for rule in self.log.book.all()], catalog.taxonomy)
            if broken:
                hint = "call the attribute, or the type, otherwise"
                raise Misuse(f"with these types {broken} rules would have no meaning", code="type-conflict", hint=hint)
            await self._finish(self._add_types(catalog, added))
        return added

    async def _add_types(self, catalog: TypeCatalog, added: Sequence[TypeVersion]) -> None:
        await self.log.store.within(lambda desk: add_types(desk, added))
        self.log.catalog = catalog
        self.log.book.rebind(catalog.taxonomy)

    # Rules

    async def add_rules(self, subscriber: str, text: str, language: str | None, store: StoreKind) -> list[ActiveRule]:
        """Take up the rules of a text, all or none; a rule that is there already stays as it is."""
        async with self._changing:
            bound = await asyncio.to_thread(read_rules, text, language, self.log.taxonomy)
            pairs = [(RuleText(one.name, text, language, store), one) for one in bound]
            return await self._finish(self._add_rules(subscriber, pairs))

    async def _add_rules(self, subscriber: str, pairs: Any) -> list[ActiveRule]:
        kept = await self.log.store.within(lambda desk: add_rules(desk, subscriber, pairs))
        rules = [ActiveRule(one, bound) for one, (_, bound) in zip(kept, pairs, strict=True)]
        await self.log.book.take(added=rules)
        return rules

    async def remove_rule(self, subscriber: str, name: str) -> None:
        """Take a rule away, and what waited for it."""
        async with self._changing:
            found = await self._finish(self._remove_rule(subscriber, name))
        if not found:
            raise Misuse(f"you have no rule {name[:100]!r}", code="unknown-rule", hint="list your rules")

    async def _remove_rule(self, subscriber: str, name: str) -> bool:
        found = await self.log.store.within(lambda desk: remove_rule(desk, subscriber, name))
        if found is not None:
            await self.log.book.take(removed=[found.number])
        return found is not None

    async def remove_subscriber(self, name: str) -> None:
        """Take away a subscriber, with rules, tokens, and what waited."""
        async with self._changing:
            await self._finish(self._remove_subscriber(name))
        await self.connections.end(name)

    async def _remove_subscriber(self, name: str) -> None:
        found = await self.log.store.within(lambda desk: remove_subscriber(desk, name))
        await self.log.book.take(removed=[one.number for one in found])

    async def _finish(self, work: Coroutine[Any, Any, T]) -> T:
        """What some work gives, which goes on to its end even if whoever asked for it does not wait."""
        task = asyncio.ensure_future(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return await asyncio.shield(task)

    # Events

    async def publish(self, publisher: str, lines: Sequence[bytes]) -> list[PublishOutcome]:
        """Store events; gives what became of each, in their order."""
        if len(lines) > limits().max_published_events:
            hint = f"send {limits().max_published_events:,} at a time"
            raise Misuse(f"{len(lines):,} events are too many for one request", code="too-many", hint=hint)
        records = prepared(publisher, lines, self.log.taxonomy, now_of(time.time()))
        events = as_events(records)
        committed = await self.log.store.within(lambda desk: publish(desk, publisher, events)) if events else []
        found = outcomes(records, committed)
        self.counts["published"] += sum(one.is_new for one in found)
        self.counts["repeated"] += sum(one.rejected is None and not one.is_new for one in found)
        self.counts["rejected"] += sum(isinstance(one, Rejected) for one in records)
        return found

    async def history(self, query: HistoryQuery) -> HistoryPage:
        """Events of a type that were published, from the oldest on."""
        return await read_history(self.log, self.settings, query, now_of(time.time()))

    # Life

    @property
    def is_running(self) -> bool:
        """Whether it follows its log."""
        return not self.task.done()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.feed.run())
            tasks.create_task(self.detecting.run())
            tasks.create_task(self._tidy())

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(_TIDY_S)
            await self.log.store.within(forget_gone)


@asynccontextmanager
async def open_event_server(
    settings: EventServerSettings, clock: Callable[[], float] = time.time
) -> AsyncIterator[EventServer]:
    """A node with its base open and its tasks running, for the length of a block."""
    passwords = Passwords()
    settings.store.mkdir(parents=True, exist_ok=True)
    with closing(passwords), closing(lock_folder(settings.store)):
        counting = _CountsWanted()
        keeping = Keeping(history_s=float(settings.kept_s), wanted=counting, clock=clock)
        async with open_store(settings.store, keeping) as store:
            log = await _log(store, settings)
            counting.log = log
            server = EventServer(
                settings, log, ClientAccounts(store, passwords, settings.services, settings.token_s, clock)
            )
            try:
                yield server
            finally:
                server.task.cancel()
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([server.task])
                await server.detecting.stop()


async def _log(store: SqliteStore, settings: EventServerSettings) -> NodeLog:
    """The log with types and rules as the base has them; types of files that are new are taken up."""
    taxonomy = settings.taxonomy
    await store.within(lambda desk: make_tables(desk, taxonomy.namespace))
    kept, rules, changes = await store.look(_read_all)
    catalog = TypeCatalog.of(taxonomy.namespace, kept)
    if taxonomy.types:
        catalog, added = catalog.declared(_as_document(taxonomy))
        if added:
            await store.within(lambda desk: add_types(desk, added))
    note("base opened", types=len(catalog.versions), rules=len(rules), last=store.last)
    return NodeLog(store, RuleBook(rules, changes, catalog.taxonomy), catalog)


def _read_all(base: Any) -> Any:
    with one_view(base):
        return read_types(base), read_rules_of(base), rule_changes(base)


def _as_document(taxonomy: Taxonomy) -> Document:
    return DataDocument({"types": {one.name: type_declaration(one) for one in taxonomy.types}}, ())


class _CountsWanted:
    """How many events that are taken away a subscriber wanted. It is called in a thread of the store."""

    log: NodeLog | None = None

    def __call__(self, subscriptions: Sequence[StoredSubscription], events: Sequence[StoredEvent]) -> int:
        if self.log is None or not subscriptions:
            return 0
        name, book = subscriptions[0].client, self.log.book
        entries = read_entries(events, self.log.taxonomy)
        return sum(rule.kept.subscriber == name for entry in entries for rule in book.wanting(entry))
