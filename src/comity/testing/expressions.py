"""Hypothesis strategies for bound expressions and for the events that they are about, rich in edges of the kinds.

`filters()` and `events()` are over `SAMPLE`, a type with an attribute or two of every kind; `open_filters()` and
`open_events()` are without types. The trees are bound, so they go straight into an evaluator.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from comity.event.event import Event
from comity.event.kinds import INT_MAX, INT_MIN, ORDERED, Kind, Point, Value
from comity.event.types import EVENT, AttributeType, EventType
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

Expressions = SearchStrategy[Expression]


def _optional(kind: Kind, **more: Any) -> AttributeType:
    return AttributeType(kind, optional=True, **more)


_DEVICE = {"serial": _optional(Kind.STRING), "load": _optional(Kind.FLOAT), "ports": _optional(Kind.INT)}
_TEXTS = AttributeType(Kind.STRING)
SAMPLE = EventType(
    "Sample",
    "test",
    parent=EVENT,
    own={
        "flag": _optional(Kind.BOOL),
        "count": _optional(Kind.INT),
        "total": AttributeType(Kind.INT),
        "level": _optional(Kind.FLOAT),
        "heat": AttributeType(Kind.FLOAT),
        "name": _optional(Kind.STRING),
        "room": AttributeType(Kind.STRING),
        "since": _optional(Kind.TIMESTAMP),
        "span": _optional(Kind.DURATION),
        "pause": _optional(Kind.DURATION),
        "raw": _optional(Kind.BYTES),
        "key": _optional(Kind.BYTES),
        "place": _optional(Kind.POINT),
        "goal": _optional(Kind.POINT),
        "device": _optional(Kind.STRUCT, attributes=_DEVICE),
        "spare": _optional(Kind.STRUCT, attributes=_DEVICE),
        "unit": _optional(Kind.STRUCT, attributes={**_DEVICE, "load": _optional(Kind.INT), "age": _optional(Kind.INT)}),
        "tags": _optional(Kind.LIST, element=_TEXTS),
        "marks": _optional(Kind.LIST, element=_TEXTS),
        "ids": _optional(Kind.LIST, element=AttributeType(Kind.INT)),
        "loads": _optional(Kind.LIST, element=AttributeType(Kind.FLOAT)),
        "times": _optional(Kind.LIST, element=AttributeType(Kind.TIMESTAMP)),
    },
)
"""A type with attributes of every kind, most of them optional."""

OPEN_PATHS = (("x",), ("y",), ("z",), ("deep", "x"), ("deep", "a/b"))
"""The attributes that open expressions read, beside the envelope."""

_INTS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    10,
    2**53 - 1,
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    2**62,
    INT_MAX,
    INT_MAX - 1,
    INT_MIN,
    INT_MIN + 1,
)
_FLOATS = (
    *(
        0.0,
        -0.0,
        0.5,
        1.0,
        -1.0,
        1.5,
        2.5,
        -2.5,
        3.0,
        7.25,
        10.0,
        1e-300,
        5e-324,
        1e15,
        2.0**53,
        2.0**53 + 2,
        -(2.0**53),
    ),
    *(2.0**62, 2.0**63, -(2.0**63), 2.0**64, 9.3e18, 1e300, 1.7976931348623157e308, -1.7976931348623157e308),
)
_WORDS = (
    *(
        "",
        "a",
        "b",
        "ab",
        "abc",
        "A",
        "Straße",
        "İstanbul",
        "ΟΔΟΣ",
        "Привет",
        "😀",
        "a😀b",
        "e\u0301",
        "\uffff",
        "\x00",
    ),
    *("a\nb", "a%b", "a_b", "a\\b", " a ", "\ta", "5", "5 min", "PT5M", "-P1DT0.5S", "true", "2024-02-29T12:00:00Z"),
    *("2024-02-29T13:00:00+01:00", "2024-02-30T12:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"),
)
_MOMENTS = (
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2024, 2, 29, 12, tzinfo=UTC),
    datetime(2024, 3, 31, 1, 30, 0, 1, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1582, 10, 10, 3, 4, 5, tzinfo=UTC),
    datetime(1883, 11, 18, 12, 3, 58, 999_999, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
)
_SPANS = (
    *(timedelta(), timedelta(microseconds=1), timedelta(microseconds=-1), timedelta(minutes=5), timedelta(days=-1.5)),
    *(timedelta(days=3_652_058), timedelta(microseconds=INT_MAX), timedelta(microseconds=-INT_MAX)),
)
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


@cache
def values(kind: Kind) -> SearchStrategy[Value]:
    """Scalar values of a kind, edges first of all."""
    match kind:
        case Kind.BOOL:
            return st.booleans()
        case Kind.INT:
            return st.sampled_from(_INTS) | st.integers(-20, 20) | st.integers(INT_MIN, INT_MAX)
        case Kind.FLOAT:
            return st.sampled_from(_FLOATS) | st.floats(allow_nan=False, allow_infinity=False)
        case Kind.STRING:
            return st.sampled_from(_WORDS) | st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=4)
        case Kind.TIMESTAMP:
            return st.sampled_from(_MOMENTS) | st.datetimes(timezones=st.just(UTC))
        case Kind.DURATION:
            return st.sampled_from(_SPANS) | st.timedeltas(timedelta(days=-400), timedelta(days=400))
        case Kind.BYTES:
            return st.sampled_from((b"", b"\x00", b"ab", b"\xff")) | st.binary(max_size=3)
        case Kind.POINT:
            number = st.sampled_from((0.0, -0.0, 1.5, -2.0))
            return st.builds(Point, number, number)
    raise ValueError(f"no single values of kind {kind}")


def _attribute_values(attribute: AttributeType) -> SearchStrategy[Value]:
    if attribute.kind is Kind.STRUCT:
        mandatory = {
            name: _attribute_values(inner) for name, inner in attribute.attributes.items() if not inner.optional
        }
        optional = {name: _attribute_values(inner) for name, inner in attribute.attributes.items() if inner.optional}
        return st.fixed_dictionaries(mandatory, optional=optional)
    if attribute.kind is Kind.LIST and attribute.element is not None:
        return st.lists(_attribute_values(attribute.element), max_size=3)
    return values(attribute.kind)


@cache
def events(type: EventType = SAMPLE) -> SearchStrategy[Event]:
    """Events of a type, with some of what is optional."""
    return _events(
        st.just(type.qualified_name), _attribute_values(AttributeType(Kind.STRUCT, attributes=type.attributes))
    )


@cache
def open_events() -> SearchStrategy[Event]:
    """Events with any JSON in the attributes of `OPEN_PATHS`."""
    scalar = st.one_of(values(Kind.BOOL), values(Kind.INT), values(Kind.FLOAT), values(Kind.STRING))
    value = scalar | st.lists(scalar, max_size=2) | st.dictionaries(st.sampled_from(("x", "a/b")), scalar, max_size=2)
    data = st.fixed_dictionaries({}, optional={"x": value, "y": value, "z": value, "deep": value})
    return _events(st.sampled_from(("test.Sample", "test.Other")), data)


def _events(types: SearchStrategy[str], data: SearchStrategy[dict[str, Value]]) -> SearchStrategy[Event]:
    return st.builds(
        Event,
        id=st.sampled_from(("1", "2", "ß")),
        source=st.sampled_from(("/a", "/b/ab")),
        type=types,
        time=st.none() | values(Kind.TIMESTAMP),
        data=data,
        subject=st.none() | st.sampled_from(("a", "ab")),
        sequence=st.none() | values(Kind.INT),
        mode=st.sampled_from((None, "live", "replay")),
        version=st.sampled_from((None, "1", "2.0")),
    )


# Typed expressions

_ENVELOPE_PATHS: Mapping[Kind, tuple[tuple[str, ...], ...]] = {
    Kind.STRING: (("event", "source"), ("event", "subject")),
    Kind.INT: (("event", "sequence"),),
    Kind.TIMESTAMP: (("event", "time"),),
}
_TIME_PARTS = ("year", "month", "day", "hour", "minute", "second")
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
                _calls(("float",), whole),
            )
        case Kind.STRING:
            substring = st.tuples(text, whole) | st.tuples(text, whole, whole)
            return (
                _calls(("lower", "upper", "trim"), text),
                _arithmetic("+", text, text),
                st.builds(Call, st.just("substring"), substring),
                st.builds(Call, st.just("replace"), st.tuples(text, text, text)),
            )
        case Kind.TIMESTAMP:
            return (_arithmetic("+-", moment, span), _arithmetic("+", span, moment))
        case Kind.DURATION:
            scaled = (_arithmetic("*/", span, number), _arithmetic("*", number, span))
            return (_arithmetic("-", moment, moment), _arithmetic("+-", span, span), st.builds(Negative, span), *scaled)
        case Kind.POINT:
            return (st.builds(Call, st.just("point"), st.tuples(number, number)),)
    return ()


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
