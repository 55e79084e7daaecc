"""Notes of batches: which there are, which a batch begins with, and which are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from comity.connect.batch_notes import BatchNotes
from comity.connect.sealed import Purpose
from comity.errors import Permanent

PURPOSE = Purpose("what the test keeps", "begin anew", "broken-state")


@pytest.fixture
def notes(tmp_path: Path) -> BatchNotes[list[int]]:
    notes = BatchNotes(tmp_path, list[int], PURPOSE)
    for number in (-1, 0, 1, 9, 10):
        notes.save(number, [number])
    return notes


def test_before_is_the_last_batch_that_was_noted_before_one(notes: BatchNotes[list[int]]) -> None:
    assert notes.numbers() == [-1, 0, 1, 9, 10]
    assert [notes.before(number) for number in (-1, 0, 5, 10, 99)] == [None, -1, 1, 9, 10]


def test_save_takes_the_place_of_an_earlier_attempt(notes: BatchNotes[list[int]]) -> None:
    notes.save(9, [0])
    assert notes.read(9) == [0]


@pytest.mark.parametrize(("upto", "kept"), [(10, [9, 10]), (9, [1, 9]), (-1, [-1]), (-2, [])])
def test_keep_two_leaves_a_batch_and_the_one_before_it(
    notes: BatchNotes[list[int]], upto: int, kept: list[int]
) -> None:
    assert notes.keep_two(upto) == [[number] for number in kept]
    assert notes.numbers() == kept


def test_keep_two_removes_nothing_when_what_it_keeps_is_damaged(notes: BatchNotes[list[int]], tmp_path: Path) -> None:
    (tmp_path / "00000009.json").write_bytes(b"{")
    with pytest.raises(Permanent, match="what the test keeps cannot be read"):
        notes.keep_two(10)
    assert notes.numbers() == [-1, 0, 1, 9, 10]


def test_read_tells_what_is_missing(notes: BatchNotes[list[int]]) -> None:
    with pytest.raises(Permanent, match="the file is missing"):
        notes.read(7)
