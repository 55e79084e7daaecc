"""Plans as bytes that read back equal: for other processes, for gateways, and to be kept and compared.

The form is JSON with a version. Units are gone since binding, numbers are exact, and of extension functions only name
and state are sent: whoever reads a plan needs the functions themselves. What comes from a network is bounded in size
and depth, and checked before anything of it is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from comity.contract.mapping import Mapping as EventMapping
from comity.errors import Misuse
from comity.event.kinds import Kind
from comity.event.types import AttributeType
from comity.expression.extensions import ExtensionFunction
from comity.expression.functions import FUNCTIONS
from comity.expression.like import check_pattern
from comity.expression.tree import (
    MIRRORED,
    And,
    Arithmetic,
    Attribute,
    Call,
    Compare,
    Conditional,
    Extension,
    In,
    Literal,
    Not,
    Or,
    Quantity,
    TextTest,
    is_truth,
    walk,
)
from comity.limits import limits
from comity.pattern.bound import BoundPattern
from comity.pattern.tree import operands
from comity.pattern.tree import walk as walk_pattern
from comity.plan.codec import SHARED, Reader, Writer, bad_plan, is_value
from comity.plan.stages import Delivery, Failure, Plan, Route

FORMAT, VERSION = "comity-plan", 1
_TEXT_TESTS = ("like", "starts with", "ends with", "contains", "matches")


def write_plan(plan: Plan) -> bytes:
    """The plan as bytes, the same for equal plans whose parts are in the same order."""
    writer = Writer()
    try:
        content = writer.dataclass(plan)
        whole = {"format": FORMAT, "version": VERSION, **writer.shared, "plan": content}
        return json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    except RecursionError:
        raise Misuse("an expression is nested too deep to be written", code="expression-too-deep") from None


def read_plan(data: bytes, functions: Iterable[ExtensionFunction] = ()) -> Plan:
    """The plan that was written; raises `Misuse` for anything else. `functions` are those that it may call."""
    content = _content(data)
    reader = Reader(
        {name: content[name] for name in SHARED.values()}, {(one.name, one.key): one for one in functions}, _check
    )
    try:
        found: Plan = reader.dataclass(content["plan"], Plan)
    except RecursionError:
        raise bad_plan("it is nested too deep") from None
    return found


def functions_of(plan: Plan) -> tuple[ExtensionFunction, ...]:
    """The extension functions that a plan calls, and that whoever reads it needs."""
    found = {node.function for tree in _trees(plan) for node in walk(tree) if isinstance(node, Extension)}
    return tuple(sorted(found, key=lambda one: (one.name, one.key)))


def _trees(plan: Plan) -> Iterable[Any]:
    mappings: list[EventMapping | None] = []
    for route in plan.routes:
        mappings += [route.mediate, *(one.mediate for one in route.failures)]
        yield from (failure.condition for failure in route.failures)
        for delivery in route.deliveries:
            yield from (delivery.condition, delivery.wanted)
            mappings.append(delivery.observe)
    for mapping in filter(None, mappings):
        for step in (mapping, *mapping.steps):
            yield from (made for _, made in step.expressions)
    for planned in plan.patterns:
        yield from planned.bound.filters.values()
        joins = (*planned.bound.joins.values(), *planned.bound.against.values())
        yield from (join.condition for own in joins for join in own)


def _content(data: bytes) -> dict[str, Any]:
    bound = limits().max_plan_bytes
    if len(data) > bound:
        raise bad_plan(f"it has {len(data):,} bytes, the limit is {bound:,}")
    try:
        content = json.loads(data, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise bad_plan(f"it is no JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise bad_plan(f"it does not say `format: {FORMAT}`")
    if content.get("version") != VERSION:
        hint = f"this Comity reads version {VERSION}"
        raise Misuse(f"the plan is of version {str(content.get('version'))[:60]}", code="bad-plan", hint=hint)
    if content.keys() != {"format", "version", "plan", *SHARED.values()}:
        raise bad_plan("something is missing, or too much")
    if not all(isinstance(content[name], Mapping) for name in SHARED.values()):
        raise bad_plan("what is referred to is no mapping")
    return content


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number")


def _check(made: Any) -> None:
    """Refuse what has the form of a part of a plan, and could not be carried out."""
    match made:
        case Literal(value):
            fits = is_value(value)
        case Attribute(path):
            fits = bool(path)
        case Quantity():
            fits = False
        case Compare(operator) | Arithmetic(operator):
            fits = operator in (MIRRORED if isinstance(made, Compare) else "+-*/%") and bool(operator)
        case TextTest(operator, _, text):
            fits = operator in _TEXT_TESTS
            check_pattern(operator, text)
        case Call(name, arguments):
            fits = name == "coalesce" or (name in FUNCTIONS and FUNCTIONS[name].accepts(len(arguments)))
        case Extension(name, function, arguments):
            fits = name == function.name and len(arguments) == len(function.takes)
        case In(_, items):
            fits = all(isinstance(item, Literal) for item in items)
        case And(items) | Or(items):
            fits = bool(items) and all(map(is_truth, items))
        case Not(item) | Conditional(item):
            fits = is_truth(item)
        case AttributeType(kind):
            fits = (made.element is not None) == (kind is Kind.LIST)
        case _:
            fits = _is_consistent(made)
    if not fits:
        raise bad_plan(f"a {type(made).__name__} in it makes no sense")


def _is_consistent(made: Any) -> bool:
    match made:
        case EventMapping(source, target, expressions, steps):
            of = [source, *(step.target for step in steps[:-1])]
            follow = all(step.source.qualified_name in last.lineage for last, step in zip(of, steps, strict=False))
            return follow and all(path and target.attribute_at(path) is not None for path, _ in expressions)
        case Delivery():
            return is_truth(made.condition) and is_truth(made.wanted)
        case Failure():
            return is_truth(made.condition)
        case Route(source, _, mediate):
            return mediate is None or mediate.source.qualified_name in source.lineage
        case BoundPattern():
            names = {operand.name for operand in operands(made.pattern)}
            parts = set(walk_pattern(made.pattern))
            joins = (join for own in (*made.joins.values(), *made.against.values()) for join in own)
            is_joined = all(join.operands <= names and is_truth(join.condition) for join in joins)
            return made.filters.keys() == names and is_joined and parts >= {*made.joins, *made.against}
    return True
