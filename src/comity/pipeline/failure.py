"""Spark's failures in the error family: one line with the cause, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from comity.errors import ComityError, Misuse, Permanent, Retryable

_MOST_CHARS = 500
_JAVA = re.compile(r"(?:Caused by:\s*|^:?\s*)(?P<what>(?:[a-z_]\w*\.)+[A-Z][\w$]*(?:Error|Exception|Throwable)?:.*)")
_STREAM = re.compile(r"terminated with exception: (?P<what>.*?)(?: SQLSTATE: \w+)?$")
_PYTHON_TRACE = "Traceback (most recent call last):"
_PYTHON_ERROR = re.compile(r"^(?:[\w.]+\.)?[A-Za-z_]\w*(?:Error|Exception|Interrupt|Exit|Misuse|Permanent|Retryable)\b")
_STORE = re.compile(r"^comity\.errors\.Retryable: (?P<what>.*?)(?: \[storage-failed\])?$")
"""What a worker says when a store has failed for as long as it was asked again."""
_OURS = re.compile(
    r"^comity\.errors\.(?P<kind>Retryable|Permanent): (?P<what>.*) "
    r"\[(?P<code>broker-failed|broker-refused|other-stream|source-changed|source-gap|delta-feature|unreadable-source)\]$"
)
"""What a worker says when it could not write into topics, or read a source of ours."""
_GAP = "Some data may have been lost because they are not available in Kafka any more"
"""What Spark says when it comes to an offset of a topic that is there no more."""
_OTHER_SOURCES = "sources in the checkpoint offsets and now there are"
_WRAPPERS = (
    "Job aborted",
    "Task failed while writing rows",
    "[TASK_WRITE_FAILED]",
    "Exception thrown in awaitResult",
    "An error occurred while calling",
    "[STREAM_FAILED]",
    "[FOREACH_BATCH_USER_FUNCTION_ERROR]",
)
"""How lines begin that say only that something failed."""
_NEXT_STEPS = (
    ("No space left on device", "make room on that disk; the same command then goes on"),
    ("Disk quota exceeded", "make room, or raise the quota; the same command then goes on"),
    ("File too large", "the system bounds the size of files (`ulimit -f`); raise it, then start again"),
    ("Too many open files", "raise the bound on open files (`ulimit -n`), then start again"),
    ("Permission denied", "let this user read and write there, then start again"),
    ("OutOfMemoryError", "give Spark more memory: --spark-config spark.driver.memory=4g"),
    ("Answer from Java side is empty", "the Java process of Spark ended, perhaps for want of memory; start again"),
    ("Connection refused", "the Java process of Spark ended, perhaps for want of memory; start again"),
    ("Python worker exited unexpectedly", "a worker died, perhaps for want of memory; start again"),
)
_OURS_HINT = "when that is mended, the same command goes on from there"
_HINT = "`comity -v` shows Spark's log"


@contextmanager
def spark_failures() -> Iterator[None]:
    """Turn what Spark raises inside the block into an error with one clear line."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise _told(cause_of(error), str(error)) from error


def _told(cause: str, text: str) -> ComityError:
    if (ours := _OURS.match(cause)) is not None:
        kind = Retryable if ours["kind"] == "Retryable" else Permanent
        return kind(ours["what"], code=ours["code"], hint=_OURS_HINT)
    if (store := _STORE.match(cause)) is not None:
        hint = "look whether the store can be reached; the same command goes on from there"
        return Retryable(store["what"], code="storage-failed", hint=hint)
    if _OTHER_SOURCES in text:
        hint = "name the same sources as before, or begin anew in another folder"
        return Misuse("the stream had other sources when it began", code="other-sources", hint=hint)
    if _GAP in text:
        hint = "keep records for longer; `options: {failOnDataLoss: false}` of the source goes on without them"
        return Permanent("records of a topic were removed before they were read", code="source-gap", hint=hint)
    return Permanent(f"Spark stopped: {cause}", code="spark-failed", hint=next_step(cause))


@contextmanager
def letting_go() -> Iterator[None]:
    """Whatever Spark cannot release any more does not matter: its process may be gone, which was told before."""
    with suppress(PySparkException, Py4JError, ConnectionError):
        yield


def cause_of(error: BaseException) -> str:
    """The innermost reason, in one line: of a worker's Python, else of Java, else whatever is said first."""
    return cause_in(str(error))


def next_step(cause: str) -> str:
    """What to do about it."""
    return next((step for text, step in _NEXT_STEPS if text in cause), _HINT)


def cause_in(text: str) -> str:
    """The innermost reason in the text of a failure.

    >>> cause_in("Job aborted.\\nCaused by: java.io.IOException: No space left on device\\n\\tat java.io")
    'java.io.IOException: No space left on device'
    """
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    candidates = [*_python_errors(lines), *reversed(_java_errors(lines)), *_stream_errors(lines), *lines]
    told = (one.strip() for one in candidates if not one.strip().startswith(_WRAPPERS))
    return next(told, lines[0].strip() if lines else "no reason given")[:_MOST_CHARS]


def _python_errors(lines: list[str]) -> list[str]:
    """The last lines of the tracebacks of workers, the innermost traceback first."""
    found: list[str] = []
    for at, line in enumerate(lines):
        if line.strip() == _PYTHON_TRACE or line.strip().endswith(_PYTHON_TRACE):
            end = next((one for one in lines[at + 1 :] if _PYTHON_ERROR.match(one)), None)
            if end is not None and not _is_bridge(end):
                found.append(end)
    return found


def _stream_errors(lines: list[str]) -> list[str]:
    """What ended a streaming query by itself."""
    found = (_STREAM.search(line) for line in lines)
    return [one["what"] for one in found if one is not None and not one["what"].endswith(_PYTHON_TRACE)]


def _is_bridge(line: str) -> bool:
    """Whether it says no more than that Java failed, whose reasons are told on their own."""
    return line.startswith(("py4j.", "pyspark."))


def _java_errors(lines: list[str]) -> list[str]:
    """What Java says, from the outermost cause to the innermost."""
    found = (_JAVA.match(line.strip()) for line in lines)
    return [one["what"] for one in found if one is not None]
