"""String sets against brute force over a small alphabet."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.expression.like import like_matcher
from comity.filter.sets import StringSet
from comity.filter.sets.automaton import Automaton

ALPHABET = "\0ab\U0010ffff"
WORDS = ["".join(chars) for length in range(5) for chars in itertools.product(ALPHABET, repeat=length)]
SHORT = st.text(alphabet=ALPHABET, max_size=3)
OPERATORS = {
    "=": str.__eq__,
    "!=": str.__ne__,
    "<": str.__lt__,
    "<=": str.__le__,
    ">": str.__gt__,
    ">=": str.__ge__,
}
INTERVALS = st.one_of(
    st.lists(SHORT, max_size=4).map(StringSet.of),
    st.tuples(st.sampled_from(list(OPERATORS)), SHORT).map(lambda pair: StringSet.compare(*pair)),
    SHORT.map(StringSet.prefix),
    st.tuples(SHORT, SHORT).map(
        lambda pair: StringSet.compare(">", pair[0]).intersect(StringSet.compare("<", pair[1]))
    ),
)
REGULAR = st.one_of(
    SHORT.map(StringSet.suffix),
    SHORT.map(StringSet.containing),
    st.text(alphabet="ab%_", max_size=4).map(StringSet.like),
    st.sampled_from(["a*", "(a|b)+", "[^a]*b", "a.?b?", ".*", "[ab]{2}"]).map(StringSet.matching),
)
SETS = st.one_of(INTERVALS, REGULAR)


@settings(deadline=None)
@given(st.sampled_from(list(OPERATORS)), SHORT)
def test_compare_by_brute_force(operator: str, text: str) -> None:
    found = StringSet.compare(operator, text)
    assert all(found.contains(word) is OPERATORS[operator](word, text) for word in WORDS)


@settings(deadline=None)
@given(SHORT, st.text(alphabet="ab%_", max_size=5))
def test_text_constructors_by_brute_force(text: str, pattern: str) -> None:
    starts, ends, holds = StringSet.prefix(text), StringSet.suffix(text), StringSet.containing(text)
    like, matches = StringSet.like(pattern), like_matcher(pattern)
    for word in WORDS:
        assert starts.contains(word) is word.startswith(text)
        assert ends.contains(word) is word.endswith(text)
        assert holds.contains(word) is (text in word)
        assert like.contains(word) is matches(word)


@settings(deadline=None)
@given(SETS, SETS)
def test_operations_by_membership(left: StringSet, right: StringSet) -> None:
    union, common, rest, others = left.union(right), left.intersect(right), left.difference(right), left.complement()
    for word in WORDS:
        here, there = left.contains(word), right.contains(word)
        assert union.contains(word) is (here or there)
        assert common.contains(word) is (here and there)
        assert rest.contains(word) is (here and not there)
        assert others.contains(word) is not here


@settings(deadline=None)
@given(SETS, SETS)
def test_algebra_is_canonical(left: StringSet, right: StringSet) -> None:
    assert left.complement().complement() == left
    assert left.union(right).complement() == left.complement().intersect(right.complement())
    assert left.intersect(right).union(left.difference(right)) == left
    assert hash(left.union(right)) == hash(right.union(left))
    assert left.covers(right) is right.difference(left).is_empty
    assert left.overlaps(right) is not left.intersect(right).is_empty
    assert (left.covers(right) and right.covers(left)) is (left == right)
    assert left.union(left.complement()).is_full


@settings(deadline=None)
@given(INTERVALS)
def test_intervals_and_automata_agree(strings: StringSet) -> None:
    automaton = strings.automaton()
    assert all(automaton.accepts(word) is strings.contains(word) for word in WORDS)
    assert StringSet.of_automaton(automaton) == strings
    assert automaton.is_finite is strings.is_finite
    assert automaton.members(50) == strings.members(50)


@settings(deadline=None)
@given(SETS)
def test_sample_is_a_member(strings: StringSet) -> None:
    if strings.is_empty:
        assert not any(map(strings.contains, WORDS))
        with pytest.raises(ValueError, match="empty"):
            strings.sample()
    else:
        assert strings.contains(strings.sample())


@settings(deadline=None)
@given(SETS)
def test_members_are_all_of_a_finite_set(strings: StringSet) -> None:
    members = strings.members()
    if members is None:
        assert not strings.is_finite or not strings.is_interval_union  # like '_' is finite, but large
    else:
        assert strings.is_finite
        assert StringSet.of(members) == strings


def test_nothing_lies_between_neighbours() -> None:
    assert StringSet.compare(">", "a").intersect(StringSet.compare("<", "a\0")).is_empty
    assert StringSet.of(["a", "a\0"]).is_interval_union
    assert list(StringSet.of(["a", "a\0", "b"]).intervals()) == [("a", "a\0\0"), ("b", "b\0")]


def test_prefix_skips_the_surrogates() -> None:
    assert list(StringSet.prefix("x\ud7ff").intervals()) == [("x\ud7ff", "x\ue000")]
    assert list(StringSet.prefix("\U0010ffff").intervals()) == [("\U0010ffff", None)]


def test_patterns_become_intervals_where_they_are_some() -> None:
    assert StringSet.matching("a|b") == StringSet.of("ab")
    assert StringSet.matching("(?s)ab.*") == StringSet.prefix("ab")
    assert StringSet.matching("(?s).*").is_full
    assert not StringSet.suffix("x").is_interval_union


def test_covers_sees_through_the_form() -> None:
    wide = StringSet(None, Automaton.of_cuts(StringSet.of(map(str, range(600))).automaton().as_cuts(10_000) or ()))
    assert wide != StringSet.of(map(str, range(600)))
    assert wide.covers(StringSet.of(map(str, range(600))))
    assert StringSet.of(map(str, range(600))).covers(wide)


@pytest.mark.parametrize(
    ("strings", "wanted"),
    [
        (StringSet.all(), "a"),
        (StringSet.compare(">", "abc"), "abca"),
        (StringSet.prefix("x-"), "x-"),
        (StringSet.suffix("x"), "x"),
        (StringSet.of([""]), ""),
        (StringSet.compare("!=", "a"), "0"),
    ],
)
def test_sample_is_plain(strings: StringSet, wanted: str) -> None:
    assert strings.sample() == wanted
