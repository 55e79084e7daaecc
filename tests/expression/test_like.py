"""LIKE patterns against a matcher that follows the definition."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.expression.like import Wildcard, like_matcher, like_to_regex, like_tokens
from comity.filter.sets import Automaton

PATTERNS = st.lists(st.sampled_from(["a", "b", "é", "%", "_", r"\%", r"\_", r"\\", r"\a", ".", "*", "\n"]), max_size=6)


def expected(tokens: tuple[str | Wildcard, ...], text: str) -> bool:
    if not tokens:
        return not text
    first, rest = tokens[0], tokens[1:]
    if isinstance(first, str):
        return text.startswith(first) and expected(rest, text[len(first) :])
    if first is Wildcard.ONE:
        return bool(text) and expected(rest, text[1:])
    return any(expected(rest, text[at:]) for at in range(len(text) + 1))


@settings(deadline=None)
@given(PATTERNS.map("".join), st.text(alphabet="abé%_\\.*\n", max_size=6))
def test_like_matcher_follows_the_definition(pattern: str, text: str) -> None:
    wanted = expected(like_tokens(pattern), text)
    assert like_matcher(pattern)(text) is wanted
    assert Automaton.of_regex(like_to_regex(pattern)).accepts(text) is wanted


def test_like_tokens_refuses_a_lone_backslash_at_the_end() -> None:
    with pytest.raises(Misuse) as caught:
        like_tokens("ab\\")
    assert caught.value.code == "bad-like"
    assert caught.value.place is not None
    assert caught.value.place.column == 3


def test_like_matcher_takes_linear_time() -> None:
    test, text = like_matcher("%a" * 30 + "%b_"), "a" * 20_000
    start = time.perf_counter()
    assert not test(text)
    assert time.perf_counter() - start < 1
