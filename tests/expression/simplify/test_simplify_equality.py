"""A simplified filter holds for the same events, at the last bit of every end point, and is not simplified further."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from comity.contract.mapping import Mapping, read_mapping
from comity.event.event import Event
from comity.event.kinds import INT_MAX, INT_MIN, Kind, Value
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind_text
from comity.expression.evaluate import evaluate, holds
from comity.expression.scope import Scope
from comity.expression.simplify import REWRITES, is_settled, simplify
from comity.expression.simplify.chains import chain_of
from comity.expression.simplify.domains import DOMAINS
from comity.expression.simplify.ranges import range_of
from comity.expression.tree import (
    And,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    Conditional,
    Expression,
    In,
    Literal,
    Lookup,
    Negative,
    Not,
    Or,
    TextTest,
    walk,
)
from comity.testing.expressions import SAMPLE, events, filters

LOCAL = EventType(
    "Reading",
    "plant",
    own={
        "heat": AttributeType(Kind.FLOAT, unit="degF"),
        "level": AttributeType(Kind.FLOAT, optional=True),
        "count": AttributeType(Kind.INT),
        "spare": AttributeType(Kind.INT, optional=True),
        "seen": AttributeType(Kind.TIMESTAMP, optional=True),
        "span": AttributeType(Kind.DURATION, optional=True),
        "code": AttributeType(Kind.STRING),
        "name": AttributeType(Kind.STRING, optional=True),
    },
)
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, 5 / 9, 32.0, 273.15, 1e308, -1e308, 1.7976931348623157e308, 5e-324, -5e-324]
FLOATS += [2.2250738585072014e-308, 9007199254740993.0, 9.223372036854775807e18, 1e-300, 1e16, -3.5]
INTS = [0, 1, -1, 2, -3, 7, 10**6, 2**53 + 1, INT_MAX, INT_MIN, INT_MIN + 1, INT_MAX // 2]
SPANS = [timedelta(0), timedelta(microseconds=1), timedelta(hours=-1), timedelta(days=365 * 9000), timedelta.resolution]
TIMES = [datetime(2026, 5, 1, tzinfo=UTC), datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]

numbers = st.sampled_from([*FLOATS, *INTS]) | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-99, 99)
spans = st.sampled_from(SPANS) | st.integers(-(10**13), 10**13).map(lambda count: timedelta(microseconds=count))
times = st.sampled_from(TIMES) | st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))


def _numeric_steps(inner: SearchStrategy[Expression]) -> SearchStrategy[Expression]:
    symbols, constants = st.sampled_from("+-*/%"), numbers.map(Literal)
    return st.one_of(
        st.builds(Arithmetic, symbols, inner, constants),
        st.builds(Arithmetic, symbols, constants, inner),
        st.builds(Negative, inner),
        st.builds(Call, st.sampled_from(["float", "floor", "ceil", "abs"]), st.tuples(inner)),
    )


def _of(*names: str) -> SearchStrategy[Expression]:
    return st.sampled_from([Attribute((name,)) for name in names])


numeric_chains = st.recursive(_of("heat", "level", "count", "spare"), _numeric_steps, max_leaves=5)
duration_chains = st.one_of(
    _of("span"),
    st.builds(Arithmetic, st.sampled_from("+-"), _of("span"), spans.map(Literal)),
    st.builds(Arithmetic, st.sampled_from("+-"), spans.map(Literal), _of("span")),
    st.builds(Arithmetic, st.sampled_from("*/"), _of("span"), numbers.map(Literal)),
    st.builds(Arithmetic, st.just("*"), _of("level", "count"), spans.map(Literal)),
    st.builds(Arithmetic, st.just("-"), _of("seen"), times.map(Literal)),
    st.builds(Arithmetic, st.just("-"), times.map(Literal), _of("seen")),
    st.builds(Negative, _of("span")),
)
timestamp_chains = st.one_of(
    _of("seen"),
    st.builds(Arithmetic, st.sampled_from("+-"), _of("seen"), spans.map(Literal)),
    st.builds(Arithmetic, st.just("+"), times.map(Literal), _of("span")),
    st.builds(Arithmetic, st.just("-"), times.map(Literal), _of("span")),
    st.builds(Arithmetic, st.just("+"), _of("span"), times.map(Literal)),
)
more_numeric_chains = st.one_of(
    numeric_chains,
    numeric_chains,
    st.builds(Call, st.just("year"), st.tuples(timestamp_chains)),
    st.builds(Arithmetic, st.just("/"), duration_chains, spans.map(Literal)),
)


@st.composite
def chain_atoms(draw: st.DrawFn) -> Expression:
    """A test of a chain against constants, which are often results that the chain really has."""
    chains, constants = draw(
        st.sampled_from([(more_numeric_chains, numbers), (duration_chains, spans), (timestamp_chains, times)])
    )
    chain = draw(chains)
    here = [value for event in edge_events() if (value := evaluate(chain, event)) is not None]
    constant = (st.sampled_from(here) | constants if here else constants).map(Literal)
    symbol = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "in", "between", "itself"]))
    if symbol == "in":
        return In(chain, tuple(draw(st.lists(constant, min_size=1, max_size=3))), draw(st.booleans()))
    if symbol == "between":
        return Between(chain, draw(constant), draw(constant), draw(st.booleans()))
    return Compare("=", chain, chain) if symbol == "itself" else Compare(symbol, chain, draw(constant))


def reading(**data: Value) -> Event:
    return Event("1", "/plant", "plant.Reading", TIMES[0], {"heat": 70.0, "count": 3, "code": "low", **data})


def edge_events() -> Iterator[Event]:
    yield reading()
    for name in ("heat", "level"):
        yield from (reading(**{name: value}) for value in FLOATS)
    for name in ("count", "spare"):
        yield from (reading(**{name: value}) for value in INTS)
    yield from (reading(span=value) for value in SPANS)
    yield from (reading(seen=value) for value in TIMES)
    yield from (reading(name=value) for value in ("", "a", "Main", "x Main Street, y"))
    yield from (reading(code=value) for value in ("high", "other", "a"))


def events_around(tree: Expression) -> Iterator[Event]:
    """Events with values at the end points of every range in the tree, and one step beside them."""
    for atom in walk(tree):
        found = range_of(atom, LOCAL)
        if found is None:
            continue
        for index in {end + step for span in found.spans for end in span for step in (-1, 0, 1)}:
            if found.domain.first <= index <= found.domain.last:
                yield reading(**{found.attribute.name: found.domain.value(index)})


def check(tree: Expression, more: list[Event] | None = None) -> Expression:
    after = simplify(tree, LOCAL)
    for event in [*(more or []), *edge_events(), *events_around(tree), *events_around(after)]:
        assert holds(tree, event) == holds(after, event), event
    assert simplify(after, LOCAL) == after
    return after


@given(chain_atoms())
def test_simplify_of_a_chain_is_exact_to_the_last_bit(atom: Expression) -> None:
    after = check(atom)
    operand = atom.left if isinstance(atom, Compare) else atom.operand  # type: ignore[union-attr]
    if chain_of(operand, LOCAL) is not None:
        assert not any(isinstance(part, Arithmetic | Negative | Call) for part in walk(after))


@given(chain_atoms(), st.data())
def test_simplify_of_a_chain_is_exact_anywhere(atom: Expression, data: st.DataObject) -> None:
    after = simplify(atom, LOCAL)
    paths = [part.name for part in walk(atom) if isinstance(part, Attribute)]
    for name in paths:
        domain = DOMAINS[LOCAL.attributes[name].kind]
        index = data.draw(st.integers(domain.first, domain.last))
        event = reading(**{name: domain.value(index)})
        assert holds(atom, event) == holds(after, event)


LEVELS = (("low", 1), ("mid", 2), ("high", 3), ("a", 2))
texts = st.sampled_from(["", "a", "Main", "low", "x Main Street, y", "a%", "%a", "%Main%", "_a%"])


def _made(inner: SearchStrategy[Expression]) -> SearchStrategy[Expression]:
    conditions = chain_atoms() | st.builds(TextTest, st.just("like"), _of("name", "code"), texts)
    return st.one_of(
        st.builds(Conditional, conditions, inner, inner),
        st.builds(Call, st.just("coalesce"), st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Arithmetic, st.sampled_from("+-*/"), inner, numbers.map(Literal)),
    )


made_numbers = st.recursive(
    st.one_of(
        _of("heat", "level", "count", "spare"),
        numbers.map(Literal),
        st.just(Lookup("levels", Attribute(("code",)), LEVELS)),
        st.just(Lookup("levels", Attribute(("name",)), LEVELS)),
        st.just(Lookup("marks", Attribute(("spare",)), ((0, 1.5), (7, -2), (INT_MAX, 0)))),
    ),
    _made,
    max_leaves=4,
)
made_texts = st.recursive(
    st.one_of(_of("code", "name"), texts.map(Literal)),
    lambda inner: st.one_of(
        st.builds(Arithmetic, st.just("+"), inner, inner),
        st.builds(Call, st.sampled_from(["lower", "trim"]), st.tuples(inner)),
        st.builds(Call, st.just("coalesce"), st.tuples(inner, inner)),
        st.builds(Conditional, chain_atoms(), inner, inner),
    ),
    max_leaves=4,
)


@st.composite
def made_atoms(draw: st.DrawFn) -> Expression:
    if draw(st.booleans()):
        value = draw(made_numbers)
        symbol = draw(st.sampled_from(["=", "!=", "<", ">=", "itself"]))
        return Compare("=", value, value) if symbol == "itself" else Compare(symbol, value, Literal(draw(numbers)))
    value, negated = draw(made_texts), draw(st.booleans())
    match draw(st.sampled_from(["=", "in", "itself", "like", "starts with", "ends with", "contains"])):
        case "=":
            return Compare("!=" if negated else "=", value, Literal(draw(texts)))
        case "in":
            return In(value, tuple(map(Literal, draw(st.lists(texts, min_size=1, max_size=3)))), negated)
        case "itself":
            return Compare("=", value, value)
        case test:
            return TextTest(test, value, draw(texts), negated)


made_filters: SearchStrategy[Expression] = st.recursive(
    made_atoms() | chain_atoms(),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda items: And(tuple(items))),
        st.lists(inner, min_size=1, max_size=3).map(lambda items: Or(tuple(items))),
        inner.map(Not),
    ),
    max_leaves=4,
)


@st.composite
def readings(draw: st.DrawFn) -> Event:
    data: dict[str, Any] = {}
    for name, values in {"level": st.sampled_from(FLOATS), "spare": st.sampled_from(INTS), "name": texts}.items():
        if draw(st.booleans()):
            data[name] = draw(values)
    data["code"] = draw(st.sampled_from(["low", "mid", "high", "a", "Main"]))
    return reading(heat=draw(st.sampled_from(FLOATS)), count=draw(st.sampled_from(INTS)), **data)


@given(made_filters, st.lists(readings(), max_size=5))
def test_simplify_of_conditionals_lookups_and_joined_texts_is_exact(tree: Expression, more: list[Event]) -> None:
    check(tree, more)


@given(filters(3), st.lists(events(), max_size=5))
def test_simplify_is_exact_for_every_kind_of_expression(tree: Expression, more: list[Event]) -> None:
    after = simplify(tree, SAMPLE)
    for event in more:
        assert holds(tree, event) == holds(after, event)
    assert simplify(after, SAMPLE) == after


UNITS = ["degC", "kelvin", "degF"]


def _conversion(unit: str) -> Mapping:
    target = EventType("Measured", "shared", own={"temperature": AttributeType(Kind.FLOAT, unit=unit)})
    mapping, faults = read_mapping({"temperature": "heat"}, Scope(LOCAL), target)
    assert not faults
    return mapping


CONVERSIONS = {unit: _conversion(unit) for unit in UNITS}


@given(
    st.sampled_from(UNITS),
    st.sampled_from(UNITS),
    st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    st.decimals(-500, 2000, places=2) | st.integers(-500, 2000),
)
def test_simplify_of_a_profile_through_a_change_of_units(unit: str, written: str, symbol: str, number: object) -> None:
    mapping = CONVERSIONS[unit]
    tree = mapping.translate(bind_text(f"temperature {symbol} {number} {written}", Scope(mapping.target)))
    after = check(tree)
    assert not any(isinstance(part, Arithmetic) for part in walk(after))


bare_atoms = st.one_of(
    st.builds(Compare, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), _of("heat", "count"), numbers.map(Literal)),
    st.builds(Between, _of("level", "spare"), numbers.map(Literal), numbers.map(Literal)),
    st.builds(In, _of("count", "spare"), st.lists(numbers.map(Literal), max_size=3).map(tuple), st.booleans()),
    st.builds(Compare, st.just("="), _of("code", "name"), texts.map(Literal)),
    st.builds(TextTest, st.sampled_from(["like", "starts with"]), _of("code", "name"), texts),
)
conjunctions = st.lists(bare_atoms, min_size=1, max_size=4).map(lambda items: And(tuple(items)))


@given(conjunctions | made_filters)
def test_no_rewrite_changes_what_is_settled(tree: Expression) -> None:
    for one in (tree, simplify(tree, LOCAL)):
        if is_settled(one, LOCAL):
            assert all(rewrite(one, LOCAL) == one for rewrite in REWRITES)


def test_a_range_that_is_said_by_two_atoms_is_settled() -> None:
    said = simplify(
        And((Compare(">", Attribute(("heat",)), Literal(0.1)), Compare("<=", Attribute(("heat",)), Literal(7)))), LOCAL
    )
    assert isinstance(said, And)
    assert is_settled(said, LOCAL)
    assert not is_settled(And((*said.items, said.items[0])), LOCAL)
