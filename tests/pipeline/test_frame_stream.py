"""Federations over streaming DataFrames: each notification once, whatever is read, across restarts and repeats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import comity.spark as cs
from comity import Misuse
from comity.pipeline.frame_stream import FixedFederation, FrameStream
from comity.pipeline.given import EventColumns
from comity.pipeline.run import run_on_spark
from comity.plan import Summary, compile_plan
from comity.plan.loading import federation_of
from comity.testing.outcomes import outcomes_in

pytestmark = pytest.mark.spark

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"
FEDERATION: dict[str, Any] = {
    "domains": {
        "plant": {"types": {"Reading": {"attributes": {"machine": "string", "heat": "float degF"}}}},
        "office": {"types": {"Hot": {"attributes": {"machine": "string", "heat": "float degC"}}}},
    },
    "contracts": {
        "readings": {
            "types": {"Measured": {"attributes": {"machine": "string", "heat": "float degC"}}},
            "members": {"plant": {"type": "Reading", "map": "same"}},
            "observers": {"office": {"type": "Hot", "map": "same"}},
        }
    },
    "profiles": {
        "hot": {"domain": "office", "on": "Hot", "where": "heat > 100 degC"},
        "twice": {"domain": "office", "on": "Hot a ; Hot b within 10 s", "where": "a.machine = b.machine"},
    },
}
ROWS = "nr long, machine string, heat double, at timestamp"


def text_stream(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder))


def at(second: int) -> str:
    return f"2026-11-15T18:00:{second:02d}Z"


def put(folder: Path, name: str, content: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(content)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()]


def test_lines_give_what_a_run_gives_across_a_restart_and_repeats(spark: SparkSession, tmp_path: Path) -> None:
    files = sorted(EXAMPLE.glob("events/*.jsonl"))
    stored, out, events = tmp_path / "stored", tmp_path / "out", tmp_path / "events"
    run_on_spark(compile_plan(federation_of(EXAMPLE)), [str(file) for file in files], stored, spark)
    told: list[Summary] = []
    repeated = files[0].read_text().splitlines()[1]
    for number, content in enumerate((files[0].read_text(), files[1].read_text() + repeated + "\n")):
        put(events, f"{number}.jsonl", content)
        stream = cs.stream(text_stream(spark, events), EXAMPLE, lines="value")
        stream.to_folder(out, until_empty=True, on_batch=lambda _, summary: told.append(summary)).start().finish()
    subscribers = federation_of(EXAMPLE).domains
    assert outcomes_in(out, subscribers) == outcomes_in(stored, subscribers)
    assert [one.records for one in told] == [
        len(files[0].read_text().splitlines()),
        len(files[1].read_text().splitlines()) + 1,
    ]


@pytest.mark.parametrize("results", ["jsonl", "parquet"])
def test_rows_with_named_columns_are_delivered_once_and_detected(
    spark: SparkSession, tmp_path: Path, results: str
) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    parts: EventColumns = {
        "id": F.col("nr").cast("string"),
        "source": "/plant/7",
        "type": "plant.Reading",
        "time": "at",
    }
    batches: Sequence[list[tuple[int, str, float | None]]] = (
        [(1, "m1", 300.0), (2, "m1", 50.0), (3, "m2", None)],
        [(1, "m1", 300.0), (4, "m1", 310.0), (5, "m2", 400.0)],
    )
    told: list[Summary] = []
    for at_batch, rows in enumerate(batches):
        some = [{"nr": nr, "machine": machine, "heat": heat, "at": at(nr)} for nr, machine, heat in rows]
        put(events, f"{at_batch}.json", "".join(json.dumps(row) + "\n" for row in some))
        frame = spark.readStream.schema(ROWS).option("maxFilesPerTrigger", 1).json(str(events))
        query = cs.stream(frame, FEDERATION, **parts).to_folder(
            out, until_empty=True, results=results, on_batch=lambda _, summary: told.append(summary)
        )
        query.start().finish()
    found = [json.loads(text) for _, text in outcomes_in(out, ["office"]) if '"profile"' in text]
    hot = {one["id"]: round(one["data"]["heat"], 2) for one in found if one["profile"] == "hot"}
    assert hot == {"1": 148.89, "4": 154.44, "5": 204.44}
    assert len([one for one in found if one["profile"] == "hot"]) == 3
    pairs = {tuple(one["data"]["events"][name]["id"] for name in "ab") for one in found if one["profile"] == "twice"}
    assert pairs == {("1", "2"), ("1", "4"), ("2", "4")}
    assert [one["raw"] and one["faults"][0]["code"] for one in lines(out / "rejected")] == ["missing"]
    assert [(one.records, one.rejected) for one in told] == [(3, 1), (3, 0)]


def test_a_batch_that_is_taken_again_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    frame = spark.read.text(str(EXAMPLE / "events"))
    federation = FixedFederation(federation_of(EXAMPLE))
    stream = FrameStream(federation, out=out, columns={"lines": "value"})
    first = stream.take_frame(frame.limit(3), 0)
    seen = [stream.take_frame(frame, 1).delivered]
    stream.close()
    stream = FrameStream(federation, out=out, columns={"lines": "value"})
    seen.append(stream.take_frame(frame, 1).delivered)
    assert seen[0] == seen[1]
    assert sum(seen[0].values()) > 0
    told = sum(first.delivered.values()) + sum(seen[0].values())
    assert told == sum(len(lines(out / name)) for name in federation_of(EXAMPLE).domains)
    assert set(stream.take_frame(frame, 2).delivered.values()) == {0}
    stream.close()


def test_what_cannot_be_is_refused_before_anything_runs(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Misuse) as refused:
        cs.stream(spark.read.text(str(EXAMPLE / "events")), EXAMPLE, lines="value")
    assert refused.value.code == "not-streaming"
    with pytest.raises(Misuse) as refused:
        cs.stream(text_stream(spark, EXAMPLE / "events"), EXAMPLE)
    assert refused.value.code == "no-envelope"
    stream = cs.stream(text_stream(spark, EXAMPLE / "events"), EXAMPLE, lines="value")
    with stream.to_folder(tmp_path / "out").start():
        with pytest.raises(Misuse) as refused:
            stream.to_folder(tmp_path / "out").start()
        assert refused.value.code == "folder-in-use"


def test_a_fault_of_ours_is_raised_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "events", "0.jsonl", (EXAMPLE / "events" / "house_a.jsonl").read_text())
    stream = cs.stream(text_stream(spark, tmp_path / "events"), EXAMPLE, lines="value")

    def fail(number: int, summary: Summary) -> None:
        raise Misuse("no more", code="bad-usage")

    query = stream.to_folder(tmp_path / "out", until_empty=True, on_batch=fail).start()
    with pytest.raises(Misuse, match="no more"):
        query.wait()
