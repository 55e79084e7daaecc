"""Generated capabilities, a separate check of what a filter uses, and SQL's logic, to hold `split` against."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from comity.event.event import Event
from comity.event.kinds import Kind, kind_of
from comity.event.types import ENVELOPE, EventType
from comity.expression.evaluate import evaluate, holds
from comity.expression.render import render
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
    In,
    IsType,
    Literal,
    Lookup,
    Negative,
    Not,
    Or,
    TextTest,
    attributes,
)
from comity.language.capability import EVERYTHING, FORMS, LanguageCapability, MissingPolicy

_SOME = st.sampled_from([True, True, False])


@st.composite
def capabilities(draw: st.DrawFn) -> LanguageCapability:
    """Languages that lack anything: operators of some kinds, connectives, arithmetic, attributes, room."""
    operators = {}
    for kind, all_of_kind in EVERYTHING.operators.items():
        if draw(_SOME):
            operators[kind] = frozenset(one for one in sorted(all_of_kind) if draw(_SOME))
    return LanguageCapability(
        "generated",
        operators=operators,
        conjunction=draw(_SOME),
        disjunction=draw(_SOME),
        negation=draw(st.booleans()),
        max_terms=draw(st.sampled_from([None, None, 1, 2, 4])),
        max_depth=draw(st.sampled_from([None, None, 0, 1, 2])),
        max_text_chars=draw(st.sampled_from([None, None, 20, 60])),
        between_attributes=draw(st.booleans()),
        arithmetic=draw(st.booleans()),
        functions=frozenset(one for one in sorted(FORMS) if draw(st.booleans())),
        nested_paths=draw(st.booleans()),
        mixed_numbers=draw(st.booleans()),
        missing=draw(st.sampled_from(MissingPolicy)),
        envelope=frozenset(one for one in sorted(ENVELOPE) if draw(st.booleans())),
        is_type=draw(st.booleans()),
    )


class Foreign(AssertionError):
    """The filter uses something that the language does not have."""


def check(native: Expression, capability: LanguageCapability, type: EventType | None) -> None:
    """Walk over a native part and demand of everything in it that the capability has it."""
    if isinstance(native, Literal) or capability.is_ours:
        return
    _Checker(capability, type).truth(native)
    terms, depth = _measured(native)
    for value, bound in (
        (terms, capability.max_terms),
        (depth, capability.max_depth),
        (len(render(native)), capability.max_text_chars),
    ):
        if bound is not None and value > bound:
            raise Foreign(f"{value} is more than {bound}")


def _measured(node: Expression) -> tuple[int, int]:
    if isinstance(node, And | Or):
        parts = [_measured(item) for item in node.items]
        return sum(terms for terms, _ in parts), 1 + max(depth for _, depth in parts)
    if isinstance(node, Not) and not isinstance(node.item, Exists):
        terms, depth = _measured(node.item)
        return terms, depth + 1
    return 1, 0


class _Checker:
    def __init__(self, capability: LanguageCapability, type: EventType | None) -> None:
        self.can, self.type = capability, type

    def need(self, has: bool, what: object) -> None:
        if not has:
            raise Foreign(f"the language has no {what}")

    def truth(self, node: Expression) -> None:
        match node:
            case And(items) | Or(items):
                self.need(self.can.conjunction if isinstance(node, And) else self.can.disjunction, type(node))
                for item in items:
                    self.truth(item)
            case Not(Exists(Attribute(path) as attribute)):
                self.value(attribute)
                if not self.can.negation:
                    self.operator("not exists", [self.kind(path)])
            case Not(item):
                self.need(self.can.negation, "not")
                self.truth(item)
            case IsType():
                self.need(self.can.is_type, "is")
            case Literal():
                pass
            case _:
                self.atom(node)

    def atom(self, node: Expression) -> None:
        match node:
            case Exists(attribute):
                operator, operands = "exists", [attribute]
            case Compare(operator, left, right):
                operands = [left, right]
            case Between(operand, low, high, negated):
                operator, operands = ("not between" if negated else "between"), [operand, low, high]
            case In(operand, items, negated):
                operator, operands = ("not in" if negated else "in"), [operand, *items]
            case TextTest(test, operand, _, negated):
                operator, operands = (f"not {test}" if negated else test), [operand]
        for one in operands:
            self.value(one)
        reading = [one for one in operands if attributes(one)]
        self.need(len(reading) < 2 or self.can.between_attributes, "comparison of attributes")
        self.operator(operator, [self.kind_of(one) for one in operands])

    def operator(self, operator: str, kinds: list[Kind | None]) -> None:
        for kind in kinds:
            if kind is not None:
                self.need(operator in self.can.operators.get(kind, ()), f"{operator} for {kind}")
        if not self.can.mixed_numbers:
            self.need(not {Kind.INT, Kind.FLOAT} <= set(kinds), "ints beside floats")

    def value(self, node: Expression) -> None:
        match node:
            case Attribute(("event", name)):
                self.need(name in self.can.envelope, name)
            case Attribute(path):
                self.need(len(path) == 1 or self.can.nested_paths, path)
                self.need(self.type is None or self.type.attribute_at(path) is not None, path)
            case Literal():
                pass
            case Arithmetic(_, left, right):
                self.need(self.can.arithmetic, "arithmetic")
                self.value(left)
                self.value(right)
            case Negative(operand):
                self.need(self.can.arithmetic, "arithmetic")
                self.value(operand)
            case Call(function, arguments):
                self.need(function in self.can.functions, function)
                for one in arguments:
                    self.value(one)
            case Lookup(_, key):
                self.need("lookup" in self.can.functions, "lookup")
                self.value(key)
            case Conditional(condition, then, otherwise):
                self.need("if" in self.can.functions, "if")
                self.truth(condition)
                self.value(then)
                self.value(otherwise)
            case _:
                self.need("truth" in self.can.functions, "filters as values")
                self.truth(node)

    def kind_of(self, node: Expression) -> Kind | None:
        match node:
            case Attribute(path):
                return self.kind(path)
            case Literal(value):
                return kind_of(value)
        return None

    def kind(self, path: tuple[str, ...]) -> Kind | None:
        if path[0] == "event":
            return ENVELOPE[path[1]].kind
        found = self.type.attribute_at(path) if self.type else None
        return found.kind if found else None


def passes(native: Expression, event: Event, missing: MissingPolicy) -> bool:
    """Whether an event passes the native part in the logic of its language."""
    return holds(native, event) if missing is MissingPolicy.FALSE else three_valued(native, event) is True


def three_valued(node: Expression, event: Event) -> bool | None:
    """SQL's logic: a test with a missing operand is unknown, and so is its negation."""
    match node:
        case And(items):
            found = [three_valued(item, event) for item in items]
            return False if False in found else None if None in found else True
        case Or(items):
            found = [three_valued(item, event) for item in items]
            return True if True in found else None if None in found else False
        case Not(item):
            inner = three_valued(item, event)
            return None if inner is None else not inner
        case Exists() | IsType() | Literal():
            return holds(node, event)
    return None if any(value is None for value in _operand_values(node, event)) else holds(node, event)


def _operand_values(atom: Expression, event: Event) -> list[Any]:
    operands = [getattr(atom, name, None) for name in ("left", "right", "operand", "low", "high")]
    return [_three_valued_value(one, event) for one in operands if one is not None]


def _three_valued_value(node: Expression, event: Event) -> Any:
    """A filter that is used as a value can be unknown, too; a condition that is unknown chooses the second branch."""
    match node:
        case Compare() | Between() | In() | TextTest() | And() | Or() | Not():
            return three_valued(node, event)
        case Conditional(condition, then, otherwise):
            return _three_valued_value(then if three_valued(condition, event) else otherwise, event)
    return evaluate(node, event)
