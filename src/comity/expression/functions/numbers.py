"""Functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from comity.event.kinds import NUMBERS, Kind, Point, in_range
from comity.expression.functions.record import INT, Arguments, Function, always, gives, of_kinds

_BEYOND_LONG = 2.0**63


def _whole(rounding: Callable[[float], int]) -> Callable[[int | float], int | None]:
    def apply(number: int | float) -> int | None:
        result = rounding(number)
        return result if in_range(result) else None

    return apply


def _absolute(number: int | float) -> int | float | None:
    return abs(number) if in_range(abs(number)) else None


def _absolute_in_spark(F: Any, arguments: Arguments, number: Any) -> Any:
    if arguments.kinds[0] != INT:
        return F.abs(number)
    return F.when(number >= 0, number).otherwise(F.try_subtract(F.lit(0).cast("long"), number))


def _rounded_in_spark(name: str) -> Callable[..., Any]:
    def build(F: Any, arguments: Arguments, number: Any) -> Any:
        if arguments.kinds[0] == INT:
            return number
        return F.when((number >= -_BEYOND_LONG) & (number < _BEYOND_LONG), getattr(F, name)(number))

    return build


def _point_in_spark(F: Any, _: Arguments, x: Any, y: Any) -> Any:
    parts = F.struct(x.cast("double").alias("x"), y.cast("double").alias("y"))
    return F.when(x.isNotNull() & y.isNotNull(), parts)


NUMBER_FUNCTIONS = (
    Function(
        name="abs",
        summary="without the sign",
        takes=(NUMBERS,),
        gives=lambda kind: kind,
        apply=_absolute,
        keeps_unit=True,
        total=of_kinds(frozenset({Kind.FLOAT})),
        no_larger=always,
        loses="it leaves out the sign",
        xpath="c:number(abs({}))",
        spark=_absolute_in_spark,
    ),
    Function(
        name="floor",
        summary="largest int below",
        takes=(NUMBERS,),
        gives=gives(Kind.INT),
        apply=_whole(math.floor),
        keeps_unit=True,
        total=of_kinds(INT),
        rising=always,
        distinct=of_kinds(INT),
        gaps_at_ends=True,
        undo=lambda number: number,
        loses="it leaves out the fraction",
        xpath="c:whole(floor({}))",
        spark=_rounded_in_spark("floor"),
    ),
    Function(
        name="ceil",
        summary="smallest int above",
        takes=(NUMBERS,),
        gives=gives(Kind.INT),
        apply=_whole(math.ceil),
        keeps_unit=True,
        total=of_kinds(INT),
        rising=always,
        distinct=of_kinds(INT),
        gaps_at_ends=True,
        undo=lambda number: number,
        loses="it leaves out the fraction",
        xpath="c:whole(ceiling({}))",
        spark=_rounded_in_spark("ceil"),
    ),
    Function(
        name="point",
        summary="the point with these coordinates",
        takes=(NUMBERS, NUMBERS),
        gives=gives(Kind.POINT),
        apply=lambda x, y: Point(float(x), float(y)),
        total=always,
        xpath="c:point({}, {})",
        spark=_point_in_spark,
    ),
)
