"""What is told of hits in columns, for whoever goes on with a DataFrame: notifications and rejected records.

Each column is chosen by the way of a hit on its own, so that Spark works out only those that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from comity.connect.folder import REJECTED
from comity.errors import Misuse
from comity.event.types import AttributeType
from comity.pipeline.deliver import Outcome, outcome_of_hit, target_of_hit
from comity.pipeline.lines import data_text, json_line
from comity.pipeline.mapped import Followed, follow, kept_on
from comity.pipeline.operands import quoted
from comity.pipeline.parts import inside, whole
from comity.pipeline.wrap import cast, spark_type, struct_type
from comity.plan.ways import Way, Ways

_WAY = "hit.way"
_ENVELOPE = ("time", "subject", "sequence", "mode", "version")
_Tell = Callable[[Way, Followed], Column]


@dataclass(frozen=True, slots=True)
class _Told:
    """A column that differs by the way: its type, and what it says of events at the end of a way."""

    kind: T.DataType
    tell: _Tell


def notifications_of_hit(ways: Ways, *, typed: bool = False) -> Outcome:
    """What becomes of hits that are told, in columns; `typed` ones hold the attributes as a struct and not as JSON."""
    type = _Told(T.StringType(), lambda way, found: F.lit(way.target.qualified_name))
    if typed:
        return _told(ways, {"type": type, "data": _typed(ways)})
    data = _Told(T.StringType(), lambda way, found: data_text(found.seen, way.target))
    line = _Told(T.StringType(), lambda way, found: json_line(found.seen, way.target, {"profile": F.col("profile")}))
    return _told(ways, {"type": type, "data": data, "notification": line})


def _told(ways: Ways, columns: Mapping[str, _Told]) -> Outcome:
    followed = {number: follow(way, number) for number, way in enumerate(ways.ways)}
    to = target_of_hit(ways, followed)
    parts = {name: quoted(name) for name in _ENVELOPE}
    parts |= {name: _by_way(ways, followed, one) for name, one in columns.items()}
    line = F.struct(*(column.alias(name) for name, column in parts.items()))
    return Outcome(F.when(to != REJECTED, to), line, tuple(kept_on(followed, F.col(_WAY))))


def _by_way(ways: Ways, followed: Mapping[int, Followed], told: _Told) -> Column:
    column = F.when(F.lit(False), cast(F.lit(None), told.kind))
    for number, found in followed.items():
        if ways.ways[number].subscriber is not None:
            column = column.when(F.col(_WAY) == number, told.tell(ways.ways[number], found))
    return column


def notification_columns(told: DataFrame) -> DataFrame:
    """The columns of what `deliver` made of such hits."""
    fields = [field.name for field in told.schema["line"].dataType]  # type: ignore[attr-defined]
    more = [name for name in fields if name not in ("type", *_ENVELOPE)]
    return told.select(
        F.col("to").alias("subscriber"),
        "profile",
        "id",
        "source",
        "line.type",
        *(F.col(f"line.{name}").alias("typeversion" if name == "version" else name) for name in _ENVELOPE),
        *(f"line.{name}" for name in more),
    )


# With types


def _typed(ways: Ways) -> _Told:
    """The attributes as a struct, which has those of all types in which events are told."""
    attributes = attributes_of(ways.ways)
    wanted = struct_type(attributes)

    def tell(way: Way, found: Followed) -> Column:
        fields = [_field(way, found, name, declared).alias(name) for name, declared in attributes.items()]
        return cast(F.struct(*fields), wanted)

    return _Told(wanted, tell)


def _field(way: Way, found: Followed, name: str, declared: AttributeType) -> Column:
    if name not in way.target.attributes:
        return cast(F.lit(None), spark_type(declared))
    return whole(inside(found.seen, (name,)) if isinstance(found.seen, Column) else found.seen[name])


def attributes_of(ways: Sequence[Way]) -> dict[str, AttributeType]:
    found: dict[str, AttributeType] = {}
    for way in ways:
        for name, declared in way.target.attributes.items():
            known = found.setdefault(name, declared)
            if spark_type(known) != spark_type(declared):
                message = f"the attribute {name!r} is {known} in one type of the notifications, {declared} in another"
                hint = "leave `typed` out, and take the JSON in `data` apart by the type"
                raise Misuse(message, code="mixed-types", hint=hint)
    return found


# Rejected records


def rejections_of_hit(ways: Ways) -> Outcome:
    """What becomes of hits that are rejected: lines, as the rejected set has them."""
    outcome = outcome_of_hit(ways)
    return Outcome(F.when(outcome.to == REJECTED, outcome.to), outcome.line, outcome.kept)


def rejected_columns(refused: DataFrame) -> DataFrame:
    """The columns of what `deliver` made of such hits."""
    record = F.from_json("line", _REJECTED)
    columns = ["contract", "raw", "faults"]
    first = F.col("record.faults").getItem(0)
    return refused.select("source", "id", record.alias("record")).select(
        first.getField("code").alias("code"),
        first.getField("reason").alias("reason"),
        "source",
        "id",
        *(f"record.{name}" for name in columns),
    )


_REJECTED = (
    "contract string, raw string, "
    "faults array<struct<path: string, value: string, reason: string, code: string, column: int>>"
)
