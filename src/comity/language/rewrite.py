"""Other forms of a test that hold for exactly the same events, for a language that lacks the form it is written in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from comity.event.kinds import ORDERED, Kind, comparable, kind_of
from comity.expression.simplify.spell_cases import spell_cases
from comity.expression.tree import (
    FALSE,
    And,
    Attribute,
    Between,
    Call,
    Compare,
    Exists,
    Expression,
    In,
    IsType,
    Literal,
    Not,
    Or,
    TextTest,
    children,
)
from comity.language.fold import both, either
from comity.language.numbers import in_kind
from comity.language.objections import Known
from comity.language.texts import one_of_each, same_text_tests

NEGATED = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_TYPE = Attribute(("event", "type"))
_MOST_ITEMS = 64


def same(leaf: Expression, known: Known) -> Iterator[Expression]:
    """Filters that hold for the same events as a test or its negation, the nearest form first.

    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> [render(one) for one in same(parse("x between 1 and 5"), Known())]
    ['x >= 1 and x <= 5']
    """
    if isinstance(leaf, Not):
        yield from _complement(leaf.item, known)
    else:
        yield from _simple(leaf, known)


def _complement(atom: Expression, known: Known) -> Iterator[Expression]:
    """`not (x < 5)` is `x >= 5`, or no x at all. It takes that the kinds of what is compared are known."""
    turned = _turned(atom, known)
    if turned is not None:
        absent = [
            Not(Exists(part)) for part in children(atom) if isinstance(part, Attribute) and known.may_miss(part.path)
        ]
        yield either([*absent, turned])


def _turned(atom: Expression, known: Known) -> Expression | None:
    operands = list(children(atom))
    kinds = [known.kind(one.path) if isinstance(one, Attribute) else _constant_kind(one) for one in operands]
    if None in kinds or not kinds:
        return None
    match atom:
        case Compare(operator, left, right) if comparable(*kinds) and (operator in ("=", "!=") or kinds[0] in ORDERED):
            return Compare(NEGATED[operator], left, right)
        case Between(operand, low, high, negated) if _all_comparable(kinds) and kinds[0] in ORDERED:
            return Between(operand, low, high, not negated)
        case In(operand, items, negated) if _all_comparable(kinds):
            return In(operand, items, not negated)
        case TextTest(operator, operand, text, negated) if kinds[0] is Kind.STRING or _is_member_test(atom, kinds[0]):
            return TextTest(operator, operand, text, not negated)
    return None


def _is_member_test(atom: TextTest, kind: Kind | None) -> bool:
    return kind is Kind.LIST and atom.operator == "contains"


def _constant_kind(node: Expression) -> Kind | None:
    return kind_of(node.value) if isinstance(node, Literal) else None


def _all_comparable(kinds: list[Kind | None]) -> bool:
    return all(comparable(kinds[0], kind) for kind in kinds)


def _one_of(operand: Expression, values: list[Any]) -> Expression:
    if len(values) == 1:
        return Compare("=", operand, Literal(values[0]))
    return In(operand, tuple(Literal(value) for value in values))


def _simple(atom: Expression, known: Known) -> Iterator[Expression]:
    kind = known.kind(atom_path) if (atom_path := _path(atom)) else None
    if kind in (Kind.INT, Kind.FLOAT) and (converted := in_kind(atom, kind)) is not None:
        yield converted
    match atom:
        case Compare("!=", Attribute() as left, Literal() as right) if kind in ORDERED:
            yield Or((Compare("<", left, right), Compare(">", left, right)))
        case Compare("=", Attribute() as left, Literal() as right):
            if kind in ORDERED:
                yield Between(left, right, right)
                yield And((Compare(">=", left, right), Compare("<=", left, right)))
            yield In(left, (right,))
        case Compare(operator, Attribute() as left, Literal(bool(value))) if kind is Kind.BOOL and operator == "!=":
            yield Compare("=", left, Literal(not value))
        case Compare("<=" | ">=" as operator, left, right) if kind in ORDERED or _constant_kind(right) in ORDERED:
            yield Or((Compare(operator[0], left, right), Compare("=", left, right)))
        case Between(operand, low, high, False):
            yield And((Compare(">=", operand, low), Compare("<=", operand, high)))
        case Between(Attribute() as operand, Literal() as low, Literal() as high, True) if kind in ORDERED:
            yield Or((Compare("<", operand, low), Compare(">", operand, high)))
        case In(operand, items, False) if len(items) <= _MOST_ITEMS:
            yield either(Compare("=", operand, item) for item in items)
        case In(Attribute() as operand, items, True) if kind is not None and len(items) <= _MOST_ITEMS:
            fitting = [item for item in items if comparable(kind, _constant_kind(item))]
            yield both(Compare("!=", operand, item) for item in fitting) if fitting else FALSE
        case TextTest(operator) if kind is Kind.STRING or (kind is None and operator != "contains"):
            yield from same_text_tests(atom)
            yield from _in_one_case(atom, known)
        case IsType(_, names):
            yield _one_of(_TYPE, list(names)) if names else FALSE


def _in_one_case(atom: TextTest, known: Known) -> Iterator[Expression]:
    """`lower(x) = 'abc'` for the pattern that simplification makes of it: a language may have the one or the other."""
    spelling = one_of_each(atom.text) if atom.operator == "matches" else None
    if spelling is None or known.type is None:
        return
    for case, wanted in (("lower", spelling.lower()), ("upper", spelling.upper())):
        test = Compare("!=" if atom.negated else "=", Call(case, (atom.operand,)), Literal(wanted))
        if spell_cases(test, known.type) == atom:
            yield test


def _path(atom: Expression) -> tuple[str, ...] | None:
    first = next(children(atom), None)
    return first.path if isinstance(first, Attribute) else None
