"""A source of a domain speaks for that domain only: events of another's types are rejected, in every form of files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from comity.cli.main import app
from comity.event import encode
from comity.event.event import Event
from comity.event.formats.avro import write_avro_events
from comity.event.formats.xml.write import HEAD, TAIL, encode_xml
from comity.event.owners import Owners
from comity.event.window import Window
from comity.federation import Federation, load
from comity.federation.watch import WatchedFederation
from comity.limits import limits
from comity.pipeline.run import run_on_spark
from comity.pipeline.stream import StreamRun
from comity.pipeline.worker import LineWorker, Work
from comity.plan import compile_plan

FEDERATION = {
    "a.yaml": "domain: a\ntypes: {T: {attributes: {x: int}}}\nsources: {own: {files: events/a}}\n",
    "b.yaml": "domain: b\ntypes: {T: {attributes: {x: int}}}\nsources: {own: {files: events/b}}\n",
    "watcher.yaml": "domain: watcher\ntypes: {}\n",
    "contract.yaml": """\
contract: both
authority: watcher
types: {T: {attributes: {x: int}}}
members:
  a: {type: T, map: same}
  b: {type: T, map: same}
""",
    "profiles.yaml": """\
profiles:
  all: {domain: watcher, on: both.T}
  of_b: {domain: watcher, on: both.T, scope: [b]}
""",
}
MOMENT = datetime(2026, 3, 1, 10, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FEDERATION.items():
        (tmp_path / name).write_text(text)
    for domain in ("a", "b"):
        (tmp_path / "events" / domain).mkdir(parents=True)
    return tmp_path


def event(id: str, type: str) -> Event:
    return Event(id, "/s", type, MOMENT, {"x": 1})


def write(path: Path, events: Sequence[Event], federation: Federation) -> str:
    """The events in the form that the name of the file tells."""
    types = [one for domain in ("a", "b") for one in federation.domains[domain].taxonomy.types]
    by_name = {one.qualified_name: one for one in types}
    match path.suffix:
        case ".csv":
            rows = [f"{one.id},{one.source},{one.type},2026-03-01T10:00:00Z,1" for one in events]
            path.write_text("\n".join(["id,source,type,time,x", *rows]))
        case ".parquet":
            rows_of = [{"id": e.id, "source": e.source, "type": e.type, "time": e.time, "x": 1} for e in events]
            parquet.write_table(pa.Table.from_pylist(rows_of), path)
        case ".xml":
            path.write_bytes(HEAD + b"\n".join(encode_xml(one, by_name[one.type]) for one in events) + TAIL)
        case ".avro":
            with path.open("wb") as stream:
                write_avro_events(events, types, stream)
        case _:
            path.write_bytes(b"\n".join(encode(one) for one in events))
    return str(path)


FORMS = ("jsonl", "csv", "parquet", "xml", "avro")


def write_all(folder: Path) -> list[str]:
    """In each form a file in the folder of a: one event of its own, and one that claims to be of b."""
    federation = load(folder)
    return [
        write(folder / "events" / "a" / f"{form}.{form}", [event(form, "a.T"), event(f"{form}!", "b.T")], federation)
        for form in FORMS
    ]


def told(out: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted((out / name).glob("*.jsonl")) for line in file.read_text().splitlines()]


def check(out: Path) -> None:
    """Only what a may say was delivered, and the rest is rejected with its reason."""
    assert sorted((one["profile"], one["id"]) for one in told(out, "watcher")) == [
        ("all", form) for form in sorted(FORMS)
    ]
    refused = told(out, "rejected")
    assert len(refused) == len(FORMS)
    assert {(one["faults"][0]["code"], one["faults"][0]["value"]) for one in refused} == {("foreign-type", "'b.T'")}
    assert "this is a source of a" in refused[0]["faults"][0]["reason"]


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("stream", [(), ("--stream", "--until-empty")], ids=["stored", "stream"])
def test_comity_run_holds_the_sources_of_a_domain_to_its_types(
    folder: Path, stream: tuple[str, ...], engine: str, request: pytest.FixtureRequest
) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    write_all(folder)
    (folder / "events" / "b" / "b.jsonl").write_bytes(b"")
    result = CliRunner().invoke(app, ["run", str(folder), "--engine", engine, "--out", str(folder / "out"), *stream])
    assert result.exit_code == 0, result.output
    check(folder / "out")
    line = next(one for one in told(folder / "out", "rejected") if one["file"].endswith(".jsonl"))
    assert (Path(line["file"]).name, line["line"]) == ("jsonl.jsonl", 2)


def test_comity_run_lets_the_operator_speak_for_all(folder: Path) -> None:
    write_all(folder)
    events = str(folder / "events" / "a")
    arguments = ["run", str(folder), "--events", events, "--engine", "local", "--out", str(folder / "out")]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert len(told(folder / "out", "rejected")) == 0
    assert sum(one["profile"] == "of_b" for one in told(folder / "out", "watcher")) == len(FORMS)


def test_comity_run_takes_a_folder_that_two_domains_name(folder: Path) -> None:
    write_all(folder)
    (folder / "b.yaml").write_text(FEDERATION["b.yaml"].replace("events/b", "events/a"))
    result = CliRunner().invoke(app, ["run", str(folder), "--engine", "local", "--out", str(folder / "out")])
    assert result.exit_code == 0, result.output
    assert len(told(folder / "out", "rejected")) == 0
    assert len(told(folder / "out", "watcher")) == 3 * len(FORMS)


def test_comity_run_follows_links_to_files(folder: Path) -> None:
    elsewhere = write(folder / "elsewhere.jsonl", [event("1", "a.T"), event("2", "b.T")], load(folder))
    (folder / "events" / "a" / "link.jsonl").symlink_to(elsewhere)
    (folder / "events" / "b" / "b.jsonl").write_bytes(b"")
    CliRunner().invoke(app, ["run", str(folder), "--engine", "local", "--out", str(folder / "out")])
    assert [one["id"] for one in told(folder / "out", "watcher")] == ["1"]
    assert [one["faults"][0]["code"] for one in told(folder / "out", "rejected")] == ["foreign-type"]


@dataclass
class Held:
    value: Work


@pytest.mark.parametrize("scanned", [1, 10**9])
def test_lines_of_several_files_in_one_batch_are_held_to_their_own_owners(folder: Path, scanned: int) -> None:
    lines = [encode(event(str(number), type)) for number, type in enumerate(["a.T", "b.T", "a.T", "b.T", "a.T"])]
    files = ["file:///s/a/1.jsonl", "file:///s/a/1.jsonl", "file:///s/b/1.jsonl", "file:///s/b/1.jsonl", "file:///x"]
    schema = pa.schema([("line", pa.binary()), ("size", pa.int32()), ("file", pa.string())])
    columns = {"line": lines, "size": [len(one) for one in lines], "file": files}
    owners = Owners.of([("/s/a", "a"), ("/s/b", "b")])
    worker = LineWorker(
        Held(Work.of(compile_plan(load(folder)))), Window.around(MOMENT), limits(), owners, scanned=scanned
    )
    batch = pa.RecordBatch.from_pydict(columns, schema=schema)
    rows = [row for one in worker.batches(iter([batch])) for row in one.to_pylist()]
    assert sorted(row["id"] for row in rows if row["id"]) == ["0", "3"]
    refused = [row["rejected"] for row in rows if row["rejected"]]
    assert sorted(one["file"] for one in refused) == ["/s/a/1.jsonl", "/s/b/1.jsonl", "/x"]
    assert all("foreign-type" in one["reason"] for one in refused)
    assert sum(row["counted"] or 0 for row in rows) == 5


@pytest.mark.spark
def test_run_on_spark_holds_files_to_their_owners(spark: SparkSession, folder: Path) -> None:
    files = write_all(folder)
    owners = Owners.of([(folder / "events" / "a", "a")])
    run_on_spark(compile_plan(load(folder)), files, folder / "out", spark, now=MOMENT, owners=owners)
    check(folder / "out")


@pytest.mark.spark
def test_a_stream_holds_landed_files_to_their_owners_also_when_a_batch_is_done_again(
    spark: SparkSession, folder: Path
) -> None:
    files = write_all(folder)
    owners = Owners.of([(folder / "events" / "a", "a"), (folder / "out" / ".landing" / "b-hook", "b")])
    landed = folder / "out" / ".landing" / "b-hook"
    landed.mkdir(parents=True)
    hook = write(landed / "landed-1.jsonl", [event("hooked", "b.T"), event("hooked!", "a.T")], load(folder))
    for _ in range(2):  # the second time is that after a crash, by a process that knows only the files
        stream = StreamRun(WatchedFederation(folder), out=folder / "out", clock=lambda: MOMENT, owners=owners)
        stream.take_batch(spark, [*files, hook], 0)
        stream.close()
    found = [(one["profile"], one["id"]) for one in told(folder / "out", "watcher")]
    assert sorted(found) == sorted([*(("all", form) for form in FORMS), ("all", "hooked"), ("of_b", "hooked")])
    refused = [one["faults"][0] for one in told(folder / "out", "rejected")]
    assert sorted(one["value"] for one in refused) == ["'a.T'", *["'b.T'"] * len(FORMS)]
    assert {one["code"] for one in refused} == {"foreign-type"}
