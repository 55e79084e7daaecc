"""Reports told by compiled code are what they are told one by one."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from tests.pattern.cases import NIGHTLY, bound_profiles, one_trace
from tests.pattern.test_bank import decode_open

from comity.pattern.bank import Bank
from comity.pattern.extract import Extraction, one_by_one
from comity.pattern.rows import REPORTS, ReportRow
from comity.pattern.told import TOLD, lines_of, told_as
from comity.pattern.told_columns import columns_told
from comity.profile.blocks import parse_composite

CASES = range(200) if NIGHTLY else range(6)


def reports_of(number: int, bank: Bank) -> pa.Table:
    extraction = Extraction(bank, one_by_one(bank))
    for event in one_trace(number):
        extraction.take(event)
    return bank.detect(extraction.table(), start=extraction.earliest, last=extraction.latest)[0]


def by_id(told: pa.Table) -> dict[bytes, dict[str, object]]:
    return {row["id"]: row for row in told.to_pylist()}


@pytest.mark.parametrize("number", CASES)
def test_compiled_code_tells_reports_as_they_are(number: int) -> None:
    patterns = bound_profiles(number)
    reports = reports_of(number, Bank(patterns, [decode_open] * len(patterns), compiled=False))
    told = columns_told(reports, patterns)
    assert told is not None
    assert by_id(told) == by_id(told_as(reports, patterns, ReportRow.as_json))
    assert bytes(lines_of(told)) == b"".join(row["line"] for row in told.to_pylist())
    assert told.num_rows == reports.num_rows > 0


PATTERNS = [
    composite.bind(name)
    for name, composite in map(
        parse_composite,
        ("profile zähler\non A b ; B `a ä` within 10 s\nduplicates `a ä` collect", "profile plain\non A b ; B a"),
    )
]


def report(pattern: int, start: int, end: int, *events: tuple[int, str, str]) -> dict[str, object]:
    operands, sources, ids = zip(*events, strict=True)
    lines = [None] * len(events)
    named = {"operand": list(operands), "source": list(sources), "id": list(ids), "line": lines}
    return {"pattern": pattern, "start": start, "end": end, **named}


def drawn_reports(chance: Random, count: int) -> pa.Table:
    """Reports of long and short texts, some of which are equal, at times from the first to the last day."""
    texts = ["", "/s", "s" * 127, "ä€😀", "b", "x" * 300, *(str(number) for number in range(40))]
    rows = []
    for _ in range(count):
        times = sorted(chance.choice((chance.randint(-62 * 10**15, 253 * 10**15), 10**15, 0, -1)) for _ in range(2))
        events = [
            (chance.choice((0, 1)), chance.choice(texts), chance.choice(texts)) for _ in range(chance.randint(1, 12))
        ]
        events = events if (pattern := chance.choice((0, 1))) == 0 else [(at, *events[0][1:]) for at in (0, 1)]
        own = [one for one in events if one[0] == 1] + [one for one in events if one[0] == 0][:1]
        rows.append(report(pattern, *times, *own))
    return pa.Table.from_pylist(rows, schema=REPORTS)


@pytest.mark.parametrize("number", range(100) if NIGHTLY else range(3))
def test_whatever_texts_and_times_they_have(number: int) -> None:
    reports = drawn_reports(Random(number), 300)
    reports = pa.concat_tables([reports.slice(0, 100), reports.slice(100)])
    told = columns_told(reports, PATTERNS)
    assert told is not None
    assert by_id(told) == by_id(told_as(reports, PATTERNS, ReportRow.as_json))


@pytest.mark.parametrize(
    "odd",
    [
        report(0, 0, 1, (0, "/s", 'a"b')),
        report(0, 0, 1, (0, "/s\n", "a")),
        report(0, 0, 1, (0, "/s", "a\\")),
        report(0, -(10**18), 1, (0, "/s", "a")),
        report(0, 0, 1, *[(1, "/s", str(at)) for at in range(65)]),
    ],
)
def test_what_compiled_code_does_not_write_is_left_to_others(odd: dict[str, object]) -> None:
    plain = report(0, 0, 1, (0, "/s", "a"))
    assert columns_told(pa.Table.from_pylist([plain, odd], schema=REPORTS), PATTERNS) is None
    assert columns_told(pa.Table.from_pylist([plain], schema=REPORTS), PATTERNS) is not None


def test_no_reports_are_none() -> None:
    told = columns_told(REPORTS.empty_table(), PATTERNS)
    assert told is not None
    assert told.schema == TOLD
    assert told.num_rows == 0
