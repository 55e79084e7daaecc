"""Conversions, parts of texts, times in formats, and extension functions: columns give what the evaluator gives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.pipeline.test_columns import MANY, OPEN, TYPED, check_values, typed, untyped

from comity.event.event import Event
from comity.event.kinds import Kind, Point
from comity.expression.bind import bind
from comity.expression.extensions import ExtensionFunction, load_functions
from comity.expression.parse import parse
from comity.expression.scope import Scope
from comity.expression.tree import Attribute, Call, Expression, Extension, Literal
from comity.testing.expressions import SAMPLE, events, open_events

pytestmark = pytest.mark.spark

TEXTS = [
    *("", "5", "-0", "0", "007", "+5", "-12", "9223372036854775807", "9223372036854775808", "-9223372036854775808"),
    *(
        "5.0",
        "1e5",
        "-1.5E-3",
        "1e999",
        "-1e400",
        "1e-400",
        "2.",
        ".5",
        " 5",
        "5\n",
        "٣",
        "Infinity",
        "NaN",
        "0x10",
        "5d",
    ),
    *("Main Street, London", "a, b, c", ", ", ",", "aaa", "aa", "a", "😀, é", "a\nb", "İ, ß", "1:27 pm", "01:05 PM"),
    *("2026-05-01", "2023-02-29", "0000-01-01", "9999-12-31", "13:45:00.000001", "24:00:00.000000", "[0001]"),
]
SEPARATORS = [", ", ",", "aa", "", "\n", "é", "zz"]
FORMATS = ["yyyy-MM-dd", "h:mm a", "HH:mm:ss.SSSSSS", "[yyyy]", "d.M.yyyy", "H", "hh:mm a", "SSS", "no"]
TIMES = [
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(987, 6, 5, 4, 3, 2, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2026, 5, 1, 12, 0, 0, 120_000, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
]
NUMBERS = [0.0, -0.0, 5.0, 2.5, 1e16, 1e-7, 123456789012345680.0, 2.0**63, -(2.0**63), 5e-324, 1.7976931348623157e308]
SPANS = [timedelta(), timedelta(days=-1.5), timedelta(microseconds=1), timedelta(days=3_652_058)]


def sample(**data: Any) -> Event:
    return Event("1", "/a", SAMPLE.qualified_name, data={"total": 0, "heat": 0.0, "room": "", **data})


EVENTS = [
    *(sample(name=text) for text in TEXTS),
    *(sample(since=time) for time in TIMES),
    *(sample(heat=number) for number in NUMBERS),
    *(sample(span=span, flag=True) for span in SPANS),
    *(sample(count=number) for number in (2**63 - 1, -(2**63), -7)),
    *(sample(room=format, name=text, since=TIMES[3]) for format, text in product(FORMATS[:3], TEXTS[-9:])),
]


def value(text: str) -> Expression:
    return bind(parse(text), Scope(type=SAMPLE)).node


NODES = [
    *(value(text) for text in ("text(count)", "text(heat)", "text(flag)", "text(since)", "text(span)")),
    *(value(text) for text in ("int(name)", "float(name)", "int(heat)", "int(count)", "weekday(since)")),
    *(value(text) for text in ("time_of_day(since)", "parse_time(name, room)", "format_time(since, room)")),
    *(
        Call(cut, (Attribute(("name",)), Literal(separator)))
        for cut in ("before", "after", "before_last", "after_last")
        for separator in SEPARATORS
    ),
    *(Call("parse_time", (Attribute(("name",)), Literal(format))) for format in FORMATS),
    *(Call("format_time", (Attribute(("since",)), Literal(format))) for format in FORMATS),
]


def test_conversions_and_parts_at_their_edges(spark: SparkSession) -> None:
    check_values(*typed(spark, EVENTS), NODES, TYPED)


FILE = """
from datetime import datetime, timedelta
import comity

@comity.extension(takes=("any",), gives="string", total=True)
def shown(value):
    return f"{type(value).__name__} {value!r}"

@comity.extension(takes=("timestamp",), gives="timestamp")
def next_day(time):
    return time + timedelta(days=1)

@comity.extension(takes=("int or float",), gives="duration")
def seconds(number):
    return timedelta(seconds=number)

@comity.extension(takes=("string", "number"), gives="float", takes_missing=True)
def either(text, number):
    return number if number is not None else len(text)

@comity.extension(takes=("point",), gives="point")
def turned(place):
    return type(place)(place.y, place.x)

@comity.extension(takes=("bytes",), gives="bytes")
def twice(raw):
    return raw + raw

@comity.extension(takes=(), gives="int", pure=False)
def three():
    return 3
"""


def functions(folder: Path) -> dict[str, ExtensionFunction]:
    path = folder / "times.py"
    path.write_text(FILE)
    return load_functions(path)


def test_extension_functions_run_in_the_workers(spark: SparkSession, tmp_path: Path) -> None:
    known = functions(tmp_path)
    (tmp_path / "times.py").unlink()

    def call(name: str, *arguments: Expression) -> Expression:
        return Extension(name, known[name], arguments)

    names = [name for name, one in SAMPLE.attributes.items() if one.kind is not Kind.STRUCT or name == "device"]
    nodes = [call("shown", Attribute((name,))) for name in names]
    nodes += [call("next_day", Attribute(("since",))), call("seconds", Attribute(("heat",)))]
    nodes += [call("seconds", Attribute(("count",))), call("turned", Attribute(("place",)))]
    nodes += [call("twice", Attribute(("raw",))), call("either", Attribute(("name",)), Attribute(("level",)))]
    nodes += [call("three"), call("shown", call("next_day", Attribute(("since",))))]
    more = [
        sample(place=Point(1.0, -0.0), raw=b"a", level=2.5, tags=["a", "b"], times=TIMES[:3]),
        sample(device={"serial": "a", "load": 2.0}, ids=[1, 2], level=-0.0),
    ]
    check_values(*typed(spark, [*EVENTS, *more]), nodes, TYPED)


@MANY
@given(st.lists(open_events(), min_size=5, max_size=20), st.lists(events(), min_size=5, max_size=20))
def test_an_extension_function_of_anything(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, found: list[Event], more: list[Event]
) -> None:
    known = functions(tmp_path_factory.mktemp("functions"))
    open_node = Extension("seconds", known["seconds"], (Attribute(("x",)),))
    check_values(*untyped(spark, found), [open_node], OPEN)
    nodes = [Extension("shown", known["shown"], (Attribute((name,)),)) for name in ("heat", "since", "span", "name")]
    check_values(*typed(spark, more), nodes, TYPED)
