"""Results as Delta tables: what a folder gets is in them, once, on a disk and in a store, and others can read it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.pipeline.test_frame_stream import FEDERATION, at
from tests.s3 import ObjectStore

from comity.connect.folder import CHECKPOINT, Results
from comity.connect.tables.parts import TableLayout
from comity.connect.target import TableTarget
from comity.pipeline.checkpoint import stream_id
from comity.pipeline.frame_stream import FixedFederation
from comity.pipeline.run import run_on_spark
from comity.pipeline.stream import StreamRun
from comity.plan import compile_plan
from comity.plan.loading import federation_of
from comity.storage.place import LocalStorage, Storage

pytestmark = pytest.mark.spark


def event(id: int, second: int, heat: Any, machine: str = "m1") -> str:
    data = {"machine": machine, "heat": heat}
    found = {"id": str(id), "source": "/p", "type": "plant.Reading", "time": at(second), "data": data}
    return json.dumps(found)


BATCHES = (
    [event(1, 1, 300.0), event(2, 3, 250.0), "{broken"],
    [event(2, 3, 250.0), event(3, 5, 20.0), event(4, 6, 500), event(5, 7, "hot")],
)


@pytest.fixture(params=["disk", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "disk":
        return LocalStorage(tmp_path / "out")
    store: ObjectStore = request.getfixturevalue("s3")
    return store.storage(store.bucket() + "/results")


def table_in(place: Storage, name: str) -> DeltaTable:
    address = place.folder if isinstance(place, LocalStorage) else place.address
    return DeltaTable(f"{address}/{name}", storage_options=place.delta_options())


def rows_in(place: Storage, name: str = "notifications") -> list[dict[str, Any]]:
    return table_in(place, name).to_pyarrow_table().to_pylist()


def stream_of(place: Storage, home: Path, *, typed: bool = False) -> StreamRun:
    layout = TableLayout({} if typed else None)
    target = TableTarget(place, layout, lambda: stream_id(home / CHECKPOINT))
    return StreamRun(FixedFederation(federation_of(FEDERATION)), out=home, target=target)


def take(spark: SparkSession, stream: StreamRun, events: Path, batches: Sequence[Sequence[str]] = ()) -> None:
    """Take what is in a folder, a file a batch, and report what patterns wait for."""
    events.mkdir(exist_ok=True)
    for lines in batches:
        (events / f"{len(list(events.iterdir()))}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    try:
        query = stream.start(spark, [events], trigger_s=0, until_empty=True, files_per_batch=1)
        query.awaitTermination()
        stream.finish(spark)
    finally:
        stream.close()


def test_a_stream_gives_what_a_run_into_a_folder_gives(spark: SparkSession, tmp_path: Path, place: Storage) -> None:
    home, events = tmp_path / "out", tmp_path / "events"
    for lines in BATCHES:  # with a start of its own for each
        take(spark, stream_of(place, home), events, [lines])
    take(spark, stream_of(place, home), events)
    folder = tmp_path / "folder"
    plan = compile_plan(federation_of(FEDERATION))
    run_on_spark(plan, [str(file) for file in sorted(events.iterdir())], folder, spark)
    assert Counter((row["profile"], row["source"], row["id"]) for row in rows_in(place)) == Counter(
        (one["profile"], one["source"], one["id"]) for one in _notifications(folder)
    )
    assert {row["code"] for row in rows_in(place, "rejected")} == {"bad-json", "wrong-kind"}
    assert len(rows_in(place, "rejected")) == 2
    (first,) = [row for row in rows_in(place) if (row["profile"], row["id"]) == ("hot", "1")]
    assert json.loads(first["data"]) == {"machine": "m1", "heat": pytest.approx(148.888888)}
    assert (first["subscriber"], first["type"], first["time"].isoformat()) == (
        "office",
        "office.Hot",
        "2026-11-15T18:00:01+00:00",
    )


def _notifications(folder: Path) -> list[dict[str, Any]]:
    files = sorted((folder / "office").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_a_batch_that_counts_is_left_out_when_it_is_done_again(
    spark: SparkSession, tmp_path: Path, place: Storage
) -> None:
    home, events = tmp_path / "out", tmp_path / "events"
    stream = stream_of(place, home)
    take(spark, stream, events, BATCHES)
    before = rows_in(place)
    stream.take_batch(spark, [str(max(events.iterdir()))], 1)
    stream.close()
    assert rows_in(place) == before
    assert table_in(place, "notifications").transaction_version("comity.batch") == 2


def test_typed_tables_are_read_back_by_others(spark: SparkSession, tmp_path: Path) -> None:
    place = LocalStorage(tmp_path / "out")
    take(spark, stream_of(place, place.folder, typed=True), tmp_path / "events", BATCHES)
    table = table_in(place, "profiles/hot")
    files = table.file_uris()
    wanted = [("1", "m1", 148.889), ("2", "m1", 121.111), ("4", "m1", 260.0)]
    by_duckdb = duckdb.sql(f"select id, machine, round(heat, 3) from read_parquet({files}) order by id").fetchall()
    assert by_duckdb == wanted
    by_spark = spark.read.parquet(*files).orderBy("id").collect()
    assert [(row["id"], row["machine"], round(row["heat"], 3)) for row in by_spark] == wanted
    by_pandas = table.to_pandas().sort_values("id")
    assert list(zip(by_pandas["id"], by_pandas["machine"], by_pandas["heat"].round(3), strict=True)) == wanted
    assert str(by_pandas["time"].dtype) == "datetime64[us, UTC]"
    reported = [json.loads(row["data"])["events"].values() for row in rows_in(place, "profiles/twice")]
    assert ["1", "2"] in [sorted(one["id"] for one in events) for events in reported]


def test_stored_events_are_one_batch_from_which_a_stream_goes_on(
    spark: SparkSession, tmp_path: Path, place: Storage
) -> None:
    home, events = tmp_path / "out", tmp_path / "events"
    events.mkdir()
    (events / "0.jsonl").write_text("".join(f"{line}\n" for line in BATCHES[0]))
    plan = compile_plan(federation_of(FEDERATION))
    summary = run_on_spark(
        plan, [str(events / "0.jsonl")], home, spark, results=Results.DELTA, target=TableTarget(place)
    )
    assert (summary.delivered, summary.rejected) == ({"hot": 2, "twice": 1}, 1)
    assert sorted(row["profile"] for row in rows_in(place)) == ["hot", "hot", "twice"]
    take(spark, stream_of(place, home), events, [BATCHES[1]])
    hot = sorted(row["id"] for row in rows_in(place) if row["profile"] == "hot")
    assert hot == ["1", "2", "4"], "what the run delivered is not delivered again"
