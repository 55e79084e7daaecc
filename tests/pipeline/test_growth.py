"""Mappings into nested structs, and mappings after mappings: what Spark has to read grows with them, and no faster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from comity.engine import run
from comity.event import read_events
from comity.event.window import Window
from comity.federation import Federation, load
from comity.pipeline.deliver import outcome_of_hit
from comity.pipeline.prepared import PreparedPlan
from comity.pipeline.read import Inputs, Tables
from comity.pipeline.run import run_on_spark
from comity.plan import Plan, compile_plan
from comity.plan.ways import ways_of
from comity.testing.outcomes import outcomes_in, outcomes_of
from comity.testing.records import NOW

LEAVES = 3
DEPTHS = range(1, 9)
FLAT = {f"a{number}": {"kind": "float", "optional": True} for number in range(LEAVES)}

Declared = dict[str, Any]


def nested(depth: int, leaf: Declared, *, optional: bool, on_each_level: bool = False) -> dict[str, Declared]:
    """Attributes that lead to leaves through structs in structs."""
    leaves = {f"a{number}": leaf for number in range(LEAVES)}
    found = leaves
    for level in range(depth):
        struct = {"kind": "struct", "attributes": found, "optional": optional}
        found = {"inner": struct, **(leaves if on_each_level and level < depth - 1 else {})}
    return found


def paths(attributes: dict[str, Declared], prefix: str = "") -> Iterator[str]:
    for name, declared in attributes.items():
        if declared["kind"] == "struct":
            yield from paths(declared["attributes"], f"{prefix}{name}.")
        else:
            yield prefix + name


def federation(folder: Path, files: dict[str, dict[str, Any]]) -> Federation:
    """The federation with these files, which are JSON and so YAML."""
    for name, content in files.items():
        path = folder / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return load(folder)


def into_structs(
    folder: Path, target: dict[str, Declared], made_from: str, source: dict[str, Declared] = FLAT
) -> Federation:
    """From flat events through a contract with structs to a subscriber that sees these structs.

    `made_from` says what a leaf is made from, with `{}` for the attribute of the source.
    """
    members = {path: made_from.format(path.rpartition(".")[2]) for path in paths(target)}
    return federation(
        folder,
        {
            "plant": {"domain": "plant", "types": {"Reading": {"attributes": source}}},
            "office": {"domain": "office", "types": {"Record": {"attributes": target}}},
            "contract": {
                "contract": "shared",
                "types": {"Common": {"attributes": target}},
                "members": {"plant": {"type": "Reading", "map": members}},
                "observers": {"office": {"type": "Record", "map": {path: path for path in paths(target)}}},
            },
            "profiles": {"profiles": {"all": {"domain": "office", "on": "Record"}}},
        },
    )


def chain(folder: Path, length: int, made_from: str) -> Federation:
    """Federations inside federations: events go through a contract of each, which makes its attributes alike."""
    made = {name: made_from.format(name) for name in FLAT}
    files: dict[str, dict[str, Any]] = {}
    place = ""
    for level in reversed(range(length)):
        member = {"plant": "Reading"} if level == 0 else {f"ring{level - 1}": f"shared{level - 1}.Common"}
        files[f"{place}federation"] = {"federation": f"ring{level}", "boundary": [f"shared{level}"]}
        files[f"{place}contract"] = {
            "contract": f"shared{level}",
            "types": {"Common": {"attributes": FLAT}},
            "members": {domain: {"type": type, "map": made} for domain, type in member.items()},
        }
        if level == length - 1:
            files[f"{place}federation"] = {"federation": "whole"}
            files[f"{place}contract"]["observers"] = {"office": {"type": "Record", "map": made}}
        inner = f"{place}ring{level - 1}/"
        place = place if level == 0 else inner
    files[f"{place}plant"] = {"domain": "plant", "types": {"Reading": {"attributes": FLAT}}}
    files["office"] = {"domain": "office", "types": {"Record": {"attributes": FLAT}}}
    files["profiles"] = {"profiles": {"all": {"domain": "office", "on": "Record"}}}
    return federation(folder, files)


def size(plan: Plan) -> int:
    """The length of all columns that make results, as texts."""
    outcome = outcome_of_hit(ways_of(plan))
    kept = [column for group in outcome.kept for column in group.values()]
    return sum(len(str(column)) for column in (outcome.to, outcome.line, *kept))


OPTIONAL: Declared = {"kind": "float", "optional": True}
MANDATORY: Declared = {"kind": "float"}
SPOTS: Declared = {"kind": "list", "of": {"kind": "struct", "attributes": {"x": OPTIONAL}}, "optional": True}
TIMES: Declared = {"kind": "timestamp", "optional": True}

SHAPES: dict[str, Callable[[Path, int], Federation]] = {
    "all optional": lambda folder, depth: into_structs(folder, nested(depth, OPTIONAL, optional=True), "{} * 2 + 1"),
    "all mandatory": lambda folder, depth: into_structs(folder, nested(depth, MANDATORY, optional=False), "{} * 2 + 1"),
    "mandatory in optional": lambda folder, depth: into_structs(
        folder, nested(depth, MANDATORY, optional=True), "{} * 2 + 1"
    ),
    "conditionals": lambda folder, depth: into_structs(
        folder, nested(depth, OPTIONAL, optional=True), "if {0} > 3 then {0} else a0 + a1"
    ),
    "lists of structs": lambda folder, depth: into_structs(
        folder, nested(depth, SPOTS, optional=True), "{}", dict.fromkeys(FLAT, SPOTS)
    ),
    "times": lambda folder, depth: into_structs(
        folder, nested(depth, TIMES, optional=True), "{}", dict.fromkeys(FLAT, TIMES)
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_columns_of_nested_structs_grow_by_as_much_for_each_level(
    spark: SparkSession, tmp_path: Path, shape: str
) -> None:
    sizes = [size(compile_plan(SHAPES[shape](tmp_path / str(depth), depth))) for depth in DEPTHS]
    steps = [after - before for before, after in pairwise(sizes)]
    assert max(steps) < 1.2 * min(steps), sizes
    assert max(steps) < sizes[0], sizes


def test_columns_of_structs_with_leaves_on_every_level_grow_by_the_tests_above_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    targets = [nested(depth, OPTIONAL, optional=True, on_each_level=True) for depth in DEPTHS]
    sizes = [size(compile_plan(into_structs(tmp_path / str(at), one, "{} + 1"))) for at, one in enumerate(targets)]
    steps = [after - before for before, after in pairwise(sizes)]
    more = [after - before for before, after in pairwise(steps)]
    assert max(more) < 0.5 * sizes[0], sizes


@pytest.mark.parametrize("made_from", ["{0} + {0} * {0}", "if {0} > 3 then {0} else {0} + 1"])
def test_columns_of_contracts_after_contracts_grow_by_as_much_for_each(
    spark: SparkSession, tmp_path: Path, made_from: str
) -> None:
    sizes = [size(compile_plan(chain(tmp_path / str(length), length, made_from))) for length in range(2, 7)]
    steps = [after - before for before, after in pairwise(sizes[1:])]  # the shortest are done at once
    assert max(steps) < 1.5 * min(steps), sizes


def planned(spark: SparkSession, plan: Plan, events: Path) -> str:
    """What Spark makes of the plan before it runs."""
    prepared = PreparedPlan(plan, spark)
    hits = prepared.hits(Tables.of(spark, Inputs.of([str(events)])), Window.around(NOW))
    try:
        return str(prepared.outcomes(hits)._jdf.queryExecution().optimizedPlan().toString())
    finally:
        prepared.close()


def write_readings(folder: Path) -> Path:
    values: list[dict[str, float]] = [{}, {"a0": 1.5}, {"a0": 4.0, "a1": -2.0, "a2": 0.0}, {"a2": 1e300}]
    envelope = {"specversion": "1.0", "source": "/p", "type": "plant.Reading", "time": "2026-01-01T00:00:00Z"}
    records = [{**envelope, "id": str(at), "data": data} for at, data in enumerate(values)]
    path = folder / "readings.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_plan_of_contracts_after_contracts_stays_small_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    events = write_readings(tmp_path)
    spark.conf.set("spark.sql.debug.maxToStringFields", "100000")
    try:
        plans = [compile_plan(chain(tmp_path / str(length), length, "{0} + {0} * {0}")) for length in range(3, 6)]
        sizes = [len(planned(spark, plan, events)) for plan in plans]
    finally:
        spark.conf.unset("spark.sql.debug.maxToStringFields")
    first, second = (after - before for before, after in pairwise(sizes))
    assert second < 1.5 * first, sizes


@pytest.mark.parametrize(
    "shape",
    [
        SHAPES["mandatory in optional"],
        lambda folder, _: chain(folder, 4, "if {0} > 3 then {0} else {0} + 1"),
    ],
    ids=["structs", "contracts"],
)
def test_deep_mappings_give_on_spark_what_the_engine_gives(
    spark: SparkSession, tmp_path: Path, shape: Callable[[Path, int], Federation]
) -> None:
    found = shape(tmp_path / "federation", 5)
    events, plan = write_readings(tmp_path), compile_plan(found)
    run_on_spark(plan, [str(events)], tmp_path / "out", spark, now=NOW)
    expected = outcomes_of(run(plan, read_events(events, found.find_type, require_time=True)))
    assert outcomes_in(tmp_path / "out", plan.subscribers) == expected
    assert len(expected) == 4
