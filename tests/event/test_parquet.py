"""Rows of Parquet: what they mean, and that they say what JSON Lines say."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.event import AttributeType, Event, EventType, Kind, Point, Rejected, encode, read_events
from comity.event.formats.csv import ENVELOPE_COLUMNS
from comity.event.formats.parquet import read_parquet_lines, trusted_footer
from comity.pipeline.detect.pieces import Piece, pieces_of
from comity.pipeline.read import Inputs
from tests.event import hostile
from tests.event.generate import event_types, events, structs


def written(path: Path, columns: dict[str, Any], rows: int = 1) -> Path:
    envelope = {"id": [str(at) for at in range(rows)], "source": ["/a"] * rows, "type": ["T"] * rows}
    pq.write_table(pa.table({**envelope, **columns}), path)
    return path


def only(path: Path, **options: Any) -> Event | Rejected:
    (found,) = read_events(path, **options)
    return found


def test_read_parquet_events_with_attributes_as_columns(tmp_path: Path) -> None:
    columns = {"heat": [1.5, None], "tags": [["a"], []], "device": [{"serial": "x", "n": None}, None]}
    found = list(read_events(written(tmp_path / "a.parquet", columns, 2)))
    assert [one.data for one in found if isinstance(one, Event)] == [
        {"heat": 1.5, "tags": ["a"], "device": {"serial": "x"}},
        {"tags": []},
    ]


@pytest.mark.parametrize(
    "data",
    [pa.array([{"heat": 5}]), pa.array(['{"heat": 5}']), pa.array([[("heat", 5)]], pa.map_(pa.string(), pa.int64()))],
)
def test_read_parquet_events_with_a_column_for_all_attributes(data: pa.Array, tmp_path: Path) -> None:
    found = only(written(tmp_path / "a.parquet", {"data": data, "profile": ["no attribute"]}))
    assert isinstance(found, Event)
    assert found.data == {"heat": 5}


def test_read_parquet_events_whose_data_is_not_json(tmp_path: Path) -> None:
    found = only(written(tmp_path / "a.parquet", {"data": ["[1]"]}))
    assert isinstance(found, Rejected)
    assert found.faults[0].code == "bad-json"


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (pa.array([1_500], pa.timestamp("ms", "UTC")), datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)),
        (pa.array([1_000_001_999], pa.timestamp("ns")), datetime(1970, 1, 1, 0, 0, 1, 1, tzinfo=UTC)),
        (pa.array([0], pa.timestamp("s", "America/New_York")), datetime(1970, 1, 1, tzinfo=UTC)),
        (pa.array(["1970-01-01T01:00:00+01:00"]), datetime(1970, 1, 1, tzinfo=UTC)),
        (pa.array([None], pa.timestamp("us")), None),
    ],
)
def test_read_parquet_events_with_any_form_of_time(time: pa.Array, expected: object, tmp_path: Path) -> None:
    found = only(written(tmp_path / "a.parquet", {"time": time}))
    assert isinstance(found, Event)
    assert found.time == expected


KINDS = EventType(
    "T",
    "",
    own={
        "span": AttributeType(Kind.DURATION, optional=True),
        "blob": AttributeType(Kind.BYTES, optional=True),
        "heat": AttributeType(Kind.FLOAT, optional=True),
        "count": AttributeType(Kind.INT, optional=True),
        "spans": AttributeType(Kind.LIST, optional=True, element=AttributeType(Kind.DURATION)),
        "at": AttributeType(Kind.POINT, optional=True),
    },
)


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("span", pa.array([1_500], pa.duration("ms")), timedelta(seconds=1.5)),
        ("span", pa.array(["PT5M"]), timedelta(minutes=5)),
        ("spans", pa.array([[7_000]], pa.list_(pa.duration("ns"))), [timedelta(microseconds=7)]),
        ("blob", pa.array([b"\x00\xff"]), b"\x00\xff"),
        ("heat", pa.array([Decimal("1.50")]), 1.5),
        ("heat", pa.array([0.1], pa.float32()), 0.10000000149011612),
        ("count", pa.array([5], pa.uint8()), 5),
        ("count", pa.array([Decimal(5)]), 5),
        ("at", pa.array([{"x": 1.0, "y": 2.0}]), Point(1.0, 2.0)),
    ],
)
def test_read_parquet_events_of_every_kind(name: str, column: pa.Array, value: object, tmp_path: Path) -> None:
    found = only(written(tmp_path / "a.parquet", {name: column}), types=lambda _: KINDS)
    assert isinstance(found, Event)
    assert found.data == {name: value}


@pytest.mark.parametrize(
    ("name", "column", "fault"),
    [
        ("heat", pa.array([float("nan")]), ("heat", "not-finite")),
        ("heat", pa.array([float("-inf")]), ("heat", "not-finite")),
        ("count", pa.array([2**63], pa.uint64()), ("count", "out-of-range")),
        ("count", pa.array([5.0]), ("count", "wrong-kind")),
        ("time", pa.array([2**60], pa.timestamp("us", "UTC")), ("event.time", "out-of-range")),
        ("time", pa.array([date(2024, 1, 1)]), ("event.time", "bad-timestamp")),
        ("span", pa.array([datetime(2024, 1, 1).time()]), ("span", "wrong-kind")),
    ],
)
def test_read_parquet_events_tells_what_is_wrong(
    name: str, column: pa.Array, fault: tuple[str, str], tmp_path: Path
) -> None:
    path = written(tmp_path / "a.parquet", {name: column})
    found = only(path, types=lambda _: KINDS)
    assert isinstance(found, Rejected)
    assert [(one.path, one.code) for one in found.faults] == [fault]
    assert (found.line_number, found.source_file) == (1, str(path))


def test_read_parquet_events_keeps_the_row_beside_one_that_python_cannot_hold(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", {"time": pa.array([2**60, 0], pa.timestamp("us", "UTC"))}, 2)
    first, second = read_events(path)
    assert isinstance(first, Rejected)
    assert isinstance(second, Event)


@pytest.mark.parametrize("after", [0, 1, 3, 4, 9, 10, 99])
def test_read_parquet_lines_after_a_row(after: int, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [str(at) for at in range(10)]}), path, row_group_size=4)
    assert [number for number, _ in read_parquet_lines(path, after=after)] == list(range(after + 1, 11))


def test_read_parquet_events_of_a_broken_file(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", {"heat": [1.0]})
    path.write_bytes(path.read_bytes()[:-20])
    found = only(path)
    assert isinstance(found, Rejected)
    assert found.faults[0].code == "broken-parquet"


@pytest.mark.parametrize("name", ["rows", "footer"])
def test_a_footer_that_claims_too_much_is_not_trusted(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(hostile.good_parquet())
    assert trusted_footer(path) is not None
    assert [len(group.files) for group in Inputs.of([str(path)]).parquet_groups()[0]] == [1]
    path.write_bytes(hostile.PARQUET[name]())
    assert trusted_footer(path) is None
    assert Inputs.of([str(path)]).parquet_groups() == ([], [str(path)])
    assert pieces_of(Inputs.of([str(path)])) == [Piece(str(path), "records")]


def test_read_events_of_a_directory_with_every_format(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_bytes(encode(Event("1", "/a", "T")) + b"\nx\n")
    (tmp_path / "2.csv").write_bytes(b"id,source,type\r\n2,/a,T\r\n\r\n3,/a\r\n")
    written(tmp_path / "3.parquet", {})
    (tmp_path / "_4.parquet").write_bytes(b"half")
    found = list(read_events(tmp_path))
    assert [one.id if isinstance(one, Event) else f"{one.line_number}:{one.faults[0].code}" for one in found] == [
        "1",
        "2:bad-json",
        "2",
        "4:bad-csv",
        "0",
    ]


ARROW = {
    Kind.BOOL: pa.bool_(),
    Kind.INT: pa.int64(),
    Kind.FLOAT: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.TIMESTAMP: pa.timestamp("us", "UTC"),
    Kind.DURATION: pa.duration("us"),
    Kind.BYTES: pa.binary(),
    Kind.POINT: pa.struct({"x": pa.float64(), "y": pa.float64()}),
}


def arrow(attribute: AttributeType) -> pa.DataType:
    if attribute.element is not None:
        return pa.list_(arrow(attribute.element))
    if attribute.kind is Kind.STRUCT:
        return pa.struct({name: arrow(one) for name, one in attribute.attributes.items()})
    return ARROW[attribute.kind]


def plain(value: Any) -> Any:
    if isinstance(value, Point):
        return {"x": value.x, "y": value.y}
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value


@given(st.data(), event_types, st.booleans())
def test_an_event_in_parquet_is_the_same_event(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, declared: EventType, is_struct: bool
) -> None:
    event = data.draw(events("n.T", structs(declared.attributes)))
    fields = {name: arrow(one) for name, one in declared.attributes.items()}
    columns: dict[str, Any] = {
        "id": [event.id],
        "source": [event.source],
        "type": [event.type],
        "time": pa.array([event.time], pa.timestamp("us", "UTC")),
        "subject": pa.array([event.subject], pa.string()),
        "sequence": pa.array([event.sequence], pa.int64()),
        "mode": pa.array([event.mode], pa.string()),
        "typeversion": pa.array([event.version], pa.string()),
    }
    if is_struct and fields:
        columns["data"] = pa.array([plain(event.data)], pa.struct(fields))
    elif any(name in (*ENVELOPE_COLUMNS, "data") for name in fields):
        return
    else:
        columns |= {name: pa.array([plain(event.data.get(name))], type) for name, type in fields.items()}
    path = tmp_path_factory.mktemp("parquet") / "a.parquet"
    pq.write_table(pa.table(columns), path)
    assert only(path, types=lambda name: declared) == event
