"""Comity's own side of `detect`: the workload as columns, files and profiles, and the detector over it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa

from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, AttributeType, EventType
from comity.match.operands import OperandMatcher
from comity.pattern.bank import Bank, BankState
from comity.pattern.bound import BoundPattern
from comity.profile.blocks import parse_composite

from workload_detect import PATTERNS, STEPS, TYPES, Events, draw_profiles  # isort: skip

NAMESPACE = "bench"
_ATTRIBUTES = {"key": AttributeType(Kind.STRING), "value": AttributeType(Kind.FLOAT)}
TAXONOMY = Taxonomy(
    NAMESPACE, [EventType(f"T{number}", NAMESPACE, parent=EVENT, own=_ATTRIBUTES) for number in range(TYPES)]
)
_BLOCK = 100_000


@dataclass(frozen=True)
class Run:
    """What one run took and found."""

    events: int
    seconds: float
    cpu_seconds: float
    matches: int
    kept: int = 0
    """Events that the state holds at the end, or at its largest."""
    state_bytes: int = 0

    @property
    def events_per_s(self) -> float:
        return self.events / self.seconds

    @property
    def events_per_cpu_s(self) -> float:
        return self.events / self.cpu_seconds


def profile_text(name: str, pattern: str, window_ms: int, condition: str = "") -> str:
    """A profile whose operands all have one key."""
    operands = re.findall(r"T\d+ (\w+)", pattern)
    same_key = [f"{a}.key = {b}.key" for a, b in pairwise(operands)]
    where = " and ".join([*same_key, condition] if condition else same_key)
    return f"profile {name}\non {pattern} within {window_ms} ms\nwhere {where}\n"


def texts_of(workload: str, events: Events, profiles: int = 1, steps: int = STEPS) -> list[str]:
    """The profiles of a workload in Comity's text form."""
    if workload != "many":
        return [profile_text(workload, PATTERNS[workload], events.window_ms(steps))]
    return [
        profile_text(
            f"p{number}",
            f"T{one.first} a ; T{one.second} b",
            events.window_ms(one.steps),
            f"a.value >= {one.low} and a.value < {one.high}",
        )
        for number, one in enumerate(draw_profiles(profiles))
    ]


def bound(texts: list[str]) -> list[BoundPattern]:
    found = [parse_composite(text) for text in texts]
    return [composite.bind(name, TAXONOMY) for name, composite in found]


@dataclass(frozen=True)
class Columns:
    """The events in blocks, each by type, as the scanner of lines gives them."""

    events: Events
    blocks: list[list[tuple[EventType, pa.RecordBatch]]]

    @classmethod
    def of(cls, events: Events) -> Columns:
        keys = pa.array([f"k{number}" for number in range(events.key_count)]).take(pa.array(events.keys))
        ids = pa.array(np.arange(len(events))).cast(pa.string())
        source = pa.array(["bench"])
        blocks = []
        for begin in range(0, len(events), _BLOCK):
            types = events.types[begin : begin + _BLOCK]
            block = []
            for number in range(TYPES):
                rows = begin + np.flatnonzero(types == number)
                taken = pa.array(rows)
                columns = {
                    "event.id": ids.take(taken),
                    "event.source": source.take(pa.array(np.zeros(len(rows), np.int64))),
                    "event.time": pa.array(events.times_ms[rows] * 1000),
                    "key": keys.take(taken),
                    "value": pa.array(events.values[rows]),
                }
                block.append((TAXONOMY.types[number], pa.RecordBatch.from_pydict(columns)))
            blocks.append(block)
        return cls(events, blocks)


def run_in_process(columns: Columns, patterns: list[BoundPattern]) -> Run:
    """Stored events: all candidates, then all reports."""
    started, cpu = perf_counter(), process_time()
    bank = Bank(patterns)
    candidates = pa.concat_tables(list(_candidates(columns, bank)))
    found, _ = bank.detect(candidates)
    return Run(len(columns.events), perf_counter() - started, process_time() - cpu, found.num_rows)


def _candidates(columns: Columns, bank: Bank) -> Iterator[pa.Table]:
    matchers = {one.qualified_name: OperandMatcher(bank, one) for one in TAXONOMY.types}
    for block in columns.blocks:
        for type, batch in block:
            yield matchers[type.qualified_name].candidates(batch)


def run_in_batches(columns: Columns, patterns: list[BoundPattern]) -> Run:
    """The same block by block, with the state handed on; each block completes the time before its last event."""
    started, cpu = perf_counter(), process_time()
    bank, state, done = Bank(patterns), BankState(), None
    matchers = {one.qualified_name: OperandMatcher(bank, one) for one in TAXONOMY.types}
    matches = kept = size = 0
    for number, block in enumerate(columns.blocks):
        candidates = pa.concat_tables([matchers[type.qualified_name].candidates(batch) for type, batch in block])
        upto = int(columns.events.times_ms[min((number + 1) * _BLOCK, len(columns.events)) - 1]) * 1000
        is_last = number == len(columns.blocks) - 1
        found, state = bank.detect(candidates, state, done=done, upto=None if is_last else upto)
        matches, done = matches + found.num_rows, upto
        if not is_last:
            kept, size = max(kept, state.rows.num_rows), max(size, state.rows.nbytes)
    return Run(len(columns.events), perf_counter() - started, process_time() - cpu, matches, kept, size)


def write_lines(events: Events, folder: Path, files: int) -> list[Path]:
    """The events as files of JSON lines, in their order."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    bounds = np.linspace(0, len(events), files + 1).astype(int)
    for number, (begin, end) in enumerate(pairwise(bounds.tolist())):
        path = folder / f"{number:05d}.jsonl"
        with path.open("w", encoding="utf-8") as stream:
            times = np.datetime_as_string(events.times_ms[begin:end].astype("datetime64[ms]"), unit="ms")
            columns = (
                events.types[begin:end].tolist(),
                times,
                events.keys[begin:end].tolist(),
                events.values[begin:end],
            )
            for at, (kind, time, key, value) in enumerate(zip(*columns, strict=True), start=begin):
                stream.write(
                    f'{{"specversion":"1.0","id":"{at}","source":"bench","type":"{NAMESPACE}.T{kind}","time":"{time}Z",'
                    f'"data":{{"key":"k{key}","value":{float(value)!r}}}}}\n'
                )
        paths.append(path)
    return paths
