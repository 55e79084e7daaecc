"""As a guest in somebody's Spark session: its settings stay as they are, and it may be one of Spark Connect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pyspark.sql import SparkSession

from comity.errors import Misuse
from comity.event.types import AttributeType, EventType

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)

_ZONE, _CASE = "spark.sql.session.timeZone", "spark.sql.caseSensitive"
_MEANING: Mapping[str, str] = {_ZONE: "UTC", _CASE: "true", "spark.sql.ansi.enabled": "true"}
"""Settings on which it depends what a column says."""
_SAME_AS_UTC = ("UTC", "Z", "GMT", "Etc/UTC", "+00:00", "+0")


class SharedValue(Protocol[_T_co]):
    """What workers have: a broadcast, or what goes along with each task."""

    @property
    def value(self) -> _T_co: ...

    def destroy(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Carried(Generic[_T]):
    """A value that goes along with each task, where nothing can be broadcast."""

    value: _T

    def destroy(self) -> None:
        """There is nothing to forget."""


def share(value: _T, spark: SparkSession) -> SharedValue[_T]:
    """The value for the workers: sent to each of them once where the session can do that."""
    return Carried(value) if is_remote(spark) else spark.sparkContext.broadcast(value)


def is_remote(spark: SparkSession) -> bool:
    """Whether it is a session of Spark Connect, which has neither a context nor Java beside it."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@contextmanager
def our_settings(spark: SparkSession, types: Iterable[EventType]) -> Iterator[None]:
    """Settings under which columns mean what plans over these types expect, as long as the block runs.

    A classic session settles what a column means when a DataFrame is put together, so the settings need not last. One
    of Spark Connect does so when the DataFrame is computed: then they must be so already.
    """
    if is_remote(spark):
        check_settings(spark, types)
        yield
        return
    before = {name: spark.conf.get(name, None) for name in _MEANING}
    changed = [name for name, value in _MEANING.items() if before[name] != value]
    for name in changed:
        spark.conf.set(name, _MEANING[name])
    try:
        yield
    finally:
        for name in changed:
            _restore(spark, name, before[name])


def _restore(spark: SparkSession, name: str, value: str | None) -> None:
    if value is None:
        spark.conf.unset(name)
    else:
        spark.conf.set(name, value)


def check_settings(spark: SparkSession, types: Iterable[EventType]) -> None:
    """Raise `Misuse` if columns would mean something else than plans over these types expect."""
    needed = dict(_MEANING)
    if not any(_has_clash(one) for one in _levels(types)):
        del needed[_CASE]
    if spark.conf.get(_ZONE) in _SAME_AS_UTC:
        del needed[_ZONE]
    wrong = {name: value for name, value in needed.items() if spark.conf.get(name) != value}
    if wrong:
        told = ", ".join(f"{name} = {spark.conf.get(name)}" for name in wrong)
        hint = "; ".join(f'spark.conf.set("{name}", "{value}")' for name, value in wrong.items())
        message = f"under Spark Connect columns would mean something else with {told}"
        raise Misuse(message, code="session-settings", hint=hint)


def _levels(types: Iterable[EventType]) -> Iterator[list[str]]:
    """The names that stand beside each other: those of types, and of attributes on each level of them."""
    known = list(types)
    yield [one.qualified_name for one in known]
    for one in known:
        yield from _levels_of(one.attributes)


def _levels_of(attributes: Mapping[str, AttributeType]) -> Iterator[list[str]]:
    yield list(attributes)
    for one in attributes.values():
        yield from _levels_of(one.attributes)
        if one.element is not None:
            yield from _levels_of(one.element.attributes)


def _has_clash(names: list[str]) -> bool:
    """Whether names differ in case only."""
    return len({name.lower() for name in names}) < len(set(names))
