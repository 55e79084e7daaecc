"""A pattern with its condition, taken apart.

What each operand asks of an event, what has to hold between operands, which occurrences count against a `not`, and the
key by which events are split into traces.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from comity.errors import Misuse, Place
from comity.event.kinds import Kind
from comity.expression.bind import bind_filter
from comity.expression.compile import Test, compile_filter
from comity.expression.evaluate import holds
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.tree import TRUE, And, Attribute, Expression, IsType, attributes, conjunction, substitute
from comity.pattern.correlation import Key, correlation_key
from comity.pattern.parameters import Parameters
from comity.pattern.scope import OperandScope, scope_of, with_operands
from comity.pattern.tree import (
    Absent,
    Either,
    Pattern,
    Sequence,
    Silence,
    bound_operands,
    bound_parts,
    choice_order,
    operands,
    parts,
    walk,
)


@dataclass(frozen=True)
class Join:
    """A condition between operands."""

    operands: frozenset[str]
    condition: Expression

    @cached_property
    def test(self) -> Test:
        return compile_filter(self.condition)


_Joins = dict[Pattern, list[Join]]


@dataclass(frozen=True)
class BoundPattern:
    """A composite profile, ready to be evaluated."""

    name: str
    pattern: Pattern
    parameters: Parameters
    filters: Mapping[str, Expression]
    """By operand: what it asks of an event, its type included."""
    joins: Mapping[Pattern, tuple[Join, ...]]
    """By the part whose occurrences must fulfil them."""
    against: Mapping[Pattern, tuple[Join, ...]]
    """By the pattern in a `not`: what an occurrence of it must fulfil to count."""
    key: Key | None
    """How events are split into traces; None when there is one."""
    never: bool = False
    """Whether its condition is false whatever happens."""
    feed: str = ""
    """Which events come to it at all, where that is decided elsewhere; patterns of other feeds see other events."""
    has_forms: bool = False
    """Whether its operands may see one event in different forms, where that is decided elsewhere."""
    text: str = field(default="", compare=False)

    @cached_property
    def choice_order(self) -> tuple[str, ...]:
        """The operands in the order in which they choose."""
        return choice_order(self.pattern)

    @cached_property
    def tests(self) -> dict[str, Test]:
        """By operand: whether an event is a candidate, but for the correlation key."""
        return {name: compile_filter(condition) for name, condition in self.filters.items()}

    @cached_property
    def compared(self) -> dict[str, frozenset[tuple[str, ...]]]:
        """By operand: the attributes that conditions between operands read. The key and the tie-break are not among
        them: in these, events of one trace that are in the same place do not differ.
        """
        found: dict[str, set[tuple[str, ...]]] = {operand.name: set() for operand in operands(self.pattern)}
        for join in (one for own in (*self.joins.values(), *self.against.values()) for one in own):
            for path in attributes(join.condition):
                found[path[0]].add(path[1:])
        return {name: frozenset(paths) for name, paths in found.items()}

    def needed(self, operand: str) -> frozenset[tuple[str, ...]]:
        """The attributes that conditions between operands, the key and the tie-break read."""
        ties = self.parameters.ties
        return (
            self.compared[operand]
            | frozenset(self.key.paths(operand) if self.key else ())
            | {*([ties] if ties else ())}
        )

    def asked(self, operand: str) -> Expression:
        """What an operand asks of an event beside its type."""
        own = self.filters[operand]
        items = own.items if isinstance(own, And) else (own,)
        type = next(one.type for one in operands(self.pattern) if one.name == operand)
        has_type = isinstance(items[0], IsType) and items[0].type == type
        return conjunction(list(items[1:])) if has_type else own

    def needs_line(self, operand: str) -> bool:
        """Whether conditions between operands read attributes of its events."""
        return bool(self.compared[operand])

    @cached_property
    def operand_names(self) -> tuple[str, ...]:
        """Every operand; elsewhere they are numbered by their position here."""
        return tuple(operand.name for operand in operands(self.pattern))

    @cached_property
    def body(self) -> str:
        """A digest of everything but the name: profiles that agree in it find the same at the same time."""
        joins = [
            sorted(render(join.condition) for join in own) for own in (*self.joins.values(), *self.against.values())
        ]
        filters = sorted((name, repr(condition)) for name, condition in self.filters.items())
        own = sorted((name, str(how)) for name, how in self.parameters.own_duplicates.items())
        rest = replace(self.parameters, own_duplicates={})
        text = repr((self.pattern, filters, joins, self.key.parts if self.key else None, own, rest, self.never))
        text += self.feed + ("forms" if self.has_forms else "")
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def bind_pattern(
    name: str,
    pattern: Pattern,
    condition: Expression = TRUE,
    parameters: Parameters | None = None,
    *,
    scope: OperandScope | None = None,
) -> BoundPattern:
    """The pattern with the meaning that a scope gives to its names; what can never be fulfilled sensibly is refused.

    >>> from comity.expression.parse import parse
    >>> from comity.pattern.tree import Operand
    >>> pattern = Sequence((Operand("h", "Heat"), Absent(Operand("v", "Ventilation"))), within=300_000_000)
    >>> bound = bind_pattern("hot", pattern, parse("h.value > 30 and v.room = h.room"))
    >>> bound.key.paths("h"), sorted(bound.filters)
    ((('room',),), ['h', 'v'])
    """
    parameters = parameters or Parameters()
    scope = scope or scope_of(pattern)
    _check_parameters(pattern, parameters, scope)
    tree = bind_filter(with_operands(condition, pattern), scope)
    items = list(tree.items) if isinstance(tree, And) else [tree]
    has_silence = any(isinstance(part, Silence) for part in walk(pattern))
    key = None if has_silence else correlation_key([operand.name for operand in operands(pattern)], items)
    filters = {one.name: [_of_type(one.type, scope.operand_scopes[one.name])] for one in operands(pattern)}
    joins: _Joins = {}
    against: _Joins = {}
    for item in items:
        used = frozenset(path[0] for path in attributes(item))
        if len(used) == 1:
            (only,) = used
            filters[only].append(_without_operand(item))
        elif used and key is not None and item in key.items:
            _check_together(pattern, Join(used, item))
        elif used:
            _place(pattern, Join(used, item), joins, against)
    return BoundPattern(
        name,
        pattern,
        parameters,
        {name: conjunction([one for one in own if one != TRUE]) for name, own in filters.items()},
        {part: tuple(own) for part, own in joins.items()},
        {part: tuple(own) for part, own in against.items()},
        key,
        never=any(not attributes(item) and not holds(item, {}) for item in items),
    )


def _of_type(name: str | None, scope: Scope) -> Expression:
    return TRUE if name is None else IsType(name, scope.type_names(name))


def _without_operand(item: Expression) -> Expression:
    return substitute(item, {path: Attribute(path[1:]) for path in attributes(item)})


def _check_parameters(pattern: Pattern, parameters: Parameters, scope: OperandScope) -> None:
    names = [operand.name for operand in operands(pattern)]
    for twice in {name for name in names if names.count(name) > 1}:
        hint = "give each operand a name of its own: `Heat h1 ; Heat h2`"
        raise Misuse(f"two operands are named {twice!r}", code="duplicate-operand", hint=hint)
    bound = {operand.name for operand in bound_operands(pattern)}
    for name in parameters.own_duplicates:
        if name not in bound:
            hint = f"operands that choose: {', '.join(sorted(bound)) or 'none'}"
            raise Misuse(f"{name!r} does not choose among duplicates", code="unknown-operand", hint=hint)
    if parameters.ties:
        for name in names:
            declared = scope.attribute((name, *parameters.ties))
            if declared is not None and declared.kind is not Kind.INT:
                path = ".".join(parameters.ties)
                raise Misuse(f"the tie-break {path} of {name} is no int", code="wrong-kind", place=Place(path=path))


def _place(pattern: Pattern, join: Join, joins: _Joins, against: _Joins) -> None:
    """Put a condition where all its operands are first bound together."""
    for part in parts(pattern):
        if join.operands <= _names(operands(part)):
            _place(part, join, joins, against)
            return
    if isinstance(pattern, Sequence):
        negated = [step.pattern for step in pattern.steps if isinstance(step, Absent)]
        touched = [part for part in negated if join.operands & _names(operands(part))]
        if len(touched) > 1:
            raise _refusal(join, "it is about two different `not`s", "write one condition for each of them")
        if touched:
            _check_bound(pattern, join, join.operands - _names(operands(touched[0])))
            _check_inside(touched[0], join)
            against.setdefault(touched[0], []).append(join)
            return
    _check_bound(pattern, join, join.operands)
    joins.setdefault(pattern, []).append(join)


def _check_inside(absent: Pattern, join: Join) -> None:
    inside = join.operands & _names(operands(absent))
    if not inside <= _names(bound_operands(absent)) or not _can_bind(absent, inside):
        raise _refusal(join, "its operands inside the `not` are never bound together", None)


def _check_bound(pattern: Pattern, join: Join, wanted: frozenset[str]) -> None:
    hidden = wanted - _names(bound_operands(pattern))
    if hidden:
        name = min(hidden)
        hint = f"compare {name} with operands of the sequence in which its `not` stands"
        raise _refusal(join, f"{name} stands in a `not` elsewhere", hint)
    if not _can_bind(pattern, wanted):
        raise _refusal(join, "its operands are never bound together", "they stand on different sides of `|`")


def _check_together(pattern: Pattern, join: Join) -> None:
    """Refuse an equality between operands of which no occurrence has both."""
    if join.operands <= _names(bound_operands(pattern)):
        _check_bound(pattern, join, join.operands)


def _can_bind(pattern: Pattern, wanted: frozenset[str]) -> bool:
    if not wanted:
        return True
    if isinstance(pattern, Either):
        return any(wanted <= _names(bound_operands(part)) and _can_bind(part, wanted) for part in pattern.parts)
    return all(_can_bind(part, wanted & _names(bound_operands(part))) for part in bound_parts(pattern))


def _names(found: Iterable[object]) -> frozenset[str]:
    return frozenset(operand.name for operand in found)  # type: ignore[attr-defined]


def _refusal(join: Join, reason: str, hint: str | None) -> Misuse:
    path = min(".".join(path) for path in attributes(join.condition))
    message = f"the condition {render(join.condition)} cannot be tested: {reason}"
    return Misuse(message, code="bad-condition", place=Place(path=path), hint=hint)
