"""Patterns: what is accepted, RE2 reads in the same way; what is refused says where."""

from __future__ import annotations

import re

import pytest
import re2
from hypothesis import example, given, settings
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.expression.regex.parse import Chars, Regex, fullmatch, is_linear_in_java, parse_regex, to_java
from comity.expression.regex.tree import Alternation, Repeat, other_than

TEXTS = st.text(alphabet="ab01-_ .\n\t\vé😀^]$\\Q", max_size=6)
ATOMS = st.sampled_from(
    [
        "a",
        "b",
        r"0",
        r".",
        r"é",
        r"😀",
        r"\d",
        r"\W",
        r"\s",
        r"\n",
        r"\v",
        r"\x61",
        r"\x{1F600}",
        r"\.",
        r"[ab]",
        r"[^a]",
        r"]",
        r"}",
        r"[\d-b]",
        r"[]a]",
        r"[^]a]",
        r"[a-]",
        r"[-a]",
        r"[--0]",
        r"[[:alpha:]]",
        r"[[:^digit:]_]",
        r"\Qa.\E",
        r"(?s:.)",
        r"[[a]",
        r"[^\S\s]",
        r"()",
        r"(?:)",
    ]
)
QUANTIFIERS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "{0}", "{2}?", "+?"])


def _bigger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(parts, min_size=1, max_size=3).map("".join),
        st.lists(parts, min_size=2, max_size=3).map(lambda items: f"({'|'.join(items)})"),
        st.tuples(parts, QUANTIFIERS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        parts.map(lambda part: f"(?s){part}"),
    )


PATTERNS = st.recursive(st.tuples(ATOMS, QUANTIFIERS).map("".join), _bigger, max_leaves=6)


def accepts(regex: Regex, text: str) -> bool:
    """A slow matcher straight from the meaning of the tree."""
    return len(text) in _ends(regex, text, {0})


def _ends(regex: Regex, text: str, starts: set[int]) -> set[int]:
    if isinstance(regex, Chars):
        fits = {at for at in starts if at < len(text) and any(lo <= ord(text[at]) <= hi for lo, hi in regex.ranges)}
        return {at + 1 for at in fits}
    if isinstance(regex, Alternation):
        return set().union(*(_ends(item, text, starts) for item in regex.items))
    if isinstance(regex, Repeat):
        return _repeated_ends(regex, text, starts)
    for item in regex.items:
        starts = _ends(item, text, starts)
    return starts


def _repeated_ends(regex: Repeat, text: str, starts: set[int]) -> set[int]:
    found = set(starts) if regex.low == 0 else set()
    most = regex.low + len(text) + 1 if regex.high is None else regex.high
    for count in range(1, most + 1):
        starts = _ends(regex.item, text, starts)
        found |= starts if count >= regex.low else set()
    return found


@settings(deadline=None)
@given(PATTERNS, TEXTS)
@example(r"^a|b$", "b")
@example(r"\Aa\z", "a")
@example("a$", "a\n")
@example(r"(?s)a|.(?-s).", "a\n")
def test_tree_means_what_re2_matches(pattern: str, text: str) -> None:
    expected = re2.fullmatch(pattern, text) is not None
    assert accepts(parse_regex(pattern), text) is expected
    assert fullmatch(pattern)(text) is expected


@settings(deadline=None)
@given(st.text(alphabet=r"ab019.*+?{},()[]|\^$-:QExdsz P<=!", max_size=12), TEXTS)
def test_parse_accepts_nothing_that_re2_refuses_or_reads_otherwise(pattern: str, text: str) -> None:
    try:
        regex = parse_regex(pattern)
    except Misuse:
        return
    assert accepts(regex, text) is (re2.fullmatch(pattern, text) is not None)


@pytest.mark.parametrize(
    ("pattern", "column"),
    [
        (r"(a)\1", 4),
        ("a(?=b)", 2),
        ("(?<!b)a", 1),
        (r"a\b", 2),
        ("(?i)a", 1),
        ("(?P<n>a)", 1),
        ("a^b", 2),
        ("(a$)b", 3),
        ("a**", 3),
        ("*a", 1),
        ("a|*", 3),
        ("^*", 2),
        ("(a", 1),
        ("a)", 2),
        ("[a", 1),
        ("[b-a]", 2),
        (r"[a-\d]", 4),
        ("[[:foo:]]", 2),
        ("a{2,1}", 2),
        ("a{1001}", 2),
        ("(a{30}){40}", 8),
        ("((a{10}b)c{2}){101}", 15),
        ("a{,2}", 2),
        (r"\pL", 1),
        (r"\x{110000}", 1),
        (r"\x{D800}", 1),
        (r"\x{}", 1),
        (r"\x4", 1),
        ("a\\", 2),
        (r"a\Q\E*", 6),
        ("(" * 80 + "a" + ")" * 80, 67),
    ],
)
def test_parse_refuses_with_the_column(pattern: str, column: int) -> None:
    with pytest.raises(Misuse) as caught:
        parse_regex(pattern)
    assert caught.value.code == "bad-regex"
    assert caught.value.place is not None
    assert caught.value.place.column == column


def test_parse_refuses_what_is_too_large_for_re2() -> None:
    with pytest.raises(Misuse, match="RE2"):
        parse_regex("".join(rf"[^a{chr(code)}]{{1000}}" for code in range(0x100, 0x200)))


def test_other_than_leaves_the_surrogates_out() -> None:
    assert other_than([(0, 0xD000)]) == ((0xD001, 0xD7FF), (0xE000, 0x10FFFF))


@pytest.mark.parametrize(
    ("pattern", "linear"),
    [
        ("abc", True),
        (r"\d{4}-\d{2}", True),
        ("[a-z]*@.*", True),
        (".*a.*b.*", False),
        ("(a|b)*", False),
        ("(a*)*", False),
        ("(ab)?c", True),
        ("(a|b)" * 6, True),
        ("(a|b)" * 7, False),
    ],
)
def test_is_linear_in_java(pattern: str, linear: bool) -> None:
    assert is_linear_in_java(parse_regex(pattern)) is linear


@settings(deadline=None)
@given(PATTERNS, TEXTS)
def test_to_java_keeps_the_language(pattern: str, text: str) -> None:
    # What we write for Java is valid for Python too, once the escapes are spelt in its way.
    java = to_java(parse_regex(pattern))
    python = re.sub(r"\\x\{([0-9a-f]+)\}", lambda found: rf"\U{int(found[1], 16):08x}", java).replace(r"\z", r"\Z")
    assert (re.search(python, text) is not None) is (re2.fullmatch(pattern, text) is not None)
