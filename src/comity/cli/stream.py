"""What a stream says: a line that moves, a line for each batch, and the totals."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from comity.cli.failure import FAILED, show
from comity.cli.output import console, write_json
from comity.cli.progress import StreamLine
from comity.cli.rejected import print_reasons
from comity.cli.screen import Screen
from comity.cli.session import Format
from comity.limits import limits
from comity.run.ending import did_not_stop

if TYPE_CHECKING:
    from comity.plan import Summary
    from comity.run.totals import StreamTotals

_MOST_SHOWN = 20


class StreamScreen(Screen):
    """An observer of streams; `noun` says what they deliver. With `to_stderr`, standard output is for others."""

    def __init__(self, format: Format, noun: str = "notifications", *, to_stderr: bool = False) -> None:
        super().__init__(format)
        self.noun, self.to_stderr = noun, to_stderr
        self._key = "delivered" if noun == "notifications" else noun
        self._line = StreamLine("stream", format=format)
        self._last_resort: threading.Timer | None = None

    def __enter__(self) -> StreamScreen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._last_resort is not None:
            self._last_resort.cancel()
        self._line.__exit__(kind, error, trace)

    def started(self) -> None:
        self._line.__enter__()

    def batch_done(self, number: int, summary: Summary, totals: StreamTotals) -> None:
        self._line.update(
            batch=number,
            records=totals.records,
            rate=summary.records / max(sum(summary.seconds.values()), 1e-3),
            delivered=totals.delivered.total(),
            rejected=totals.rejected,
            lag_s=summary.lag_s,
        )
        told = _told(summary)
        if self.format is Format.JSON:
            figures = {"records": summary.records, "rejected": summary.rejected, "late": summary.late}
            write_json({"batch": number, **figures, self._key: told}, stderr=self.to_stderr)
            return
        rejected = f", {summary.rejected:,} rejected" if summary.rejected else ""
        late = f", {summary.late:,} late" if summary.late else ""
        self._print(f"batch {number}: {_shown(told) or 'nothing new'}{rejected}{late}")

    def ended(self, summary: Summary) -> None:
        told = _told(summary)
        if told and self.format is Format.JSON:
            write_json({"end": True, self._key: told}, stderr=self.to_stderr)
        elif told:
            self._print(f"end: {_shown(told)}")

    def stopping(self) -> None:
        if self._last_resort is None:
            # After the first half of it Java is ended, and with it what waits for Java.
            self._last_resort = threading.Timer(2 * limits().max_stop_s, _leave_in_the_middle, (self.format,))
            self._last_resort.daemon = True
            self._last_resort.start()

    def stopped(self) -> None:
        if self.format is Format.TEXT:
            console(stderr=True).print("stopped; the same command goes on from here", style="dim")

    def show_totals(self, totals: StreamTotals) -> None:
        """Say what the stream did in all."""
        if self.format is Format.JSON:
            figures = {"batches": totals.batches, "records": totals.records}
            refused = {"rejected": totals.rejected, "late": totals.late}
            more = {"reasons": totals.reasons.as_list(), "seconds": round(totals.seconds, 3)}
            write_json({**figures, **refused, self._key: dict(totals.delivered), **more}, stderr=self.to_stderr)
            return
        late = f"{totals.late:,} late, " if totals.late else ""
        self._print(
            f"{totals.batches:,} batches, {totals.records:,} records, {totals.delivered.total():,} {self.noun}, "
            f"{totals.rejected:,} rejected, {late}{totals.seconds:.1f} s"
        )
        print_reasons(console(stderr=self.to_stderr), totals.reasons)

    def _print(self, text: str) -> None:
        console(stderr=self.to_stderr).print(text)
        sys.stdout.flush()


def _leave_in_the_middle(format: Format) -> None:
    """End the program, whatever its threads do. Locks are let go of only then, when nobody writes any more."""
    show([did_not_stop()], format)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(FAILED)


def _told(summary: Summary) -> dict[str, int]:
    return {name: count for name, count in sorted(summary.delivered.items()) if count}


def _shown(told: Mapping[str, int]) -> str:
    shown = ", ".join(f"{name} {count:,}" for name, count in list(told.items())[:_MOST_SHOWN])
    return shown + (f", and {len(told) - _MOST_SHOWN} more profiles" if len(told) > _MOST_SHOWN else "")
