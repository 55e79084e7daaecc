"""From events to candidates: which operands of which patterns an event fulfils, as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from comity.event.event import Event
from comity.event.formats.jsonlines import encode
from comity.pattern.bank import Bank
from comity.pattern.bound import BoundPattern
from comity.pattern.correlation import key_text
from comity.pattern.occurrence import Seen, microseconds
from comity.pattern.rows import CANDIDATES, CandidateRow

Fulfilled = Callable[[Event], Iterable[tuple[int, int]]]
"""For an event, the numbers of patterns and operands whose filters it fulfils."""


def one_by_one(bank: Bank) -> Fulfilled:
    """Tests every operand that candidates are asked for; good for a few of them."""
    tests = [
        (number, operand, bank.patterns[number].tests[bank.patterns[number].operand_names[operand]])
        for number, operand in bank.sharing.users
    ]
    return lambda event: [(number, operand) for number, operand, test in tests if test(event)]


@dataclass(slots=True)
class Extraction:
    """Candidates, gathered event by event; `keep_lines` when every event's JSON is wanted."""

    bank: Bank
    fulfilled: Fulfilled = lambda event: ()
    keep_lines: bool = False
    rows: list[CandidateRow] = field(default_factory=list, init=False)
    """What was gathered and not taken yet."""
    earliest: int | None = field(default=None, init=False)
    latest: int | None = field(default=None, init=False)

    def take(self, event: Event) -> None:
        """An event, which has a time, and whose type need not interest any pattern."""
        self.see(event)
        for number, operand in self.fulfilled(event):
            self.add(number, operand, event)

    def see(self, event: Event) -> None:
        """Note that there was an event."""
        self.see_time(self.time_of(event))

    def see_time(self, time: int) -> None:
        """Note that there was an event of this time."""
        self.earliest = time if self.earliest is None else min(self.earliest, time)
        self.latest = time if self.latest is None else max(self.latest, time)

    @staticmethod
    def time_of(event: Event) -> int:
        """The time of an event, which must have one."""
        assert event.time is not None, "events without a time are rejected at the border"
        return microseconds(event.time)

    def add(self, number: int, operand: int, event: Event) -> None:
        """An event that fulfils what an operand asks."""
        pattern = self.bank.patterns[number]
        name = pattern.operand_names[operand]
        key = pattern.key.of(name, event) if pattern.key else ()
        if key is not None:
            seen = Seen.of(event, pattern.parameters.ties)
            line = self._line(pattern, name, event)
            self.rows.append((number, operand, key_text(key), seen.time, seen.tie, event.source, event.id, line))

    def table(self) -> pa.Table:
        """What was gathered since the last call."""
        columns = list(zip(*self.take_rows(), strict=True)) or [()] * len(CANDIDATES)
        return pa.table([pa.array(column, one.type) for column, one in zip(columns, CANDIDATES)], schema=CANDIDATES)

    def take_rows(self) -> list[CandidateRow]:
        """The same as rows."""
        rows, self.rows = self.rows, []
        return rows

    def _line(self, pattern: BoundPattern, operand: str, event: Event) -> str | None:
        return encode(event).decode() if self.keep_lines or pattern.needs_line(operand) else None
