"""What a run shows while it works: a bar for batches, one line for streams; on a terminal only, never beside JSON."""

from __future__ import annotations

import time
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from comity.cli.output import console, moving
from comity.cli.session import Format

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.status import Status

    from comity.cli.terminal import Terminal


def is_shown(format: Format, terminal: Terminal | None = None) -> bool:
    """Whether there is somebody to show progress to."""
    return format is Format.TEXT and (terminal or console(stderr=True)).is_terminal


class BatchProgress:
    """A bar with rows, rate and time left, while a `with` block runs.

    What is left is told by the fraction that is done; where the rows in all are known, by them. It never goes back,
    however much more turns out to be left.
    """

    def __init__(
        self,
        label: str,
        *,
        total_rows: int | None = None,
        format: Format = Format.TEXT,
        terminal: Terminal | None = None,
    ) -> None:
        self._terminal = terminal or console(stderr=True)
        self._label, self._total_rows = label, total_rows
        self._shown = is_shown(format, self._terminal)
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._shared = ExitStack()
        self._started = 0.0
        self._rows, self._fraction = 0, 0.0

    def __enter__(self) -> BatchProgress:
        self._started = time.monotonic()
        if self._shown:
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f} %  {task.fields[told]}", markup=False),
                TimeRemainingColumn(compact=True),
            )
            self._progress = Progress(*columns, console=self._terminal, transient=True)
            self._task = self._progress.add_task(self._label, total=1.0, told="")
            self._progress.start()
            self._shared.enter_context(moving(self._terminal))
        return self

    def update(self, rows_done: int, fraction: float | None = None) -> None:
        """Show how far it is: rows so far, and the part of the work that is done (from 0 to 1) if that is known."""
        if self._progress is None or self._task is None:
            return
        if fraction is None and self._total_rows:
            fraction = rows_done / self._total_rows
        self._rows = max(self._rows, rows_done)
        self._fraction = max(self._fraction, min(fraction or 0.0, 1.0))
        told = _told(self._rows, self._rows / max(time.monotonic() - self._started, 1e-3))
        self._progress.update(self._task, completed=None if fraction is None else self._fraction, told=told)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shared.close()
        if self._progress is not None:
            self._progress.stop()


class StreamLine:
    """One line that says what a stream is doing, while a `with` block runs."""

    def __init__(self, label: str, *, format: Format = Format.TEXT, terminal: Terminal | None = None) -> None:
        self._terminal = terminal or console(stderr=True)
        self._label = label
        self._shown = is_shown(format, self._terminal)
        self._status: Status | None = None
        self._shared = ExitStack()

    def __enter__(self) -> StreamLine:
        if self._shown:
            self._status = self._terminal.status(f"{self._label}: waiting for events")
            self._status.start()
            self._shared.enter_context(moving(self._terminal))
        return self

    def update(
        self, *, batch: int, records: int, rate: float, delivered: int, rejected: int, lag_s: float | None = None
    ) -> None:
        """Show the batch that was done last, and the totals."""
        if self._status is not None:
            self._status.update(f"{self._label}: {stream_line(batch, records, rate, delivered, rejected, lag_s)}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shared.close()
        if self._status is not None:
            self._status.stop()


def stream_line(batch: int, records: int, rate: float, delivered: int, rejected: int, lag_s: float | None) -> str:
    """What the line says.

    >>> stream_line(7, 12_000, 5_250.0, 310, 0, 1.26)
    'batch 7  12,000 in, 5.2k/s  310 delivered  1.3 s behind'
    """
    parts = [f"batch {batch}", _told(records, rate, "in"), f"{delivered:,} delivered"]
    parts += [f"{rejected:,} rejected"] if rejected else []
    parts += [f"{lag_s:,.1f} s behind"] if lag_s is not None else []
    return "  ".join(parts)


def _told(rows: int, rate: float, what: str = "rows") -> str:
    return f"{rows:,} {what}, {short(rate)}/s"


def short(number: float) -> str:
    """A number in a few characters.

    >>> short(12), short(5_250), short(1_200_000)
    ('12', '5.2k', '1.2M')
    """
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return f"{number:.0f}"
