"""The one way of text to the terminal: a printed text is one line, and what it hides is made visible."""

from __future__ import annotations

from typing import Any

from rich.console import Console, RenderableType
from rich.status import Status
from rich.text import Text

from comity.visible import visible


class Terminal(Console):
    """A console that colours on a terminal only and never wraps, because lines are read by programs, too.

    Most of what is printed holds foreign text: names from files, parts of records. It can add no line, no colour and
    no escape sequence.
    """

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True, **options)

    def print(self, *objects: Any, lines: bool = False, **options: Any) -> None:
        """Print texts as one line; with `lines` their line ends are meant, and no foreign text in them has any."""
        shown = [visible(one, line_ends=lines) if isinstance(one, str) else one for one in objects]
        super().print(*shown, **options)

    def status(self, status: RenderableType, **options: Any) -> Status:
        """A spinner with a text beside it."""
        return _PlainStatus(_plain(status), console=self, **options)


class _PlainStatus(Status):
    """One that takes no markup in its text."""

    def update(self, status: RenderableType | None = None, **options: Any) -> None:
        super().update(_plain(status) if status is not None else None, **options)


def _plain(text: RenderableType) -> RenderableType:
    return Text(visible(text)) if isinstance(text, str) else text
