"""Federations over DataFrames of a session that somebody else has: the same as in this process."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import comity.spark as cs
from comity import Matcher, Misuse, Notification, Profile, load
from comity.cli.main import run as run_command
from comity.connect.folder import REJECTED
from comity.engine import run
from comity.event import Event, Rejected, read_events
from comity.event.formats.jsonlines import decode, encode
from comity.event.window import Window
from comity.federation import Federation
from comity.limits import limited
from comity.plan import Plan, compile_plan
from comity.testing.composite_profiles import composite_profiles, texts_with_profiles
from comity.testing.federations import federation_texts, load_texts
from comity.testing.outcomes import Outcome, outcome_of_rejected, outcomes_of
from comity.testing.records import good_events, lines
from comity.testing.tables import parquet_table

pytestmark = pytest.mark.spark

CASES = range(100) if os.environ.get("COMITY_PROFILE") == "nightly" else range(2)
ELSEWHERE = {"spark.sql.session.timeZone": "America/New_York", "spark.sql.caseSensitive": "false"}
"""What sessions of others may be set to."""


@contextmanager
def settings_of(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
        assert {name: spark.conf.get(name) for name in settings} == settings
    finally:
        for name, value in before.items():
            spark.conf.set(name, value or "")


def generated(seed: int) -> tuple[Random, Federation, Plan, list[Event]]:
    chance = Random(seed)
    federation = load_texts(federation_texts(chance))
    plan = compile_plan(federation)
    return chance, federation, plan, good_events(chance, plan.types, 40)


def read(federation: Federation, *files: Path) -> list[Event | Rejected]:
    window, types = Window.of_history(datetime.now(UTC)), federation.find_type
    return [one for file in files for one in read_events(file, types, require_time=True, window=window)]


def told(found: DataFrame) -> list[Outcome]:
    """The notifications of a DataFrame as outcomes; what its columns say is what the whole says."""
    outcomes: list[Outcome] = []
    for row in found.collect():
        whole = json.loads(row["notification"])
        assert json.loads(row["data"]) == whole["data"]
        parts = ("id", "source", "type", "subject", "mode", "typeversion", "profile")
        assert {name: row[name] for name in parts} == {name: whole.get(name) for name in parts}
        outcomes.append((row["subscriber"], json.dumps(whole, sort_keys=True, ensure_ascii=False)))
    return outcomes


def refused(found: DataFrame) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for row in found.collect():
        record = row.asDict(recursive=True)
        faults = [{name: value for name, value in one.items() if value is not None} for one in record["faults"]]
        assert (record["code"], record["reason"]) == (faults[0]["code"], faults[0]["reason"])
        outcomes.append(outcome_of_rejected({**record, "faults": faults}))
    return outcomes


@pytest.mark.parametrize("seed", CASES)
def test_lines_give_what_the_engine_gives(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance, federation, plan, events = generated(seed)
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b"".join(line + b"\n" for line in lines(chance, events, plan.types, 25)))
    given = spark.read.text(str(file), lineSep="\n").select("value")
    with settings_of(spark, ELSEWHERE):
        found = sorted(
            [*told(cs.deliver(given, plan, lines="value")), *refused(cs.rejected(given, plan, lines="value"))]
        )
    assert sorted(found) == outcomes_of(run(plan, read(federation, file)))


@pytest.mark.parametrize("seed", CASES)
def test_raw_columns_give_what_the_engine_gives(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance, federation, plan, events = generated(500 + seed)
    type = chance.choice(plan.types)
    table, file = parquet_table(chance, events, type, 6), tmp_path / "rows.parquet"
    parquet.write_table(pa.concat_tables([table, table]), file)
    given = spark.read.parquet(str(file))
    # Spark itself reads no such file without regard to case.
    settings = {} if has_clash([*type.attributes, *given.columns]) else ELSEWHERE
    with settings_of(spark, settings), limited(max_column_profiles=(256, 1)[seed % 2]):
        found = told(cs.deliver(given, plan)) + refused(cs.rejected(given, plan))
    assert sorted(found) == outcomes_of(run(plan, read(federation, file)))


@pytest.mark.parametrize("seed", [902, 903])
def test_composite_profiles_report_what_they_do_in_the_engine(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    texts = federation_texts(chance)
    federation = load_texts(texts_with_profiles(texts, composite_profiles(chance, texts, 5)))
    plan = compile_plan(federation)
    events = good_events(chance, plan.types, 40)
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b"".join(line + b"\n" for line in lines(chance, events, plan.types, 5)))
    rows = tmp_path / "rows.parquet"
    parquet.write_table(parquet_table(chance, events, plan.types[0], 3), rows)
    texts_given = (spark.read.text(str(file), lineSep="\n"), file, {"lines": "value"})
    for given, source, named in (texts_given, (spark.read.parquet(str(rows)), rows, {})):
        found = told(cs.deliver(given, plan, **named))
        assert sorted(found) == [one for one in outcomes_of(run(plan, read(federation, source))) if one[0] != REJECTED]


PLANT = {
    "types": {
        "Reading": {"attributes": {"room": "string", "heat": "float degC", "span": "duration?", "type": "string?"}},
        "Special": {"extends": "Reading", "attributes": {"level": "int?"}},
    }
}
OFFICE = {"types": {"Alarm": {"attributes": {"spot": "string", "temperature": "float degF"}}}}
HEAT = {
    "types": {"Heat": {"attributes": {"spot": "string", "temperature": "float degC"}}},
    "members": {"plant": {"type": "Reading", "map": {"spot": "room", "temperature": "heat"}}},
    "observers": {"office": {"type": "Alarm", "map": "same"}},
}
PLANTS = {
    "federation": "plants",
    "domains": {"plant": PLANT, "office": OFFICE},
    "contracts": {"heat": HEAT},
    "profiles": {
        "hot": {"domain": "office", "on": "Alarm", "where": "temperature > 140"},
        "all": {"domain": "plant", "on": "Reading"},
    },
}
ENVELOPE: dict[str, Any] = {"id": "nr", "source": "/line/1", "type": "plant.Reading", "time": "at"}


def readings(spark: SparkSession) -> DataFrame:
    """Measurements as a job has them: keys that are numbers, days, a column `type` of its own; two values are bad."""
    rows = [(1, 71.5, "a"), (2, 20.0, "b"), (3, float("nan"), "c"), (4, None, "d"), (1, 71.5, "a")]
    table = spark.createDataFrame(
        [(nr, "hall", heat, type) for nr, heat, type in rows], "nr long, room string, heat double, type string"
    )
    return table.withColumn("at", F.lit("2026-05-01").cast("date"))


def test_the_envelope_may_be_in_columns_of_any_name_or_the_same_for_all_rows(spark: SparkSession) -> None:
    table = readings(spark)
    with settings_of(spark, ELSEWHERE):
        found = cs.deliver(table, PLANTS, **ENVELOPE).collect()
        wrong = cs.rejected(table, PLANTS, **ENVELOPE).collect()
    assert sorted((row["profile"], row["id"], json.loads(row["data"])) for row in found if row["id"] == "1") == [
        ("all", "1", {"room": "hall", "heat": 71.5, "type": "a"}),
        ("hot", "1", {"spot": "hall", "temperature": 160.7}),
    ]
    assert {json.loads(row["notification"])["time"] for row in found} == {"2026-05-01T00:00:00Z"}
    assert {(row["source"], row["subscriber"]) for row in found} == {("/line/1", "plant"), ("/line/1", "office")}
    assert sorted((row["code"], row["faults"][0]["path"]) for row in wrong) == [
        ("missing", "heat"),
        ("not-finite", "heat"),
    ]


def test_parts_may_be_expressions_of_spark(spark: SparkSession) -> None:
    table = readings(spark).select(F.struct("room", F.lit(80.0).alias("heat")).alias("payload"), "nr", "at")
    named = {
        **ENVELOPE,
        "id": F.concat(F.lit("n"), "nr"),
        "data": "payload",
        "time": F.timestamp_seconds(F.lit(1_700_000_000)),
    }
    found = cs.deliver(table, PLANTS, **named).collect()
    assert Counter(row["id"] for row in found) == {f"n{nr}": 2 for nr in range(1, 5)}


def test_typed_columns_are_those_of_the_subscriber(spark: SparkSession) -> None:
    found = cs.deliver(readings(spark), PLANTS, typed="hot", **ENVELOPE)
    assert found.schema["data"].dataType.simpleString() == "struct<spot:string,temperature:double>"
    assert [row.asDict(recursive=True)["data"] for row in found.collect()] == [{"spot": "hall", "temperature": 160.7}]


def test_types_of_one_profile_share_their_columns(spark: SparkSession) -> None:
    found = cs.deliver(
        readings(spark).withColumn("level", F.lit(7)), PLANTS, typed="all", **{**ENVELOPE, "type": "plant.Special"}
    )
    told = {(row["type"], row["data"]["heat"], row["data"]["level"], row["data"]["span"]) for row in found.collect()}
    assert told == {("plant.Special", 71.5, 7, None), ("plant.Special", 20.0, 7, None)}


def test_only_events_of_a_period_are_delivered(spark: SparkSession) -> None:
    table = readings(spark).withColumn("at", F.timestamp_seconds(1_700_000_000 + F.col("nr")))
    found = cs.deliver(table, PLANTS, since=datetime.fromtimestamp(1_700_000_002, UTC), until="2026-01-31", **ENVELOPE)
    assert {row["id"] for row in found.collect()} == {"2"}


def test_results_are_the_same_when_they_are_looked_at_again(spark: SparkSession) -> None:
    found = cs.deliver(readings(spark), PLANTS, **ENVELOPE)
    other = cs.deliver(readings(spark), PLANTS, **{**ENVELOPE, "source": "/line/2"})
    assert found.count() == found.count() == 3
    assert found.union(other).groupBy("source").count().count() == 2
    assert found.join(other, "id").count() == 5


def test_silences_are_reported_from_the_first_event_to_the_last(spark: SparkSession) -> None:
    """Also in buckets without candidates, and where the first event is one that nobody asks for, and is in doubt."""
    composite = {
        "pair": {"domain": "office", "on": "Alarm a ; Alarm b within 2 min", "where": "a.spot = b.spot"},
        "quiet": {"domain": "office", "on": "not Alarm a within 5 min", "where": "a.temperature > 140"},
        "unanswered": {"domain": "plant", "on": "Reading a ; not Reading b within 3 min", "where": "a.room = b.room"},
    }
    federation = load({**PLANTS, "profiles": composite})
    minutes = [(0, "attic", 10.0), (7, "hall", 71.5), (8, "hall", 80.0), (20, "attic", 75.0), (33, "hall", 20.0)]
    begin = datetime(2026, 5, 1, tzinfo=UTC)
    rows = [(str(at), begin + timedelta(minutes=at), room, heat, None if at else "PT1S") for at, room, heat in minutes]
    table = spark.createDataFrame(rows, "id string, time timestamp, room string, heat double, span string")
    events = [
        Event(id, "/line/1", "plant.Reading", time, {"room": room, "heat": heat}) for id, time, room, heat, _ in rows
    ]
    wanted = [one for one in run(compile_plan(federation), events) if isinstance(one, Notification)]
    assert {one.profile for one in wanted} == set(composite)
    found = cs.deliver(table, federation, source="/line/1", type="plant.Reading").collect()
    assert Counter((row["profile"], row["id"]) for row in found) == Counter(
        (one.profile, one.event.id) for one in wanted
    )


# Profiles over rows

TABLE = "id long, room string, heat double, tags array<string>, seen timestamp"
FILTERS = {
    "hot": "heat > 40",
    "attic": "room = 'attic'",
    "tagged": "tags contains 'x'",
    "late": "seen > 2026-01-01T00:00:00Z",
}


def test_rows_have_the_names_of_their_profiles(spark: SparkSession) -> None:
    moment = datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)
    rows = [(1, "attic", 50.0, ["x"], moment), (2, "hall", None, None, None), (3, "hall", 41.0, [], None)]
    table = spark.createDataFrame(rows, TABLE)
    with settings_of(spark, ELSEWHERE):
        found = cs.match(table, FILTERS)
        assert found.columns == [*table.columns, "profiles"]
        assert {row["id"]: row["profiles"] for row in found.collect()} == {1: [*FILTERS], 2: [], 3: ["hot"]}


@pytest.mark.parametrize("seed", CASES[:1])
def test_lines_have_the_names_that_a_matcher_gives(spark: SparkSession, seed: int) -> None:
    _, _, _, events = generated(seed)
    given = [encode(event) for event in events] + [b"{", b""]
    profiles = [
        Profile.of("n", "n > 0 or exists s"),
        Profile.of("type", "event.type like '%eading'"),
        Profile.of("any", "true"),
    ]
    matcher = Matcher(profiles)
    table = spark.createDataFrame([(at, bytearray(line)) for at, line in enumerate(given)], "at int, value binary")
    found = {row["at"]: row["profiles"] for row in cs.match(table, profiles, lines="value").collect()}
    decoded = [decode(line) for line in given[: len(events)]]
    assert found == dict(enumerate([*(matcher.match(one) for one in decoded if isinstance(one, Event)), None, None]))


def test_rows_are_checked_where_there_are_types(spark: SparkSession) -> None:
    types = load(PLANTS).domains["plant"].taxonomy
    found = cs.match(readings(spark), {"warm": {"on": "Reading", "where": "heat > 86 degF"}}, types=types, **ENVELOPE)
    assert Counter((row["nr"], tuple(row["profiles"] or ["none"])) for row in found.collect()) == {
        (1, ("warm",)): 2,
        (2, ("none",)): 1,
        (3, ("none",)): 1,
        (4, ("none",)): 1,
    }


# What is refused


@pytest.mark.parametrize(
    ("given", "code", "hint"),
    [
        ({}, "no-envelope", "id='COLUMN', source='/NAME', time='COLUMN'"),
        ({**ENVELOPE, "id": "nrr"}, "unknown-column", "did you mean 'nr'?"),
        ({**ENVELOPE, "type": "plant.Raeding"}, "unknown-type", "plant.Reading"),
        ({**ENVELOPE, "key": "nr"}, "unknown-part", "known: id, source"),
        ({**ENVELOPE, "id": 7}, "bad-usage", "name a column"),
        ({"lines": "room", "id": "nr"}, "bad-usage", "leave out id"),
        ({**ENVELOPE, "typed": "cold"}, "unknown-profile", "known: all, hot"),
    ],
)
def test_bad_arguments_are_told_with_a_next_step(spark: SparkSession, given: Any, code: str, hint: str) -> None:
    with pytest.raises(Misuse) as error:
        cs.deliver(readings(spark), PLANTS, **given)
    assert error.value.code == code
    assert hint in (error.value.hint or "")


def test_one_column_cannot_hold_what_types_declare_differently(spark: SparkSession) -> None:
    domain = {"types": {"Base": {"abstract": True}, "One": {"extends": "Base", "attributes": {"n": "int?"}}}}
    domain["types"]["Two"] = {"extends": "Base", "attributes": {"n": "string?"}}
    federation = {"domains": {"plant": domain}, "profiles": {"all": {"domain": "plant", "on": "Base"}}}
    with pytest.raises(Misuse, match="mixed-types"):
        cs.deliver(readings(spark), federation, typed="all", **{**ENVELOPE, "type": "plant.One"})


def test_a_composite_profile_has_no_typed_columns(spark: SparkSession) -> None:
    pair = {"domain": "plant", "on": "Reading a ; Reading b within 1 min"}
    federation = {**PLANTS, "profiles": {**PLANTS["profiles"], "pair": pair}}
    with pytest.raises(Misuse, match="composite-profile"):
        cs.deliver(readings(spark), federation, typed="pair", **ENVELOPE)


def test_the_explanation_is_that_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = load(PLANTS).write(tmp_path / "plants")
    with pytest.raises(SystemExit):
        run_command(["explain", str(folder), "--profile", "hot"])
    assert capsys.readouterr().out.split() == cs.explain(folder, "hot").split()
    assert cs.explain(compile_plan(load(folder))).startswith("federation plants")


def has_clash(names: list[str]) -> bool:
    return len({name.lower() for name in names}) < len(set(names))


def test_events_of_a_domain_are_of_its_types(spark: SparkSession) -> None:
    line = '{"id":"%s","source":"/p","type":"%s","time":"2026-05-01T12:00:00Z","data":{"room":"hall","heat":99}}'
    lines = [(line % ("1", "plant.Reading"),), (line % ("2", "office.Alarm"),)]
    given = spark.createDataFrame(lines, "value string")
    rows = given.select(F.from_json("value", "id string, type string, time string, data string").alias("one"))
    rows = rows.select("one.*").withColumns({"time": F.to_timestamp("time"), "source": F.lit("/p")})
    for events, named in ((given, {"lines": "value"}), (rows, {})):
        told = cs.deliver(events, PLANTS, domain="office", **named).collect()
        assert told == []
        for domain, foreign in {"office": '"1"', "plant": '"2"'}.items():
            refused = cs.rejected(events, PLANTS, domain=domain, **named).collect()
            assert [foreign in row["raw"] for row in refused if row["code"] == "foreign-type"] == [True]
    with pytest.raises(Misuse) as wrong:
        cs.deliver(given, PLANTS, domain="plants", lines="value")
    assert wrong.value.code == "unknown-domain"
