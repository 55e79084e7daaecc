"""Whether this machine can run Comity: one small check for each thing that a run needs."""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from importlib import metadata
from pathlib import Path

from comity.connect.commits import FOLDER as DELIVERED
from comity.connect.commits import look_at_commits
from comity.connect.delivered import FILE as DATABASE
from comity.connect.folder import LANDING, PATTERNS
from comity.connect.landing import POSITION
from comity.connect.progress import DONE, SENT, SENT_BATCHES
from comity.connect.sealed import read_note
from comity.errors import ComityError
from comity.limits import limits
from comity.pipeline.java import find_java

_GIGABYTE, _MEGABYTE = 1_000_000_000, 1_000_000
_CONNECT_TIMEOUT_S = 5.0
_SKEW_S = 5.0
_FEW_FILES, _MANY_FILES = 256, 1_024
_PYTHON_FROM, _PYTHON_BELOW = (3, 11), (3, 15)
_YEAR = 2026
"""No clock that is right shows an earlier one."""
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*(?P<bounds>[^;]*)(?:;(?P<marker>.*))?")
_MASTER = re.compile(r"spark://(?P<hosts>[^/]+)")
_SIZES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class Status(StrEnum):
    """How a check went."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Found:
    """What a check found, and the next step where there is one."""

    status: Status
    text: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a run needs."""

    name: str
    look: Callable[[], Found]

    def run(self) -> Found:
        """What it finds; a check that cannot be made is a failure, too."""
        try:
            return self.look()
        except ComityError as error:
            where = f"{error.place}: " if error.place else ""
            return _failure(f"{where}{error.message}", error.hint)
        except Exception as error:
            return _failure(
                f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason given'}"
            )


def checks(
    *, master: str | None = None, out: Path | None = None, port: int | None = None, spark: bool = False
) -> Iterator[Check]:
    """The checks for a run with these options, in the order in which a person would mend what they find."""
    yield Check("python", check_python)
    yield Check("packages", check_packages)
    yield Check("java", check_java)
    yield Check("memory", check_memory)
    yield Check("temporary folder", lambda: check_folder(Path(tempfile.gettempdir())))
    yield Check("disk", lambda: check_disk(Path(tempfile.gettempdir())))
    if out is not None:
        yield Check("results folder", lambda: check_folder(out))
        yield Check("results disk", lambda: check_disk(out))
        if any((out / name).exists() for name in (DELIVERED, DATABASE)):
            yield Check("remembered notifications", lambda: check_delivered(out))
        if any((out / name).exists() for name in (LANDING, SENT, PATTERNS)):
            yield Check("state of the stream", lambda: check_state(out))
    yield Check("loopback", check_loopback)
    if port is not None:
        yield Check(f"port {port}", lambda: check_port(port))
    yield Check("compiled matching", check_numba)
    yield Check("clock", check_clock)
    yield Check("open files", check_open_files)
    if master is not None:
        yield Check("master", lambda: check_master(master))
    if spark:
        yield Check("spark", lambda: check_spark(master))


def check_python() -> Found:
    """A version that we support, with 64 bits."""
    text = f"Python {platform.python_version()} in {sys.prefix}"
    if not _PYTHON_FROM <= sys.version_info[:2] < _PYTHON_BELOW:
        return _failure(text, "use Python 3.11 to 3.14")
    return _ok(text) if sys.maxsize > 2**32 else _failure(f"{text}, 32 bits", "use a Python of 64 bits")


def check_packages(distribution: str = "comity") -> Found:
    """Installed versions against what the package asks for."""
    try:
        asked = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        return _warning(f"{distribution} is not installed, it runs from its source", "`make install` installs it")
    wrong = [fault for one in asked if (fault := package_fault(one))]
    if wrong:
        return _failure("; ".join(wrong), "install again: `make install`, or `pip install --upgrade comity`")
    return _ok(f"{len(asked)} packages as asked for")


def package_fault(requirement: str) -> str | None:
    """What is wrong with an installed package, None if nothing is; requirements with conditions are left out.

    >>> package_fault("typer>=9999.1")[:5], package_fault("nosuchpackage>=1"), package_fault("typer>=0.1,<9999")
    ('typer', 'nosuchpackage is missing', None)
    """
    parts = _REQUIREMENT.fullmatch(requirement.strip())
    if parts is None or parts["marker"]:
        return None
    name, bounds = parts["name"], parts["bounds"].strip(" ()")
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is missing"
    unmet = [bound for bound in bounds.split(",") if bound and not _is_met(version, bound.strip())]
    return f"{name} is {version}, asked for is {bounds}" if unmet else None


def _is_met(version: str, bound: str) -> bool:
    found = re.fullmatch(r"(>=|<=|==|!=|<|>)\s*([0-9.]+).*", bound)
    if found is None:
        return True
    have, want = _numbers(version), _numbers(found[2])
    width = max(len(have), len(want))
    have, want = have + (0,) * (width - len(have)), want + (0,) * (width - len(want))
    tests = {">=": have >= want, "<=": have <= want, "==": have == want, "!=": have != want, "<": have < want}
    return tests.get(found[1], have > want)


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def check_java() -> Found:
    """A Java that Spark can use, and where it was found."""
    java = find_java()
    return _ok(f"Java {java.version} from {java.origin}" + (f" ({java.home})" if java.home else ""))


def check_memory(given_bytes: int | None = None, available_bytes: int | None = None) -> Found:
    """Memory that is left against what Spark is given."""
    given = spark_memory_bytes() if given_bytes is None else given_bytes
    available = memory_bytes() if available_bytes is None else available_bytes
    text = f"{_size(available)} available, Spark takes up to {_size(given)} and its Python workers take more"
    hint = "end other programs, or give the machine or container more memory"
    if available < given:
        return _failure(text, hint)
    return _ok(text) if available >= 2 * given else _warning(text, hint)


def spark_memory_bytes() -> int:
    """What a Spark on this machine is given."""
    from comity.pipeline.session import _embedded_settings

    with tempfile.TemporaryDirectory() as folder:
        text = _embedded_settings(1, Path(folder), False)["spark.driver.memory"]
    return int(text[:-1]) * _SIZES[text[-1].lower()]


def memory_bytes() -> int:
    """The memory that this process may still take: the machine's, or its container's if that is less."""
    left = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with_kernel = Path("/proc/meminfo")
    if with_kernel.exists():
        found = re.search(r"MemAvailable:\s+(\d+) kB", with_kernel.read_text())
        left = int(found[1]) * 1_024 if found else left
    group = Path("/sys/fs/cgroup")
    bound, used = group / "memory.max", group / "memory.current"
    if bound.exists() and used.exists() and bound.read_text().strip().isdecimal():
        left = min(left, int(bound.read_text()) - int(used.read_text()))
    return left


def check_folder(folder: Path) -> Found:
    """A folder, or the nearest one above it that exists, in which files can be written and renamed."""
    there = _nearest(folder)
    if not there.is_dir():
        return _failure(f"{there} is not a folder", "name another one")
    try:
        descriptor, name = tempfile.mkstemp(prefix=".comity-", dir=there)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(b"x")
            stream.flush()
            os.fsync(descriptor)
        Path(name).rename(name + ".renamed")
        Path(name + ".renamed").unlink()
    except OSError as error:
        return _failure(f"{there} cannot be written: {error.strerror}", "name another one, or change its permissions")
    return _ok(f"{there} can be written" + ("" if there == folder else f", {folder} will be made"))


def check_disk(folder: Path) -> Found:
    """Room on the disk that holds a folder."""
    there = _nearest(folder)
    free = shutil.disk_usage(there).free
    text = f"{_size(free)} free at {there}"
    hint = "free some space, or let TMPDIR name a folder on another disk"
    if free < 200 * _MEGABYTE:
        return _failure(text, hint)
    return _ok(text) if free >= 2 * _GIGABYTE else _warning(text, hint)


def check_delivered(out: Path) -> Found:
    """The notes of what was delivered: whole, and how much they are."""
    found = look_at_commits(out)
    if found is None:
        return _ok("none")
    since = f", the oldest of {found.oldest_day}" if found.oldest_day else ""
    place = next(path for path in (out / DELIVERED, out / DATABASE) if path.exists())
    size = f"{found.size_bytes / _MEGABYTE:,.1f} MB in {place}"
    return _ok(f"{found.count:,}{since}, {size}; they are kept for {limits().remember_days:,} days (remember_days)")


def check_state(out: Path) -> Found:
    """The other files that a stream leaves for its next start."""
    from comity.pipeline.detect.state import PatternStates

    positions = sorted((out / LANDING).glob("*/.*.position.json"))
    marks = sorted((out / SENT).glob(f"*/*/{DONE}"))
    for path in positions:
        read_note(path, dict[str, object], POSITION)
    for path in marks:
        read_note(path, dict[str, int], SENT_BATCHES)
    PatternStates(out / PATTERNS).check()
    return _ok(f"positions of {len(positions)} sources, marks of {len(marks)} sinks and patterns can be read")


def _nearest(folder: Path) -> Path:
    absolute = folder.absolute()
    return next(one for one in (absolute, *absolute.parents) if one.exists())


def check_loopback() -> Found:
    """Python and Java talk over sockets on 127.0.0.1."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), timeout=_CONNECT_TIMEOUT_S),
    ):
        return _ok("sockets on 127.0.0.1 work")


def check_port(port: int) -> Found:
    """A port that somebody wants to use here."""
    try:
        with socket.create_server(("127.0.0.1", port)):
            return _ok(f"port {port} is free")
    except OSError as error:
        return _failure(f"port {port} cannot be used: {error.strerror}", "choose another one, or end who uses it")


def check_numba() -> Found:
    """Compiled kernels are kept on disk, so that only the first start compiles them."""
    from comity.match.kernels import events as kernel

    found = [one for one in vars(kernel).values() if hasattr(one, "stats") and hasattr(one, "py_func")]
    paths = {Path(str(one.stats.cache_path)) for one in found if one.stats.cache_path}
    if not paths:
        return _warning("compiled code is not kept", "let NUMBA_CACHE_DIR name a folder that can be written")
    return _ok(f"compiled code is kept in {next(iter(paths))}")


def check_clock(now_s: float | None = None) -> Found:
    """A clock that is set, and that agrees with the one of the disk."""
    now = time.time() if now_s is None else now_s
    zone = time.strftime("%Z (%z)")
    text = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%dT%H:%M:%SZ}, local time zone {zone}; Comity works in UTC"
    if datetime.fromtimestamp(now, UTC).year < _YEAR:
        return _failure(text, "set the clock")
    with tempfile.NamedTemporaryFile() as file:
        skew = abs(os.stat(file.name).st_mtime - now)
    return _ok(text) if skew < _SKEW_S else _warning(f"{text}; the disk's clock is {skew:.0f} s off", "set the clocks")


def check_open_files() -> Found:
    """How many files one process may have open."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = "any number" if soft == resource.RLIM_INFINITY else f"up to {soft:,}"
    hint = f"`ulimit -n {4 * _MANY_FILES}` in the shell that starts it"
    if soft == resource.RLIM_INFINITY or soft >= _MANY_FILES:
        return _ok(text)
    return _warning(text, hint) if soft >= _FEW_FILES else _failure(text, hint)


def check_master(master: str) -> Found:
    """Whether one of the masters of a cluster answers."""
    named = _MASTER.fullmatch(master)
    if named is None:
        if master.startswith("local"):
            return _ok(f"{master} runs on this machine")
        return _warning(f"{master} is not of the form spark://HOST:PORT, so it was not tried")
    faults = []
    for address in named["hosts"].split(","):
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), timeout=_CONNECT_TIMEOUT_S):
                return _ok(f"{address} answers")
        except (OSError, ValueError) as error:
            faults.append(f"{address}: {error}")
    return _failure("; ".join(faults), "start the master, or correct host and port; the default port is 7077")


def check_spark(master: str | None) -> Found:
    """Start Spark, and send one row through a Python worker and back."""
    from comity.pipeline.session import spark_session, stop_session

    started = time.monotonic()
    spark = spark_session(master, app_name="comity-doctor", brief=True)
    try:
        ready = time.monotonic()
        rows = spark.range(3).mapInArrow(lambda batches: batches, "id long").collect()
        done = time.monotonic()
        where = spark.sparkContext.master
    finally:
        stop_session(spark)
    if sorted(row["id"] for row in rows) != [0, 1, 2]:
        return _failure(f"{where} gave back {rows}")
    return _ok(f"{where} started in {ready - started:.1f} s, a job with a Python worker took {done - ready:.1f} s")


def _size(count: int) -> str:
    return f"{count / _GIGABYTE:.1f} GB"


def _ok(text: str) -> Found:
    return Found(Status.OK, text)


def _warning(text: str, hint: str | None = None) -> Found:
    return Found(Status.WARNING, text, hint)


def _failure(text: str, hint: str | None = None) -> Found:
    return Found(Status.FAILURE, text, hint)
