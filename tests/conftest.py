"""What every test shares: the profiles of hypothesis, the one Spark session, and which tests run when."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from pyspark import SparkContext
from pyspark.sql import SparkSession

from comity.pipeline.session import spark_session, stop_session
from tests.kafka.broker import Kafka, broker
from tests.kafka.jars import CONNECTOR, jars
from tests.s3 import ObjectStore, object_store

ROOT = Path(__file__).parent.parent
PROFILE = os.environ.get("COMITY_PROFILE", "normal")

# The normal run tries the same examples on every machine; the nightly one looks for new ones, and for more of them.
settings.register_profile(
    "normal", deadline=None, derandomize=True, max_examples=100, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "nightly", deadline=None, max_examples=2_000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(PROFILE)

# Spark's tests are many short jobs, which pay for Java's optimizing compiler more than it gives back.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")


# First, because the option `-m` looks at the marks.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    config.stash[_SHARED] = SharedSpark(_longest_files_first(items))
    if PROFILE != "nightly":
        _leave_out_nightly(config, items)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine has an event loop of its own, and a minute."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**given), timeout=60))
    return True


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """To look for the few tests that run alone, files that do not say so need not be loaded."""
    if config.option.markexpr != "alone" or collection_path.suffix != ".py":
        return None
    return "mark.alone" not in collection_path.read_text(encoding="utf-8") or None


def _longest_files_first(items: list[pytest.Item]) -> set[Path]:
    """Those of Spark first, which it gives, and slow ones before others: who is handed one last keeps all waiting."""
    spark, slow = ({item.path for item in items if item.get_closest_marker(mark)} for mark in ("spark", "slow"))
    items.sort(key=lambda item: (item.path not in spark, item.path not in slow))
    return spark


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Spark ends behind the last of its files, and nobody else has begun one, since there can be one only."""
    shared = item.config.stash[_SHARED]
    if nextitem is None or nextitem.path not in shared.files:
        shared.stop()
    if shared.session is None and SparkContext._active_spark_context is not None:
        stop_session(SparkSession.builder.getOrCreate())
        pytest.fail("Spark is started here without the fixture `spark`")


def _leave_out_nightly(config: pytest.Config, items: list[pytest.Item]) -> None:
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if nightly:
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]


@dataclass
class SharedSpark:
    """The Spark of a process of tests, begun when one wants it, and again when one has stopped it."""

    files: set[Path]
    """Those with tests that want it."""
    session: SparkSession | None = None

    def get(self) -> SparkSession:
        """The session; its workers can import the tests, too."""
        if self.session is None or SparkContext._active_spark_context is None:
            places = [str(ROOT), str(ROOT / "src"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, places)))
                self.session = spark_session("local[2]", app_name="comity-tests", brief=True, config=kafka_config())
        return self.session

    def stop(self) -> None:
        """End it, if it runs."""
        if self.session is not None:
            stop_session(self.session)
            self.session = None


_SHARED = pytest.StashKey[SharedSpark]()


@pytest.fixture
def spark(pytestconfig: pytest.Config) -> SparkSession:
    """The Spark session that the tests of a process share."""
    return pytestconfig.stash[_SHARED].get()


def kafka_config() -> dict[str, str]:
    """The setting by which Spark has its connector for Kafka, if it can be had; other tests go on without it."""
    with suppress(pytest.skip.Exception, pytest.fail.Exception):
        return {"spark.jars": ",".join(str(jar) for jar in jars(CONNECTOR))}
    return {}


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    """The broker that all tests of a run share, each with topics of its own."""
    jars(CONNECTOR)  # what Spark reads it with
    with broker() as found:
        yield found


@pytest.fixture(scope="session")
def s3() -> Iterator[ObjectStore]:
    """The object store that all tests of a run share, each with buckets of its own."""
    with object_store() as store:
        yield store
