"""Semantic objects: a value together with its concept and its context."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from comity.meaning.context import SemanticContext, Simple, brackets, plain, print_simple, simple


@dataclass(frozen=True, slots=True)
class SemanticObject:
    """A value with its concept and context; a structured one has a set of objects as its value.

    >>> print(SemanticObject.of("Distance", 3850, Unit="mile"))
    ⟨Distance, 3850, {⟨Unit, "mile"⟩}⟩
    """

    concept: str
    value: Simple | frozenset[SemanticObject]
    context: SemanticContext = field(default_factory=SemanticContext)

    @classmethod
    def of(cls, concept: str, value: Any, /, **context: Any) -> SemanticObject:
        """An object from a plain value, or from the objects that it is made of."""
        if isinstance(value, set | frozenset | list | tuple):
            return cls(concept, frozenset(value), SemanticContext.of(context))
        return cls(concept, simple(value), SemanticContext.of(context))

    def printed(self, *, ascii: bool = False) -> str:
        """The object as text, in plain ASCII brackets if wanted."""
        left, right = brackets(ascii)
        if isinstance(self.value, frozenset):
            shown = f"{{{', '.join(sorted(one.printed(ascii=ascii) for one in self.value))}}}"
        else:
            shown = print_simple(self.value)
        return f"{left}{self.concept}, {shown}{self.context.printed_behind(ascii=ascii)}{right}"

    def as_dict(self) -> dict[str, Any]:
        """The object as JSON has it."""
        if isinstance(self.value, frozenset):
            value: Any = [one.as_dict() for one in sorted(self.value, key=str)]
        else:
            value = plain(self.value)
        return {"concept": self.concept, "value": value, "context": self.context.as_dict()}

    def __str__(self) -> str:
        return self.printed()
