"""What follows from a pattern before any event comes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from comity.pattern.bound import BoundPattern
from comity.pattern.bounds import unbounded
from comity.pattern.explain import explain_patterns, pattern_edges
from comity.pattern.facts import conditions, kept, key_texts, why_general, why_one_trace
from comity.pattern.flat.bank import as_flat
from comity.profile.blocks import parse_composite
from comity.testing.patterns import bound_patterns


def bound(on: str, where: str = "true", more: str = "", name: str = "p") -> BoundPattern:
    return parse_composite(f"profile {name}\non {on}\n{more}\nwhere {where}")[1].bind(name)


@given(bound_patterns())
@settings(max_examples=200)
def test_what_is_said_about_a_pattern_is_what_happens_to_it(pattern: BoundPattern) -> None:
    assert (not why_general(pattern)) == (as_flat(pattern) is not None)
    assert (why_one_trace(pattern) is None) == (pattern.key is not None)
    (explained,) = explain_patterns([pattern])
    assert explained.is_bounded == (not unbounded([pattern]))
    assert explained.as_dict()["bounded"] == explained.is_bounded
    assert explained.nodes()
    edges = list(pattern_edges(explained))
    assert all(f"operand_p_{name}[" in "".join(edges) for name in pattern.operand_names)


@pytest.mark.parametrize(
    ("on", "where", "expected"),
    [
        ("A a ; B b within 5 s", "a.x > 1", ()),
        ("A a & B b within 5 s", "a.x = b.x", ()),
        ("A a ; B b within 5 s", "a.x > b.x", ("conditions-between-operands",)),
        ("A a | B b", "true", ("other-operators",)),
        ("A a ; (B b & C c within 1 s) within 5 s", "true", ("nested",)),
        ("A a", "1 > 2", ("never",)),
        (" ; ".join(f"A a{number}" for number in range(9)), "true", ("too-many-operands",)),
    ],
)
def test_why_general_names_every_reason(on: str, where: str, expected: tuple[str, ...]) -> None:
    assert why_general(bound(on, where)) == expected


@pytest.mark.parametrize(
    ("on", "where", "expected"),
    [
        ("A a ; B b", "a.x = b.y", None),
        ("A a ; B b", "a.x > b.y", "no equality ties a and b to each other"),
        ("A a ; B b ; C c", "a.x = b.x and b.y = c.y", "no equality ties c to a.x = b.x"),
        ("A a", "a.x > 1", "there is one operand, a"),
        ("not A a within 5 s", "true", "`not A a within 5 s` by itself is about events that never come"),
    ],
)
def test_why_one_trace_names_what_nothing_ties(on: str, where: str, expected: str | None) -> None:
    found = why_one_trace(bound(on, where))
    assert found == expected if expected is None else str(found).startswith(expected)


def test_kept_is_told_by_operand_and_with_the_limit() -> None:
    told = {one.name: one.text() for one in kept(bound("A a ; not N n ; B b within 90 min"))}
    assert told == {"a": "kept for 90 min", "n": "kept for 90 min", "b": "not kept: it can only close the pattern"}
    assert kept(bound("A a ; B b"))[0].text() == "unbounded: needs `limit`"
    assert kept(bound("A a ; B b", more="limit 1000"))[0].text() == "the last 1,000 are kept"
    by_itself = kept(bound("A a ; (not N n within 1 s) ; B b", more="limit 1000"))
    assert by_itself[1].text() == "unbounded: needs a time frame, for no `limit` applies"


def test_conditions_are_told_with_where_they_are_tested() -> None:
    pattern = bound("A a ; not N n ; (B b & C c within 1 s) within 5 s", "n.x = a.x and b.x < c.x and a.y < b.y")
    assert [(one.condition, one.how, one.part) for one in conditions(pattern)] == [
        ("b.x < c.x", "occurrence", "B b & C c within 1 s"),
        ("a.y < b.y", "occurrence", "the whole pattern"),
        ("n.x = a.x", "not", "N n"),
    ]
    keyed = bound("A a ; B b", "a.x = b.y")
    assert (key_texts(keyed), [one.how for one in conditions(keyed)]) == (("a.x = b.y",), ["key"])


def test_profiles_of_one_body_are_told_with_each_other() -> None:
    first, second, third = explain_patterns(
        [bound("A a", name=name, more=more) for name, more in (("p", ""), ("q", ""), ("r", "limit 2"))]
    )
    assert (first.same, second.same, third.same) == (("q",), ("p",), ())
