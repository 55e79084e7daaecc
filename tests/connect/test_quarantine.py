"""Files that could not be read to their ends are kept beside the results, each with its reason."""

from __future__ import annotations

import json
import os
from pathlib import Path

from comity.connect.quarantine import Quarantine


def test_a_file_that_is_gone_is_noted_without_a_copy(tmp_path: Path) -> None:
    fault = {"path": "", "value": "", "reason": "the file cannot be read: gone", "code": "unreadable-file"}
    record = {"file": str(tmp_path / "gone.csv"), "line": None, "raw": "", "faults": [fault]}
    Quarantine(tmp_path).take(3, json.dumps(record).encode())
    (note,) = (tmp_path / "quarantine").iterdir()
    assert json.loads(note.read_text())["kept"] is None


def test_what_is_kept_outlives_the_file(tmp_path: Path) -> None:
    file = tmp_path / "half.avro"
    file.write_bytes(b"Obj")
    fault = {"path": "", "value": "", "reason": "broken", "code": "broken-avro"}
    record = json.dumps({"file": str(file), "line": 1, "raw": "", "faults": [fault]}).encode()
    for _ in range(2):  # the batch is done again
        Quarantine(tmp_path).take(3, record)
    os.unlink(file)
    Quarantine(tmp_path).take(3, record)
    kept = [path for path in (tmp_path / "quarantine").iterdir() if path.suffix == ".avro"]
    assert [path.read_bytes() for path in kept] == [b"Obj"]
    assert not list((tmp_path / "quarantine").glob(".*"))


def test_files_with_the_longest_names_are_kept_apart(tmp_path: Path) -> None:
    names = [f"{letter}{'ü' * 120}.avro" for letter in "ab"]
    fault = {"path": "", "value": "", "reason": "broken", "code": "broken-avro"}
    for name in names:
        (tmp_path / name).write_text(name)
        record = {"file": str(tmp_path / name), "line": 1, "raw": "", "faults": [fault]}
        Quarantine(tmp_path).take(3, json.dumps(record).encode())
    kept = [path for path in (tmp_path / "quarantine").iterdir() if path.suffix == ".avro"]
    assert sorted(path.read_text() for path in kept) == names
