"""What brokers tell each other, between the form on the wire and the one of the routing."""

from __future__ import annotations

from typing import assert_never

from comity.errors import Misuse
from comity.limits import limits
from comity.match.cost import profile_cost
from comity.route.filters import FilterPool, RouteFilter
from comity.route.generic.broker import OnTree
from comity.route.generic.graph import LinkState
from comity.route.messages import Control, Entry, Refresh, SendEverything, Topic, Update
from comity.route.rendezvous.messages import Attach, ForType, Passed, Publish, TypeGone
from comity.server.overlay.control import PlainTypeControl, TypeMessage, read_type_control, written_type_control
from comity.wire import (
    AttachTree,
    HandedOn,
    Inform,
    InTree,
    Message,
    RemovedType,
    Renew,
    SaidLinks,
    SaidType,
    SendAll,
    ToldFilter,
    ToldTopic,
)

_ENTRIES = 5_000
"""Filters of one message."""


NodeControl = Control | LinkState | OnTree | ForType | PlainTypeControl
"""What neighbours tell each other, in networks of any kind."""
TableMessage = Inform | Renew | SendAll
ControlMessage = TableMessage | SaidLinks | InTree | TypeMessage
"""What a neighbour says of its tables and links."""


def read_filter(text: str, pool: FilterPool) -> RouteFilter:
    """The filter of a text; raises `Misuse` for one that is wrong, or would cost too much to match."""
    if len(text) > limits().max_subscription_chars:
        hint = "say it shorter, or subscribe to parts of it"
        raise Misuse(f"a filter of {len(text):,} characters", code="filter-too-long", hint=hint)
    found = pool.read(text)
    cost = profile_cost(found.tree)
    if cost.total > limits().max_profile_cost:
        reason = f"to match this filter may cost {cost.total:,}, and {limits().max_profile_cost:,} is the most"
        raise Misuse(reason, code="filter-too-dear", hint="say less, or in several subscriptions")
    return found


def written(control: NodeControl) -> list[Message]:
    """The messages for what the routing tells a neighbour."""
    match control:
        case ForType(type, inner):
            return [*_of_tables(inner, type)]
        case Update() | Refresh() | SendEverything():
            return [*_of_tables(control)]
        case LinkState(broker, version, links, life):
            return [SaidLinks(broker, version, links, life)]
        case OnTree(on):
            return [InTree(on)]
        case Attach() | Publish() | Passed() | TypeGone():
            return [written_type_control(control)]
        case _:
            assert_never(control)


def _of_tables(control: Control, type: str = "") -> list[TableMessage]:
    match control:
        case Update():
            return [*_informs(control, type)]
        case Refresh(topic):
            return [Renew(ToldTopic(topic.value), type)]
        case SendEverything(on, from_sender):
            return [SendAll(on, from_sender)]
        case _:
            assert_never(control)


def _informs(update: Update, type: str) -> list[Inform]:
    topic, told = ToldTopic(update.topic.value), [_told(entry) for entry in update.added]
    # What is new comes first, and what is gone last: there is never less known than before or after.
    parts = [tuple(told[at : at + _ENTRIES]) for at in range(0, len(told), _ENTRIES)] or [()]
    last = len(parts) - 1
    return [
        Inform(topic, part, update.removed if at == last else (), whole=update.whole and at == 0, type=type)
        for at, part in enumerate(parts)
    ]


def _told(entry: Entry) -> ToldFilter:
    return ToldFilter(entry.number, entry.filter.text, entry.lost, entry.durable)


def read_control(message: ControlMessage, pool: FilterPool) -> NodeControl:
    """What a neighbour told; raises `Misuse` for a filter that cannot be read."""
    match message:
        case Inform(topic, added, removed, whole, type):
            update = Update(Topic(topic.value), tuple(_entry(one, pool) for one in added), removed, whole)
            return ForType(type, update) if type else update
        case Renew(topic, type):
            refresh = Refresh(Topic(topic.value))
            return ForType(type, refresh) if type else refresh
        case SendAll(on, from_sender):
            return SendEverything(on, from_sender)
        case SaidLinks(broker, version, links, life):
            return LinkState(broker, version, links, life)
        case InTree(on):
            return OnTree(on)
        case AttachTree() | SaidType() | HandedOn() | RemovedType():
            return read_type_control(message)
        case _:
            assert_never(message)


def _entry(told: ToldFilter, pool: FilterPool) -> Entry:
    return Entry(told.number, read_filter(told.filter, pool), told.lost, told.durable)
