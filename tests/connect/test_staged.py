"""Results that this process writes, and their publication."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from comity.connect import staged
from comity.connect.folder import REJECTED, STAGING, Results, publish
from comity.connect.published import published_batches
from comity.connect.staged import staged_results


def line(identifier: str, time: str = "2026-01-02T03:04:05.000006Z", **more: object) -> bytes:
    record = {"specversion": "1.0", "id": identifier, "source": "/a", "type": "o.T", "time": time, "profile": "p"}
    return json.dumps({**record, **more}).encode()


def visible(out: Path) -> list[str]:
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())


def ids(out: Path) -> list[str]:
    return [json.loads(text)["id"] for path in sorted(out.rglob("*.jsonl")) for text in path.read_text().splitlines()]


def test_lines_go_to_their_subscribers_and_everyone_has_a_folder(tmp_path: Path) -> None:
    with staged_results(tmp_path, ["a", "b", REJECTED]) as results:
        results.put("a", line("1"))
        results.put("a", line("2"))
        results.put(REJECTED, b'{"raw": "x", "faults": []}')
        assert [name for name in visible(tmp_path) if not name.startswith(STAGING)] == []
    assert visible(tmp_path) == ["a/part-00000.jsonl", "rejected/part-00000.jsonl"]
    assert (tmp_path / "b").is_dir()
    assert (tmp_path / "a" / "part-00000.jsonl").read_bytes() == line("1") + b"\n" + line("2") + b"\n"


def test_nothing_is_published_when_the_block_fails(tmp_path: Path) -> None:
    with pytest.raises(TypeError), staged_results(tmp_path, ["a"]) as results:
        results.put("a", None)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", [Results.JSONL, Results.PARQUET])
def test_a_batch_takes_the_place_of_an_earlier_attempt(tmp_path: Path, form: Results) -> None:
    def attempt(number: int, *rows: tuple[str, str]) -> None:
        with staged_results(tmp_path, ["a", "b", REJECTED], form, number) as results:
            for to, day in rows:
                results.put(to, line(f"{number} {to} {day}", f"2026-01-{day}T00:00:00Z"))

    attempt(6, ("a", "01"))
    attempt(7, ("a", "01"), ("b", "01"), ("a", "02"))
    attempt(7, ("a", "03"))
    batches = {one.number: len(one.files) for one in published_batches(tmp_path, "a")}
    assert batches == {6: 1, 7: 1}
    assert published_batches(tmp_path, "b") == []


def test_a_batch_leaves_alone_what_is_hidden_and_what_only_begins_like_it(tmp_path: Path) -> None:
    for name in (".sent/batch-00000007-notes", "a/batch-00000070-00000.jsonl", "a/part-00000.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("kept")
    with staged_results(tmp_path, ["a"], batch=7) as results:
        results.put("a", line("1"))
    assert len(visible(tmp_path)) == 4


def test_parquet_results_have_a_folder_for_each_day_and_subscriber(tmp_path: Path) -> None:
    more = {"subject": "s", "sequence": "7", "mode": "live", "typeversion": "1", "data": {"x": 1.50, "y": "ß"}}
    with staged_results(tmp_path, ["a", REJECTED], Results.PARQUET) as results:
        results.put("a", line("1"))
        results.put("a", line("2", "2026-01-03T00:00:00Z", **more))
        results.put(REJECTED, b'{"raw": "x", "faults": []}')
    first, second = "day=2026-01-02/subscriber=a/part-00000.parquet", "day=2026-01-03/subscriber=a/part-00000.parquet"
    assert visible(tmp_path) == [first, second, "rejected/part-00000.jsonl"]
    row = pq.ParquetFile(tmp_path / second).read().to_pylist()[0]
    assert row.pop("time").isoformat() == "2026-01-03T00:00:00+00:00"
    assert json.loads(row.pop("data")) == more.pop("data")
    assert row == {"profile": "p", "id": "2", "source": "/a", "type": "o.T", **more}
    assert pq.ParquetFile(tmp_path / first).read().to_pylist()[0]["data"] is None


def test_parquet_results_are_written_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staged, "_ROWS_AT_ONCE", 3)
    with staged_results(tmp_path, ["a"], Results.PARQUET, 1) as results:
        for number in range(7):
            results.put("a", line(str(number), f"2026-01-0{1 + number % 2}T00:00:00Z"))
    (batch,) = published_batches(tmp_path, "a")
    found = [row["id"] for file in batch.files for row in pq.ParquetFile(file).read().to_pylist()]
    assert sorted(found) == [str(number) for number in range(7)]
    assert len(batch.files) == 3


def test_publish_removes_what_was_staged(tmp_path: Path) -> None:
    part = tmp_path / "staging" / "to=a" / "part-xyz"
    part.parent.mkdir(parents=True)
    part.write_bytes(line("1") + b"\n")
    publish(tmp_path / "staging", tmp_path / "out", ["a"])
    assert not (tmp_path / "staging").exists()
    assert ids(tmp_path / "out") == ["1"]
