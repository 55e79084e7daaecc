"""Many patterns over columns, batch by batch, with their state saved in between: the same as the reference."""

from __future__ import annotations

from datetime import timedelta

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.event.event import Event
from comity.event.jsonlines import decode
from comity.pattern.bank import Bank, BankState
from comity.pattern.bound import BoundPattern
from comity.pattern.composite import Composite
from comity.pattern.extract import Extraction, one_by_one
from comity.pattern.occurrence import microseconds
from comity.pattern.reference import reports
from comity.pattern.rows import found_reports
from comity.pattern.text import parse_composite
from comity.testing.patterns import START, composites, traces


def decode_open(line: str) -> Event:
    event = decode(line.encode(), None)
    assert isinstance(event, Event)
    return event


def bank_of(given: list[Composite]) -> Bank:
    patterns = [one.bind(f"p{at}") for at, one in enumerate(given)]
    return Bank(patterns, [decode_open] * len(patterns))


def expected(patterns: list[BoundPattern], trace: list[Event]) -> list[bytes]:
    return sorted(msgspec.json.encode(report.as_dict()) for one in patterns for report in reports(one, trace))


def extracted(bank: Bank, trace: list[Event]) -> Extraction:
    extraction = Extraction(bank, one_by_one(bank))
    for event in trace:
        extraction.take(event)
    return extraction


some_composites = st.lists(composites(), min_size=1, max_size=3)


@settings(deadline=None)
@given(some_composites, traces())
def test_bank_of_a_complete_input(given: list[Composite], trace: list[Event]) -> None:
    bank = bank_of(given)
    got = extracted(bank, trace)
    found, _ = bank.detect(got.table(), start=got.earliest, last=got.latest)
    assert sorted(one.as_json() for one in found_reports(found, bank.patterns)) == expected(bank.patterns, trace)


@settings(deadline=None)
@given(some_composites, traces(), st.data())
def test_bank_of_a_stream(given: list[Composite], trace: list[Event], data: st.DataObject) -> None:
    """In batches, with the state saved and restored in between, and patterns in another order."""
    bank, found, state, done, left = bank_of(given), [], BankState(), None, list(trace)
    start = min((microseconds(event.time) for event in trace if event.time), default=None)
    last = max((microseconds(event.time) for event in trace if event.time), default=None)
    latest = max((event.time - START).seconds for event in trace if event.time is not None) if trace else -1
    for step in sorted(set(data.draw(st.lists(st.integers(-1, latest), max_size=3), "watermarks"))):
        upto = START + timedelta(seconds=step)
        now = [one for one in left if one.time is not None and (one.time <= upto or data.draw(st.booleans()))]
        left = [one for one in left if one not in now]
        limit = microseconds(upto)
        begun = start if start is not None and start <= limit else None
        reported, state = bank.detect(extracted(bank, now).table(), state, done=done, upto=limit, start=begun)
        found += [one.as_json() for one in found_reports(reported, bank.patterns)]
        state, done = BankState.decode(state.encode()), limit
        bank = Bank(list(reversed(bank.patterns)), bank.decode)
    reported, _ = bank.detect(extracted(bank, left).table(), state, done=done, start=start, last=last)
    found += [one.as_json() for one in found_reports(reported, bank.patterns)]
    assert sorted(found) == expected(bank.patterns, trace)


def test_bank_of_a_condition_that_is_never_true() -> None:
    never = composite_of("profile never on A a | B b where 1 = 2")
    bank = bank_of([never])
    got = extracted(bank, [Event("1", "/s", "B", START)])
    assert bank.detect(got.table(), start=got.earliest, last=got.latest)[0].num_rows == 0


def composite_of(text: str) -> Composite:
    return parse_composite(text)[1]
