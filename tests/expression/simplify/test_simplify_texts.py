"""Tests of joined, cut, folded, written and read texts: simplified, they hold for the same events."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from comity.event.event import Event
from comity.event.kinds import INT_MAX, INT_MIN, Kind
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind_text
from comity.expression.evaluate import evaluate, holds
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.simplify import simplify
from comity.expression.simplify.cut_separators import cut_separators, wider_test
from comity.expression.simplify.ranges import range_of
from comity.expression.simplify.spell_cases import spell_cases
from comity.expression.simplify.split_concatenations import split_concatenations
from comity.expression.tree import Arithmetic, Attribute, Call, Compare, Expression, In, Literal, Not, TextTest, walk

PLACE = EventType(
    "Place",
    "city",
    own={
        "street": AttributeType(Kind.STRING),
        "city": AttributeType(Kind.STRING, optional=True),
        "number": AttributeType(Kind.INT, optional=True),
        "height": AttributeType(Kind.FLOAT, optional=True),
        "open": AttributeType(Kind.BOOL),
        "since": AttributeType(Kind.TIMESTAMP, optional=True),
        "span": AttributeType(Kind.DURATION, optional=True),
    },
)
STREET, CITY = Attribute(("street",)), Attribute(("city",))

# Few letters, so that separators, overlaps and repetitions are frequent.
small = st.text("ab,", max_size=5)
patterns = st.text("ab,%_", max_size=5)
separators = st.sampled_from([",", "ab", "aa", "aba", "a,", "b"])


def place(**data: Any) -> Event:
    return Event("1", "/city", "city.Place", None, {"street": "a", "open": True, **data})


def text_atoms(value: Expression, texts: SearchStrategy[str] = small) -> SearchStrategy[Expression]:
    """Every test of a text, with constants that are often results."""
    plain = st.sampled_from(["starts with", "ends with", "contains"])
    return st.one_of(
        st.builds(Compare, st.sampled_from(["=", "!="]), st.just(value), texts.map(Literal)),
        st.builds(In, st.just(value), st.lists(texts.map(Literal), min_size=1, max_size=3).map(tuple), st.booleans()),
        st.builds(TextTest, plain, st.just(value), texts, st.booleans()),
        st.builds(TextTest, st.just("like"), st.just(value), patterns, st.booleans()),
        st.just(Compare("=", value, value)),
    )


places = st.builds(
    lambda street, city: place(street=street, **({} if city is None else {"city": city})), small, st.none() | small
)


def same(tree: Expression, events: list[Event]) -> Expression:
    after = simplify(tree, PLACE)
    for event in events:
        assert holds(tree, event) == holds(after, event), (render(after), event)
        assert holds(Not(tree), event) == holds(simplify(Not(tree), PLACE), event), event
    assert simplify(after, PLACE) == after
    return after


joined_texts = st.recursive(
    st.sampled_from([STREET, CITY]) | st.text("ab,", max_size=2).map(Literal),
    lambda inner: st.builds(Arithmetic, st.just("+"), inner, inner),
    max_leaves=4,
)


@given(st.data(), joined_texts, st.lists(places, min_size=1, max_size=8))
def test_joined_texts(data: st.DataObject, value: Expression, events: list[Event]) -> None:
    results = [result for event in events if isinstance(result := evaluate(value, event), str)]
    texts = small | st.sampled_from(results) if results else small
    same(data.draw(text_atoms(value, texts)), events)


def test_a_joined_text_of_two_leaves_tests_of_each() -> None:
    scope = Scope(PLACE)
    for text, expected in {
        "street + ', ' + city like 'Main Street, %'": (
            "(street starts with 'Main Street, ' or street = 'Main Street') and exists city"
        ),
        "street + ', ' + city = 'Main Street, London'": "street = 'Main Street' and city = 'London'",
        "street + ', ' + city ends with ', London'": "city ends with ', London' or city = 'London'",
        "after(street + ', ' + city, ', ') = 'London'": "city = 'London' and street not contains ', '",
        "text(number) + ' ' + street = '5 Main Street'": "number = 5 and street = 'Main Street'",
    }.items():
        assert render(simplify(bind_text(text, scope), PLACE)) == expected


def test_a_text_that_can_be_divided_in_too_many_ways_is_left() -> None:
    tree = bind_text(f"street + city = '{'a' * 30}'", Scope(PLACE))
    assert simplify(tree, PLACE) == tree
    assert split_concatenations(tree, PLACE) == tree


cuts = st.builds(
    lambda name, text, separator: Call(name, (text, Literal(separator))),
    st.sampled_from(["before", "after", "before_last", "after_last"]),
    st.sampled_from([STREET, CITY]) | joined_texts.filter(lambda node: isinstance(node, Arithmetic)),
    separators,
)


@given(st.data(), cuts, st.lists(places, min_size=1, max_size=8))
def test_cut_texts(data: st.DataObject, value: Expression, events: list[Event]) -> None:
    results = [result for event in events if isinstance(result := evaluate(value, event), str)]
    atom = data.draw(text_atoms(value, small | st.sampled_from(results) if results else small))
    same(atom, events)
    for event in events:
        assert not holds(atom, event) or all(holds(test, event) for test in wider_test(atom))


def test_cut_texts_over_all_short_texts() -> None:
    texts = [""]
    for _ in range(5):
        texts += [text + char for text in texts if len(text) == len(texts[-1]) for char in "ab"]
    texts = list(dict.fromkeys(texts))
    for name in ("before", "after", "before_last", "after_last"):
        for separator in ("a", "ab", "aa", "aba"):
            cut = Call(name, (STREET, Literal(separator)))
            for wanted in texts[:15]:
                for atom in (Compare("=", cut, Literal(wanted)), TextTest("starts with", cut, wanted)):
                    after = cut_separators(atom, PLACE)
                    assert [holds(atom, place(street=text)) for text in texts] == [
                        holds(after, place(street=text)) for text in texts
                    ], render(atom)


NASTY = "aAkKKsSſßẞiIİıįåÅÅµμΜ\u0307\u030cǰŉʼnNﬁfFiﬆtΣσςΐΪ́"
folded = st.text(NASTY, max_size=4)
CASED = [Call("lower", (STREET,)), Call("upper", (STREET,))]


@given(st.data(), st.sampled_from(CASED), st.lists(folded, min_size=1, max_size=8))
def test_texts_in_one_case(data: st.DataObject, value: Expression, texts: list[str]) -> None:
    change = str.lower if value is CASED[0] else str.upper
    wanted = folded.map(change) | folded | st.sampled_from(texts).map(change)
    parts = st.builds(lambda text, start, end: text[start:end], wanted, st.integers(0, 2), st.integers(1, 4))
    atom = data.draw(text_atoms(value, wanted | parts))
    events = [place(street=text) for text in [*texts, *(change(text) for text in texts)]]
    same(atom, events)


@pytest.mark.parametrize("name", ["lower", "upper"])
def test_texts_in_one_case_over_every_character(name: str) -> None:
    """Whatever a single character becomes, the spellings of it have that character, and no other one."""
    change = {"lower": str.lower, "upper": str.upper}[name]
    by_result: dict[str, set[str]] = {}
    for code in (*range(0xD800), *range(0xE000, sys.maxunicode + 1)):
        by_result.setdefault(change(chr(code)), set()).add(chr(code))
    several = {result: chars for result, chars in by_result.items() if len(chars) > 1 or len(result) > 1}
    for result, chars in several.items():
        if set(result) & set("σς"):
            continue
        found = spell_cases(Compare("=", Call(name, (STREET,)), Literal(result)), PLACE)
        assert not any(isinstance(node, Call) for node in walk(found)), result
        assert all(holds(found, place(street=char)) for char in chars)
        assert not any(holds(found, place(street=char)) for char in NASTY if char not in chars)


FORMATS = [
    "yyyy-MM-dd",
    "dd.MM.yyyy",
    "d.M.yyyy H",
    "h:mm a",
    "yyyyMd",
    "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "MM/yyyy",
    "HH:mm",
]
TIMES = [
    datetime(2026, 5, 1, tzinfo=UTC),
    datetime(2026, 5, 1, 13, 27, 0, 1, tzinfo=UTC),
    datetime(2026, 11, 1, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1970, 1, 1, 13, 27, tzinfo=UTC),
    datetime.min.replace(tzinfo=UTC),
    datetime.max.replace(tzinfo=UTC),
]
moments = (
    st.sampled_from(TIMES)
    | st.datetimes(timezones=st.just(UTC))
    | st.integers(0, 10**7).map(lambda seconds: TIMES[0] + timedelta(seconds=seconds))
)
numbers = st.sampled_from([0, 5, -5, 10, INT_MAX, INT_MIN]) | st.integers(-20, 20)
floats = st.sampled_from([0.0, -0.0, 5.0, 2.5, 1e16, 1e-7, -5.0, 2.0**63]) | st.floats(-20, 20)
spans = st.sampled_from([timedelta(), timedelta(minutes=5), timedelta(microseconds=-1)])


def said(kinds: list[SearchStrategy[Any]]) -> SearchStrategy[str]:
    """Texts of values, or nearly."""
    texts = st.one_of(*kinds).map(lambda value: evaluate(Call("text", (Literal(value),)), place()) or "")
    odd = st.sampled_from(
        ["05", "+5", "1e16", "5.0", "-0", "0.0", "-0.0", "true", "PT300S", "2026-05-01T02:00:00+02:00"]
    )
    return texts | odd


@st.composite
def written_atoms(draw: st.DrawFn) -> Expression:
    match draw(st.sampled_from(["text", "int", "format_time", "parse_time", "back"])):
        case "text":
            names = ["number", "height", "open", "since", "span"]
            value: Expression = Call("text", (Attribute((draw(st.sampled_from(names)),)),))
            return draw(text_atoms(value, said([numbers, floats, st.booleans(), moments, spans])))
        case "int":
            value = Call("int", (Attribute((draw(st.sampled_from(["street", "city", "number", "height"])),)),))
            return _compared(draw, value, numbers | floats)
        case "back":
            name = draw(st.sampled_from(["int", "float"]))
            value = Call(name, (Call("text", (Attribute((draw(st.sampled_from(["number", "height"])),)),)),))
            return _compared(draw, value, numbers | floats)
        case "format_time":
            format = draw(st.sampled_from(FORMATS))
            value = Call("format_time", (Attribute(("since",)), Literal(format)))
            texts = moments.map(lambda time: evaluate(Call("format_time", (Literal(time), Literal(format))), place()))
            if draw(st.booleans()):
                return Compare(draw(st.sampled_from(["<", "<=", ">", ">="])), value, Literal(draw(texts)))
            near = st.builds(lambda text, end: text[:end], texts, st.integers(1, 12))
            return draw(text_atoms(value, texts | near | st.sampled_from(["1.5.2026 07", "01.5.2026"])))
    value = Call("parse_time", (STREET, Literal(draw(st.sampled_from(FORMATS)))))
    return _compared(draw, value, moments)


def _compared(draw: st.DrawFn, value: Expression, constants: SearchStrategy[Any]) -> Expression:
    if draw(st.booleans()):
        return Compare(draw(st.sampled_from(["=", "!=", "<", ">="])), value, Literal(draw(constants)))
    return In(value, tuple(map(Literal, draw(st.lists(constants, min_size=1, max_size=3)))), draw(st.booleans()))


def _constants(tree: Expression) -> Iterator[Any]:
    yield from (node.value for node in walk(tree) if isinstance(node, Literal))


def _events_about(tree: Expression) -> Iterator[Event]:
    """With every constant of a filter, and what it becomes, as a value of the attributes that can hold it."""
    names = {int: "number", float: "height", datetime: "since", timedelta: "span"}
    yield place()
    yield place(open=False, number=5, height=5.0, since=TIMES[1], span=timedelta(minutes=5), city="5")
    for value in _constants(tree):
        if type(value) in names:
            yield place(**{names[type(value)]: value})
        if type(value) is int and abs(value) < 2**53:
            yield from (place(height=float(value) + step) for step in (0.0, 0.5))
        if isinstance(value, str):
            yield from (place(street=text, city=text) for text in (value, f"0{value}", f"-{value}", value.upper()))
        if isinstance(value, datetime):
            formats = (Literal(format) for format in FORMATS)
            yield from (place(street=evaluate(Call("format_time", (Literal(value), one)), place())) for one in formats)
    for found in (range_of(atom, PLACE) for atom in walk(tree)):
        for index in {end + step for span in found.spans for end in span for step in (-1, 0, 1)} if found else ():
            if found and found.domain.first <= index <= found.domain.last:
                yield place(**{found.attribute.name: found.domain.value(index)})


@given(written_atoms(), st.lists(moments, max_size=3), floats, numbers)
def test_written_and_read_values(tree: Expression, times: list[datetime], height: float, number: int) -> None:
    after = simplify(tree, PLACE)
    more = [place(since=time, height=height, number=number, street=str(number)) for time in times]
    same(tree, [*_events_about(tree), *_events_about(after), *more])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lower(city) = 'no'", "city in ('NO', 'No', 'nO', 'no')"),
        ("lower(city) != 'No'", "exists city"),
        ("upper(city) = 'STRASSE'", "city matches '(?:[Ssſ][Tt]|[ﬅﬆ])[Rr][Aa](?:[Ssſ][Ssſ]|ß)[Ee]'"),
        ("lower(city) starts with 'wi'", "city matches '(?s)[Ww][Iiİ].*'"),
        ("before(city, ', ') = 'Bonn'", "city starts with 'Bonn, '"),
        ("after(city, ', ') = 'Bonn'", "city ends with ', Bonn' and not city like '%, %, Bonn'"),
        ("text(height) = '2.50'", "false"),
        ("int(city) = 5", "city = '5'"),
        ("parse_time(city, 'HH:mm') = 1970-01-01T07:30:00Z", "city = '07:30'"),
        (
            "format_time(since, 'd.M.yyyy') = '1.5.2026'",
            "since >= 2026-05-01T00:00:00Z and since < 2026-05-02T00:00:00Z",
        ),
    ],
)
def test_texts_leave_comparisons_with_constants(text: str, expected: str) -> None:
    assert render(simplify(bind_text(text, Scope(PLACE)), PLACE)) == expected
