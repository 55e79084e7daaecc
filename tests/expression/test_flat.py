"""Flat filters: the tree that is read at once is that of the parser, or there is none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from comity.errors import Misuse
from comity.expression.flat import DEPTH, read_flat
from comity.expression.parse import _parsed, parse_text
from comity.expression.tree import Expression
from comity.limits import limited

FLAT = (
    "heat > 40",
    "heat>=-1.5e3",
    "room = 'attic' and heat <> 7 or device.serial == \"x\"",
    "room in ('a', 'b') AND heat not in (1, -2.5, true)",
    "heat BETWEEN 1 AND 2 and not_a_word Not  Between -2 and -1",
    "room starts  with 'a' and room not ends with 'b' or room like 'a%' and room matches 'a+' and room contains ''",
    "exists heat and exists event.time\n",
    "test = TRUE and test != false",
    "a = 'x'and b = 5or c = 6",
    "a = -1 and b = 2 or c = 3",
    "heat between -5.5 degC and 40degC and speed in (1 kn, 2\tkn) or way > 1e3 km",
)
"""What must be read at once, so that it is fast."""
NAMES = ("a", "b.c", "event.type", "and", "In", "starts", "ends", "andy", "truest", "iſ", "é", "x1", "`or`", "5a", "is")
OPERATORS = ("=", "==", "!=", "<>", "<", "<=", ">", ">=", "=<", "!", "===", "=-", "~")
CONSTANTS = (
    *(
        "1",
        "-1",
        "- 1",
        "+1",
        "007",
        "-0",
        "0.0",
        "-0.0",
        "1.5",
        "1.",
        ".5",
        "1e5",
        "1E-5",
        "1e999",
        "1.5e-99",
        "1e005",
    ),
    *("9" * 18, "9" * 19, "9" * 20, "-9223372036854775808", "1_000", "٣", "2024-01-01", "5 %", "1 e5"),
    *(
        "5 km",
        "5km",
        "-0.0\tkm",
        "- 5 km",
        "1e5km",
        "5 e",
        "5 e+3",
        "5e km",
        "5 inch",
        "5 in",
        "5 Andy",
        "5 And",
        "5\nkm",
    ),
    *("5 m/s", "5 m2", "5 m^2", "5 km*h", "5 µm", "5 °C", "5 k°", "5 a_b", "5 kmé", "5 iſ", "5 km 6 km"),
    *("''", "'x'", '"y"', "'it''s'", "'it\"s'", '"say ""so"""', "'# no'", "'and b = 2'", "'a\nb'", "'open", "'%_\\'"),
    *("true", "False", "trueish", "null", "a", "(1)", "point(1, 2)", "duration('PT5M')"),
)
SPACES = ("", " ", "  ", "\n", "\t", "\u00a0", " # so\n")


def mostly(good: Sequence[str], wild: Sequence[str]) -> st.SearchStrategy[str]:
    return st.tuples(st.integers(0, 9), st.sampled_from(good), st.sampled_from(wild)).map(
        lambda drawn: drawn[2] if drawn[0] == 9 else drawn[1]
    )


def spaced(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """The parts, with something between them; mostly one space."""
    gaps = mostly((" ",), SPACES)
    taken = [st.tuples(st.just(part) if isinstance(part, str) else part, gaps) for part in parts]
    return st.tuples(*taken).map(lambda pairs: "".join(part + gap for part, gap in pairs))


def word(*spellings: str) -> st.SearchStrategy[str]:
    """One of these words, in some case."""
    cased = st.sampled_from((str, str.upper, str.title))
    return st.tuples(st.sampled_from(spellings), cased).map(lambda pair: pair[1](pair[0]))


NAME = mostly(("a", "b.c", "event.type", "x1"), NAMES)
OPERATOR = mostly(("=", "!=", "<", "<=", ">", ">=", "<>", "=="), OPERATORS)
CONSTANT = mostly(("1", "-1", "-0.0", "1.5", "1e5", "'x'", '"y"', "''", "true", "False"), CONSTANTS)
NEGATION = st.one_of(st.just(""), word("not"))
TEST = word("like", "contains", "matches", "starts with", "starts  with", "ends with", "ends")
ITEMS = st.lists(CONSTANT, max_size=4).map(", ".join)
ATOMS = st.one_of(
    spaced(NAME, OPERATOR, CONSTANT),
    spaced(NAME, NEGATION, word("between"), CONSTANT, word("and"), CONSTANT),
    spaced(NAME, NEGATION, word("in"), "(", ITEMS, ")"),
    spaced(NAME, NEGATION, TEST, mostly(("'x'", "'a%'", '"y"'), CONSTANTS)),
    spaced(word("exists", "is", "not"), NAME),
)
JOINTS = spaced(word("and", "and", "or"))


def joined(first: str, others: list[tuple[str, str]]) -> str:
    return first + "".join(joint + atom for joint, atom in others)


TEXTS = st.builds(joined, ATOMS, st.lists(st.tuples(JOINTS, ATOMS), max_size=3))


def outcome(text: str) -> Expression | str:
    """What the parser makes of a text, or how it refuses it."""
    try:
        return _parsed(text)
    except Misuse as error:
        return str(error)


def check(text: str) -> None:
    try:
        flat = read_flat(text)
    except Misuse:
        flat = None
    if flat is not None:
        assert repr(flat) == repr(outcome(text)), "zeros with another sign are equal, but not the same"


@pytest.mark.parametrize("text", FLAT)
def test_common_filters_are_read_at_once(text: str) -> None:
    flat = read_flat(text)
    assert flat is not None
    assert repr(flat) == repr(_parsed(text))


@pytest.mark.parametrize("constant", CONSTANTS)
@pytest.mark.parametrize(
    "form", ["a = {}", "a between {} and {}", "a in ({}, {})", "a contains {}", "a = {} and b = 1"]
)
def test_each_constant_is_read_as_the_parser_reads_it(form: str, constant: str) -> None:
    check(form.format(constant, constant))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("operator", OPERATORS)
def test_each_name_and_operator_is_read_as_the_parser_reads_it(name: str, operator: str) -> None:
    check(f"{name} {operator} 1")
    check(f"exists {name} or x {operator} 'y'")


@settings(max_examples=500, deadline=None)
@given(TEXTS)
@example("a = 1 andy = 2")
@example("a = 1e5 and b = -0.0")
def test_what_is_read_at_once_is_what_the_parser_reads(text: str) -> None:
    check(text)


@given(st.sampled_from(FLAT), st.integers(0, 200), st.integers(0, 3), st.sampled_from("' \"=-.(),#0eéa\n"))
def test_a_slip_of_the_pen_is_read_as_the_parser_reads_it(text: str, at: int, gone: int, put: str) -> None:
    check(text[:at] + put + text[at + gone :])


@pytest.mark.parametrize("text", FLAT)
@pytest.mark.parametrize("most", range(1, DEPTH + 2))
def test_depth_is_bounded_as_by_the_parser(text: str, most: int) -> None:
    with limited(max_expression_depth=most):
        try:
            found: Expression | str = parse_text(text).tree
        except Misuse as error:
            found = str(error)
        assert found == outcome(text)


@pytest.mark.parametrize(
    ("text", "column"), [("room like 'a\\'", 13), ("heat > 1 and room matches '('", 28), ("heat =< 5", 7)]
)
def test_errors_have_the_place_that_the_parser_gives(text: str, column: int) -> None:
    with pytest.raises(Misuse) as caught:
        parse_text(text)
    assert caught.value.place is not None
    assert caught.value.place.column == column
