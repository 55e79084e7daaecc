"""Text that parses back to the same pattern, and to the same profile."""

import pytest
from hypothesis import given

from comity.pattern.text.parse import parse_pattern
from comity.pattern.text.render import render_composite, render_pattern
from comity.profile.blocks import parse_composite
from comity.testing.patterns import composites, patterns


@pytest.mark.parametrize(
    "text",
    [
        "A",
        "Heat h",
        "Event e",
        "`First` `last`",
        "A | B ; C & D : E",
        "(A | B) ; C",
        "(A ; B) & C",
        "A & (B : C tolerance 2 s | D)",
        "A : B tolerance 1 ms & C",
        "(A & B within 5 min) : C",
        "(A ; B within 1 h) | C",
        "A ; (B ; C)",
        "A | (B | C)",
        "A ; not B ; not (C | D) ; E within 90 min",
        "A ; not (B ; C within 1 s) within 1 week",
        "(not A within 1 day) & B",
        "not (not A within 2 s) within 1 us",
        "first A ; last (A A2 & B)",
        "A[2] : B b[2..4]",
        "(A ; B)[2] | last (A A2[3])",
        "not first A within 1 s",
    ],
)
def test_render_pattern_gives_no_more_parentheses_than_it_needs(text):
    assert render_pattern(parse_pattern(text)) == text


@given(patterns(max_operands=6, max_depth=4))
def test_render_pattern_parses_back(pattern):
    assert parse_pattern(render_pattern(pattern)) == pattern


@given(composites())
def test_render_composite_parses_back(composite):
    name, parsed = parse_composite(render_composite("some.name-1", composite))
    assert name == "some.name-1"
    assert parsed.pattern == composite.pattern
    assert parsed.where.tree == composite.where.tree
    assert parsed.parameters == composite.parameters


def test_render_composite_leaves_out_what_is_said_by_default():
    text = "profile p\non A a\nduplicates all\nconsume keep\nversion 1\nwhere true"
    assert render_composite(*parse_composite(text)) == "profile p\non A a"


def test_render_composite_with_everything():
    text = (
        "profile p\non A a ; B b\nwhere a.x > 1\nduplicates first, a 2..4, b collect\nconsume reapply\nlimit 5\n"
        "ties by `not`.x\nversion 3"
    )
    assert render_composite(*parse_composite(text)) == text
