"""From a parsed tree to a bound one: names checked, units converted, types and tables resolved.

A bound tree holds no `Quantity`; every constant stands in the unit of what it is compared with. Wrong kinds,
unknown names and incompatible units are errors here, so that they never turn into a silent false later.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import assert_never

from comity.errors import Misuse, Place
from comity.event.kinds import ANY_KIND, NUMBERS, ORDERED, Kind, comparable, kind_of
from comity.event.types import AttributeType
from comity.expression.bound import Bound
from comity.expression.contexts import among, between, in_codes, in_unit, settled
from comity.expression.functions import FUNCTIONS
from comity.expression.kinds import arithmetic_kinds, call_kinds, negative_kinds
from comity.expression.parse import as_filter, parse_text
from comity.expression.scope import Scope
from comity.expression.shape import shapes_of
from comity.expression.table_rows import TableRows
from comity.expression.tree import (
    MISSING,
    And,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    Conditional,
    Exists,
    Expression,
    Extension,
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
from comity.meaning import units

_BOOL = frozenset({Kind.BOOL})
_JUST: dict[Kind | None, frozenset[Kind]] = {None: frozenset(), **{kind: frozenset({kind}) for kind in Kind}}


def bind_filter(tree: Expression, scope: Scope) -> Expression:
    """The filter over the names of the scope."""
    shapes = shapes_of(tree)
    if shapes and scope.kept.issuperset(shapes):
        return tree
    bound = _bound_filter(tree, scope)
    if shapes and bound == tree:
        scope.kept.update(shapes)
    return bound


def _bound_filter(tree: Expression, scope: Scope) -> Expression:
    match as_filter(tree):
        case And(items):
            return And(tuple([bind_filter(item, scope) for item in items]))
        case Or(items):
            return Or(tuple([bind_filter(item, scope) for item in items]))
        case Not(item):
            return Not(bind_filter(item, scope))
        case Compare(symbol, left, right):
            first, second = _pair(bind(left, scope), bind(right, scope), scope)
            _check_comparable(symbol, first, second)
            return Compare(symbol, first.node, second.node)
        case Between(operand, low, high, negated):
            return _between(bind(operand, scope), bind(low, scope), bind(high, scope), negated, scope)
        case In(operand, items, negated):
            return _in(bind(operand, scope), [bind(item, scope) for item in items], negated, scope)
        case TextTest(test, operand, text, negated):
            return _text_test(test, settled(bind(operand, scope)), text, negated, scope)
        case Exists(attribute):
            scope.attribute(attribute.path)
            return Exists(attribute)
        case IsType(name):
            return IsType(name, scope.type_names(name))
        case other:
            return other


def bind_text(text: str, scope: Scope) -> Expression:
    """Parse and bind a filter; errors point into the text.

    >>> bind_text("temperature > 30 degC", Scope()).right
    Literal(value=30)
    """
    parsed = parse_text(text)
    try:
        return bind_filter(parsed.tree, scope)
    except Misuse as error:
        raise parsed.locate(error) from None


def bind_for(tree: Expression, scope: Scope, target: AttributeType) -> Expression:
    """A value expression for an attribute of a type: of its kind, and converted into its unit."""
    bound = in_codes(in_unit(bind(tree, scope), target.unit, scope), target.codes, scope)
    if target.unit is None and bound.unit is not None:
        raise bound.unit_missing(f"is in {bound.unit}, the target has no unit")
    if bound.unit is None and target.unit is not None and not bound.is_constant:
        raise bound.unit_missing(f"has no unit, the target is in {target.unit}")
    if target.kind is Kind.FLOAT and bound.kinds & {Kind.INT}:
        return Call("float", (bound.node,))
    if target.kind not in bound.kinds:
        wrong = ", ".join(sorted(bound.kinds))
        raise bound.wrong_kind(f"the target is of kind {target.kind}, the expression gives {wrong}")
    return bound.node


def bind(node: Expression, scope: Scope) -> Bound:
    """A value expression over the names of the scope."""
    match node:
        case Literal(value):
            return Bound(node, _JUST[kind_of(value)])
        case Quantity(_, unit):
            units.check_unit(unit)
            return Bound(node, NUMBERS, unit)
        case Attribute(path):
            return _attribute(node, scope, path)
        case Arithmetic(symbol, left, right):
            return _arithmetic(symbol, bind(left, scope), bind(right, scope), scope)
        case Negative(operand):
            bound = settled(bind(operand, scope))
            kinds = _required(bound, negative_kinds(bound.kinds), "minus takes a number or a duration")
            return Bound(Negative(bound.node), kinds, bound.unit)
        case Conditional(condition, then, otherwise):
            first, second = _pair(bind(then, scope), bind(otherwise, scope), scope)
            chosen = Conditional(bind_filter(condition, scope), first.node, second.node)
            kinds = first.kinds | second.kinds
            return Bound(chosen, kinds, first.unit or second.unit, first.codes or second.codes)
        case Lookup(table, key):
            rows = TableRows(scope.table(table).items())
            kinds = frozenset(kind for kind in rows.value_kinds if kind)
            return Bound(Lookup(table, settled(bind(key, scope)).node, rows), kinds)
        case Call():
            return _call(node, scope)
        case Compare() | Between() | In() | TextTest() | Exists() | IsType() | And() | Or() | Not():
            return Bound(bind_filter(node, scope), _BOOL)
        case Extension():
            raise TypeError(f"it is bound: {node!r}")
    assert_never(node)


def _attribute(node: Attribute, scope: Scope, path: tuple[str, ...]) -> Bound:
    declared = scope.attribute(path)
    if declared is None:
        return Bound(node, ANY_KIND, scope.open_units.get(path))
    return Bound(node, _JUST[declared.kind], declared.unit, declared.codes)


def _between(operand: Bound, low: Bound, high: Bound, negated: bool, scope: Scope) -> Expression:
    first, lowest = _pair(operand, low, scope)
    again, highest = _pair(first, high, scope)
    for end in (lowest, highest):
        _check_comparable("<", again, end)
    return between(again.node, lowest.node, highest.node, negated)


def _in(operand: Bound, items: list[Bound], negated: bool, scope: Scope) -> Expression:
    members: list[Expression] = []
    for item in items:
        operand, member = _pair(operand, item, scope)
        _check_comparable("=", operand, member)
        members.append(member.node)
    return among(operand.node, members, negated)


def _text_test(test: str, operand: Bound, text: str, negated: bool, scope: Scope) -> Expression:
    _read_texts_as(Kind.STRING, operand, scope)
    wanted = {Kind.STRING, Kind.LIST} if test == "contains" else {Kind.STRING}
    _required(operand, operand.kinds & wanted, f"`{test}` takes a string")
    return TextTest(test, operand.node, text, negated)


def _call(node: Call, scope: Scope) -> Bound:
    if node.function in ("value", "quantity"):
        return _unit_call(node, scope)
    arguments = [bind(argument, scope) for argument in node.arguments]
    if node.function == "coalesce":
        return _coalesce(arguments, scope)
    arguments = [settled(argument) for argument in arguments]
    if node.function in scope.functions:
        return _extension(node.function, arguments, scope)
    function = FUNCTIONS.get(node.function)
    if function is None:
        known = ", ".join(sorted([*FUNCTIONS, *scope.functions, "coalesce", "lookup", "value", "quantity"]))
        raise Misuse(f"there is no function {node.function!r}", code="unknown-function", hint=f"known: {known}")
    if not function.accepts(len(arguments)):
        raise _wrong_arity(node.function, len(function.takes), function.optional)
    for argument, kinds in zip(arguments, function.takes, strict=False):
        _required(argument, argument.kinds & kinds, f"{node.function} takes {' or '.join(sorted(kinds))}")
    if function.check is not None:
        function.check(tuple(part.node.value if isinstance(part.node, Literal) else None for part in arguments))
    given = call_kinds(function, [argument.kinds for argument in arguments])
    unit = arguments[0].unit if function.keeps_unit else None
    return Bound(Call(node.function, tuple(argument.node for argument in arguments)), given, unit)


def _extension(name: str, arguments: list[Bound], scope: Scope) -> Bound:
    function = scope.functions[name]
    if len(arguments) != len(function.takes):
        raise _wrong_arity(name, len(function.takes))
    for argument, kinds in zip(arguments, function.takes, strict=True):
        _required(argument, argument.kinds & kinds, f"{name} takes {' or '.join(sorted(kinds))}")
    node = Extension(name, function, tuple(argument.node for argument in arguments))
    return Bound(node, frozenset({function.gives}))


def _wrong_arity(name: str, most: int, optional: int = 0) -> Misuse:
    counts = " or ".join(str(count) for count in range(most - optional, most + 1))
    return Misuse(f"{name} takes {counts} argument{'' if most == 1 else 's'}", code="arity")


def _coalesce(arguments: list[Bound], scope: Scope) -> Bound:
    if not arguments:  # what never has a value, as translated filters say it
        return Bound(MISSING, frozenset())
    first, *rest = arguments
    choices = [settled(first)]
    for argument in rest:
        choices.append(_pair(choices[0], argument, scope)[1])
    kinds = frozenset().union(*(bound.kinds for bound in choices))
    call = Call("coalesce", tuple(bound.node for bound in choices))
    return Bound(call, kinds, choices[0].unit, choices[0].codes)


def _unit_call(node: Call, scope: Scope) -> Bound:
    """`value(x, 'km')`: the plain number of x in km. `quantity(x, 'km')`: the plain number x, meant in km."""
    match node.arguments:
        case (operand, Literal(str(unit))):
            units.check_unit(unit)
            bound = bind(operand, scope)
        case _:
            raise Misuse(f"{node.function} takes a number and a unit: {node.function}(x, 'km')", code="arity")
    if node.function == "value":
        if bound.unit is None:
            raise bound.unit_missing("has no unit to convert from")
        return replace(in_unit(bound, unit, scope), unit=None)
    if bound.unit is not None:
        raise bound.unit_missing(f"is in {bound.unit} already")
    if isinstance(bound.node, Literal) and bound.kinds & NUMBERS:
        return Bound(Quantity(bound.node.value, unit), NUMBERS, unit)
    if isinstance(bound.node, Attribute) and bound.kinds == ANY_KIND:
        scope.open_units.setdefault(bound.node.path, None)  # what it holds are plain numbers, here and elsewhere
        bound = replace(bound, kinds=NUMBERS)
    return replace(bound, unit=unit)


def _arithmetic(symbol: str, left: Bound, right: Bound, scope: Scope) -> Bound:
    if symbol in "+-" or (symbol == "%" and left.unit and right.unit):
        first, second = _pair(left, _as_difference(right), scope)
        unit = first.unit or second.unit
        if symbol == "-" and first.unit and second.unit:
            unit = units.difference(first.unit)
    else:
        first, second = settled(left), settled(right)
        unit = _product_unit(symbol, first.unit, second.unit)
    kinds = arithmetic_kinds(symbol, first.kinds, second.kinds)
    described = f"{first.described()} {symbol} {second.described()} has no meaning"
    blamed = second if first.is_constant else first
    result = Bound(Arithmetic(symbol, first.node, second.node), _required(blamed, kinds, described), unit)
    if unit in (None, first.unit, second.unit) or units.dimension(unit) != "[number]":
        return result
    # Of km / m a thousand is left when the units cancel.
    return replace(in_unit(result, "dimensionless", scope), unit=None)


def _as_difference(bound: Bound) -> Bound:
    """`temperature + 9 degF` means nine degrees more, not the temperature nine degrees."""
    if isinstance(bound.node, Quantity) and bound.unit:
        unit = units.difference(bound.unit)
        return Bound(Quantity(bound.node.number, unit), bound.kinds, unit)
    return bound


def _product_unit(symbol: str, left: str | None, right: str | None) -> str | None:
    if right is None or symbol == "%":
        return left
    if left is None:
        return right if symbol == "*" else units.multiplied("dimensionless", right, divide=True)
    return units.multiplied(left, right, divide=symbol == "/")


def _pair(left: Bound, right: Bound, scope: Scope) -> tuple[Bound, Bound]:
    """Two values that meet, in one unit: a constant takes the unit of the other side, else the right side that of
    the left.
    """
    left, right = _given_unit(left, right, scope), _given_unit(right, left, scope)
    if left.is_quantity and not right.is_quantity:
        second = settled(right)
        first = in_unit(left, second.unit, scope, second)
    else:
        first = settled(left)
        second = in_codes(in_unit(right, first.unit, scope, first), first.codes, scope)
    _check_units(first, second)
    for one, other in ((first, second), (second, first)):
        for kind in other.kinds & _TEXTUAL if len(other.kinds) == 1 else ():
            _read_texts_as(kind, one, scope)
    return first, second


_TEXTUAL = frozenset({Kind.STRING, Kind.TIMESTAMP, Kind.DURATION})


def _read_texts_as(kind: Kind, bound: Bound, scope: Scope) -> None:
    """The texts of an open attribute are either texts or times, in every expression of the scope."""
    if not isinstance(bound.node, Attribute) or bound.kinds != ANY_KIND:
        return
    known = scope.open_texts.setdefault(bound.node.path, kind)
    if known is not kind:
        raise Misuse(
            f"{bound.node.name} is compared with a {known} and with a {kind}",
            code="ambiguous-kind",
            place=Place(path=bound.node.name),
            hint="declare the attribute's kind in a type",
        )


def _given_unit(bound: Bound, other: Bound, scope: Scope) -> Bound:
    """An open attribute takes the unit of what it meets, the same one in every expression of the scope."""
    if not isinstance(bound.node, Attribute) or bound.kinds != ANY_KIND:
        return bound
    if not other.is_constant and other.unit is None:
        return bound
    path = bound.node.path
    if other.is_quantity and other.unit and units.is_time(other.unit):
        return bound
    if not other.is_quantity and not other.kinds & NUMBERS:
        return bound
    known = scope.open_units.setdefault(path, other.unit)
    same_meaning = known == other.unit or (known and other.unit and scope.convert_open_units)
    if not same_meaning:
        units_met = f"{known or 'no unit'} and {other.unit or 'no unit'}"
        raise Misuse(
            f"{bound.node.name} is compared with {units_met}",
            code="ambiguous-unit",
            place=Place(path=bound.node.name),
            hint="use one unit, or declare the attribute's unit in a type",
        )
    return bound if known == bound.unit else replace(bound, unit=known)


def _check_units(left: Bound, right: Bound) -> None:
    if (left.unit is None) == (right.unit is None):
        return
    bare, other = (left, right) if left.unit is None else (right, left)
    if not bare.is_constant:
        raise bare.unit_missing(f"has no unit, the other side is in {other.unit}")


def _check_comparable(symbol: str, left: Bound, right: Bound) -> None:
    if not _can_compare(symbol in ("=", "!="), left.kinds, right.kinds):
        hint = "write a time without quotes" if Kind.TIMESTAMP in left.kinds and Kind.STRING in right.kinds else None
        raise left.wrong_kind(f"{left.described()} {symbol} {right.described()} can never hold", hint)


@cache
def _can_compare(for_equality: bool, left: frozenset[Kind], right: frozenset[Kind]) -> bool:
    """Whether values of some of these kinds can be compared; there are few kinds, and fewer sets of them."""
    pairs = [one for one in left for other in right if comparable(one, other)]
    return any(for_equality or one in ORDERED for one in pairs)


def _required(bound: Bound, kinds: frozenset[Kind], message: str) -> frozenset[Kind]:
    if not kinds:
        raise bound.wrong_kind(message)
    return kinds
