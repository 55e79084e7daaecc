"""What footers prove: nothing that a single row could contradict."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from comity.pipeline.facts import Facts, facts_of

NOW = datetime(2026, 11, 15, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("type", pa.string()),
        ("time", pa.timestamp("us", tz="UTC")),
        ("data", pa.struct([("heat", pa.float64()), ("room", pa.string())])),
    ]
)


def facts(folder: Path, *files: list[dict[str, Any]]) -> Facts:
    footers = []
    for number, rows in enumerate(files):
        path = folder / f"{number}.parquet"
        parquet.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path, row_group_size=2)
        footers.append(parquet.read_metadata(path))
    return facts_of(footers)


def row(type: str | None = "a.T", time: datetime | None = NOW, heat: float | None = 1.0, room: str | None = "x") -> Any:
    return {"type": type, "time": time, "data": {"heat": heat, "room": room}}


def test_facts_of_rows_without_gaps(tmp_path: Path) -> None:
    found = facts(tmp_path, [row(), row()], [row()])
    assert found.complete == {"type", "time", "data.heat", "data.room"}
    assert found.constant("type") == "a.T"
    assert found.is_within("time", NOW, NOW)
    assert found.is_never_empty("data.room")


@pytest.mark.parametrize(
    ("other", "broken"),
    [
        (row(type=None), "type"),
        (row(time=None), "time"),
        (row(heat=None), "data.heat"),
        (row(room=None), "data.room"),
        ({"type": "a.T", "time": NOW, "data": None}, "data.heat"),
    ],
)
def test_one_null_in_any_file_is_a_gap(tmp_path: Path, other: dict[str, Any], broken: str) -> None:
    found = facts(tmp_path, [row(), row(), row()], [row(), row(), other])
    assert broken not in found.complete
    assert found.constant("type") is None or broken != "type"
    assert not (broken == "time" and found.is_within("time", NOW, NOW))


def test_one_other_value_is_seen(tmp_path: Path) -> None:
    assert facts(tmp_path, [row()], [row(type="a.U")]).constant("type") is None
    late = NOW.replace(year=2027)
    assert not facts(tmp_path, [row()], [row(time=late)]).is_within("time", NOW, NOW)
    assert not facts(tmp_path, [row()], [row(room="")]).is_never_empty("data.room")


def test_files_without_statistics_prove_nothing(tmp_path: Path) -> None:
    path = tmp_path / "plain.parquet"
    parquet.write_table(pa.Table.from_pylist([row()], schema=SCHEMA), path, write_statistics=False)
    found = facts_of([parquet.read_metadata(path)])
    assert found.constant("type") is None
    assert not found.is_never_empty("type")


@given(st.lists(st.lists(st.none() | st.text(max_size=80), min_size=1, max_size=5), min_size=1, max_size=3))
def test_what_is_proven_holds_for_every_row(tmp_path_factory: pytest.TempPathFactory, files: list[Any]) -> None:
    found = facts(tmp_path_factory.mktemp("facts"), *([row(type=text) for text in file] for file in files))
    texts = [text for file in files for text in file]
    if "type" in found.complete:
        assert None not in texts
    if found.is_never_empty("type"):
        assert all(texts)
    if (only := found.constant("type")) is not None:
        assert set(texts) == {only}
