"""Composite rules over the log: what is decided by events and by time, in steps without clock or storage.

Everything here is a function of the log. Time is that of the commits, which never falls, so the same entries give the
same reports whenever they are read, in however many pieces, and before a crash as after it. An event is late when its
time was complete, by the lateness, at its own commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import msgspec

from comity.connect.sealed import sealed, unsealed
from comity.engine.pattern_stream import PatternStream, SavedStream, decoder
from comity.errors import Permanent
from comity.event.event import Event
from comity.event.taxonomy import Taxonomy
from comity.node.entries import LogEntry, LoggedReport, report_entry
from comity.pattern.bank import Bank
from comity.pattern.bound import BoundPattern
from comity.pattern.extract import one_by_one
from comity.pattern.occurrence import microseconds
from comity.pattern.rows import ReportRow
from comity.pattern.tree import Absent, Sequence, Silence, walk
from comity.server.store.port import NewEvent


@dataclass(frozen=True, slots=True)
class CompositeRule:
    """The pattern of a rule, with the rule's number as its name; it is about what stands behind `since`."""

    number: int
    since: int
    pattern: BoundPattern

    @classmethod
    def of(cls, number: int, since: int, pattern: BoundPattern) -> CompositeRule:
        """The pattern of a rule under its number. It shares nothing with an equal one that began elsewhere."""
        return cls(number, since, replace(pattern, name=str(number), feed=f"since {since}"))


class LogDetector:
    """Takes the log entry by entry, and time, and gives the reports that these decide, as lines for the log."""

    def __init__(self, lateness_us: int, position: int) -> None:
        self.position = position
        """The number of the last entry that was taken."""
        self.late = 0
        """Events that came too late to take part."""
        self._lateness_us = lateness_us
        self._taxonomy: Taxonomy | None = None
        self._rules: dict[int, CompositeRule] = {}
        self._waiting: list[CompositeRule] = []
        """Rules that begin further on in the log, in that order."""
        self._stream = PatternStream(_bank([]), keep_lines=True)

    def set_rules(self, rules: Iterable[CompositeRule], taxonomy: Taxonomy | None) -> None:
        """Have these rules from now on; one that begins further on in the log begins there."""
        self._taxonomy = taxonomy
        wanted = sorted(rules, key=lambda rule: (rule.since, rule.number))
        self._waiting = [rule for rule in wanted if rule.since > self.position]
        self._change([rule for rule in wanted if rule.since <= self.position])

    def take(self, entry: LogEntry) -> list[NewEvent]:
        """What is decided by the time of an entry; an event is then a part of what is still open."""
        begun = [rule for rule in self._waiting if rule.since < entry.sequence]
        if begun:
            self._waiting = [rule for rule in self._waiting if rule.since >= entry.sequence]
            self._change([*self._rules.values(), *begun])
        found = self.advance(entry.at_us)
        self.position = entry.sequence
        match entry.content:
            case LoggedReport():
                pass
            case Event() as event:
                self._take_event(event)
        return found

    def advance(self, at_us: int) -> list[NewEvent]:
        """What is decided because it is a time, and all that was committed before it was taken."""
        return self._logged(self._stream.advance(at_us - self._lateness_us - 1))

    @property
    def is_settled(self) -> bool:
        """Whether time alone decides nothing more before another event comes."""
        latest, done = self._stream.extraction.latest, self._stream.done
        is_open = latest is not None and (done is None or done <= latest)
        return not self._rules or not (is_open or any(_waits(rule.pattern) for rule in self._rules.values()))

    def save(self) -> bytes:
        """What `restore` goes on from."""
        return sealed(msgspec.msgpack.encode(self._stream.save()))

    def restore(self, saved: bytes, rules: Iterable[CompositeRule], taxonomy: Taxonomy | None) -> None:
        """Go on from what was saved at this position, with the rules that there are now."""
        content = unsealed(saved)
        if content is None:
            raise Permanent("what composite rules wait for is damaged", code="broken-state", hint="put back a copy")
        self.set_rules(rules, taxonomy)
        self._stream.restore(msgspec.msgpack.decode(content, type=SavedStream))

    def _take_event(self, event: Event) -> None:
        assert event.time is not None, "events get a time when they are published"
        if self._stream.is_late(microseconds(event.time)):
            self.late += 1
        else:
            self._stream.extraction.take(event)

    def _change(self, rules: Iterable[CompositeRule]) -> None:
        self._rules = {rule.number: rule for rule in rules}
        bank = _bank([rule.pattern for rule in self._rules.values()], self._taxonomy)
        self._stream.change(bank)
        self._stream.extraction.fulfilled = one_by_one(bank)

    def _logged(self, reports: Iterable[ReportRow]) -> list[NewEvent]:
        by_name: Mapping[str, CompositeRule] = {rule.pattern.name: rule for rule in self._rules.values()}
        return [report_entry(by_name[one.profile].number, by_name[one.profile].pattern, one) for one in reports]


def _bank(patterns: list[BoundPattern], taxonomy: Taxonomy | None = None) -> Bank:
    return Bank(patterns, [decoder(taxonomy)] * len(patterns), compiled=False)


def _waits(pattern: BoundPattern) -> bool:
    """Whether something may be reported because nothing happened."""
    return any(
        isinstance(part, Silence) or (isinstance(part, Sequence) and any(isinstance(one, Absent) for one in part.steps))
        for part in walk(pattern.pattern)
    )
