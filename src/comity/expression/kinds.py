"""The one inference of kinds: which kinds the values of an expression can have, before any event is seen.

Everything that asks for kinds asks here. Who asks says what is known of attributes; `certain` says what becomes of an
operation that has no meaning for some of the kinds that its operands can have: an expression that is just written may
still mean the others, one that is reasoned about may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from comity.event.kinds import ANY_KIND, NUMBERS, Kind, kind_of
from comity.event.types import EventType
from comity.expression.functions import FUNCTIONS, Arguments, Function
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
    Quantity,
    TextTest,
)

Kinds = frozenset[Kind]
AttributeKinds = Callable[[tuple[str, ...]], Kinds]
"""The kinds that the attribute at a path can have."""

_BOOL = frozenset({Kind.BOOL})
_NEGATED = NUMBERS | {Kind.DURATION}


def kinds_of(node: Expression, attribute: AttributeKinds, *, certain: bool = False) -> Kinds:
    """All kinds that the values can have; none for an expression that never has a value.

    >>> from comity.expression.parse import parse
    >>> sorted(kinds_of(parse("if x = 2 then 1 else 0.5"), lambda path: ANY_KIND))
    [<Kind.FLOAT: 'float'>, <Kind.INT: 'int'>]
    """
    match node:
        case Literal(value):
            return _these([kind_of(value)])
        case Quantity():
            return NUMBERS
        case Attribute(path):
            return attribute(path)
        case Arithmetic(symbol, left, right):
            operands = (kinds_of(part, attribute, certain=certain) for part in (left, right))
            return arithmetic_kinds(symbol, *operands, certain=certain)
        case Negative(operand):
            return negative_kinds(kinds_of(operand, attribute, certain=certain), certain=certain)
        case Conditional(_, then, otherwise):
            return kinds_of(then, attribute, certain=certain) | kinds_of(otherwise, attribute, certain=certain)
        case Lookup():
            return _these(node.pairs.value_kinds)
        case Call(name, arguments):
            given = [kinds_of(argument, attribute, certain=certain) for argument in arguments]
            known = FUNCTIONS.get(name)
            return frozenset().union(*given) if known is None else call_kinds(known, given, certain=certain)
        case Extension(_, function):
            return frozenset({function.gives})
        case Compare() | Between() | In() | TextTest() | Exists() | IsType() | And() | Or() | Not():
            return _BOOL
    assert_never(node)


def kinds_given(node: Expression, type: EventType) -> Kinds:
    """The kinds that an expression over a type surely has: all kinds for what is not known."""

    def declared(path: tuple[str, ...]) -> Kinds:
        found = type.attribute_at(path)
        return ANY_KIND if found is None else frozenset({found.kind})

    return kinds_of(node, declared, certain=True)


def kind_given(node: Expression, type: EventType) -> Kind | None:
    """The one kind that the values of an expression have; None when it is not known.

    >>> kind_given(Attribute(("event", "time")), EventType("Fire", "house"))
    <Kind.TIMESTAMP: 'timestamp'>
    """
    kinds = kinds_given(node, type)
    return next(iter(kinds)) if len(kinds) == 1 else None


def arguments_given(node: Call, type: EventType) -> Arguments:
    """What is known of the arguments of a call over a type."""
    return Arguments(
        tuple(kinds_given(argument, type) for argument in node.arguments),
        tuple(argument.value if isinstance(argument, Literal) else None for argument in node.arguments),
    )


def arithmetic_kinds(symbol: str, left: Kinds, right: Kinds, *, certain: bool = False) -> Kinds:
    """The kinds of `left symbol right`."""
    return _these([result_kind(symbol, one, other) for one in left for other in right], certain)


def negative_kinds(operand: Kinds, *, certain: bool = False) -> Kinds:
    """The kinds of `-operand`."""
    return _these([kind if kind in _NEGATED else None for kind in operand], certain)


def call_kinds(function: Function, arguments: list[Kinds], *, certain: bool = False) -> Kinds:
    """The kinds that a function gives for arguments of these kinds."""
    fitting = [kinds & taken for kinds, taken in zip(arguments, function.takes, strict=False)]
    if certain and fitting != arguments:
        return ANY_KIND
    return frozenset(function.gives(kind) for kind in fitting[0]) if all(fitting) else frozenset()


def result_kind(symbol: str, left: Kind | None, right: Kind | None) -> Kind | None:
    """The kind of `left symbol right`; None when the two do not go together."""
    if left in NUMBERS and right in NUMBERS:
        return Kind.INT if left is right is Kind.INT and symbol != "/" else Kind.FLOAT
    match symbol, left, right:
        case "+", Kind.STRING, Kind.STRING:
            return Kind.STRING
        case ("-", Kind.TIMESTAMP, Kind.TIMESTAMP) | ("+" | "-", Kind.DURATION, Kind.DURATION):
            return Kind.DURATION
        case ("+" | "-", Kind.TIMESTAMP, Kind.DURATION) | ("+", Kind.DURATION, Kind.TIMESTAMP):
            return Kind.TIMESTAMP
        case "/", Kind.DURATION, Kind.DURATION:
            return Kind.FLOAT
        case ("*" | "/", Kind.DURATION, Kind.INT | Kind.FLOAT) | ("*", Kind.INT | Kind.FLOAT, Kind.DURATION):
            return Kind.DURATION
    return None


def _these(kinds: Iterable[Kind | None], certain: bool = False) -> Kinds:
    """The kinds among them; None stands for an operation without a meaning."""
    found = frozenset(kinds)
    return ANY_KIND if certain and None in found else frozenset(kind for kind in found if kind)
