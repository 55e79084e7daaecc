"""`stdout`: notifications as lines of CloudEvents JSON on standard output."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict

from comity.connect.port import Capability, Connector, Message, Setting
from comity.errors import Permanent
from comity.visible import visible_bytes

_CAPABILITY = Capability(ordered=True)
_writing = threading.Lock()  # sinks of several subscribers share the one stream


class StdoutOptions(BaseModel):
    """It has no options."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StdoutSink:
    """Writes each message as a line. A reader that went away makes it refuse everything.

    >>> import io
    >>> stream = io.BytesIO()
    >>> StdoutSink(stream).deliver([Message("house_a", "fires", "", b"{}")])
    >>> stream.getvalue()
    b'{}\\n'
    """

    capability = _CAPABILITY

    def __init__(self, stream: BinaryIO | None = None) -> None:
        self._stream = stream

    def deliver(self, messages: Sequence[Message]) -> None:
        """Write messages in their order, whole lines at a time."""
        stream = self._stream or sys.stdout.buffer
        lines = b"".join(message.line + b"\n" for message in messages)
        try:
            with _writing:
                stream.write(visible_bytes(lines) if stream.isatty() else lines)
                stream.flush()
        except (OSError, ValueError) as error:
            raise Permanent(f"standard output cannot be written: {error}", code="output-closed") from error

    def close(self) -> None:
        """Nothing: the stream belongs to the process."""


def _open(options: StdoutOptions, setting: Setting) -> StdoutSink:
    return StdoutSink()


CONNECTOR = Connector(kind="stdout", capability=_CAPABILITY, options=StdoutOptions, sink=_open)
