"""For which events an expression has a value, and whether the others are only those at the ends of a kind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from comity.contract.mapping import Path
from comity.contract.shape import conditions
from comity.event.kinds import Kind, Value, timestamp_from_microseconds
from comity.event.types import ENVELOPE_NAME, EventType
from comity.expression.kinds import kind_given
from comity.expression.simplify import simplify
from comity.expression.simplify.domains import DOMAINS, float_index, raw
from comity.expression.simplify.known import each_atom
from comity.expression.simplify.ranges import range_of, say
from comity.expression.tree import (
    TRUE,
    And,
    Arithmetic,
    Attribute,
    Between,
    Compare,
    Exists,
    Expression,
    Extension,
    Literal,
    Or,
    attributes,
    conjunction,
    walk,
)

ORDINARY: dict[Kind, tuple[Value, Value]] = {
    Kind.INT: (-(10**12), 10**12),
    Kind.FLOAT: (-1e12, 1e12),
    Kind.TIMESTAMP: (datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)),
    Kind.DURATION: (timedelta(days=-3650), timedelta(days=3650)),
}
"""The values that everyday events have. What goes wrong beyond them goes wrong at the ends of a kind only."""

_SUMMED = frozenset({Kind.INT, Kind.TIMESTAMP, Kind.DURATION})


def has_value(node: Expression, type: EventType) -> Expression:
    """The filter for the events of the type for which the expression has a value, simplified.

    >>> from comity.event.types import AttributeType
    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> house = EventType("House", "city", own={"floor": AttributeType(Kind.INT)})
    >>> render(has_value(parse("floor * 2"), house))
    'floor between -4611686018427387904 and 4611686018427387903'
    """
    return settled(Compare("=", node, node), type)


def settled(tree: Expression, type: EventType) -> Expression:
    """A filter, simplified; extension functions that are declared total are taken for that."""
    found = simplify(tree, type)
    shorter = each_atom(found, lambda atom: _of_its_part(atom, type))
    return found if shorter is found else settled(shorter, type)


def _of_its_part(atom: Expression, type: EventType) -> Expression:
    """A test for a value that is there whenever one part of it is, as a test for that part."""
    if not isinstance(atom, Compare) or atom.left != atom.right:
        return atom
    match atom.left:
        case Extension(_, function, arguments) if function.total and function.pure and not function.takes_missing:
            return conjunction([Compare("=", part, part) for part in arguments])
        case node if kind_given(node, type) is None:
            return atom
        case Arithmetic("%", part, Literal(divisor)) if divisor:
            return Compare("=", part, part)
    return atom


def only_within(attribute: Attribute, node: Expression, type: EventType) -> Expression:
    """The values of an attribute for which a chain over it has a value; true when all have one."""
    found = range_of(Compare("=", node, node), type)
    if found is None:
        return has_value(node, type)
    domain = found.domain
    return TRUE if found.spans == ((domain.first, domain.last),) else say(found, type)


def reach(attribute: Attribute, kind: Kind, most: int) -> Expression:
    """The filter for the values of at most so many units, microseconds of a time."""
    low, high = DOMAINS[kind].first, DOMAINS[kind].last
    if kind is Kind.FLOAT:
        return Between(attribute, Literal(float(-most)), Literal(float(most)))
    first, last = max(-most, low), min(most, high)
    if (first, last) == (low, high):
        return TRUE
    return Between(attribute, Literal(_value(first, kind)), Literal(_value(last, kind)))


def _value(count: int, kind: Kind) -> Value:
    if kind is Kind.TIMESTAMP:
        return timestamp_from_microseconds(count)
    return timedelta(microseconds=count) if kind is Kind.DURATION else count


def is_ordinary(test: Expression, type: EventType, path: Path | None = None) -> bool:
    """Whether a filter of this kind holds for all everyday values; with `path`: of events that have this attribute."""
    match test:
        case Literal(value):
            return value is True
        case And(items):
            return all(is_ordinary(item, type, path) for item in items)
        case Or(items):
            return any(is_ordinary(item, type, path) for item in items)
    own = conditions(type, path) if path else frozenset()
    if any(not conditions(type, one) <= own for one in attributes(test)):
        return False
    if isinstance(test, Exists):
        return True
    if isinstance(test, Compare) and test.left == test.right and _is_sum(test.left, type):
        return True
    found = range_of(test, type)
    if found is None or found.attribute.path[0] == ENVELOPE_NAME:
        return False
    low, high = (_index(found.domain.kind, end) for end in ORDINARY[found.domain.kind])
    return any(first <= low and high <= last for first, last in found.spans)


def given(test: Expression, type: EventType, path: Path) -> Expression:
    """The filter for events that have the attribute: without tests for what is there whenever that is."""
    if isinstance(test, And):
        return conjunction([part for item in test.items if (part := given(item, type, path)) != TRUE])
    is_told = isinstance(test, Exists) and conditions(type, test.attribute.path) <= conditions(type, path)
    return TRUE if is_told else test


def _index(kind: Kind, value: Value) -> int:
    return float_index(value) if kind is Kind.FLOAT else int(raw(value))


def _is_sum(node: Expression, type: EventType) -> bool:
    """Whether it can only lack a value by running out of range."""
    sums = [part for part in walk(node) if not isinstance(part, Attribute | Literal)]
    return bool(sums) and all(
        isinstance(part, Arithmetic) and part.operator in "+-" and kind_given(part, type) in _SUMMED for part in sums
    )
