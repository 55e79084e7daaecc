"""From hits to outcomes: events that some profile wants become lines in the subscriber's terms.

A row of hits holds an event in the terms of its source: the envelope, a struct column for each source type, and
`found`, the profiles that want it, each with the number of its way. A row may instead hold a `rejected` record, or
only count: in `counted` how many records stand behind the rows around it, in `earliest` and `latest` the times (in
microseconds) of the first and the last event among these, in `doubtful` 1 for a record that has yet to be decoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T

from comity.connect.folder import REJECTED
from comity.contract.mapping import Mapping
from comity.event.types import AttributeType, EventType
from comity.expression.simplify import simplify
from comity.expression.tree import FALSE
from comity.federation.model import OPERAND
from comity.pipeline.columns import TypedColumns, compile_value
from comity.pipeline.lines import json_line
from comity.pipeline.operands import quoted
from comity.pipeline.wrap import ENVELOPE_FIELDS, REJECTED_TYPE, spark_type, struct_type
from comity.plan.ways import Way, Ways

FOUND_TYPE = T.ArrayType(
    T.StructType([T.StructField("profile", T.StringType()), T.StructField("way", T.IntegerType())])
)


def hits_schema(types: Sequence[EventType]) -> T.StructType:
    """The columns of hits, for these source types."""
    return T.StructType(
        [
            *ENVELOPE_FIELDS,
            *(T.StructField(one.qualified_name, struct_type(one.attributes)) for one in types),
            T.StructField("rejected", REJECTED_TYPE),
            T.StructField("found", FOUND_TYPE),
            T.StructField("counted", T.LongType()),
            T.StructField("doubtful", T.LongType()),
            T.StructField("earliest", T.LongType()),
            T.StructField("latest", T.LongType()),
        ]
    )


def observe_hits(hits: DataFrame, into: Observation, late_before: datetime | None = None) -> DataFrame:
    """The hits, counted as they pass: `counted`, `doubtful`, `matched` events, `late` ones, and the `newest` time.

    It also keeps Spark from making one long function of matching, which every event goes through, and of delivery,
    which few events reach.
    """
    is_wanted = F.exists("found", lambda pair: pair.getField("profile").isNotNull())
    is_late = F.lit(False) if late_before is None else F.col("time") < F.lit(late_before)
    return hits.observe(
        into,
        F.coalesce(F.sum("counted"), F.lit(0)).alias("counted"),
        F.coalesce(F.sum("doubtful"), F.lit(0)).alias("doubtful"),
        F.count(F.when(is_wanted, True)).alias("matched"),
        F.count(F.when(is_wanted & is_late, True)).alias("late"),
        F.max(F.when(is_wanted, F.col("time"))).alias("newest"),
    )


def outcome_of_hit(ways: Ways) -> Column:
    """What becomes of a hit, on whatever way: `to` and `line`. It is the same for every batch of a plan."""
    profile, way = F.col("hit.profile"), F.col("hit.way")
    outcome = F.when(F.col("rejected").isNotNull(), _outcome(F.lit(REJECTED), rejected_line()))
    for number, one in enumerate(ways.ways):
        outcome = outcome.when(way == number, _follow(one, profile))
    return outcome


def deliver(hits: DataFrame, outcome: Column, *, has_patterns: bool) -> DataFrame:
    """A row for each notification and each rejected record: `to`, `profile`, `key`, `day`, `line`; each once.

    Of what operands of patterns want there are only those events that cannot be mapped.
    """
    worth = hits.filter(F.col("rejected").isNotNull() | (F.size("found") > 0))
    rows = worth.select("*", F.explode_outer("found").alias("hit"))
    profile = F.col("hit.profile")
    key = F.to_json(F.array(profile, quoted("source"), quoted("id")))
    done = rows.select(outcome.alias("outcome"), profile.alias("profile"), key.alias("key"), "time")
    to = F.col("outcome.to")
    is_told = F.col("profile").isNotNull() & (to != REJECTED)
    if has_patterns:  # without them the question would only make Spark work out every outcome once more
        done = done.filter(~F.coalesce(is_told & F.col("profile").contains(OPERAND), F.lit(False)))
    told = done.select(
        to.alias("to"),
        F.when(is_told, F.col("profile")).alias("profile"),
        # Notifications are told apart by profile and event; rejected records are all kept. (A number and no random
        # key: with one, Spark would compile the stage anew for every batch.)
        F.when(is_told, F.col("key")).otherwise(F.monotonically_increasing_id().cast("string")).alias("key"),
        F.when(is_told, F.date_format("time", "yyyy-MM-dd")).alias("day"),
        F.col("outcome.line").alias("line"),
    )
    return told.filter(F.col("to").isNotNull()).dropDuplicates(["key"])


def _outcome(to: Column, line: Column) -> Column:
    return F.struct(to.alias("to"), line.alias("line"))


def _follow(way: Way, profile: Column) -> Column:
    """What becomes of an event on a way; null when mediation fails, which the way without a subscriber tells."""
    own = quoted(way.source.qualified_name)
    columns = TypedColumns(way.source, way.source.qualified_name)
    met, met_type = own, way.source
    if way.mediate is not None:
        met, met_type = mapped(way.mediate, columns), way.mediate.target
    missing = missing_attributes(met, met_type)
    if way.subscriber is None:
        return _outcome(F.lit(REJECTED), _unmapped_line(way.source, missing))
    seen = met if way.observe is None else mapped(way.observe, TypedColumns(way.observe.source, met))
    told = _outcome(F.lit(way.subscriber), json_line(seen, way.target, {"profile": profile}))
    if way.observe is not None and simplify(way.observe.incomplete(), way.observe.source) != FALSE:
        unseen = missing_attributes(seen, way.target)
        refused = _outcome(F.lit(REJECTED), _unmapped_line(way.source, unseen))
        told = F.when(F.size(unseen) > 0, refused).otherwise(told)
    if way.mediate is not None and simplify(way.mediate.incomplete(), way.source) != FALSE:
        told = F.when(F.size(missing) == 0, told)
    return told


def mapped(mapping: Mapping, columns: TypedColumns) -> Column:
    """The attributes of the target, made from the columns of the source."""
    expressions = dict(mapping.expressions)

    def value(path: tuple[str, ...], declared: AttributeType) -> Column:
        if path in expressions:
            return compile_value(expressions[path], columns, declared.kind).cast(spark_type(declared))
        inner = [known for known in expressions if known[: len(path)] == path]
        if not inner:
            return F.lit(None).cast(spark_type(declared))
        parts = {name: value((*path, name), part) for name, part in declared.attributes.items()}
        some = [parts[known[len(path)]].isNotNull() for known in inner]
        any_part = some[0]
        for one in some[1:]:
            any_part = any_part | one
        return F.when(any_part, F.struct(*(part.alias(name) for name, part in parts.items())))

    return F.struct(*(value((name,), declared).alias(name) for name, declared in mapping.target.attributes.items()))


def missing_attributes(struct: Column, type: EventType) -> Column:
    """The paths of mandatory attributes that are missing."""
    tests: list[Column] = []

    def look(column: Column, attributes: dict[str, AttributeType], prefix: str) -> None:
        for name, declared in attributes.items():
            inner = column.getField(name)
            if not declared.optional:
                tests.append(F.when(column.isNotNull() & inner.isNull(), F.lit(prefix + name)))
            look(inner, dict(declared.attributes), f"{prefix}{name}.")

    look(struct, dict(type.attributes), "")
    return F.array_compact(F.array(*tests)) if tests else F.array().cast("array<string>")


def rejected_line() -> Column:
    """A rejected record with its faults, as JSON."""
    rejected = F.col("rejected")
    faults = F.parse_json(rejected.getField("reason"))
    parts = [rejected.getField(name).alias(name) for name in ("file", "line", "raw")]
    return F.to_json(F.struct(*parts, faults.alias("faults")))


def _unmapped_line(source: EventType, missing: Column) -> Column:
    """A record that a mapping could not complete, in its own terms, with the reasons."""
    raw = json_line(quoted(source.qualified_name), source, {})
    faults = F.transform(
        missing,
        lambda path: F.struct(
            path.alias("path"),
            F.lit("None").alias("value"),
            F.lit("the mapping gives no value for this attribute").alias("reason"),
            F.lit("mapped-missing").alias("code"),
        ),
    )
    return F.to_json(F.struct(raw.alias("raw"), faults.alias("faults")))
