"""The rows of the reference of patterns: what each profile reports over its events, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from comity.errors import ComityError, Faults
from comity.pattern.bounds import unbounded
from comity.pattern.tree import Both, Either, Operand, Selection, Sequence, Silence, Together, walk
from comity.profile.blocks import parse_composite
from tests.docs.pages import DOCS
from tests.pattern.letters import WORKED, every_way, profile, trace

PAGE = (DOCS / "reference" / "patterns.md").read_text(encoding="utf-8")
EXPLANATION = (DOCS / "explanation" / "patterns.md").read_text(encoding="utf-8")
TUTORIAL = (DOCS / "tutorial" / "patterns.md").read_text(encoding="utf-8")
_ROW = re.compile(r"\| `(?P<profile>[^`]+)` \| `(?P<events>[^`]+)` \| (?:`(?P<reports>[^`]+)`|none) \|$", re.M)
_REFUSED = re.compile(r"^\| `(?P<profile>[^`]+)` \| `(?P<code>[a-z-]+)` \|", re.M)
_CELL = re.compile(r"(?:\{\w+\}|[A-Z]\d)[A-Z]\d")


def rows() -> Iterator[tuple[str, str, list[str]]]:
    for found in _ROW.finditer(PAGE):
        reports = found["reports"].split(", ") if found["reports"] else []
        yield found["profile"].replace("\\|", "|"), found["events"], reports


def refused() -> Iterator[tuple[str, str]]:
    section = PAGE.partition("\n## What is refused")[2].partition("\n## ")[0]
    for found in _REFUSED.finditer(section):
        yield found["profile"].replace("\\|", "|"), found["code"]


@pytest.mark.parametrize(("text", "events", "expected"), list(rows()))
def test_row(text: str, events: str, expected: list[str]) -> None:
    for found in every_way(profile(text), trace(events)):
        assert found == sorted(expected, key=lambda one: (float(re.split("[@–]", one)[-1]), one))


@pytest.mark.parametrize(("text", "code"), list(refused()))
def test_refused(text: str, code: str) -> None:
    with pytest.raises(ComityError) as caught:
        parse_composite(f"profile p\non {text}")[1].bind("p")
    first = caught.value.errors[0] if isinstance(caught.value, Faults) else caught.value
    assert first.code == code


@pytest.mark.parametrize(("text", "answer"), re.findall(r"^\| `([^`]+)` \| (refused|accepted) \|$", PAGE, re.M))
def test_for_a_stream(text: str, answer: str) -> None:
    assert bool(unbounded([profile(text)])) is (answer == "refused")


def test_every_operator_and_mode_has_a_row() -> None:
    texts = [text for text, _, _ in rows()]
    parts = [part for text in texts for part in walk(profile(text).pattern)]
    assert {type(part) for part in parts} == {Operand, Either, Both, Together, Sequence, Silence, Selection}
    gaps = [part.gaps for part in parts if isinstance(part, Sequence)]
    assert all(any(own[at] for own in gaps) for at in (0, -1)), "a `not` at the beginning, and one at the end"
    assert any(any(own[1:-1]) for own in gaps), "a `not` in between"
    for word in ("first", "last", "all", "collect", "2nd", "2..3", "keep", "delete", "reapply", "limit", "ties by"):
        assert any(word in text for text in texts), word


@pytest.mark.parametrize("row", re.findall(r"^\| (?:all|first|last|collect) \|.*$", TUTORIAL, re.M))
def test_worked_table_of_the_tutorial(row: str) -> None:
    mode, *cells = [cell.strip() for cell in row.strip("|").split("|")]
    for consume, cell in zip(("keep", "delete", "reapply"), cells, strict=True):
        bound = profile(f"B b ; D d duplicates b {mode} consume {consume}")
        for found in every_way(bound, trace(WORKED)):
            short = sorted(one.partition(" @")[0].replace(" ", "") for one in found)
            assert short == sorted(_CELL.findall(cell))


@pytest.mark.parametrize(("text", "cell"), re.findall(r"^\| Comity \| `([^`]+)` \| (.+) \|$", EXPLANATION, re.M))
def test_comparison_with_others(text: str, cell: str) -> None:
    expected = sorted(re.findall(r"(?:[A-Z]\d)+(?: at \d+)?", cell))
    for found in every_way(profile(text), trace(WORKED)):
        events_and_times = [one.split(" @") for one in found]
        plain = [events.replace(" ", "") for events, _ in events_and_times]
        timed = [f"{events} at {time}" for events, (_, time) in zip(plain, events_and_times, strict=True)]
        assert expected in (sorted(plain), sorted(timed))
