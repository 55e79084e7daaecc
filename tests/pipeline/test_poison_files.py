"""Files that cannot be read: each costs itself only, in a stream and in a run, and is told with its reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from comity.event import Event, decode
from comity.federation import load
from comity.federation.watch import WatchedFederation
from comity.limits import limited
from comity.match.match import bind_profiles
from comity.pipeline.detect.run import detect_on_spark
from comity.pipeline.detect.stream import DetectStream
from comity.pipeline.doubt_notes import DoubtNotes
from comity.pipeline.doubts import NO_DOUBTS, Attempts, Doubts
from comity.pipeline.match import match_on_spark
from comity.pipeline.run import run_on_spark
from comity.pipeline.stream import StreamRun
from comity.plan import compile_plan
from comity.profile.blocks import parse_composite
from comity.profile.profile import Profile
from comity.testing.poison import parquet_with_broken_page, truncated, truncated_gzip
from comity.testing.tables import encode_avro

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"
TIME = "2026-11-10T10:00:00Z"


@pytest.fixture
def tried_once() -> Iterator[None]:
    """Each way to read a file is tried once; how often it is by itself is shown where no Spark is needed."""
    with limited(max_file_attempts=1):
        yield


def event(identifier: str) -> dict[str, Any]:
    data = {"room": "hall", "heat": 250.0}
    return {"id": identifier, "source": "house_a/x", "type": "house_a.FireDetected", "time": TIME, "data": data}


def row(identifier: str) -> dict[str, Any]:
    return {name: value for name, value in event(identifier).items() if name != "data"} | event(identifier)["data"]


def text(*identifiers: str) -> bytes:
    return b"".join(json.dumps(event(one)).encode() + b"\n" for one in identifiers)


def avro(*identifiers: str) -> bytes:
    types = load(EXAMPLE)
    events = [decode(json.dumps(event(one)).encode(), types.find_type) for one in identifiers]
    declared = types.find_type("house_a.FireDetected")
    assert declared is not None
    return encode_avro([one for one in events if isinstance(one, Event)], declared)


def poison(folder: Path) -> dict[str, str]:
    """A folder with good files, and broken ones of which nothing can be read; gives their codes by name."""
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(text("a"))
    (folder / "z.avro").write_bytes(avro("z"))
    (folder / "page1.parquet").write_bytes(parquet_with_broken_page([row(f"p{at}") for at in range(9)], "room"))
    (folder / "page2.parquet").write_bytes(parquet_with_broken_page([row(f"q{at}") for at in range(9)], "room"))
    (folder / "footer.parquet").write_bytes(truncated(parquet_with_broken_page([row("f")], "room")))
    (folder / "half.jsonl.gz").write_bytes(truncated_gzip(text("g")))
    (folder / "half.avro").write_bytes(truncated(avro("v")))
    parquet = dict.fromkeys(("page1.parquet", "page2.parquet", "footer.parquet"), "broken-parquet")
    return {**parquet, "half.jsonl.gz": "broken-gzip", "half.avro": "broken-avro"}


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()]


def refused(out: Path) -> dict[str, str]:
    return {Path(one["file"]).name: one["faults"][0]["code"] for one in lines(out / "rejected")}


def delivered(out: Path) -> list[str]:
    return sorted(one["id"] for one in lines(out / "fire_station") if one["profile"] == "main_street")


@pytest.mark.spark
def test_poison_files_go_to_quarantine_and_the_stream_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    codes = poison(events)
    told: list[str] = []
    stream = StreamRun(WatchedFederation(EXAMPLE), out=out, on_set_aside=lambda one: told.append(Path(one.file).name))
    stream.start(spark, [events], trigger_s=0, until_empty=True, files_per_batch=100).awaitTermination()
    stream.close()
    assert delivered(out) == ["a", "g", "z"]  # all of the compressed file stands before the place where it breaks
    assert refused(out) == codes
    assert sorted(told) == sorted(codes)
    notes = [json.loads(path.read_text()) for path in (out / "quarantine").glob("[0-9]*.json")]
    assert {Path(one["file"]).name: one["code"] for one in notes} == codes
    for one in notes:
        assert one["reason"]
        assert (out / "quarantine" / one["kept"]).read_bytes() == Path(one["file"]).read_bytes()


@pytest.mark.spark
@pytest.mark.usefixtures("tried_once")
def test_poison_files_cost_a_run_over_stored_events_no_more_than_themselves(
    spark: SparkSession, tmp_path: Path
) -> None:
    codes = poison(tmp_path / "events")
    files = [str(path) for path in (tmp_path / "events").iterdir()]
    summary = run_on_spark(compile_plan(load(EXAMPLE)), files, tmp_path / "out", spark)
    assert delivered(tmp_path / "out") == ["a", "g", "z"]
    assert refused(tmp_path / "out") == codes
    assert summary.rejected == len(codes)
    assert summary.records == 3 + len(codes)


PAIR = "profile pair\non house_a.FireDetected a"


@pytest.mark.spark
@pytest.mark.usefixtures("tried_once")
@pytest.mark.parametrize("has_types", [False, True])
def test_poison_files_cost_patterns_no_more_than_themselves(
    spark: SparkSession, tmp_path: Path, has_types: bool
) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    codes = poison(events)
    taxonomy = load(EXAMPLE).domains["house_a"].taxonomy if has_types else None
    name, composite = parse_composite("profile fires\non FireDetected a" if has_types else PAIR)
    pattern = composite.bind(name, taxonomy)
    stream = DetectStream(lambda: [pattern], out=out, lateness_us=0, taxonomy=taxonomy)
    stream.start(spark, [events], trigger_s=0, until_empty=True, files_per_batch=100).awaitTermination()
    stream.close()
    assert refused(out) == codes
    found = detect_on_spark([pattern], [str(path) for path in events.iterdir()], taxonomy, spark)
    found.find()
    reports = [json.loads(line) for lines in found.lines() for line in lines.splitlines()]
    assert sorted(one["events"]["a"] for one in reports) == ["a", "g", "z"]
    assert {Path(one["file"]).name: one["faults"][0]["code"] for one in found.rejected} == codes


@pytest.mark.spark
@pytest.mark.usefixtures("tried_once")
def test_a_file_that_nobody_can_read_is_rejected_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    events, out = tmp_path / "events", tmp_path / "out"
    events.mkdir()
    (events / "a.jsonl").write_bytes(text("a"))
    (events / "b.csv").write_bytes(text("b"))
    stream = StreamRun(WatchedFederation(EXAMPLE), out=out)
    files = [str(events / name) for name in ("a.jsonl", "b.csv", "gone.jsonl", "gone.csv")]
    attempts = Attempts(files, spark, pause=lambda seconds: None)
    attempts.run(lambda doubts: stream.take_batch(spark, files, 0, doubts))
    stream.close()
    assert set(attempts.doubts.unreadable) == {str(events / "gone.jsonl"), str(events / "gone.csv")}
    assert {name: code for name, code in refused(out).items() if name.startswith("gone")} == {
        "gone.jsonl": "unreadable-file",
        "gone.csv": "unreadable-file",
    }
    assert delivered(out) == ["a"]


@pytest.mark.spark
@pytest.mark.usefixtures("tried_once")
def test_match_goes_on_without_a_file_that_nobody_can_read(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(text("a"))
    files = [str(tmp_path / name) for name in ("a.jsonl", "gone.jsonl")]
    matches = match_on_spark(bind_profiles([Profile.of("hot", "heat > 100")]), files, None, spark)
    assert list(matches.pairs()) == [("hot", "a")]
    assert matches.events == 1
    assert [(one["file"], one["faults"][0]["code"]) for one in matches.rejected] == [(files[1], "unreadable-file")]


class Failure(Py4JError):
    """A failure of Spark with a text."""


def failing(files: list[str], bad: dict[str, int], seen: list[Doubts]) -> Any:
    """An attempt that fails for each bad file, as often as it is read in so many ways."""

    def attempt(doubts: Doubts) -> Doubts:
        seen.append(doubts)
        for file in files:
            ways = 2 if file in doubts.unreadable else 1 if file in doubts.whole else 0
            if ways < bad.get(file, 0):
                raise Failure(f"Encountered error while reading file file://{file}.")
        return doubts

    return attempt


def test_attempts_are_bounded_and_end_with_doubts() -> None:
    files, seen = ["/e/a.jsonl", "/e/b.jsonl", "/e/c.jsonl"], list[Doubts]()
    noted: list[Doubts] = []
    with limited(max_file_attempts=3):
        attempts = Attempts(files, None, on_doubt=noted.append, pause=lambda seconds: None)  # type: ignore[arg-type]
        found = attempts.run(failing(files, {"/e/b.jsonl": 1, "/e/c.jsonl": 2}, seen))
    assert found.whole == {"/e/b.jsonl", "/e/c.jsonl"}
    assert set(found.unreadable) == {"/e/c.jsonl"}
    assert len(seen) == 3 + 3 + 3 + 1
    assert noted[-1] == found


@pytest.mark.parametrize(
    "reason",
    [
        "Python worker exited unexpectedly",
        "while reading file file:///e/a.jsonl: No space left on device",
        "RuntimeError: /e/a.jsonl cannot be read: s3a://e/a.jsonl: no answer [storage-failed]",
    ],
)
def test_a_failure_that_is_no_fault_of_a_file_is_not_tried_again(reason: str) -> None:
    seen: list[Doubts] = []

    def attempt(doubts: Doubts) -> None:
        seen.append(doubts)
        raise Failure(reason)

    with pytest.raises(Failure):
        Attempts(["/e/a.jsonl"], None, pause=lambda seconds: None).run(attempt)  # type: ignore[arg-type]
    assert len(seen) == 1


def test_a_stream_goes_on_after_a_worker_died_but_not_for_ever() -> None:
    seen: list[Doubts] = []
    deaths = 1

    def attempt(doubts: Doubts) -> None:
        seen.append(doubts)
        if len(seen) <= deaths:
            raise Failure("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)")

    def attempts() -> Attempts:
        return Attempts(["/e/a.jsonl"], None, crashes=True, pause=lambda seconds: None)  # type: ignore[arg-type]

    attempts().run(attempt)
    assert seen == [NO_DOUBTS, NO_DOUBTS]
    seen, deaths = [], 100
    with pytest.raises(Failure):
        attempts().run(attempt)
    assert [len(one.whole) for one in seen] == [0, 0, 1]


def test_doubts_outlive_the_process(tmp_path: Path) -> None:
    doubts = Doubts(frozenset({"/e/a.parquet"}), {"/e/b.avro": "broken"})
    DoubtNotes(tmp_path).note(7, doubts)
    assert DoubtNotes(tmp_path).doubts(7) == doubts
    assert DoubtNotes(tmp_path).doubts(8) == NO_DOUBTS
    DoubtNotes(tmp_path).forget(7)
    assert DoubtNotes(tmp_path).doubts(7) == doubts
    DoubtNotes(tmp_path).forget(8)
    assert DoubtNotes(tmp_path).doubts(7) == NO_DOUBTS


def test_a_file_is_not_blamed_for_another_whose_path_holds_its_own() -> None:
    files = ["/e/a.jsonl", "/e/a.jsonl.gz", "/f/e/a.jsonl"]
    noted: list[Doubts] = []

    def attempt(doubts: Doubts) -> None:
        if doubts is NO_DOUBTS:
            raise Py4JError("file:///e/a.jsonl.gz cannot be read: it is broken.")

    Attempts(files, None, on_doubt=noted.append, pause=lambda seconds: None).run(attempt)  # type: ignore[arg-type]
    assert [one.whole for one in noted] == [{"/e/a.jsonl.gz"}]
