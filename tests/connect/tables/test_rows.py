"""Lines as rows: every kind of attribute comes back as the value that it was."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.connect.notification import notification_line
from comity.connect.tables.parts import TableLayout
from comity.connect.tables.rows import event_lines, notification_rows, rejected_rows
from comity.connect.tables.typed import TypedAttributes
from comity.event import Event
from comity.event.formats.jsonlines import encode
from comity.event.kinds import INT_MAX, INT_MIN, Kind, Point
from comity.event.types import AttributeType

MICROSECOND = timedelta(microseconds=1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.BOOL: st.booleans(),
    Kind.INT: st.integers(INT_MIN, INT_MAX),
    Kind.FLOAT: FLOATS,
    Kind.STRING: st.text(st.characters(exclude_categories=("Cs",))),
    Kind.TIMESTAMP: st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)),
    Kind.DURATION: st.timedeltas(timedelta(days=-30_000), timedelta(days=30_000)),
    Kind.BYTES: st.binary(max_size=20),
    Kind.POINT: st.builds(Point, FLOATS, FLOATS),
}
TYPES: dict[str, AttributeType] = {
    **{kind.value: AttributeType(kind) for kind in VALUES},
    **{f"{kind.value}s": AttributeType(Kind.LIST, element=AttributeType(kind)) for kind in VALUES},
    "plain": AttributeType(Kind.STRUCT, attributes={"n": AttributeType(Kind.INT), "s": AttributeType(Kind.STRING)}),
    "odd": AttributeType(Kind.STRUCT, attributes={"t": AttributeType(Kind.TIMESTAMP), "b": AttributeType(Kind.BYTES)}),
}


def values_of(declared: AttributeType) -> st.SearchStrategy[Any]:
    if declared.kind is Kind.STRUCT:
        return st.fixed_dictionaries({}, optional={name: values_of(one) for name, one in declared.attributes.items()})
    if declared.kind is Kind.LIST:
        assert declared.element is not None
        return st.lists(values_of(declared.element), max_size=3)
    return VALUES[declared.kind]


def in_column(value: Any, declared: AttributeType) -> Any:
    """What a column of this type has for a value."""
    if value is None:
        return None
    match declared.kind:
        case Kind.DURATION:
            return value // MICROSECOND
        case Kind.POINT:
            return {"x": value.x, "y": value.y}
        case Kind.LIST:
            assert declared.element is not None
            return [in_column(one, declared.element) for one in value]
        case Kind.STRUCT:
            return {name: in_column(value.get(name), one) for name, one in declared.attributes.items()}
    return value


@given(st.lists(st.fixed_dictionaries({}, optional={name: values_of(one) for name, one in TYPES.items()}), min_size=1))
def test_attributes_come_back_as_they_were(given_data: list[dict[str, Any]]) -> None:
    time = datetime(2026, 3, 2, 1, 2, 3, 456789, UTC)
    events = [Event(str(number), "/a", "x.Y", time, data) for number, data in enumerate(given_data)]
    lines = [notification_line(encode(event), "p") for event in events]
    rows = TableLayout.of({"p": TYPES}).of_profile("p").rows("office", event_lines(lines))
    assert rows.column("time").to_pylist() == [time] * len(events)
    for name, declared in TYPES.items():
        wanted = [in_column(data.get(name), declared) for data in given_data]
        assert rows.column(name).to_pylist() == wanted, name


def test_an_attribute_called_as_a_column_of_the_envelope_has_a_name_of_its_own() -> None:
    rows = TableLayout.of({"p": {"time": AttributeType(Kind.INT), "heat": AttributeType(Kind.FLOAT)}}).of_profile("p")
    assert rows.schema.names[-2:] == ["data_time", "heat"]
    assert rows.schema.names[:5] == ["subscriber", "id", "source", "type", "time"]


def test_values_that_arrow_reads_otherwise_are_converted_one_by_one() -> None:
    typed = TypedAttributes.of({"n": AttributeType(Kind.INT), "f": AttributeType(Kind.FLOAT)}, ())
    with_fraction = [b'{"n":1}', b'{"n":2.0,"f":3}']
    assert [column.to_pylist() for column in typed.columns(with_fraction)] == [[1, 2], [None, 3.0]]
    assert [len(column) for column in typed.columns([])] == [0, 0]


def test_rows_have_their_envelope_in_columns() -> None:
    line = {"id": "1", "source": "/a", "type": "x.Y", "time": "2026-03-02T01:02:03Z", "sequence": 7, "profile": "p"}
    (row,) = notification_rows("office", event_lines([json.dumps(line).encode()])).to_pylist()
    assert row == {
        "subscriber": "office",
        "profile": "p",
        "id": "1",
        "source": "/a",
        "type": "x.Y",
        "sequence": "7",
        "time": datetime(2026, 3, 2, 1, 2, 3, tzinfo=UTC),
        "subject": None,
        "mode": None,
        "typeversion": None,
        "data": "{}",
    }


@pytest.mark.parametrize("raw", ["{", {"a": 1}, None])
def test_rejected_records_tell_their_first_fault(raw: Any) -> None:
    record = {"file": "a", "line": 3, "raw": raw, "faults": [{"code": "kind", "reason": "no", "path": "heat"}]}
    rows = rejected_rows([json.dumps(record).encode(), b'{"raw":"x","faults":[]}'])
    first, second = rows.to_pylist()
    assert (first["code"], first["line"], first["faults"][0]["path"]) == ("kind", 3, "heat")
    assert first["raw"] == (raw if raw is None or isinstance(raw, str) else '{"a":1}')
    assert (second["code"], second["faults"]) == (None, [])
    assert isinstance(rows, pa.Table)
