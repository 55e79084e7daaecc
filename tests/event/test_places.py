"""Events in stores are those on a disk."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from comity.errors import Misuse, Retryable
from comity.event import Rejected
from comity.event.places import event_files_at, footer_of, read_or_reject
from comity.limits import limited
from tests.s3 import Fault, ObjectStore, faulty_way


def line(id: int) -> bytes:
    record = {"id": str(id), "source": "/p", "type": "plant.Reading", "time": "2026-11-15T18:00:00Z", "data": {}}
    return json.dumps(record).encode() + b"\n"


def contents(folder: Path) -> dict[str, bytes]:
    rows = {"id": ["6"], "source": ["/p"], "type": ["plant.Reading"], "time": ["2026-11-15T18:00:00Z"]}
    parquet.write_table(pa.table(rows), folder / "e.parquet")
    return {
        "a.jsonl": line(1) + b"{broken\n" + line(2),
        "b.jsonl.gz": gzip.compress(line(3)),
        "c.csv": b"id,source,type,time\n4,/p,plant.Reading,2026-11-15T18:00:00Z\n",
        "d.jsonl": b"",
        "e.parquet": (folder / "e.parquet").read_bytes(),
        "_hidden.jsonl": line(9),
        "notes.txt": b"nobody reads this",
    }


def test_events_of_a_store_are_those_of_a_folder(s3: ObjectStore, tmp_path: Path) -> None:
    store = s3.storage(s3.bucket() + "/in")
    folder = tmp_path / "in"
    folder.mkdir()
    for name, content in contents(tmp_path).items():
        store.write(name, content)
        (folder / name).write_bytes(content)
    there, here = event_files_at(store.address, s3.access), event_files_at(str(folder))
    assert [(one.name.removeprefix(store.address), one.size) for one in there] == [
        (one.name.removeprefix(str(folder)), one.size) for one in here
    ]
    for far, near in zip(there, here, strict=True):
        found = [_told(one, store.address) for one in read_or_reject(far.name, access=s3.access)]
        assert found == [_told(one, str(folder)) for one in read_or_reject(near.name)], far.name
    footer = footer_of(f"{store.address}/e.parquet", s3.access)
    assert footer is not None
    assert footer.num_rows == 1
    assert footer_of(f"{store.address}/a.jsonl", s3.access) is None
    assert footer_of(f"{store.address}/none.parquet", s3.access) is None
    many = event_files_at(f"{store.address}/*.jsonl*", s3.access)
    assert [one.name.rpartition("/")[2] for one in many] == ["a.jsonl", "b.jsonl.gz", "d.jsonl"]


def _told(one: object, root: str) -> object:
    if isinstance(one, Rejected):
        return [(fault.code, fault.reason) for fault in one.faults], (one.source_file or "").removeprefix(root)
    return one


def test_a_file_that_cannot_be_fetched_is_one_rejected_record(s3: ObjectStore) -> None:
    store = s3.storage(s3.bucket() + "/in")
    store.write("a.jsonl", line(1))
    with limited(max_fetched_bytes=10):
        found = list(read_or_reject(f"{store.address}/a.jsonl", access=s3.access))
    found += read_or_reject(f"{store.address}/b.jsonl", access=s3.access)
    refused = [one for one in found if isinstance(one, Rejected)]
    assert [one.source_file for one in refused] == [f"{store.address}/a.jsonl", f"{store.address}/b.jsonl"]
    assert [one.faults[0].reason for one in refused] == [
        "the file cannot be read: a file has more than 10 bytes",
        "the file cannot be read: no such file",
    ]


def test_a_store_that_fails_is_no_broken_file(s3: ObjectStore) -> None:
    bucket = s3.bucket()
    s3.storage(bucket).write("a.jsonl", line(1))
    with faulty_way(s3) as way, limited(max_storage_s=1):
        way.faults.append(Fault("GET", "a.jsonl", times=100))
        with pytest.raises(Retryable) as failure:
            list(read_or_reject(f"{bucket}/a.jsonl", access=way.store.access))
    assert failure.value.code == "storage-failed"


def test_what_is_not_there_is_refused(s3: ObjectStore, tmp_path: Path) -> None:
    bucket = s3.bucket()
    s3.storage(bucket).write("in/notes.txt", b"x")
    for place, code in (
        (f"{bucket}/out", "no-such-file"),
        (f"{bucket}/in", "no-event-files"),
        (f"{bucket}/i*", "no-event-files"),
        (f"{tmp_path}/*.jsonl", "no-such-file"),
        (str(tmp_path / "gone"), "no-such-file"),
        (str(tmp_path), "no-event-files"),
    ):
        with pytest.raises(Misuse) as refused:
            event_files_at(place, s3.access)
        assert refused.value.code == code, place
