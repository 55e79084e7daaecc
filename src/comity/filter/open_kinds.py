"""Which classes of values an attribute without a declared kind can hold: those that its constraints give it.

The kinds of operations are those of the one inference. What is added here is what an operand without a kind is taken to
be; so this says less than what is possible, and `tests/filter/test_open_kinds.py` holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from comity.event.kinds import ANY_KIND, NUMBERS, Kind, kind_of
from comity.expression.functions import FUNCTIONS
from comity.expression.kinds import Kinds, arithmetic_kinds, call_kinds, kinds_of, negative_kinds
from comity.expression.tree import (
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    Conditional,
    Expression,
    In,
    Lookup,
    Negative,
    TextTest,
    walk,
)
from comity.filter.sets.values import CLASS_OF_KIND

Path = tuple[str, ...]


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
                self.give(operand, {Kind.STRING})
            case Arithmetic():
                for operand, kinds in zip((node.left, node.right), self.operands(node), strict=True):
                    self.give(operand, kinds)
            case Negative(operand):
                self.give(operand, NUMBERS)
            case Call(name, arguments) if name in FUNCTIONS:
                for operand, kinds in zip(arguments, FUNCTIONS[name].takes, strict=False):
                    self.give(operand, kinds)
            case Lookup(_, key, rows):
                self.give(key, {kind for known, _ in rows if (kind := kind_of(known))})
            case Attribute(path):
                for length in range(1, len(path)):
                    self.classes.setdefault(path[:length], set()).add("other")

    def meet(self, operands: list[Expression]) -> None:
        """Operands that are compared: attributes among them share what is known of any."""
        paths = [operand.path for operand in operands if isinstance(operand, Attribute)]
        for path in paths[1:]:
            self.leader[self.find(path)] = self.find(paths[0])
        known = _classes(frozenset().union(*map(self.known, operands)))
        for path in paths:
            self.classes.setdefault(path, set()).update(known)

    def give(self, operand: Expression, kinds: Iterable[Kind]) -> None:
        if isinstance(operand, Attribute):
            self.classes.setdefault(operand.path, set()).update(_classes(kinds))

    def known(self, operand: Expression) -> Kinds:
        """The kinds of a value expression, as far as the expression itself tells: nothing for an attribute."""
        match operand:
            case Arithmetic(symbol):
                return arithmetic_kinds(symbol, *self.operands(operand))
            case Negative(inner):
                return negative_kinds(self.known(inner) or NUMBERS)
            case Conditional(_, then, otherwise):
                return self.known(then) | self.known(otherwise)
            case Call(name, arguments):
                told = [self.known(argument) for argument in arguments]
                if name not in FUNCTIONS:
                    return frozenset().union(*told)
                taken = FUNCTIONS[name].takes
                return call_kinds(FUNCTIONS[name], [own or can & NUMBERS or can for own, can in zip(told, taken)])
        return kinds_of(operand, _nothing)

    def operands(self, node: Arithmetic) -> tuple[Kinds, Kinds]:
        """The kinds of both operands; one that tells none is like the other, or what goes with that, or a number."""
        left, right = self.known(node.left), self.known(node.right)
        like = left or right or NUMBERS
        if arithmetic_kinds(node.operator, left or like, right or like):
            return left or like, right or like
        before = frozenset(kind for kind in ANY_KIND if arithmetic_kinds(node.operator, frozenset({kind}), right))
        behind = frozenset(kind for kind in ANY_KIND if arithmetic_kinds(node.operator, left, frozenset({kind})))
        return left or before, right or behind

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


def _nothing(path: Path) -> Kinds:
    return frozenset()


def _classes(kinds: Iterable[Kind]) -> set[str]:
    return {CLASS_OF_KIND[kind] for kind in kinds}
