"""The notes of what was delivered."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from comity.connect.delivered import EARLIER, FILE, Delivered, look_at_delivered
from comity.errors import Permanent
from comity.limits import limited

DAY = "2026-01-01"


def new_in(delivered: Delivered, batch: int, *keys: str, day: str = DAY) -> list[str]:
    """Those of the keys that are new in a batch."""
    with delivered.batch(batch):
        return [key for key in keys if delivered.is_new(key, day, batch)]


def test_a_key_is_new_once_across_batches_and_restarts(tmp_path: Path) -> None:
    first = Delivered(tmp_path)
    assert new_in(first, 0, "a", "b", "a") == ["a", "b"]
    assert new_in(first, 1, "a", "c") == ["c"]
    first.close()
    assert new_in(Delivered(tmp_path), 2, "a", "b", "c", "d") == ["d"]


def _interrupt(delivered: Delivered) -> None:
    with delivered.batch(1):
        assert delivered.is_new("b", DAY, 1)
        delivered.note("newest", "later")
        raise KeyboardInterrupt


def test_a_batch_that_fails_leaves_no_notes(tmp_path: Path) -> None:
    delivered = Delivered(tmp_path)
    new_in(delivered, 0, "a")
    with pytest.raises(KeyboardInterrupt):
        _interrupt(delivered)
    assert (len(delivered), delivered.noted("newest")) == (1, None)
    assert new_in(delivered, 1, "a", "b") == ["b"]


_DYING = """
import os, sys
from pathlib import Path
from comity.connect.delivered import Delivered
delivered = Delivered(Path(sys.argv[1]))
with delivered.batch(0):
    assert delivered.is_new("a", "2026-01-01", 0)
    os._exit(9)
"""


def test_a_process_that_dies_in_a_batch_leaves_no_notes(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", _DYING, str(tmp_path)], check=False).returncode == 9
    assert new_in(Delivered(tmp_path), 0, "a") == ["a"]


def test_a_batch_that_is_taken_again_delivers_the_same(tmp_path: Path) -> None:
    delivered = Delivered(tmp_path)
    new_in(delivered, 0, "a")
    assert new_in(delivered, 1, "a", "b", "c") == ["b", "c"]
    assert new_in(delivered, 1, "a", "b", "c") == ["b", "c"]
    assert new_in(delivered, 1, "b") == ["b"]
    assert new_in(delivered, 2, "a", "b", "c") == ["c"]  # what only the first attempt delivered is forgotten


def test_what_was_there_before_the_stream_is_not_new(tmp_path: Path) -> None:
    delivered = Delivered(tmp_path)
    delivered.take([("a", DAY), ("a", DAY), ("b", DAY)])
    assert new_in(delivered, 0, "a", "b", "c") == ["c"]
    assert new_in(delivered, 0, "a", "b", "c") == ["c"]
    assert EARLIER < 0  # so that no batch of a stream forgets it


def test_only_notes_of_earlier_days_are_forgotten(tmp_path: Path) -> None:
    delivered = Delivered(tmp_path)
    new_in(delivered, 0, "old", day="2025-12-31")
    new_in(delivered, 1, "new", day=DAY)
    with delivered.batch(2):
        delivered.forget_before(DAY)
    assert len(delivered) == 1
    assert new_in(delivered, 3, "old", "new") == ["old"]


def test_facts_are_kept_and_replaced(tmp_path: Path) -> None:
    delivered = Delivered(tmp_path)
    for value in ("one", "two"):
        delivered.note("newest", value)
    assert (Delivered(tmp_path).noted("newest"), delivered.noted("other")) == ("two", None)


def test_keys_with_any_text_are_told_apart(tmp_path: Path) -> None:
    keys = ["", "a", "A", "é", "e\u0301", "\x00", "\x00\x00", "\ud800", "😀"]
    delivered = Delivered(tmp_path)
    assert new_in(delivered, 0, *keys, *keys) == keys


def test_a_broken_file_is_told_and_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"this is no database, and long enough to be seen as none" * 50)
    with pytest.raises(Permanent) as error:
        Delivered(tmp_path)
    assert error.value.code == "delivered-notes"
    assert error.value.place is not None
    assert error.value.place.file == str(tmp_path / FILE)


def test_a_second_stream_on_the_folder_is_refused(tmp_path: Path) -> None:
    first, second = Delivered(tmp_path), Delivered(tmp_path)
    second._database.execute("pragma busy_timeout = 50")
    with first.batch(0), pytest.raises(Permanent, match="locked") as error, second.batch(0):
        pass
    assert error.value.hint == "is another stream running on this folder?"
    assert isinstance(error.value.__cause__, sqlite3.Error)


def damaged(folder: Path) -> Path:
    """A database whose pages do not fit together, though it begins well."""
    delivered = Delivered(folder)
    new_in(delivered, 0, *map(str, range(3_000)))
    delivered.close()
    path = folder / FILE
    content = bytearray(path.read_bytes())
    content[8_192:40_960] = b"\xff" * 32_768
    path.write_bytes(content)
    return path


def test_a_damaged_file_is_told_when_it_is_opened_with_what_to_do(tmp_path: Path) -> None:
    path = damaged(tmp_path)
    for open_it in (lambda: Delivered(tmp_path), lambda: look_at_delivered(tmp_path)):
        with pytest.raises(Permanent) as error:
            open_it()
        assert error.value.code == "delivered-notes"
        assert str(error.value.place) == str(path)
        assert "put back a copy" in (error.value.hint or "")


def test_a_damaged_file_that_is_too_large_to_check_is_told_when_it_is_read(tmp_path: Path) -> None:
    damaged(tmp_path)

    def use() -> None:
        with limited(max_checked_notes_bytes=1):
            delivered = Delivered(tmp_path)
        new_in(delivered, 1, *map(str, range(3_000)))

    with pytest.raises(Permanent) as error:
        use()
    assert error.value.code == "delivered-notes"


def test_remembered_is_what_is_there_whatever_happens(tmp_path: Path) -> None:
    delivered = Delivered(tmp_path)
    assert delivered.remembered().oldest_day is None
    new_in(delivered, 0, "a", "b", "a", day="2025-12-31")
    assert delivered.remembered().count == len(delivered) == 2
    new_in(delivered, 0, "a", "c", day=DAY)
    delivered.take([("e", DAY), ("a", DAY)])
    assert delivered.remembered().count == len(delivered) == 3
    with pytest.raises(KeyboardInterrupt):
        _interrupt(delivered)
    new_in(delivered, 1, "f", day="2025-12-30")
    assert (delivered.remembered().count, delivered.remembered().oldest_day) == (4, "2025-12-30")
    with delivered.batch(2):
        delivered.forget_before(DAY)
    found = delivered.remembered()
    assert (found.count, found.oldest_day) == (len(delivered), DAY)
    assert found.size_bytes > 4_096
    assert look_at_delivered(tmp_path) == found  # while it is open
    assert look_at_delivered(tmp_path / "none") is None
