"""`+ - * / %` and unary minus on Spark columns, missing exactly where the reference evaluator says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F

from comity.event.kinds import INT_MAX, Kind, to_microseconds
from comity.pipeline.operands import MAX_FLOAT, Alternatives, ColumnOperand, constant, first_present, sized

_FIRST_MICROSECOND = -62_135_596_800_000_000  # 0001-01-01T00:00:00Z
_LAST_MICROSECOND = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z
_BEYOND_LONG = 2.0**63


def arithmetic(symbol: str, left: Alternatives, right: Alternatives) -> Alternatives:
    """The result of an operator, for every pair of kinds that it has a meaning for."""
    found: dict[Kind, list[ColumnOperand]] = {}
    for kind, operand in (*_numbers(symbol, left, right), *_texts(symbol, left, right), *_times(symbol, left, right)):
        found.setdefault(kind, []).append(sized(operand))
    return {kind: first_present(operands) for kind, operands in found.items()}


def negative(operand: Alternatives) -> Alternatives:
    """Unary minus of numbers and durations."""
    found: dict[Kind, ColumnOperand] = {}
    for kind in (Kind.INT, Kind.DURATION):
        if kind in operand:
            found[kind] = _calculated(F.try_subtract(_zero(), operand[kind].column), operand[kind])
    if Kind.FLOAT in operand:
        number = operand[Kind.FLOAT]
        found[Kind.FLOAT] = replace(number, column=-number.column, constant=None, size=number.size + 1)
    return found


def as_float(operand: ColumnOperand, kind: Kind) -> ColumnOperand:
    """A number as a float."""
    if kind is Kind.FLOAT:
        return operand
    if operand.constant is not None:
        return constant(float(operand.constant))[Kind.FLOAT]
    return ColumnOperand(operand.column.cast("double"), bound=operand.bound, size=operand.size + 1)


def whole(rounded: Column) -> Column:
    """A float without a fraction as an int, null where it does not fit in 64 bits."""
    return F.when((rounded >= -_BEYOND_LONG) & (rounded < _BEYOND_LONG), rounded.cast("long"))


Results = Iterator[tuple[Kind, ColumnOperand]]


def _numbers(symbol: str, left: Alternatives, right: Alternatives) -> Results:
    ints, floats = (left.get(Kind.INT), right.get(Kind.INT)), (left.get(Kind.FLOAT), right.get(Kind.FLOAT))
    if symbol == "/":
        dividend, divisor = _float_view(left), _float_view(right)
        if dividend and divisor:
            yield from _given(Kind.FLOAT, _float_result("/", dividend, divisor))
        return
    if ints[0] and ints[1]:
        yield from _given(Kind.INT, _int_result(symbol, ints[0], ints[1]))
    other = _float_view(right)
    if floats[0] and other:
        yield from _given(Kind.FLOAT, _float_result(symbol, floats[0], other))
    if ints[0] and floats[1]:
        yield from _given(Kind.FLOAT, _float_result(symbol, as_float(ints[0], Kind.INT), floats[1]))


def _given(kind: Kind, operand: ColumnOperand | None) -> Results:
    if operand is not None:
        yield kind, operand


def _float_view(operand: Alternatives) -> ColumnOperand | None:
    views = [as_float(operand[kind], kind) for kind in (Kind.FLOAT, Kind.INT) if kind in operand]
    return first_present(views) if views else None


def _int_result(symbol: str, left: ColumnOperand, right: ColumnOperand) -> ColumnOperand | None:
    if symbol == "%":
        divisor = _divisor(right, right.column)
        return None if divisor is None else _calculated(left.column % divisor, left, right)
    return _checked(symbol, left, right)


def _float_result(symbol: str, left: ColumnOperand, right: ColumnOperand) -> ColumnOperand | None:
    if symbol in "/%":
        return _quotient(symbol, left, right)
    column = {"+": left.column + right.column, "-": left.column - right.column, "*": left.column * right.column}[symbol]
    bound = _bound(symbol, left.bound, right.bound)
    doubtful = _doubtful(symbol, left, right) if right.is_finite else _doubtful(symbol, right, left)
    return ColumnOperand(column, bound=bound, doubtful=doubtful, size=left.size + right.size + 1)


def _bound(symbol: str, left: float, right: float) -> float:
    if symbol == "/":
        return left / right
    return left * right if symbol == "*" else left + right


def _doubtful(symbol: str, left: ColumnOperand, right: ColumnOperand) -> Column | None:
    """What decides whether the result is finite: the left side, if from a finite one the range cannot be left here."""
    if left.is_finite or not _bound(symbol, MAX_FLOAT, right.bound) <= MAX_FLOAT:
        return None
    return left.column if left.doubtful is None else left.doubtful


def _quotient(symbol: str, left: ColumnOperand, right: ColumnOperand) -> ColumnOperand | None:
    divisor = _divisor(right, right.present)  # a number divided by an infinity would be finite again
    if divisor is None:
        return None
    size = left.size + right.size * (1 if right.is_finite else 2) + 2
    if symbol == "%":
        return ColumnOperand(left.column % divisor, bound=left.bound, doubtful=_doubtful("%", left, right), size=size)
    if right.constant is None:
        return ColumnOperand(left.column / divisor, bound=float("inf"), size=size)
    bound = _bound("/", left.bound, right.bound)
    return ColumnOperand(left.column / divisor, bound=bound, doubtful=_doubtful("/", left, right), size=size)


def _divisor(operand: ColumnOperand, column: Column) -> Column | None:
    """Null instead of zero; None when it is always zero."""
    if operand.constant is None:
        return F.nullif(column, F.lit(0))
    return None if operand.bound == 0 else column


def _texts(symbol: str, left: Alternatives, right: Alternatives) -> Results:
    if symbol == "+" and Kind.STRING in left and Kind.STRING in right:
        first, second = left[Kind.STRING], right[Kind.STRING]
        yield Kind.STRING, _calculated(F.concat(first.column, second.column), first, second)


def _times(symbol: str, left: Alternatives, right: Alternatives) -> Results:
    moment, span = left.get(Kind.TIMESTAMP), left.get(Kind.DURATION)
    other_moment, other_span = right.get(Kind.TIMESTAMP), right.get(Kind.DURATION)
    if symbol == "-" and moment and other_moment:
        column = _count(moment) - _count(other_moment)  # both within 0001 to 9999: no overflow
        yield Kind.DURATION, _calculated(column, moment, other_moment)
    if symbol in "+-" and moment and other_span:
        yield Kind.TIMESTAMP, _shifted(symbol, moment, other_span)
    if symbol == "+" and span and other_moment:
        yield Kind.TIMESTAMP, _shifted("+", other_moment, span)
    if symbol in "+-" and span and other_span:
        yield Kind.DURATION, _checked(symbol, span, other_span)
    if symbol == "/" and span and other_span:
        yield from _given(Kind.FLOAT, _float_result("/", _span_as_float(span), _span_as_float(other_span)))
    if symbol in "*/" and span:
        yield from _scaled(symbol, span, right)
    if symbol == "*" and other_span:
        yield from _scaled(symbol, other_span, left)


def _scaled(symbol: str, span: ColumnOperand, factor: Alternatives) -> Results:
    if symbol == "*" and Kind.INT in factor:
        yield Kind.DURATION, _checked("*", span, factor[Kind.INT])
    number = _float_view(factor) if symbol == "/" else factor.get(Kind.FLOAT)
    scaled = _float_result(symbol, _span_as_float(span), number) if number else None
    if scaled is not None:
        yield Kind.DURATION, ColumnOperand(whole(F.rint(scaled.column)), bound=float(INT_MAX), size=3 * scaled.size)


def _span_as_float(span: ColumnOperand) -> ColumnOperand:
    if span.constant is not None:
        return constant(float(to_microseconds(span.constant)))[Kind.FLOAT]
    return as_float(span, Kind.INT)


def _shifted(symbol: str, moment: ColumnOperand, span: ColumnOperand) -> ColumnOperand:
    count = (F.try_add if symbol == "+" else F.try_subtract)(_count(moment), _apart(span))
    column = F.timestamp_micros(F.when(count.between(_FIRST_MICROSECOND, _LAST_MICROSECOND), count))
    return ColumnOperand(column, size=2 * (moment.size + span.size) + 3)


def _count(moment: ColumnOperand) -> Column:
    if moment.constant is not None:
        return F.lit(to_microseconds(moment.constant)).cast("long")
    return F.unix_micros(moment.column)


def _checked(symbol: str, left: ColumnOperand, right: ColumnOperand) -> ColumnOperand:
    """A sum, difference or product of ints, missing when it does not fit in 64 bits."""
    operate = {"+": F.try_add, "-": F.try_subtract, "*": F.try_multiply}[symbol]
    return replace(_calculated(operate(_apart(left), _apart(right)), left, right), is_chain=symbol != "-")


def _apart(operand: ColumnOperand) -> Column:
    """The column so that Spark sees no sum in a sum: it would turn x + 5 - 5 into x, also where x + 5 overflows."""
    return operand.column.bitwiseOR(F.lit(0)) if operand.is_chain else operand.column


def _calculated(column: Column, *operands: ColumnOperand) -> ColumnOperand:
    """A result that is an int, a duration in microseconds or a text."""
    return ColumnOperand(column, bound=float(INT_MAX), size=sum(operand.size for operand in operands) + 1)


def _zero() -> Column:
    return F.lit(0).cast("long")
