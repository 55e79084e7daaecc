"""From lines of JSON to candidates of patterns, as columns; a line that the scanner does not vouch for is decoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from comity.event.scan.scanner import LineScanner
from comity.event.types import EventType
from comity.match.operands import OperandMatcher
from comity.pattern.bank import Bank
from comity.pattern.extract import Extraction


@dataclass(slots=True)
class LineCandidates:
    """The candidates in lines of events of known types, and the figures of what was seen so far."""

    bank: Bank
    types: Sequence[EventType]
    scanner: LineScanner
    singly: Extraction
    """Takes the events that are decoded one by one, and knows the first and the last time of all."""
    events: int = field(default=0, init=False)
    """Those that were scanned."""
    _matchers: dict[str, OperandMatcher] = field(default_factory=dict, init=False)

    def take(self, lines: pa.Array, take_one: Callable[[int], None], *, until: int | None = None) -> pa.Table:
        """The candidates of a batch of lines; events after `until` are left out.

        `take_one` decodes a line, by its number, that the scanner does not vouch for, and gives it to `singly`.
        """
        scanned = self.scanner.scan(lines, lambda type: self._matcher(type).asks)
        found = []
        for type, rows, batch in scanned.groups:
            self._see(batch)
            if not self._matcher(type).asks:
                continue
            own = lines.take(pa.array(rows)) if self.bank.needs_lines else None
            table = self._matcher(type).candidates(batch, own)
            found.append(table if until is None else table.filter(pc.less_equal(table.column("time"), until)))
        for number in scanned.doubtful.tolist():
            take_one(number)
        return pa.concat_tables([*found, self.singly.table()])

    def _see(self, batch: pa.RecordBatch) -> None:
        self.events += batch.num_rows
        if batch.num_rows:
            bounds = pc.min_max(batch.column("event.time").cast(pa.timestamp("us", "UTC")).cast(pa.int64()))
            for time in (bounds["min"].as_py(), bounds["max"].as_py()):
                self.singly.see_time(time)

    def _matcher(self, type: EventType) -> OperandMatcher:
        found = self._matchers.get(type.qualified_name)
        if found is None:
            found = self._matchers[type.qualified_name] = OperandMatcher(self.bank, type)
        return found
