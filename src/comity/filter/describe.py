"""From a set of values back to an expression, as a person would write it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from fractions import Fraction

from comity.event.kinds import Value, timestamp_from_microseconds
from comity.expression.tree import (
    TRUE,
    Attribute,
    Between,
    Compare,
    Exists,
    Expression,
    In,
    Literal,
    Not,
    TextTest,
    conjunction,
    disjunction,
)
from comity.filter.conjunctive import Box
from comity.filter.sets.numbers import NumberSet
from comity.filter.sets.strings import StringSet
from comity.filter.sets.symbols import after_prefix
from comity.filter.sets.values import ValueSet
from comity.filter.space import Path, Space

_MISSING = ValueSet.only_missing()
_STRUCT = ValueSet(other=True)
_SHORT_LIST = 8
_LISTED = 1000
"""A set of at most so many strings is written as a list."""


class CannotDescribe(Exception):
    """The set has no short text: a general language, or a number that no constant can spell."""


def box_expression(box: Box, space: Space) -> Expression:
    """The conjunction that the box stands for; raises `CannotDescribe` when an attribute's set has no text."""
    wanted = [path for path in sorted(box) if not _follows(path, box)]
    parts = [set_expression(path, box[path], space.universe(path)) for path in wanted]
    return conjunction([part for part in parts if part != TRUE])


def _follows(path: Path, box: Box) -> bool:
    """Whether the attribute must be a struct anyway, because something inside it must be there."""
    inside = (values for inner, values in box.items() if len(inner) > len(path) and inner[: len(path)] == path)
    return box[path] == _STRUCT and any(not values.missing for values in inside)


def set_expression(path: Path, values: ValueSet, universe: ValueSet) -> Expression:
    """A filter that holds iff the attribute's value lies in the set."""
    if values.covers(universe):
        return TRUE
    if values.missing:
        return Not(set_expression(path, universe.difference(values), universe))
    if universe.missing and values.covers(universe.difference(_MISSING)):
        return Exists(Attribute(path))
    return disjunction(list(_class_tests(Attribute(path), values, universe)))


def _class_tests(attribute: Attribute, values: ValueSet, universe: ValueSet) -> Iterator[Expression]:
    """One test for each class of values in the set."""
    if values.other:
        raise CannotDescribe
    yield from _number_tests(attribute, values.numbers, universe.numbers, _number)
    yield from _number_tests(attribute, values.timestamps, universe.timestamps, _timestamp)
    yield from _number_tests(attribute, values.durations, universe.durations, _duration)
    yield from _string_tests(attribute, values.strings)
    if values.bools:
        yield _equal_to_one_of(attribute, sorted(values.bools))


def _number(value: int | float | Fraction) -> Value:
    if isinstance(value, Fraction) and Fraction(float(value)) != value:
        raise CannotDescribe
    return float(value) if isinstance(value, Fraction) else value


def _timestamp(value: int | float | Fraction) -> Value:
    return timestamp_from_microseconds(int(value))


def _duration(value: int | float | Fraction) -> Value:
    return timedelta(microseconds=int(value))


_Spell = Callable[[int | float | Fraction], Value]


def _number_tests(attribute: Attribute, part: NumberSet, whole: NumberSet, spell: _Spell) -> Iterator[Expression]:
    if part.is_empty:
        return
    rest = whole.difference(part)
    if _is_list(part):
        yield _equal_to_one_of(attribute, [spell(value) for value in part])
    elif _is_list(rest):
        yield _equal_to_one_of(attribute, [spell(value) for value in rest], negated=True)
    elif _is_inner_interval(rest, whole):
        low, high, _, _ = rest.hull()
        assert low is not None
        assert high is not None
        yield Between(attribute, Literal(spell(low)), Literal(spell(high)), negated=True)
    else:
        ends = whole.hull()
        for interval in part.intervals():
            yield _interval_test(attribute, interval, ends, spell)


def _is_list(part: NumberSet) -> bool:
    """Whether a set is best written value by value: few of them, or hardly any that stand in a row."""
    size = part.size()
    if size is None or size > _LISTED:
        return False
    return size <= _SHORT_LIST or size <= 2 * sum(1 for _ in part.intervals())


def _is_inner_interval(rest: NumberSet, whole: NumberSet) -> bool:
    """Whether the rest is one closed interval with values on both sides."""
    if not rest.is_interval:
        return False
    low, high, low_closed, high_closed = rest.hull()
    first, last, _, _ = whole.hull()
    return low_closed and high_closed and low != first and high != last


_Ends = tuple[int | float | Fraction | None, int | float | Fraction | None, bool, bool]


def _interval_test(attribute: Attribute, interval: _Ends, whole: _Ends, spell: _Spell) -> Expression:
    low, high, low_closed, high_closed = interval
    low = None if low == whole[0] else low
    high = None if high == whole[1] else high
    if low is not None and high is not None and low == high:
        return Compare("=", attribute, Literal(spell(low)))
    if low is not None and high is not None and low_closed and high_closed:
        return Between(attribute, Literal(spell(low)), Literal(spell(high)))
    tests: list[Expression] = []
    if low is not None:
        tests.append(Compare(">=" if low_closed else ">", attribute, Literal(spell(low))))
    if high is not None:
        tests.append(Compare("<=" if high_closed else "<", attribute, Literal(spell(high))))
    if not tests:  # every value of the class, though not of the universe
        return Between(attribute, Literal(spell(whole[0] or 0)), Literal(spell(whole[1] or 0)))
    return conjunction(tests)


def _string_tests(attribute: Attribute, part: StringSet) -> Iterator[Expression]:
    if part.is_empty:
        return
    rest = part.complement()
    if part.is_finite and (members := part.members(_LISTED)) is not None:
        yield _equal_to_one_of(attribute, list(members))
    elif rest.is_finite and (members := rest.members(_LISTED)):
        yield _equal_to_one_of(attribute, list(members), negated=True)
    elif part.is_interval_union:
        for low, high in part.intervals():
            yield _string_interval(attribute, low, high)
    else:
        raise CannotDescribe


def _string_interval(attribute: Attribute, low: str, high: str | None) -> Expression:
    """The strings from `low` up to, but without, `high`."""
    if low and high == after_prefix(low):
        return TextTest("starts with", attribute, low)
    if high == low + "\0":
        return Compare("=", attribute, Literal(low))
    tests: list[Expression] = []
    if low.endswith("\0"):
        tests.append(Compare(">", attribute, Literal(low[:-1])))
    elif low or high is None:
        tests.append(Compare(">=", attribute, Literal(low)))
    if high is not None and high.endswith("\0"):
        tests.append(Compare("<=", attribute, Literal(high[:-1])))
    elif high is not None:
        tests.append(Compare("<", attribute, Literal(high)))
    return conjunction(tests)


def _equal_to_one_of(attribute: Attribute, values: list[Value], *, negated: bool = False) -> Expression:
    if len(values) == 1:
        return Compare("!=" if negated else "=", attribute, Literal(values[0]))
    return In(attribute, tuple(Literal(value) for value in values), negated)
