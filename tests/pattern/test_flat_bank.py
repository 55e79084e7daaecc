"""Which patterns compiled code takes, how it hands out candidates that patterns share, and what it tells twice."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.pattern.letters import every_way, profile, trace

from comity.engine.pattern_stream import decoder
from comity.pattern.bank import Bank
from comity.pattern.extract import Extraction, one_by_one
from comity.pattern.flat.bank import as_flat
from comity.pattern.flat.kernels.layout import MOST_STEPS
from comity.pattern.flat.sharing import use_of
from comity.pattern.rows import found_reports


def steps(count: int, operator: str = ";") -> str:
    return f" {operator} ".join(f"A a{i}" for i in range(count))


@pytest.mark.parametrize(
    ("text", "is_flat"),
    [
        ("A a", True),
        ("A a ; not X x ; B b within 5 s", True),
        ("A a & B b", True),
        (steps(MOST_STEPS), True),
        (steps(MOST_STEPS + 1), False),
        (steps(MOST_STEPS, "&"), True),
        ("A a | B b", False),
        ("(A a & B b) ; C c", False),
        ("A a ; B b where a.x < b.x", False),
        ("A a ; B b where a.x = b.x", True),
        ("not A a within 5 s", False),
    ],
)
def test_compiled_code_takes_flat_patterns_up_to_its_size(text: str, is_flat: bool) -> None:
    assert (as_flat(profile(text)) is not None) == is_flat


def test_compiled_code_leaves_patterns_that_see_one_event_in_several_forms() -> None:
    bound = profile("A a ; B b within 5 s")
    in_forms = replace(bound, has_forms=True)
    assert as_flat(bound) is not None
    assert as_flat(in_forms) is None
    assert in_forms.body != bound.body, "what is kept of one is not taken for the other's"


@pytest.mark.parametrize(
    ("text", "openers"),
    [
        ("A a ; B b within 5 s", {"b": "a"}),
        ("A a ; not X x ; B b within 5 s", {"x": "a", "b": "a"}),
        ("A a ; B b", {}),
        ("A a & B b within 5 s", {}),
        ("not X x ; A a ; B b within 5 s", {}),
        ("A a ; B b ; not X x within 5 s", {}),
        ("A a ; not X x within 5 s", {"x": "a"}),
    ],
)
def test_an_operand_of_a_framed_sequence_is_of_use_after_the_first_step(text: str, openers: dict[str, str]) -> None:
    """Elsewhere it may come first, or be counted from another step: nothing may be left out."""
    bound = profile(text)
    flat = as_flat(bound)
    assert flat is not None
    names = bound.operand_names
    found = {name: use_of(0, at, flat) for at, name in enumerate(names)}
    assert {name: names[use.opener] for name, use in found.items() if use.opener is not None} == openers
    assert all(use.least_us == 1 for use in found.values())


def reports_of_bank(texts: list[str], events: str) -> tuple[Bank, pa.Table]:
    bank = Bank([profile(text, f"p{at}") for at, text in enumerate(texts)], [decoder(None)] * len(texts))
    extraction = Extraction(bank, one_by_one(bank))
    for event in trace(events):
        extraction.take(event)
    return bank, bank.detect(extraction.table(), start=extraction.earliest, last=extraction.latest)[0]


def test_patterns_that_share_operands_each_get_what_they_can_use() -> None:
    """A sequence has no use for a B before its A; a conjunction of the same operands has."""
    texts = ["A a ; B b within 3 s", "A a & B b within 3 s", "B b ; not A a within 3 s", "not A a ; B b within 3 s"]
    events = "B1 A1 B2 . . . B3 A2"
    bank, found = reports_of_bank(texts, events)
    count = dict.fromkeys((one.name for one in bank.patterns), 0)
    for row in found_reports(found, bank.patterns):
        count[row.profile] += 1
    alone = [len(next(every_way(profile(text), trace(events)))) for text in texts]
    assert list(count.values()) == alone
    assert alone == [1, 3, 1, 2]


def test_a_report_that_two_traces_found_is_told_once() -> None:
    bank, found = reports_of_bank(["A a ; B b"], "A1 B1")
    twice = pa.concat_tables([found, found])
    assert len(list(found_reports(twice, bank.patterns))) == len(list(found_reports(found, bank.patterns))) == 1
