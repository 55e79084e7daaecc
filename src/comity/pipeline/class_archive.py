"""Spark's classes, read and checked once for a machine: Java maps them from a file, and starts in half the time.

Most of what it takes to start Spark is Java reading some twenty thousand classes from jars and checking each. Java can
write what it has loaded into an archive when it ends, and a later one with the same jars maps that into memory. One
that does not fit (another Java, other jars, a class path with more in it) is passed over by Java, so the worst that
comes of it is what there was without.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from comity.errors import Misuse, Permanent
from comity.pipeline.java import Java, cache_folder

DUMP_TIMEOUT_S = 180
"""How long Java may take to write what it has loaded, which is the work of half a minute."""
_BASE_TIMEOUT_S = 120
_SILENT = "-Xlog:cds*=off"


def archive_of(java: Java) -> Path | None:
    """Where the archive for a Java and the installed Spark is kept; None where nothing can be kept."""
    program = _program(java)
    cache = cache_folder(os.environ)
    if program is None or cache is None:
        return None
    return cache / f"spark-{_fingerprint(program)}.jsa"


def archive_options(java: Java) -> tuple[str, ...]:
    """What lets Java begin with its archive, if there is one."""
    archive = archive_of(java)
    if archive is None or not archive.exists():
        return ()
    base = _own_base(archive)
    files = f"{base}{os.pathsep}{archive}" if base.exists() else str(archive)
    return (f"-XX:SharedArchiveFile={files}", _SILENT)


@contextmanager
def archive_being_made(java: Java) -> Iterator[tuple[str, ...]]:
    """The options of a Java that writes its archive when it ends, which must be before the block does."""
    archive = archive_of(java)
    if archive is None:
        hint = "let XDG_CACHE_HOME or HOME name a folder that is writable"
        raise Misuse("there is no folder in which it could be kept", code="no-cache-folder", hint=hint)
    archive.parent.mkdir(parents=True, exist_ok=True)
    partial = archive.with_name(f".{archive.name}.{os.getpid()}.partial")
    try:
        yield (*_base_options(java, archive), f"-XX:ArchiveClassesAtExit={partial}", _SILENT)
        if not partial.exists():
            hint = "nothing is lost by it: Spark starts without, as it did before"
            raise Permanent("this Java did not write an archive of its classes", code="no-class-archive", hint=hint)
        partial.replace(archive)
    finally:
        partial.unlink(missing_ok=True)


def _base_options(java: Java, archive: Path) -> Sequence[str]:
    """A Java that comes without an archive of its own classes gets one, since ours adds to it."""
    program = _program(java)
    assert program is not None, "the archive has a place"
    if _has_base(program):
        return ()
    base = _own_base(archive)
    subprocess.run(
        [program, "-Xshare:dump", f"-XX:SharedArchiveFile={base}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=_BASE_TIMEOUT_S,
        check=False,  # then there is no archive in the end either, which is told
    )
    return (f"-XX:SharedArchiveFile={base}",)


def _own_base(archive: Path) -> Path:
    return archive.with_suffix(".base.jsa")


def _has_base(program: Path) -> bool:
    return any((program.parent.parent / "lib" / kind / "classes.jsa").exists() for kind in ("server", "client"))


def _program(java: Java) -> Path | None:
    """The `java` that is run in the end, behind links and launchers."""
    if java.program is not None:
        return java.program.resolve()
    found = shutil.which("java")
    return Path(found).resolve() if found else None


def _fingerprint(program: Path) -> str:
    """Of all that an archive depends on: the runtime, and the jars in their order."""
    digest = hashlib.sha256(b"1")
    runtime = program.parent.parent / "lib" / "modules"
    for path in (program, runtime, *sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))):
        with suppress(OSError):
            stat = path.stat()
            digest.update(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
