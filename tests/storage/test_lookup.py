"""What paths, addresses and patterns stand for: the same on a disk and in a store."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

import pytest
from tests.s3 import ObjectStore

from comity.errors import Misuse
from comity.limits import limited
from comity.storage.access import NO_ACCESS, StorageAccess
from comity.storage.lookup import full_name, look_up, matches, on_this_machine
from comity.storage.place import LocalStorage, Storage

FILES = ("2026-01/a.jsonl", "2026-01/b c%20.jsonl", "2026-02/a.jsonl", "2026-02/deep/a.jsonl", "_x/a.jsonl", "top.csv")


@pytest.fixture(params=["disk", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Storage, StorageAccess]:
    if request.param == "disk":
        return LocalStorage(tmp_path / "events"), NO_ACCESS
    store: ObjectStore = request.getfixturevalue("s3")
    return store.storage(store.bucket() + "/events"), store.access


@pytest.fixture
def filled(place: tuple[Storage, StorageAccess]) -> tuple[str, StorageAccess]:
    storage, access = place
    for name in FILES:
        storage.write(name, name.encode())
    return storage.address, access


PATTERNS = ("*/a.jsonl", "2026-0[1]/*", "2026-??/a*", "*.csv", "*", "*/*/a.jsonl", "nothing*", "_*/a.jsonl")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_stands_for_what_has_such_names(filled: tuple[str, StorageAccess], pattern: str) -> None:
    root, access = filled
    there = {name for file in FILES for name in (file, *_folders(file))}
    wanted = {name for name in there if _fits(name, pattern)}
    found = look_up(f"{root}/{pattern}", access)
    assert {one.name.removeprefix(f"{root}/") for one in found} == wanted
    assert {one.name for one in found if not one.is_folder} == {f"{root}/{name}" for name in wanted & set(FILES)}
    assert all(one.size == len(one.name) - len(root) - 1 for one in found if not one.is_folder)
    assert all(matches(one.name, f"{root}/{pattern}") for one in found)


def _folders(file: str) -> list[str]:
    parts = file.split("/")
    return ["/".join(parts[:at]) for at in range(1, len(parts))]


def _fits(name: str, pattern: str) -> bool:
    parts, wanted = name.split("/"), pattern.split("/")
    is_hidden = any(
        part.startswith("_") and not want.startswith("_") for part, want in zip(parts, wanted, strict=False)
    )
    return len(parts) == len(wanted) and not is_hidden and all(map(fnmatchcase, parts, wanted))


def test_what_is_there_under_a_name_is_meant_literally(place: tuple[Storage, StorageAccess]) -> None:
    storage, access = place
    for name in ("[a]/1.jsonl", "a/1.jsonl"):
        storage.write(name, b"x")
    (found,) = look_up(f"{storage.address}/[a]", access)
    assert (found.name, found.is_folder) == (f"{storage.address}/[a]", True)
    assert look_up(f"{storage.address}/b", access) == []


def test_too_many_matches_are_refused(filled: tuple[str, StorageAccess]) -> None:
    root, access = filled
    with limited(max_matching_files=2), pytest.raises(Misuse) as refused:
        look_up(f"{root}/*", access)
    assert refused.value.code == "too-many-files"


def test_a_file_comes_here_within_bounds(filled: tuple[str, StorageAccess]) -> None:
    root, access = filled
    with on_this_machine(f"{root}/2026-01/b c%20.jsonl", access) as path:
        assert (path.read_text(), path.suffix) == ("2026-01/b c%20.jsonl", ".jsonl")
    if "://" not in root:
        return
    assert not path.exists()
    with pytest.raises(Misuse) as refused, on_this_machine(f"{root}/gone.jsonl", access):
        pass
    assert refused.value.code == "no-such-file"
    with limited(max_fetched_bytes=5), pytest.raises(Misuse) as refused, on_this_machine(f"{root}/top.csv", access):
        pass
    assert refused.value.code == "too-large-file"


def test_names_are_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = ("events", "events/", f"file:{tmp_path}/events", f"file://{tmp_path}/events")
    assert {full_name(one) for one in given} == {str(tmp_path / "events")}
    assert {full_name(f"{one}b/x{end}") for one, end in product(("s3://", "s3a://", "S3N://"), ("", "/"))} == {
        "s3a://b/x"
    }
