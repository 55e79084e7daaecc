"""Parsing: what each form means, how tightly it binds, and errors that show the place."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.errors import Misuse, Place
from comity.event import Point
from comity.expression.driver import Unfit
from comity.expression.parse import Parsed, _driver, _parsed_with_places, as_filter, parse, parse_text
from comity.expression.render import render
from comity.expression.tree import (
    FALSE,
    TRUE,
    And,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    Conditional,
    Exists,
    Expression,
    In,
    IsType,
    Literal,
    Lookup,
    Negative,
    Not,
    Or,
    Quantity,
    TextTest,
)
from comity.limits import limited
from comity.testing import expressions

A, B, C, X = (Attribute((name,)) for name in "abcx")
ONE, TWO = Literal(1), Literal(2)
IS_A, IS_B, IS_C = (Compare("=", attribute, TRUE) for attribute in (A, B, C))


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0, micro: int = 0) -> Literal:
    return Literal(datetime(year, month, day, hour, minute, second, micro, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1", Compare("=", A, ONE)),
        ("a == 1", Compare("=", A, ONE)),
        ("a != 1", Compare("!=", A, ONE)),
        ("a <> 1", Compare("!=", A, ONE)),
        ("a<1", Compare("<", A, ONE)),
        ("a<=1", Compare("<=", A, ONE)),
        ("a>1", Compare(">", A, ONE)),
        ("a>=1", Compare(">=", A, ONE)),
        ("1 < a", Compare("<", ONE, A)),
        ("a between 1 and 2", Between(A, ONE, TWO)),
        ("a NOT BETWEEN 1 AND 2", Between(A, ONE, TWO, True)),
        ("a in (1, 2)", In(A, (ONE, TWO))),
        ("a not in (1)", In(A, (ONE,), True)),
        ("a in (-1, - 5 km, true)", In(A, (Literal(-1), Quantity(-5, "km"), TRUE))),
        ("a like 'x%'", TextTest("like", A, "x%")),
        ("a not like 'x%'", TextTest("like", A, "x%", True)),
        ("a starts with 'x'", TextTest("starts with", A, "x")),
        ("a Starts\n  With 'x'", TextTest("starts with", A, "x")),
        ("a ends with 'x'", TextTest("ends with", A, "x")),
        ("a contains 'x'", TextTest("contains", A, "x")),
        ("a matches '[a-z]+'", TextTest("matches", A, "[a-z]+")),
        ("exists a", Exists(A)),
        ("exists a.b", Exists(Attribute(("a", "b")))),
        ("is T", IsType("T")),
        ("is house.Alarm", IsType("house.Alarm")),
        ("a", IS_A),
        ("not a", Not(IS_A)),
        ("a and b", And((IS_A, IS_B))),
        ("a or b", Or((IS_A, IS_B))),
        ("true", TRUE),
        ("FALSE", FALSE),
        ("if a then b else c", Or((And((IS_A, IS_B)), And((Not(IS_A), IS_C))))),
        ("(if a then 1 else 2) = x", Compare("=", Conditional(IS_A, ONE, TWO), X)),
        ("a = (b = c)", Compare("=", A, Compare("=", B, C))),
        ("lookup('t', a) = 1", Compare("=", Lookup("t", A), ONE)),
        ("lower(a) = 'x'", Compare("=", Call("lower", (A,)), Literal("x"))),
        ("f() = 1", Compare("=", Call("f", ()), ONE)),
        ("a = 1 # the rest is a comment", Compare("=", A, ONE)),
        ("a = b # and\n and c", And((Compare("=", A, B), IS_C))),
    ],
)
def test_as_filter(text: str, tree: Expression) -> None:
    assert as_filter(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("5", Literal(5)),
        ("0005", Literal(5)),
        ("-5", Literal(-5)),
        ("- -5", Literal(5)),
        ("+5", Literal(5)),
        ("9223372036854775807", Literal(2**63 - 1)),
        ("-9223372036854775808", Literal(-(2**63))),
        ("1.5", Literal(1.5)),
        ("1e3", Literal(1000.0)),
        ("1.5E-3", Literal(0.0015)),
        ("'it''s'", Literal("it's")),
        ('"say ""hi"""', Literal('say "hi"')),
        ("'a\nb'", Literal("a\nb")),
        ("''", Literal("")),
        ("2026-01-31", at(2026, 1, 31)),
        ("2026-01-31T12:30", at(2026, 1, 31, 12, 30)),
        ("2026-01-31T12:30:05Z", at(2026, 1, 31, 12, 30, 5)),
        ("2026-01-31t12:30:05.000001z", at(2026, 1, 31, 12, 30, 5, 1)),
        ("2026-01-31T12:30:05+02:00", at(2026, 1, 31, 10, 30, 5)),
        ("duration('PT1M30S')", Literal(timedelta(seconds=90))),
        ("duration('5 min')", Literal(timedelta(minutes=5))),
        ("bytes('aGk=')", Literal(b"hi")),
        ("point(1, -2.5)", Literal(Point(1.0, -2.5))),
        ("point(a, 1)", Call("point", (A, ONE))),
        ("5 km", Quantity(5, "km")),
        ("5km/h", Quantity(5, "km/h")),
        ("-2.5 m^2", Quantity(-2.5, "m^2")),
        ("1e3m", Quantity(1000.0, "m")),
        ("30°C", Quantity(30, "°C")),
        ("30 °C", Quantity(30, "°C")),
        ("5 *a", Arithmetic("*", Literal(5), A)),
        ("a.b.c", Attribute(("a", "b", "c"))),
        ("`my name`.`b.c`", Attribute(("my name", "b.c"))),
        ("`and`", Attribute(("and",))),
        ("Größe", Attribute(("Größe",))),
        ("order", Attribute(("order",))),
        ("nota", Attribute(("nota",))),
        ("starts", Attribute(("starts",))),
    ],
)
def test_parse_value(text: str, tree: Expression) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize("text", ["a and or", "and = 1", "a > IN", "exists is", "a.or = 1", "is like", "else(1) = 1"])
def test_keywords_are_no_names(text: str) -> None:
    with pytest.raises(Misuse) as caught:
        parse(text)
    assert caught.value.code == "syntax"


def test_literals_of_different_kinds_differ() -> None:
    assert len({Literal(1), Literal(1.0), Literal(True)}) == 3


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("a or b and c", "a or (b and c)"),
        ("not a and b", "(not a) and b"),
        ("not a = b", "not (a = b)"),
        ("not a or b and not c", "(not a) or (b and (not c))"),
        ("x + 1 * 2 = 1", "x + (1 * 2) = 1"),
        ("x - 1 - 2 = 1", "(x - 1) - 2 = 1"),
        ("x / 2 * 3 % 4 = 1", "((x / 2) * 3) % 4 = 1"),
        ("-x * 2 = 1", "(-x) * 2 = 1"),
        ("x -1 = 1", "x - 1 = 1"),
        ("x between 1 and 2 and a", "(x between 1 and 2) and a"),
        ("x between 1 + 1 and 2 * 3 or a", "(x between (1 + 1) and (2 * 3)) or a"),
        ("x + 1 in (2)", "(x + 1) in (2)"),
        ("a and b and c", "(a and b) and c"),
        ("a and (b and c)", "a and b and c"),
        ("a or (b or c)", "(a or b) or c"),
        ("x = if a then 1 else 2", None),
        ("if a then 1 else if b then 2 else 3", "if a then 1 else (if b then 2 else 3)"),
    ],
)
def test_precedence(text: str, same_as: str | None) -> None:
    if same_as is None:
        with pytest.raises(Misuse):
            parse(text)
    else:
        assert parse(text) == parse(same_as)


def test_minus_binds_tighter_than_product() -> None:
    assert parse("-a * b") == Arithmetic("*", Negative(A), B)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "ends too early"),
        ("  ", 1, 1, "ends too early"),
        ("a >", 1, 4, "ends too early"),
        ("(a", 1, 3, "ends too early"),
        ("a = b = c", 1, 7, "'=' does not fit"),
        ("a < b < c", 1, 7, "'<' does not fit"),
        ("a and\n  or b", 2, 3, "'or' does not fit"),
        ("a =\n  b ? c", 2, 5, "'?' does not fit"),
        ("a = 'x", 1, 5, "no closing quote"),
        ("`a = 5", 1, 1, "no closing quote"),
        ("a = .5", 1, 5, "'.' does not fit"),
        ("a = 5.", 1, 6, "'.' does not fit"),
        ("a in ()", 1, 7, "'\\)' does not fit"),
        ("a like b", 1, 8, "'b' does not fit"),
        ("a not = 5", 1, 7, "'=' does not fit"),
        ("a is T", 1, 3, "'is' does not fit"),
        ("exists 5", 1, 8, "'5' does not fit"),
        ("x between 1", 1, 12, "ends too early"),
        ("a\0 = 1", 1, 2, "does not fit"),
    ],
)
def test_syntax_errors_show_the_place(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(Misuse, match=message) as caught:
        parse(text)
    error = caught.value
    assert error.code == "syntax"
    assert error.place is not None
    assert (error.place.line, error.place.column) == (line, column)
    assert error.hint is not None
    assert error.hint.startswith("expected ")
    shown, caret = (error.excerpt or "").split("\n")
    assert shown[2:] == text.split("\n")[line - 1]
    assert caret == " " * (column + 1) + "^"


def test_a_long_line_is_cut_around_the_place() -> None:
    with pytest.raises(Misuse) as caught:
        parse("a = 1 and " * 50 + "!" + " and a = 1" * 50)
    shown, caret = (caught.value.excerpt or "").split("\n")
    assert len(shown) <= 102
    assert shown[caret.index("^")] == "!"


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("a = 99999999999999999999", "integer-out-of-range", (1, 5)),
        ("a = 9223372036854775808", "integer-out-of-range", (1, 5)),
        ("a = -9223372036854775809", "integer-out-of-range", (1, 6)),
        ("a = -(-9223372036854775808)", "integer-out-of-range", (1, 8)),
        ("a in (1,\n 123456789012345678901234567890)", "integer-out-of-range", (2, 2)),
        ("a =\n 1e400", "float-out-of-range", (2, 2)),
        ("a > 1e400 km", "float-out-of-range", (1, 5)),
        ("a > 2026-13-01", "bad-timestamp", (1, 5)),
        ("a > 2026-02-30T00:00:00Z", "bad-timestamp", (1, 5)),
        ("a > 2026-01-01T24:00:00Z", "bad-timestamp", (1, 5)),
        ("a > duration('P1M')", "bad-duration", (1, 5)),
        ("a > duration(5)", "bad-duration", (1, 5)),
        ("a = bytes('!')", "bad-bytes", (1, 5)),
        ("a = point(1, 'x')", "bad-point", (1, 5)),
        ("a = point(1)", "bad-point", (1, 5)),
        ("a = lookup(b)", "arity", (1, 5)),
        ("a = lookup(b, 'x')", "arity", (1, 5)),
        ("b and a like 'x\\'", "bad-like", (1, 16)),
        ("b and a matches 'x('", "bad-regex", (1, 19)),
        ("b and\n a matches '(?=x)'", "bad-regex", (2, 13)),
        ("a = '\ud800'", "bad-character", (1, 6)),
        ("a in (b)", "not-a-constant", None),
        ("a in (1 + 1)", "not-a-constant", None),
        ("a in circle(1)", "unknown-constraint", None),
        ("a in lookup('rooms', a)", "unknown-constraint", None),
        ("a in point(1, 2)", "unknown-constraint", None),
        ("a in duration('PT1S')", "unknown-constraint", None),
        ("a in rectangle(1, 2, 3)", "arity", None),
        ("a + 1 in rectangle(1, 2, 3, 4)", "constraint-operand", None),
        ("1 and a", "not-a-filter", None),
        ("not 'x'", "not-a-filter", None),
    ],
)
def test_bad_constants(text: str, code: str, place: tuple[int, int] | None) -> None:
    with pytest.raises(Misuse) as caught:
        parse(text)
    assert caught.value.code == code
    if place is not None:
        assert caught.value.place is not None
        assert (caught.value.place.line, caught.value.place.column) == place
        assert "^" in (caught.value.excerpt or "")
    str(caught.value).encode()  # what is shown can be printed


@pytest.mark.parametrize("text", ["5", "'a'", "a + 1", "lower(a)", "2026-01-01", "if a then 1 else 2"])
def test_a_value_is_no_filter(text: str) -> None:
    tree = parse(text)
    with pytest.raises(Misuse, match="not a condition") as caught:
        as_filter(tree)
    assert caught.value.code == "not-a-filter"


# Bounds


def deep(count: int) -> list[str]:
    return [
        "not " * count + "a",
        "-" * count + "a = 1",
        "a = 1" + " + 1" * count,
        "abs(" * count + "a" + ")" * count + " = 1",
        "if a then " * count + "1" + " else 2" * count,
        "if " * count + "a" + " then b else c" * count,
        "(a or (b and " * count + "c" + "))" * count,
    ]


@pytest.mark.parametrize("text", deep(10_000), ids=range(7))
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(Misuse) as caught:
        parse(text)
    assert caught.value.code == "expression-too-deep"
    assert "COMITY_MAX_EXPRESSION_DEPTH" in (caught.value.hint or "")


@pytest.mark.parametrize("text", deep(90)[:-2], ids=range(5))
def test_nesting_up_to_the_bound_is_fine(text: str) -> None:
    parse(text)


def test_parentheses_and_long_lists_are_not_nesting() -> None:
    assert parse("(" * 10_000 + "a = 1" + ")" * 10_000) == Compare("=", A, ONE)
    chain = as_filter(parse(" or ".join(["a = 1"] * 5_000)))
    assert isinstance(chain, Or)
    assert len(chain.items) == 5_000


def test_unclosed_parentheses_are_a_syntax_error_however_many() -> None:
    with pytest.raises(Misuse, match="ends too early"):
        parse("(" * 10_000 + "a")


def test_ten_megabytes_are_refused_before_they_are_read() -> None:
    with pytest.raises(Misuse, match=r"10,000,006 characters") as caught:
        parse(f"a = '{'x' * 10_000_000}'")
    assert caught.value.code == "expression-too-long"


def test_the_bounds_can_be_set() -> None:
    with limited(max_filter_chars=5), pytest.raises(Misuse, match="the limit is 5"):
        parse("a = 10")
    with limited(max_expression_depth=2), pytest.raises(Misuse, match="more than 2 levels"):
        parse("not (a = 1)")


# Places of later errors


def test_locate_points_at_the_attribute() -> None:
    parsed = parse_text("ab = 1 and\n  b = 2")
    assert isinstance(parsed, Parsed)
    error = Misuse("no", code="wrong-kind", place=None)
    assert parsed.locate(error) is error
    found = parsed.locate(Misuse("no", code="wrong-kind", place=Place(path="b")))
    assert found.place is not None
    assert (found.place.line, found.place.column, found.place.path) == (2, 3, "b")


@given(st.text(st.sampled_from("ab. ()'\"`=<>!+-*/%,0123456789eEtTzZ:\n#°µandorti"), max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        parse(text)
    except Misuse as error:
        str(error).encode()


@given(st.text(max_size=30))
def test_any_characters_are_parsed_or_refused(text: str) -> None:
    for whole in (text, f"a = '{text}'", f"`{text}` = 1", f"a like '{text}'", f"a matches '{text}'"):
        try:
            parse(whole)
        except Misuse as error:
            str(error).encode()


@pytest.mark.parametrize(
    ("text", "word"),
    [("x > 1 && y < 2", "and"), ("x > 1 || y < 2", "or"), ("!(x > 1)", "not"), ("x = 1 ∧ y = 2", "and")],
)
def test_spellings_of_other_languages_are_told_ours(text: str, word: str) -> None:
    with pytest.raises(Misuse) as error:
        parse(text)
    assert error.value.hint == f"it is written `{word}`"


# The two drivers of one grammar


@settings(max_examples=300, deadline=None)
@given(expressions.filters().map(render))
def test_both_drivers_give_the_same_tree(text: str) -> None:
    """The quick one reads what fits by itself, the one with places says the same."""
    assert _driver().parse(text)[0] == _parsed_with_places(text)


@settings(max_examples=300, deadline=None)
@given(expressions.filters().map(render), st.data())
def test_both_drivers_refuse_the_same_texts(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    spoilt = text[:at] + data.draw(
        st.sampled_from([" and ", "(", ")", "'", ".", " 5", "#", "\n", "é", " not in ", "<"])
    )
    spoilt += text[at + data.draw(st.integers(0, 3)) :]
    try:
        wanted: Expression | str = _parsed_with_places(spoilt)
    except Misuse:
        wanted = "refused"
    try:
        found: Expression | str = _driver().parse(spoilt)[0]
    except (Unfit, Misuse):
        found = "refused"
    assert found == wanted
