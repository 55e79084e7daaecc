"""A test of a text in lower or upper case becomes a test of the text itself: of all ways to spell what is wanted.

Which characters become which is asked of Python, which is the reference here. A character can become several (`ß` in
upper case is `SS`), several can become one (the Kelvin sign in lower case is `k`), and one depends on what stands
around it: a capital sigma at the end of a word. Texts with a sigma in lower case are left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise, product

from comity.event.kinds import Kind
from comity.event.types import EventType
from comity.expression.kinds import kind_given
from comity.expression.like import Wildcard
from comity.expression.simplify.known import each_atom, presence
from comity.expression.simplify.text_patterns import Pattern, asked_patterns, is_literal, text_of
from comity.expression.tree import FALSE, Call, Compare, Expression, In, Literal, TextTest

_CASES: Mapping[str, Callable[[str], str]] = {"lower": str.lower, "upper": str.upper}
_MOST_SPELLINGS = 16
_MOST_WAYS = 16
"""Ways to make a few characters of others that overlap."""
_MOST_CHARS = 1_000
"""Of a regular expression; a longer one is no simpler than the test that it replaces."""
_SIGMAS = frozenset("σς")
_CHUNK = 256


def spell_cases(node: Expression, type: EventType) -> Expression:
    """The filter with lists or patterns of spellings in place of tests of `lower` and `upper`.

    >>> from comity.event.types import AttributeType
    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> house = EventType("House", "city", own={"room": AttributeType(Kind.STRING)})
    >>> render(spell_cases(parse("lower(room) = 'no' or upper(room) starts with 'HALL'"), house))
    "room in ('NO', 'No', 'nO', 'no') or room matches '(?s)[Hh][Aa][Ll][Ll].*'"
    """
    return each_atom(node, lambda atom: _spelled(atom, type))


@lru_cache(maxsize=8192)
def _spelled(atom: Expression, type: EventType) -> Expression:
    match asked_patterns(atom, Call):
        case (Call("lower" | "upper" as case, (text,)), patterns, negated) if kind_given(text, type) is Kind.STRING:
            found = _test(case, text, patterns)
        case _:
            return atom
    if found is None or not negated:
        return atom if found is None else found
    if found == FALSE:
        return presence(text, type)
    if isinstance(found, Compare):
        return Compare("!=", text, found.right)
    assert isinstance(found, In | TextTest)
    return replace(found, negated=True)


def _test(case: str, text: Expression, patterns: list[Pattern]) -> Expression | None:
    graphs = [_graph(case, pattern) for pattern in patterns]
    known = [graph for graph in graphs if graph is not None]
    if len(known) < len(graphs):
        return None
    possible = [graph for graph in known if graph.segments is not None]
    if not possible:
        return FALSE
    if all(graph.is_whole for graph in possible) and sum(graph.count for graph in possible) <= _MOST_SPELLINGS:
        spellings = dict.fromkeys(text for graph in possible for text in graph.spellings())
        items = tuple(map(Literal, spellings))
        return Compare("=", text, items[0]) if len(items) == 1 else In(text, items)
    pattern = "|".join(graph.pattern() for graph in possible)
    any_dot = "" if all(graph.is_whole for graph in possible) else "(?s)"
    return TextTest("matches", text, any_dot + pattern) if len(pattern) <= _MOST_CHARS else None


Path = tuple[str, ...]
"""The characters that can stand in each place."""


@dataclass(frozen=True, slots=True)
class _Graph:
    """The texts that become a wanted one, segment by segment: each has ways that all take up the same characters."""

    segments: tuple[tuple[Path, ...], ...] | None
    """None when no text becomes it."""
    open_before: bool
    open_after: bool

    @property
    def is_whole(self) -> bool:
        return not self.open_before and not self.open_after

    @property
    def count(self) -> int:
        total = 1
        for segment in self.segments or ():
            total *= sum(_count(path) for path in segment)
        return total

    def spellings(self) -> Iterator[str]:
        ways = [["".join(chars) for path in segment for chars in product(*path)] for segment in self.segments or ()]
        return ("".join(parts) for parts in product(*ways))

    def pattern(self) -> str:
        """The regular expression for them."""
        segments = ["|".join("".join(map(_class, path)) for path in segment) for segment in self.segments or ()]
        joined = "".join(f"(?:{one})" if "|" in one else one for one in segments)
        return f"{'.*' if self.open_before else ''}{joined}{'.*' if self.open_after else ''}"


def _count(path: Path) -> int:
    total = 1
    for chars in path:
        total *= len(chars)
    return total


def _class(chars: str) -> str:
    inner = "".join(char if char.isalnum() or ord(char) > 127 else f"\\x{ord(char):02x}" for char in chars)
    return f"[{inner}]" if len(chars) > 1 else inner


@lru_cache(maxsize=1024)
def _graph(case: str, pattern: Pattern) -> _Graph | None:
    """The texts that fit a pattern once their case is changed; None when that cannot be said by characters."""
    before, after = pattern[:1] == (Wildcard.RUN,), pattern[-1:] == (Wildcard.RUN,) and len(pattern) > 1
    inner = pattern[1 if before else 0 : -1 if after else None]
    if (not inner and pattern) or not is_literal(inner) or (case == "lower" and _SIGMAS & set(inner)):
        return None
    wanted = text_of(inner)
    try:
        return _Graph(_segments(_edges(case, wanted, before, after), len(wanted)), before, after)
    except _TooManyError:
        return None


class _TooManyError(Exception):
    """More ways to make a few characters than are worth writing down."""


Edges = dict[tuple[int, int], list[str]]
"""From one place in the wanted text to a later one: the characters that become what stands between."""


def _edges(case: str, wanted: str, before: bool, after: bool) -> Edges:
    singles, several = _table(case)
    edges: Edges = {}
    for place, char in enumerate(wanted):
        own = singles.get(char, [char] if _CASES[case](char) == char else [])
        if own:
            edges[place, place + 1] = list(own)
    for result, chars in several.items():
        for edge in _spans(result, wanted, before, after):
            edges.setdefault(edge, []).extend(chars)
    return edges


def _spans(result: str, wanted: str, before: bool, after: bool) -> set[tuple[int, int]]:
    """Where several characters can stand in the wanted text; where it is open, they may begin or end outside of it."""
    found: set[tuple[int, int]] = set()
    for start in range(1 - len(result) if before else 0, len(wanted)):
        end = start + len(result)
        if end > len(wanted) and not after:
            continue
        inside = result[max(-start, 0) : len(wanted) - start]
        if wanted[max(start, 0) : end] == inside:
            found.add((max(start, 0), min(end, len(wanted))))
    return found


def _segments(edges: Edges, length: int) -> tuple[tuple[Path, ...], ...] | None:
    """Between two places that nothing spans: every way from the one to the other."""
    cuts = [place for place in range(length + 1) if not any(start < place < end for start, end in edges)]
    found: list[tuple[Path, ...]] = []
    for start, end in pairwise(cuts):
        ways = tuple(islice(_ways(edges, start, end), _MOST_WAYS + 1))
        if len(ways) > _MOST_WAYS:
            raise _TooManyError
        if not ways:
            return None
        found.append(ways)
    return tuple(found)


def _ways(edges: Edges, start: int, end: int) -> Iterator[Path]:
    if start == end:
        yield ()
        return
    for stop in range(start + 1, end + 1):
        chars = edges.get((start, stop))
        if chars:
            for rest in _ways(edges, stop, end):
                yield ("".join(sorted(set(chars))), *rest)


@lru_cache(maxsize=2)
def _table(case: str) -> tuple[Mapping[str, list[str]], Mapping[str, list[str]]]:
    """By what they become: the characters that become one, where another than itself does, and those that become
    several.
    """
    change = _CASES[case]
    singles: dict[str, list[str]] = {}
    several: dict[str, list[str]] = {}
    for start in range(0, sys.maxunicode + 1, _CHUNK):
        if 0xD800 <= start <= 0xDFFF:
            continue
        chars = "".join(map(chr, range(start, start + _CHUNK)))
        for char in chars if change(chars) != chars else "":
            result = change(char)
            if len(result) > 1:
                several.setdefault(result, []).append(char)
            elif result != char:
                singles.setdefault(result, [result] if change(result) == result else []).append(char)
    return singles, several
