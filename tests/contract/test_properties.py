"""Claims about mappings: each one that is made holds for generated events, each denial has its example."""

from __future__ import annotations

import os
import sys
from collections import Counter
from fractions import Fraction
from itertools import islice

import pytest
from hypothesis import event as noted
from hypothesis import given, settings
from hypothesis import strategies as st

from comity import load
from comity.contract.collide import frozen
from comity.contract.mapping import Path, read_mapping
from comity.contract.properties import Fidelity, MappingProperties, Total, properties
from comity.contract.sample import beside, changed
from comity.contract.shape import leaves
from comity.event import Event, EventType
from comity.event.kinds import Kind, Point, Value, kind_of
from comity.event.taxonomy import Taxonomy
from comity.event.types import AttributeType
from comity.expression.evaluate import compare, evaluate, holds
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.tree import attributes
from comity.testing.mappings import events_for, mappings

NIGHTLY = os.environ.get("COMITY_PROFILE") == "nightly"


def assert_back(before: Value, after: Value, relative: Fraction, absolute: Fraction, path: object) -> None:
    """That a value came back, up to the bounds."""
    if isinstance(before, Point) and isinstance(after, Point):
        for one, other in zip(before, after, strict=True):
            assert_back(one, other, relative, absolute, path)
        return
    assert kind_of(before) is kind_of(after), f"{path}: {before!r} came back as {after!r}"
    if kind_of(before) is Kind.FLOAT:
        distance = abs(Fraction(before) - Fraction(after))
        assert distance <= relative * abs(Fraction(before)) + absolute, f"{path}: {before!r} came back as {after!r}"
    else:
        assert before == after, f"{path}: {before!r} came back as {after!r}"


def check_round_trip(found: MappingProperties, event: Event) -> None:
    mapped = found.mapping.apply(event)
    if not isinstance(mapped, Event) or not holds(found.within, event):
        return
    for path, one in found.inversion.recovered.items():
        before, after = event.get(path), evaluate(one.expression, mapped)
        if one.is_exact:
            assert frozen(before) == frozen(after), f"{path}: {before!r} came back as {after!r}"
        assert_back(before, after, one.relative, one.absolute, path)
    if found.inverse is not None:
        noted("round trip")
        check_inverse(found, event, mapped)


def check_inverse(found: MappingProperties, event: Event, mapped: Event) -> None:
    assert found.inverse is not None
    back = found.inverse.apply(mapped)
    assert isinstance(back, Event), f"{back} for {event}"
    for path, one in found.inversion.recovered.items():
        assert_back(event.get(path), back.get(path), one.relative, one.absolute, path)
    assert back.replace(data={}) == event.replace(data={})
    if found.lossless is Fidelity.EXACT:
        assert frozen(back.data) == frozen(event.data)
        again = found.mapping.apply(back)
        assert isinstance(again, Event)
        assert frozen(again.data) == frozen(mapped.data)


def check_total(found: MappingProperties, event: Event) -> None:
    accepted = isinstance(found.mapping.apply(event), Event)
    assert accepted == holds(found.accepted, event)
    assert accepted or found.total is not Total.ALWAYS
    for one in found.attributes:
        value = evaluate(one.made_from, event)
        assert (value is not None) == holds(one.when, event), f"{render(one.made_from)} when {render(one.when)}"
        assert value is not None or one.total is not Total.ALWAYS


def check_order(found: MappingProperties, event: Event, path: Path, value: Value) -> None:
    """Between the event and one that has another value at the path."""
    other = event.replace(data=changed(event.data, path, value))
    if event.get(path) is None or kind_of(event.get(path)) is not kind_of(value):
        return
    for one in found.attributes:
        first, second = evaluate(one.made_from, event), evaluate(one.made_from, other)
        if first is None or second is None:
            continue
        order = one.order.get(path)
        if order is not None:
            small, large = (first, second) if compare("<", event.get(path), value) else (second, first)
            if order.sign < 0:
                small, large = large, small
            equal = compare("=", event.get(path), value)
            assert compare("=" if equal else "<" if order.strict else "<=", small, large), f"{render(one.made_from)}"
        if one.injective is Fidelity.EXACT and all(holds(one.injective_within, each) for each in (event, other)):
            differ = [
                inner for inner in attributes(one.made_from) if frozen(event.get(inner)) != frozen(other.get(inner))
            ]
            assert not differ or frozen(first) != frozen(second), f"{render(one.made_from)}: {event}, {other}"


def check_examples(found: MappingProperties) -> None:
    if found.total is Total.NO:
        assert found.rejected is not None
        assert isinstance(found.mapping.apply(found.rejected), list)
    for one in found.attributes:
        if one.total is Total.NO:
            assert one.without_value is not None
            assert evaluate(one.made_from, one.without_value) is None
        if one.injective is Fidelity.NO:
            assert one.collision is not None
            first, second = (evaluate(one.made_from, event) for event in one.collision)
            assert first is not None
            assert frozen(first) == frozen(second)
            assert any(
                frozen(one.collision[0].get(path)) != frozen(one.collision[1].get(path))
                for path in attributes(one.made_from)
            )
    for loss in found.lost:
        if loss.example is not None:
            mapped = [found.mapping.apply(event) for event in loss.example]
            assert all(isinstance(event, Event) for event in mapped)
            assert frozen(mapped[0].data) == frozen(mapped[1].data)  # type: ignore[union-attr]
            assert frozen(loss.example[0].get(loss.path)) != frozen(loss.example[1].get(loss.path))
    assert found.lossless is not Fidelity.NO or any(loss.example for loss in found.lost)
    assert (found.inverse is None) == bool(found.lost)


@settings(max_examples=5_000 if NIGHTLY else 300)
@given(st.data())
def test_properties_claim_nothing_that_an_event_refutes(data: st.DataObject) -> None:
    mapping = data.draw(mappings())
    found = properties(mapping)
    noted(f"{found.total.value}, {found.lossless.value}")
    check_examples(found)
    some = data.draw(st.lists(events_for(mapping), min_size=2, max_size=12))
    for event in some:
        check_total(found, event)
        check_round_trip(found, event)
        for path in leaves(mapping.source):
            value = data.draw(st.sampled_from(some)).get(path)
            for near in () if value is None else islice(beside(value), 3):
                check_order(found, event, path, near)
            for near in () if event.get(path) is None else islice(beside(event.get(path)), 1, 3):
                check_order(found, event, path, near)


# Single expressions

SOURCE = EventType(
    "Reading",
    "plant",
    own={
        "n": AttributeType(Kind.INT),
        "m": AttributeType(Kind.INT),
        "maybe": AttributeType(Kind.INT, optional=True),
        "heat": AttributeType(Kind.FLOAT, unit="degF"),
        "x": AttributeType(Kind.FLOAT),
        "s": AttributeType(Kind.STRING),
        "t": AttributeType(Kind.STRING),
        "flag": AttributeType(Kind.BOOL),
        "at": AttributeType(Kind.POINT),
        "span": AttributeType(Kind.DURATION),
        "since": AttributeType(Kind.TIMESTAMP),
    },
)
TABLES = {"good": {"a": 1, "b": 2}, "bad": {"a": 1, "b": 1}}


def claimed(kind: Kind, text: str, *, optional: bool = False, unit: str | None = None) -> MappingProperties:
    target = EventType("Common", "shared", own={"to": AttributeType(kind, optional, unit)})
    scope = Scope(SOURCE, Taxonomy("plant", [SOURCE]), TABLES)
    mapping, faults = read_mapping({"to": text}, scope, target)
    assert faults == []
    return properties(mapping)


@pytest.mark.parametrize(
    ("kind", "text", "total", "injective", "order"),
    [
        (Kind.INT, "n", "always", "exact", "strictly rising"),
        (Kind.INT, "maybe", "no", "exact", "strictly rising"),
        (Kind.INT, "n + 5", "in range", "exact", "strictly rising"),
        (Kind.INT, "10 - n", "in range", "exact", "strictly falling"),
        (Kind.INT, "n * 3", "in range", "exact", "strictly rising"),
        (Kind.INT, "n % 3", "always", "no", None),
        (Kind.FLOAT, "n", "always", "exact", "rising"),
        (Kind.FLOAT, "x * 2.5 + 1", "in range", "up to rounding", "rising"),
        (Kind.FLOAT, "x * 2", "in range", "exact", "strictly rising"),
        (Kind.FLOAT, "-x", "always", "exact", "strictly falling"),
        (Kind.FLOAT, "x * 1e300", "no", "unknown", "rising"),
        (Kind.INT, "floor(x)", "in range", "no", "rising"),
        (Kind.INT, "lookup('good', s)", "no", "exact", "strictly rising"),
        (Kind.INT, "lookup('bad', s)", "no", "no", "rising"),
        (Kind.STRING, "lower(s)", "always", "no", None),
        (Kind.STRING, "'no. ' + s", "always", "exact", "strictly rising"),
        (Kind.STRING, "s + ' street'", "always", "exact", None),
        (Kind.STRING, "text(n) + ', ' + s", "always", "exact", "strictly rising"),
        (Kind.STRING, "s + ', ' + t", "always", "no", "strictly rising"),
        (Kind.STRING, "if flag then 'yes' else 'no'", "always", "exact", None),
        (Kind.INT, "if n < 100 then n * 2 else n + 1000", "in range", "exact", None),
        (Kind.INT, "if n < 100 then n else 7", "always", "no", None),
        (Kind.INT, "n + m", "in range", "no", "strictly rising"),
        (Kind.FLOAT, "x * (if event.sequence > 3 then 1.5 else 2.5)", "no", "up to rounding", "rising"),
        (Kind.FLOAT, "span / 1 min", "always", "exact", "rising"),
        (Kind.DURATION, "span / 3", "always", "no", "rising"),
        (Kind.TIMESTAMP, "since - 1 h", "in range", "exact", "strictly rising"),
        (Kind.INT, "year(since)", "always", "no", "rising"),
        (Kind.POINT, "at", "always", "exact", None),
        (Kind.POINT, "point(x, n)", "always", "exact", None),
        (Kind.STRING, "'constant'", "always", None, None),
    ],
)
def test_properties_of_one_expression(
    kind: Kind, text: str, total: str, injective: str | None, order: str | None
) -> None:
    (found,) = claimed(kind, text).attributes
    orders = sorted({str(one) for one in found.order.values()})
    assert (found.total.value, found.injective and found.injective.value) == (total, injective)
    assert orders == ([order] if order else [])


def test_properties_of_a_unit_conversion_state_the_error() -> None:
    source = EventType("Reading", "plant", own={"heat": AttributeType(Kind.FLOAT, unit="degF")})
    target = EventType("Common", "shared", own={"heat": AttributeType(Kind.FLOAT, unit="kelvin")})
    mapping, _ = read_mapping({"heat": "heat"}, Scope(source), target)
    found = properties(mapping)
    assert (found.total, found.lossless, found.lost) == (Total.IN_RANGE, Fidelity.ROUNDING, ())
    assert 0 < found.relative < Fraction(1, 10**14)
    assert 0 < found.absolute < Fraction(1, 10**11)
    assert found.is_faithful


def test_properties_name_what_is_lost_with_an_example() -> None:
    found = claimed(Kind.STRING, "s + ', ' + t")
    lost = {".".join(loss.path): loss for loss in found.lost}
    assert (lost["s"].code, lost["n"].code, found.lossless) == ("ambiguous", "unused", Fidelity.NO)
    assert lost["s"].example is not None
    assert {event.data["s"] + ", " + event.data["t"] for event in lost["s"].example} == {
        lost["s"].example[0].data["s"] + ", " + lost["s"].example[0].data["t"]
    }


def test_properties_of_an_optional_source_for_a_mandatory_target() -> None:
    found = claimed(Kind.INT, "maybe")
    assert (found.total, render(found.accepted)) == (Total.NO, "exists maybe")
    assert found.rejected is not None
    assert "maybe" not in found.rejected.data
    assert claimed(Kind.INT, "maybe", optional=True).total is Total.ALWAYS


def test_properties_tell_an_empty_struct_from_a_missing_one() -> None:
    inner = {"town": AttributeType(Kind.STRING, optional=True)}
    source = EventType("Reading", "plant", own={"place": AttributeType(Kind.STRUCT, optional=True, attributes=inner)})
    target = EventType("Common", "shared", own={"town": AttributeType(Kind.STRING, optional=True)})
    mapping, _ = read_mapping({"town": "place.town"}, Scope(source), target)
    (loss,) = properties(mapping).lost
    assert (loss.path, loss.code) == (("place",), "empty-struct")
    assert loss.example is not None


def _calls(rows: int) -> int:
    """How many functions are called to tell the properties of a mapping through a table of so many rows."""
    item = {"types": {"Item": {"attributes": {"code": "string", "size": "int"}}}}
    through = {"type": "Item", "map": {"code": "lookup('codes', code)", "size": "size"}}
    contract = {
        **item,
        "members": {"shop": through, "store": {"type": "Item", "map": "same"}},
        "tables": {"codes": {f"l{one:07}": f"c{one:07}" for one in range(rows)}},
    }
    mapping = load({"domains": {"shop": item, "store": item}, "contracts": {"items": contract}})
    (member,) = mapping.contracts["items"].members["shop"]
    counted: Counter[str] = Counter()
    sys.setprofile(lambda frame, event, argument: counted.update((event,)))
    try:
        found = properties(member)
    finally:
        sys.setprofile(None)
    assert found.attributes
    return counted["call"] + counted["c_call"]


def test_properties_of_a_large_table_cost_a_few_steps_a_row() -> None:
    """Two rows are never compared each with each, and no row is tried as an event by itself."""
    assert _calls(20_000) - _calls(2_000) < 18_000 * 30
