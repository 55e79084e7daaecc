"""What keeps a filter from being said in a language: the first thing that the capability does not have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from comity.event.kinds import NUMBERS, Kind, kind_of
from comity.event.types import ENVELOPE, EventType
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
    children,
    is_truth,
    walk,
)
from comity.language.capability import LanguageCapability, MissingPolicy
from comity.language.fold import reads_events

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the attributes of a source: their kinds and whether they can be missing; without a type,
    nothing.
    """

    type: EventType | None = None

    def kind(self, path: Path) -> Kind | None:
        """The kind of an attribute, None when it is open."""
        if path[0] == "event":
            return ENVELOPE[path[1]].kind
        found = self.type.attribute_at(path) if self.type else None
        return found.kind if found else None

    def has(self, path: Path) -> bool:
        """Whether an event can have the attribute at all."""
        return self.type is None or self.type.attribute_at(path) is not None

    def may_miss(self, path: Path) -> bool:
        """Whether an event can be without the attribute; one without a time is an event, too."""
        if path[0] == "event":
            return ENVELOPE[path[1]].optional or path[1] == "time"
        found = self.type.attribute_at(path) if self.type else None
        return found is None or found.optional

    def is_definite(self, node: Expression) -> bool:
        """Whether the filter is true or false in every language: nothing that it compares can be missing."""
        if isinstance(node, And | Or | Not):
            return all(self.is_definite(part) for part in children(node))
        if isinstance(node, Exists | IsType | Literal):
            return True
        return all(self._is_definite_value(part) for part in children(node))

    def _is_definite_value(self, node: Expression) -> bool:
        return isinstance(node, Literal) or (
            isinstance(node, Attribute) and self.kind(node.path) is not None and not self.may_miss(node.path)
        )


def objection(node: Expression, capability: LanguageCapability, known: Known) -> str | None:
    """The code of the reason why the filter cannot be said as it stands; None when it can."""
    if capability.is_ours:  # but extension functions are of a contract, and stay where it is
        return "function-not-supported" if any(isinstance(part, Extension) for part in walk(node)) else None
    return next(_objections(node, capability, known), None)


def _objections(node: Expression, can: LanguageCapability, known: Known) -> Iterator[str]:
    match node:
        case Literal():
            return
        case And(items) | Or(items):
            if not (can.conjunction if isinstance(node, And) else can.disjunction):
                yield "no-and" if isinstance(node, And) else "no-or"
            for item in items:
                yield from _objections(item, can, known)
        case Not(Exists(attribute)) if can.has("not exists", known.kind(attribute.path)):
            yield from _visibility(attribute, can, known)
        case Not(item):
            yield from _objections(item, can, known)
            if not can.negation:
                yield "no-not"
            elif can.missing is MissingPolicy.UNKNOWN and not known.is_definite(item):
                yield "missing-value-semantics"
        case IsType():
            if not can.is_type:
                yield "operator-not-supported"
        case _:
            yield from _of_atom(node, can, known)


def _of_atom(atom: Expression, can: LanguageCapability, known: Known) -> Iterator[str]:
    operands = _operands(atom)
    for operand in operands:
        yield from _of_value(operand, can, known)
    reading = sum(reads_events(operand) for operand in operands)
    if reading > 1 and not can.between_attributes:
        yield "attribute-against-attribute"
    if not can.arithmetic and (reading == 0 or isinstance(operands[0], Literal)):
        yield "operator-not-supported"
    kinds = {kind for operand in operands for kind in _kinds(operand, known)}
    if isinstance(atom, TextTest):  # what is no text, or for `contains` no list, is false in every language
        kinds = {kind or Kind.STRING for kind in kinds}
    yield from _of_kinds(operator_name(atom), kinds, can)


def _of_kinds(operator: str, kinds: set[Kind | None], can: LanguageCapability) -> Iterator[str]:
    named = kinds - {None}
    if not all(can.has(operator, kind) for kind in named or {None}):
        yield "operator-not-supported"
    numbers = kinds & NUMBERS
    if numbers and not can.mixed_numbers and (len(numbers) > 1 or None in kinds):
        yield "kind-not-supported"
    if len(named - NUMBERS) + bool(numbers) > 1:
        yield "kind-not-supported"


def operator_name(atom: Expression) -> str:
    """The operator of a test, as a capability has it."""
    match atom:
        case Compare(operator):
            return operator
        case Between(negated=negated):
            return "not between" if negated else "between"
        case In(negated=negated):
            return "not in" if negated else "in"
        case TextTest(operator, negated=negated):
            return f"not {operator}" if negated else operator
        case Exists():
            return "exists"
    raise TypeError(f"no test: {atom!r}")


def _operands(atom: Expression) -> tuple[Expression, ...]:
    return tuple(children(atom))


def _kinds(node: Expression, known: Known) -> Iterator[Kind | None]:
    """The kinds of the attributes and constants in a value, None for an open attribute."""
    for part in walk(node):
        if isinstance(part, Attribute):
            yield known.kind(part.path)
        elif isinstance(part, Literal) and part is node:
            yield kind_of(part.value)


def _of_value(node: Expression, can: LanguageCapability, known: Known) -> Iterator[str]:
    match node:
        case Attribute():
            yield from _visibility(node, can, known)
        case Arithmetic() | Negative():
            if not can.arithmetic:
                yield "no-arithmetic"
        case Call(function):
            if function not in can.functions:
                yield "function-not-supported"
        case Extension():
            yield "function-not-supported"
        case Lookup():
            if "lookup" not in can.functions:
                yield "function-not-supported"
        case Conditional(condition):
            if "if" not in can.functions:
                yield "function-not-supported"
            yield from _condition(condition, can, known)
        case _ if is_truth(node) and not isinstance(node, Literal):
            if "truth" not in can.functions:
                yield "function-not-supported"
            yield from _condition(node, can, known)
            return
    for part in children(node):
        if not is_truth(part) or not isinstance(node, Conditional):
            yield from _of_value(part, can, known)


def _condition(node: Expression, can: LanguageCapability, known: Known) -> Iterator[str]:
    """A filter inside a value: unknown must not reach a place where it would differ from false."""
    yield from _objections(node, can, known)
    if can.missing is MissingPolicy.UNKNOWN and not known.is_definite(node):
        yield "missing-value-semantics"


def _visibility(attribute: Attribute, can: LanguageCapability, known: Known) -> Iterator[str]:
    if attribute.path[0] == "event":
        visible = attribute.path[1] in can.envelope
    else:
        visible = (len(attribute.path) == 1 or can.nested_paths) and known.has(attribute.path)
    if not visible:
        yield "attribute-not-visible"
