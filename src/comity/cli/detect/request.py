"""What `comity detect` was asked for, whichever way it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from comity.cli.rejected import FailOn
from comity.cli.session import Format, Session

if TYPE_CHECKING:
    from comity.event.taxonomy import Taxonomy
    from comity.pattern.bound import BoundPattern


@dataclass(frozen=True, slots=True)
class DetectRequest:
    """Profiles, events, and how they are to be looked at; times are microseconds."""

    profiles: Path
    patterns: Sequence[BoundPattern]
    events: str
    taxonomy: Taxonomy | None
    start_us: int | None
    until_us: int | None
    lateness_us: int | None
    """How far events of a stream may be out of order; None for stored events."""
    clock: bool
    out: Path | None
    master: str | None
    spark_config: Mapping[str, str]
    format: Format
    session: Session
    fail_on: FailOn = FailOn.ALL
