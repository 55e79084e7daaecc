"""Traces and reports in short: `A1 . B1` is an A at second 0 and a B at second 2, `A1 B1 @2` a report of both at 2.

`A1+B1` are of one time, `A1(x=5, room='attic')` has attributes. A report lists its events in the order of the operands,
`{A1 A2}` is a list, and a report without events is its interval, `0–3`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import yaml

from comity.engine.detect import Detection
from comity.engine.pattern_stream import decoder
from comity.event.event import Event
from comity.pattern.bank import Bank
from comity.pattern.bound import BoundPattern
from comity.pattern.detector import Detector
from comity.pattern.extract import Extraction, one_by_one
from comity.pattern.occurrence import microseconds
from comity.pattern.reference.reports import reports
from comity.pattern.rows import ReportRow, found_reports
from comity.pattern.tree import bound_operands
from comity.profile.blocks import parse_composite

START = datetime(2026, 5, 1, 10, tzinfo=UTC)
WORKED = "A1 B1 C1 B2 A2 D1 E1 F1 D2 B3 G1 D3"
"""The trace of the worked table."""

_EVENT = re.compile(r"(?P<id>(?P<type>[A-Za-z]+)\d+)(?:\((?P<data>[^)]*)\))?")


def trace(text: str) -> list[Event]:
    """The events of a text.

    >>> [(event.id, event.data) for event in trace("A1 . B1(x=5)")]
    [('A1', {}), ('B1', {'x': 5})]
    """
    found = []
    for second, together in enumerate(re.split(r"\s+(?![^(]*\))", text.strip())):
        for one in together.split("+") if together != "." else ():
            event = _EVENT.fullmatch(one)
            assert event, f"{one} is no event"
            time = START + timedelta(seconds=second)
            found.append(Event(event["id"], "/letters", event["type"], time, _data(event["data"] or "")))
    return found


def _data(text: str) -> dict[str, Any]:
    return {name: yaml.safe_load(value) for name, _, value in (item.strip().partition("=") for item in _items(text))}


def _items(text: str) -> list[str]:
    return [item for item in text.split(",") if item.strip()]


def profile(text: str, name: str = "p") -> BoundPattern:
    """The profile whose text, from the pattern on, is given."""
    return parse_composite(f"profile {name}\non {text}")[1].bind(name)


def every_way(bound: BoundPattern, events: Sequence[Event]) -> Iterator[list[str]]:
    """The reports in short: of the reference, the detector, the engine, stored and live, and compiled code."""
    names = [operand.name for operand in bound_operands(bound.pattern)]
    yield _in_short((report.as_dict() for report in reports(bound, events)), names)
    detector = Detector([bound])
    detector.take(reversed(events))
    yield _in_short((report.as_dict() for _, report in detector.finish()), names)
    yield _in_short((msgspec.json.decode(one.as_json()) for one in Detection([bound]).over_stored(events)), names)
    # None says that nothing came for a moment, at which a stream reports what is decided.
    live = [record for event in events for record in (event, None)]
    yield _in_short((msgspec.json.decode(one.as_json()) for one in Detection([bound]).over_stream(live, 0)), names)
    yield _in_short((msgspec.json.decode(one.as_json()) for one in _compiled(bound, events)), names)


def _compiled(bound: BoundPattern, events: Sequence[Event]) -> Iterator[ReportRow]:
    """The reports of compiled code, if the pattern is one for it."""
    bank = Bank([bound], [decoder(None)])
    extraction = Extraction(bank, one_by_one(bank))
    for event in events:
        extraction.take(event)
    found, _ = bank.detect(extraction.table(), start=extraction.earliest, last=extraction.latest)
    return found_reports(found, bank.patterns)


def _in_short(found: Iterable[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    ordered = sorted(found, key=lambda one: (one["end"], one["start"], msgspec.json.encode(one["events"])))
    return sorted((_short(one, names) for one in ordered), key=_end)


def _end(short: str) -> tuple[float, str]:
    return float(re.split("[@–]", short)[-1]), short


def _short(report: Mapping[str, Any], names: Sequence[str]) -> str:
    start, end = (_second(report[name]) for name in ("start", "end"))
    found = [report["events"][name] for name in names if name in report["events"]]
    if not found:
        return f"{start}–{end}"
    return f"{' '.join('{' + ' '.join(one) + '}' if isinstance(one, list) else one for one in found)} @{end}"


def _second(moment: str) -> str:
    passed = microseconds(datetime.fromisoformat(moment)) - microseconds(START)
    return f"{passed / 1_000_000:g}"


RULES = """\
rule rule1
onEvent HeatEvent h1;

rule rule2
onEvent StockExchangeEvent s1;

rule rule3
onEvent HeatEvent h1;
where h1.value > 25;

rule rule4
onEvent HeatEvent h1;
where (h1.value > 25 and
                       h1.value < 37);

rule rule5
onEvent Temperature t1,
           Humidity h1
where (t1.value < 27 and
       h1.value < 70)

rule rule6
onEvent HeatEvent h1, HeatEvent h2,
           LightEvent l1;
where
  (h1.value > h2.value + 5)
  and (h1.time > h2.time+5000)
  and l1.lightvalue > 3000);
"""
"""The six rules of RUBCES, as they are printed."""
