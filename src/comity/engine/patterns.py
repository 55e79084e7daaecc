"""The composite profiles of a plan, in this process: what operands want is gathered, and reported at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from comity.engine.detect import decoder, detect_complete
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected
from comity.pattern.bank import Bank
from comity.pattern.extract import Extraction
from comity.pattern.notification import report_event
from comity.plan.stages import Plan
from comity.plan.ways import ways_of


@dataclass(frozen=True, slots=True)
class Notification:
    """An event in the subscriber's terms, for one profile; of a composite one, what its pattern was made of."""

    subscriber: str
    profile: str
    event: Event

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two notifications the same."""
        return (self.profile, *self.event.identity)


@dataclass(slots=True)
class PatternRun:
    """The patterns of a plan over one complete run."""

    plan: Plan
    _extraction: Extraction = field(init=False)
    _operands: dict[str, tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        patterns = [one.bound for one in self.plan.patterns]
        seen = {way.target.qualified_name: way.target for way in ways_of(self.plan).ways}
        bank = Bank(patterns, [decoder(seen.get)] * len(patterns), compiled=False)
        self._extraction = Extraction(bank, keep_lines=True)
        self._operands = {
            planned.delivery(name): (number, operand)
            for number, planned in enumerate(self.plan.patterns)
            for operand, name in enumerate(planned.bound.operand_names)
        }

    def see(self, event: Event) -> None:
        """Note an event of whatever type: traces start with the first that counts, and end with the last."""
        if self.plan.patterns and self._counts(event):
            self._extraction.see(event)

    def _counts(self, event: Event) -> bool:
        since, until = self.plan.seen
        assert event.time is not None, "events without a time are rejected"
        return (since is None or event.time >= since) and (until is None or event.time < until)

    def takes(self, outcome: Notification | Rejected) -> bool:
        """Whether it is an event for an operand, which is taken."""
        if isinstance(outcome, Rejected) or outcome.profile not in self._operands:
            return False
        number, operand = self._operands[outcome.profile]
        if (number, operand) in self._extraction.bank.sharing.users:
            self._extraction.add(number, operand, outcome.event)
        return True

    def notifications(self) -> Iterator[Notification]:
        """What the patterns report."""
        if self.plan.patterns:
            subscribers = {planned.bound.name: planned.subscriber for planned in self.plan.patterns}
            for found in detect_complete(self._extraction):
                yield Notification(subscribers[found.profile], found.profile, report_event(found))
