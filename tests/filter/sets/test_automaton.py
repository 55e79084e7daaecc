"""Automata against RE2, and against each other."""

from __future__ import annotations

import itertools
import time

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.expression.regex.parse import parse_regex
from comity.filter.sets import Automaton, TooLarge
from comity.filter.sets.cuts import INTERSECTION
from comity.limits import limited

ATOMS = st.sampled_from(
    ["a", "b", "ab", ".", "[^a]", r"\d", "é", "(?s:.)", "[a-c]", r"[^\S\s]", "", "\ue000", "[b-\U0001f600]"]
)
QUANTIFIERS = st.sampled_from(["", "*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}", "{0}"])


def _bigger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(parts, min_size=1, max_size=3).map("".join),
        st.lists(parts, min_size=2, max_size=3).map(lambda items: f"({'|'.join(items)})"),
        st.tuples(parts, QUANTIFIERS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    )


PATTERNS = st.recursive(
    st.tuples(ATOMS, QUANTIFIERS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"), _bigger, max_leaves=5
)
TEXTS = st.text(alphabet="abc1é\n\ud7ff\ue000😀", max_size=6)
WORDS = ["".join(letters) for length in range(5) for letters in itertools.product("ab1", repeat=length)]


def automaton(pattern: str) -> Automaton:
    return Automaton.of_regex(parse_regex(pattern))


@settings(deadline=None)
@given(PATTERNS, TEXTS)
def test_accepts_what_re2_matches(pattern: str, text: str) -> None:
    assert automaton(pattern).accepts(text) is (re2.fullmatch(pattern, text) is not None)


@settings(deadline=None)
@given(PATTERNS, PATTERNS)
def test_operations_by_membership(one: str, two: str) -> None:
    left, right = automaton(one), automaton(two)
    union, common, rest, others = left.union(right), left.intersect(right), left.difference(right), left.complement()
    for word in WORDS:
        here, there = left.accepts(word), right.accepts(word)
        assert union.accepts(word) is (here or there)
        assert common.accepts(word) is (here and there)
        assert rest.accepts(word) is (here and not there)
        assert others.accepts(word) is not here


@settings(deadline=None)
@given(PATTERNS, PATTERNS)
def test_form_is_canonical(one: str, two: str) -> None:
    left, right = automaton(one), automaton(two)
    assert automaton(f"(?:{one})|(?:{two})") == left.union(right)
    assert left.union(right) == right.union(left)
    assert hash(left.union(right)) == hash(right.union(left))
    assert left.union(right).complement() == left.complement().intersect(right.complement())
    assert left.complement().complement() == left
    assert left.covers(right) is right.difference(left).is_empty
    assert left.meets(right, INTERSECTION) is not left.intersect(right).is_empty
    assert (left == right) is (left.covers(right) and right.covers(left))
    assert left.union(left.complement()).is_full


@settings(deadline=None)
@given(PATTERNS)
def test_shortest_is_a_shortest_member(pattern: str) -> None:
    found = automaton(pattern).shortest()
    matched = [word for word in WORDS if re2.fullmatch(pattern, word)]
    if found is None:
        assert automaton(pattern).is_empty
        assert not matched
    else:
        assert re2.fullmatch(pattern, found)
        assert all(len(found) <= len(word) for word in matched)


@settings(deadline=None)
@given(PATTERNS)
def test_members_are_all_of_a_finite_set(pattern: str) -> None:
    words = automaton(pattern)
    found = words.members(200)
    if found is not None:
        assert words.is_finite
        assert list(found) == sorted(set(found))
        assert all(re2.fullmatch(pattern, word) for word in found)
        assert {word for word in WORDS if re2.fullmatch(pattern, word)} <= set(found)
        listed = [f"(?:{re2.escape(word)})" for word in found]
        assert automaton("|".join(listed) if listed else r"[^\s\S]") == words


def test_is_finite() -> None:
    assert automaton("a{3}|b?").is_finite
    assert automaton("[^a]").is_finite
    assert not automaton("ab*").is_finite
    assert automaton("[^a]").members(1000) is None


def test_shortest_prefers_letters() -> None:
    assert automaton(r"[\x00-\x{10FFFF}]{3}").shortest() == "aaa"
    assert automaton(r"\W\d[^a]").shortest() == "!0b"


def test_surrogates_are_not_in_the_alphabet() -> None:
    assert automaton(r"[\x{D7FF}-\x{E000}]").members(9) == ("\ud7ff", "\ue000")


def test_too_many_states_are_refused() -> None:
    with pytest.raises(TooLarge):
        automaton("(a|b)*a(a|b){20}")
    with limited(max_automaton_states=10), pytest.raises(TooLarge):
        automaton("a{20}")


def test_long_repetitions_are_built_in_good_time() -> None:
    start = time.perf_counter()
    assert len(automaton("(a?){1000}").accepting) == 1002
    assert automaton("(a|b){500}c*") == automaton("[ab]{500}c*")
    assert time.perf_counter() - start < 5
