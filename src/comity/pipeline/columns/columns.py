"""Bound expressions as Spark columns that give what the reference evaluator gives, for every event.

A value becomes *alternatives*: a column for each kind that it can have, at most one of them not null in a row. With
types there is just one, so the column is the one that a person would write. Filters are two-valued, but at the top of a
filter null is as good as false, so only what stands under a `not` is wrapped.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from comity.event.kinds import Kind, Value
from comity.expression.evaluate import evaluate, holds
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
    Extension,
    In,
    IsType,
    Literal,
    Lookup,
    Negative,
    Not,
    Or,
    TextTest,
    depends_on_event,
)
from comity.pipeline.columns.arithmetic import arithmetic, negative
from comity.pipeline.columns.comparison import any_of, between, certain, compare, none_of, one_of, outside
from comity.pipeline.columns.extensions import extension
from comity.pipeline.columns.functions import call, lookup, text_test
from comity.pipeline.operands import (
    MAX_NODES,
    Alternatives,
    AttributeColumns,
    ColumnOperand,
    OpenColumns,
    TypedColumns,
    constant,
    first_present,
    joined,
    not_in_columns,
    open_column_name,
)

__all__ = [
    "AttributeColumns",
    "OpenColumns",
    "TypedColumns",
    "compile_filter",
    "compile_truth",
    "compile_value",
    "open_column_name",
    "value_alternatives",
]


def compile_filter(node: Expression, columns: AttributeColumns) -> Column:
    """A column for `DataFrame.filter`: true where the filter matches, else false or null."""
    return _truth(node, columns).column


def compile_truth(node: Expression, columns: AttributeColumns) -> Column:
    """A column that is true where the filter matches and false elsewhere, never null."""
    return _truth(node, columns).always


def compile_value(node: Expression, columns: AttributeColumns, kind: Kind) -> Column:
    """The value of an expression where it is of the kind, null where it is missing or of another kind."""
    found = value_alternatives(node, columns).get(kind)
    return F.lit(None) if found is None else found.present


@dataclass(frozen=True, slots=True)
class _Truth:
    """True where something holds; else false, or, unless it `is_certain`, null."""

    column: Column
    is_certain: bool = False
    size: int = 1

    @property
    def always(self) -> Column:
        return self.column if self.is_certain else certain(self.column)


class _Nothing:
    """The record that constants are evaluated in."""

    def get(self, path: tuple[str, ...]) -> Value | None:
        raise LookupError(path)


_NOTHING = _Nothing()


def _is_constant(node: Expression) -> bool:
    return not depends_on_event(node)


def _truth(node: Expression, columns: AttributeColumns) -> _Truth:
    match node:
        case And(items) | Or(items):
            return _combined(node, [_truth(item, columns) for item in items])
        case Not(Not(item)):
            return _truth(item, columns)
        case Not(item):
            inner = _truth(item, columns)
            return _Truth(~inner.always, True, inner.size + 2)
        case Exists(attribute):
            return _Truth(columns.present(attribute.path), True)
        case IsType(_, names):
            return _Truth(any_of(one_of(columns.alternatives(("event", "type")), list(names))))
    if _is_constant(node):
        return _Truth(F.lit(holds(node, _NOTHING)), True)
    return _atom(node, columns)


def _combined(node: And | Or, parts: list[_Truth]) -> _Truth:
    if not parts:
        return _Truth(F.lit(isinstance(node, And)), True)
    result, *rest = [part.column for part in parts]
    for column in rest:
        result = result & column if isinstance(node, And) else result | column
    return _Truth(result, all(part.is_certain for part in parts), sum(part.size for part in parts))


def _atom(node: Expression, columns: AttributeColumns) -> _Truth:
    match node:
        case Compare(symbol, left, right):
            operands = [value_alternatives(left, columns), value_alternatives(right, columns)]
            found = compare(symbol, operands[0], operands[1])
        case Between(operand, low, high, negated):
            operands = [value_alternatives(part, columns) for part in (operand, low, high)]
            found = (outside if negated else between)(operands[0], operands[1], operands[2])
        case In(operand, items, negated):
            operands = [value_alternatives(operand, columns)]
            found = _in(operands[0], items, negated, columns)
        case TextTest(test, operand, text, negated):
            operands = [value_alternatives(operand, columns)]
            found = text_test(test, operands[0], text)
            found = [~column for column in found] if negated else found
        case _:
            raise TypeError(f"not a filter: {node!r}")
    return _Truth(any_of(found), not found, _size(operands))


def _in(operand: Alternatives, items: tuple[Expression, ...], negated: bool, columns: AttributeColumns) -> list[Column]:
    if all(isinstance(item, Literal) for item in items):
        values = [item.value for item in items if isinstance(item, Literal)]
        return none_of(operand, values) if negated else one_of(operand, values)
    others = [value_alternatives(item, columns) for item in items]
    equal = [column for other in others for column in compare("=", operand, other)]
    if not negated:
        return equal
    unequal = [column for other in others for column in compare("!=", operand, other)]
    return [any_of(equal + unequal) & ~certain(any_of(equal))] if equal or unequal else []


def value_alternatives(node: Expression, columns: AttributeColumns) -> Alternatives:
    """The columns of an expression, one for each kind that its value can have: never another than `kinds_of` gives."""
    if _is_constant(node):
        return constant(evaluate(node, _NOTHING))
    match node:
        case Attribute(path):
            return columns.alternatives(path)
        case Arithmetic(symbol, left, right):
            return arithmetic(symbol, value_alternatives(left, columns), value_alternatives(right, columns))
        case Negative(operand):
            return negative(value_alternatives(operand, columns))
        case Call("coalesce", arguments):
            return _coalesce([value_alternatives(argument, columns) for argument in arguments])
        case Call(function, arguments):
            return call(function, tuple(value_alternatives(argument, columns) for argument in arguments))
        case Extension(_, function, arguments):
            return extension(function, tuple(value_alternatives(argument, columns) for argument in arguments))
        case Conditional(condition, then, otherwise):
            return _conditional(
                _truth(condition, columns), value_alternatives(then, columns), value_alternatives(otherwise, columns)
            )
        case Lookup(_, key, rows):
            return lookup(value_alternatives(key, columns), rows)
    truth = _truth(node, columns)
    return {Kind.BOOL: ColumnOperand(truth.always, size=truth.size)}


def _conditional(condition: _Truth, then: Alternatives, otherwise: Alternatives) -> Alternatives:
    found: dict[Kind, ColumnOperand] = {}
    test = condition.column
    if condition.size * len({*then, *otherwise}) > MAX_NODES:
        raise not_in_columns("its conditions are nested too deep")
    for kind in dict.fromkeys((*then, *otherwise)):
        if kind not in otherwise:
            found[kind] = joined([then[kind]], lambda parts: F.when(test, parts[0]))
        elif kind not in then:
            found[kind] = joined([otherwise[kind]], lambda parts: F.when(test, F.lit(None)).otherwise(parts[0]))
        else:
            both = [then[kind], otherwise[kind]]
            found[kind] = joined(both, lambda parts: F.when(test, parts[0]).otherwise(parts[1]))
    return found


def _coalesce(arguments: list[Alternatives]) -> Alternatives:
    """The first that is present: a value counts only where nothing before it has a value of another kind."""
    found: dict[Kind, list[ColumnOperand]] = {}
    for index, argument in enumerate(arguments):
        for kind, operand in argument.items():
            others = [
                earlier.present.isNotNull()
                for before in arguments[:index]
                for other, earlier in before.items()
                if other is not kind
            ]
            value = operand.settled()
            found.setdefault(kind, []).append(_unless(any_of(others), value) if others else value)
    return {kind: first_present(operands) for kind, operands in found.items()}


def _unless(blocked: Column, operand: ColumnOperand) -> ColumnOperand:
    return joined([operand], lambda parts: F.when(~blocked, parts[0]))


def _size(operands: list[Alternatives]) -> int:
    return sum(operand.size for alternatives in operands for operand in alternatives.values())
