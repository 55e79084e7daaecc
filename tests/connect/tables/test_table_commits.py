"""Batches in tables: each once, whatever breaks off, whoever else commits, and whichever answer is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from tests.s3 import Fault, FaultyWay, ObjectStore, faulty_way

from comity.connect.commits import after_batch, note_keys
from comity.connect.folder import LATE, REJECTED
from comity.connect.identity import key_digest
from comity.connect.key_files import DeliveredKeys, as_keys, map_keys
from comity.connect.tables.delta import BatchTable
from comity.connect.tables.notes import TableCommits, TableNote
from comity.connect.tables.parts import TableLayout, TableParts
from comity.connect.tables.rows import NOTIFICATIONS
from comity.errors import Misuse, Permanent, Retryable
from comity.limits import limited
from comity.storage.place import LocalStorage, Storage
from comity.visible import has_hidden

DAY, STREAM = "2026-03-02", "stream-a"
LAYOUT = TableLayout()


@pytest.fixture(params=["disk", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "disk":
        return LocalStorage(tmp_path / "tables")
    store: ObjectStore = request.getfixturevalue("s3")
    return store.storage(store.bucket() + "/tables")


@pytest.fixture
def way(s3: ObjectStore) -> Iterator[FaultyWay]:
    with faulty_way(s3) as way:
        yield way


def notification(id: str) -> bytes:
    found = {
        "id": id,
        "source": "/a",
        "type": "x.Y",
        "time": "2026-03-02T01:02:03.5Z",
        "data": {"n": 1},
        "profile": "p",
    }
    return json.dumps(found).encode()


REFUSED = b'{"raw":"{","faults":[{"code":"bad-json","reason":"no","value":7}]}'


def attempt(commits: TableCommits, number: int, *ids: str, rejected: int = 0, stream: str | None = STREAM) -> TableNote:
    """What an attempt at a batch writes, which nobody sees: of these notifications those that are new."""
    before = commits.before()
    files = before.of_bucket(0)
    known = DeliveredKeys([map_keys(commits.notes, file) for file in files])
    is_new = known.take(as_keys(map(key_digest, ids)))
    part = TableParts(commits.place, commits.layout, number).open()
    for id, new in zip(ids, is_new, strict=True):
        if new:
            part.put("office", notification(id))
    if rejected:
        part.put_all(REJECTED, pa.array([REFUSED] * rejected, pa.binary()))
    part.close()
    written = [note_keys(commits.notes, files, known.taken(), number, 0, DAY)] if is_new.any() else []
    return TableNote(after_batch(before, 1, written), tuple(part.files), stream)


def deliver(commits: TableCommits, number: int, *ids: str, rejected: int = 0) -> None:
    """A batch, as a stream takes it."""
    if not commits.is_counted(number, STREAM):
        commits.commit(number, attempt(commits, number, *ids, rejected=rejected))


class CutOff(TableCommits):
    """Is killed when a batch is in the first table, and not in the others."""

    def _follow(self, note: TableNote, schema: object) -> None:
        raise KeyboardInterrupt


def table(place: Storage, name: str) -> DeltaTable:
    address = place.folder if isinstance(place, LocalStorage) else place.address
    return DeltaTable(f"{address}/{name}", storage_options=place.delta_options())


def rows(place: Storage, name: str = NOTIFICATIONS) -> list[dict[str, Any]]:
    return table(place, name).to_pyarrow_table().to_pylist()


def ids(place: Storage) -> list[str]:
    return sorted(row["id"] for row in rows(place))


def test_batches_are_added_once_and_repeats_left_out(place: Storage) -> None:
    commits = TableCommits(place, LAYOUT)
    assert (commits.check(None), commits.has_results()) == (None, False)
    deliver(commits, 0, "a", "b", rejected=2)
    deliver(commits, 1, "b", "c")
    deliver(commits, 1, "b", "c")
    later = TableCommits(place, LAYOUT)
    assert later.check(STREAM) == 1
    with pytest.raises(Permanent, match="done long ago"):
        deliver(later, 0, "x")
    deliver(later, 2)
    assert ids(place) == ["a", "b", "c"]
    assert (later.last_batch(), later.remembered().count, later.has_results()) == (2, 3, True)
    assert [(row["code"], row["raw"], row["faults"][0]["value"]) for row in rows(place, REJECTED)] == [
        ("bad-json", "{", "7")
    ] * 2
    (first, *_) = rows(place)
    assert (first["subscriber"], first["profile"], first["data"]) == ("office", "p", '{"n": 1}')
    assert first["time"].isoformat() == "2026-03-02T01:02:03.500000+00:00"


def test_an_attempt_that_was_not_committed_changes_nothing(place: Storage) -> None:
    commits = TableCommits(place, LAYOUT)
    deliver(commits, 0, "a")
    attempt(commits, 1, "b", "c", rejected=1)  # killed before its note, or before its commit
    again = TableCommits(place, LAYOUT)
    assert again.check(STREAM) == 0
    deliver(again, 1, "b", "c", rejected=1)
    assert (ids(place), len(rows(place, REJECTED))) == (["a", "b", "c"], 1)
    kept = {file.name for file in again.last_note().commit.keys}
    assert again.check(STREAM) == 1
    assert {name for name in again.notes.names() if name.endswith(".keys")} == kept, "the others are removed"
    assert sum(name.endswith(".json") for name in again.notes.names()) == 1


@pytest.mark.parametrize("goes_on_with", ["a start", "the batch again", "the next batch"])
def test_tables_that_a_crash_kept_behind_follow(place: Storage, goes_on_with: str) -> None:
    commits = TableCommits(place, LAYOUT)
    deliver(commits, 0, "a")
    note = attempt(commits, 1, "b", rejected=3)
    with pytest.raises(KeyboardInterrupt):
        CutOff(place, LAYOUT).commit(1, note)
    assert ids(place) == ["a", "b"]
    again = TableCommits(place, LAYOUT)
    if goes_on_with == "a start":
        assert again.check(STREAM) == 1
    elif goes_on_with == "the batch again":
        deliver(again, 1, "b", rejected=3)
    else:  # as after any start
        again.check(STREAM)
        deliver(again, 2, "b", "c")
        assert ids(place) == ["a", "b", "c"]
    assert (len(rows(place, REJECTED)), ids(place)[:2]) == (3, ["a", "b"])


def test_of_two_drivers_at_one_batch_one_counts(place: Storage) -> None:
    one, other = TableCommits(place, LAYOUT), TableCommits(place, LAYOUT)
    deliver(one, 0, "a")
    assert other.check(STREAM) == 0
    first, second = attempt(one, 1, "b", "c", rejected=1), attempt(other, 1, "b", "c", rejected=1)
    other.commit(1, second)
    one.commit(1, first)  # finds the batch there, and goes on from it
    assert one.last_note() == second
    deliver(one, 2, "c", "d")
    deliver(other, 2, "c", "d")
    assert (ids(place), len(rows(place, REJECTED))) == (["a", "b", "c", "d"], 1)


def test_a_driver_that_slept_while_another_went_on_is_refused(place: Storage) -> None:
    slow, quick = TableCommits(place, LAYOUT), TableCommits(place, LAYOUT)
    deliver(slow, 0, "a")
    note = attempt(slow, 1, "b")
    for number in (1, 2):
        deliver(quick, number, "b", "c")
    with pytest.raises(Misuse, match="other-stream"):
        slow.commit(1, note)
    assert ids(place) == ["a", "b", "c"]
    assert quick.check(STREAM) == 2


def test_another_stream_is_refused_at_its_start_and_at_its_first_batch(place: Storage) -> None:
    ours, theirs = TableCommits(place, LAYOUT), TableCommits(place, LAYOUT)
    note = attempt(theirs, 0, "x", stream="stream-b")
    deliver(ours, 0, "a")
    with pytest.raises(Misuse, match="other-stream"):
        theirs.commit(0, note)
    with pytest.raises(Misuse, match="other-stream"):
        TableCommits(place, LAYOUT).is_counted(0, "stream-b")
    with pytest.raises(Misuse, match="other-stream"):
        TableCommits(place, LAYOUT).check("stream-b")
    assert ids(place) == ["a"]


def test_of_one_stream_with_two_states_the_one_whose_input_is_not_in_the_tables_is_refused(place: Storage) -> None:
    ours, theirs = TableCommits(place, LAYOUT), TableCommits(place, LAYOUT)
    deliver(ours, 0, "a")
    assert theirs.check(STREAM) == 0
    note = replace(attempt(theirs, 1, "b"), plan="b alone")
    ours.commit(1, replace(attempt(ours, 1, "b", "c"), plan="b and c"))
    with pytest.raises(Misuse, match="other-stream"):
        theirs.commit(1, note)
    with pytest.raises(Misuse, match="other-stream"):
        TableCommits(place, LAYOUT).is_counted(1, STREAM, "b alone")
    assert TableCommits(place, LAYOUT).is_counted(1, STREAM, "b and c")
    assert ids(place) == ["a", "b", "c"]


def test_tables_of_another_layout_are_refused(place: Storage) -> None:
    deliver(TableCommits(place, LAYOUT), 0, "a")
    with pytest.raises(Misuse, match="other-layout"):
        TableCommits(place, TableLayout({})).check(STREAM)
    TableCommits(place, LAYOUT).remove()
    typed = TableCommits(place, TableLayout({}))
    assert typed.check(STREAM) is None
    deliver(typed, 0, "a")
    assert typed.check(STREAM) == 0
    with pytest.raises(Misuse, match="other-layout"):
        TableCommits(place, LAYOUT).check(STREAM)


def test_what_is_damaged_is_told(place: Storage) -> None:
    commits = TableCommits(place, LAYOUT)
    deliver(commits, 0, "a")
    (keys,) = commits.last_note().commit.keys
    content = commits.notes.read(keys.name)
    commits.notes.write(keys.name, content[:-1])
    with pytest.raises(Permanent, match="delivered-notes"):
        TableCommits(place, LAYOUT).check(STREAM)
    commits.notes.delete(keys.name)
    with pytest.raises(Permanent, match="delivered-notes"):
        TableCommits(place, LAYOUT).check(STREAM)


def test_what_is_reported_at_an_end_counts_once_and_beside_its_batch(place: Storage) -> None:
    commits = TableCommits(place, LAYOUT)
    deliver(commits, 0, "a")
    for digest, reported in ((7, "end"), (7, "end"), (8, "other")):
        part = TableParts(place, LAYOUT, 0).open()
        part.put("office", notification(reported))
        part.close()
        commits.commit_end(0, digest, part.files)
    deliver(commits, 1, "b")
    assert ids(place) == ["a", "b", "end", "other"]


def test_late_events_have_a_table(place: Storage) -> None:
    commits = TableCommits(place, LAYOUT)
    part = TableParts(place, LAYOUT, 0).open()
    part.put(LATE, notification("a"))
    part.close()
    commits.commit(0, TableNote(commits.before(), tuple(part.files), STREAM))
    assert [(row["id"], "profile" in row) for row in rows(place, LATE)] == [("a", False)]
    assert ids(place) == []


# On a way on which requests fail


LOG = f"{NOTIFICATIONS}/_delta_log/"


def test_a_commit_whose_answer_is_lost_is_known_to_count(s3: ObjectStore, way: FaultyWay) -> None:
    address = s3.bucket() + "/tables"
    commits = TableCommits(way.store.storage(address), LAYOUT)
    deliver(commits, 0, "a")
    way.faults.append(Fault("PUT", LOG, is_lost=True))
    deliver(commits, 1, "b")
    assert way.faults[0].times == 0, "it befell the commit"
    deliver(commits, 2, "b", "c")
    assert ids(s3.storage(address)) == ["a", "b", "c"]


@pytest.fixture
def impatient() -> Iterator[None]:
    """What fails is not tried again for long."""
    with limited(max_storage_s=1):
        yield


@pytest.mark.usefixtures("impatient")
def test_a_commit_whose_every_answer_is_lost_counts_at_the_next_start(s3: ObjectStore, way: FaultyWay) -> None:
    address = s3.bucket() + "/tables"
    commits = TableCommits(way.store.storage(address), LAYOUT)
    deliver(commits, 0, "a")

    def break_down() -> None:
        way.faults += [Fault(method, "", times=10_000) for method in ("GET", "PUT", "HEAD", "POST")]

    way.faults.append(Fault("PUT", LOG, is_lost=True, meanwhile=break_down))
    with pytest.raises(Retryable, match=r"not-committed|storage-failed") as told:
        deliver(commits, 1, "b", rejected=1)
    assert "503" in told.value.message
    assert not has_hidden(told.value.message), "Delta draws its messages in lines and colours"
    way.faults.clear()
    again = TableCommits(way.store.storage(address), LAYOUT)
    assert again.check(STREAM) == 1
    deliver(again, 1, "b", rejected=1)
    assert (ids(s3.storage(address)), len(rows(s3.storage(address), REJECTED))) == (["a", "b"], 1)


def test_a_store_that_refuses_for_a_moment_costs_nothing(s3: ObjectStore, way: FaultyWay) -> None:
    address = s3.bucket() + "/tables"
    commits = TableCommits(way.store.storage(address), LAYOUT)
    deliver(commits, 0, "a")
    way.faults += [Fault("PUT", LOG, times=2), Fault("GET", "_delta_log", times=2), Fault("PUT", ".keys", is_lost=True)]
    deliver(commits, 1, "b")
    assert ids(s3.storage(address)) == ["a", "b"]


def test_another_driver_wins_while_our_commit_is_under_way(s3: ObjectStore, way: FaultyWay) -> None:
    address = s3.bucket() + "/tables"
    ours, theirs = TableCommits(way.store.storage(address), LAYOUT), TableCommits(s3.storage(address), LAYOUT)
    deliver(ours, 0, "a")
    way.faults.append(Fault("PUT", LOG, meanwhile=lambda: deliver(theirs, 1, "b")))
    deliver(ours, 1, "b")
    assert way.faults[0].times == 0
    assert ours.last_note() == theirs.last_note()
    assert ids(s3.storage(address)) == ["a", "b"]


def test_another_driver_wins_between_our_look_and_our_commit(place: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = TableCommits(place, LAYOUT), TableCommits(place, LAYOUT)
    deliver(ours, 0, "a")
    theirs.check(STREAM)
    with_columns, batches = BatchTable._with_columns, [1]

    def overtaken(self: BatchTable, schema: Any) -> DeltaTable:
        if batches:
            deliver(theirs, batches.pop(), "b")
        return with_columns(self, schema)

    monkeypatch.setattr(BatchTable, "_with_columns", overtaken)
    deliver(ours, 1, "b")
    assert ids(place) == ["a", "b"]
    assert ours.last_note() == theirs.last_note()
