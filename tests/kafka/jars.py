"""The jars of Kafka, by their coordinates in `broker.xml` and `connector.xml`: fetched once by Maven, then kept.

`python -m tests.kafka.jars` fetches all of them, which `make test` does before the tests.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from zlib import crc32

import pytest

BROKER, CONNECTOR = "broker", "connector"
_HERE = Path(__file__).parent
_KEPT = Path(sys.prefix) / "kafka"
_PATIENCE_S = 600


def has_maven() -> bool:
    """Whether jars can be fetched on this machine."""
    return shutil.which("mvn") is not None


def jars(name: str) -> list[Path]:
    """The jars of a project file. A test that needs them is skipped without Maven, and fails where Maven does."""
    folder = kept(name)
    if not folder.is_dir():
        if not has_maven():
            pytest.skip("there is no Maven (`mvn`), which fetches the jars of Kafka")
        _fetch(name, folder)
    return sorted(folder.glob("*.jar"))


def kept(name: str) -> Path:
    """Where the jars are kept; the folder is there when they are complete."""
    return _KEPT / f"{name}-{crc32((_HERE / f'{name}.xml').read_bytes()):08x}"


def _fetch(name: str, folder: Path) -> None:
    _KEPT.mkdir(exist_ok=True)
    with (_KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if folder.is_dir():
            return
        with tempfile.TemporaryDirectory(dir=_KEPT) as scratch:
            made = Path(scratch) / "jars"
            copy = ("dependency:copy-dependencies", f"-DoutputDirectory={made}", "-DincludeScope=runtime")
            command = ["mvn", "--batch-mode", "--quiet", "--file", str(_HERE / f"{name}.xml"), *copy]
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE_S, check=False
            )
            if done.returncode:
                pytest.fail(f"Maven cannot fetch the jars of Kafka: {done.stdout[-2_000:]}{done.stderr[-2_000:]}")
            made.rename(folder)


if __name__ == "__main__":
    for one in (BROKER, CONNECTOR):
        if not kept(one).is_dir() and has_maven():
            _fetch(one, kept(one))
