"""Mappings on Spark columns: what an event becomes on its way, and what keeps it from getting there.

Attributes stay columns of their own until a line is made of them. As a struct, each use of one attribute would repeat
the expressions of all, and with several contracts on the way Spark would spend its time on reading the plan.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from comity.contract.mapping import Mapping
from comity.event.types import AttributeType, EventType
from comity.expression.simplify import simplify
from comity.expression.tree import FALSE
from comity.pipeline.columns import TypedColumns, compile_filter, compile_value
from comity.pipeline.operands import quoted
from comity.pipeline.wrap import cast, spark_type
from comity.plan.ways import Way

Attributes = Column | AbstractMapping[str, Column]
"""The attributes of an event: a struct, or a column for each by name."""


@dataclass(frozen=True, slots=True)
class Missing:
    """What a mapping cannot complete."""

    some: Column
    """Whether a mandatory attribute stays missing: the condition of the mapping, which asks less than it computes."""
    faults: Callable[[], Column]
    """Which ones, as faults. It is dear to put together and to compute, and for those events only that lack some."""


@dataclass(frozen=True, slots=True)
class Followed:
    """An event at the end of its way."""

    seen: Attributes
    """As the subscriber sees it."""
    unmet: Missing | None
    """What mediation leaves missing; None if it never does."""
    unseen: Missing | None
    """What observation leaves missing."""


def follow(way: Way) -> Followed:
    """What a way makes of the events of its source type."""
    seen: Attributes = quoted(way.source.qualified_name)
    columns = TypedColumns(way.source, way.source.qualified_name)
    unmet = unseen = None
    if way.mediate is not None:
        unmet, seen = _unmapped(way.mediate, columns), mapped(way.mediate, columns)
    if way.observe is not None:
        columns = TypedColumns(way.observe.source, seen)
        unseen, seen = _unmapped(way.observe, columns), mapped(way.observe, columns)
    return Followed(seen, unmet, unseen)


def mapped(mapping: Mapping, columns: TypedColumns) -> dict[str, Column]:
    """The attributes of the target, made from the columns of the source."""
    expressions = dict(mapping.expressions)

    def value(path: tuple[str, ...], declared: AttributeType) -> Column:
        if path in expressions:
            return cast(compile_value(expressions[path], columns, declared.kind), spark_type(declared))
        inner = [known for known in expressions if known[: len(path)] == path]
        if not inner:
            return cast(F.lit(None), spark_type(declared))
        parts = {name: value((*path, name), part) for name, part in declared.attributes.items()}
        some = [parts[known[len(path)]].isNotNull() for known in inner]
        any_part = some[0]
        for one in some[1:]:
            any_part = any_part | one
        return F.when(any_part, F.struct(*(part.alias(name) for name, part in parts.items())))

    return {name: value((name,), declared) for name, declared in mapping.target.attributes.items()}


def _unmapped(mapping: Mapping, columns: TypedColumns) -> Missing | None:
    """What a mapping leaves missing; None if it never does."""
    incomplete = simplify(mapping.incomplete(), mapping.source)
    if incomplete == FALSE:
        return None
    return Missing(compile_filter(incomplete, columns), lambda: _faults(mapping, columns))


def _faults(mapping: Mapping, columns: TypedColumns) -> Column:
    """The mandatory attributes that the first step leaves missing that does so."""
    found: list[Column] = []
    for number, step in enumerate(mapping.steps, 1):
        met = mapped(step, columns)
        if tests := _missing(met, step.target):
            # No lambda of ours: Spark numbers them, and would compile what holds one anew for every run.
            found.append(F.array_compact(F.array(*tests)))
        if number < len(mapping.steps):
            columns = TypedColumns(step.target, met)
    first, *rest = found
    for one in rest:
        first = F.when(F.size(first) > 0, first).otherwise(one)
    return first


def _missing(given: AbstractMapping[str, Column], type: EventType) -> list[Column]:
    """For each mandatory attribute a fault, or null if it is there."""
    tests: list[Column] = []

    def look(column: Column, declared: AttributeType, path: str, is_inside: Column) -> None:
        if not declared.optional:
            tests.append(F.when(is_inside & column.isNull(), _fault(path)))
        for name, inner in declared.attributes.items():
            look(column.getField(name), inner, f"{path}.{name}", column.isNotNull())

    for name, declared in type.attributes.items():
        look(given[name], declared, name, F.lit(True))
    return tests


def _fault(path: str) -> Column:
    fault = {
        "path": path,
        "value": "None",
        "reason": "the mapping gives no value for this attribute",
        "code": "mapped-missing",
    }
    return F.struct(*(F.lit(text).alias(name) for name, text in fault.items()))
