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
from comity.event.types import EventType
from comity.federation.model import OPERAND
from comity.pipeline.lines import json_line
from comity.pipeline.mapped import follow
from comity.pipeline.operands import quoted
from comity.pipeline.wrap import ENVELOPE_FIELDS, REJECTED_TYPE, struct_type
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
    found = follow(way)
    if way.subscriber is None:
        assert found.unmet is not None, "only what can stay unmapped has such a way"
        return _outcome(F.lit(REJECTED), _unmapped_line(way.source, found.unmet))
    told = _outcome(F.lit(way.subscriber), json_line(found.seen, way.target, {"profile": profile}))
    if found.unseen is not None:
        refused = _outcome(F.lit(REJECTED), _unmapped_line(way.source, found.unseen))
        told = F.when(F.size(found.unseen) > 0, refused).otherwise(told)
    return told if found.unmet is None else F.when(F.size(found.unmet) == 0, told)


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
