"""Meta information of a template: disposal, re-registration, quality of service, scope."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta

from comity.errors import Misuse
from comity.event.times import parse_time_of_day, parse_timestamp
from comity.language.fedreg.words import PRIORITIES
from comity.profile.terms import MOST_PRIORITY, Terms

KNOWN = ("disposal", "register", "qos", "scope")


def read_meta(given: Iterable[tuple[str, str]], registered: datetime | None) -> Terms:
    """What the pairs of type and text say; `registered` is when the subscription is made.

    >>> read_meta([("disposal", "18:00"), ("register", "09:00")], None).active
    (datetime.time(9, 0), datetime.time(18, 0))
    """
    ends: list[time] = []
    begins: list[time] = []
    expires: list[datetime] = []
    priority = 0
    scope: tuple[str, ...] = ()
    for type, text in given:
        if type == "disposal":
            moment = _moment(text)
            ends.append(moment) if isinstance(moment, time) else expires.append(moment)
        elif type == "register":
            begins.append(_clock(text))
        elif type == "qos":
            priority = _priority(text)
        elif type == "scope":
            scope = tuple(part for part in re.split(r"[\s,]+", text) if part)
        else:
            raise _misused(f"there is no meta information {type!r}", f"known: {', '.join(KNOWN)}")
    _check_once(ends, begins, expires)
    return Terms(_active(begins, ends), _expires(expires, begins, ends, registered), priority, scope)


def _check_once(*said: list[time] | list[datetime]) -> None:
    if any(len(some) > 1 for some in said):
        raise _misused("a rule of disposal or registration is there twice", "keep one of them")


def _active(begins: list[time], ends: list[time]) -> tuple[time, time] | None:
    if begins and not ends:
        raise _misused("it is registered again, but never disposed of", 'add <meta type="disposal">18:00</meta>')
    return (begins[0], ends[0]) if begins else None


def _expires(
    expires: list[datetime], begins: list[time], ends: list[time], registered: datetime | None
) -> datetime | None:
    """The end for good. A time of day without a new registration is the next such time."""
    if begins or not ends:
        return expires[0] if expires else None
    if registered is None:
        hint = "say when it is registered, or write a timestamp, or add a time to register again"
        raise _misused(f"it ends at {ends[0]:%H:%M}, but of which day is not known", hint)
    moment = datetime.combine(registered.astimezone(UTC).date(), ends[0], UTC)
    moment += timedelta(days=1) if moment <= registered else timedelta()
    return min([moment, *expires])


def _moment(text: str) -> time | datetime:
    found = parse_time_of_day(text)
    found_at = parse_timestamp(text) if found is None else found
    if found_at is None:
        hint = f"{_TIMES}, or a timestamp, 2026-12-31T23:00:00Z"
        reason = (
            "a subscription ends at a time; conditions on roles or other security attributes, and scripts, are refused"
        )
        raise _misused(f"{text!r} is no time: {reason}", hint)
    return found_at


_TIMES = "write a time of day in UTC, 18:00, or with its offset, 18:00+01:00, but no name of a zone"


def _clock(text: str) -> time:
    found = parse_time_of_day(text)
    if found is None:
        raise _misused(f"{text!r} is no time of day", _TIMES)
    return found


def _priority(text: str) -> int:
    if text in PRIORITIES:
        return PRIORITIES[text]
    if re.fullmatch(r"[+-]?[0-9]{1,5}", text) and abs(int(text)) <= MOST_PRIORITY:
        return int(text)
    hint = f"known: {', '.join(PRIORITIES)}, or a whole number from {-MOST_PRIORITY} to {MOST_PRIORITY}"
    raise _misused(f"{text!r} is no quality of service", hint)


def _misused(message: str, hint: str) -> Misuse:
    return Misuse(message, code="bad-meta", hint=hint)
