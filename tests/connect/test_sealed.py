"""State files that are damaged: told, with what they were for and what to do, and never taken for another state."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from comity.connect.connectors.memory.source import MemorySource
from comity.connect.landing import Landing
from comity.connect.progress import sink_progress
from comity.connect.sealed import Purpose, read_note, read_sealed, sealed, sealed_note
from comity.errors import Permanent
from comity.pipeline.detect.state import PatternStates, Progress

PURPOSE = Purpose("the mark of a test", "mend it", code="broken-state")
VALUE = {"batch": 7, "part": 0}


@pytest.mark.parametrize("bit", [1, 8, 128])
def test_a_note_with_one_wrong_byte_is_told_or_read_as_it_was(tmp_path: Path, bit: int) -> None:
    path, whole = tmp_path / "note", sealed_note(VALUE)
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
        with suppress(Permanent):
            assert read_note(path, dict[str, int], PURPOSE) == VALUE


@pytest.mark.parametrize("bit", [1, 128])
def test_sealed_bytes_with_one_wrong_byte_behind_the_head_are_told(tmp_path: Path, bit: int) -> None:
    path, whole = tmp_path / "state", sealed(b"\x93\x00\xff" * 20)
    path.write_bytes(whole)
    assert read_sealed(path, PURPOSE) == b"\x93\x00\xff" * 20
    for at in [*range(whole.index(b" ") + 1, whole.index(b"\n")), *range(whole.index(b"\n") + 1, len(whole))]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
        with pytest.raises(Permanent, match="checksum"):
            read_sealed(path, PURPOSE)


def test_a_file_that_is_cut_off_is_told_wherever(tmp_path: Path) -> None:
    path, note, state = tmp_path / "x", sealed_note(VALUE), sealed(b"abc")
    for length in range(len(note)):
        path.write_bytes(note[:length])
        with pytest.raises(Permanent, match=r"the mark of a test cannot be read"):
            read_note(path, dict[str, int], PURPOSE)
    for length in range(state.index(b" ") + 1, len(state)):
        path.write_bytes(state[:length])
        with pytest.raises(Permanent):
            read_sealed(path, PURPOSE)


def test_files_from_before_there_were_checksums_are_read(tmp_path: Path) -> None:
    (tmp_path / "note").write_bytes(b'{"batch":7,"part":0}')
    (tmp_path / "state").write_bytes(b"\x93abc")
    assert read_note(tmp_path / "note", dict[str, int], PURPOSE) == VALUE
    assert read_sealed(tmp_path / "state", PURPOSE) == b"\x93abc"
    assert read_note(tmp_path / "none", dict[str, int], PURPOSE) is None


def damage(path: Path) -> None:
    content = path.read_bytes()
    at = content.rindex(b"}", 0, -2) - 1
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])


def test_a_position_that_is_damaged_is_not_taken_for_another_one(tmp_path: Path) -> None:
    landing = Landing(MemorySource([b'{"a": 1}', b'{"a": 2}']), tmp_path)
    landing.open()
    while not landing.step().is_ended:
        pass
    landing.close()
    position = tmp_path / ".landed.position.json"
    damage(position)
    with pytest.raises(Permanent, match="position up to which a source was taken") as told:
        Landing(MemorySource(), tmp_path).open()
    assert told.value.place is not None
    assert told.value.place.file == str(position)
    assert "move its folder away" in (told.value.hint or "")


def test_a_mark_of_a_sink_that_is_damaged_does_not_send_everything_again(tmp_path: Path) -> None:
    with sink_progress(tmp_path, "house", "door") as progress:
        progress.finish("batch", 6)
    damage(tmp_path / ".sent" / "house" / "door" / "done")
    with pytest.raises(Permanent, match="what a sink was sent"), sink_progress(tmp_path, "house", "door"):
        pass


def test_pattern_state_that_is_damaged_or_missing_is_told_before_a_stream_relies_on_it(tmp_path: Path) -> None:
    states = PatternStates(tmp_path)
    states.check()
    (tmp_path / "00000003").mkdir()
    for name in ("0", "attempt-1"):
        path = tmp_path / "00000003" / name
        path.write_bytes(sealed(b"state"))
    states.save(3, Progress(2, True, versions={0: 3}, files={1: "00000003/attempt-1"}))  # 0 as it was noted once
    states.check()
    path.write_bytes(sealed(b"state")[:-1])
    with pytest.raises(Permanent, match="checksum"):
        states.check()
    path.unlink()
    with pytest.raises(Permanent, match="missing"):
        states.check()
    damage(tmp_path / "00000003.json")
    with pytest.raises(Permanent, match="what is kept of patterns") as told:
        states.before(4)
    assert "begin anew" in (told.value.hint or "")
