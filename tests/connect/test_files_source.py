"""Files as a source, beyond what every source must do."""

from __future__ import annotations

from pathlib import Path

import pytest

from comity.connect.connectors.files import FilesSource
from comity.connect.port import Batch
from comity.connect.registry import open_source
from comity.connect.specs import SourceSpec
from comity.errors import Misuse
from comity.event import AttributeType, EventType, Kind
from comity.testing.source_conformance import identities, judged, line


def put(folder: Path, name: str, *ids: object) -> None:
    (folder / name).write_bytes(b"".join(line(one) + b"\n" for one in ids))


def following(folder: Path) -> FilesSource:
    source = FilesSource(folder, follow=True, poll_s=3, clock=lambda: 100.0)
    source.open()
    return source


def take(source: FilesSource, most: int = 100) -> Batch:
    batch = source.next_batch(most)
    assert batch is not None
    return batch


def test_follow_tells_when_to_look_again(tmp_path: Path) -> None:
    batch = take(following(tmp_path))
    assert (batch.records, batch.position, batch.wake_at_s) == ((), None, 103.0)


def test_follow_reads_new_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    source = following(tmp_path)
    put(tmp_path, "2.jsonl", 2)
    put(tmp_path, "1.jsonl", 1)
    put(tmp_path, ".3.jsonl", 3)
    put(tmp_path, "4.txt", 4)
    assert identities(take(source).records) == ["1", "2"]
    put(tmp_path, "5.jsonl", 5)
    assert identities(take(source).records) == ["5"]


def test_follow_tells_of_a_file_that_comes_too_late_once(tmp_path: Path) -> None:
    source = following(tmp_path)
    put(tmp_path, "2.jsonl", 2)
    assert identities(take(source).records) == ["2"]
    put(tmp_path, "1.jsonl", 1)
    (record,) = take(source).records
    assert (judged(record), record.file) == ("late-file", str(tmp_path / "1.jsonl"))
    assert take(source).records == ()


def test_open_behind_a_file_that_was_removed(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", 1)
    source = following(tmp_path)
    position = take(source).position
    (tmp_path / "1.jsonl").unlink()
    put(tmp_path, "2.jsonl", 2)
    again = FilesSource(tmp_path, follow=True)
    again.open(position)
    assert identities(take(again).records) == ["2"]


def test_positions_count_lines_as_they_stand(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\n\n" + line(1) + b"\n\n" + line(2))
    source = FilesSource(tmp_path / "a.jsonl")
    source.open()
    first, second = take(source, 1), take(source, 1)
    assert first.position == {"file": "a.jsonl", "line": 3}
    assert (second.records[0].file, second.records[0].number) == (str(tmp_path / "a.jsonl"), 5)


@pytest.mark.parametrize("follow", [True, False])
def test_open_of_what_is_not_there(follow: bool, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="no such"):
        FilesSource(tmp_path / "nowhere", follow=follow).open()


def test_only_a_directory_can_be_followed(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", 1)
    with pytest.raises(Misuse, match="only a directory"):
        FilesSource(tmp_path / "a.jsonl", follow=True).open()


def test_open_of_an_empty_directory(tmp_path: Path) -> None:
    with pytest.raises(Misuse) as caught:
        FilesSource(tmp_path).open()
    assert caught.value.code == "no-event-files"


def test_cells_of_csv_are_read_by_the_types_of_the_domain(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,source,type,code,heat\n1,/a,n.T,007,7\n")
    own = {"code": AttributeType(Kind.STRING), "heat": AttributeType(Kind.FLOAT)}
    declared = EventType("T", "n", own=own)
    spec = SourceSpec("sensors", "n", "files", {"path": "a.csv"})
    source = open_source(spec, tmp_path, types=lambda name: declared)
    source.open()
    batch = source.next_batch(10)
    assert batch is not None
    assert batch.records[0].line == b'{"id":"1","source":"/a","type":"n.T","data":{"code":"007","heat":7}}'
