"""Sample events, and the way there and back."""

from __future__ import annotations

from itertools import islice
from random import Random

from comity.contract.invert import invert
from comity.contract.mapping import read_mapping
from comity.contract.round_trip import round_trip
from comity.contract.sample import beside, sample_events
from comity.contract.shape import leaves
from comity.event import EventType
from comity.event.kinds import Kind
from comity.event.types import AttributeType
from comity.event.validate import conform
from comity.expression.parse import parse
from comity.expression.scope import Scope
from comity.testing.expressions import SAMPLE
from comity.testing.mappings import drafted_mapping


def test_sample_events_fit_their_type_and_are_the_same_every_time() -> None:
    some = list(sample_events(SAMPLE, 400))
    assert some == list(sample_events(SAMPLE, 400))
    for event in some:
        assert conform(event.data, SAMPLE)[1] == []
    for path in leaves(SAMPLE):
        assert len({repr(event.get(path)) for event in some}) > 1


def test_sample_events_are_placed_around_the_constants_of_expressions() -> None:
    house = EventType("House", "city", own={"heat": AttributeType(Kind.FLOAT), "room": AttributeType(Kind.STRING)})
    around = [parse("heat > 86.5 and room = 'attic'")]
    some = list(sample_events(house, 200, around=around))
    assert {86.5, *beside(86.5)} <= {event.data["heat"] for event in some}
    assert "attic" in {event.data["room"] for event in some}


def test_round_trip_counts_what_is_rejected_rounded_and_different() -> None:
    source = EventType("A", "test", own={"x": AttributeType(Kind.FLOAT, unit="degF"), "s": AttributeType(Kind.STRING)})
    target = EventType("B", "test", own={"y": AttributeType(Kind.FLOAT, unit="degC"), "w": AttributeType(Kind.STRING)})
    mapping, _ = read_mapping({"y": "x", "w": "lower(s)"}, Scope(source), target)
    observer, _ = read_mapping({"x": "y", "s": "w"}, Scope(target), source)
    found = round_trip(mapping, sample_events(source, 300), invert(mapping), observer)
    assert (found.events, found.is_derived, found.is_as_claimed) == (300, False, True)
    assert found.rejected[("y", "the mapping gives no value for this attribute")] > 0
    assert {one.path for one in found.differences} >= {("s",)}
    assert any("capital letters" in one.reason for one in found.differences)


def test_round_trip_of_generated_mappings_is_as_claimed() -> None:
    derived = 0
    for seed in range(150):
        mapping = drafted_mapping(Random(seed))
        inversion = invert(mapping)
        around = [made for _, made in mapping.expressions]
        found = round_trip(mapping, islice(sample_events(mapping.source, 150, around=around), 150), inversion)
        assert found.is_as_claimed, (seed, [one for one in found.differences if one.breaks_a_claim][:3])
        derived += found.is_derived
    assert derived > 20
