"""Starts and ends the Java process in which Spark runs.

PySpark can do this too, but a Ctrl-C while it waits leaves the Java process behind, and everything that Java prints is
shown. Here the process is in our hands from its first moment, and its output goes where the caller wants it. Between us
and Java there is a keeper, which ends Java when we cannot do so any more.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyspark
from py4j.protocol import Py4JError
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway

from comity.errors import Permanent
from comity.pipeline.java import Java

START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 20
ORPHAN_GRACE_S = 5
"""For how long Java may go on when we are gone."""
POLL_S = 0.05
LOG_TAIL_CHARS = 2_000
STANDARD_ERROR = 2


@dataclass(slots=True)
class Runtime:
    """A running Java process with the door to it, the folder that holds its files, and the process that owns both."""

    gateway: Any
    process: subprocess.Popen[bytes]
    """The keeper; it and Java are a group of processes."""
    folder: Path
    owner: int
    patience_s: float = STOP_TIMEOUT_S
    """How long Java may take to end."""

    def hurry(self) -> None:
        """Give Java some seconds to end from now on: whoever talks to it until then does not wait for ever."""
        with suppress(OSError, ValueError):
            assert self.process.stdin is not None, "it was opened with a pipe"
            self.process.stdin.write(b".")
            self.process.stdin.flush()

    def kill(self) -> None:
        """End Java at once, whatever it does."""
        if self.owner == os.getpid():
            _end_process(self.process, timeout_s=0)

    def end(self) -> None:
        """Ends Java and removes its files; a forked copy of the owner leaves both alone."""
        if self.owner != os.getpid():
            return
        self.hurry()
        with suppress(Py4JError, OSError):
            self.gateway.shutdown()
        _end_process(self.process, self.patience_s)
        shutil.rmtree(self.folder, ignore_errors=True)


def launch(settings: Mapping[str, str], folder: Path, *, verbose: bool, patience_s: float | None = None) -> Runtime:
    """Java with Spark's gateway in it, started through `spark-submit` with these settings.

    What it prints goes to the file `log` in the folder, or to standard error. It may take `patience_s` to end, also
    when we are gone, if it has something to write then.
    """
    graces = (ORPHAN_GRACE_S, STOP_TIMEOUT_S) if patience_s is None else (patience_s, patience_s)
    with (folder / "log").open("wb") as log:
        process = _spark_submit(settings, folder / "gateway", graces, STANDARD_ERROR if verbose else log)
    try:
        port, secret = _await_gateway(process, folder)
        with environment({"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}):
            gateway = launch_gateway()  # type: ignore[no-untyped-call]
    except BaseException:
        _end_process(process, timeout_s=0)
        raise
    return Runtime(gateway, process, folder, os.getpid(), graces[1])


def program_command(java: Java, main: str, *arguments: str, properties: Mapping[str, str] | None = None) -> list[str]:
    """The command line of one of the programs in the package of Spark, such as the master of a cluster."""
    program = str(java.home / "bin" / "java") if java.home else "java"
    defined = [f"-D{name}={value}" for name, value in (properties or {}).items()]
    return [program, *defined, "-cp", str(_packaged_spark() / "jars" / "*"), main, *arguments]


def program_variables(java: Java) -> dict[str, str | None]:
    """The environment variables that such a program wants, to start others; None takes one away."""
    library = next((_packaged_spark() / "jars").glob("spark-core_*.jar"))
    return {
        "JAVA_HOME": str(java.home) if java.home else None,
        "SPARK_HOME": str(_packaged_spark()),
        "SPARK_SCALA_VERSION": library.name.split("_")[1].split("-")[0],
    }


def _packaged_spark() -> Path:
    return Path(pyspark.__file__).parent


def _spark_submit(
    settings: Mapping[str, str], answer: Path, graces: tuple[float, float], output: int | IO[bytes]
) -> subprocess.Popen[bytes]:
    keeper = [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py")), str(answer.parent)]
    command = [*keeper, *map(str, graces), str(Path(_find_spark_home()) / "bin" / "spark-submit")]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    return subprocess.Popen(
        [*command, *shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))],
        # The gateway writes its port and its secret to the file that this variable names.
        env={**os.environ, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(answer), "SPARK_CONNECT_MODE": "0"},
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        # A Ctrl-C in the terminal is for us, and we stop Spark in good order.
        process_group=0,
    )


def _await_gateway(process: subprocess.Popen[bytes], folder: Path) -> tuple[int, str]:
    answer = folder / "gateway"
    deadline = time.monotonic() + START_TIMEOUT_S
    while not answer.exists():
        if process.poll() is not None:
            raise _not_started(f"Java ended with code {process.returncode}", folder)
        if time.monotonic() > deadline:
            raise _not_started(f"Java did not answer within {START_TIMEOUT_S} s", folder)
        time.sleep(POLL_S)
    return _read_answer(answer.read_bytes())


def _read_answer(data: bytes) -> tuple[int, str]:
    port, length = struct.unpack_from(">ii", data)
    return port, data[8 : 8 + length].decode()


def _not_started(reason: str, folder: Path) -> Permanent:
    return Permanent(f"Spark did not start: {reason}", code="spark-start", excerpt=log_tail(folder))


def log_tail(folder: Path) -> str | None:
    """The end of what Java printed, if it printed anything."""
    try:
        return (folder / "log").read_text(errors="replace")[-LOG_TAIL_CHARS:].strip() or None
    except OSError:
        return None


def _end_process(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    # Spark's gateway ends by itself when its input does. One that was killed leaves a pipe that cannot be emptied.
    if process.stdin:
        with suppress(BrokenPipeError):
            process.stdin.close()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """Other environment variables for the length of a `with` block; None takes one away.

    >>> with environment({"SPARK_HOME": "/opt/spark"}):
    ...     os.environ["SPARK_HOME"]
    '/opt/spark'
    """
    before = {name: os.environ.get(name) for name in changes}
    _set_variables(changes)
    try:
        yield
    finally:
        _set_variables(before)


def _set_variables(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
