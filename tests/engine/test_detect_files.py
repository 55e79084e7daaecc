"""Which files are scanned as columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from comity.engine import detect_files


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a.jsonl"], True),
        (["a.jsonl", "events.log"], True),
        (["a.jsonl", "b.jsonl.gz"], False),
        (["a.csv"], False),
        (["a.parquet"], False),
    ],
)
def test_lines_are_scanned_whatever_their_file_is_called(
    names: list[str], expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / name for name in names]
    for file in files:
        file.write_bytes(b"x" * 10)
    monkeypatch.setattr(detect_files, "SCANNED_BYTES", 10 * len(files))
    assert detect_files.can_scan(files) is expected
    monkeypatch.setattr(detect_files, "SCANNED_BYTES", 10 * len(files) + 1)
    assert not detect_files.can_scan(files)
