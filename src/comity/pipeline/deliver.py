"""From hits to outcomes: events that some profile wants become lines in the subscriber's terms.

A row of hits holds an event in the terms of its source: the envelope, a struct column for each source type, and
`found`, the profiles that want it, each with the number of its way. A row may instead hold a `rejected` record, or
only count: in `counted` how many records stand behind the rows around it, in `earliest` and `latest` the times (in
microseconds) of the first and the last event among these, in `doubtful` 1 for a record that has yet to be decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.window import Window as SparkWindow

from comity.connect.folder import REJECTED
from comity.event.types import EventType
from comity.federation.model import OPERAND
from comity.pipeline.lines import json_line
from comity.pipeline.mapped import Followed, MissingTargets, follow, keep, kept_on
from comity.pipeline.operands import quoted
from comity.pipeline.wrap import ENVELOPE_FIELDS, REJECTED_TYPE, cast, struct_type
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


def complete(hits: DataFrame, types: Sequence[EventType]) -> DataFrame:
    """All columns of hits; those that were not there are constants, which Spark need not carry along."""
    absent = [one for one in hits_schema(types) if one.name not in hits.columns]
    return hits.select("*", *(cast(F.lit(None), one.dataType).alias(one.name) for one in absent))


def observe_hits(hits: DataFrame, into: Observation, *more: Column) -> DataFrame:
    """The hits, counted as they pass: `counted`, `doubtful`, `matched` events, and what `more` asks for.

    It also keeps Spark from making one long function of matching, which every event goes through, and of delivery,
    which few events reach.
    """
    return hits.observe(
        into,
        F.coalesce(F.sum("counted"), F.lit(0)).alias("counted"),
        F.coalesce(F.sum("doubtful"), F.lit(0)).alias("doubtful"),
        F.count(F.when(is_wanted(), True)).alias("matched"),
        *more,
    )


def is_wanted() -> Column:
    """Whether some profile wants a hit."""
    return F.array_max("found.profile").isNotNull()  # the greatest that is not null


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of a hit, on whatever way. It is the same for every batch of a plan."""

    to: Column
    """The subscriber or the rejected set; null when mediation fails, which the way without a subscriber tells."""
    line: Column
    """What is written there; `to` is a column by now."""
    kept: tuple[Mapping[str, Column], ...] = ()
    """What both are made from: groups of columns, each worked out from those before it."""


def outcome_of_hit(ways: Ways) -> Outcome:
    """What becomes of hits on these ways."""
    way = F.col("hit.way")
    followed = {number: follow(one, number) for number, one in enumerate(ways.ways)}
    line = F.when(F.col("rejected").isNotNull(), rejected_line())
    for number, found in followed.items():
        line = line.when(way == number, _line(ways.ways[number], found))
    return Outcome(target_of_hit(ways, followed), line, tuple(kept_on(followed, way)))


def target_of_hit(ways: Ways, followed: Mapping[int, Followed]) -> Column:
    """Where hits go that followed these ways."""
    to = F.when(F.col("rejected").isNotNull(), F.lit(REJECTED))
    for number, found in followed.items():
        to = to.when(F.col("hit.way") == number, _to(ways.ways[number], found))
    return to


IDENTITY = ("profile", "source", "id")
"""What tells notifications apart."""


Together = Callable[[DataFrame, Column], DataFrame]
"""Brings rows together that may be the same notification; the column says which are notifications at all."""


def deliver(hits: DataFrame, outcome: Outcome, together: Together, *, has_patterns: bool) -> DataFrame:
    """A row for each notification and each rejected record: `to`, the identity, `day`, `line`, and `bucket` if they
    were brought together by that.

    The hits are complete. Of what operands of patterns want there are only those events that cannot be mapped.
    """
    worth = hits.filter(F.col("rejected").isNotNull() | (F.size("found") > 0))
    rows = worth.select("*", F.explode_outer("found").alias("hit"))
    done = keep(rows, outcome.kept).select("*", F.col("hit.profile").alias("profile"), outcome.to.alias("to"))
    done = done.drop(*(name for group in outcome.kept for name in group))
    is_told = F.col("to") != REJECTED
    if has_patterns:
        done = done.filter(~F.coalesce(is_told & F.col("profile").contains(OPERAND), F.lit(False)))
    # What is kept is worked out again after the exchange, and not sent along.
    rows = together(done.filter(F.col("to").isNotNull()), is_told)
    return keep(rows, outcome.kept).select(
        *(name for name in (BUCKET,) if name in rows.columns),
        "to",
        F.when(is_told, F.col("profile")).alias("profile"),
        "source",
        "id",
        F.when(is_told, F.date_format("time", "yyyy-MM-dd")).alias("day"),
        outcome.line.alias("line"),
    )


BUCKET = "bucket"


def by_bucket(buckets: int) -> Together:
    """Rows that may be the same in one of so many tasks, which leaves out repeats; and what has no identity in any."""

    def bring_together(rows: DataFrame, is_told: Column) -> DataFrame:
        number = F.when(is_told, F.xxhash64(*IDENTITY)).otherwise(F.monotonically_increasing_id())
        with_bucket = rows.withColumn(BUCKET, F.pmod(number, F.lit(buckets)).cast("int"))
        return with_bucket.repartitionById(buckets, F.col(BUCKET))

    return bring_together


def once_each(rows: DataFrame, is_told: Column) -> DataFrame:
    """Each notification once; rejected records are all kept.

    Spark's own way to drop repeats sorts the rows on either side of an exchange, by texts, and takes them apart.
    """
    # No random number for what is rejected: with one, Spark would compile the stage anew for every batch.
    number = F.when(is_told, F.xxhash64(*IDENTITY)).otherwise(F.monotonically_increasing_id())
    together = rows.withColumn("number", number).repartition("number")
    # By the number of a row among its equals, and not by asking for one before it: without rows Spark would leave the
    # whole stage out, and with it what was observed there.
    first = F.row_number().over(SparkWindow.partitionBy("number", "to", *IDENTITY).orderBy("number"))
    return together.withColumn("nth", first).filter(F.col("nth") == 1)


def _to(way: Way, found: Followed) -> Column:
    if way.subscriber is None:
        return F.lit(REJECTED)
    to = F.lit(way.subscriber)
    if found.unseen is not None:
        to = F.when(found.unseen.some, F.lit(REJECTED)).otherwise(to)
    return to if found.unmet is None else F.when(~found.unmet.some, to)


def _line(way: Way, found: Followed) -> Column:
    if way.subscriber is None:
        assert found.unmet is not None, "only what can stay unmapped has such a way"
        return _unmapped_line(way, found.unmet)
    told = json_line(found.seen, way.target, {"profile": F.col("profile")})
    if found.unseen is None:
        return told
    return F.when(F.col("to") == REJECTED, _unmapped_line(way, found.unseen)).otherwise(told)


def rejected_line() -> Column:
    """A rejected record with its faults, as JSON."""
    rejected = F.col("rejected")
    faults = F.parse_json(rejected.getField("reason"))
    parts = [rejected.getField(name).alias(name) for name in ("file", "line", "origin", "raw")]
    return F.to_json(F.struct(*parts, faults.alias("faults")))


def _unmapped_line(way: Way, missing: MissingTargets) -> Column:
    """A record that a mapping could not complete, in its own terms, with the contract and the reasons."""
    raw = json_line(quoted(way.source.qualified_name), way.source, {})
    contract = F.lit(way.contract).cast("string").alias("contract")
    return F.to_json(F.struct(contract, raw.alias("raw"), missing.faults().alias("faults")))
