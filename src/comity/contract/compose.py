"""One mapping after another, as one mapping: substitution, with the steps kept."""

from __future__ import annotations

from collections.abc import Iterator

from comity.contract.mapping import Mapping, Path
from comity.errors import Misuse
from comity.expression.simplify import simplify_value
from comity.expression.tree import MISSING, Attribute, Expression


def compose(first: Mapping, second: Mapping) -> Mapping:
    """The mapping that does what the second does with the result of the first.

    It rejects what one of them rejects, with the fault of that step.

    >>> from comity.event.kinds import Kind
    >>> from comity.event.types import AttributeType, EventType
    >>> from comity.expression.parse import parse
    >>> from comity.expression.render import render
    >>> a, b, c = (EventType(name, "test", own={"n": AttributeType(Kind.INT)}) for name in "ABC")
    >>> whole = compose(Mapping(a, b, ((("n",), parse("n + 1")),)), Mapping(b, c, ((("n",), parse("n * 2")),)))
    >>> render(whole.expressions[0][1]), len(whole.steps)
    ('(n + 1) * 2', 2)
    """
    if second.source.qualified_name not in first.target.lineage:
        raise Misuse(
            f"a mapping to {first.target.qualified_name} cannot be followed by one from {second.source.qualified_name}",
            code="mappings-do-not-meet",
            hint="the first one must give events of the type that the second one takes, or of a type below it",
        )
    found = tuple(part for path, made_from in second.expressions for part in _after(first, path, made_from))
    return Mapping(first.source, second.target, found, (*first.steps, *second.steps))


def _after(first: Mapping, path: Path, made_from: Expression) -> Iterator[tuple[Path, Expression]]:
    """What gives an attribute of the second's target, over the source of the first."""
    parts = _parts(first, made_from.path) if isinstance(made_from, Attribute) else []
    if parts:  # a struct that the first makes part by part is copied so, too
        yield from (((*path, *rest), made) for rest, made in parts)
        return
    substituted = simplify_value(first.translate(made_from), first.source)
    if substituted != MISSING:
        yield path, substituted


def _parts(mapping: Mapping, path: Path) -> list[tuple[Path, Expression]]:
    length = len(path)
    return [(at[length:], made) for at, made in mapping.expressions if at[:length] == path and len(at) > length]
