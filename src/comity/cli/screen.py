"""What a run says while it runs, on standard error, in the form that was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from comity.cli.failure import show
from comity.cli.output import console, write_json
from comity.cli.progress import BatchProgress, is_shown
from comity.cli.session import Format
from comity.errors import ComityError
from comity.run.observer import Advance, Notice, Silent


class Screen(Silent):
    """An observer for people, or for programs that read JSON."""

    def __init__(self, format: Format) -> None:
        self.format = format

    def working(self, what: str) -> AbstractContextManager[object]:
        """A text that moves, where somebody looks."""
        return console(stderr=True).status(what) if is_shown(self.format) else nullcontext()

    @contextmanager
    def advancing(self, what: str) -> Iterator[Advance | None]:
        """A bar, where somebody looks."""
        if not is_shown(self.format):
            yield None
            return
        with BatchProgress(what) as progress:
            yield progress.update

    def fault(self, error: ComityError) -> None:
        show([error], self.format)

    def warning(self, notice: Notice) -> None:
        if self.format is Format.JSON:
            write_json({"warning": notice.message, "code": notice.code}, stderr=True)
        else:
            console(stderr=True).print(notice.message, style="yellow")
