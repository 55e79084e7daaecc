"""Of notifications that wait for a sink together, those of a higher priority go first."""

from __future__ import annotations

import json
from pathlib import Path

from comity.connect.connectors.memory.sink import MemorySink
from comity.connect.outbox import Outbox


def publish(out: Path, *profiles: str) -> None:
    lines = [
        json.dumps({"profile": profile, "source": "/a", "id": str(number), "time": "2026-01-31T12:00:00Z"})
        for number, profile in enumerate(profiles)
    ]
    (out / "house").mkdir()
    (out / "house" / "part-00000.jsonl").write_text("\n".join(lines), encoding="utf-8")


def sent(out: Path, priorities: dict[str, int]) -> list[str]:
    sink = MemorySink()
    Outbox(out, {"house": {"screen": sink}}, priorities=priorities).send()
    return [message.profile for message in sink.taken]


def test_a_higher_priority_goes_first_and_nothing_is_lost(tmp_path: Path) -> None:
    publish(tmp_path, "bulk", "plain", "urgent", "bulk", "urgent")
    assert sent(tmp_path, {"urgent": 100, "bulk": -100}) == ["urgent", "urgent", "plain", "bulk", "bulk"]


def test_without_priorities_the_order_is_that_of_the_batch(tmp_path: Path) -> None:
    publish(tmp_path, "b", "a", "b")
    assert sent(tmp_path, {}) == ["b", "a", "b"]
