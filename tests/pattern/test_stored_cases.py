"""The stored cases in this process: what the reference reports, by the general detector and by compiled code."""

from __future__ import annotations

import pytest
from tests.pattern.cases import NIGHTLY, an_end, bound_profiles, expected, one_trace

from comity.engine.detect import Detection
from comity.engine.pattern_stream import PatternStream, decoder
from comity.pattern.bank import Bank
from comity.pattern.extract import one_by_one

CASES = range(500) if NIGHTLY else range(5)
"""Traces, each with 40 profiles."""


@pytest.mark.parametrize("number", CASES)
def test_both_detectors_report_what_the_reference_reports(number: int) -> None:
    patterns, trace = bound_profiles(number), one_trace(number)
    until = an_end(number, trace)
    wanted = expected(patterns, trace, until)
    assert sorted({one.id for one in Detection(patterns, until=until).over_stored(trace)}) == wanted
    bank = Bank(patterns, [decoder(None)] * len(patterns), compiled=True)
    compiled = Detection(patterns, until=until)
    stream = PatternStream(bank, one_by_one(bank))
    for event in trace:
        compiled.take_one(event, stream.extraction)
    assert sorted({one.id for one in stream.finish(until)}) == wanted
