"""Spark's failures in the error family."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from comity.errors import Permanent


@contextmanager
def spark_failures() -> Iterator[None]:
    """Turn what Spark raises inside the block into an error with one clear line."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise Permanent(
            f"Spark stopped: {_cause(str(error))}", code="spark-failed", hint="`comity -v` shows Spark's log"
        ) from error


def _cause(text: str) -> str:
    """The innermost reason in a stack trace."""
    causes = [line.split("Caused by:", 1)[1] for line in text.splitlines() if "Caused by:" in line]
    lines = [line for line in text.splitlines() if line.strip()]
    return (causes[-1] if causes else lines[0] if lines else "no reason given").strip()[:500]
