"""The shape of what an entry of a YAML file says about its terms."""

from __future__ import annotations

from datetime import datetime, time
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from comity.event.times import parse_time_of_day, parse_timestamp
from comity.profile.terms import MOST_PRIORITY, Terms


def _time_of_day(value: Any) -> Any:
    """A number would be taken for seconds; people write 8:00 as well as 08:00."""
    if isinstance(value, time):
        return value
    found = parse_time_of_day(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("a time of day, in UTC, is written as 08:00, and with another offset as 08:00+01:00")
    return found


TimeOfDay = Annotated[time, BeforeValidator(_time_of_day)]


def _moment(value: Any) -> Any:
    """A time in UTC. A number would be taken for seconds since 1970, and a time without a zone is one in UTC."""
    found = parse_timestamp(value) if isinstance(value, str) else value
    if found is None and isinstance(value, str):
        found = parse_timestamp(f"{value}T00:00:00Z" if len(value) == 10 else f"{value}Z")
    if not isinstance(found, datetime):
        raise ValueError("a point of time is written as 2026-12-31T18:00:00Z")
    return found


Moment = Annotated[datetime, BeforeValidator(_moment)]


class ActiveFile(BaseModel):
    """The part of each day, in UTC, in which a profile is registered."""

    model_config = ConfigDict(extra="forbid")

    begin: TimeOfDay = Field(default=time(0), alias="from")
    until: TimeOfDay = time(0)
    """The end, which is not part of it; midnight by default."""


class TermsFile(BaseModel):
    """The terms as they are written."""

    model_config = ConfigDict(extra="forbid")

    deliver: dict[str, str | int | float] = Field(default_factory=dict)
    active: ActiveFile | None = None
    expires: Moment | None = None
    scope: list[str] = Field(default_factory=list)
    own: bool = False
    priority: Annotated[int, Field(ge=-MOST_PRIORITY, le=MOST_PRIORITY)] = 0

    def terms(self) -> Terms:
        """The same as a profile has them."""
        active = (self.active.begin, self.active.until) if self.active is not None else None
        return Terms(active, self.expires, self.priority, tuple(self.scope), self.own, self.deliver)
