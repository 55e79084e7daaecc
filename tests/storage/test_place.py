"""Places for files: the same on a disk and in a store; secrets do not show, and what fails is told."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path

import pytest
from tests.s3 import SECRET, Fault, ObjectStore, faulty_way

from comity.errors import Misuse, Retryable
from comity.limits import limited
from comity.storage.access import StorageAccess
from comity.storage.copies import LocalCopies
from comity.storage.place import LocalStorage, Storage, storage_at


@pytest.fixture(params=["disk", "store"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "disk":
        return LocalStorage(tmp_path / "place")
    store: ObjectStore = request.getfixturevalue("s3")
    return store.storage(store.bucket() + "/some/place")


def test_files_are_written_read_listed_and_removed(storage: Storage) -> None:
    assert (storage.names(), storage.size("a"), storage.exists("a")) == ([], None, False)
    storage.write("a", b"one")
    storage.write("a", b"other")
    with storage.below("folder").writing("b") as stream:
        stream.write(b"x" * 6_000_000)  # more than what is sent in one part
    assert (storage.read("a"), storage.size("folder/b")) == (b"other", 6_000_000)
    assert (storage.names(), storage.names("folder")) == (["a"], ["b"])
    storage.delete("a")
    storage.delete("a")
    with pytest.raises(FileNotFoundError):
        storage.read("a")
    storage.delete_all()
    storage.delete_all()
    assert storage.names("folder") == []


def test_a_place_can_be_sent_to_a_worker(storage: Storage) -> None:
    storage.write("a", b"one")
    assert pickle.loads(pickle.dumps(storage)).read("a") == b"one"


def test_a_file_that_never_changes_is_on_a_disk(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    storage.write("a", b"one")
    path = storage.on_disk("a", 3)
    assert path.read_bytes() == b"one"
    if not storage.is_local:
        storage.delete("a")
        assert storage.on_disk("a", 3).read_bytes() == b"one", "it is not fetched again"
        assert path.parent.stat().st_mode & 0o077 == 0


def test_copies_that_were_not_used_for_long_make_room(tmp_path: Path) -> None:
    copies, fetched = LocalCopies(tmp_path), []

    def get(address: str) -> None:
        copies.get(address, 4, lambda: fetched.append(address) or b"1234")

    with limited(max_copies_bytes=8):
        for address in ("a", "b", "a", "c", "a", "b"):
            get(address)
            _age_all(tmp_path)
    assert fetched == ["a", "b", "c", "b"]


def _age_all(folder: Path) -> None:
    import os

    for path in folder.iterdir():
        known = path.stat()
        os.utime(path, (known.st_atime, known.st_mtime - 10))


def test_secrets_show_nowhere(s3: ObjectStore) -> None:
    storage = s3.storage("s3a://no-such-bucket")
    assert SECRET not in repr(storage) + repr(s3.access) + repr(s3.access.s3("bucket"))
    assert s3.access.hidden(f"wrong: {SECRET}") == "wrong: (hidden)"
    with pytest.raises(Retryable, match="storage-failed") as found:
        storage.write("a", b"one")
    assert SECRET not in str(found.value)
    with pytest.raises(Misuse, match="secret-in-address") as refused:
        storage_at("s3://key:hush@bucket/folder")
    assert "hush" not in str(refused.value)


def test_an_address_that_nobody_knows_is_refused() -> None:
    with pytest.raises(Misuse, match="unknown-storage"):
        storage_at("ftp://host/folder")


def test_settings_of_a_bucket_count_before_those_of_all_and_those_before_the_environment() -> None:
    config = {"spark.hadoop.fs.s3a.access.key": "all", "spark.hadoop.fs.s3a.bucket.own.access.key": "own"}
    environment = {"AWS_ACCESS_KEY_ID": "env", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_REGION": "eu-central-1"}
    access = StorageAccess.of(config, environment)
    assert (access.s3("own").key, access.s3("other").key, access.s3("other").secret) == ("own", "all", "hush")
    assert access.s3("own").for_delta(60)["AWS_REGION"] == "eu-central-1"
    assert not access.s3("own").is_path_style


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_request_that_fails_once_is_sent_again(s3: ObjectStore, is_lost: bool) -> None:
    with faulty_way(s3) as way:
        storage = way.store.storage(s3.bucket())
        way.faults.append(Fault("PUT", "/a", is_lost=is_lost))
        storage.write("a", b"one")
        assert storage.read("a") == b"one"
        assert sum(one.startswith("PUT") for one in way.seen) == 2


def test_a_store_that_is_away_for_seconds_is_asked_again(s3: ObjectStore) -> None:
    with faulty_way(s3) as way:
        storage = way.store.storage(s3.bucket())
        way.faults += [Fault("PUT", "/a", times=3), Fault("HEAD", "/a", times=3)]
        storage.write("a", b"one")
        assert storage.read("a") == b"one"


@pytest.mark.parametrize("kind", ["refuses", pytest.param("is silent", marks=pytest.mark.nightly)])
def test_a_store_that_is_away_for_long_is_told(s3: ObjectStore, kind: str) -> None:
    over = threading.Event()  # until then nothing is answered: half a minute for three tries
    with faulty_way(s3) as way, limited(max_storage_s=1):
        storage = way.store.storage(s3.bucket())
        if kind == "refuses":
            over.set()
        way.faults.append(Fault("PUT", "/a", times=1_000, meanwhile=over.wait))
        try:
            with pytest.raises(Retryable, match="storage-failed"):
                storage.write("a", b"one")
        finally:
            over.set()
        assert len(way.seen) == 3
