"""The reference evaluator: two-valued tests, exact comparison, arithmetic with edges."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from comity.event import Event, Point
from comity.event.kinds import INT_MAX, INT_MIN
from comity.expression.bind import bind, bind_text
from comity.expression.evaluate import arithmetic, compare, evaluate, holds
from comity.expression.parse import parse
from comity.expression.scope import Scope

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
MICRO = timedelta(microseconds=1)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
FIRST = datetime(1, 1, 1, tzinfo=UTC)
LONGEST = timedelta(microseconds=INT_MAX)

DATA: dict[str, Any] = {
    "i": 7,
    "f": 2.5,
    "s": "kitchen",
    "yes": True,
    "no": False,
    "t": NEW_YEAR,
    "u": HOUR,
    "y": b"hi",
    "p": Point(1.0, 2.0),
    "d": {"n": 3, "w": "x", "d": {"n": 4}},
    "tags": ["red", "blue", 5],
    "when": "2026-01-01T00:00:00Z",
    "long": "PT1H",
}
EVENT = Event("e1", "/house", "house.Fire", NEW_YEAR, DATA, sequence=3)


def matches(text: str, **data: Any) -> bool:
    return holds(bind_text(text, Scope()), EVENT.replace(data={**DATA, **data}))


def value(text: str, **data: Any) -> Any:
    return evaluate(bind(parse(text), Scope()).node, EVENT.replace(data={**DATA, **data}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i = 7", True),
        ("i = 7.0", True),
        ("i != 7", False),
        ("i < 7.5", True),
        ("i <= 7", True),
        ("i > 7", False),
        ("i >= 7", True),
        ("7 < i", False),
        ("s = 'kitchen'", True),
        ("s < 'l'", True),
        ("s > 'Kitchen'", True),
        ("'é' > 'z'", True),
        ("yes", True),
        ("no", False),
        ("yes != no", True),
        ("t = 2026-01-01", True),
        ("t < 2026-01-01T00:00:00.000001Z", True),
        ("u = 60 min", True),
        ("u > 3599.999999 s", True),
        ("y = bytes('aGk=')", True),
        ("p = point(1, 2)", True),
        ("p.x = 1 and p.y = 2", True),
        ("d = d", True),
        ("d.n = 3", True),
        ("d.d.n = 4", True),
        ("tags = tags", True),
        ("i between 7 and 8", True),
        ("i between 8 and 6", False),
        ("i not between 8 and 6", True),
        ("i not between 1 and 6.5", True),
        ("i in (1, 7)", True),
        ("i in (7.0)", True),
        ("i not in (1, 2)", True),
        ("s in ('a', 'kitchen')", True),
        ("s like 'k%'", True),
        ("s like 'k_tchen'", True),
        ("s like 'K%'", False),
        ("s not like 'k%'", False),
        ("s starts with 'kit'", True),
        ("s ends with 'chen'", True),
        ("s contains 'tch'", True),
        ("s contains ''", True),
        ("s not contains 'x'", True),
        ("s matches 'k.*n'", True),
        ("s matches 'kit'", False),
        ("s not matches 'kit'", True),
        ("tags contains 'red'", True),
        ("tags contains 're'", False),
        ("tags not contains 'green'", True),
        ("exists s", True),
        ("exists d", True),
        ("exists d.n", True),
        ("exists p.x", True),
        ("is house.Fire", True),
        ("is house.Flood", False),
        ("event.id = 'e1' and event.source = '/house'", True),
        ("event.type = 'house.Fire'", True),
        ("event.time = 2026-01-01", True),
        ("event.sequence = 3", True),
        ("exists event.subject", False),
        ("not (i = 7)", False),
        ("i = 7 and s = 'x'", False),
        ("i = 7 or s = 'x'", True),
        ("true", True),
        ("false", False),
        ("if yes then i = 7 else i = 8", True),
        ("(if no then 1 else 2) = 2", True),
        ("yes = (i > 3)", True),
        ("p in rectangle(0, 0, 1, 2)", True),
        ("p not in rectangle(0, 0, 1, 1)", True),
    ],
)
def test_operators(text: str, expected: bool) -> None:
    assert matches(text) is expected


# Two values, never a third

ATOMS = [
    "{} = 1",
    "{} != 1",
    "{} < 1",
    "{} >= 1",
    "1 < {}",
    "{} between 1 and 2",
    "{} not between 1 and 2",
    "{} in (1, 2)",
    "{} not in (1, 2)",
    "{} + 1 > 0",
    "-{} != 5",
    "abs({}) >= 0",
    "i = {}",
    "i != {}",
    "i between {} and 9",
    "i not between {} and 9",
]
TEXT_ATOMS = [
    "{} = 'a'",
    "{} != 'a'",
    "{} < 'a'",
    "{} like 'a%'",
    "{} not like 'a%'",
    "{} starts with 'a'",
    "{} not starts with 'a'",
    "{} not ends with 'a'",
    "{} not contains 'a'",
    "{} not matches 'a'",
    "{} not in ('a')",
    "{} not between 'a' and 'b'",
    "lower({}) != 'a'",
]


@pytest.mark.parametrize("atom", [*ATOMS, *TEXT_ATOMS, "exists {}"])
@pytest.mark.parametrize("name", ["gone", "d.gone", "s.gone", "i.x.y", "p.z"])
def test_an_atom_on_a_missing_attribute_is_false(atom: str, name: str) -> None:
    assert matches(atom.format(name)) is False
    assert matches(f"not ({atom.format(name)})") is True


@pytest.mark.parametrize("atom", ATOMS)
@pytest.mark.parametrize("name", ["s", "yes", "t", "y", "p", "d", "tags"])
def test_an_atom_for_numbers_is_false_on_other_kinds(atom: str, name: str) -> None:
    assert matches(atom.format(name)) is False
    assert matches(f"not ({atom.format(name)})") is True


@pytest.mark.parametrize("atom", TEXT_ATOMS)
@pytest.mark.parametrize("name", ["i", "f", "yes", "t", "y", "p", "d"])
def test_an_atom_for_texts_is_false_on_other_kinds(atom: str, name: str) -> None:
    assert matches(atom.format(name)) is False
    assert matches(f"not ({atom.format(name)})") is True


@pytest.mark.parametrize("text", ["yes < true", "yes >= false", "d < d", "p <= p", "y > bytes('aA==')", "tags >= tags"])
def test_some_kinds_have_no_order(text: str) -> None:
    left, symbol, right = text.split(" ", 2)
    values = [value(left), value(right)]
    assert compare(symbol, *values) is False
    assert compare("=", values[0], values[0]) is True


def test_bools_are_no_numbers() -> None:
    assert matches("yes = 1") is False
    assert matches("yes != 1") is False
    assert matches("yes in (1)") is False
    assert matches("yes + 1 = 2") is False
    assert compare("=", [True], [True]) is True


def test_missing_is_equal_to_nothing_not_even_missing() -> None:
    assert matches("gone = gone") is False
    assert matches("gone != gone") is False
    assert matches("gone = other_gone") is False


def test_not_in_asks_for_a_kind_that_occurs_in_the_list() -> None:
    assert matches("i not in ('a', 'b')") is False
    assert matches("i not in ('a', 8)") is True
    assert matches("yes not in (false, 3)") is True


def test_texts_are_read_as_times_where_they_meet_times() -> None:
    assert matches("when = 2026-01-01") is True
    assert matches("when between 2025-01-01 and 2027-01-01") is True
    assert matches("when in (2026-01-01)") is True
    assert matches("long = 60 min") is True
    assert matches("s > 2026-01-01") is False
    assert matches("s != 2026-01-01") is False
    assert matches("t = when") is True


# Exact comparison

BIG = 2**53


@pytest.mark.parametrize(
    ("symbol", "left", "right", "expected"),
    [
        ("=", BIG + 1, float(BIG), False),
        (">", BIG + 1, float(BIG), True),
        ("!=", BIG + 1, float(BIG), True),
        ("<", float(BIG), BIG + 1, True),
        ("=", BIG, float(BIG), True),
        ("<", INT_MAX, float(2**63), True),
        ("=", INT_MIN, float(-(2**63)), True),
        ("=", 0.0, -0.0, True),
        ("=", 0.1 + 0.2, 0.3, False),
        ("<", 1, math.nextafter(1.0, 2), True),
    ],
)
def test_ints_and_floats_compare_exactly(symbol: str, left: Any, right: Any, expected: bool) -> None:
    assert compare(symbol, left, right) is expected


comparable_pairs = st.one_of(
    st.tuples(*[st.integers(INT_MIN, INT_MAX) | st.floats(allow_nan=False, allow_infinity=False)] * 2),
    st.tuples(*[st.text(max_size=3)] * 2),
    st.tuples(*[st.datetimes(timezones=st.just(UTC))] * 2),
)


@given(comparable_pairs)
def test_order_is_total_on_comparable_values(pair: tuple[Any, Any]) -> None:
    left, right = pair
    assert [compare(symbol, left, right) for symbol in ("<", "=", ">")].count(True) == 1
    assert compare("<=", left, right) is not compare(">", left, right)
    assert compare(">=", left, right) is not compare("<", left, right)
    assert compare("!=", left, right) is not compare("=", left, right)
    assert compare("<", left, right) is compare(">", right, left)


# Arithmetic


@pytest.mark.parametrize(
    ("symbol", "left", "right", "expected"),
    [
        ("+", 2, 3, 5),
        ("+", 2, 0.5, 2.5),
        ("-", 2, 3, -1),
        ("*", 2, 3, 6),
        ("/", 6, 3, 2.0),
        ("/", 7, 2, 3.5),
        ("/", 1, 0, None),
        ("/", 1.0, 0.0, None),
        ("%", 1, 0, None),
        ("%", 1.5, 0, None),
        ("%", 7, 3, 1),
        ("%", -7, 3, -1),
        ("%", 7, -3, 1),
        ("%", -7, -3, -1),
        ("%", -7.5, 2, -1.5),
        ("%", 7.5, -2, 1.5),
        ("%", INT_MIN, -1, 0),
        ("+", INT_MAX, 1, None),
        ("-", INT_MIN, 1, None),
        ("*", INT_MIN, -1, None),
        ("*", 2**32, 2**31, None),
        ("*", 2**32, 2**30, 2**62),
        ("+", INT_MAX, 1.0, float(2**63)),
        ("+", 1e308, 1e308, None),
        ("*", 1e308, 10, None),
        ("/", 1e308, 1e-10, None),
        ("/", BIG + 1, 1, float(BIG)),
        ("+", "a", "b", "ab"),
        ("-", "a", "b", None),
        ("+", "a", 1, None),
        ("+", True, 1, None),
        ("+", None, 1, None),
        ("+", 1, None, None),
        ("+", b"a", b"b", None),
        ("+", [1], [2], None),
    ],
)
def test_arithmetic(symbol: str, left: Any, right: Any, expected: Any) -> None:
    found = arithmetic(symbol, left, right)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("symbol", "left", "right", "expected"),
    [
        ("-", NEW_YEAR + HOUR, NEW_YEAR, HOUR),
        ("-", NEW_YEAR, NEW_YEAR + HOUR, -HOUR),
        ("+", NEW_YEAR, HOUR, NEW_YEAR + HOUR),
        ("+", HOUR, NEW_YEAR, NEW_YEAR + HOUR),
        ("-", NEW_YEAR, HOUR, NEW_YEAR - HOUR),
        ("-", HOUR, NEW_YEAR, None),
        ("+", NEW_YEAR, NEW_YEAR, None),
        ("+", HOUR, HOUR, 2 * HOUR),
        ("-", HOUR, HOUR, timedelta(0)),
        ("*", HOUR, 2, 2 * HOUR),
        ("*", 0.5, HOUR, HOUR / 2),
        ("/", HOUR, 4, HOUR / 4),
        ("/", HOUR, HOUR, 1.0),
        ("/", HOUR, timedelta(0), None),
        ("/", HOUR, 0, None),
        ("/", 1, HOUR, None),
        ("%", HOUR, 2, None),
        ("*", HOUR, HOUR, None),
        ("*", 5 * MICRO, 0.5, 2 * MICRO),  # halves go to the even one
        ("*", 3 * MICRO, 0.5, 2 * MICRO),
        ("/", 2 * MICRO, 3, MICRO),
        ("+", LAST, MICRO, None),
        ("-", FIRST, MICRO, None),
        ("+", LAST - HOUR, HOUR, LAST),
        ("-", LAST, FIRST, LAST - FIRST),
        ("+", LONGEST, MICRO, None),
        ("*", LONGEST, 2, None),
        ("*", LONGEST, 1.0, None),
        ("-", -LONGEST, 2 * MICRO, None),
        ("+", HOUR, 1, None),
        ("+", NEW_YEAR, 1, None),
    ],
)
def test_time_arithmetic(symbol: str, left: Any, right: Any, expected: Any) -> None:
    assert arithmetic(symbol, left, right) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-i", -7),
        ("-(-i)", 7),
        ("-u", -HOUR),
        ("-s", None),
        ("i + f * 2", 12.0),
        ("s + '!' + s", "kitchen!kitchen"),
        ("t + 90 min - t", 1.5 * HOUR),
        ("lower('ÄB')", "äb"),
        ("upper(s)", "KITCHEN"),
        ("trim('  a \t')", "a \t"),
        ("length('😀é')", 2),
        ("substring(s, 4)", "chen"),
        ("substring(s, 1, 3)", "kit"),
        ("substring(s, 5, 99)", "hen"),
        ("substring(s, 99)", ""),
        ("substring(s, 0)", None),
        ("substring(s, 1, -1)", None),
        ("replace(s, 'k', 'K')", "Kitchen"),
        ("replace(s, '', 'K')", "kitchen"),
        ("abs(-5)", 5),
        ("abs(-2.5)", 2.5),
        ("floor(-2.5)", -3),
        ("ceil(-2.5)", -2),
        ("floor(i)", 7),
        ("floor(1e300)", None),
        ("float(i)", 7.0),
        ("year(t)", 2026),
        ("hour(t + 90 min)", 1),
        ("minute(t + 90 min)", 30),
        ("point(i, f)", Point(7.0, 2.5)),
        ("coalesce(gone, i)", 7),
        ("coalesce(gone, gone)", None),
        ("lower(i)", None),
        ("lower(gone)", None),
        ("if gone = 1 then 1 else 2", 2),
        ("if yes then gone else 2", None),
        ("i > 3", True),
        ("gone > 3", False),
        ("d.d", {"n": 4}),
    ],
)
def test_values(text: str, expected: Any) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


def test_lowest_int_has_no_opposite() -> None:
    assert value("-low", low=INT_MIN) is None
    assert value("abs(low)", low=INT_MIN) is None
    assert matches("-low < 0 or -low >= 0", low=INT_MIN) is False


def test_lookup_finds_by_value() -> None:
    scope = Scope(tables={"names": {1: "one", "1": "text", 2.0: "two"}})
    tree = bind(parse("lookup('names', k)"), scope).node
    found = [evaluate(tree, Event("", "", "", data={"k": key})) for key in (1, "1", 1.0, 2, 3)]
    assert found == ["one", "text", "one", "two", None]
    assert evaluate(tree, Event("", "", "")) is None


ints = st.integers(INT_MIN, INT_MAX)
floats = st.floats(allow_nan=False, allow_infinity=False)


@given(st.sampled_from("+-*/%"), ints | floats, ints | floats)
def test_results_are_values_or_missing(symbol: str, left: Any, right: Any) -> None:
    found = arithmetic(symbol, left, right)
    both_ints = isinstance(left, int) and isinstance(right, int) and symbol != "/"
    assert found is None or type(found) is (int if both_ints else float)
    assert found is None or (INT_MIN <= found <= INT_MAX if both_ints else math.isfinite(found))


@given(ints | floats, ints | floats)
def test_remainder_has_the_sign_of_the_dividend_and_is_smaller_than_the_divisor(left: Any, right: Any) -> None:
    found = arithmetic("%", left, right)
    assume(found is not None)
    assert found is not None
    assert abs(found) < abs(float(right) if isinstance(found, float) else right)
    assert found == 0 or (found < 0) == (left < 0)


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_times_and_their_distance_agree(left: datetime, right: datetime) -> None:
    distance = arithmetic("-", left, right)
    assert arithmetic("+", right, distance) == left
    assert arithmetic("-", left, distance) == right


def test_what_is_no_filter_is_refused() -> None:
    with pytest.raises(TypeError):
        holds(parse("a"), EVENT)
