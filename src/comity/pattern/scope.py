"""What the names in the condition of a pattern mean: the first is an operand, the others are those of its events."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from comity.errors import Misuse, Place
from comity.event.taxonomy import Taxonomy
from comity.event.types import ENVELOPE_NAME, EVENT, AttributeType
from comity.expression.scope import Scope, Table
from comity.expression.tree import Attribute, Expression, attributes, substitute
from comity.pattern.tree import Operand, Pattern, operands


class _OfEvents(dict[tuple[str, ...], Any]):
    """Remembers what was settled about an open attribute, whichever operand it was asked of."""

    def get(self, path: tuple[str, ...], default: Any = None) -> Any:
        return super().get(path[1:], default)

    def setdefault(self, path: tuple[str, ...], default: Any = None) -> Any:
        return super().setdefault(path[1:], default)


@dataclass(frozen=True, slots=True)
class OpenNames:
    """What is settled about open attributes, in all profiles of one set."""

    units: _OfEvents = field(default_factory=_OfEvents)
    texts: _OfEvents = field(default_factory=_OfEvents)


@dataclass(frozen=True)
class OperandScope(Scope):
    """The names of all operands of a pattern."""

    operand_scopes: Mapping[str, Scope] = field(default_factory=dict)

    def attribute(self, path: tuple[str, ...]) -> AttributeType | None:
        scope = self.operand_scopes[path[0]]
        if len(path) == 1:
            hint = f"name an attribute of it, for example `{path[0]}.value`"
            place = Place(path=path[0])
            raise Misuse(f"{path[0]} is an event, not a value", code="not-a-value", place=place, hint=hint)
        try:
            return scope.attribute(path[1:])
        except Misuse as error:
            raise replace_path(error, ".".join(path)) from None

    def moment(self, paths: Collection[tuple[str, ...]]) -> Attribute:
        """The time of the one event that the attributes are of."""
        names = sorted({path[0] for path in paths})
        if len(names) != 1:
            hint = "convert each of them first, for example value(a.price, 'EUR') > value(b.price, 'EUR')"
            raise Misuse("money of several events has no one time", code="ambiguous-moment", hint=hint)
        return Attribute((names[0], ENVELOPE_NAME, "time"))


def replace_path(error: Misuse, path: str) -> Misuse:
    """The error at the path as it is written in the condition."""
    return Misuse(error.message, code=error.code, place=Place(path=path), hint=error.hint)


def scope_of(
    pattern: Pattern,
    taxonomy: Taxonomy | None = None,
    names: OpenNames | None = None,
    tables: Mapping[str, Table] | None = None,
    operand_scopes: Mapping[str, Scope] | None = None,
) -> OperandScope:
    """The scope of a pattern's condition; a type that nobody knows is refused.

    `operand_scopes` says what each operand sees, where that is not the same taxonomy for all.

    >>> from comity.expression.bind import bind_text
    >>> bind_text("h.value > 30 degC", scope_of(Operand("h", "Heat"))).left.path
    ('h', 'value')
    """
    names = names or OpenNames()
    tables = tables or {}
    scopes = operand_scopes or {one.name: _operand_scope(one, taxonomy, tables) for one in operands(pattern)}
    first = next(iter(scopes.values()), Scope())
    return OperandScope(
        None,
        taxonomy,
        tables,
        names.units,
        False,
        names.texts,
        operand_scopes=scopes,
        functions=first.functions,
        rates=first.rates,
        codes=first.codes,
    )


def _operand_scope(operand: Operand, taxonomy: Taxonomy | None, tables: Mapping[str, Table]) -> Scope:
    if taxonomy is None:
        return Scope(tables=tables)
    return Scope(taxonomy.type(operand.type or EVENT.name), taxonomy, tables)


def with_operands(tree: Expression, pattern: Pattern) -> Expression:
    """The condition with every attribute led by its operand; with one operand it may be left out.

    >>> from comity.expression.parse import parse
    >>> with_operands(parse("value > 30"), Operand("h", "Heat")).left.path
    ('h', 'value')
    """
    known = [operand.name for operand in operands(pattern)]
    put = {}
    for path in attributes(tree):
        if len(known) == 1 and (path[0] != known[0] or len(path) == 1):
            put[path] = Attribute((known[0], *path))
        elif path[0] not in known:
            raise _unknown(path, known)
    return substitute(tree, put)


def _unknown(path: tuple[str, ...], known: list[str]) -> Misuse:
    name = ".".join(path)
    if path[0] == ENVELOPE_NAME:
        hint = f"lead it with the operand: `{known[0]}.{name}`"
    else:
        hint = f"the operands are {', '.join(known)}: write `{known[0]}.{name}`, or give the operand this name"
    return Misuse(f"no operand is named {path[0]!r}", code="unknown-operand", place=Place(path=name), hint=hint)
