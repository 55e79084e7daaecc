"""What Spark noted of a stream, damaged: told with the file and what to do, before Spark stumbles over it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from comity.errors import Permanent
from comity.federation.watch import WatchedFederation
from comity.pipeline.batches import FileStream
from comity.pipeline.checkpoint import check_checkpoint
from comity.pipeline.detect.stream import DetectStream
from comity.pipeline.stream import StreamRun

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"

OFFSETS = 'v1\n{"batchWatermarkMs":0,"conf":{}}\n{"logOffset":0}\n-\n'
FILES = {
    "metadata": '{"id":"6c1"}',
    "offsets/0": OFFSETS,
    "commits/0": 'v1\n{"nextBatchWatermarkMs":0}',
    "sources/0/0": 'v1\n{"path":"file:///e/a.jsonl","timestamp":1,"batchId":0}',
    "sources/0/9.compact": "v1\n" + '{"path":"file:///e/a.jsonl","timestamp":1,"batchId":0}\n' * 3_000,
}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_sound_one_passes(checkpoint: Path) -> None:
    check_checkpoint(checkpoint)


def test_one_that_is_not_there_yet_passes(tmp_path: Path) -> None:
    check_checkpoint(tmp_path / "none")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", ["", "v1\n", 'v1\n{"x', "\x00\x01\x02\n{}"])
def test_a_damaged_file_is_named_with_what_to_do(checkpoint: Path, name: str, content: str) -> None:
    (checkpoint / name).write_text(content)
    with pytest.raises(Permanent) as error:
        check_checkpoint(checkpoint)
    assert error.value.code == "broken-state"
    assert error.value.place is not None
    assert error.value.place.file == str(checkpoint / name)
    assert "--overwrite" in (error.value.hint or "")


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_cut_off_is_named(checkpoint: Path, name: str) -> None:
    whole = (checkpoint / name).read_text().rstrip("-\n")
    (checkpoint / name).write_text(whole[:-3])
    with pytest.raises(Permanent):
        check_checkpoint(checkpoint)


@pytest.mark.parametrize("name", [".checkpoint/metadata", ".patterns/00000003.json"])
@pytest.mark.parametrize(
    "stream_in",
    [
        lambda out: StreamRun(WatchedFederation(EXAMPLE), out=out),
        lambda out: DetectStream(list, out=out, lateness_us=0),
    ],
    ids=["federation", "patterns"],
)
def test_a_stream_looks_before_spark_has_anything_to_do(
    tmp_path: Path, stream_in: Callable[[Path], FileStream], name: str
) -> None:
    (tmp_path / "events").mkdir()
    damaged = tmp_path / "out" / name
    damaged.parent.mkdir(parents=True)
    damaged.write_text("{")
    pace = {"trigger_s": 0, "until_empty": True, "files_per_batch": 1}
    with closing(stream_in(tmp_path / "out")) as stream, pytest.raises(Permanent) as error:
        stream.start(None, [tmp_path / "events"], **pace)  # type: ignore[arg-type]
    assert (error.value.place and error.value.place.file) == str(damaged)
    assert "begin anew" in (error.value.hint or "")
