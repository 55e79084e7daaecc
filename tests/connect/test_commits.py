"""Commits of a stream: what counts after each batch, done again or not, put together, forgotten, and taken over."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from random import Random

import pytest

from comity.connect.commits import (
    FILES_A_LEVEL,
    Commit,
    Commits,
    after_batch,
    check_on_start,
    first_day,
    look_at_commits,
    note_keys,
)
from comity.connect.delivered import Delivered
from comity.connect.identity import key_digest
from comity.connect.key_files import DeliveredKeys, as_keys, map_keys
from comity.errors import Permanent

TODAY = "2026-03-02"


def begun(out: Path, *earlier: str) -> Commits:
    commits = Commits(out)
    commits.begin(earlier, TODAY)
    return commits


def deliver(
    commits: Commits, batch: int, *keys: str, day: str = TODAY, bucket: int = 0, count: bool = True
) -> list[str]:
    """The keys that are new in a batch, which are delivered then."""
    before = commits.before(batch)
    files = before.of_bucket(bucket)
    known = DeliveredKeys([map_keys(commits.place, file) for file in files])
    is_new = known.take(as_keys(map(key_digest, keys)))
    written = note_keys(commits.place, files, known.taken(), batch, bucket, day)
    if count:
        commits.commit(batch, after_batch(before, 2, [written]))
    return [key for key, new in zip(keys, is_new, strict=True) if new]


def test_what_was_delivered_is_not_new_in_later_batches(tmp_path: Path) -> None:
    commits = begun(tmp_path, "earlier")
    assert deliver(commits, 0, "a", "earlier", "b") == ["a", "b"]
    assert deliver(commits, 1, "b", "c") == ["c"]
    assert commits.last_batch == 1
    assert commits.remembered().count == 4


def test_a_batch_that_is_done_again_begins_with_what_was_before_it(tmp_path: Path) -> None:
    commits = begun(tmp_path)
    deliver(commits, 0, "a")
    deliver(commits, 1, "b", count=False)
    assert deliver(commits, 1, "b", "a") == ["b"]
    assert deliver(Commits(tmp_path), 1, "b", "c") == ["b", "c"]
    assert deliver(commits, 2, "b", "c", "d") == ["d"]


def test_a_checkpoint_that_is_older_than_the_results_is_told(tmp_path: Path) -> None:
    commits = begun(tmp_path)
    for batch in range(3):
        deliver(commits, batch, str(batch))
    with pytest.raises(Permanent, match="older than its results"):
        commits.before(1)


def test_files_that_no_commit_names_are_removed(tmp_path: Path) -> None:
    commits = begun(tmp_path)
    deliver(commits, 0, "a", count=False)
    for batch in range(3):
        deliver(commits, batch, str(batch))
    named = {file.name for file in commits.last().keys}
    assert {path.name for path in commits.folder.glob("*.keys")} == named
    assert len(list(commits.folder.glob("*.json"))) == 2


@pytest.mark.parametrize("seed", range(3))
def test_files_are_put_together_so_that_few_are_looked_into(tmp_path: Path, seed: int) -> None:
    chance, commits, known = Random(seed), begun(tmp_path), set()
    for batch in range(FILES_A_LEVEL**2 + 9):
        keys = [str(chance.randrange(400)) for _ in range(5)]
        expected = [key for at, key in enumerate(keys) if key not in known and key not in keys[:at]]
        assert deliver(commits, batch, *keys) == expected
        known |= set(keys)
        assert len(commits.last().keys) <= 2 * (FILES_A_LEVEL - 1) + 1
    assert commits.remembered().count == len(known)


def test_what_came_long_ago_is_forgotten(tmp_path: Path) -> None:
    commits = begun(tmp_path)
    deliver(commits, 0, "old", day="2026-01-30")
    deliver(commits, 1, "newer", day="2026-01-31")
    oldest = first_day(date(2026, 3, 2), 30)
    commits.commit(2, commits.before(2).remembering(oldest))
    assert deliver(commits, 3, "old", "newer") == ["old"]


def test_buckets_are_looked_into_apart(tmp_path: Path) -> None:
    commits = begun(tmp_path, "earlier")
    deliver(commits, 0, "a", bucket=0)
    assert deliver(commits, 1, "a", "earlier", bucket=1) == ["a"]


def test_the_notes_of_a_database_are_taken_over(tmp_path: Path) -> None:
    notes = Delivered(tmp_path)
    notes.take([("earlier", "2026-01-01")])
    for batch, keys in enumerate((("a",), ("b", "c"))):
        with notes.batch(batch):
            for key in keys:
                notes.is_new(key, "2025-01-01", batch)
    notes.note("newest", "2026-01-05T00:00:00Z")
    notes.close()
    assert check_on_start(tmp_path) is None
    commits = Commits(tmp_path)
    assert commits.needs_begin
    commits.begin((), TODAY)
    assert not commits.needs_begin
    assert not list(tmp_path.glob(".delivered.db*"))
    assert (commits.last_batch, commits.last().newest) == (1, "2026-01-05T00:00:00Z")
    assert deliver(commits, 2, "earlier", "a", "b", "d", count=False) == ["d"]
    assert deliver(commits, 1, "earlier", "a", "b", "d") == ["b", "d"], "the last batch may be done again"


def test_a_take_over_that_was_interrupted_begins_anew(tmp_path: Path) -> None:
    notes = Delivered(tmp_path)
    with notes.batch(4):
        notes.is_new("a", "2025-01-01", 4)
    notes.close()
    commits = Commits(tmp_path)
    commits.folder.mkdir()
    commits.notes.save(3, Commit())
    assert commits.needs_begin
    commits.begin((), TODAY)
    assert deliver(commits, 5, "a", "b") == ["b"]


def test_damage_is_told_when_a_stream_starts(tmp_path: Path) -> None:
    commits = begun(tmp_path)
    deliver(commits, 0, "a")
    assert check_on_start(tmp_path) == 0
    (file,) = commits.folder.glob("*.keys")
    file.write_bytes(file.read_bytes()[:-1] + b"\0")
    for look in (check_on_start, look_at_commits):
        with pytest.raises(Permanent, match="checksum"):
            look(tmp_path)
