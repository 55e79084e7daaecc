"""`--log FILE` and `--log-format`: the log of a run, for people or as a JSON object a line."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from comity.cli.options import option
from comity.connect.private import open_private
from comity.errors import Misuse, Place
from comity.logs import FIELDS, LOGGER
from comity.visible import visible


class LogFormat(StrEnum):
    """The form of a log."""

    TEXT = "text"
    JSON = "json"


LogOption = Annotated[
    str | None,
    option("FILE", "Append a log to a file, or - for standard error.", "--log"),
]
LogFormatOption = Annotated[LogFormat, typer.Option("--log-format", help="Lines for people, or JSON objects.")]


@contextmanager
def logging_to(target: str | None, form: LogFormat = LogFormat.TEXT, *, verbose: bool = False) -> Iterator[None]:
    """Write the log to a file, or to standard error (`-`), until the end of the block; None writes none."""
    if target is None:
        yield
        return
    handler = _handler(target)
    handler.setFormatter(_JsonLines() if form is LogFormat.JSON else _TextLines())
    before = LOGGER.level, LOGGER.propagate
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.DEBUG if verbose else logging.INFO)
    LOGGER.propagate = False  # a handler of the root would print it a second time
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.level, LOGGER.propagate = before
        handler.close()


def _handler(target: str) -> logging.Handler:
    if target == "-":
        return logging.StreamHandler(sys.stderr)
    try:
        return _PrivateFile(target, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        reason = f"cannot be written: {error.strerror}"
        raise Misuse(reason, code="unwritable-file", place=Place(target)) from error


class _PrivateFile(logging.FileHandler):
    """A log that only its owner can read: it tells who was sent what, and where."""

    def _open(self) -> TextIOWrapper:
        raw = open_private(self.baseFilename, "ab")
        return TextIOWrapper(raw, encoding=self.encoding, errors=self.errors, write_through=True)


class _JsonLines(logging.Formatter):
    """Time, level and event, then the fields; a field never takes the place of one of the three."""

    def format(self, record: logging.LogRecord) -> str:
        told = {**_fields(record), **_head(record)}
        return visible(json.dumps({**_head(record), **told}, ensure_ascii=False, default=str))


class _TextLines(logging.Formatter):
    """`2026-01-31T12:00:00.123Z info batch done batch=7 rejected=0`"""

    def format(self, record: logging.LogRecord) -> str:
        fields = [f"{key}={_shown(value)}" for key, value in _fields(record).items()]
        return visible(" ".join([*_head(record).values(), *fields]))


def _head(record: logging.LogRecord) -> dict[str, str]:
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return {"time": at.replace("+00:00", "Z"), "level": record.levelname.lower(), "event": record.getMessage()}


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = dict(getattr(record, FIELDS, {}))
    if record.exc_info and record.exc_info[1] is not None:
        fields["error"] = str(record.exc_info[1])
    return fields


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str) if not isinstance(value, str) or " " in value else value
