"""Filters as columns of Spark, as text: `tests/golden/columns.txt` is meant to be read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import Column, SparkSession
from tests.golden_pairs import blocks

from comity.event.kinds import Kind
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind_text
from comity.expression.scope import Scope
from comity.expression.tree import Expression
from comity.pipeline.columns.columns import OpenColumns, TypedColumns, compile_filter, compile_truth

READING = EventType(
    "Reading",
    "house",
    own={
        "count": AttributeType(Kind.INT),
        "load": AttributeType(Kind.FLOAT, optional=True),
        "room": AttributeType(Kind.STRING, optional=True),
        "on": AttributeType(Kind.BOOL),
        "seen": AttributeType(Kind.TIMESTAMP, optional=True),
    },
)
WAYS: dict[str, Callable[[Expression], Column]] = {
    "filter": lambda tree: compile_filter(tree, TypedColumns(READING)),
    "truth": lambda tree: compile_truth(tree, TypedColumns(READING)),
    "open": lambda tree: compile_filter(tree, OpenColumns()),
}


def shown(column: Column) -> str:
    return str(column).removeprefix("Column<'").removesuffix("'>").replace("`", "")


@pytest.mark.parametrize("case", blocks("columns.txt"), ids=lambda case: next(iter(case.values())))
def test_column(spark: SparkSession, case: dict[str, str]) -> None:
    (way, text), *_ = case.items()
    tree = bind_text(text, Scope() if way == "open" else Scope(type=READING))
    assert shown(WAYS[way](tree)) == case["column"]
