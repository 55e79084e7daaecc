"""The law of translation: S(f(e)) = translate(S, f)(e), for every event that f accepts, also simplified and split.

Inside Comity the tolerance is zero: a threshold in another unit becomes the float at which the rounded conversion
crosses it, found by bisection, so events at its neighbours come out the same on both sides. Towards a language that
cannot say a number or a test, the native part is weaker (rounded outwards) and the residual is exact: nothing is lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import event as noted
from hypothesis import strategies as st
from tests.language.languages import capabilities, passes

from comity.contract.mapping import Mapping, read_mapping
from comity.errors import Misuse
from comity.event import Event, EventType
from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import AttributeType
from comity.expression.bind import bind_text
from comity.expression.evaluate import holds
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.simplify import simplify
from comity.expression.tree import Expression
from comity.language import LanguageCapability, split
from comity.language.comity import COMITY
from comity.language.language import NONE
from comity.language.parquet import PARQUET
from comity.testing.mappings import edge_events, events_for, filters_for, mappings, sample_mappings

NIGHTLY = os.environ.get("COMITY_PROFILE") == "nightly"
LANGUAGES = (NONE.capability, COMITY.capability, PARQUET.capability)
many = settings(
    max_examples=50_000 if NIGHTLY else 1_000, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def translated(mapping: Mapping, tree: Expression) -> tuple[Expression, Expression] | None:
    """The filter over the source, and simplified; None when it looks inside a value that is made as a whole."""
    try:
        over_source = mapping.translate(tree)
    except Misuse as refused:
        if refused.code != "opaque-mapping":
            raise
        return None
    return over_source, simplify(over_source, mapping.source)


def assert_law(mapping: Mapping, tree: Expression, some: Iterable[Event]) -> None:
    found = translated(mapping, tree)
    if found is None:
        return
    over_source, simple = found
    for event in some:
        mapped = mapping.apply(event)
        if isinstance(mapped, Event):
            expected = holds(tree, mapped)
            noted(f"matches: {expected}")
            assert holds(over_source, event) == expected, f"translated: {render(over_source)} on {event}"
            assert holds(simple, event) == expected, f"{render(over_source)} simplified: {render(simple)} on {event}"


def with_edges(mapping: Mapping, tree: Expression, some: list[Event]) -> list[Event]:
    """The events, and the first of them with values at the neighbours of the filter's thresholds in the source."""
    found = translated(mapping, tree)
    if found is None:
        return some
    return [*some, *edge_events(found[1], some[0], mapping.source), *edge_events(found[0], some[0], mapping.source)]


@many
@given(st.data())
def test_law_over_mappings_of_every_feature(data: st.DataObject) -> None:
    mapping = data.draw(mappings())
    tree = data.draw(filters_for(mapping))
    some = data.draw(st.lists(events_for(mapping), min_size=1, max_size=5))
    assert_law(mapping, tree, with_edges(mapping, tree, some))


@many
@given(st.data())
def test_law_over_any_expressions(data: st.DataObject) -> None:
    mapping = data.draw(sample_mappings())
    tree = data.draw(filters_for(mapping))
    some = data.draw(st.lists(events_for(mapping), min_size=1, max_size=4))
    assert_law(mapping, tree, with_edges(mapping, tree, some))


@settings(max_examples=5_000 if NIGHTLY else 200, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.sampled_from(LANGUAGES) | capabilities())
def test_nothing_is_lost_towards_other_languages(data: st.DataObject, can: LanguageCapability) -> None:
    mapping = data.draw(mappings())
    tree = data.draw(filters_for(mapping))
    found = translated(mapping, tree)
    if found is None:
        return
    asked = split(found[0], can, type=mapping.source)
    for event in with_edges(mapping, tree, data.draw(st.lists(events_for(mapping), min_size=1, max_size=5))):
        mapped = mapping.apply(event)
        if isinstance(mapped, Event):
            expected, sent = holds(tree, mapped), passes(asked.native, event, can.missing)
            assert sent or not expected, f"lost by {render(asked.native)}"
            assert (sent and holds(asked.residual, event)) == expected


UNITS = [("degF", "degC"), ("degC", "kelvin"), ("degF", "kelvin"), ("mile", "km"), ("km", "m"), ("m", "mile")]


@settings(max_examples=2_000 if NIGHTLY else 100)
@given(
    st.sampled_from(UNITS),
    st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    st.floats(-1e6, 1e6) | st.sampled_from([30.0, 0.1, -40.0, 273.15, 1e-9, 1e300]),
)
def test_law_at_the_rounding_edges_of_unit_conversions(units: tuple[str, str], symbol: str, threshold: float) -> None:
    source = EventType("Reading", "plant", own={"x": AttributeType(Kind.FLOAT, unit=units[0])})
    target = EventType("Common", "shared", own={"x": AttributeType(Kind.FLOAT, unit=units[1])})
    mapping, _ = read_mapping({"x": "x"}, Scope(source), target)
    text = f"x {symbol} {threshold!r} {units[1]}" if threshold >= 0 else f"x {symbol} (-{-threshold!r})"
    tree = bind_text(text, Scope(target, Taxonomy("shared", [target])))
    start = Event("1", "/a", "plant.Reading", data={"x": 1.0})
    some = with_edges(mapping, tree, [start])
    some += [one for event in some[:6] for one in edge_events(simplify(mapping.translate(tree), source), event, source)]
    assert_law(mapping, tree, some)


@pytest.mark.parametrize("text", ["place = other", "place != other", "place = place"])
def test_a_filter_on_a_struct_that_is_made_part_by_part_is_refused(text: str) -> None:
    inner = {"town": AttributeType(Kind.STRING, optional=True)}
    place = AttributeType(Kind.STRUCT, optional=True, attributes=inner)
    source = EventType("Reading", "plant", own={"a": AttributeType(Kind.STRING, optional=True), "other": place})
    target = EventType("Common", "shared", own={"place": place, "other": place})
    mapping, faults = read_mapping({"place.town": "a", "other": "other"}, Scope(source), target)
    assert faults == []
    with pytest.raises(Misuse) as refused:
        mapping.translate(bind_text(text, Scope(target)))
    assert refused.value.code == "opaque-mapping"
