"""Atoms as intervals of ranks: which of them the index decides alone, and which are tested behind it."""

from __future__ import annotations

import numpy as np
import pytest

from comity.event.event import Event
from comity.expression.bind import bind_text
from comity.expression.scope import Scope
from comity.limits import limited
from comity.match.channels import Channel, View
from comity.match.cost import profile_cost
from comity.match.index import ProfileIndex
from comity.match.regions import next_prefix


@pytest.mark.parametrize(
    "text",
    [
        *("x = 1", "x != 1", "x < 1", "x <= 1", "x > 1.5", "x >= 1", "1 < x", "x = 'a'", "x < 'a'", "x = true", "x"),
        *("x between 1 and 3", "x not between 1 and 3", "x between 'a' and 'b'", "x between 3 and 1"),
        *("x in (1, 2)", "x not in (1, 'a', true)", "exists x", "not exists x", "is T", "not is T"),
        *("x starts with 'a'", "not x starts with 'a'", "x like 'a%'", "x like 'a'", "x like '%'", "x like ''"),
        *("at > 2026-05-01T10:00:00Z", "at between 2026-05-01T10:00:00Z and 2026-05-01T11:00:00Z", "span < 5 min"),
    ],
)
def test_the_index_alone_decides(text: str) -> None:
    assert profile_cost(bind_text(text, Scope())).tests == 0


@pytest.mark.parametrize(
    "text",
    [
        *("x = y", "x + 1 > 2", "x ends with 'a'", "x like '%a'", "x like '_'", "x contains 'a'", "x matches 'a+'"),
        *("x between 1 and y", "lower(x) = 'a'", "x = '2026-05-01T10:00:00Z'", "x = 'PT5M'"),
    ],
)
def test_what_compares_more_than_an_attribute_with_a_constant_is_tested(text: str) -> None:
    assert profile_cost(bind_text(text, Scope())).tests == 1


def test_attributes_named_like_those_of_the_envelope_are_attributes() -> None:
    trees = [bind_text(text, Scope()) for text in ("device.time = 5", "event.time > 2026-05-01T10:00:00Z", "time > 4")]
    index = ProfileIndex.build(trees)
    assert index.match_one(Event("1", "/a", "T", data={"device": {"time": 5}})) == [0]
    assert index.match_one(Event("1", "/a", "T", data={"time": 5})) == [2]


def test_alternatives_are_conjunctions_up_to_the_limit_and_one_test_beyond() -> None:
    tree = bind_text("x = 1 or y = 2", Scope())
    found = []
    for most in (1, 2):
        with limited(max_conjunctions=most):
            cost = profile_cost(tree)
            found.append((cost.conjunctions, cost.tests))
    assert found == [(1, 1), (2, 0)]


def test_a_channel_is_laid_out_with_just_the_constants_that_are_used() -> None:
    channel = Channel(("x",), View.VALUE)
    codes = [channel.number(value) for value in (5, 2.5, 9)] + [channel.string("b"), channel.bound("a")]
    layout, (ranks,) = channel.resolve(np.array([codes[0], codes[4]], np.int32))
    assert (layout.numbers, layout.strings) == ([5], ["a"])
    assert ranks.tolist() == [8, layout.strings_from + 1]
    everything, (every,) = channel.resolve(np.array(codes, np.int32))
    assert (everything.numbers, everything.strings) == ([2.5, 5, 9], ["a", "b"])
    assert sorted(every.tolist()) == sorted([8, 10, 12, everything.strings_from + 1, everything.strings_from + 3])
    thinned, (again,) = channel.thinned(np.array([codes[4]], np.int32))
    assert (thinned.constants, thinned.bounds) == (["a"], {"a"})
    assert again.tolist() == [thinned.strings["a"]]


@pytest.mark.parametrize(
    ("text", "after"),
    [("a", "b"), ("ab", "ac"), ("", None), ("\U0010ffff", None), ("a\U0010ffff", "b"), ("\ud7ff", "\ue000")],
)
def test_next_prefix_is_the_least_text_above_all_that_start_so(text: str, after: str | None) -> None:
    assert next_prefix(text) == after
