"""The Spark runner, in batch: one pass from lines of events to lines for each subscriber."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from comity.connect.folder import REJECTED, STAGING, publish_parts
from comity.contract.mapping import Mapping
from comity.event.types import AttributeType, EventType
from comity.pipeline.columns import TypedColumns, compile_filter, compile_value
from comity.pipeline.failure import spark_failures
from comity.pipeline.lines import json_line
from comity.pipeline.operands import quoted
from comity.pipeline.wrap import read_lines, spark_type, wrap_typed
from comity.plan.stages import Delivery, Plan, Route, Summary


def run_on_spark(plan: Plan, events: Sequence[str], out: Path, spark: SparkSession) -> Summary:
    """Deliver the events of these files into a folder for each subscriber, and what is refused into `rejected`."""
    read, done = Observation("read"), Observation("done")
    lines = read_lines(spark, events)
    wrapped = wrap_typed(lines, plan.types, require_time=True).observe(read, F.count(F.lit(1)).alias("records"))
    counts = [_count(F.col("profile") == name).alias(f"profile {name}") for name in plan.profiles]
    outcomes = deliveries(wrapped, plan).observe(done, _count(F.col("to") == REJECTED).alias("rejected"), *counts)
    with spark_failures():
        outcomes.select("to", "line").write.partitionBy("to").mode("overwrite").text(str(out / STAGING))
        found = done.get
    publish_parts(out, [*plan.subscribers, REJECTED])
    delivered = {name: int(found[f"profile {name}"] or 0) for name in plan.profiles}
    return Summary(int(read.get["records"]), int(found["rejected"] or 0), delivered)


def _count(test: Column) -> Column:
    return F.count(F.when(test, True))


def deliveries(wrapped: DataFrame, plan: Plan) -> DataFrame:
    """A row for each notification and each rejected record: `to`, `profile`, `line`. An event reaches a profile
    once.
    """
    table = wrapped
    outcomes = [F.when(F.col("rejected").isNotNull(), _outcome(F.lit(REJECTED), None, _rejected_line()))]
    for number, route in enumerate(plan.routes):
        meeting = f"meeting {number}"
        table = table.withColumn(meeting, _meeting_column(route))
        outcomes += _route_outcomes(route, meeting)
    rows = table.select(F.explode(F.array_compact(F.array(*outcomes))).alias("outcome")).select("outcome.*")
    return rows.dropDuplicates(["key"])


def _meeting_column(route: Route) -> Column:
    """The event on the type on which it meets the profiles, null for other events."""
    own = quoted(route.source.qualified_name)
    if route.mediate is None:
        return own
    columns = TypedColumns(route.source, route.source.qualified_name)
    return F.when(own.isNotNull(), mapped(route.mediate, columns))


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


def _route_outcomes(route: Route, meeting: str) -> Iterator[Column]:
    met = quoted(meeting)
    complete = met.isNotNull()
    if route.mediate is not None:
        missing = missing_attributes(met, route.meeting_type)
        refused = met.isNotNull() & (F.size(missing) > 0)
        yield F.when(refused, _outcome(F.lit(REJECTED), None, _unmapped_line(route.source, missing)))
        complete = complete & (F.size(missing) == 0)
    for delivery in route.deliveries:
        yield from _delivery_outcomes(delivery, route, meeting, complete)


def _delivery_outcomes(delivery: Delivery, route: Route, meeting: str, complete: Column) -> Iterator[Column]:
    columns = TypedColumns(route.meeting_type, meeting)
    wanted = complete & compile_filter(delivery.condition, columns)
    profile = {"profile": F.lit(delivery.profile)}
    if delivery.observe is None:
        line = json_line(quoted(meeting), route.meeting_type, profile)
        yield F.when(wanted, _outcome(F.lit(delivery.subscriber), delivery.profile, line))
        return
    seen, target = mapped(delivery.observe, columns), delivery.observe.target
    missing = missing_attributes(seen, target)
    line = json_line(seen, target, profile)
    sent = _outcome(F.lit(delivery.subscriber), delivery.profile, line)
    yield F.when(wanted & (F.size(missing) == 0), sent)
    refused = _outcome(F.lit(REJECTED), None, _unmapped_line(route.source, missing))
    yield F.when(wanted & (F.size(missing) > 0), refused)


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


def _outcome(to: Column, profile: str | None, line: Column) -> Column:
    """What leaves the pipeline. Notifications are told apart by profile and event; rejected records are all kept."""
    identity = F.to_json(F.array(F.lit(profile), quoted("source"), quoted("id")))
    key = F.uuid() if profile is None else identity
    parts = {
        "to": to,
        "profile": F.lit(profile).cast("string"),
        "key": key,
        "day": F.lit(None).cast("string") if profile is None else F.date_format("time", "yyyy-MM-dd"),
        "line": line,
    }
    return F.struct(*(part.alias(name) for name, part in parts.items()))


def _rejected_line() -> Column:
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
