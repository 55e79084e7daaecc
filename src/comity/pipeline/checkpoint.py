"""What Spark notes of a stream for its next start: made to last, and checked before Spark reads it.

A folder `.checkpoint` holds `metadata`, and logs of numbered files: `offsets`, `commits`, and one for each source. A
file of a log has a line with its version, and below it values of JSON, a line each.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import msgspec

from comity.connect.sealed import Purpose
from comity.storage.durable import sync_all

CHECKPOINT_STATE = Purpose(
    "what Spark noted of the stream",
    "put back a copy of the results folder, or begin anew with --overwrite, or in another folder",
    code="broken-state",
)
_TAIL_BYTES = 65_536


class _Metadata(msgspec.Struct):
    id: str


def sync_checkpoint(checkpoint: Path, number: int) -> None:
    """Make what Spark noted of a batch survive a loss of power, which Spark does not see to.

    Without it results could outlive the plan of their batch. Its number would then be given to other files, whose
    results take the place of those.
    """
    written = [checkpoint / "metadata", checkpoint / "offsets" / str(number)]
    written += [max(log.glob("[0-9]*"), key=lambda note: note.stat().st_mtime_ns) for log in _source_logs(checkpoint)]
    found = [one for path in written for one in (path, path.with_name(f".{path.name}.crc")) if one.exists()]
    folders = {above for path in found for above in path.parents if above.is_relative_to(checkpoint.parent)}
    sync_all([*found, *folders])


def _source_logs(checkpoint: Path) -> list[Path]:
    return [log for log in checkpoint.glob("sources/*/") if any(log.glob("[0-9]*"))]


def stream_id(checkpoint: Path) -> str | None:
    """What Spark calls the stream of a checkpoint; None before it has begun."""
    metadata = checkpoint / "metadata"
    return msgspec.json.decode(metadata.read_bytes(), type=_Metadata).id if metadata.exists() else None


def plan_id(checkpoint: Path, number: int) -> str | None:
    """What tells the input that Spark planned for a batch from any other; None before it was planned.

    Another stream that begins with a copy of the checkpoint plans other batches under the same numbers, at other times.
    """
    plan = checkpoint / "offsets" / str(number)
    return blake2b(plan.read_bytes(), digest_size=16).hexdigest() if plan.exists() else None


def check_checkpoint(checkpoint: Path) -> None:
    """Raise `Permanent` if a file in it is damaged: Spark would say what it stumbles over, but not always where."""
    metadata = checkpoint / "metadata"
    if metadata.exists():
        _check_json(metadata.read_bytes(), metadata)
    for log in (checkpoint / "offsets", checkpoint / "commits", *_source_logs(checkpoint)):
        for file in log.glob("[0-9]*"):
            _check_log_file(file)


def _check_log_file(file: Path) -> None:
    """The first line is a version, and the last one is whole: files are cut off at their ends."""
    with file.open("rb") as stream:
        version = stream.readline(100).strip()
        version = version.lstrip(b"\0")  # which Kafka's begin with, for a Spark of long ago
        if not version.startswith(b"v") or not version[1:].isdigit():
            raise CHECKPOINT_STATE.broken(file, "it does not begin with a version")
        begin = stream.tell()
        end = stream.seek(0, 2)
        stream.seek(max(begin, end - _TAIL_BYTES))
        lines = [line for line in stream.read().split(b"\n") if line.strip() and line.strip() != b"-"]
    if not lines:
        raise CHECKPOINT_STATE.broken(file, "it ends too early")
    if end - begin <= _TAIL_BYTES or len(lines) > 1:  # else a part of one line was read
        _check_json(lines[-1], file)


def _check_json(content: bytes, file: Path) -> None:
    try:
        msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CHECKPOINT_STATE.broken(file, str(error)) from error
