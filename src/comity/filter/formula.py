"""Filters in negation normal form over sets of values: what the decision procedures work on.

An atom on one attribute is a `Member`: the attribute's value lies in a set (a missing value is a value like any
other here, so the complement of a set is again a set). A comparison between attributes is a `Linear` or `Same`
relation beside the memberships that give its operands a kind. What neither can express is `Opaque`: true or false,
we cannot say which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from comity.event.event import Event
from comity.event.kinds import Kind, Point, Value, kind_of, to_microseconds
from comity.expression.evaluate import compare, holds
from comity.expression.tree import (
    MIRRORED,
    And,
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
    Not,
    Or,
    TextTest,
    attributes,
    conjunction,
    disjunction,
)
from comity.filter.linear import Linear, linear_relation
from comity.filter.sets.numbers import NumberSet
from comity.filter.sets.strings import StringSet
from comity.filter.sets.values import CLASS_OF_KIND, CLASSES, ValueSet
from comity.filter.space import TYPE_PATH, Path, Space


@dataclass(frozen=True, slots=True)
class Member:
    """The attribute's value lies in the set."""

    path: Path
    values: ValueSet


@dataclass(frozen=True, slots=True)
class Same:
    """Two attributes hold the same value (or, not `equal`, different ones); both lie in the class that stands beside
    it.
    """

    left: Path
    right: Path
    equal: bool


@dataclass(frozen=True, slots=True)
class Less:
    """One string comes before another (or, not `holds`, does not); both are strings by what stands beside it."""

    left: Path
    right: Path
    holds: bool


@dataclass(frozen=True, slots=True)
class Opaque:
    """An atom whose truth cannot be told from sets of values."""

    atom: Expression
    positive: bool


@dataclass(frozen=True, slots=True)
class All:
    items: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Any:
    items: tuple[Formula, ...]


Formula = bool | Member | Linear | Same | Less | Opaque | All | Any


def formula(node: Expression, space: Space, positive: bool = True) -> Formula:
    """The filter (or, not `positive`, its complement) over the records of the space."""
    match node:
        case And(items):
            return _joined(All if positive else Any, [formula(item, space, positive) for item in items], space)
        case Or(items):
            return _joined(Any if positive else All, [formula(item, space, positive) for item in items], space)
        case Not(item):
            return formula(item, space, not positive)
        case Literal(value):
            return (value is True) is positive
        case Compare(symbol, left, right):
            return _compare(symbol, left, right, space, positive)
        case In(Attribute(path), items, negated) if all(_is_plain(item) for item in items):
            inside, fitting = one_of([item.value for item in items], space.universe(path))  # type: ignore[union-attr]
            return _member(path, fitting.difference(inside) if negated else inside, space, positive)
        case Between() | In():
            return _range_test(node, space, positive)
        case TextTest():
            return _text_test(node, space, positive)
        case Exists(attribute):
            return _member(attribute.path, ValueSet.only_missing(), space, not positive)
        case IsType(_, names):
            return _member(TYPE_PATH, ValueSet(strings=StringSet.of(names)), space, positive)
    return Opaque(node, positive)


def _joined(node: type[All] | type[Any], items: list[Formula], space: Space) -> Formula:
    """The items joined: constants folded away, and constraints on one attribute made one."""
    ends_with = node is Any
    flat: list[Formula] = []
    for item in items:
        flat.extend(item.items) if isinstance(item, node) else flat.append(item)
    flat = _one_for_each_attribute(node, flat, space)
    if any(item is ends_with for item in flat):
        return ends_with
    flat = [item for item in flat if not isinstance(item, bool)]
    if not flat:
        return not ends_with
    return flat[0] if len(flat) == 1 else node(tuple(flat))


def _one_for_each_attribute(node: type[All] | type[Any], items: list[Formula], space: Space) -> list[Formula]:
    """The items with one set for each attribute. General languages are left alone: to join them can be costly."""
    sets: dict[Path, list[ValueSet]] = {}
    for item in items:
        if isinstance(item, Member) and item.values.strings.is_interval_union:
            sets.setdefault(item.path, []).append(item.values)
    if all(len(found) == 1 for found in sets.values()):
        return items
    others = [item for item in items if not (isinstance(item, Member) and item.values.strings.is_interval_union)]
    join = ValueSet.union if node is Any else ValueSet.intersect
    return [*(_member(path, _balanced(join, found), space, True) for path, found in sets.items()), *others]


def _balanced(join: Callable[[ValueSet, ValueSet], ValueSet], sets: list[ValueSet]) -> ValueSet:
    """All sets joined, small ones with small ones: one by one the cost of many would grow with their square."""
    while len(sets) > 1:
        pairs = zip(sets[::2], sets[1::2], strict=False)
        sets = [join(left, right) for left, right in pairs] + sets[len(sets) & ~1 :]
    return sets[0]


def _member(path: Path, values: ValueSet, space: Space, positive: bool) -> Formula:
    universe = space.universe(path)
    inside = universe.intersect(values) if positive else universe.difference(values)
    if inside.is_empty:
        return False
    return True if inside == universe else Member(path, inside)


def _compare(symbol: str, left: Expression, right: Expression, space: Space, positive: bool) -> Formula:
    if isinstance(left, Attribute) and isinstance(right, Literal) and not isinstance(right.value, Point):
        return _against_constant(symbol, left, right, space, positive)  # as nearly all are
    lifted = _lifted(symbol, left, right)
    if lifted is not None:
        return formula(lifted, space, positive)
    if not attributes(left) and not attributes(right):
        return holds(Compare(symbol, left, right), _NO_EVENT) is positive
    if isinstance(left, Literal):
        symbol, left, right = MIRRORED[symbol], right, left
    if isinstance(left, Attribute) and isinstance(right, Literal):
        return _against_constant(symbol, left, right, space, positive)
    if isinstance(left, Attribute) and isinstance(right, Attribute):
        return _between_attributes(symbol, left.path, right.path, space, positive)
    relation = linear_relation(symbol, left, right, space)
    if relation is None:
        return Opaque(Compare(symbol, left, right), positive)
    return _related(relation, space, positive)


def _against_constant(symbol: str, left: Attribute, right: Literal, space: Space, positive: bool) -> Formula:
    values = comparison_set(symbol, right.value, space.universe(left.path))
    if values is None:
        return Opaque(Compare(symbol, left, right), positive)
    return _member(left.path, values, space, positive)


_NO_EVENT = Event("", "", "")


def _lifted(symbol: str, left: Expression, right: Expression) -> Expression | None:
    """A comparison with a choice on one side, as a choice between comparisons."""
    for side, other, operator in ((left, right, symbol), (right, left, MIRRORED[symbol])):
        match side:
            case Literal(Point() as point) if isinstance(other, Attribute) and operator in ("=", "!="):
                return _at_point(other, point, operator == "=")
            case Conditional(test, then, otherwise):
                chosen = conjunction([test, Compare(operator, then, other)])
                return disjunction([chosen, conjunction([Not(test), Compare(operator, otherwise, other)])])
            case Call("coalesce", (Attribute() as first, *rest)):
                chosen = conjunction([Exists(first), Compare(operator, first, other)])
                if not rest:
                    return chosen
                remaining = Compare(operator, Call("coalesce", tuple(rest)), other)
                return disjunction([chosen, conjunction([Not(Exists(first)), remaining])])
            case Call("coalesce", (Literal() as first, *_)):
                return Compare(operator, first, other)
            case Lookup(_, key, rows) if isinstance(other, Literal):
                keys = tuple(Literal(known) for known, value in rows if compare(operator, value, other.value))
                return In(key, keys) if keys else Literal(False)
    return None


def _at_point(attribute: Attribute, point: Point, equal: bool) -> Expression:
    """A point is equal to another when both coordinates are."""
    coordinates = {name: Attribute((*attribute.path, name)) for name in ("x", "y")}
    here = conjunction([Compare("=", part, Literal(getattr(point, name))) for name, part in coordinates.items()])
    return here if equal else conjunction([*map(Exists, coordinates.values()), Not(here)])


def comparison_set(symbol: str, value: Value, universe: ValueSet) -> ValueSet | None:
    """The values that stand in the relation to a constant; None for a constant of a kind that sets do not tell
    apart.
    """
    match kind_of(value):
        case Kind.INT | Kind.FLOAT:
            return ValueSet(numbers=NumberSet.compare(symbol, value, discrete=universe.numbers.discrete))
        case Kind.TIMESTAMP:
            return ValueSet(timestamps=NumberSet.compare(symbol, to_microseconds(value), discrete=True))
        case Kind.DURATION:
            return ValueSet(durations=NumberSet.compare(symbol, to_microseconds(value), discrete=True))
        case Kind.STRING:
            return ValueSet(strings=StringSet.compare(symbol, value))
        case Kind.BOOL:
            wanted = {value} if symbol == "=" else {not value} if symbol == "!=" else set()
            return ValueSet(bools=frozenset(wanted))
    return None


def _range_test(node: Between | In, space: Space, positive: bool) -> Formula:
    """`between` and `in` as comparisons; negated they still ask for a value of a fitting kind."""
    operand = node.operand
    if isinstance(node, Between):
        tests = [Compare(">=", operand, node.low), Compare("<=", operand, node.high)]
        inside, join = conjunction(list(tests)), conjunction
    else:
        tests = [Compare("=", operand, item) for item in node.items]
        inside, join = disjunction(list(tests)), disjunction
    if not node.negated:
        return formula(inside, space, positive)
    fitting = join([disjunction([test, _opposite(test)]) for test in tests])
    return formula(conjunction([fitting, Not(inside)]), space, positive)


def _opposite(test: Compare) -> Compare:
    return Compare({">=": "<", "<=": ">", "=": "!="}[test.operator], test.left, test.right)


_PLAIN = (bool, int, float, str, datetime, timedelta)


def _is_plain(item: Expression) -> bool:
    return isinstance(item, Literal) and type(item.value) in _PLAIN


def one_of(values: list[Value], universe: ValueSet) -> tuple[ValueSet, ValueSet]:
    """The set of these values, and the set of all values of their kinds."""
    by_class: dict[str, list[Value]] = {}
    for value in values:
        number = to_microseconds(value) if isinstance(value, datetime | timedelta) else value
        by_class.setdefault(CLASS_OF_KIND[kind_of(value) or Kind.BYTES], []).append(number)
    discrete = universe.numbers.discrete
    build: dict[str, Callable[[list[Value]], object]] = {
        "numbers": lambda members: NumberSet.of(members, discrete),
        "strings": StringSet.of,
        "bools": frozenset,
        "timestamps": lambda members: NumberSet.of(members, discrete=True),
        "durations": lambda members: NumberSet.of(members, discrete=True),
    }
    inside = ValueSet(**{name: build[name](members) for name, members in by_class.items()})  # type: ignore[arg-type]
    fitting = ValueSet.none()
    for name in by_class:
        fitting = fitting.union(CLASSES[name].intersect(universe))
    return inside, fitting


def _text_test(node: TextTest, space: Space, positive: bool) -> Formula:
    operand = node.operand
    if not isinstance(operand, Attribute) or space.kind(operand.path) is Kind.LIST:
        return Opaque(node, positive)
    language = text_language(node.operator, node.text)
    wanted = language.complement() if node.negated else language
    strings = _member(operand.path, ValueSet(strings=wanted), space, positive)
    if node.operator != "contains" or space.kind(operand.path) is not None:
        return strings
    if not space.universe(operand.path).other:
        return strings
    # An open attribute may also be a list, whose members the sets do not know.
    listed = _joined(All, [_member(operand.path, ValueSet(other=True), space, True), Opaque(node, True)], space)
    unlisted = _joined(Any, [_member(operand.path, ValueSet(other=True), space, False), Opaque(node, False)], space)
    return _joined(Any, [strings, listed], space) if positive else _joined(All, [strings, unlisted], space)


def text_language(test: str, text: str) -> StringSet:
    """The strings that pass a text test."""
    match test:
        case "starts with":
            return StringSet.prefix(text)
        case "ends with":
            return StringSet.suffix(text)
        case "contains":
            return StringSet.containing(text)
        case "like":
            return StringSet.like(text)
    return StringSet.matching(text)


def _between_attributes(symbol: str, left: Path, right: Path, space: Space, positive: bool) -> Formula:
    """A comparison of two attributes: some class of values that both are in, and in which it holds."""
    branches: list[Formula] = []
    for name, whole in CLASSES.items():
        relation = _relation_in(name, symbol, left, right, space)
        members = [_member(path, whole, space, True) for path in (left, right)]
        if relation is False or False in members:
            continue
        if positive:
            branches.append(_joined(All, [*members, relation], space))
        else:
            outside = [_member(path, whole, space, False) for path in (left, right)]
            branches.append(_joined(Any, [*outside, negation(relation)], space))
    return _joined(Any if positive else All, branches, space)


def _relation_in(name: str, symbol: str, left: Path, right: Path, space: Space) -> Formula:
    if left == right and symbol in ("<=", ">="):
        symbol = "="
    if left == right:
        return symbol == "="
    if name in ("numbers", "timestamps", "durations"):
        return Linear(((left, Fraction(1)), (right, Fraction(-1))), symbol, Fraction(0), name)
    if symbol in ("=", "!="):
        return Same(left, right, symbol == "=")
    if name == "strings":
        return _string_order(symbol, left, right)
    return False


def _string_order(symbol: str, left: Path, right: Path) -> Formula:
    if symbol in (">", "<="):
        left, right = right, left
    return Less(left, right, symbol in ("<", ">"))


def _related(relation: Linear, space: Space, positive: bool) -> Formula:
    """A linear relation: its attributes are numbers, and it holds."""
    if not relation.terms:
        return relation.holds_for_constants() is positive
    whole = CLASSES[relation.values]
    if len(relation.terms) == 1:
        numbers: NumberSet = getattr(space.universe(relation.terms[0][0]), relation.values)
        path, solved = relation.solved(numbers.discrete)
        return _member(path, ValueSet(**{relation.values: solved}), space, positive)  # type: ignore[arg-type]
    if positive:
        return _joined(All, [*(_member(path, whole, space, True) for path, _ in relation.terms), relation], space)
    outside = [_member(path, whole, space, False) for path, _ in relation.terms]
    return _joined(Any, [*outside, relation.negated()], space)


def negation(item: Formula) -> Formula:
    """The complement of a relation whose operands have the right kind."""
    match item:
        case Linear():
            return item.negated()
        case Same(left, right, equal):
            return Same(left, right, not equal)
        case Less(left, right, less):
            return Less(left, right, not less)
        case Opaque(atom, positive):
            return Opaque(atom, not positive)
        case bool():
            return not item
    raise TypeError(f"not a relation: {item!r}")
