"""Outcomes of a plan in a form in which those of different runners are equal when they say the same.

A notification is compared with all that is in it. A rejected record is compared without its place, which only some
readers know, and its text as JSON where it is JSON, since Spark and Python write numbers in different forms.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from comity.connect.folder import REJECTED
from comity.connect.notification import notification_line
from comity.connect.port import Message
from comity.connect.published import published_batches, read_messages
from comity.engine.run import Notification
from comity.event.formats.jsonlines import Rejected, encode

Outcome = tuple[str, str]
"""For whom, and what, as JSON text."""


def outcomes_of(found: Iterable[Notification | Rejected]) -> list[Outcome]:
    """The outcomes of a runner in this process, in order of their texts."""
    return sorted(_outcome(one) for one in found)


def outcomes_in(out: Path, subscribers: Iterable[str]) -> list[Outcome]:
    """The same, from a folder of results of either form."""
    return sorted([*told_in(out, subscribers), *rejected_in(out)])


def told_in(out: Path, subscribers: Iterable[str]) -> Iterator[Outcome]:
    """The notifications in a folder of results."""
    for name in subscribers:
        for batch in published_batches(out, name):
            for message in read_messages(batch.files, name):
                assert isinstance(message, Message), message
                yield name, _text(json.loads(message.line))


def rejected_in(out: Path) -> Iterator[Outcome]:
    """The rejected records in a folder of results."""
    for file in sorted((out / REJECTED).glob("*.jsonl")):
        for line in file.read_bytes().split(b"\n"):
            if line:
                yield outcome_of_rejected(json.loads(line))


def outcome_of_rejected(record: dict[str, Any]) -> Outcome:
    """A rejected record, as a set of them holds it."""
    return REJECTED, _text(_rejected(record))


def _outcome(one: Notification | Rejected) -> Outcome:
    if isinstance(one, Notification):
        return one.subscriber, _text(json.loads(notification_line(encode(one.event), one.profile)))
    return outcome_of_rejected(one.as_dict())


def _rejected(record: dict[str, Any]) -> dict[str, Any]:
    raw = record["raw"]
    with suppress(ValueError, RecursionError):
        raw = json.loads(raw)
    return {"raw": raw, "contract": record.get("contract"), "faults": [_fault(fault) for fault in record["faults"]]}


def _fault(fault: dict[str, Any]) -> dict[str, Any]:
    # A reader that has only the beginning of a line cannot tell how long it is.
    return {**fault, "value": ""} if fault["code"] == "too-long" else fault


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, ensure_ascii=False)
