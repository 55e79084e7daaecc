"""Streams in this process: what stored events give, however they are cut, whenever the process dies."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.engine.houses import BEGIN, COMPOSITES, SIMPLE, houses, some_lines
from tests.pipeline.test_poison_files import delivered, poison, refused
from tests.pipeline.test_stream_folder import EXAMPLE, write_as

from comity.connect.folder import LATE, REJECTED, Results
from comity.engine import run
from comity.errors import Misuse
from comity.event import read_events
from comity.event.formats.table import FORMATS
from comity.federation import load
from comity.federation.watch import WatchedFederation
from comity.limits import limited
from comity.plan import Summary, compile_plan
from comity.run.live_stream import LiveStream
from comity.testing.outcomes import outcomes_in, outcomes_of, told_in

LATER = datetime(2026, 11, 11, tzinfo=UTC)
"""When events of the example are there."""
NAMES = [*SIMPLE, *COMPOSITES]
NOW = BEGIN + timedelta(hours=1)


@pytest.fixture(autouse=True)
def short_lateness() -> Iterator[None]:
    with limited(late_after_s=120, federation_settle_ms=1):
        yield


@pytest.fixture
def federation(tmp_path: Path) -> Path:
    return houses(tmp_path / "federation", NAMES)


def write(folder: Path, name: str, lines: list[bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    os.utime(path, (0, int(name.partition(".")[0])))
    return path


def cut(chance: Random, lines: list[bytes], folder: Path) -> None:
    """The lines as files that are read one after the other."""
    at = number = 0
    while at < len(lines):
        size = chance.randint(1, 6)
        write(folder, f"{number}.jsonl", lines[at : at + size])
        at, number = at + size, number + 1


def stream_of(federation: Path, out: Path, events: Path, **given: Any) -> LiveStream:
    given = {"clock": lambda: NOW, "files_per_batch": 2, **given}
    return LiveStream(WatchedFederation(federation), out, [events], **given)


def read_all(stream: LiveStream) -> None:
    waiting = stream.new_files()
    while waiting:
        waiting = stream.take_next(waiting)
    stream.finish()


def stored(federation: Path, events: Path) -> list[Any]:
    """What a run over all of the files gives."""
    found = load(federation)
    files = sorted(events.iterdir(), key=lambda file: int(file.stem))
    records = (one for file in files for one in read_events(file, found.find_type, require_time=True))
    return outcomes_of(run(compile_plan(found), records))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("results", [Results.JSONL, Results.PARQUET])
def test_a_stream_gives_what_stored_events_give_however_it_is_cut(
    tmp_path: Path, federation: Path, seed: int, results: Results
) -> None:
    chance, out, events = Random(seed), tmp_path / "out", tmp_path / "events"
    lines = some_lines(chance, 40, 60)
    begin = 0
    for end in (10, 25, len(lines)):
        for number, line in enumerate(lines[begin:end], start=begin):
            write(events, f"{number}.jsonl", [line])
        begin = end
        with closing(stream_of(federation, out, events, results=results)) as stream:
            waiting = stream.new_files()
            while waiting:
                waiting = stream.take_next(waiting)
            if end == len(lines):
                stream.finish()
    assert outcomes_in(out, ["fire_station", "house_a"]) == stored(federation, events)


def test_a_stream_that_goes_on_after_its_end_tells_nothing_again(tmp_path: Path, federation: Path) -> None:
    out, events = tmp_path / "out", tmp_path / "events"
    lines = some_lines(Random(3), 30, 0)
    for number, part in enumerate((lines[:20], lines[20:])):
        write(events, f"{number}.jsonl", part)
        with closing(stream_of(federation, out, events)) as stream:
            read_all(stream)
            read_all(stream)
    told = list(told_in(out, ["fire_station", "house_a"]))
    assert len(told) == len(set(told))
    assert set(stored(federation, events)) <= {*told, *((REJECTED, line) for _, line in stored(federation, events))}


def test_every_format_is_read_and_what_is_none_is_told(tmp_path: Path) -> None:
    out, events = tmp_path / "out", tmp_path / "events"
    events.mkdir()
    for number, format in enumerate(FORMATS):
        write_as(events, format, number)
    (events / "notes.json").write_text("{}")
    unknown: list[str] = []
    given = {"clock": lambda: LATER, "on_unknown": lambda files: unknown.extend(map(str, files))}
    with closing(stream_of(EXAMPLE, out, events, **given)) as stream:
        read_all(stream)
    assert delivered(out) == [str(number) for number in range(len(FORMATS))]
    assert refused(out) == {}
    assert unknown == [str(events / "notes.json")]


def test_a_file_that_cannot_be_read_goes_to_quarantine_and_costs_itself_only(tmp_path: Path) -> None:
    out, events, told = tmp_path / "out", tmp_path / "events", list[str]()
    codes = poison(events)
    given = {"clock": lambda: LATER, "on_set_aside": lambda one: told.append(Path(one.file).name)}
    with closing(stream_of(EXAMPLE, out, events, **given)) as stream:
        read_all(stream)
    assert delivered(out) == ["a", "g", "z"]
    assert refused(out) == codes
    assert sorted(told) == sorted(codes)
    notes = [json.loads(path.read_text()) for path in (out / "quarantine").glob("[0-9]*.json")]
    assert {Path(one["file"]).name: one["code"] for one in notes} == codes
    assert all((out / "quarantine" / one["kept"]).read_bytes() == Path(one["file"]).read_bytes() for one in notes)


OPERATIONS = ("fsync", "replace", "rename", "unlink")


def crash_after(count: int) -> None:
    """This process dies when it has done so much to the disk."""
    left = [count]

    def dying(do: Callable[..., Any]) -> Callable[..., Any]:
        def done(*given: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] <= 0:
                os._exit(9)
            return do(*given, **named)

        return done

    for name in OPERATIONS:
        setattr(os, name, dying(getattr(os, name)))


def in_a_child(work: Callable[[], None]) -> int:
    """How another process ended that does the work."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("seed", range(3))
def test_a_stream_that_is_killed_anywhere_loses_and_repeats_nothing(
    tmp_path: Path, federation: Path, seed: int
) -> None:
    chance, out, events = Random(seed), tmp_path / "out", tmp_path / "events"
    cut(chance, some_lines(chance, 30, 60), events)
    ends = []
    for _ in range(20):
        count = chance.randint(1, 14)

        def work(count: int = count) -> None:
            crash_after(count)
            stream = stream_of(federation, out, events, files_per_batch=1)
            waiting = stream.new_files()
            while waiting:
                waiting = stream.take_next(waiting)

        ends.append(in_a_child(work))
    assert 1 not in ends
    assert ends.count(9) >= 5
    with closing(stream_of(federation, out, events)) as stream:
        read_all(stream)
    assert outcomes_in(out, ["fire_station", "house_a"]) == stored(federation, events)


def test_files_that_landed_are_removed_when_their_batch_counts(tmp_path: Path, federation: Path) -> None:
    out, landed = tmp_path / "out", tmp_path / "landed"
    kept = write(landed, "0.jsonl", some_lines(Random(1), 5, 0))
    with closing(stream_of(federation, out, tmp_path, landed=[landed])) as stream:
        read_all(stream)
        assert not kept.exists()
        assert stream.new_files() == []
        write(tmp_path / "landed", "1.jsonl", some_lines(Random(2), 5, 0))
        read_all(stream)
        assert stream.delivered.notes("live file ").keys() == {str(landed / "1.jsonl")}  # no more than there are


def test_a_stream_takes_up_changes_of_the_federation(tmp_path: Path, federation: Path) -> None:
    out, events = tmp_path / "out", tmp_path / "events"
    lines = some_lines(Random(4), 20, 0)
    done: list[Summary] = []
    with closing(stream_of(federation, out, events, on_batch=lambda number, summary: done.append(summary))) as stream:
        write(events, "0.jsonl", lines[:10])
        stream.take_next(stream.new_files())
        (federation / "profiles" / "more.yaml").write_text("profiles: {}\n")
        write(events, "1.jsonl", lines[10:])
        stream.take_next(stream.new_files())
    assert set(done[0].delivered) - set(done[1].delivered) == set(NAMES)


def test_time_goes_on_while_nothing_comes(tmp_path: Path, federation: Path) -> None:
    out, events = tmp_path / "out", tmp_path / "events"
    seconds = [0.0]
    leak = {"id": "1", "source": "/a", "type": "house_a.WaterLeak", "data": {"room": "hall", "litres": 1.0}}
    write(events, "0.jsonl", [json.dumps({**leak, "time": BEGIN.isoformat()}).encode()])
    done: list[Summary] = []
    with closing(
        stream_of(
            federation,
            out,
            events,
            timer=lambda: seconds[0],
            on_batch=lambda number, summary: done.append(summary),
        )
    ) as stream:
        stream.take_next(stream.new_files())
        for seconds[0] in (0.0, 300.0, 361.0):
            stream.idle()
    assert [summary.delivered["quiet"] for summary in done] == [0, 1]  # four minutes, and two of lateness


def test_late_events_are_kept_apart_and_counted(tmp_path: Path, federation: Path) -> None:
    out, events = tmp_path / "out", tmp_path / "events"

    def leak(number: int, time: datetime) -> bytes:
        data = {"room": "hall", "litres": 1.0}
        record = {"id": str(number), "source": "/a", "type": "house_a.WaterLeak", "data": data}
        return json.dumps({**record, "time": time.isoformat()}).encode()

    done: list[Summary] = []
    with closing(stream_of(federation, out, events, on_batch=lambda number, summary: done.append(summary))) as stream:
        for number, minutes in enumerate((10, 1)):
            write(events, f"{number}.jsonl", [leak(number, BEGIN + timedelta(minutes=minutes))])
            stream.take_next(stream.new_files())
    assert [summary.late for summary in done] == [0, 1]
    (late,) = (out / LATE).glob("*.jsonl")
    assert json.loads(late.read_bytes())["id"] == "1"
    assert done[1].delivered["leaks"] == 1  # to simple profiles it goes like any other


def test_a_folder_of_a_stream_on_spark_is_refused(tmp_path: Path, federation: Path) -> None:
    (tmp_path / "out" / ".checkpoint").mkdir(parents=True)
    with pytest.raises(Misuse) as error:
        stream_of(federation, tmp_path / "out", tmp_path)
    assert error.value.code == "other-engine"
