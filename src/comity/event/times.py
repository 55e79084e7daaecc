"""The text forms of timestamps (RFC 3339) and durations (ISO 8601, or a number with a unit)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from fractions import Fraction

from comity.event.kinds import INT_MAX, MICROSECOND

_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,30})?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_TIME_OF_DAY = re.compile(
    r"(?P<clock>(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?)"
    r"(?P<offset>Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?"
)
_NUMBER = r"[0-9]{1,20}(?:[.,][0-9]{1,30})?"
_ISO_DURATION = re.compile(
    rf"(?P<sign>[-+]?)P(?=.)(?:(?P<w>{_NUMBER})W)?(?:(?P<d>{_NUMBER})D)?"
    rf"(?:T(?=.)(?:(?P<h>{_NUMBER})H)?(?:(?P<m>{_NUMBER})M)?(?:(?P<s>{_NUMBER})S)?)?"
)
_MEASURED = re.compile(r"(?P<number>[-+]?[0-9]{1,20}(?:\.[0-9]{1,30})?) ?(?P<unit>[A-Za-zµμ]{1,12})")

_SECOND = 1_000_000
_ISO_UNITS = {"w": 604_800 * _SECOND, "d": 86_400 * _SECOND, "h": 3_600 * _SECOND, "m": 60 * _SECOND, "s": _SECOND}
_UNITS = {
    name: count
    for names, count in (
        ("us µs μs microsecond microseconds", 1),
        ("ms millisecond milliseconds", 1_000),
        ("s sec second seconds", _SECOND),
        ("min minute minutes", 60 * _SECOND),
        ("h hour hours", 3_600 * _SECOND),
        ("d day days", 86_400 * _SECOND),
        ("week weeks", 604_800 * _SECOND),
    )
    for name in names.split()
}


def parse_timestamp(text: str) -> datetime | None:
    """The instant, in UTC; None when the text is not strict RFC 3339 with an offset.

    Digits below a microsecond are cut off, because many systems send nanoseconds. `24:00` is refused, and so is a leap
    second (`:60`), because systems do not agree on which instant it is. `-00:00` is read as UTC.

    >>> parse_timestamp("2024-05-01T12:00:00.123456789+02:00")
    datetime.datetime(2024, 5, 1, 10, 0, 0, 123456, tzinfo=datetime.timezone.utc)
    >>> parse_timestamp("2024-05-01T12:00:00") is None
    True
    """
    if _TIMESTAMP.fullmatch(text) is None:
        return None
    try:
        instant = datetime.fromisoformat(text.upper())
        return instant if instant.tzinfo is UTC else instant.astimezone(UTC)
    except (ValueError, OverflowError):  # a day that the month does not have, or a year out of 1 to 9999
        return None


def format_timestamp(instant: datetime) -> str:
    """RFC 3339 in UTC, without needless digits of the second.

    >>> format_timestamp(datetime(2024, 5, 1, 12, tzinfo=UTC))
    '2024-05-01T12:00:00Z'
    """
    if instant.tzinfo is None:
        raise ValueError("a timestamp without an offset is no instant")
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def parse_time_of_day(text: str) -> time | None:
    """The time of day in UTC; one without an offset is in UTC. Names of zones are refused: their offsets change.

    >>> parse_time_of_day("9:05"), parse_time_of_day("00:30+01:00"), parse_time_of_day("24:00")
    (datetime.time(9, 5), datetime.time(23, 30), None)
    """
    found = _TIME_OF_DAY.fullmatch(text)
    if found is None:
        return None
    clock = found["clock"] if found["clock"][2] == ":" else f"0{found['clock']}"
    some_day = datetime.fromisoformat(f"2000-01-02T{clock}{found['offset'] or 'Z'}")
    return some_day.astimezone(UTC).time()


def parse_duration(text: str) -> timedelta | None:
    """The duration that an ISO 8601 text or a number with a unit (`5 min`, `250ms`) stands for.

    Units are us, ms, s, min, h, d and week, or spelt out; a lone `m` is refused, because it could be a month.

    >>> parse_duration("PT1M30S"), parse_duration("1.5 min"), parse_duration("P1M")
    (datetime.timedelta(seconds=90), datetime.timedelta(seconds=90), None)
    """
    return parse_iso_duration(text) if "P" in text[:2] else _parse_measured(text)


def parse_iso_duration(text: str) -> timedelta | None:
    """The duration that an ISO 8601 text stands for; None for years and months, which have no fixed length.

    >>> parse_iso_duration("-P1DT0.5S")
    datetime.timedelta(days=-2, seconds=86399, microseconds=500000)
    """
    match = _ISO_DURATION.fullmatch(text)
    if match is None:
        return None
    parts = {name: match[name] for name in _ISO_UNITS if match[name] is not None}
    *whole, _ = parts.values()
    if any("." in part or "," in part for part in whole):  # only the last part may have a fraction
        return None
    total = sum(Fraction(part.replace(",", ".")) * _ISO_UNITS[name] for name, part in parts.items())
    return _timedelta(-total if match["sign"] == "-" else total)


def format_duration(span: timedelta) -> str:
    """ISO 8601 in days, hours, minutes and seconds.

    >>> format_duration(timedelta(days=1, minutes=5)), format_duration(timedelta(seconds=-0.5))
    ('P1DT5M', '-PT0.5S')
    """
    count = span // MICROSECOND
    seconds, micros = divmod(abs(count), _SECOND)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    fraction = f".{micros:06}".rstrip("0") if micros else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    clock += f"{seconds}{fraction}S" if seconds or fraction else ""
    day = f"{days}D" if days else ""
    text = f"P{day}T{clock}" if clock else f"P{day}"
    return ("-" if count < 0 else "") + (text if text != "P" else "PT0S")


def _parse_measured(text: str) -> timedelta | None:
    match = _MEASURED.fullmatch(text)
    if match is None or match["unit"] not in _UNITS:
        return None
    return _timedelta(Fraction(match["number"]) * _UNITS[match["unit"]])


def _timedelta(microseconds: Fraction | int) -> timedelta | None:
    """Cut to whole microseconds, toward zero; None beyond 64 bits of them."""
    count = int(microseconds)
    return timedelta(microseconds=count) if abs(count) <= INT_MAX else None
