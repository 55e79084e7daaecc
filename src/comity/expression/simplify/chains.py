"""Chains: arithmetic with constants over one attribute, step by step, every step monotone.

A rounded sum, product or quotient with a constant never changes the order of two values, and where it runs out of range
it does so at an end. So the values that pass a comparison are an interval of the attribute's values, and its ends
are found by bisection, with the reference evaluator as the judge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from comity.event.kinds import NUMBERS, Kind, Value, in_range, kind_of
from comity.event.types import EventType
from comity.expression.evaluate import arithmetic, evaluate
from comity.expression.functions import FUNCTIONS, Arguments, Function
from comity.expression.kinds import arguments_given, result_kind
from comity.expression.simplify.domains import DOMAINS, ValueDomain, raw
from comity.expression.simplify.known import NOTHING
from comity.expression.tree import Arithmetic, Attribute, Call, Expression, Literal, Negative


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One operation on a value."""

    apply: Callable[[Value], Value | None]
    """What the reference evaluator gives."""
    side: Callable[[Any], Any]
    """Of a raw value without a result: a number whose sign is that of the end where it ran out of range."""
    direction: int
    """1 when larger values give larger or equal results, -1 when smaller or equal ones."""
    undo: Callable[[Fraction], Fraction]
    """About which raw value gives a raw result."""


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Steps over an attribute. `kind` is that of the result."""

    attribute: Attribute
    domain: ValueDomain
    kind: Kind
    steps: tuple[ChainStep, ...] = ()
    direction: int = 1

    def at(self, index: int) -> tuple[int, Value]:
        """The result for the value with an index: 0 and the result, or -1 or 1 when it is below or above all.

        It does not fall from one index to the next when `direction` is 1, and does not rise when it is -1.
        """
        value = self.domain.value(index)
        for number, step in enumerate(self.steps):
            result = step.apply(value)
            if result is None:
                side = 1 if step.side(raw(value)) > 0 else -1
                for later in self.steps[number + 1 :]:
                    side *= later.direction
                return side, None
            value = result
        return 0, value

    def before(self, result: Value) -> int | None:
        """The index of a value that gives about this result, if one is easy to find."""
        try:
            number = Fraction(raw(result))
            for step in reversed(self.steps):
                number = step.undo(number)
        except (ArithmeticError, ValueError):
            return None
        return min(max(self.domain.nearest(number), self.domain.first), self.domain.last)


@lru_cache(maxsize=4096)
def chain_of(node: Expression, type: EventType) -> Chain | None:
    """The chain that a value expression is, or None."""
    match node:
        case Attribute(path):
            declared = type.attribute_at(path)
            domain = DOMAINS.get(declared.kind) if declared else None
            return Chain(node, domain, domain.kind) if domain else None
        case Arithmetic(symbol, left, Literal(value)):
            return _extended(chain_of(left, type), symbol, value, constant_first=False)
        case Arithmetic(symbol, Literal(value), right):
            return _extended(chain_of(right, type), symbol, value, constant_first=True)
        case Negative(operand):
            return _negated(chain_of(operand, type))
        case Call(name, (argument, *others)) if name in FUNCTIONS and all(isinstance(one, Literal) for one in others):
            return _called(chain_of(argument, type), FUNCTIONS[name], arguments_given(node, type))
    return None


def _longer(chain: Chain, step: ChainStep, kind: Kind) -> Chain:
    return Chain(chain.attribute, chain.domain, kind, (*chain.steps, step), chain.direction * step.direction)


def _extended(chain: Chain | None, symbol: str, constant: Value, *, constant_first: bool) -> Chain | None:
    other = kind_of(constant)
    if chain is None or symbol == "%" or (type(constant) is int and not in_range(constant)):
        return None
    kind = result_kind(symbol, other, chain.kind) if constant_first else result_kind(symbol, chain.kind, other)
    if kind is None or kind not in DOMAINS or (symbol == "/" and (constant_first or not raw(constant))):
        return None
    step = _constant_first(symbol, constant) if constant_first else _constant_last(symbol, constant)
    return _longer(chain, step, kind)


def _constant_last(symbol: str, constant: Value) -> ChainStep:
    number = Fraction(raw(constant))

    def apply(value: Value) -> Value | None:
        return arithmetic(symbol, value, constant)

    match symbol:
        case "+":
            return ChainStep(apply, lambda value: Fraction(value) + number, 1, lambda result: result - number)
        case "-":
            return ChainStep(apply, lambda value: Fraction(value) - number, 1, lambda result: result + number)
    direction = -1 if number < 0 else 1
    if symbol == "*":
        return ChainStep(apply, lambda value: value * direction, direction, lambda result: result / number)
    return ChainStep(apply, lambda value: value * direction, direction, lambda result: result * number)


def _constant_first(symbol: str, constant: Value) -> ChainStep:
    number = Fraction(raw(constant))

    def apply(value: Value) -> Value | None:
        return arithmetic(symbol, constant, value)

    match symbol:
        case "+":
            return ChainStep(apply, lambda value: number + Fraction(value), 1, lambda result: result - number)
        case "-":
            return ChainStep(apply, lambda value: number - Fraction(value), -1, lambda result: number - result)
    direction = -1 if number < 0 else 1
    return ChainStep(apply, lambda value: value * direction, direction, lambda result: result / number)


def _negated(chain: Chain | None) -> Chain | None:
    if chain is None or (chain.kind not in NUMBERS and chain.kind is not Kind.DURATION):
        return None

    def apply(value: Value) -> Value | None:
        return evaluate(Negative(Literal(value)), NOTHING)

    return _longer(chain, ChainStep(apply, lambda value: -value, -1, lambda result: -result), chain.kind)


def _called(chain: Chain | None, function: Function, arguments: Arguments) -> Chain | None:
    """A function that never falls, and lacks a result at the ends only, if at all."""
    if chain is None or not function.fits(arguments) or not function.rising(arguments):
        return None
    if not function.total(arguments) and not function.gaps_at_ends:
        return None
    others = arguments.constants[1:]
    step = ChainStep(lambda value: function.call((value, *others)), lambda value: value, 1, function.undo or _no_guess)
    return _longer(chain, step, function.gives(chain.kind))


def _no_guess(result: Fraction) -> Fraction:
    raise ValueError(result)


Passes = Callable[[int, Value], bool]


def first_index(chain: Chain, passes: Passes, guess: int | None) -> int:
    """Where, in the direction of growing results, the first value passes; one beyond the last if none does.

    For a falling chain indexes are counted backwards, from -last to -first. A result that passes must be followed by
    passing ones only.
    """
    sign, domain = chain.direction, chain.domain
    low, high = (domain.first, domain.last) if sign > 0 else (-domain.last, -domain.first)
    start = (low + high) // 2 if guess is None else guess * sign
    low, high = _around(low, high + 1, start, lambda index: passes(*chain.at(index * sign)))
    while low < high:
        middle = (low + high) // 2
        if passes(*chain.at(middle * sign)):
            high = middle
        else:
            low = middle + 1
    return low


def _around(low: int, beyond: int, start: int, passes: Callable[[int], bool]) -> tuple[int, int]:
    """A small stretch in which the first passing index lies, sought in doubling steps from the start."""
    step = 1
    if passes(start):
        while start - step >= low and passes(start - step):
            start, step = start - step, step * 2
        return max(low, start - step + 1), start
    while start + step < beyond and not passes(start + step):
        start, step = start + step, step * 2
    return start + 1, min(beyond, start + step)
