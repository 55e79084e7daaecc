"""Published results as messages: JSON Lines and Parquet."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from comity.connect.courier import Settled
from comity.connect.published import published_batches, read_messages
from comity.testing.sink_conformance import notification

ROW = {
    "profile": "fires",
    "id": "e1",
    "source": "/a",
    "type": "house_a.Fire",
    "time": "2026-01-31T12:00:00Z",
    "subject": None,
    "sequence": 7,
    "mode": "live",
    "typeversion": "2",
    "data": '{"heat":40.0,"text":"é"}',
}


def test_published_batches_by_number_then_name(tmp_path):
    names = ["batch-00000010-00000.jsonl", "batch-00000002-00001.jsonl", "batch-00000002-00000.jsonl", ".x.jsonl"]
    for name in names:
        (tmp_path / "house_a").mkdir(exist_ok=True)
        (tmp_path / "house_a" / name).touch()
    found = [(one.series, one.number, [file.name for file in one.files]) for one in _batches(tmp_path)]
    assert found == [("batch", 2, [names[2], names[1]]), ("batch", 10, [names[0]])]


def test_published_parts_are_one_batch(tmp_path):
    for name in ("part-00001.jsonl", "part-00000.jsonl"):
        (tmp_path / "house_a").mkdir(exist_ok=True)
        (tmp_path / "house_a" / name).touch()
    (one,) = _batches(tmp_path)
    assert (one.series, one.number, [file.name for file in one.files]) == (
        "part",
        0,
        ["part-00000.jsonl", "part-00001.jsonl"],
    )


def test_read_messages_skips_empty_lines_and_keeps_bytes(tmp_path):
    path = tmp_path / "part-00000.jsonl"
    path.write_bytes(notification(1) + b"\n\n" + notification(2))
    messages = list(read_messages([path], "house_a"))
    assert [one.line for one in messages] == [notification(1), notification(2)]
    assert (messages[0].profile, messages[0].key) == ("fires", '["fires","/a","e1"]')


def test_read_messages_gives_a_failure_for_what_is_none(tmp_path):
    path = tmp_path / "part-00000.jsonl"
    path.write_bytes(b'{"id": "1"}\n{"half\n\xff\n' + notification(1) + b"\n")
    *broken, good = read_messages([path], "house_a")
    assert all(isinstance(one, Settled) and one.failure.code == "not-a-notification" for one in broken)
    assert len({one.message.key for one in broken}) == 3
    assert json.loads(bytes(broken[1].as_dead_letter().message)) == '{"half'
    assert good.line == notification(1)


def test_read_messages_from_parquet(tmp_path):
    folder = tmp_path / "day=2026-01-31" / "subscriber=house_a"
    folder.mkdir(parents=True)
    later = {**ROW, "id": "e2", "sequence": None, "data": None, "subject": "door"}
    pq.write_table(pa.Table.from_pylist([ROW, later]), folder / "batch-00000003-00000.parquet")
    (one,) = _batches(tmp_path)
    first, second = read_messages(one.files, "house_a")
    assert (one.series, one.number) == ("batch", 3)
    assert (first.key, first.profile) == ('["fires","/a","e1"]', "fires")
    expected = {name: value for name, value in ROW.items() if value is not None}
    assert json.loads(first.line) == {
        **expected,
        "specversion": "1.0",
        "sequence": "7",
        "data": {"heat": 40.0, "text": "é"},
    }
    assert "data" not in json.loads(second.line)
    assert json.loads(second.line)["subject"] == "door"


@pytest.mark.parametrize("old_form", [False, True])
@pytest.mark.parametrize("year", [1500, 2026, 9999])
def test_read_messages_from_parquet_with_timestamps(tmp_path, old_form, year):
    path = tmp_path / "part-0.parquet"
    table = pa.Table.from_pylist([{**ROW, "time": datetime(year, 1, 31, 12, 0, 0, 250, tzinfo=UTC)}])
    pq.write_table(table, path, use_deprecated_int96_timestamps=old_form)
    (found,) = read_messages([path], "house_a")
    assert json.loads(found.line)["time"] == f"{year}-01-31T12:00:00.000250Z"


def _batches(out):
    return published_batches(out, "house_a")
