"""Events in an object store: what comes of them is what comes of the same files in a folder, in runs and in streams."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from tests.s3 import ObjectStore, Weather, faulty_way

from comity.connect.folder import Results
from comity.errors import Misuse
from comity.federation import load
from comity.federation.watch import WatchedFederation
from comity.pipeline.stream import StreamRun
from comity.run.request import Engine, RunRequest
from comity.run.sources import event_sources
from comity.run.stored import run_stored
from comity.storage.place import LocalStorage, Storage
from comity.testing.outcomes import outcomes_in

ROOT = Path(__file__).parents[2]
DOMAIN = "domain: {name}\ntypes: {{T: {{attributes: {{x: int}}}}}}\nsources: {{own: {{files: '{place}'}}}}\n"
REST = {
    "watcher.yaml": "domain: watcher\ntypes: {}\n",
    "contract.yaml": "contract: both\nauthority: watcher\ntypes: {T: {attributes: {x: int}}}\n"
    "members: {a: {type: T, map: same}, b: {type: T, map: same}}\n",
    "profiles.yaml": "profiles:\n"
    "  large: {domain: watcher, on: both.T, where: x > 2}\n"
    "  of_b: {domain: watcher, on: both.T, scope: [b]}\n",
}


def federation_in(folder: Path, root: str) -> Path:
    """Events of `a` are in one folder below the root, those of `b` in several, for which a pattern stands."""
    folder.mkdir(parents=True)
    (folder / "a.yaml").write_text(DOMAIN.format(name="a", place=f"{root}/a"))
    (folder / "b.yaml").write_text(DOMAIN.format(name="b", place=f"{root}/*/b"))
    for name, text in REST.items():
        (folder / name).write_text(text)
    return folder


def line(id: int, domain: str, x: Any) -> bytes:
    record = {"id": str(id), "source": "/s", "type": f"{domain}.T", "time": "2026-03-01T10:00:00Z", "data": {"x": x}}
    return json.dumps(record).encode() + b"\n"


def rows(folder: Path, *ids: int) -> bytes:
    path = folder / "rows.parquet"
    time = "2026-03-01T10:00:00Z"
    table = [{"id": str(id), "source": "/s", "type": "b.T", "time": time, "x": id} for id in ids]
    parquet.write_table(pa.Table.from_pylist(table), path)
    return path.read_bytes()


def files(folder: Path) -> dict[str, bytes]:
    """Some of every kind: whole, broken in parts, broken altogether, of another domain, and with odd names."""
    csv = b"id,source,type,time,x\n30,/s,b.T,2026-03-01T10:00:00Z,3\n31,/s,b.T,2026-03-01T10:00:00Z,many\n"
    return {
        "a/1.jsonl": line(1, "a", 1) + line(2, "a", 5) + b"{broken\n" + line(3, "b", 9),
        "a/odd name%20#1.jsonl": line(4, "a", 7) + line(5, "a", "x"),
        "a/2.jsonl.gz": gzip.compress(line(6, "a", 8)),
        "a/3.jsonl.gz": gzip.compress(line(7, "a", 9) * 40)[:-20],
        "east/b/4.parquet": rows(folder, 20, 21),
        "west/b/5.csv": csv,
        "west/b/6.parquet": b"no Parquet at all",
        "west/b/notes.txt": b"nobody reads this",
    }


MORE = {"a/7.jsonl": line(2, "a", 5) + line(8, "a", 11), "north/b/8.jsonl": line(9, "b", 1)}


@dataclass(frozen=True)
class Both:
    """The same files in a store and in a folder, and a federation over each."""

    store: ObjectStore
    there: Storage
    here: LocalStorage
    far: Path
    near: Path

    @classmethod
    def of(cls, store: ObjectStore, home: Path) -> Both:
        there, here = store.storage(store.bucket() + "/in"), LocalStorage(home / "in")
        near = federation_in(home / "near", str(here.folder))
        return cls(store, there, here, federation_in(home / "far", there.address), near)

    def put(self, given: Mapping[str, bytes]) -> None:
        for name, content in given.items():
            self.there.write(name, content)
            self.here.write(name, content)

    def run(self, folder: Path, out: Path, engine: Engine) -> None:
        found = load(folder)
        sources = event_sources(found, folder, None, self.store.access)
        run_stored(RunRequest(folder, found, sources, out), engine)

    def told(self, out: Path, results: Results = Results.JSONL) -> tuple[Counter[str], Counter[tuple[str, str]]]:
        """The notifications, and the rejected records by file and reason."""
        notified = Counter(text for name, text in outcomes_in(out, ["watcher"]) if name == "watcher")
        refused: Counter[tuple[str, str]] = Counter()
        for file in (out / "rejected").glob("*.jsonl"):
            for record in map(json.loads, file.read_text().splitlines()):
                name = record["file"].removeprefix(self.there.address).removeprefix(str(self.here.folder))
                refused[name, record["faults"][0]["code"]] += 1
        return notified, refused


@pytest.fixture
def both(s3: ObjectStore, tmp_path: Path) -> Both:
    found = Both.of(s3, tmp_path)
    found.put(files(tmp_path))
    return found


def test_a_run_in_this_process_reads_a_store_as_a_folder(both: Both, tmp_path: Path) -> None:
    both.run(both.near, tmp_path / "of folder", Engine.LOCAL)
    both.run(both.far, tmp_path / "of store", Engine.LOCAL)
    assert both.told(tmp_path / "of store") == both.told(tmp_path / "of folder")
    notified, refused = both.told(tmp_path / "of store")
    assert len(notified) >= 8
    assert refused["/a/1.jsonl", "foreign-type"] == 1
    assert refused["/a/odd name%20#1.jsonl", "wrong-kind"] == 1


@pytest.mark.spark
def test_a_run_on_spark_that_knows_no_such_store_reads_it_by_its_workers(
    spark: SparkSession, both: Both, tmp_path: Path
) -> None:
    both.run(both.near, tmp_path / "of folder", Engine.LOCAL)
    both.run(both.far, tmp_path / "of store", Engine.SPARK)
    assert both.told(tmp_path / "of store") == both.told(tmp_path / "of folder")


@pytest.mark.spark
def test_a_stream_needs_a_spark_that_knows_the_store(spark: SparkSession, both: Both, tmp_path: Path) -> None:
    stream = StreamRun(WatchedFederation(both.far), out=tmp_path / "out", access=both.store.access)
    with pytest.raises(Misuse) as refused:
        stream.start(spark, [f"{both.there.address}/a"], trigger_s=0, until_empty=True, files_per_batch=1)
    assert refused.value.code == "no-file-system"
    assert "hadoop-aws" in (refused.value.hint or "")
    assert not (tmp_path / "out").exists()


def comity_run(both: Both, *options: str, store: ObjectStore | None = None) -> str:
    """What the command says over the store, or over another way to it, by a Spark that knows it."""
    command = [sys.executable, "-m", "comity", "run", str(both.far), *options]
    for name, value in {**(store or both.store).spark_config, **S3A}.items():
        command += ["--spark-config", f"{name}={value}"]
    places = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": places},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


_SDK = "2.35.4"
S3A = {
    "spark.jars.packages": ",".join(
        [
            "org.apache.hadoop:hadoop-aws:3.5.0",
            *(f"software.amazon.awssdk:{one}:{_SDK}" for one in ("s3", "s3-transfer-manager", "sts", "apache-client")),
        ]
    ),
    # The bundle of all services has 700 MB; the log of Apache is beside Spark already.
    "spark.jars.excludes": "software.amazon.awssdk:bundle,commons-logging:commons-logging",
}


@pytest.mark.slow
@pytest.mark.spark
def test_a_stream_follows_a_store_as_it_follows_a_folder(both: Both, tmp_path: Path) -> None:
    out = tmp_path / "of store"
    options = ("--out", str(out), "--stream", "--until-empty", "--files-per-batch", "3", "--fail-on-rejected", "never")
    comity_run(both, *options)
    both.put(MORE)
    said = comity_run(both, *options)
    assert "1 batches" in said, said
    both.run(both.near, tmp_path / "of folder", Engine.LOCAL)
    assert both.told(out) == both.told(tmp_path / "of folder")
    kept = {json.loads(note.read_text())["file"]: note for note in (out / "quarantine").glob("[0-9]*.json")}
    assert set(kept) == {f"{both.there.address}/{name}" for name in ("a/3.jsonl.gz", "west/b/6.parquet")}
    note = json.loads(kept[f"{both.there.address}/west/b/6.parquet"].read_text())
    assert (out / "quarantine" / note["kept"]).read_bytes() == b"no Parquet at all"


@pytest.mark.nightly
@pytest.mark.spark
def test_a_run_by_spark_itself_reads_a_store_as_a_folder(both: Both, tmp_path: Path) -> None:
    comity_run(both, "--out", str(tmp_path / "of store"), "--fail-on-rejected", "never")
    both.run(both.near, tmp_path / "of folder", Engine.LOCAL)
    assert both.told(tmp_path / "of store") == both.told(tmp_path / "of folder")


@pytest.mark.nightly
@pytest.mark.spark
def test_a_store_that_fails_now_and_then_is_held_against_no_file(both: Both, tmp_path: Path) -> None:
    out = tmp_path / "of store"
    with faulty_way(both.store) as way:
        way.weather = Weather(Random(3), share=0.05, longest_delay_s=0.3)
        options = (
            "--out",
            str(out),
            "--stream",
            "--until-empty",
            "--files-per-batch",
            "3",
            "--fail-on-rejected",
            "never",
        )
        comity_run(both, *options, store=way.store)
        assert way.weather.befallen, "nothing failed"
    both.run(both.near, tmp_path / "of folder", Engine.LOCAL)
    assert both.told(out) == both.told(tmp_path / "of folder")
    aside = {json.loads(note.read_text())["file"] for note in (out / "quarantine").glob("[0-9]*.json")}
    assert aside == {f"{both.there.address}/{name}" for name in ("a/3.jsonl.gz", "west/b/6.parquet")}
