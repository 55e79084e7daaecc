"""Attribute types, event types and events."""

from __future__ import annotations

import pickle

import pytest

from comity.event import ENVELOPE, EVENT, AttributeType, Event, EventType, Kind, Point

SERIAL = AttributeType(Kind.STRING)
DEVICE = AttributeType(Kind.STRUCT, optional=True, attributes={"serial": SERIAL, "at": AttributeType(Kind.POINT)})
ALARM = EventType("Alarm", "house", EVENT, own={"room": AttributeType(Kind.STRING)})
FIRE = EventType("Fire", "house", ALARM, own={"device": DEVICE, "at": AttributeType(Kind.POINT)})


def test_event_type_attributes_include_inherited_ones() -> None:
    assert list(FIRE.attributes) == ["room", "device", "at"]
    assert FIRE.qualified_name == "house.Fire"
    assert FIRE.lineage == ("house.Fire", "house.Alarm", "Event")


def test_attribute_at_dotted_paths() -> None:
    assert FIRE.attribute_at(("room",)) == AttributeType(Kind.STRING)
    assert FIRE.attribute_at(("at", "x")) == AttributeType(Kind.FLOAT)
    assert FIRE.attribute_at(("device", "serial")) == AttributeType(Kind.STRING, optional=True)
    assert FIRE.attribute_at(("device", "at", "y")) == AttributeType(Kind.FLOAT, optional=True)
    assert DEVICE.attributes["serial"].optional is False


@pytest.mark.parametrize(
    "path",
    [(), ("none",), ("at", "z"), ("room", "x"), ("device", "none"), ("event",), ("event", "none"), ("at", "x", "y")],
)
def test_attribute_at_nothing(path: tuple[str, ...]) -> None:
    assert FIRE.attribute_at(path) is None


def test_attribute_at_envelope() -> None:
    assert FIRE.attribute_at(("event", "time")) == AttributeType(Kind.TIMESTAMP)
    assert FIRE.attribute_at(("event", "sequence")) == AttributeType(Kind.INT, optional=True)
    mandatory = [name for name, one in ENVELOPE.items() if not one.optional]
    assert mandatory == ["id", "source", "type", "time"]


def test_types_hash_compare_and_pickle() -> None:
    copy = pickle.loads(pickle.dumps(FIRE))
    assert copy == FIRE
    assert hash(copy) == hash(FIRE)
    assert len({FIRE, copy, ALARM}) == 2
    assert str(AttributeType(Kind.FLOAT, optional=True, unit="degC")) == "float degC?"
    assert str(AttributeType(Kind.LIST, element=SERIAL)) == "list of string"


EVENT_1 = Event(
    "1", "/a", "house.Fire", None, {"at": Point(1.0, 2.0), "device": {"serial": "s", "at": Point(3.0, 4.0)}}, sequence=7
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("at",), Point(1.0, 2.0)),
        (("at", "y"), 2.0),
        (("at", "count"), None),
        (("device", "serial"), "s"),
        (("device", "at", "x"), 3.0),
        (("device", "serial", "upper"), None),
        (("none",), None),
        (("none", "x"), None),
        (("event", "id"), "1"),
        (("event", "sequence"), 7),
        (("event", "time"), None),
        (("event", "data"), None),
        (("event", "identity"), None),
        (("event",), None),
        (("event", "id", "x"), None),
    ],
)
def test_get(path: tuple[str, ...], value: object) -> None:
    assert EVENT_1.get(path) == value


def test_event_is_frozen_hashable_and_pickles() -> None:
    with pytest.raises(AttributeError):
        EVENT_1.id = "2"  # type: ignore[misc]
    assert not hasattr(EVENT_1, "__dict__")
    assert EVENT_1.identity == ("/a", "1")
    assert pickle.loads(pickle.dumps(EVENT_1)) == EVENT_1
    assert hash(EVENT_1.replace(mode="live")) == hash(EVENT_1)
    assert EVENT_1.replace(mode="live") != EVENT_1


def test_event_data_is_not_shared() -> None:
    assert Event("1", "a", "T").data is not Event("1", "a", "T").data
