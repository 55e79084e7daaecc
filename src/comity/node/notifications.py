"""What a subscriber is told, and what of the log that is: in steps without clock or sockets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from comity.event.event import Event
from comity.node.entries import LogEntry, LoggedReport
from comity.node.rule_book import ActiveRule
from comity.node.rules import StoreKind
from comity.pattern.report import moment_text

_encode = msgspec.json.Encoder().encode


class DeliveryMode(StrEnum):
    """Why a notification comes: it has just happened, it waited for its subscriber, or it was asked for again."""

    LIVE = "live"
    PAST = "past"
    REPLAY = "replay"


def notification(rule: ActiveRule, entry: LogEntry, mode: DeliveryMode) -> bytes:
    """A notification as a line: the rule, all events in the order of its operands, and the number to acknowledge."""
    told: dict[str, object] = {
        "kind": "notification",
        "rule": rule.kept.rule.name,
        "id": f"{rule.number}.{entry.sequence}",
        "position": entry.sequence,
        "mode": mode.value,
    }
    match entry.content:
        case LoggedReport() as report:
            told |= {"report": report.id, "start": moment_text(report.start), "end": moment_text(report.end)}
            told |= {"operands": report.operands, "events": report.events}
        case Event():
            told["events"] = [msgspec.Raw(entry.line)]
    return _encode(told)


class WaitingRules:
    """What of the log is for a subscriber who comes when it has reached a number, by how each rule stores.

    What came before that number waited: of a rule that stores nothing it is passed over, and counted; of one that
    stores the last, only the newest counts, which `newest` has by the number of the rule.
    """

    def __init__(self, came_at: int, newest: Mapping[int, int] | None = None) -> None:
        self._came_at, self._newest = came_at, newest or {}
        self.passed_over = 0

    def is_due(self, rule: ActiveRule, sequence: int) -> bool:
        """Whether an entry that a rule wants is told to its subscriber."""
        if sequence > self._came_at:
            return True
        match rule.kept.rule.store:
            case StoreKind.ALL:
                return True
            case StoreKind.LAST:
                return self._newest.get(rule.number) == sequence
            case StoreKind.NONE:
                self.passed_over += 1
                return False

    def mode(self, sequence: int) -> DeliveryMode:
        """Why an entry is told."""
        return DeliveryMode.LIVE if sequence > self._came_at else DeliveryMode.PAST


def newest_by_rule(wanted: Iterable[tuple[ActiveRule, LogEntry]], newest: dict[int, int]) -> None:
    """Note for each rule that stores the last which entry that is, of those that come in their order."""
    for rule, entry in wanted:
        if rule.kept.rule.store is StoreKind.LAST:
            newest[rule.number] = entry.sequence
