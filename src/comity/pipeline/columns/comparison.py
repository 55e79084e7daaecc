"""Comparisons on Spark columns. Ints and floats compare exactly, as rationals, where Spark alone would round.

A comparison is given as a list of columns, one for each pair of kinds that can meet: it holds where one of them is
true. Null is as good as false here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import groupby

from pyspark.sql import Column
from pyspark.sql import functions as F

from comity.event.kinds import INT_MAX, INT_MIN, NUMBERS, ORDERED, Kind, Value, comparable, kind_of
from comity.event.types import AttributeType
from comity.expression.evaluate import compare as compare_values
from comity.expression.tree import MIRRORED
from comity.pipeline.operands import MAX_FLOAT, Alternatives, ColumnOperand, literal, read_as_time

_TIMES = frozenset({Kind.TIMESTAMP, Kind.DURATION})
_BEYOND_LONG = 2.0**63


def compare(symbol: str, left: Alternatives, right: Alternatives) -> list[Column]:
    """Where the relation holds, for each pair of kinds."""
    pairs = (
        _compare_pair(symbol, kind, operand, other_kind, other)
        for kind, operand in left.items()
        for other_kind, other in right.items()
    )
    return [column for column in pairs if column is not None]


def between(value: Alternatives, low: Alternatives, high: Alternatives) -> list[Column]:
    """Where the value lies between two ends, both included."""
    return _both(compare(">=", value, low), compare("<=", value, high))


def outside(value: Alternatives, low: Alternatives, high: Alternatives) -> list[Column]:
    """Where the value compares with both ends and does not lie between them."""
    if _same_kind_of_constants(low, high):
        return compare("<", value, low) + compare(">", value, high)
    ordered = [compare("<", value, end) + compare(">=", value, end) for end in (low, high)]
    within = between(value, low, high)
    apart = [~certain(any_of(within))] if within else [F.lit(True)]
    return _both(_both(*ordered), apart)


def one_of(operand: Alternatives, items: list[Value]) -> list[Column]:
    """Where the value equals one of the constants."""
    found = [_equal_to_one(kind, value, items) for kind, value in operand.items()]
    return [column for column in found if column is not None]


def none_of(operand: Alternatives, items: list[Value]) -> list[Column]:
    """Where the value could be one of the constants by its kind, but is not."""
    found: list[Column] = []
    for kind, value in operand.items():
        meant = [item for item in items if comparable(kind, kind_of(item)) or _is_time_for(kind, item)]
        if meant:
            found.append(_equal_to_none(kind, value, meant))
    return found


def any_of(columns: list[Column]) -> Column:
    """Where one of them is true; never true when there are none."""
    if not columns:
        return F.lit(False)
    result, *rest = columns
    for column in rest:
        result = result | column
    return result


def certain(column: Column) -> Column:
    """False instead of null."""
    return F.coalesce(column, F.lit(False))


def _both(left: list[Column], right: list[Column]) -> list[Column]:
    return [any_of(left) & any_of(right)] if left and right else []


def _same_kind_of_constants(low: Alternatives, high: Alternatives) -> bool:
    ends = [kind for end in (low, high) for kind, operand in end.items() if operand.constant is not None]
    return len(low) == len(high) == 1 and len(ends) == 2 and comparable(*ends)


def _compare_pair(
    symbol: str, kind: Kind, operand: ColumnOperand, other_kind: Kind, other: ColumnOperand
) -> Column | None:
    if operand.constant is not None and other.constant is not None:
        return F.lit(compare_values(symbol, operand.constant, other.constant))
    if kind is Kind.STRING and other_kind in _TIMES:
        read = read_as_time(operand, other_kind)
        return _apply(symbol, read.column, other.column) if read else None
    if other_kind is Kind.STRING and kind in _TIMES:
        read = read_as_time(other, kind)
        return _apply(symbol, operand.column, read.column) if read else None
    if kind in NUMBERS and other_kind in NUMBERS:
        return _compare_numbers(symbol, kind, operand, other_kind, other)
    if kind is not other_kind or (symbol not in ("=", "!=") and kind not in ORDERED):
        return None
    return _compare_alike(symbol, kind, operand, other)


def _compare_alike(symbol: str, kind: Kind, operand: ColumnOperand, other: ColumnOperand) -> Column:
    if kind is Kind.BOOL and isinstance(other.constant, bool):
        return operand.column if other.constant is (symbol == "=") else ~operand.column
    if operand.type and other.type and operand.type != other.type:
        same = _same_inside(operand.column, operand.type, other.column, other.type)
        return F.when(operand.column.isNotNull() & other.column.isNotNull(), same if symbol == "=" else ~same)
    return _apply(symbol, operand.column, other.column)


def _apply(symbol: str, left: Column, right: Column | float) -> Column:
    match symbol:
        case "=":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
    return left >= right


# Numbers


def _compare_numbers(symbol: str, kind: Kind, operand: ColumnOperand, other_kind: Kind, other: ColumnOperand) -> Column:
    if operand.constant is not None:
        return _compare_numbers(MIRRORED[symbol], other_kind, other, kind, operand)
    if other.constant is not None:
        return _compare_with_constant(symbol, kind, operand, other.constant)
    if kind is other_kind:
        result = _apply(symbol, operand.column, other.column)
    elif kind is Kind.INT:
        result = _int_with_float(symbol, operand.column, other.column)
    else:
        result = _int_with_float(MIRRORED[symbol], other.column, operand.column)
    return _finite_only(symbol, operand, other, result)


def _compare_with_constant(symbol: str, kind: Kind, operand: ColumnOperand, number: int | float) -> Column:
    match exact_bound(kind, symbol, number):
        case (sign, bound):
            return _finite_only(sign, operand, None, _apply(sign, operand.column, F.lit(bound)))
        case present:
            return operand.present.isNotNull() if present else F.lit(False)


def exact_bound(kind: Kind, symbol: str, number: int | float) -> tuple[str, int | float] | bool:
    """The same comparison with a constant of the given kind, or whether it holds for all numbers or for none.

    >>> exact_bound(Kind.INT, "<", 2.5), exact_bound(Kind.INT, "=", 2.5), exact_bound(Kind.FLOAT, "<", 2**53 + 1)
    (('<', 3), False, ('<=', 9007199254740992.0))
    """
    if kind is kind_of(number):
        return symbol, number
    return _int_bound(symbol, float(number)) if kind is Kind.INT else _float_bound(symbol, int(number))


def _int_bound(symbol: str, number: float) -> tuple[str, int] | bool:
    if symbol in ("=", "!="):
        fits = number.is_integer() and INT_MIN <= number <= INT_MAX
        return (symbol, int(number)) if fits else symbol == "!="
    bound = math.ceil(number) if symbol in ("<", ">=") else math.floor(number)
    if INT_MIN <= bound <= INT_MAX:
        return symbol, bound
    return (bound > 0) is (symbol in ("<", "<="))


def _float_bound(symbol: str, number: int) -> tuple[str, float] | bool:
    nearest = float(number)
    if nearest == number:
        return symbol, nearest
    if symbol in ("=", "!="):
        return symbol == "!="
    below = nearest if nearest < number else math.nextafter(nearest, -math.inf)
    return ("<=", below) if symbol in ("<", "<=") else (">=", math.nextafter(below, math.inf))


def _int_with_float(symbol: str, whole: Column, number: Column) -> Column:
    """Rounding the int to a float keeps every order but may make it equal; then the float as an int decides."""
    rounded = whole.cast("double")
    exact = number.try_cast("long")  # gives the largest int for 2^63 too
    is_beyond = number == _BEYOND_LONG
    decided = _apply(symbol, whole, exact)
    decided = is_beyond | decided if symbol in ("<", "<=", "!=") else ~is_beyond & decided
    if symbol == "=":
        return (rounded == number) & decided
    return _apply(symbol.rstrip("=") if symbol != "!=" else symbol, rounded, number) | ((rounded == number) & decided)


def _finite_only(symbol: str, left: ColumnOperand, right: ColumnOperand | None, result: Column) -> Column:
    """The result without the infinities and NaN (to Spark the greatest number) that stand for a missing value."""
    strict_right = right is None or right.is_finite
    if not left.is_finite and not (symbol == "=" and strict_right):
        result = result & _within(symbol, left)
    if right is not None and not strict_right and symbol != "=":
        result = result & _within(MIRRORED[symbol], right)
    return result


def _within(symbol: str, number: ColumnOperand) -> Column:
    if symbol in ("=", "!=") or number.doubtful is not None:
        return number.is_within
    return number.column >= -MAX_FLOAT if symbol in ("<", "<=") else number.column <= MAX_FLOAT


# Lists of constants


def _equal_to_one(kind: Kind, operand: ColumnOperand, items: list[Value]) -> Column | None:
    if kind in NUMBERS:
        wanted = [bound for item in items if (bound := _exact_number(kind, item)) is not None]
        return _in_list(operand.column, wanted) if wanted else None
    same = [item for item in items if kind_of(item) is kind]
    columns = [_in_list(operand.column, same)] if same else []
    for time, group in groupby(sorted(items, key=_time_kind), key=_time_kind):
        if kind is Kind.STRING and time and (read := read_as_time(operand, Kind(time))):
            columns.append(_in_list(read.column, list(group)))
    return any_of(columns) if columns else None


def _equal_to_none(kind: Kind, operand: ColumnOperand, meant: list[Value]) -> Column:
    equal = _equal_to_one(kind, operand, meant)
    if equal is None:
        return operand.present.isNotNull()
    times = [Kind(time) for time in {_time_kind(item) for item in meant} - {""}] if kind is Kind.STRING else []
    if not times:
        apart = ~equal
        return apart if operand.is_finite else apart & operand.is_within
    if any(isinstance(item, str) for item in meant):
        return operand.column.isNotNull() & ~certain(equal)
    readings = [read.column.isNotNull() for time in times if (read := read_as_time(operand, time))]
    return any_of(readings) & ~certain(equal)


def _in_list(column: Column, items: list[Value]) -> Column:
    return column == literal(items[0]) if len(items) == 1 else column.isin([literal(item) for item in items])


def _exact_number(kind: Kind, item: Value) -> Value | None:
    if kind_of(item) not in NUMBERS:
        return None
    match exact_bound(kind, "=", item):
        case (_, bound):
            return bound
    return None


def _time_kind(item: Value) -> str:
    kind = kind_of(item)
    return kind.value if kind in _TIMES else ""


def _is_time_for(kind: Kind, item: Value) -> bool:
    return kind is Kind.STRING and kind_of(item) in _TIMES


# Structs and lists of different types


_FROM_BOOL: Mapping[Kind, Kind] = {Kind.BOOL: Kind.INT}


def _same_inside(left: Column, left_type: AttributeType, right: Column, right_type: AttributeType) -> Column:
    """Whether two values inside structs or lists are equal, as in Python; two missing ones are. Never null."""
    found = _equal_inside(left, left_type, right, right_type)
    return (left.isNull() & right.isNull()) | certain(found)


def _equal_inside(left: Column, left_type: AttributeType, right: Column, right_type: AttributeType) -> Column:
    if left_type.kind is right_type.kind is Kind.STRUCT:
        names = sorted({*left_type.attributes, *right_type.attributes})
        fields = [_same_field(left, left_type, right, right_type, name) for name in names]
        result = left.isNotNull() & right.isNotNull()
        for field in fields:
            result = result & field
        return result
    if left_type.kind is right_type.kind is Kind.LIST and left_type.element and right_type.element:
        of_left, of_right = left_type.element, right_type.element
        pairs = F.zip_with(left, right, lambda one, other: _same_inside(one, of_left, other, of_right))
        return (F.size(left) == F.size(right)) & F.forall(pairs, lambda same: same)
    first, second = _as_number(left, left_type), _as_number(right, right_type)
    return any_of(compare("=", first, second)) if comparable(*first, *second) else F.lit(False)


def _same_field(left: Column, left_type: AttributeType, right: Column, right_type: AttributeType, name: str) -> Column:
    first, second = left_type.attributes.get(name), right_type.attributes.get(name)
    if first is None:
        return right.getField(name).isNull()
    if second is None:
        return left.getField(name).isNull()
    return _same_inside(left.getField(name), first, right.getField(name), second)


def _as_number(column: Column, type: AttributeType) -> Alternatives:
    """Inside structs and lists Python takes true for 1."""
    kind = _FROM_BOOL.get(type.kind, type.kind)
    return {kind: ColumnOperand(column.cast("long") if type.kind is Kind.BOOL else column)}
