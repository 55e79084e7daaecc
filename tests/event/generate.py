"""Generated types, values that fit them, and events."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

from hypothesis import strategies as st

from comity.event import AttributeType, Event, EventType, Kind, Point, Value
from comity.event.kinds import INT_MAX, INT_MIN

MAX_SPAN = timedelta(microseconds=INT_MAX)
names = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True).filter(lambda name: name != "event")
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ints = st.integers(INT_MIN, INT_MAX)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.BOOL: st.booleans(),
    Kind.INT: ints,
    Kind.FLOAT: floats,
    Kind.STRING: texts,
    Kind.TIMESTAMP: st.datetimes(timezones=st.just(UTC)),
    Kind.DURATION: st.timedeltas(min_value=-MAX_SPAN, max_value=MAX_SPAN),
    Kind.BYTES: st.binary(max_size=12),
    Kind.POINT: st.builds(Point, floats, floats),
}
scalar_types = st.builds(AttributeType, st.sampled_from(list(scalars)), st.booleans())


def _nested(inner: st.SearchStrategy[AttributeType]) -> st.SearchStrategy[AttributeType]:
    struct = st.dictionaries(names, inner, min_size=1, max_size=3)
    return st.builds(
        lambda optional, attributes: AttributeType(Kind.STRUCT, optional, attributes=attributes), st.booleans(), struct
    ) | st.builds(lambda optional, element: AttributeType(Kind.LIST, optional, element=element), st.booleans(), inner)


attribute_types = st.recursive(scalar_types, _nested, max_leaves=4)
event_types = st.builds(
    lambda attributes: EventType("T", "n", own=attributes), st.dictionaries(names, attribute_types, max_size=4)
)


def values(attribute: AttributeType) -> st.SearchStrategy[Value]:
    """Typed values of an attribute."""
    if attribute.element is not None:
        return st.lists(values(attribute.element), max_size=3)
    return structs(attribute.attributes) if attribute.kind is Kind.STRUCT else scalars[attribute.kind]


def structs(attributes: Any) -> st.SearchStrategy[dict[str, Value]]:
    """Mandatory attributes always, optional ones sometimes."""
    mandatory = {name: values(one) for name, one in attributes.items() if not one.optional}
    optional = {name: values(one) for name, one in attributes.items() if one.optional}
    return st.fixed_dictionaries(mandatory, optional=optional)


def events(type: str, data: st.SearchStrategy[dict[str, Value]]) -> st.SearchStrategy[Event]:
    """Events with every part of the envelope there or not."""
    text = texts.filter(bool)
    return st.builds(
        Event,
        text,
        text,
        st.just(type),
        st.none() | scalars[Kind.TIMESTAMP],
        data,
        st.none() | text,
        st.none() | ints,
        st.sampled_from([None, "live", "past", "replay"]),
        st.none() | text,
    )


json_values: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | ints | floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
