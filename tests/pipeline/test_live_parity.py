"""The live engine and Spark tell the same: generated federations, whose profiles change, in batches, with restarts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
import yaml
from pyspark.sql import SparkSession

from comity.connect.folder import LATE
from comity.engine.live import EnginePace, LiveEngine
from comity.engine.outcome import LateEvent
from comity.event.formats.jsonlines import decode, encode
from comity.federation.watch import WatchedFederation
from comity.limits import limited, limits
from comity.pipeline.stream import StreamRun
from comity.plan import Summary, compile_plan
from comity.run.live_stream import LiveStream
from comity.testing.composite_profiles import composite_profiles, texts_with_profiles
from comity.testing.federations import Texts, federation_texts, load_texts, write_texts
from comity.testing.outcomes import Outcome, outcomes_in, outcomes_of
from comity.testing.records import NOW, good_events, lines

pytestmark = pytest.mark.spark

NIGHTLY = os.environ.get("COMITY_PROFILE") == "nightly"
# In 4 all patterns go, and some with silences come back at a restart; in 391 some events fit on the second way only.
CASES, BATCHES = (range(30), 5) if NIGHTLY else ((4, 391), 3)
EVENTS, ODD = 40, 12
SUBSCRIBERS = ("plant", "house", "Plant", "office")


@dataclass(frozen=True)
class Batch:
    """Lines that come together, the federation as it is then, and whether everything was restarted before."""

    lines: tuple[bytes, ...]
    texts: Texts
    is_restarted: bool


@dataclass
class Told:
    """What came of all batches, and of the end; and what each batch says that it did."""

    outcomes: list[Outcome] = field(default_factory=list)
    late: set[str] = field(default_factory=set)
    summaries: list[Summary] = field(default_factory=list)


def script(chance: Random) -> list[Batch]:
    """Batches of events some seconds apart, out of order, some again, some broken, while profiles come and go."""
    texts = federation_texts(chance)
    simple = yaml.safe_load(texts["profiles"])["profiles"]
    profiles = {**simple, **composite_profiles(chance, texts, 8)}
    types = compile_plan(load_texts(texts)).types
    found = lines(chance, in_time(chance, good_events(chance, types, EVENTS)), types, ODD)
    cuts = sorted(chance.sample(range(1, len(found)), BATCHES - 1))
    batches: list[Batch] = []
    chosen = profiles
    for begin, end in zip([0, *cuts], [*cuts, len(found)], strict=True):
        if chance.random() < 0.6:
            share = chance.choice((0.0, 0.5, 0.8, 1.0))
            chosen = {name: profile for name, profile in profiles.items() if chance.random() < share}
        batches.append(Batch(tuple(found[begin:end]), texts_with_profiles(texts, chosen), chance.random() < 0.4))
    return batches


def in_time(chance: Random, events: Sequence[Any]) -> list[Any]:
    """The events with times from a quarter of an hour ago on, in the order in which they come; repeats stay such."""
    disorder, times = chance.choice((0, 40, 400)), {}
    for number, event in enumerate(events):
        seconds = 20 * number - chance.randint(0, disorder) - 900
        times.setdefault(event.identity, NOW + timedelta(seconds=seconds, microseconds=chance.choice((0, 0, 1))))
    return [msgspec.structs.replace(event, time=times[event.identity]) for event in events]


def by_engine(batches: Sequence[Batch]) -> Told:
    """What a live engine says, which is told the time with each push and goes on from its snapshot."""
    pace = EnginePace(timedelta(seconds=limits().late_after_s), timedelta(days=limits().max_age_days))
    told, found = Told(), []
    engine: LiveEngine | None = None
    for batch in batches:
        plan = compile_plan(load_texts(batch.texts))
        if engine is None:
            engine = LiveEngine(plan, pace)
        elif batch.is_restarted:
            engine = LiveEngine.restore(plan, engine.snapshot(), pace)
        else:
            engine.change(plan)
        found += engine.push_all([line for line in batch.lines if line.strip()], NOW)
    assert engine is not None
    found += engine.finish()
    told.late = {_text(one.event) for one in found if isinstance(one, LateEvent)}
    told.outcomes = outcomes_of(one for one in found if not isinstance(one, LateEvent))
    return told


def _text(event: Any) -> str:
    return encode(event).decode()


def by_live_stream(batches: Sequence[Batch], folder: Path) -> Told:
    """What a stream in this process says."""
    told, out = Told(), folder / "live"
    federation = WatchedFederation(write_texts(batches[0].texts, folder / "federation"))
    take = told.summaries.append

    def opened() -> LiveStream:
        return LiveStream(federation, out, [], on_batch=lambda _, summary: take(summary), clock=lambda: NOW)

    stream = opened()
    for batch, file in zip(batches, written(batches, folder), strict=True):
        write_texts(batch.texts, folder / "federation")
        if batch.is_restarted:
            stream.close()
            stream = opened()
        stream.take_next([str(file)])
    with closing(stream):
        stream.finish()
    return read(told, out)


def by_spark(spark: SparkSession, batches: Sequence[Batch], folder: Path) -> Told:
    """What a stream on Spark says."""
    told, out = Told(), folder / "spark"
    federation = WatchedFederation(write_texts(batches[0].texts, folder / "federation"))
    take = told.summaries.append

    def opened() -> StreamRun:
        return StreamRun(federation, out=out, on_batch=lambda _, summary: take(summary), clock=lambda: NOW)

    stream = opened()
    for number, (batch, file) in enumerate(zip(batches, written(batches, folder), strict=True)):
        write_texts(batch.texts, folder / "federation")
        if batch.is_restarted:
            stream.close()
            stream = opened()
        stream.take_batch(spark, [str(file)], number)
    with closing(stream):
        stream.finish(spark)
    return read(told, out)


def written(batches: Sequence[Batch], folder: Path) -> Iterator[Path]:
    """The lines of each batch in a file."""
    events = folder / "events"
    events.mkdir(exist_ok=True)
    for number, batch in enumerate(batches):
        path = events / f"{number}.jsonl"
        path.write_bytes(b"".join(line + b"\n" for line in batch.lines))
        yield path


def read(told: Told, out: Path) -> Told:
    """The same, with what is in a results folder."""
    told.outcomes = outcomes_in(out, SUBSCRIBERS)
    late = (line for file in (out / LATE).glob("*.jsonl") for line in file.read_bytes().splitlines())
    told.late = {_text(decode(line, None)) for line in late}
    return told


def figures(summaries: Sequence[Summary]) -> list[Any]:
    """What summaries say that does not depend on who did it."""
    return [
        (one.records, one.rejected, one.delivered, one.late, one.matched, one.rejected_by_code) for one in summaries
    ]


@pytest.fixture(autouse=True)
def bounds() -> Iterator[None]:
    """Lines that are too long need not be very long, and nobody writes to federations meanwhile."""
    with limited(max_record_bytes=20_000, federation_settle_ms=1):
        yield


@pytest.mark.parametrize("seed", CASES)
def test_the_live_engine_and_spark_tell_the_same(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    with limited(late_after_s=chance.choice((60, 300, 3_600))):
        batches = script(chance)
        live, local, distributed = (
            by_engine(batches),
            by_live_stream(batches, tmp_path),
            by_spark(spark, batches, tmp_path),
        )
    assert local.outcomes == live.outcomes
    assert distributed.outcomes == live.outcomes
    assert local.late == live.late == distributed.late
    assert figures(local.summaries) == figures(distributed.summaries)
