"""What whoever started a run is told while it runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from comity.errors import ComityError
    from comity.plan import Summary
    from comity.run.totals import StreamTotals

Advance = Callable[[int, float], None]
"""Takes how far the work is: rows so far, as far as they can be told, and the part of the work, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the run goes on without, and a code for programs."""

    message: str
    code: str

    def __str__(self) -> str:
        return self.message


class Observer(Protocol):
    """Is told, and decides nothing. A stream calls it from the threads that do the work, one at a time."""

    def working(self, what: str) -> AbstractContextManager[object]:
        """Work begins that takes a while, and ends with the block."""

    def advancing(self, what: str) -> AbstractContextManager[Advance | None]:
        """The same for work that knows how far it is. Gives what is to be told of that; None when nobody looks."""

    def started(self) -> None:
        """A stream is about to read its first events."""

    def batch_done(self, number: int, summary: Summary, totals: StreamTotals) -> None:
        """A stream delivered and sent a batch; the totals hold it."""

    def ended(self, summary: Summary) -> None:
        """A stream came to its end, and reported what that decides."""

    def stopping(self) -> None:
        """Somebody asked a stream to stop; it may take a while until it has. Called from a thread of its own."""

    def stopped(self) -> None:
        """A stream was stopped, because somebody asked for it."""

    def fault(self, error: ComityError) -> None:
        """A change cannot be taken up; the run goes on as it was."""

    def warning(self, notice: Notice) -> None:
        """The run goes on without something."""


class Silent:
    """An observer that does nothing, for those who read the logs, or the results; others take what they need of it."""

    def working(self, what: str) -> AbstractContextManager[object]:
        return nullcontext()

    def advancing(self, what: str) -> AbstractContextManager[Advance | None]:
        return nullcontext()

    def started(self) -> None: ...

    def batch_done(self, number: int, summary: Summary, totals: StreamTotals) -> None: ...

    def ended(self, summary: Summary) -> None: ...

    def stopping(self) -> None: ...

    def stopped(self) -> None: ...

    def fault(self, error: ComityError) -> None: ...

    def warning(self, notice: Notice) -> None: ...
