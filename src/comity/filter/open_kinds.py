"""Which classes of values an attribute without a declared kind can hold: those that its constraints give it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from comity.event.kinds import Kind, kind_of
from comity.expression.functions import FUNCTIONS
from comity.expression.tree import (
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    Conditional,
    Expression,
    In,
    Literal,
    Lookup,
    Negative,
    TextTest,
    walk,
)
from comity.filter.sets.values import CLASS_OF_KIND

Path = tuple[str, ...]

_NUMBERS = frozenset({"numbers"})


def open_classes(trees: Iterable[Expression]) -> Mapping[Path, frozenset[str]]:
    """The classes that the constraints of these filters give to each attribute; an attribute left out can hold
    anything.

    >>> from comity.expression.parse import parse
    >>> dict(open_classes([parse("x > 5 and name starts with 'a'")]))
    {('x',): frozenset({'numbers'}), ('name',): frozenset({'strings'})}
    """
    found = _Found()
    for tree in trees:
        for node in walk(tree):
            found.take(node)
    return found.result()


@dataclass(slots=True)
class _Found:
    classes: dict[Path, set[str]] = field(default_factory=dict)
    leader: dict[Path, Path] = field(default_factory=dict)

    def take(self, node: Expression) -> None:
        """Learn from one node what its operands must be."""
        match node:
            case Compare(_, left, right):
                self.meet([left, right])
            case Between(operand, low, high):
                self.meet([operand, low, high])
            case In(operand, items):
                self.meet([operand, *items])
            case TextTest(_, operand):
                self.give(operand, {"strings"})
            case Arithmetic(_, left, right):
                for operand, other in ((left, right), (right, left)):
                    self.give(operand, self.known(other) or _NUMBERS)
            case Negative(operand):
                self.give(operand, _NUMBERS)
            case Call(name, arguments) if name in FUNCTIONS:
                for operand, kinds in zip(arguments, FUNCTIONS[name].takes, strict=False):
                    self.give(operand, {CLASS_OF_KIND[kind] for kind in kinds})
            case Lookup(_, key, rows):
                self.give(key, {CLASS_OF_KIND[kind] for known, _ in rows if (kind := kind_of(known))})
            case Attribute(path):
                for length in range(1, len(path)):
                    self.classes.setdefault(path[:length], set()).add("other")

    def meet(self, operands: list[Expression]) -> None:
        """Operands that are compared: attributes among them share what is known of any."""
        paths = [operand.path for operand in operands if isinstance(operand, Attribute)]
        for path in paths[1:]:
            self.leader[self.find(path)] = self.find(paths[0])
        known = frozenset().union(*(self.known(operand) for operand in operands))
        for path in paths:
            self.classes.setdefault(path, set()).update(known)

    def give(self, operand: Expression, classes: Iterable[str]) -> None:
        if isinstance(operand, Attribute):
            self.classes.setdefault(operand.path, set()).update(classes)

    def known(self, operand: Expression) -> frozenset[str]:
        """The classes of a value expression, as far as the expression itself tells."""
        match operand:
            case Literal(value):
                kind = kind_of(value)
                return frozenset({CLASS_OF_KIND[kind]} if kind else ())
            case Arithmetic(_, left, right):
                return self.known(left) | self.known(right) or _NUMBERS
            case Negative():
                return _NUMBERS
            case Conditional(_, then, otherwise):
                return self.known(then) | self.known(otherwise)
            case Call(name, arguments) if name in FUNCTIONS:
                gives = FUNCTIONS[name].gives(Kind.FLOAT)
                return frozenset({CLASS_OF_KIND[gives]})
            case Call(_, arguments):
                return frozenset().union(*(self.known(argument) for argument in arguments))
            case Lookup(_, _, rows):
                return frozenset(CLASS_OF_KIND[kind] for _, value in rows if (kind := kind_of(value)))
        return frozenset()

    def find(self, path: Path) -> Path:
        while self.leader.setdefault(path, path) != path:
            path = self.leader[path]
        return path

    def result(self) -> dict[Path, frozenset[str]]:
        joint: dict[Path, set[str]] = {}
        for path, classes in self.classes.items():
            joint.setdefault(self.find(path), set()).update(classes)
        every = {path: frozenset(joint[self.find(path)]) for path in self.classes}
        return {path: classes for path, classes in every.items() if classes}
