"""Text forms of timestamps and durations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.event import format_duration, format_timestamp, parse_duration, parse_iso_duration, parse_timestamp

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
MAX_SPAN = timedelta(microseconds=2**63 - 1)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2024-05-01T12:00:00Z", NOON),
        ("2024-05-01t12:00:00z", NOON),
        ("2024-05-01T14:30:00+02:30", NOON),
        ("2024-05-01T12:00:00-00:00", NOON),
        ("2024-05-01T12:00:00.5Z", NOON.replace(microsecond=500_000)),
        ("2024-05-01T12:00:00.123456999Z", NOON.replace(microsecond=123_456)),
        ("2024-05-01T12:00:00.000000999+00:00", NOON),
        ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
    ],
)
def test_parse_timestamp_rfc_3339(text: str, instant: datetime) -> None:
    found = parse_timestamp(text)
    assert found == instant
    assert found is not None
    assert found.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-05-01",
        "2024-05-01T12:00:00",
        "2024-05-01T12:00Z",
        "2024-05-01 12:00:00Z",
        "2024-05-01T24:00:00Z",
        "2024-05-01T23:59:60Z",
        "2024-05-01T12:60:00Z",
        "2024-02-30T12:00:00Z",
        "2023-02-29T12:00:00Z",
        "2024-13-01T12:00:00Z",
        "2024-5-1T12:00:00Z",
        "20240501T120000Z",
        "2024-W18-3T12:00:00Z",
        "2024-05-01T12:00:00.Z",
        "2024-05-01T12:00:00,5Z",
        "2024-05-01T12:00:00+0200",
        "2024-05-01T12:00:00+02",
        "2024-05-01T12:00:00+24:00",
        "2024-05-01T12:00:00+02:00:00",
        "2024-05-01T12:00:00Z\n",
        " 2024-05-01T12:00:00Z",
        "\u0662024-05-01T12:00:00Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "2024-05-01T12:00:00." + "1" * 1000 + "Z",
    ],
)
def test_parse_timestamp_refuses(text: str) -> None:
    assert parse_timestamp(text) is None


@given(st.datetimes(timezones=st.just(UTC)))
def test_timestamp_round_trip(instant: datetime) -> None:
    assert parse_timestamp(format_timestamp(instant)) == instant


def test_format_timestamp_other_zone_and_none() -> None:
    zone = timezone(timedelta(hours=2))
    assert format_timestamp(datetime(2024, 5, 1, 14, tzinfo=zone)) == "2024-05-01T12:00:00Z"
    with pytest.raises(ValueError, match="without an offset"):
        format_timestamp(datetime(2024, 5, 1))


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("PT5M", timedelta(minutes=5)),
        ("P1DT2H3M4.5S", timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
        ("P2W", timedelta(weeks=2)),
        ("PT0,5H", timedelta(minutes=30)),
        ("-PT1S", timedelta(seconds=-1)),
        ("+PT1S", timedelta(seconds=1)),
        ("PT0S", timedelta()),
        ("PT0.0000019S", timedelta(microseconds=1)),
        ("-PT0.0000019S", timedelta(microseconds=-1)),
        ("PT36H", timedelta(hours=36)),
        ("PT9223372036854.775807S", MAX_SPAN),
    ],
)
def test_parse_iso_duration(text: str, span: timedelta) -> None:
    assert parse_iso_duration(text) == span
    assert parse_duration(text) == span


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("5 min", timedelta(minutes=5)),
        ("250ms", timedelta(milliseconds=250)),
        ("1.5 hours", timedelta(minutes=90)),
        ("-3 d", timedelta(days=-3)),
        ("7 µs", timedelta(microseconds=7)),
        ("2 weeks", timedelta(weeks=2)),
        ("0 s", timedelta()),
    ],
)
def test_parse_duration_with_a_unit(text: str, span: timedelta) -> None:
    assert parse_duration(text) == span
    assert parse_iso_duration(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "P",
            "PT",
            "P1DT",
            "P1Y",
            "P1M",
            "PT1",
            "1",
            "5 m",
            "5",
            "PT1.5H3M",
            "PT1M1H",
            "pt5m",
            "P-1D",
            "5 parsecs",
        ),
        *(
            "PT5M\n",
            "5  min",
            "PT9223372036854.775808S",
            "P" + "9" * 20 + "W",
            "P" + "9" * 500 + "D",
            "\u0665 min",
            "--PT5M",
        ),
    ],
)
def test_parse_duration_refuses(text: str) -> None:
    assert parse_duration(text) is None


@given(st.timedeltas(min_value=-MAX_SPAN, max_value=MAX_SPAN))
def test_duration_round_trip(span: timedelta) -> None:
    assert parse_duration(format_duration(span)) == span


def test_format_duration_zero() -> None:
    assert format_duration(timedelta()) == "PT0S"
    assert format_duration(timedelta(days=2)) == "P2D"


@given(st.text(max_size=30))
def test_parsers_never_raise(text: str) -> None:
    parse_timestamp(text)
    parse_duration(text)
