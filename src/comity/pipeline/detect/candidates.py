"""From hits to candidates, in Spark columns: what operands of patterns want, in the terms of the subscriber."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from comity.event.kinds import Kind
from comity.event.types import EventType
from comity.federation.model import OPERAND
from comity.pattern.bank import Bank
from comity.pattern.correlation import Path
from comity.pattern.occurrence import NO_TIE
from comity.pattern.rows import CANDIDATES
from comity.pipeline.columns.columns import TypedColumns
from comity.pipeline.deliver import complete
from comity.pipeline.detect.buckets import NO_KEY, salts_of
from comity.pipeline.lines import Attributes, json_line
from comity.pipeline.mapped import Followed, follow, keep, kept_on
from comity.pipeline.operands import quoted
from comity.plan.stages import PlannedPattern
from comity.plan.ways import Way, Ways

LATE, COUNTED = -2, -3
"""The buckets of events that came too late, and of rows that count."""
ROWS = pa.schema(
    [
        *CANDIDATES,
        pa.field("bucket", pa.int32()),
        pa.field("counted", pa.int64()),
        pa.field("earliest", pa.int64()),
        pa.field("latest", pa.int64()),
    ]
)
"""Candidates, each with its bucket. In rows that count, `counted` says how many events stand behind the rows around
it, `earliest` and `latest` the times of the first and the last one of them, of whatever type."""
_Key = tuple[int, tuple[tuple[Path, ...], ...]]
"""A way, and the attributes that make up each part of a correlation key."""
_Tie = tuple[int, Path]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is made of an event that an operand wants on a way."""

    label: str
    way: int
    pattern: int
    operand: int
    salt: str
    key: int | None
    """The number of the expression that gives the correlation key; None when the pattern has none."""
    tie: int | None


_ASKED = T.StructType(
    [
        T.StructField("label", T.StringType()),
        T.StructField("on", T.IntegerType()),
        T.StructField("pattern", T.IntegerType()),
        T.StructField("operand", T.IntegerType()),
        T.StructField("salt", T.StringType()),
        T.StructField("keyed", T.IntegerType()),
        T.StructField("tied", T.IntegerType()),
        T.StructField("late_before", T.LongType()),
    ]
)


class OperandColumns:
    """The operands of a plan's patterns, ready to be looked for in hits again and again."""

    def __init__(self, patterns: Sequence[PlannedPattern], ways: Ways) -> None:
        self.ways = ways.ways
        self._keys: dict[_Key, int] = {}
        self._ties: dict[_Tie, int] = {}
        self._asked = list(self._ask(patterns, ways))
        sources = {name: self.ways[test.way].source for name, tests in ways.tests.items() for test in tests}
        self._sources: tuple[EventType, ...] = tuple(sources.values())
        self._columns: dict[int, dict[str, Column]] = {}
        self._followed: dict[int, Followed] = {}
        self._contested = _contested(ways)

    def rows(self, hits: DataFrame, buckets: int, late_before: int | None, spark: SparkSession) -> DataFrame:
        """Candidates, events that came too late, and rows that count."""
        asked = [
            (one.label, one.way, one.pattern, one.operand, one.salt, one.key, one.tie, late_before)
            for one in self._asked
        ]
        # A table, and no expressions: these would be compiled anew for every batch.
        table = F.broadcast(spark.createDataFrame(asked, _ASKED))
        fitting = self._with_fitting(complete(hits, self._sources))
        found = fitting.select("*", F.explode_outer(_once_each("found")).alias("hit"))
        on = (F.col("hit.profile") == F.col("label")) & (F.col("hit.way") == F.col("on"))
        asked_for = keep(found.join(table, on, "left"), self._kept)
        made = asked_for.select("*", *(one.alias(name) for name, one in self._made(buckets).items()))
        bucket = F.when(F.col("counted").isNotNull(), F.lit(COUNTED)).otherwise(F.col("made_bucket"))
        columns = {"time": F.col("micros"), "line": F.col("made_line"), "bucket": bucket}
        rows = made.select(
            *(
                columns.get(field.name, F.col(field.name)).cast(field.dataType).alias(field.name)
                for field in from_arrow_schema(ROWS)
            )
        )
        return rows.filter(F.col("bucket").isNotNull())

    def _with_fitting(self, hits: DataFrame) -> DataFrame:
        """The hits without what was found on ways on which they do not fit, where another leads to the same operand."""
        followed = {number: self._follow(number) for number in sorted(self._contested)}
        fits = {number: _seen(one)[1] for number, one in followed.items() if one.unmet or one.unseen}
        if not fits:
            return hits
        kept = [{name: column} for number in fits for name, column in followed[number].kept]
        failed = F.array_compact(F.array(*(F.when(~one, F.lit(number)) for number, one in fits.items())))
        fitting = F.expr("filter(found, one -> not coalesce(array_contains(failed, one.way), false))")
        return keep(hits, kept).withColumn("failed", failed).withColumn("found", fitting)

    def _ask(self, patterns: Sequence[PlannedPattern], ways: Ways) -> Iterator[_Asked]:
        bank = Bank([one.bound for one in patterns])
        salts = salts_of(bank)
        operands = {
            patterns[number].delivery(name := bank.patterns[number].operand_names[at]): (number, at, name)
            for number, at in bank.sharing.users
        }
        for test in (test for tests in ways.tests.values() for test in tests):
            if test.profile in operands:
                number, at, name = operands[test.profile]
                bound = bank.patterns[number]
                key = None if bound.key is None else tuple(dict(part)[name] for part in bound.key.parts)
                ties = bound.parameters.ties
                yield _Asked(
                    test.profile,
                    test.way,
                    number,
                    at,
                    salts[number],
                    None if key is None else self._keys.setdefault((test.way, key), len(self._keys)),
                    None if ties is None else self._ties.setdefault((test.way, ties), len(self._ties)),
                )

    def _follow(self, number: int) -> Followed:
        if number not in self._followed:
            self._followed[number] = follow(self.ways[number], number)
        return self._followed[number]

    @property
    def _kept(self) -> list[dict[str, Column]]:
        return kept_on({number: self._follow(number) for number in range(len(self.ways))}, F.col("on"))

    def _made(self, buckets: int) -> dict[str, Column]:
        """The columns of candidates; putting them together takes hundreds of calls to Java."""
        if buckets not in self._columns:
            self._columns[buckets] = self._put_together(buckets)
        return self._columns[buckets]

    def _put_together(self, buckets: int) -> dict[str, Column]:
        seen = [_seen(self._follow(number)) for number in range(len(self.ways))]
        keys = [(number, self._key(paths, seen[way][0], way)) for (way, paths), number in self._keys.items()]
        ties = [(number, self._tie(path, seen[way][0], way)) for (way, path), number in self._ties.items()]
        lines = [(number, json_line(one, self.ways[number].target, {})) for number, (one, _) in enumerate(seen)]
        fits = _case(F.col("on"), enumerate(fits for _, fits in seen))
        key = F.when(F.col("keyed").isNull(), F.lit(NO_KEY)).otherwise(_case(F.col("keyed"), keys))
        tie = F.when(F.col("tied").isNull(), F.lit(0)).otherwise(_case(F.col("tied"), ties))
        time = F.unix_micros("time")
        is_late = F.coalesce(time < F.col("late_before"), F.lit(False))
        own = F.coalesce(F.lit(None).cast("string"), *(_own_line(one) for one in self._sources))
        in_time = F.when(is_late, F.lit(LATE)).otherwise(bucket_column(F.col("salt"), key, buckets))
        return {
            "key": key,
            "micros": time,
            "tie": tie,
            "made_line": F.when(is_late, own).otherwise(_case(F.col("on"), lines)),
            "made_bucket": F.when(fits, in_time),
        }

    def _key(self, parts: tuple[tuple[Path, ...], ...], seen: Attributes, way: int) -> Column:
        return key_column([[_text(path, seen, self.ways[way]) for path in paths] for paths in parts])

    def _tie(self, path: Path, seen: Attributes, way: int) -> Column:
        target = self.ways[way].target
        declared = target.attribute_at(path)
        if declared is None or declared.kind is not Kind.INT:
            return F.lit(NO_TIE)
        return F.coalesce(TypedColumns(target, seen).column(path), F.lit(NO_TIE))


def _contested(ways: Ways) -> set[int]:
    """The ways of operands behind which another way leads to the same operand, should this one fail."""
    found: set[int] = set()
    for tests in ways.tests.values():
        last: dict[str, int] = {}
        for test in tests:
            if test.profile is not None and OPERAND in test.profile:
                found |= {last[test.profile]} if test.profile in last else set()
                last[test.profile] = test.way
    return found


def bucket_column(salt: Column, key: Column, buckets: int) -> Column:
    """What `detect.buckets.bucket_of` says; null when there is no key."""
    return F.crc32(F.concat(salt, F.lit(" "), key).cast("binary")) % buckets


def key_column(parts: Sequence[Sequence[Column]]) -> Column:
    """The texts of a key's parts as one; null when one is missing, or not the same in all attributes of the part."""
    firsts = [texts[0] for texts in parts]
    agrees = [texts[0] == other for texts in parts for other in texts[1:]]
    whole = reduce(lambda one, other: one & other, [*(first.isNotNull() for first in firsts), *agrees])
    return F.when(whole, F.to_json(F.array(*firsts)))


def _once_each(found: str) -> Column:
    """The operands among what was found; of two ways to one the first."""
    # In SQL, where lambdas keep their names: Spark numbers those of Python, and compiles them for every batch.
    operands = f"filter({found}, one -> coalesce(contains(one.profile, '{OPERAND}'), false))"
    names = f"transform({operands}, one -> one.profile)"
    return F.expr(f"filter({operands}, (one, at) -> array_position({names}, one.profile) = at + 1)")


def _case(number: Column, columns: Iterable[tuple[int, Column]]) -> Column:
    found: Column | None = None
    for at, column in columns:
        found = F.when(number == at, column) if found is None else found.when(number == at, column)
    return F.lit(None) if found is None else found


def _seen(found: Followed) -> tuple[Attributes, Column]:
    """The attributes as the subscriber sees them, and whether nothing mandatory is missing."""
    tests = [~missing.some for missing in (found.unmet, found.unseen) if missing is not None]
    return found.seen, reduce(lambda one, other: one & other, tests, F.lit(True))


def _own_line(source: EventType) -> Column:
    own = quoted(source.qualified_name)
    return F.when(own.isNotNull(), json_line(own, source, {}))


def _text(path: Path, seen: Attributes, way: Way) -> Column:
    """An attribute as a text that is the same for equal values, and only for them; null when it is missing."""
    if path == ("event", "type"):
        return F.lit(f"s{way.target.qualified_name}")
    declared = way.target.attribute_at(path)
    if declared is None:
        return F.lit(None).cast("string")
    column = TypedColumns(way.target, seen).column(path)
    match declared.kind:
        case Kind.STRING:
            return F.concat(F.lit("s"), column)
        case Kind.BOOL:
            return F.concat(F.lit("b"), column.cast("string"))
        case Kind.INT:
            return F.concat(F.lit("n"), column.cast("string"))
        case Kind.FLOAT:
            is_whole = (F.floor(column) == column) & (F.abs(column) < 2.0**63)
            return F.concat(
                F.lit("n"), F.when(is_whole, column.cast("long").cast("string")).otherwise(column.cast("string"))
            )
        case Kind.TIMESTAMP:
            return F.concat(F.lit("t"), F.unix_micros(column).cast("string"))
        case Kind.DURATION:
            return F.concat(F.lit("d"), column.cast("string"))
        case Kind.BYTES:
            return F.concat(F.lit("x"), F.hex(column))
    return F.concat(F.lit("j"), F.to_json(column))
