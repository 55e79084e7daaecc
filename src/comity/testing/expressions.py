"""Hypothesis strategies for bound expressions and for the events that they are about, rich in edges of the kinds.

`filters()` and `events()` are over `SAMPLE`, a type with an attribute or two of every kind; `open_filters()` and
`open_events()` are without types. The trees are bound, so they go straight into an evaluator.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from comity.event.kinds import ORDERED, Kind, Value
from comity.expression.time_formats import format_time
from comity.expression.tree import (
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
    TextTest,
)
from comity.testing.samples import OPEN_PATHS, SAMPLE, events, open_events, values

__all__ = [
    "OPEN_PATHS",
    "SAMPLE",
    "events",
    "filters",
    "open_events",
    "open_filters",
    "open_values",
    "value_expressions",
    "values",
]

Expressions = SearchStrategy[Expression]


_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "like": (
        "%",
        "",
        "a%",
        "%b",
        "%a%",
        "a_b",
        "_",
        "a%b",
        "%a%b%",
        "a\\%b",
        "a\\_b",
        "\\a%",
        "%_%_%a%",
        "a\\\\b",
        "é%",
        "_😀_",
    ),
    "matches": (
        "",
        "a.*",
        "[a-z]+",
        "(a|b)*c?",
        "a.b",
        "(?s)a.b",
        "\\d+",
        "😀|[^a]",
        "(a*)*b",
        "[^\\n]*",
        "a{2,3}|İ.*",
    ),
}


# Typed expressions

_ENVELOPE_PATHS: Mapping[Kind, tuple[tuple[str, ...], ...]] = {
    Kind.STRING: (("event", "source"), ("event", "subject")),
    Kind.INT: (("event", "sequence"),),
    Kind.TIMESTAMP: (("event", "time"),),
}
_TIME_PARTS = ("year", "month", "day", "hour", "minute", "second", "weekday")
_CUTS = ("before", "after", "before_last", "after_last")
_FORMATS = (
    *("yyyy-MM-dd", "h:mm a", "HH:mm:ss.SSSSSS", "d.M.yyyy", "yyyy-MM-dd'T'HH:mm:ss'Z'", "dd MM yyyy, hh:mm:ss.SSS a"),
    *("s", "Hm", "d''M", "[yyyy]", "nonsense"),
)
"""Of times; the last one is none."""
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


@cache
def value_expressions(kind: Kind, depth: int = 2) -> Expressions:
    """Expressions over `SAMPLE` that give values of a kind."""
    literals = () if kind in (Kind.STRUCT, Kind.LIST) else (values(kind).map(Literal),)
    paths = [Attribute(path) for path in (*_paths(kind), *_ENVELOPE_PATHS.get(kind, ()))]
    leaves = st.one_of(st.sampled_from(paths), st.sampled_from(paths), *literals)
    if depth == 0 or kind in (Kind.STRUCT, Kind.LIST):
        return leaves
    same = value_expressions(kind, depth - 1)
    condition = filters(depth - 1)
    general = (
        st.builds(Conditional, condition, same, same),
        st.builds(Call, st.just("coalesce"), st.tuples(same, same)),
        *_tables(kind),
    )
    return st.one_of(leaves, leaves, *general, *_made(kind, depth - 1))


def _paths(kind: Kind) -> list[tuple[str, ...]]:
    """Where attributes of the kind stand in `SAMPLE`, one level deep."""
    top = [(name,) for name, attribute in SAMPLE.attributes.items() if attribute.kind is kind]
    nested = [(name, inner) for name in ("device", "unit") for inner in ("serial", "load", "ports")]
    nested += [("place", "x"), ("goal", "y")]
    return top + [path for path in nested if (found := SAMPLE.attribute_at(path)) and found.kind is kind]


def _tables(kind: Kind) -> tuple[Expressions, ...]:
    def table(key: Kind, size: int) -> Expressions:
        pairs = st.dictionaries(values(key), values(kind), min_size=1, max_size=size)
        rows = pairs.map(lambda found: tuple(found.items()))
        return st.builds(Lookup, st.just("table"), value_expressions(key, 0), rows)

    return (
        table(Kind.STRING, 3),
        table(Kind.INT, 3),
        st.builds(_large_table, value_expressions(Kind.INT, 0), values(kind)),
    )


def _large_table(key: Expression, value: Value) -> Expression:
    return Lookup("large", key, tuple((number, value) for number in (*range(-20, 20), 2.0**53)))


def _made(kind: Kind, depth: int) -> tuple[Expressions, ...]:
    """Expressions whose result is of the kind, out of parts of less depth."""
    whole, real, text = (value_expressions(one, depth) for one in (Kind.INT, Kind.FLOAT, Kind.STRING))
    moment, span = value_expressions(Kind.TIMESTAMP, depth), value_expressions(Kind.DURATION, depth)
    number = whole | real
    match kind:
        case Kind.BOOL:
            return (filters(depth),)
        case Kind.INT:
            return (
                _arithmetic("+-*%", whole, whole),
                st.builds(Negative, whole),
                _calls(("abs",), whole),
                _calls(("floor", "ceil"), number),
                _calls(("length",), text),
                _calls(("int",), number | text),
                _calls(_TIME_PARTS, moment),
            )
        case Kind.FLOAT:
            extreme = st.sampled_from((Literal(1e300), Literal(1e-300)))
            return (
                _arithmetic("+-*/%", real, number),
                _arithmetic("+-*/%", number, real),
                _arithmetic("*/", real, extreme),
                _arithmetic("/", whole, whole),
                _arithmetic("/", span, span),
                st.builds(Negative, real),
                _calls(("abs",), real),
                _calls(("float",), whole | text),
            )
        case Kind.STRING:
            substring = st.tuples(text, whole) | st.tuples(text, whole, whole)
            return (
                _calls(("lower", "upper", "trim"), text),
                _arithmetic("+", text, text),
                st.builds(Call, st.just("substring"), substring),
                st.builds(Call, st.just("replace"), st.tuples(text, text, text)),
                _calls(("text",), number | moment | span | value_expressions(Kind.BOOL, depth)),
                st.builds(Call, st.sampled_from(_CUTS), st.tuples(text, text)),
                st.builds(Call, st.just("format_time"), st.tuples(moment, _formats(text))),
            )
        case Kind.TIMESTAMP:
            parsed = st.builds(Call, st.just("parse_time"), st.tuples(_times_said(), _formats(text)))
            return (_arithmetic("+-", moment, span), _arithmetic("+", span, moment), parsed)
        case Kind.DURATION:
            scaled = (_arithmetic("*/", span, number), _arithmetic("*", number, span))
            clock = _calls(("time_of_day",), moment)
            sums = (_arithmetic("-", moment, moment), _arithmetic("+-", span, span), st.builds(Negative, span))
            return (*sums, *scaled, clock)
        case Kind.POINT:
            return (st.builds(Call, st.just("point"), st.tuples(number, number)),)
    return ()


def _formats(text: Expressions) -> Expressions:
    return st.sampled_from(_FORMATS).map(Literal) | text


def _times_said() -> Expressions:
    """Texts of times: as one of the formats writes them, or nearly."""
    written = st.builds(format_time, values(Kind.TIMESTAMP), st.sampled_from(_FORMATS[:-1]))
    near = st.builds(lambda text, end: text + end, written, st.sampled_from(("", " ", "0")))
    spelled = st.sampled_from(("01:05 pm", "12:00 AM", "12:59 pM", "29.2.2023", "0000-01-01", "24:00:00.000000", "7"))
    return (near | spelled).map(Literal) | value_expressions(Kind.STRING, 0)


def _arithmetic(symbols: str, left: Expressions, right: Expressions) -> Expressions:
    return st.builds(Arithmetic, st.sampled_from(symbols), left, right)


def _calls(names: tuple[str, ...], argument: Expressions) -> Expressions:
    return st.builds(Call, st.sampled_from(names), st.tuples(argument))


@cache
def filters(depth: int = 2) -> Expressions:
    """Filters over `SAMPLE`."""
    return _connected(st.one_of(*_typed_atoms(depth)), depth, filters)


def _connected(atoms: Expressions, depth: int, deeper: Any) -> Expressions:
    if depth == 0:
        return atoms
    inner: Expressions = deeper(depth - 1)
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(atoms, atoms, st.builds(Not, inner), st.builds(And, several), st.builds(Or, several))


def _typed_atoms(depth: int) -> list[Expressions]:
    atoms: list[Expressions] = [st.builds(Exists, st.sampled_from([Attribute((name,)) for name in SAMPLE.attributes]))]
    for kind in Kind:
        groups = (Kind.INT, Kind.FLOAT) if kind.is_number else (kind,)
        left = value_expressions(kind, max(depth - 1, 0))
        right = st.one_of(*(value_expressions(one, max(depth - 1, 0)) for one in groups))
        symbols = _COMPARISONS if kind in ORDERED else _COMPARISONS[:2]
        atoms.append(st.builds(Compare, st.sampled_from(symbols), left, right))
        if kind in ORDERED:
            atoms.append(st.builds(Between, left, right, right, st.booleans()))
            constants = st.one_of(*(values(one) for one in groups)).map(Literal)
            items = st.lists(constants, min_size=1, max_size=12).map(tuple)
            atoms.append(st.builds(In, left, items, st.booleans()))
    return [*atoms, *_text_tests(value_expressions(Kind.STRING, max(depth - 1, 0))), _list_tests(), _type_tests()]


def _text_tests(operand: Expressions) -> list[Expressions]:
    plain = st.sampled_from(("starts with", "ends with", "contains"))
    tests: list[Expressions] = [st.builds(TextTest, plain, operand, values(Kind.STRING), st.booleans())]
    for test, patterns in _PATTERNS.items():
        tests.append(st.builds(TextTest, st.just(test), operand, st.sampled_from(patterns), st.booleans()))
    return tests


def _list_tests() -> Expressions:
    lists = value_expressions(Kind.LIST, 0)
    return st.builds(TextTest, st.just("contains"), lists, values(Kind.STRING), st.booleans())


def _type_tests() -> Expressions:
    return st.sampled_from([IsType("Sample", ("test.Sample",)), IsType("Some", ("test.Other", "test.More"))])


# Open expressions


@cache
def open_values(depth: int = 2) -> Expressions:
    """Expressions without types: any operator on anything."""
    kinds = (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.STRING, Kind.TIMESTAMP, Kind.DURATION)
    constants = st.one_of(*(values(kind) for kind in kinds)).map(Literal)
    paths = [Attribute(path) for path in (*OPEN_PATHS, *(path for some in _ENVELOPE_PATHS.values() for path in some))]
    leaves = st.one_of(st.sampled_from(paths), st.sampled_from(paths), constants)
    if depth == 0:
        return leaves
    inner = open_values(depth - 1)
    return st.one_of(
        leaves,
        leaves,
        _arithmetic("+-*/%", inner, inner),
        st.builds(Negative, inner),
        _calls(("lower", "upper", "trim", "length", "abs", "floor", "ceil", "float", *_TIME_PARTS), inner),
        _calls(("text", "int", "time_of_day"), inner),
        st.builds(Call, st.sampled_from(_CUTS), st.tuples(inner, inner)),
        st.builds(Call, st.sampled_from(("parse_time", "format_time")), st.tuples(inner, _formats(inner))),
        st.builds(Call, st.just("coalesce"), st.tuples(inner, inner)),
        st.builds(Call, st.just("substring"), st.tuples(inner, inner)),
        st.builds(Conditional, open_filters(depth - 1), inner, inner),
        st.builds(Lookup, st.just("table"), inner, _open_rows()),
        open_filters(depth - 1),
    )


def _open_rows() -> SearchStrategy[tuple[tuple[Value, Value], ...]]:
    scalar = st.one_of(*(values(kind) for kind in (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.STRING, Kind.TIMESTAMP)))
    return st.lists(st.tuples(scalar, scalar), min_size=1, max_size=3).map(tuple)


@cache
def open_filters(depth: int = 2) -> Expressions:
    """Filters without types."""
    operand = open_values(max(depth - 1, 0))
    kinds = (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.STRING, Kind.TIMESTAMP, Kind.DURATION)
    constants = st.one_of(*(values(kind) for kind in kinds)).map(Literal)
    atoms = st.one_of(
        st.builds(Compare, st.sampled_from(_COMPARISONS), operand, operand),
        st.builds(Compare, st.sampled_from(_COMPARISONS), operand, constants),
        st.builds(Between, operand, constants, constants, st.booleans()),
        st.builds(Between, operand, operand, operand, st.booleans()),
        st.builds(In, operand, st.lists(constants, min_size=1, max_size=5).map(tuple), st.booleans()),
        st.builds(Exists, st.sampled_from([Attribute(path) for path in OPEN_PATHS])),
        *_text_tests(operand),
        _type_tests(),
    )
    return _connected(atoms, depth, open_filters)
