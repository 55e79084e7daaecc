"""Values at the border: what each kind takes, and every fault."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.event import AttributeType, EventType, Kind, Point, conform
from comity.event.kinds import INT_MAX, INT_MIN
from comity.event.validate import MAX_NESTING, Fault, check_open, shorten

from .generate import event_types, structs


def one(kind: Kind, value: Any) -> Any:
    """The typed value, or the code of the only fault."""
    values, faults = conform({"a": value}, EventType("T", "n", own={"a": AttributeType(kind)}))
    if faults:
        assert values == {}
        assert [fault.path for fault in faults] == ["a"]
        return faults[0].code
    return values["a"]


@pytest.mark.parametrize(
    ("kind", "value", "typed"),
    [
        (Kind.BOOL, True, True),
        (Kind.INT, INT_MAX, INT_MAX),
        (Kind.INT, INT_MIN, INT_MIN),
        (Kind.FLOAT, 5, 5.0),
        (Kind.FLOAT, 10**30, 1e30),
        (Kind.FLOAT, 2.5, 2.5),
        (Kind.STRING, "é\0😀", "é\0😀"),
        (Kind.STRING, "", ""),
        (Kind.TIMESTAMP, "2024-05-01T12:00:00+02:00", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        (
            Kind.TIMESTAMP,
            datetime(2024, 5, 1, tzinfo=timezone(timedelta(hours=1))),
            datetime(2024, 4, 30, 23, tzinfo=UTC),
        ),
        (Kind.DURATION, "PT5M", timedelta(minutes=5)),
        (Kind.DURATION, "5 min", timedelta(minutes=5)),
        (Kind.DURATION, timedelta(1), timedelta(1)),
        (Kind.BYTES, "aGk=", b"hi"),
        (Kind.BYTES, "", b""),
        (Kind.BYTES, b"hi", b"hi"),
        (Kind.POINT, {"x": 1, "y": 2.5, "z": 3}, Point(1.0, 2.5)),
        (Kind.POINT, [1, 2], Point(1.0, 2.0)),
        (Kind.POINT, Point(1.0, 2.0), Point(1.0, 2.0)),
    ],
)
def test_conform_takes(kind: Kind, value: Any, typed: Any) -> None:
    found = one(kind, value)
    assert found == typed
    assert type(found) is type(typed)


@pytest.mark.parametrize(
    ("kind", "value", "code"),
    [
        (Kind.BOOL, 1, "wrong-kind"),
        (Kind.BOOL, "true", "wrong-kind"),
        (Kind.INT, 5.0, "wrong-kind"),
        (Kind.INT, 5.5, "wrong-kind"),
        (Kind.INT, True, "wrong-kind"),
        (Kind.INT, "5", "wrong-kind"),
        (Kind.INT, INT_MAX + 1, "out-of-range"),
        (Kind.INT, INT_MIN - 1, "out-of-range"),
        (Kind.INT, 10**4000, "out-of-range"),
        (Kind.FLOAT, True, "wrong-kind"),
        (Kind.FLOAT, "1.5", "wrong-kind"),
        (Kind.FLOAT, math.nan, "not-finite"),
        (Kind.FLOAT, math.inf, "not-finite"),
        (Kind.FLOAT, -math.inf, "not-finite"),
        (Kind.FLOAT, 10**400, "out-of-range"),
        (Kind.STRING, 5, "wrong-kind"),
        (Kind.STRING, "a\ud800", "bad-text"),
        (Kind.TIMESTAMP, "2024-05-01T12:00:00", "bad-timestamp"),
        (Kind.TIMESTAMP, datetime(2024, 5, 1), "bad-timestamp"),
        (Kind.TIMESTAMP, datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "out-of-range"),
        (Kind.TIMESTAMP, 1714550400, "wrong-kind"),
        (Kind.DURATION, "P1M", "bad-duration"),
        (Kind.DURATION, 5, "wrong-kind"),
        (Kind.DURATION, timedelta.max, "out-of-range"),
        (Kind.BYTES, "aGk", "bad-base64"),
        (Kind.BYTES, "a*k=", "bad-base64"),
        (Kind.BYTES, "é", "bad-base64"),
        (Kind.BYTES, [1], "wrong-kind"),
        (Kind.POINT, {"x": 1}, "wrong-kind"),
        (Kind.POINT, [1, 2, 3], "wrong-kind"),
        (Kind.POINT, [1, "2"], "wrong-kind"),
        (Kind.POINT, [1, math.nan], "not-finite"),
        (Kind.POINT, "1,2", "wrong-kind"),
        (Kind.STRUCT, [1], "wrong-kind"),
        (Kind.LIST, {"a": 1}, "wrong-kind"),
    ],
)
def test_conform_refuses(kind: Kind, value: Any, code: str) -> None:
    assert one(kind, value) == code


DEVICE = AttributeType(
    Kind.STRUCT,
    optional=True,
    attributes={"serial": AttributeType(Kind.STRING), "version": AttributeType(Kind.INT, True)},
)
READINGS = AttributeType(
    Kind.LIST, optional=True, element=AttributeType(Kind.STRUCT, attributes={"v": AttributeType(Kind.FLOAT)})
)
FIRE = EventType("Fire", "n", own={"room": AttributeType(Kind.STRING), "device": DEVICE, "readings": READINGS})


def test_conform_reports_every_fault() -> None:
    data = {"device": {"version": "1"}, "readings": [{"v": 1}, {"v": "x"}, None, {}, 5]}
    _, faults = conform(data, FIRE)
    assert [(fault.path, fault.code) for fault in faults] == [
        ("room", "missing"),
        ("device.serial", "missing"),
        ("device.version", "wrong-kind"),
        ("readings[1].v", "wrong-kind"),
        ("readings[2]", "wrong-kind"),
        ("readings[3].v", "missing"),
        ("readings[4]", "wrong-kind"),
    ]
    assert faults[2] == Fault("device.version", "'1'", "expected int, found string", "wrong-kind")


def test_conform_null_is_missing_and_unknown_names_are_dropped() -> None:
    data: dict[str, Any] = {"room": "attic", "device": None, "readings": [], "colour": math.nan, "event": {"id": 1}}
    assert conform(data, FIRE) == ({"room": "attic", "readings": []}, [])
    assert [fault.code for fault in conform({"room": None}, FIRE)[1]] == ["missing"]


def test_conform_leaves_its_input_alone() -> None:
    data: dict[str, Any] = {"room": "attic", "readings": [{"v": 1, "w": 2}]}
    conform(data, FIRE)
    assert data == {"room": "attic", "readings": [{"v": 1, "w": 2}]}


@given(st.data())
def test_conform_typed_values_stay(data: st.DataObject) -> None:
    type = data.draw(event_types)
    values = data.draw(structs(type.attributes))
    assert conform(values, type) == (values, [])


def open_faults(value: Any) -> list[tuple[str, str]]:
    faults: list[Fault] = []
    check_open(value, "", faults)
    return [(fault.path, fault.code) for fault in faults]


def test_check_open_finds_what_no_event_carries() -> None:
    data = {"a": 2**63, "b": [1, {"c": "\udc00"}], "d": math.inf, "\ud800": 1, "e": {"f": -(2**63) - 1}}
    assert open_faults(data) == [
        ("a", "out-of-range"),
        ("b[1].c", "bad-text"),
        ("d", "not-finite"),
        ("\\ud800", "bad-text"),
        ("e.f", "out-of-range"),
    ]


def test_check_open_takes_nulls_out_of_structs_only() -> None:
    data = {"a": None, "b": {"c": None, "d": 1}, "e": [None, {"f": None}]}
    assert open_faults(data) == []
    assert data == {"b": {"d": 1}, "e": [None, {}]}


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a": inner}])
def test_check_open_depth_is_bounded(wrap: Any) -> None:
    value: Any = 1
    for _ in range(MAX_NESTING):
        value = wrap(value)
    assert open_faults(value) == []
    assert [code for _, code in open_faults(wrap(value))] == ["too-deep"]
    for _ in range(5000):
        value = wrap(value)
    assert [code for _, code in open_faults(value)] == ["too-deep"]


def test_shorten_is_bounded() -> None:
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep] * 2
    for value in (
        "x" * 10**6,
        list(range(10**5)),
        {str(n): "y" * 1000 for n in range(1000)},
        10**5000,
        b"z" * 10**6,
        deep,
    ):
        assert len(shorten(value)) < 400
    assert shorten([10**5000])


def test_fault_as_dict_leaves_out_nothing_known() -> None:
    assert Fault("a", "1", "odd", "odd").as_dict() == {"path": "a", "value": "1", "reason": "odd", "code": "odd"}
    assert Fault("", "", "odd", "odd", 3).as_dict()["column"] == 3
