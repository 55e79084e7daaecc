"""Patterns on a stream: what the reference reports of what came in time, across batch cuts, restarts and kills."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession
from tests.pattern.cases import PROFILES, drawn
from tests.pipeline.test_detect import TAXONOMY, typed, write

from comity.errors import Misuse
from comity.event.event import Event
from comity.event.formats.jsonlines import decode
from comity.event.taxonomy import Taxonomy
from comity.pattern.bound import BoundPattern
from comity.pattern.bounds import unbounded
from comity.pattern.occurrence import microseconds
from comity.pattern.reference.reports import reports
from comity.pipeline.detect.state import PatternStates
from comity.pipeline.detect.stream import DetectStream
from comity.plan.stages import Summary
from comity.profile.blocks import parse_composite
from comity.testing.patterns import SECOND, START, composites, traces

pytestmark = pytest.mark.spark

NIGHTLY = os.environ.get("COMITY_PROFILE") == "nightly"
CASES = range(200) if NIGHTLY else range(4)
KILLS = 20 if NIGHTLY else 2


def event(id: str, type: str, at_s: float, **data: int) -> Event:
    return Event(id, "/s", type, START + timedelta(seconds=at_s), dict(data))


def micros(one: Event) -> int:
    assert one.time is not None
    return microseconds(one.time)


@dataclass
class Told:
    """What a stream must tell, batch by batch, by the reference."""

    lateness_us: int
    in_time: list[Event] = field(default_factory=list)
    late: list[Event] = field(default_factory=list)
    watermark: int | None = None

    def take(self, batch: Sequence[Event]) -> None:
        late = [one for one in batch if self.watermark is not None and micros(one) < self.watermark]
        self.late += late
        self.in_time += [one for one in batch if one not in late]
        if self.in_time:
            self.watermark = max(map(micros, self.in_time)) - self.lateness_us

    def reports(self, patterns: Sequence[BoundPattern]) -> list[str]:
        if self.watermark is None:
            return []
        start = min(map(micros, self.in_time))
        until = self.watermark - 1
        return sorted({one.id for each in patterns for one in reports(each, self.in_time, start=start, until=until)})


def reported(out: Path) -> list[str]:
    lines = [line for file in (out / "reports").glob("*.jsonl") for line in file.read_text().splitlines()]
    return sorted(json.loads(line)["id"] for line in lines)


def late_in(out: Path) -> list[str]:
    lines = [line for file in (out / "late").glob("*.jsonl") for line in file.read_bytes().splitlines()]
    found = [decode(line, None) for line in lines]
    return sorted(f"{one.id} {one.time}" for one in found if isinstance(one, Event))


def bounded_profiles(number: int, taxonomy: Taxonomy | None) -> list[BoundPattern]:
    found = [one.bind(f"p{at}", taxonomy) for at, one in enumerate(drawn(composites(), 2 * PROFILES, number))]
    endless = {one.name for one in unbounded(found)}
    return [one for one in found if one.name not in endless][:PROFILES]


def cut(events: list[Event], chance: Random) -> list[list[Event]]:
    """Batches; late events are those that chance has put behind later ones."""
    cuts = sorted(chance.sample(range(len(events) + 1), chance.randint(2, 4)))
    return [events[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(events)], strict=True)]


@pytest.mark.parametrize("number", CASES)
def test_a_stream_reports_what_the_reference_does(spark: SparkSession, tmp_path: Path, number: int) -> None:
    """In batches, some of them taken twice, by one object after the other."""
    chance = Random(number)
    taxonomy = TAXONOMY if number % 3 == 2 else None
    patterns = bounded_profiles(1_000 + number, taxonomy)
    trace = max(drawn(traces(min_size=6), 20, number), key=len)
    trace = trace if taxonomy is None else typed(trace)
    trace.sort(key=lambda one: micros(one) + chance.randint(0, 4) * SECOND)  # a little out of order
    told = Told(chance.choice((0, 1, 3)) * SECOND)
    buckets, compiled = chance.choice((1, 2, 5)), number % 3 == 0
    batches = [*cut(trace, chance), [event("end", "t.E" if taxonomy else "E", 40)], []]
    for at, batch in enumerate(batches):
        file = write(tmp_path / f"{at}.jsonl", batch, *[b"{broken"] * (at % 2))
        told.take(batch)
        chance.shuffle(patterns)
        for _ in range(chance.choice((1, 1, 2))):
            stream = DetectStream(
                lambda: patterns,
                out=tmp_path / "out",
                lateness_us=told.lateness_us,
                taxonomy=taxonomy,
                buckets=buckets,
                compiled=compiled,
            )
            stream.take_batch(spark, [str(file)], at)
            stream.close()
    assert reported(tmp_path / "out") == told.reports(patterns)
    wanted = [one for one in told.late if any(test(one) for each in patterns for test in each.tests.values())]
    assert late_in(tmp_path / "out") == sorted(f"{one.id} {one.time}" for one in wanted)


def bound(text: str) -> BoundPattern:
    name, composite = parse_composite(text)
    return composite.bind(name)


PAIR = "profile pair\non A a ; B b within 10 s\nwhere a.k = b.k"
UNANSWERED = "profile unanswered\non A a ; not B b within 5 s\nwhere a.k = b.k"
SILENT = "profile silent\non not A a within 5 s"


def take(spark: SparkSession, out: Path, number: int, texts: Sequence[str], *events: Event) -> Summary:
    found: list[Summary] = []
    patterns = [bound(text) for text in texts]
    stream = DetectStream(
        lambda: patterns, out=out, lateness_us=0, on_batch=lambda _, summary: found.append(summary), compiled=False
    )
    stream.take_batch(spark, [str(write(out.parent / f"{number}.jsonl", events))], number)
    stream.close()
    return found[-1]


def test_patterns_come_and_go_while_the_stream_runs(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    take(spark, out, 0, [PAIR], event("a1", "A", 0, k=1))
    both = take(spark, out, 1, [UNANSWERED, PAIR], event("b1", "B", 2, k=1), event("a2", "A", 3, k=2))
    assert both.delivered == {"pair": 1, "unanswered": 0}
    later = take(spark, out, 2, [UNANSWERED, PAIR], event("x", "E", 20))
    assert later.delivered == {"pair": 0, "unanswered": 1}
    take(spark, out, 3, [UNANSWERED], event("a3", "A", 21, k=1))
    again = take(spark, out, 4, [UNANSWERED, PAIR], event("b3", "B", 22, k=1), event("x", "E", 40))
    assert again.delivered == {"pair": 0, "unanswered": 0}  # when a3 came, nobody asked for pairs
    assert take(spark, out, 5, [UNANSWERED, PAIR], event("y", "E", 60)).delivered == {"pair": 0, "unanswered": 0}


def test_a_silence_that_is_asked_for_later_starts_then(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    take(spark, out, 0, [PAIR], event("a1", "A", 0, k=1))
    take(spark, out, 1, [PAIR], event("x1", "E", 100))
    assert take(spark, out, 2, [PAIR, SILENT], event("x2", "E", 103)).delivered == {"pair": 0, "silent": 0}
    assert take(spark, out, 3, [PAIR, SILENT], event("x3", "E", 111)).delivered == {"pair": 0, "silent": 2}


def end(spark: SparkSession, out: Path, texts: Sequence[str]) -> dict[str, int]:
    found: list[Summary] = []
    patterns = [bound(text) for text in texts]
    stream = DetectStream(
        lambda: patterns, out=out, lateness_us=0, on_end=lambda _, summary: found.append(summary), compiled=False
    )
    stream.finish(spark)
    stream.close()
    return dict(found[-1].delivered)


def test_a_stream_that_ends_reports_what_stored_events_do(spark: SparkSession, tmp_path: Path) -> None:
    out, texts = tmp_path / "out", [PAIR, UNANSWERED, SILENT]
    events = [event("a1", "A", 0, k=1), event("b1", "B", 2, k=1), event("a2", "A", 3, k=2), event("a3", "A", 4, k=3)]
    take(spark, out, 0, texts, *events[:2])
    take(spark, out, 1, texts, *events[2:])
    end(spark, out, texts)
    patterns = [bound(text) for text in texts]
    start = min(map(micros, events))
    assert reported(out) == sorted({one.id for each in patterns for one in reports(each, events, start=start)})


def test_a_stream_that_goes_on_after_its_end_reports_nothing_twice(spark: SparkSession, tmp_path: Path) -> None:
    out, texts = tmp_path / "out", [PAIR, UNANSWERED]
    take(spark, out, 0, texts, event("a1", "A", 0, k=1), event("a2", "A", 1, k=2))
    assert end(spark, out, texts) == {"unanswered": 2}
    assert end(spark, out, texts) == {"unanswered": 2}  # again, after a crash: in the place of the first
    assert len(reported(out)) == 2
    going_on = take(spark, out, 1, texts, event("b1", "B", 3, k=1), event("x", "E", 60))
    assert going_on.delivered == {"pair": 1, "unanswered": 0}  # a1 was answered after all, a2 was reported before
    assert end(spark, out, texts) == {}
    assert len(reported(out)) == 3


def test_an_end_that_was_cut_off_is_published_before_the_next_batch(spark: SparkSession, tmp_path: Path) -> None:
    out, events = tmp_path / "out", tmp_path / "events"
    events.mkdir()
    write(events / "0.jsonl", [event("a1", "A", 0, k=1)])

    def stream_of() -> DetectStream:
        return DetectStream(lambda: [bound(UNANSWERED)], out=out, lateness_us=0, compiled=False)

    stream = stream_of()
    stream.start(spark, [events], trigger_s=0, until_empty=True, files_per_batch=1).awaitTermination()
    stream.finish(spark)
    stream.close()
    (published,) = (out / "reports").glob("*-end-*")
    published.unlink()
    states = PatternStates(out / ".patterns")
    states.save_ends(replace(states.ends, unpublished=0))  # so it is when it is killed between note and name
    write(events / "1.jsonl", [event("x", "E", 60)])
    stream = stream_of()
    stream.start(spark, [events], trigger_s=0, until_empty=True, files_per_batch=1).awaitTermination()
    stream.close()
    assert len(reported(out)) == 1
    assert states.ends.unpublished is None


EARLIER = Path(__file__).parent / "data" / "patterns_before_commits"
"""A results folder after the first two batches below and an end, as version 0.2 left it: state in files by the number
of the batch alone, and the identities of what was told at the end in the note itself."""
OF_EARLIER = [
    [event("a1", "A", 0, k=1), event("a2", "A", 1, k=2)],
    [event("b1", "B", 2, k=1), event("a3", "A", 3, k=3)],
    [event("b2", "B", 4, k=2), event("x", "E", 60)],
]


def test_a_stream_goes_on_from_what_an_earlier_version_kept(spark: SparkSession, tmp_path: Path) -> None:
    out, texts = tmp_path / "out", [PAIR, UNANSWERED, SILENT]
    shutil.copytree(EARLIER, out)
    told_before = reported(out)
    take(spark, out, 2, texts, *OF_EARLIER[2])
    told = Told(0)
    for batch in OF_EARLIER:
        told.take(batch)
    wanted = told.reports([bound(text) for text in texts])
    assert set(reported(out)) == set(told_before) | set(wanted)
    assert len(reported(out)) == len(set(reported(out)))  # a3 was told at the end, and is not told again
    assert len(set(told_before) - set(wanted)) == 1  # a2 was unanswered when the stream ended
    assert take(spark, out, 3, texts, event("y", "E", 61)).delivered == {"pair": 0, "unanswered": 0, "silent": 0}


def test_late_events_are_counted_and_kept(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    take(spark, out, 0, [PAIR], event("a1", "A", 10, k=1))
    summary = take(spark, out, 1, [PAIR], event("a0", "A", 9, k=1), event("x", "E", 1), event("b", "B", 12, k=1))
    assert (summary.records, summary.late) == (3, 1)  # x is late, too, but nobody asks for such events
    assert [text.split()[0] for text in late_in(out)] == ["a0"]
    assert take(spark, out, 2, [PAIR], event("x", "E", 30)).delivered == {"pair": 1}


def test_what_is_kept_of_old_batches_is_removed(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for number in range(4):
        take(spark, out, number, [PAIR], event(f"a{number}", "A", number, k=number))
    notes = sorted(path.name for path in (out / ".patterns").glob("*.json"))
    assert notes == ["00000002.json", "00000003.json"]
    assert sorted(path.name for path in (out / ".patterns").iterdir() if path.is_dir()) == ["00000002", "00000003"]
    assert not list(out.glob(".work-*"))
    take(spark, out, 4, [PAIR], event("x", "E", 60))
    take(spark, out, 5, [PAIR], event("x", "E", 90))
    assert [path.name for path in (out / ".patterns").iterdir() if path.is_dir()] == []


def test_a_pattern_without_bounds_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    stream = DetectStream(lambda: [bound("profile endless\non A ; B")], out=tmp_path / "out", lateness_us=0)
    with pytest.raises(Misuse) as refused:
        stream.start(spark, [tmp_path], trigger_s=0, until_empty=True, files_per_batch=1)
    assert refused.value.code == "unbounded-pattern"


# Killed


def write_numbered(folder: Path, first: int, files: int) -> list[Event]:
    """Files of events with 20 keys, of which some pairs fall into two files."""
    found: list[Event] = []
    for number in range(first, first + files):
        chance = Random(number)
        events = [
            event(f"{number}-{at}", chance.choice("AB"), 5 * number + at / 10, k=chance.randint(0, 19))
            for at in range(50)
        ]
        partial = write(folder.parent / "partial", events)
        os.utime(partial, (1_000 + number, 1_000 + number))  # files come in the order of their times
        partial.rename(folder / f"{number:03d}.jsonl")
        found += events
    return found


PROGRAM = f"""
import sys
from pathlib import Path
from comity.profile.blocks import parse_composite
from comity.pipeline.detect.stream import DetectStream
from comity.pipeline.session import spark_session

texts = {[PAIR, UNANSWERED, SILENT]!r}
patterns = [composite.bind(name) for name, composite in map(parse_composite, texts)]
stream = DetectStream(
    lambda: patterns,
    out=Path(sys.argv[2]),
    lateness_us=2_000_000,
    on_batch=lambda number, _: print(number, flush=True),
)
spark = spark_session("local[2]", brief=True)
query = stream.start(spark, [Path(sys.argv[1])], trigger_s=0, until_empty=True, files_per_batch=1)
query.awaitTermination()
"""


@pytest.mark.slow
def test_a_stream_that_is_killed_reports_everything_once(tmp_path: Path) -> None:
    events, out, chance = tmp_path / "events", tmp_path / "out", Random(7)
    events.mkdir()
    told = Told(2_000_000)
    patterns = [bound(text) for text in (PAIR, UNANSWERED, SILENT)]
    for kill in range(KILLS + 1):
        for one in range(4):
            told.take(write_numbered(events, 4 * kill + one, 1))
        code, errors = run_disturbed(events, out, chance if kill < KILLS else None)
        assert code == (-signal.SIGKILL if kill < KILLS else 0), errors.decode()
    assert reported(out) == told.reports(patterns)
    assert len(reported(out)) > 10 * KILLS


def run_disturbed(events: Path, out: Path, chance: Random | None) -> tuple[int, bytes]:
    """Run the program, and kill it after a batch, in the middle of the next."""
    command = [sys.executable, "-c", PROGRAM, str(events), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as running:
        assert running.stdout is not None
        running.stdout.readline()
        if chance is not None:
            time.sleep(chance.uniform(0, 1.5))
            os.killpg(running.pid, signal.SIGKILL)
        _, errors = running.communicate(timeout=600)
    return running.returncode, errors
