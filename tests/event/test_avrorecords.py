"""Events in Avro object container files."""

from __future__ import annotations

import io
import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings

from comity.errors import Misuse
from comity.event import EVENT, AttributeType, Event, EventType, Kind, Rejected, Taxonomy, read_events
from comity.event.files import read_json_lines
from comity.event.formats.avro import write_avro_events
from comity.testing.tables import encode_avro
from tests.event import hostile
from tests.event.generate import event_types, events, structs

FIRE = EventType("Fire", "house", EVENT, {"heat": AttributeType(Kind.FLOAT)})
LEAK = EventType(
    "Leak", "house", EVENT, {"litres": AttributeType(Kind.FLOAT), "type": AttributeType(Kind.STRING, True)}
)
HOUSE = Taxonomy("house", [FIRE, LEAK])


def written(path: Path, schema: Any, *records: Any) -> Path:
    stream = io.BytesIO()
    fastavro.writer(stream, schema, records)
    path.write_bytes(stream.getvalue())
    return path


def record(name: str, *fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": type} for key, type in fields]}


ENVELOPE = (("id", "string"), ("source", "string"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(pair=event_types.flatmap(lambda type: events("n.T", structs(type.attributes)).map(lambda event: (type, event))))
def test_events_come_back_as_they_were(pair: tuple[EventType, Event], tmp_path: Path) -> None:
    type, event = pair
    path = tmp_path / "a.avro"
    path.write_bytes(encode_avro([event], type))
    assert list(read_events(path, Taxonomy("n", [type]))) == [event]


def test_several_types_in_one_file(tmp_path: Path) -> None:
    given = [Event("1", "/a", "house.Fire", data={"heat": 4.5}), Event("2", "/a", "house.Leak", data={"litres": 1.0})]
    path = tmp_path / "a.avro"
    with path.open("wb") as stream:
        assert write_avro_events(given, HOUSE.types, stream) == 2
    assert list(read_events(path, HOUSE)) == given
    assert list(read_events(tmp_path)) == given


def test_an_event_of_an_unknown_type_is_refused() -> None:
    with pytest.raises(Misuse, match="not known"):
        encode_avro([Event("1", "/a", "house.Flood")], FIRE)


def test_fields_beside_the_envelope_are_attributes(tmp_path: Path) -> None:
    schema = record("org.x.house.Fire", *ENVELOPE, ("heat", "double"), ("more", ["null", "int"]))
    path = written(tmp_path / "a.avro", schema, {"id": "1", "source": "/a", "heat": 4.5, "more": None})
    assert list(read_events(path, HOUSE)) == [Event("1", "/a", "house.Fire", data={"heat": 4.5})]
    assert list(read_json_lines(path)) == [(1, b'{"id":"1","source":"/a","type":"house.Fire","data":{"heat":4.5}}')]


def test_a_union_of_records_names_the_types(tmp_path: Path) -> None:
    schema = [
        record("house.Fire", *ENVELOPE, ("heat", "double")),
        record("house.Leak", *ENVELOPE, ("litres", "double")),
    ]
    rows = [
        ("house.Leak", {"id": "1", "source": "/a", "litres": 1.0}),
        ("house.Fire", {"id": "2", "source": "/a", "heat": 2.0}),
    ]
    path = written(tmp_path / "a.avro", schema, *rows)
    assert [one.type for one in read_events(path, HOUSE) if isinstance(one, Event)] == ["house.Leak", "house.Fire"]
    assert [number for number, _ in read_json_lines(path, HOUSE, after=1)] == [2]


def test_values_that_only_avro_has(tmp_path: Path) -> None:
    logical = {
        "uuid": {"type": "string", "logicalType": "uuid"},
        "date": {"type": "int", "logicalType": "date"},
        "clock": {"type": "long", "logicalType": "time-micros"},
        "price": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
        "took": {"type": "fixed", "name": "took", "size": 12, "logicalType": "duration"},
        "local": {"type": "long", "logicalType": "local-timestamp-micros"},
    }
    row = {
        "id": "1",
        "source": "/a",
        "uuid": uuid.UUID(int=1),
        "date": date(2024, 5, 1),
        "clock": time(1, 2),
        "price": Decimal("1.25"),
        "took": (0).to_bytes(4, "little") + (1).to_bytes(4, "little") + (500).to_bytes(4, "little"),
        "local": datetime(2024, 5, 1),
    }
    (event,) = read_events(written(tmp_path / "a.avro", record("T", *ENVELOPE, *logical.items()), row))
    assert isinstance(event, Event)
    assert event.data == {
        "uuid": "00000000-0000-0000-0000-000000000001",
        "date": "2024-05-01",
        "clock": "01:02:00",
        "price": 1.25,
        "took": "P1DT0.5S",
        "local": "2024-05-01T00:00:00Z",
    }
    assert datetime.fromisoformat(event.data["local"]).tzinfo == UTC


def test_a_bad_value_is_rejected_with_its_path(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.avro",
        record("house.Fire", *ENVELOPE, ("heat", "string")),
        {"id": "1", "source": "/a", "heat": "hot"},
    )
    (found,) = read_events(path, HOUSE)
    assert isinstance(found, Rejected)
    assert (found.line_number, found.faults[0].path, found.faults[0].code) == (1, "heat", "wrong-kind")


@pytest.mark.parametrize("count", [-1, -2, 0, 1])
def test_what_a_block_holds_beyond_the_records_that_it_claims_is_not_lost_in_silence(
    tmp_path: Path, count: int
) -> None:
    rows = b"".join(hostile.long(len(text)) + text for text in (b"1", b"/a", b"2", b"/a"))
    schema = hostile.record(*ENVELOPE, name="Fire")
    (tmp_path / "a.avro").write_bytes(hostile.avro(schema, count, rows))
    *good, last = read_events(tmp_path / "a.avro")
    assert isinstance(last, Rejected)
    assert (last.faults[0].code, len(good)) == ("broken-avro", max(count, 0))


def test_a_broken_file_keeps_what_came_before(tmp_path: Path) -> None:
    stream = io.BytesIO()
    schema = record("house.Fire", *ENVELOPE, ("heat", "double"))
    rows = [{"id": str(n), "source": "/a", "heat": float(n)} for n in range(2_000)]
    fastavro.writer(stream, schema, rows, sync_interval=1_000)
    path = tmp_path / "a.avro"
    path.write_bytes(stream.getvalue()[:-500])
    *good, last = read_events(path, HOUSE)
    assert len(good) > 1_900
    assert all(isinstance(one, Event) for one in good)
    assert isinstance(last, Rejected)
    assert (last.faults[0].code, last.line_number) == ("broken-avro", len(good) + 1)
    for content in (b"", b"Obj\x01", b"this is no Avro"):
        path.write_bytes(content)
        (found,) = read_events(path, HOUSE)
        assert isinstance(found, Rejected)
        assert found.faults[0].code == "broken-avro"
