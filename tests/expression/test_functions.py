"""The conversions, the parts of texts and the formats of times: what they give, and what they refuse."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.event.event import Event
from comity.event.kinds import Kind
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind
from comity.expression.evaluate import evaluate
from comity.expression.parse import parse
from comity.expression.scope import Scope
from comity.expression.spellings import as_float, as_int, as_text, from_text
from comity.expression.time_formats import format_time, parse_time, time_format
from comity.testing.samples import values

PLAIN = Event(
    "1", "/a", "House", datetime(2026, 5, 1, 13, 27, 5, 120_003, tzinfo=UTC), {"n": 5, "x": -0.0, "s": "a, b, c"}
)


def value(text: str) -> Any:
    return evaluate(bind(parse(text), Scope()).node, PLAIN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("text(n)", "5"),
        ("text(x)", "0.0"),
        ("text(1e16)", "1e+16"),
        ("text(n > 3)", "true"),
        ("text(event.time)", "2026-05-01T13:27:05.120003Z"),
        ("text(90 min)", "PT1H30M"),
        ("text(s)", None),
        ("int('12')", 12),
        ("int('-0')", 0),
        ("int('012')", None),
        ("int('9223372036854775808')", None),
        ("int(5.0)", 5),
        ("int(5.5)", None),
        ("int(1e300)", None),
        ("float('1.5e2')", 150.0),
        ("float('1e999')", None),
        ("float('.5')", None),
        ("before(s, ', ')", "a"),
        ("after(s, ', ')", "b, c"),
        ("before_last(s, ', ')", "a, b"),
        ("after_last(s, ', ')", "c"),
        ("before(s, ';')", None),
        ("after(s, '')", None),
        ("after_last('aaa', 'aa')", ""),
        ("before_last('aaa', 'aa')", "a"),
        ("time_of_day(event.time)", timedelta(hours=13, minutes=27, seconds=5, microseconds=120_003)),
        ("time_of_day(1969-12-31T23:00:00Z)", timedelta(hours=23)),
        ("weekday(event.time)", 5),
        ("weekday(2026-05-03)", 7),
        ("format_time(event.time, 'h:mm a')", "1:27 pm"),
        ("format_time(2026-05-01, 'hh:mm a')", "12:00 am"),
        ("format_time(event.time, 'HH:mm:ss.SSS')", "13:27:05.120"),
        ("format_time(event.time, \"yyyy-MM-dd'T'HH\")", "2026-05-01T13"),
        ("format_time(0001-01-02, 'd.M.yyyy')", "2.1.0001"),
        ("parse_time('1:27 PM', 'h:mm a')", datetime(1970, 1, 1, 13, 27, tzinfo=UTC)),
        ("parse_time('12:05 am', 'h:mm a')", datetime(1970, 1, 1, 0, 5, tzinfo=UTC)),
        ("parse_time('29.2.2024', 'd.M.yyyy')", datetime(2024, 2, 29, tzinfo=UTC)),
        ("parse_time('29.2.2023', 'd.M.yyyy')", None),
        ("parse_time('13:27 pm', 'h:mm a')", None),
        ("parse_time('2026-5-01', 'yyyy-MM-dd')", None),
        ("parse_time('2026-05-01 ', 'yyyy-MM-dd')", None),
        ("parse_time('0000-05-01', 'yyyy-MM-dd')", None),
    ],
)
def test_functions_give(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize("format", ["", "-", "yy", "yyyy yyyy", "HH h a", "h:mm", "HH a", "'open", "QQ"])
def test_a_constant_that_is_no_format_is_refused(format: str) -> None:
    with pytest.raises(Misuse) as caught:
        time_format(format)
    assert caught.value.code == "bad-format"
    house = EventType("House", "city", own={"at": AttributeType(Kind.STRING)})
    text = format.replace('"', '""')
    with pytest.raises(Misuse, match="bad-format"):
        bind(parse(f'parse_time(at, "{text}")'), Scope(house))
    assert parse_time("", format) is None
    assert format_time(datetime(2026, 1, 1, tzinfo=UTC), format) is None


@given(st.one_of(*(values(kind) for kind in (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.TIMESTAMP, Kind.DURATION))))
def test_every_value_is_read_back_from_its_text(found: Any) -> None:
    text = as_text(found)
    kinds = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, datetime: Kind.TIMESTAMP, timedelta: Kind.DURATION}
    assert from_text(text, kinds[type(found)]) == found
    if type(found) is int:
        assert as_int(text) == found
    if type(found) is float:
        assert as_float(text) == found


@given(st.text("-+0123456789.eE ", max_size=8))
def test_numbers_are_read_as_json_writes_them(text: str) -> None:
    import json

    try:
        known = json.loads(text) if text == text.strip() else None
    except ValueError:
        known = None
    assert as_float(text) == (None if known is None or abs(known) == float("inf") else float(known))
    assert as_int(text) == (known if type(known) is int else None)


@given(st.datetimes(timezones=st.just(UTC)), st.sampled_from(["yyyy-MM-dd HH:mm:ss.SSSSSS", "d.M.yyyy h:m:s a SSSSSS"]))
def test_a_time_is_read_back_from_a_format_with_all_parts(time: datetime, format: str) -> None:
    written = format_time(time, format)
    assert written is not None
    assert parse_time(written, format) == time
