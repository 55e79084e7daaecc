"""Many patterns over columns, batch by batch, with their state saved in between: the same as the reference."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.event.event import Event
from comity.event.formats.jsonlines import decode
from comity.pattern.bank import Bank, BankState
from comity.pattern.bound import BoundPattern
from comity.pattern.composite import Composite
from comity.pattern.extract import Extraction, one_by_one
from comity.pattern.occurrence import microseconds
from comity.pattern.reference.reports import reports
from comity.pattern.rows import found_reports
from comity.profile.blocks import parse_composite
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
    check_stream(given, trace, data)


def check_stream(given: list[Composite], trace: list[Event], data: st.DataObject) -> None:
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


def test_bank_of_two_profiles_with_one_silence() -> None:
    bank = bank_of([composite_of("profile one on not A a within 2 s")] * 2)
    trace = [Event(str(at), "/s", "A", START + timedelta(seconds=at)) for at in range(4)]
    got = extracted(bank, trace)
    found, _ = bank.detect(got.table(), start=got.earliest, last=got.latest)
    assert sorted(one.as_json() for one in found_reports(found, bank.patterns)) == expected(bank.patterns, trace)


def test_bank_of_events_of_one_time_that_a_tie_break_orders() -> None:
    bank = bank_of([composite_of("profile last on B a ; not B b within 1 s ties by x")])
    trace = [Event("1", "/s", "B", START, {"x": 1}), Event("0", "/s", "B", START, {"x": 0})]
    got = extracted(bank, trace)
    (found,) = found_reports(bank.detect(got.table(), start=got.earliest, last=got.latest)[0], bank.patterns)
    assert [found.as_json()] == expected(bank.patterns, trace)


def composite_of(text: str) -> Composite:
    return parse_composite(text)[1]


@st.composite
def profiles_that_share(draw: st.DrawFn) -> list[Composite]:
    """Sequences of two or three steps over few filters, by one key, so that most operands are shared."""
    found = []
    for _ in range(draw(st.integers(2, 5))):
        steps = draw(st.lists(st.sampled_from("AB"), min_size=2, max_size=3))
        names = "abc"[: len(steps)]
        marks = ["not " if at == 1 and draw(st.booleans()) else "" for at in range(len(steps))]
        pattern = " ; ".join(f"{mark}{kind} {name}" for mark, kind, name in zip(marks, steps, names))
        equal = " and ".join(f"{one}.k = {other}.k" for one, other in pairwise(names))
        low = draw(st.integers(0, 3))
        modes = draw(st.sampled_from(("all", "first", "last", "collect")))
        consume, limit = draw(st.sampled_from(("keep", "delete", "reapply"))), draw(st.sampled_from(("", "limit 1")))
        ties = draw(st.sampled_from(("", "ties by x")))
        text = f"profile p on {pattern} within {draw(st.integers(1, 6))} s duplicates {modes} consume {consume} {limit}"
        found.append(composite_of(f"{text} where {equal} and a.x >= {low}\n{ties}"))
    return found


@settings(deadline=None)
@given(profiles_that_share(), traces(max_size=20, types=("A", "B")), st.data())
def test_bank_of_profiles_that_share_operands(given: list[Composite], trace: list[Event], data: st.DataObject) -> None:
    check_stream(given, trace, data)
