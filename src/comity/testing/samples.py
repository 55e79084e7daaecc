"""Hypothesis strategies for values of every kind and for events that carry them, rich in edges."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from comity.event.event import Event
from comity.event.kinds import INT_MAX, INT_MIN, Kind, Point, Value
from comity.event.types import EVENT, AttributeType, EventType


def _optional(kind: Kind, **more: Any) -> AttributeType:
    return AttributeType(kind, optional=True, **more)


_DEVICE = {"serial": _optional(Kind.STRING), "load": _optional(Kind.FLOAT), "ports": _optional(Kind.INT)}
_TEXTS = AttributeType(Kind.STRING)
SAMPLE = EventType(
    "Sample",
    "test",
    parent=EVENT,
    own={
        "flag": _optional(Kind.BOOL),
        "count": _optional(Kind.INT),
        "total": AttributeType(Kind.INT),
        "level": _optional(Kind.FLOAT),
        "heat": AttributeType(Kind.FLOAT),
        "name": _optional(Kind.STRING),
        "room": AttributeType(Kind.STRING),
        "since": _optional(Kind.TIMESTAMP),
        "span": _optional(Kind.DURATION),
        "pause": _optional(Kind.DURATION),
        "raw": _optional(Kind.BYTES),
        "key": _optional(Kind.BYTES),
        "place": _optional(Kind.POINT),
        "goal": _optional(Kind.POINT),
        "device": _optional(Kind.STRUCT, attributes=_DEVICE),
        "spare": _optional(Kind.STRUCT, attributes=_DEVICE),
        "unit": _optional(Kind.STRUCT, attributes={**_DEVICE, "load": _optional(Kind.INT), "age": _optional(Kind.INT)}),
        "tags": _optional(Kind.LIST, element=_TEXTS),
        "marks": _optional(Kind.LIST, element=_TEXTS),
        "ids": _optional(Kind.LIST, element=AttributeType(Kind.INT)),
        "loads": _optional(Kind.LIST, element=AttributeType(Kind.FLOAT)),
        "times": _optional(Kind.LIST, element=AttributeType(Kind.TIMESTAMP)),
    },
)
"""A type with attributes of every kind, most of them optional."""

OPEN_PATHS = (("x",), ("y",), ("z",), ("deep", "x"), ("deep", "a/b"))
"""The attributes that open expressions read, beside the envelope."""

_INTS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    10,
    2**53 - 1,
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    2**62,
    INT_MAX,
    INT_MAX - 1,
    INT_MIN,
    INT_MIN + 1,
)
_FLOATS = (
    *(
        0.0,
        -0.0,
        0.5,
        1.0,
        -1.0,
        1.5,
        2.5,
        -2.5,
        3.0,
        7.25,
        10.0,
        1e-300,
        5e-324,
        1e15,
        2.0**53,
        2.0**53 + 2,
        -(2.0**53),
    ),
    *(2.0**62, 2.0**63, -(2.0**63), 2.0**64, 9.3e18, 1e300, 1.7976931348623157e308, -1.7976931348623157e308),
)
_WORDS = (
    *(
        "",
        "a",
        "b",
        "ab",
        "abc",
        "A",
        "Straße",
        "İstanbul",
        "ΟΔΟΣ",
        "Привет",
        "😀",
        "a😀b",
        "e\u0301",
        "\uffff",
        "\x00",
    ),
    *("a\nb", "a%b", "a_b", "a\\b", " a ", "\ta", "5", "5 min", "PT5M", "-P1DT0.5S", "true", "2024-02-29T12:00:00Z"),
    *("2024-02-29T13:00:00+01:00", "2024-02-30T12:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"),
)
_MOMENTS = (
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2024, 2, 29, 12, tzinfo=UTC),
    datetime(2024, 3, 31, 1, 30, 0, 1, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1582, 10, 10, 3, 4, 5, tzinfo=UTC),
    datetime(1883, 11, 18, 12, 3, 58, 999_999, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
)
_SPANS = (
    *(timedelta(), timedelta(microseconds=1), timedelta(microseconds=-1), timedelta(minutes=5), timedelta(days=-1.5)),
    *(timedelta(days=3_652_058), timedelta(microseconds=INT_MAX), timedelta(microseconds=-INT_MAX)),
)


@cache
def values(kind: Kind) -> SearchStrategy[Value]:
    """Scalar values of a kind, edges first of all."""
    match kind:
        case Kind.BOOL:
            return st.booleans()
        case Kind.INT:
            return st.sampled_from(_INTS) | st.integers(-20, 20) | st.integers(INT_MIN, INT_MAX)
        case Kind.FLOAT:
            return st.sampled_from(_FLOATS) | st.floats(allow_nan=False, allow_infinity=False)
        case Kind.STRING:
            return st.sampled_from(_WORDS) | st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=4)
        case Kind.TIMESTAMP:
            return st.sampled_from(_MOMENTS) | st.datetimes(timezones=st.just(UTC))
        case Kind.DURATION:
            return st.sampled_from(_SPANS) | st.timedeltas(timedelta(days=-400), timedelta(days=400))
        case Kind.BYTES:
            return st.sampled_from((b"", b"\x00", b"ab", b"\xff")) | st.binary(max_size=3)
        case Kind.POINT:
            number = st.sampled_from((0.0, -0.0, 1.5, -2.0))
            return st.builds(Point, number, number)
    raise ValueError(f"no single values of kind {kind}")


def _attribute_values(attribute: AttributeType) -> SearchStrategy[Value]:
    if attribute.kind is Kind.STRUCT:
        mandatory = {
            name: _attribute_values(inner) for name, inner in attribute.attributes.items() if not inner.optional
        }
        optional = {name: _attribute_values(inner) for name, inner in attribute.attributes.items() if inner.optional}
        return st.fixed_dictionaries(mandatory, optional=optional)
    if attribute.kind is Kind.LIST and attribute.element is not None:
        return st.lists(_attribute_values(attribute.element), max_size=3)
    return values(attribute.kind)


@cache
def events(type: EventType = SAMPLE) -> SearchStrategy[Event]:
    """Events of a type, with some of what is optional."""
    return _events(
        st.just(type.qualified_name), _attribute_values(AttributeType(Kind.STRUCT, attributes=type.attributes))
    )


@cache
def open_events() -> SearchStrategy[Event]:
    """Events with any JSON in the attributes of `OPEN_PATHS`."""
    scalar = st.one_of(values(Kind.BOOL), values(Kind.INT), values(Kind.FLOAT), values(Kind.STRING))
    value = scalar | st.lists(scalar, max_size=2) | st.dictionaries(st.sampled_from(("x", "a/b")), scalar, max_size=2)
    data = st.fixed_dictionaries({}, optional={"x": value, "y": value, "z": value, "deep": value})
    return _events(st.sampled_from(("test.Sample", "test.Other")), data)


def _events(types: SearchStrategy[str], data: SearchStrategy[dict[str, Value]]) -> SearchStrategy[Event]:
    return st.builds(
        Event,
        id=st.sampled_from(("1", "2", "ß")),
        source=st.sampled_from(("/a", "/b/ab")),
        type=types,
        time=st.none() | values(Kind.TIMESTAMP),
        data=data,
        subject=st.none() | st.sampled_from(("a", "ab")),
        sequence=st.none() | values(Kind.INT),
        mode=st.sampled_from((None, "live", "replay")),
        version=st.sampled_from((None, "1", "2.0")),
    )
