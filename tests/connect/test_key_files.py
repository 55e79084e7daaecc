"""Files of keys, and what is known beside a plain set of Python's."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from comity.connect.key_files import (
    DeliveredKeys,
    KeyFile,
    Keys,
    as_keys,
    check_content,
    is_among,
    map_keys,
    write_keys,
)
from comity.errors import Permanent
from comity.storage.place import LocalStorage

DAY = "2026-01-02"


def digests(chance: Random, count: int, spread: int) -> list[bytes]:
    """Digests of which many are equal, and many have one half in common."""
    return [b"".join(chance.randrange(spread).to_bytes(8, "big") for _ in range(2)) for _ in range(count)]


def pairs(keys: Keys) -> list[tuple[int, int]]:
    return list(zip(keys.high.tolist(), keys.low.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_known_keys_are_a_set(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    spread = chance.choice((2, 5, 30, 2**64))
    before = [digests(chance, chance.randrange(40), spread) for _ in range(chance.randrange(4))]
    files = [
        write_keys(LocalStorage(tmp_path), f"{number}.keys", _sorted(some), DAY) for number, some in enumerate(before)
    ]
    known = DeliveredKeys([map_keys(LocalStorage(tmp_path), file) for file in files])
    naive = {one for some in before for one in some}
    taken: set[bytes] = set()
    for _ in range(chance.randrange(1, 8)):
        asked = digests(chance, chance.randrange(60), spread)
        expected = []
        for one in asked:
            expected.append(one not in naive)
            taken |= set() if one in naive else {one}
            naive.add(one)
        assert known.take(as_keys(asked)).tolist() == expected
    assert pairs(known.taken()) == sorted(pairs(as_keys(taken)))


def _sorted(some: list[bytes]) -> Keys:
    keys = as_keys(some)
    return keys.at(keys.order())


def test_a_key_is_found_among_others_with_the_same_first_half() -> None:
    known = Keys(np.array([5, 5, 5, 7], np.uint64), np.array([1, 4, 9, 4], np.uint64))
    asked = Keys(np.array([5, 5, 5, 7, 8, 0], np.uint64), np.array([9, 2, 1, 4, 4, 0], np.uint64))
    assert is_among(asked, known).tolist() == [True, False, True, True, False, False]


def test_a_file_without_keys_is_read(tmp_path: Path) -> None:
    file = write_keys(LocalStorage(tmp_path), "none.keys", as_keys([]), DAY)
    assert len(map_keys(LocalStorage(tmp_path), file)) == 0


@pytest.mark.parametrize("damage", ["longer", "shorter", "changed", "gone"])
def test_a_damaged_file_is_told(tmp_path: Path, damage: str) -> None:
    file = write_keys(LocalStorage(tmp_path), "some.keys", as_keys([b"a" * 16, b"b" * 16]), DAY)
    path = tmp_path / file.name
    check_content(LocalStorage(tmp_path), file)
    content = path.read_bytes()
    path.write_bytes(
        {"longer": content + b"x", "shorter": content[:-1], "changed": content[:-1] + b"x"}.get(damage, b"")
    )
    if damage == "gone":
        path.unlink()
    with pytest.raises(Permanent) as told:
        check_content(LocalStorage(tmp_path), file)
    assert (told.value.code, str(path) in str(told.value.place)) == ("delivered-notes", True)
    if damage != "changed":
        with pytest.raises(Permanent):
            map_keys(LocalStorage(tmp_path), KeyFile(file.name, file.count, file.checksum, DAY))
