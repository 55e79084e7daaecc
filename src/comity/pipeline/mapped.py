"""Mappings on Spark columns: what an event becomes on its way, and what keeps it from getting there.

Attributes, and the parts of structs among them, stay columns of their own until a line is made of them (`parts.py`).
Where mapping after mapping uses an attribute several times, its expression would be there as often as the product of
the uses says. On such a way each mapping is worked out before the next, and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from comity.contract.mapping import Mapping, Path
from comity.event.kinds import Kind
from comity.event.types import AttributeType, EventType
from comity.expression.simplify import simplify
from comity.expression.tree import FALSE, Attribute, Expression, walk
from comity.pipeline.columns.columns import TypedColumns, compile_truth, compile_value
from comity.pipeline.lines import Attributes
from comity.pipeline.operands import quoted
from comity.pipeline.parts import Parts, inside, is_present, tests_of, whole
from comity.pipeline.wrap import cast, spark_type
from comity.plan.ways import Way


@dataclass(frozen=True, slots=True)
class MissingTargets:
    """What a mapping cannot complete."""

    some: Column
    """Whether a mandatory attribute stays missing, never null: the condition of the mapping, which asks less."""
    faults: Callable[[], Column]
    """Which ones, as faults. It is dear to put together and to compute, and for those events only that lack some."""


@dataclass(frozen=True, slots=True)
class Followed:
    """An event at the end of its way."""

    seen: Attributes
    """As the subscriber sees it."""
    unmet: MissingTargets | None
    """What mediation leaves missing; None if it never does."""
    unseen: MissingTargets | None
    """What observation leaves missing."""
    kept: tuple[tuple[str, Column], ...] = ()
    """Columns that the others need, by name, each made from those before it."""


def follow(way: Way, number: int) -> Followed:
    """What a way, the one of this number, makes of the events of its source type."""
    if repeats(way) > _MOST_REPEATS:
        return _StepByStep(way.source, f"comity way {number} step").follow(way)
    seen: Attributes = quoted(way.source.qualified_name)
    columns = TypedColumns(way.source, way.source.qualified_name)
    unmet = unseen = None
    if way.mediate is not None:
        unmet, seen = _unmapped(way.mediate, columns), mapped(way.mediate, columns)
    if way.observe is not None:
        columns = TypedColumns(way.observe.source, seen)
        unseen, seen = _unmapped(way.observe, columns), mapped(way.observe, columns)
    return Followed(seen, unmet, unseen)


def keep(rows: DataFrame, kept: Sequence[AbstractMapping[str, Column]]) -> DataFrame:
    """The rows with what is kept, each group of columns worked out from those before it."""
    return reduce(lambda found, columns: found.withColumns(dict(columns)), kept, rows)


def kept_on(ways: AbstractMapping[int, Followed], way: Column) -> list[dict[str, Column]]:
    """What is kept of events on these ways, by their numbers, in the order in which it is worked out."""
    longest = max((len(one.kept) for one in ways.values()), default=0)
    return [
        {name: F.when(way == number, column) for number, one in ways.items() for name, column in one.kept[at : at + 1]}
        for at in range(longest)
    ]


def mapped(mapping: Mapping, columns: TypedColumns) -> dict[str, Column | Parts]:
    """The attributes of the target, made from the columns of the source."""
    expressions = dict(mapping.expressions)

    def value(path: Path, declared: AttributeType) -> Column | Parts:
        if path in expressions:
            return _made(expressions[path], declared, columns)
        if not any(known[: len(path)] == path for known in expressions):
            return cast(F.lit(None), spark_type(declared))
        parts = {name: value((*path, name), part) for name, part in declared.attributes.items()}
        given = {known[len(path)] for known in expressions if known[: len(path)] == path}
        return Parts(parts, tuple(test for name in parts if name in given for test in tests_of(parts[name])))

    return {name: value((name,), declared) for name, declared in mapping.target.attributes.items()}


def _made(made_from: Expression, declared: AttributeType, columns: TypedColumns) -> Column | Parts:
    """What an expression gives; a struct that is copied stays in parts."""
    if isinstance(made_from, Attribute) and declared.kind is Kind.STRUCT:
        return columns.found(made_from.path)
    return cast(compile_value(made_from, columns, declared.kind), spark_type(declared))


@dataclass(slots=True)
class _StepByStep:
    """A way on which the result of each mapping is kept."""

    source: EventType
    label: str
    kept: list[tuple[str, Column]] = field(default_factory=list)

    def follow(self, way: Way) -> Followed:
        unmet = self._go(way.mediate) if way.mediate is not None else None
        unseen = self._go(way.observe) if way.observe is not None else None
        return Followed(quoted(self.kept[-1][0]), unmet, unseen, tuple(self.kept))

    def _go(self, mapping: Mapping) -> MissingTargets | None:
        lacking: list[Column] = []
        made: list[tuple[Mapping, TypedColumns]] = []
        for step in mapping.steps:
            columns = TypedColumns(step.source, self.kept[-1][0] if self.kept else self.source.qualified_name)
            incomplete = simplify(step.incomplete(), step.source)
            if incomplete != FALSE:
                lacking.append(compile_truth(incomplete, columns))
            parts = (whole(value).alias(name) for name, value in mapped(step, columns).items())
            self.kept.append((f"{self.label} {len(self.kept)}", F.struct(*parts)))
            made.append((step, TypedColumns(step.target, self.kept[-1][0])))
        return MissingTargets(reduce(or_, lacking), lambda: _faults(made)) if lacking else None


def _unmapped(mapping: Mapping, columns: TypedColumns) -> MissingTargets | None:
    """What a mapping leaves missing; None if it never does."""
    incomplete = simplify(mapping.incomplete(), mapping.source)
    if incomplete == FALSE:
        return None
    return MissingTargets(compile_truth(incomplete, columns), lambda: _faults(_made_by(mapping, columns)))


def _made_by(mapping: Mapping, columns: TypedColumns) -> Iterator[tuple[Mapping, TypedColumns]]:
    """What each step of a mapping makes."""
    for step in mapping.steps:
        columns = TypedColumns(step.target, mapped(step, columns))
        yield step, columns


def _faults(made: Iterable[tuple[Mapping, TypedColumns]]) -> Column:
    """The mandatory attributes that the first step leaves missing that does so."""
    found: list[Column] = []
    for step, columns in made:
        given = {name: columns.found((name,)) for name in step.target.attributes}
        missing = _missing(given, step.target.attributes, "")
        if missing is not None:
            # No lambda of ours: Spark numbers them, and would compile what holds one anew for every run.
            found.append(F.array_compact(missing))
    first, *rest = found
    for one in rest:
        first = F.when(F.size(first) > 0, first).otherwise(one)
    return first


def _missing(
    given: AbstractMapping[str, Column | Parts], attributes: AbstractMapping[str, AttributeType], prefix: str
) -> Column | None:
    """For each mandatory attribute a fault, or null if it is there; None if there is no such attribute."""
    found: list[Column] = []
    for name, declared in attributes.items():
        value, path = given[name], f"{prefix}{name}"
        if not declared.optional:
            found.append(F.array(F.when(~is_present(value), _fault(path))))
        inner = {part: inside(value, (part,)) for part in declared.attributes}
        below = _missing(inner, declared.attributes, f"{path}.")
        if below is not None:
            found.append(F.when(is_present(value), below).otherwise(F.array().cast(_FAULTS)))
    return F.concat(*found) if found else None


_FAULTS = "array<struct<path:string,value:string,reason:string,code:string>>"


def _fault(path: str) -> Column:
    fault = {
        "path": path,
        "value": "None",
        "reason": "the mapping gives no value for this attribute",
        "code": "mapped-missing",
    }
    return F.struct(*(F.lit(text).alias(name) for name, text in fault.items()))


# How often an expression is there


_MOST_REPEATS = 8
"""How many times as long as its mappings a way may become as one expression."""


def repeats(way: Way) -> float:
    """How many times as long as the mappings of a way the expressions are that do all of them at once."""
    weights: dict[Path, int] = {}
    alone = 0
    for step in (step for mapping in (way.mediate, way.observe) if mapping is not None for step in mapping.steps):
        alone += sum(_weight(made_from, {}) for _, made_from in step.expressions)
        weights = {path: _weight(made_from, weights) for path, made_from in step.expressions}
    return sum(weights.values()) / max(alone, 1)


def _weight(node: Expression, before: AbstractMapping[Path, int]) -> int:
    """The nodes of an expression, where each attribute is as heavy as what it was made from."""
    return sum(_weight_at(part.path, before) if isinstance(part, Attribute) else 1 for part in walk(node))


def _weight_at(path: Path, before: AbstractMapping[Path, int]) -> int:
    within = (weight for known, weight in before.items() if known[: len(path)] == path or path[: len(known)] == known)
    return max(1, sum(within))
