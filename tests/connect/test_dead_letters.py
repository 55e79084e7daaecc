"""The file of dead letters: added to, read, rewritten, and torn by a crash."""

import json

import msgspec
import pytest

from comity.connect.dead_letters import (
    DeadLetter,
    append_dead_letters,
    dead_letter_files,
    dead_letter_path,
    profile_of,
    read_dead_letters,
    replacing,
)
from comity.errors import Misuse
from comity.testing.sink_conformance import message, notification


def letter(number, **more):
    line = notification(number)
    fields = {"reason": "busy", "code": "sink-busy", "attempts": 3, "first_tried": None, "last_tried": None, **more}
    return DeadLetter(key=message(line).key, message=msgspec.Raw(line), **fields)


def test_append_then_read(tmp_path):
    path = dead_letter_path(tmp_path, "house_a", "screen")
    append_dead_letters(path, [letter(1)])
    append_dead_letters(path, [letter(2), letter(3)])
    assert [one.key for one in read_dead_letters(path)] == [message(notification(number)).key for number in (1, 2, 3)]
    record = json.loads(path.read_bytes().splitlines()[0])
    assert list(record) == ["key", "reason", "code", "attempts", "first_tried", "last_tried", "message"]
    assert record["message"] == json.loads(notification(1))
    assert dead_letter_files(tmp_path) == [("house_a", "screen", path)]


@pytest.mark.parametrize("torn", [b'{"key":"half', b"x" * 200_000])
def test_append_after_a_crash_cuts_the_torn_line(tmp_path, torn):
    path = tmp_path / "screen.jsonl"
    append_dead_letters(path, [letter(1)])
    with path.open("ab") as stream:
        stream.write(torn)
    assert [one.key for one in read_dead_letters(path)] == [letter(1).key]
    append_dead_letters(path, [letter(2)])
    assert [one.key for one in read_dead_letters(path)] == [letter(1).key, letter(2).key]


def test_append_to_a_file_of_one_torn_line(tmp_path):
    path = tmp_path / "screen.jsonl"
    path.write_bytes(b'{"key"')
    append_dead_letters(path, [letter(2)])
    assert [one.key for one in read_dead_letters(path)] == [letter(2).key]


def test_read_of_no_file_is_empty(tmp_path):
    assert list(read_dead_letters(tmp_path / "none.jsonl")) == []


def test_read_a_foreign_line_says_where(tmp_path):
    path = tmp_path / "screen.jsonl"
    append_dead_letters(path, [letter(1)])
    path.write_bytes(path.read_bytes() + b"{}\n")
    with pytest.raises(Misuse, match="this is no dead letter") as caught:
        list(read_dead_letters(path))
    assert (caught.value.code, caught.value.place.line) == ("bad-dead-letter", 2)


def test_replacing_keeps_some(tmp_path):
    path = tmp_path / "screen.jsonl"
    append_dead_letters(path, [letter(number) for number in range(4)])
    with replacing(path) as kept:
        for number, one in enumerate(read_dead_letters(path)):
            if number % 2:
                kept.keep(one)
    assert list(read_dead_letters(path)) == [letter(1), letter(3)]


def test_replacing_with_none_removes_the_file(tmp_path):
    path = tmp_path / "screen.jsonl"
    append_dead_letters(path, [letter(1)])
    with replacing(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_replacing_that_fails_changes_nothing(tmp_path):
    path = tmp_path / "screen.jsonl"
    append_dead_letters(path, [letter(1)])
    with pytest.raises(ZeroDivisionError), replacing(path):
        raise ZeroDivisionError
    assert list(read_dead_letters(path)) == [letter(1)]


@pytest.mark.parametrize("key", ["", "[]", "7", '[null,"a"]', "not json"])
def test_profile_of_a_strange_key_is_empty(key):
    assert profile_of(key) == ""
