"""Mappings: how an event of one type becomes an event of another, as one expression for each attribute of the
target.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass
from typing import Any

from comity.errors import Misuse
from comity.event.event import Event
from comity.event.kinds import Kind, Point, Value
from comity.event.types import AttributeType, EventType
from comity.event.validate import Fault, fault
from comity.expression.bind import bind_for
from comity.expression.evaluate import evaluate
from comity.expression.parse import parse_text
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.tree import (
    MISSING,
    Attribute,
    Call,
    Compare,
    Conditional,
    Exists,
    Expression,
    IsType,
    Literal,
    Not,
    conjunction,
    disjunction,
    rebuild,
)
from comity.keyed import Keyed

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mapping(Keyed):
    """A function from events of the source type to events of the target type.

    Envelope attributes stay as they are, but for the type. A missing input gives a missing output.
    """

    source: EventType
    target: EventType
    expressions: tuple[tuple[Path, Expression], ...]
    """Bound to the source type, in the units of the target: by path in the target."""
    composed_of: tuple[Mapping, ...] = ()
    """The mappings that follow each other in a composed one; none in a plain one."""

    @property
    def steps(self) -> tuple[Mapping, ...]:
        """The plain mappings that follow each other: a plain one alone, or those that a composed one is made of."""
        return self.composed_of or (self,)

    def apply(self, event: Event) -> Event | list[Fault]:
        """The event in the target's terms, or what keeps it from being one: mandatory attributes that stay missing."""
        for step in self.steps:
            found = step._apply(event)
            if isinstance(found, list):
                return found
            event = found
        return event

    def translate(self, tree: Expression) -> Expression:
        """A filter on the target type as one on the source type: S becomes S∘f, exactly."""
        for step in reversed(self.steps):
            tree = _translated(tree, dict(step.expressions), step.target)
        return tree

    def incomplete(self) -> Expression:
        """Over the source type: whether a mandatory attribute of the target stays missing, so that `apply` refuses.

        Of a composed mapping: the same of any of its steps.
        """
        found: list[Expression] = []
        for step in reversed(self.steps):
            missing = disjunction([*_incomplete(step.target.attributes, ()), *found])
            found = [_translated(missing, dict(step.expressions), step.target)]
        return found[0]

    def _apply(self, event: Event) -> Event | list[Fault]:
        data: dict[str, Any] = {}
        for path, expression in self.expressions:
            value = evaluate(expression, event)
            if value is not None:
                _put(data, path, value)
        faults = list(_missing(self.target.attributes, data, ""))
        return faults or event.replace(type=self.target.qualified_name, data=data)


def read_mapping(
    texts: AbstractMapping[str, str], source: Scope, target: EventType
) -> tuple[Mapping, list[tuple[str, Misuse]]]:
    """The mapping that these expressions describe, and every fault, each with the attribute it belongs to."""
    assert source.type is not None
    faults: list[tuple[str, Misuse]] = []
    expressions: list[tuple[Path, Expression]] = []
    for name, text in texts.items():
        path = tuple(name.split("."))
        declared = target.attribute_at(path) if path[0] != "event" else None
        if declared is None:
            known = ", ".join(target.attributes)
            error = Misuse(f"{target.name} has no attribute {name!r}", code="unknown-attribute", hint=f"known: {known}")
            faults.append((name, error))
            continue
        refused = _refused(path, [known for known, _ in expressions], target)
        if refused is not None:
            faults.append((name, refused))
            continue
        try:
            expressions += _parts(path, _bound(text, source, declared), declared, source)
        except Misuse as error:
            faults.append((name, error))
    mapping = Mapping(source.type, target, tuple(expressions))
    given = {name.split(".")[0] for name in texts}
    for name, declared in target.attributes.items():
        if not declared.optional and name not in given:
            hint = f"add `{name}: …`, or make the attribute optional"
            faults.append(("", Misuse(f"nothing maps to the mandatory attribute {name!r}", code="unmapped", hint=hint)))
    return mapping, faults


def _refused(path: Path, others: list[Path], target: EventType) -> Misuse | None:
    """Why an attribute cannot be given a value of its own beside the others."""
    above = next((path[:end] for end in range(1, len(path)) if not _is_struct(target, path[:end])), None)
    if above is not None:
        name = ".".join(above)
        return Misuse(f"{name} is no struct, it is mapped as a whole", code="wrong-kind", hint=f"`{name}: point(x, y)`")
    twice = next((one for one in others if one[: len(path)] == path or path[: len(one)] == one), None)
    if twice is not None:
        hint = "map the struct as a whole, or its attributes one by one"
        return Misuse(f"{'.'.join(twice)} is mapped already", code="mapped-twice", hint=hint)
    return None


def _is_struct(type: EventType, path: Path) -> bool:
    declared = type.attribute_at(path)
    return declared is not None and declared.kind is Kind.STRUCT


def _parts(path: Path, made_from: Expression, target: AttributeType, scope: Scope) -> Iterator[tuple[Path, Expression]]:
    """What an attribute is made from; a struct of another shape or in other units is made part by part."""
    assert scope.type is not None
    own = scope.type.attribute_at(made_from.path) if isinstance(made_from, Attribute) else None
    if own is None or not isinstance(made_from, Attribute) or own.kind not in (Kind.STRUCT, Kind.LIST):
        yield path, made_from
    elif own.kind is Kind.LIST:
        if own.element != target.element:
            message = f"{made_from.name} is a list of {own.element}, the target one of {target.element}"
            raise Misuse(message, code="wrong-kind", hint="lists are copied as they are")
        yield path, made_from
    elif own.attributes == target.attributes:
        yield path, made_from
    else:
        for name, inner in target.attributes.items():
            if name in own.attributes:
                part = bind_for(Attribute((*made_from.path, name)), scope, inner)
                yield from _parts((*path, name), part, inner, scope)
            elif not inner.optional:
                hint = f"map {'.'.join(path)} part by part"
                raise Misuse(f"{made_from.name} has no {name!r}, which is mandatory", code="unmapped", hint=hint)


def _bound(text: str, scope: Scope, target: AttributeType) -> Expression:
    parsed = parse_text(text)
    try:
        return bind_for(parsed.tree, scope, target)
    except Misuse as error:
        raise parsed.locate(error) from None


def _put(data: dict[str, Any], path: Path, value: Value) -> None:
    *surroundings, name = path
    for step in surroundings:
        data = data.setdefault(step, {})
    data[name] = value


def _missing(attributes: AbstractMapping[str, AttributeType], data: dict[str, Any], prefix: str) -> list[Fault]:
    faults: list[Fault] = []
    for name, declared in attributes.items():
        value = data.get(name)
        if value is None and not declared.optional:
            faults.append(fault(prefix + name, None, "the mapping gives no value for this attribute", "mapped-missing"))
        elif isinstance(value, dict):
            faults += _missing(declared.attributes, value, f"{prefix}{name}.")
    return faults


def _incomplete(attributes: AbstractMapping[str, AttributeType], prefix: Path) -> Iterator[Expression]:
    """Over the target type: each way in which something mandatory can be missing."""
    for name, declared in attributes.items():
        path = (*prefix, name)
        if not declared.optional:
            yield Not(Exists(Attribute(path)))
        if declared.attributes:
            inner = disjunction(list(_incomplete(declared.attributes, path)))
            yield conjunction([Exists(Attribute(path)), inner])


def _translated(node: Expression, put: dict[Path, Expression], target: EventType) -> Expression:
    match node:
        case Attribute(path):
            return _made_from(path, put, target)
        case Exists(Attribute(path)) if path[0] != "event":
            return disjunction([_present(made_from) for made_from in _sources_of(path, put, target)])
        case IsType(_, names):
            return Literal(target.qualified_name in names)
        case Exists():
            return node
    return rebuild(node, lambda part: _translated(part, put, target))


def _made_from(path: Path, put: dict[Path, Expression], target: EventType) -> Expression:
    """The expression over the source that gives the attribute of the target."""
    if path == ("event", "type"):
        return Literal(target.qualified_name)
    if path[0] == "event":
        return Attribute(path)
    for length in range(len(path), 0, -1):
        made_from, rest = put.get(path[:length]), path[length:]
        if made_from is not None:
            return _inside(made_from, rest)
    if any(known[: len(path)] == path for known in put):
        raise Misuse(
            f"{'.'.join(path)} is made part by part, a filter on it as a whole cannot be translated",
            code="opaque-mapping",
            hint="compare its attributes one by one",
        )
    return MISSING


def _inside(made_from: Expression, rest: Path) -> Expression:
    """What stands at a path inside the value of an expression."""
    match made_from, rest:
        case _, ():
            return made_from
        case Attribute(path), _:
            return Attribute(path + rest)
        case Call("point", (x, y)), (coordinate,):
            own, other = (x, y) if coordinate == "x" else (y, x)
            # Without the other coordinate there is no point at all.
            return Conditional(_present(other), Call("float", (own,)), MISSING)
        case Literal(Point() as point), (coordinate,):
            return Literal(getattr(point, coordinate))
    raise Misuse(
        f"a filter on {'.'.join(rest)} cannot be translated through {render(made_from)}", code="opaque-mapping"
    )


def _sources_of(path: Path, put: dict[Path, Expression], target: EventType) -> list[Expression]:
    """The expressions of which one must have a value for the attribute to be present."""
    inner = [made_from for known, made_from in put.items() if known[: len(path)] == path and len(known) > len(path)]
    return inner or [_made_from(path, put, target)]


def _present(made_from: Expression) -> Expression:
    """A value is present iff it equals itself: without NaN no kind has an exception."""
    if isinstance(made_from, Attribute):
        return Exists(made_from)
    return Compare("=", made_from, made_from)
