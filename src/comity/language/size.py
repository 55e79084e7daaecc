"""How large a filter is, in what languages bound: tests, levels, characters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from comity.expression.tree import And, Exists, Expression, Literal, Not, Or
from comity.language.capability import LanguageCapability

_JOINT_CHARS = len("() and ")


@dataclass(frozen=True, slots=True)
class Size:
    """Tests, levels of and, or, not above them (`not exists` is a test of its own), characters of the text."""

    terms: int
    depth: int
    chars: int = 0

    def fits(self, capability: LanguageCapability) -> bool:
        """Whether a language takes it."""
        pairs = (
            (self.terms, capability.max_terms),
            (self.depth, capability.max_depth),
            (self.chars, capability.max_text_chars),
        )
        return all(bound is None or value <= bound for value, bound in pairs)

    @classmethod
    def all_of(cls, parts: Iterable[Size]) -> Size:
        """The size of a conjunction of parts that are none themselves."""
        sizes = list(parts)
        if len(sizes) == 1:
            return sizes[0]
        depth = 1 + max((one.depth for one in sizes), default=-1)
        return cls(sum(one.terms for one in sizes), depth, sum(one.chars + _JOINT_CHARS for one in sizes))


def size_of(node: Expression, counts_chars: bool, text_of: Callable[[Expression], str]) -> Size:
    """The size of a filter; its text is made only if characters count."""
    return Size(_terms(node), _depth(node), len(text_of(node)) if counts_chars else 0)


def _terms(node: Expression) -> int:
    match node:
        case And(items) | Or(items):
            return sum(map(_terms, items))
        case Not(item):
            return _terms(item)
        case Literal():
            return 0
    return 1


def _depth(node: Expression) -> int:
    match node:
        case And(items) | Or(items):
            return 1 + max(map(_depth, items), default=0)
        case Not(Exists()):
            return 0
        case Not(item):
            return 1 + _depth(item)
    return 0
