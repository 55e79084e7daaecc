"""Results on standard output or in files, messages on standard error."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from comity.errors import Misuse, Place
from comity.run.outputs import written_whole
from comity.visible import visible, visible_bytes

if TYPE_CHECKING:
    from comity.cli.terminal import Terminal


def console(*, stderr: bool = False) -> Terminal:
    """Where texts for people go. A printed text is one line, unless `lines=True` says that its line ends are meant.

    While something moves on the terminal, what goes there goes through the console of that, and stands above it.
    """
    from comity.cli.terminal import Terminal

    if _moving and (sys.stderr if stderr else sys.stdout).isatty():
        return _moving[-1]
    return Terminal(stderr=stderr)


_moving: list[Terminal] = []


@contextmanager
def moving(terminal: Terminal) -> Iterator[None]:
    """A bar or a line that changes is on this console while the block runs."""
    _moving.append(terminal)
    try:
        yield
    finally:
        _moving.remove(terminal)


def write_json(value: Any, *, stderr: bool = False, indent: int | None = None) -> None:
    """A value as JSON in UTF-8, whatever the locale."""
    stream = sys.stderr.buffer if stderr else sys.stdout.buffer
    text = visible(json.dumps(value, ensure_ascii=False, indent=indent), line_ends=True)
    stream.write(text.encode() + b"\n")
    stream.flush()


@contextmanager
def result_stream(path: Path | None) -> Iterator[IO[bytes]]:
    """Standard output, or a file that appears when it is complete, so that nobody reads half a result."""
    if path is None:
        yield cast(IO[bytes], _ToTerminal()) if sys.stdout.isatty() else sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with written_whole(path) as stream:
        yield stream


class _ToTerminal(io.BufferedIOBase):
    """Standard output where somebody looks at it. Files and pipes get the bytes as they are."""

    def write(self, content: Any) -> int:
        sys.stdout.buffer.write(visible_bytes(content))
        return len(content)


def refuse_overwriting(output: Path | None, *inputs: str | Path) -> None:
    """An output that is one of the inputs would destroy it."""
    for one in inputs:
        if output is not None and output.is_file() and Path(one).exists() and output.samefile(one):
            place = Place(str(output))
            raise Misuse("this file is read, it cannot be written, too", code="overwrites-input", place=place)
