"""Sources that Spark reads by itself: what it loads, and where in the columns of that the events are.

The kinds of sources differ in little more than a format and its options, and nothing here knows Spark. What comes of
it, be it a batch or a stream, is a DataFrame: of whole events as lines of JSON in one column, or of rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from comity.connect.port import Capability, Setting
from comity.errors import Misuse, Place
from comity.event.formats.csv import ENVELOPE_COLUMNS

Text = Annotated[str, StringConstraints(min_length=1)]
PARTS = (*ENVELOPE_COLUMNS, "data")
CAPABILITY = Capability(can_replay=True, durable=True)
"""Of what Spark reads: it notes the position, and the source is still there."""
_HIDDEN = "(hidden)"


DELTA = "delta"
"""The format for which Spark has no reader that fits, and Comity has one."""


class Sql(BaseModel):
    """An expression of Spark's SQL over the columns of a source."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    sql: Text


class Secret(BaseModel):
    """Where a text stands that belongs into no file of a federation."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    env: Text | None = None
    file: Text | None = None

    @model_validator(mode="after")
    def _check_choice(self) -> Secret:
        if (self.env is None) == (self.file is None):
            raise ValueError("one of `env` and `file` is needed")
        return self


ColumnText = Text | Sql
"""The name of a column (or a value that all events have), or an expression."""


class FrameOptions(BaseModel):
    """What all kinds have in common."""

    model_config = ConfigDict(extra="forbid", strict=True)

    columns: dict[str, ColumnText] = Field(default_factory=dict)
    """For parts of events where they are; see `comity.spark.deliver`."""
    lines: ColumnText | None = None
    """The column with whole events as JSON, in place of `columns`."""
    where: Text | None = None
    """A condition of SQL over the columns of the source, which what is read must fulfil."""
    options: dict[str, str | int | float | bool | Secret] = Field(default_factory=dict)
    """Further options of Spark's format."""

    @field_validator("columns")
    @classmethod
    def _check_parts(cls, given: dict[str, ColumnText]) -> dict[str, ColumnText]:
        unknown = [name for name in given if name not in PARTS]
        if unknown:
            raise ValueError(f"events have no part {unknown[0]!r}; there are {', '.join(PARTS)}")
        return given

    @model_validator(mode="after")
    def _check_form(self) -> FrameOptions:
        if self.columns and self.lines is not None:
            raise ValueError("`columns` and `lines` exclude each other: lines have whole events, envelope and all")
        return self


@dataclass(frozen=True, slots=True)
class FrameSource:
    """A source of a domain that Spark reads."""

    name: str
    domain: str
    format: str
    """Spark's name of it."""
    options: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    stream_options: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    """Those that a stream has besides."""
    at: str | None = None
    """The path; None for what is found by its options."""
    table: str | None = None
    """The table of a catalogue, in place of a format."""
    lines: ColumnText | None = None
    columns: Mapping[str, ColumnText] = field(default_factory=dict, hash=False)
    where: str | None = None
    place: tuple[str, str] | None = None
    """Of lines: where one stands, as an expression of SQL for a text and one for a number."""
    is_stored: bool = True
    """Whether a run over stored events can read it."""
    is_streamed: bool = True
    """Whether a stream can read it."""
    package: str | None = None
    """What Spark needs for it and does not bring along."""
    about: str = ""
    """What is read and how, for people."""
    secrets: tuple[str, ...] = field(default=(), repr=False, hash=False)

    @property
    def full_name(self) -> str:
        """The domain and the name."""
        return f"{self.domain}.{self.name}"

    def hidden(self, text: str) -> str:
        """A text of somebody else's, without the secrets of this source in it."""
        for secret in self.secrets:
            text = text.replace(secret, _HIDDEN)
        return text


def as_read(given: FrameOptions, setting: Setting) -> dict[str, Any]:
    """What all kinds take from their options, for a `FrameSource`."""
    secrets = tuple(_secrets(given, setting))
    return {
        "name": setting.name,
        "domain": setting.domain,
        "columns": given.columns,
        "lines": given.lines,
        "where": given.where,
        "options": dict(_options(given, setting)),
        "secrets": secrets,
    }


def _options(given: FrameOptions, setting: Setting) -> Iterator[tuple[str, str]]:
    for name, value in given.options.items():
        if isinstance(value, Secret):
            yield name, read_secret(value, setting)
        else:
            yield name, str(value).lower() if isinstance(value, bool) else str(value)


def _secrets(given: FrameOptions, setting: Setting) -> Iterator[str]:
    return (read_secret(value, setting) for value in given.options.values() if isinstance(value, Secret))


_MOST_SECRET_BYTES = 65_536


def read_secret(given: Secret, setting: Setting) -> str:
    """The text that is meant; raises `Misuse` if there is none."""
    where = given.env or given.file or ""
    found = os.environ.get(where, "") if given.env else _content(setting.base / where)
    if not found.strip():
        hint = f"set {where} before the start" if given.env else "write it into this file"
        place = Place(path=f"{setting.domain}.{setting.name}")
        raise Misuse(f"there is no secret in {where}", code="missing-secret", place=place, hint=hint)
    return found.strip()


def _content(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            return stream.read(_MOST_SECRET_BYTES)
    except OSError:
        return ""
