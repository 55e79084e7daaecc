"""Losses of power: whatever is noted as done is on the disk, with its content, its name and its folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from comity.connect.commits import FOLDER, after_batch, note_keys
from comity.connect.connectors.memory.sink import MemorySink, SinkFault
from comity.connect.connectors.memory.source import MemorySource
from comity.connect.delivered import Delivered
from comity.connect.folder import REJECTED, Results, publish
from comity.connect.identity import key_digest
from comity.connect.key_files import DeliveredKeys, as_keys
from comity.connect.landing import Landing
from comity.connect.outbox import Outbox
from comity.connect.port import Ask, Position
from comity.connect.progress import KeyLog
from comity.connect.retry import RetryPolicy
from comity.connect.staged import staged_results
from comity.connect.target import FolderTarget
from comity.storage.durable import make_folder, write_whole
from comity.testing.power_cut import StrictDisk, strict_disk
from comity.testing.sink_conformance import notification
from comity.testing.sink_conformance import publish as publish_lines


@pytest.fixture
def disk() -> Iterator[StrictDisk]:
    with strict_disk() as found:
        yield found


def files(folder: Path) -> Iterator[Path]:
    """Everything that a reader sees."""
    for path in folder.rglob("*"):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path


@pytest.mark.parametrize("form", [Results.JSONL, Results.PARQUET])
def test_results_are_on_the_disk_before_their_identities_are(tmp_path: Path, disk: StrictDisk, form: Results) -> None:
    delivered = Delivered(tmp_path)
    seen: list[tuple[int, list[str]]] = []

    def look(statement: str) -> None:
        if statement == "commit":
            seen.append((len(list(files(tmp_path))), disk.lost(files(tmp_path), tmp_path)))

    delivered._database.set_trace_callback(look)
    for number in range(2):
        with delivered.batch(number), staged_results(tmp_path, ["house_a", REJECTED], form, number) as staged:
            for at in range(3):
                delivered.is_new(f"{number} {at}", "2026-01-01", number)
                staged.put("house_a", notification(at))
            staged.put(REJECTED, b"{}")
    delivered.close()
    assert [lost for _, lost in seen] == [[], []]
    assert [count for count, _ in seen] == [2, 4]


def test_what_executors_have_staged_is_on_the_disk_when_it_is_published(tmp_path: Path, disk: StrictDisk) -> None:
    out, staging = tmp_path / "out", tmp_path / "out" / ".staging"
    for name in ("to=house_a/part-1", "to=house_a/part-2", "day=2026-01-01/to=house_a/part-3.parquet"):
        (staging / name).parent.mkdir(parents=True, exist_ok=True)
        (staging / name).write_text("x")
    publish(staging, out, ["house_a"])
    assert len(list(files(out))) == 3
    assert disk.lost(files(out), out) == []


@pytest.mark.parametrize("form", [Results.JSONL, Results.PARQUET])
def test_results_and_keys_are_on_the_disk_before_a_commit_names_them(
    tmp_path: Path, disk: StrictDisk, monkeypatch: pytest.MonkeyPatch, form: Results
) -> None:
    """What workers of a stream on Spark wrote counts from the commit on."""
    out, target = tmp_path / "out", FolderTarget(tmp_path / "out", form)
    target.check()
    seen: list[tuple[int, int, list[str]]] = []
    replace = os.replace

    def look_first(source: Path, to: Path) -> None:
        if Path(to).parent.name == FOLDER and Path(to).suffix == ".json":
            results, keys = list(files(out)), list((out / FOLDER).glob("*.keys"))
            seen.append((len(results), len(keys), disk.lost(iter([*results, *keys]), out)))
        replace(source, to)

    before = target.before(0)
    monkeypatch.setattr(os, "replace", look_first)
    for number in range(2):
        staged = target.parts(out / f".work-{number}", number).open()
        staged.put("house_a", notification(number))
        staged.put(REJECTED, b"{}")
        staged.close()
        new = DeliveredKeys([])
        new.take(as_keys([key_digest(str(number))]))
        written = note_keys(target.keys, (), new.taken(), number, 0, "2026-03-02")
        before = after_batch(before, 1, [written])
        target.publish(number, staged.files, ["house_a", REJECTED], before, is_again=False)
    assert seen == [(2, 1, []), (4, 2, [])]


class WatchedSource(MemorySource):
    """Looks at the disk when it is told that its records are kept."""

    def acknowledge(self, position: Position) -> None:
        self.look()
        super().acknowledge(position)

    look: Callable[[], None]


def test_what_landed_is_on_the_disk_before_the_position_and_before_the_source_knows(
    tmp_path: Path, disk: StrictDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = WatchedSource([b'{"a": 1}', b"no\nevent", b'{"a": 2}'])
    told: list[list[str]] = []
    source.look = lambda: told.append(disk.lost(files(tmp_path), tmp_path))
    note = Landing._note

    def look_first(landing: Landing, position: Position, asked: Ask | None) -> None:
        hidden = [*tmp_path.rglob(".landed-*.jsonl")]
        assert len(hidden) == 2
        told.append(disk.lost(iter(hidden), tmp_path))
        note(landing, position, asked)
        told.append(disk.lost(tmp_path.rglob("*.position.json"), tmp_path))

    monkeypatch.setattr(Landing, "_note", look_first)
    landing = Landing(source, tmp_path / "in" / "door", rejected=tmp_path / "rejected")
    landing.open()
    while not landing.step().is_ended:
        pass
    landing.close()
    assert told == [[], [], []]
    assert len(list(files(tmp_path))) == 2


def test_a_dead_letter_is_on_the_disk_before_the_note_that_it_is_settled(
    tmp_path: Path, disk: StrictDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[list[str]] = []
    add = KeyLog.add

    def look_first(log: KeyLog, keys: list[str]) -> None:
        told.append(disk.lost((tmp_path / "dead-letters").rglob("*.jsonl"), tmp_path))
        add(log, keys)
        told.append(disk.lost(iter([log.path]), tmp_path))

    monkeypatch.setattr(KeyLog, "add", look_first)
    publish_lines(tmp_path, [notification(0), notification(1)], batch=0)
    sink = MemorySink(faults=[SinkFault.REFUSE, SinkFault.REFUSE])
    policy = RetryPolicy(attempts=1, first_delay_s=0.0)
    assert Outbox(tmp_path, {"house_a": {"screen": sink}}, policy=policy).send()[0].dead_letters == 2
    assert told
    assert not any(told)


def test_a_file_is_written_whole_with_its_folders_or_not_at_all(tmp_path: Path, disk: StrictDisk) -> None:
    write_whole(tmp_path / "a" / "b" / "note", b"1")
    write_whole(tmp_path / "a" / "b" / "note", lambda stream: stream.write(b"22"))
    assert disk.lost(iter([tmp_path / "a" / "b" / "note"]), tmp_path) == []
    with pytest.raises(ZeroDivisionError):
        write_whole(tmp_path / "a" / "b" / "note", lambda stream: stream.write(b"3" * (1 // 0)))
    assert {path.name: path.read_bytes() for path in (tmp_path / "a" / "b").iterdir()} == {"note": b"22"}


def test_a_folder_that_is_made_stays(tmp_path: Path, disk: StrictDisk) -> None:
    make_folder(tmp_path / "a" / "b")
    assert disk.lost(iter([tmp_path / "a" / "b"]), tmp_path) == []


def test_a_file_that_was_only_renamed_or_only_written_is_lost(tmp_path: Path, disk: StrictDisk) -> None:
    """The disk of these tests is strict: else they could not fail."""
    write_whole(tmp_path / "kept", b"x")
    (tmp_path / "kept").rename(tmp_path / "renamed")
    (tmp_path / "written").write_bytes(b"x")
    assert disk.lost(files(tmp_path), tmp_path) == ["renamed", "written"]
