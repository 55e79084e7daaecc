"""The engine is chosen by how much there is to read."""

from __future__ import annotations

import gzip
from pathlib import Path

from comity.federation import load
from comity.run.choice import Estimate
from comity.run.request import Engine, RunRequest
from comity.run.sources import StoredFiles, event_sources
from comity.run.stored import run_stored

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"


def test_little_is_run_in_this_process_and_the_run_says_why(tmp_path: Path) -> None:
    found = load(EXAMPLE)
    sources = event_sources(found, EXAMPLE, [str(EXAMPLE / "events")])
    done = run_stored(RunRequest(EXAMPLE, found, sources, tmp_path / "out"), None)
    assert done.engine is Engine.LOCAL
    assert done.about_engine is not None
    assert done.about_engine.endswith("some 6 s on Spark, which starts first")


def test_who_asks_for_an_engine_gets_it_without_a_reason(tmp_path: Path) -> None:
    found = load(EXAMPLE)
    sources = event_sources(found, EXAMPLE, [str(EXAMPLE / "events")])
    done = run_stored(RunRequest(EXAMPLE, found, sources, tmp_path / "out"), Engine.LOCAL)
    assert (done.engine, done.about_engine) == (Engine.LOCAL, None)


def test_packed_files_count_for_what_is_in_them(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz"
    plain.write_bytes(b"x" * 1000)
    packed.write_bytes(gzip.compress(b"x" * 1000, mtime=0))
    assert Estimate.of(StoredFiles([str(plain)])).bytes == 1000
    assert Estimate.of(StoredFiles([str(packed)])).bytes == 8 * packed.stat().st_size


def test_a_run_on_spark_tells_only_of_what_would_have_been_clearly_quicker() -> None:
    small, large = Estimate(6_000_000), Estimate(600_000_000)
    assert (small.quicker, large.quicker) == (Engine.LOCAL, Engine.SPARK)
    assert small.after_spark(1.2) is None
    told = small.after_spark(8.0)
    assert told is not None
    assert told.startswith("--engine local would have been quicker: some 1.5 s for about 6.0 MB")
    assert large.after_spark(20.0) is None
