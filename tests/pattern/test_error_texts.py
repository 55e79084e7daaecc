"""Texts of errors, with what to write instead: `tests/golden/pattern_errors.txt` and its neighbours are to be read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from tests.golden_pairs import blocks
from tests.pattern.letters import profile

from comity.errors import ComityError, Faults
from comity.language.rdl.read import parse_rdl
from comity.pattern.bound import bind_pattern
from comity.pattern.bounds import check_bounded, framed_everywhere, unbounded
from comity.pattern.tree import Operand, Pattern, Selection, walk
from comity.profile.blocks import parse_composite
from comity.testing.absences import absences
from comity.testing.patterns import patterns


def told(error: ComityError) -> Iterator[str]:
    for one in error.errors if isinstance(error, Faults) else [error]:
        yield f"{one.place} {one.message}" if one.place else one.message
        yield one.hint or ""


def wanted(case: dict[str, str]) -> list[str]:
    names = ("error", "hint", "error2", "hint2")
    return [case[name] for name in names if name in case]


@pytest.mark.parametrize("case", blocks("pattern_errors.txt"), ids=lambda case: case["on"])
def test_foreign_spelling_in_a_profile(case: dict[str, str]) -> None:
    with pytest.raises(ComityError) as caught:
        parse_composite(f"profile p\non {case['on']}")
    assert list(told(caught.value)) == wanted(case)
    parse_composite(f"profile p\non {case['instead']}")[1].bind("p")


@pytest.mark.parametrize("case", blocks("rdl_errors.txt"), ids=lambda case: case["rule"])
def test_foreign_spelling_in_a_rule(case: dict[str, str]) -> None:
    with pytest.raises(ComityError) as caught:
        parse_rdl(f"rule r\n{case['rule']}")
    assert list(told(caught.value)) == wanted(case)
    parse_rdl(f"rule r\n{case['instead']}")


@pytest.mark.parametrize("case", blocks("unbounded_patterns.txt"), ids=lambda case: case["on"])
def test_unbounded_pattern(case: dict[str, str]) -> None:
    with pytest.raises(ComityError) as caught:
        check_bounded([profile(case["on"])])
    assert caught.value.code == "unbounded-pattern"
    assert list(told(caught.value)) == wanted(case)
    if case["instead"] != "nothing":
        check_bounded([profile(case["instead"])])


@given(patterns() | absences())
def test_what_is_advised_for_an_unbounded_pattern_bounds_it(pattern: Pattern) -> None:
    counts = any(isinstance(part, Selection) and not isinstance(part.pattern, Operand) for part in walk(pattern))
    assert counts or not unbounded([bind_pattern("p", framed_everywhere(pattern))])
