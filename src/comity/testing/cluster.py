"""A real Spark cluster on this machine: a master and workers of the packaged Spark, on loopback only.

Its workers stand for machines on which this Comity is installed: the same Python packages, the same folders.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import comity
from comity.errors import Permanent
from comity.pipeline.java import Java, find_java
from comity.pipeline.launch import program_command, program_variables

LOOPBACK = "127.0.0.1"
START_TIMEOUT_S = 180
STOP_TIMEOUT_S = 20
LOG_TAIL_CHARS = 2_000

_POLL_S = 0.05
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_MASTER_URL = re.compile(rf"Starting Spark master at (spark://{re.escape(LOOPBACK)}:\d+)")
_REGISTERED = re.compile(r"Successfully registered with master")

_LOG_SETTINGS = """\
rootLogger.level = warn
logger.deploy.name = org.apache.spark.deploy
logger.deploy.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


@contextmanager
def local_cluster(workers: int = 2, cores: int = 1, memory_mb: int = 1024) -> Iterator[str]:
    """The address of a cluster that is there while the block runs; `cores` and `memory_mb` are those of each worker.

    >>> with local_cluster(workers=1) as master:  # doctest: +SKIP
    ...     master
    'spark://127.0.0.1:...'
    """
    with LocalCluster(workers, cores, memory_mb) as cluster:
        yield cluster.url


@dataclass
class LocalCluster:
    """A cluster that is there while a `with` block runs, and whose workers can be killed in it."""

    worker_count: int = 2
    cores: int = 1
    memory_mb: int = 1024
    url: str = ""
    workers: list[Daemon] = field(default_factory=list)
    _folder: Path | None = None
    _master: Daemon | None = None

    def __enter__(self) -> LocalCluster:
        self._folder = Path(tempfile.mkdtemp(prefix="comity-cluster-"))
        try:
            self._start(self._folder, find_java())
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self, folder: Path, java: Java) -> None:
        environ = _environment(folder, java)
        address = ("--host", LOOPBACK, "--port", "0", "--webui-port", "0")
        command = program_command(java, _MASTER, *address, properties={"spark.master.rest.enabled": "false"})
        self._master = Daemon.start(command, folder / "master", environ)
        self.url = self._master.await_line(_MASTER_URL)
        shares = ("--cores", str(self.cores), "--memory", f"{self.memory_mb}m")
        for number in range(self.worker_count):
            place = folder / f"worker-{number}"
            more = ("--work-dir", str(place / "work"), self.url)
            self.workers.append(Daemon.start(program_command(java, _WORKER, *address, *shares, *more), place, environ))
        for worker in self.workers:
            worker.await_line(_REGISTERED)

    @property
    def daemons(self) -> list[Daemon]:
        """The workers, and the master."""
        return [*self.workers, *([self._master] if self._master else [])]

    def kill_worker(self, number: int) -> None:
        """Kill a worker as a power cut does; its executors notice, and end."""
        self.workers[number].process.kill()

    def stop(self) -> None:
        """End every process of the cluster, and remove its files."""
        for daemon in self.daemons:
            daemon.process.terminate()
        for daemon in self.daemons:
            daemon.end()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


@dataclass
class Daemon:
    """A process in a session of its own, with everything that it starts, and the file that it logs to."""

    process: subprocess.Popen[bytes]
    log: Path

    @classmethod
    def start(cls, command: list[str], folder: Path, environ: dict[str, str]) -> Daemon:
        """Start it; it logs to a file in the folder."""
        folder.mkdir()
        path = folder / "log"
        with path.open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return cls(process, path)

    def await_line(self, pattern: re.Pattern[str]) -> str:
        """The last group of the first match in the log."""
        found: list[str] = []

        def is_there() -> bool:
            match = pattern.search(self.log.read_text(errors="replace"))
            found.extend([match.group(match.lastindex or 0)] if match else [])
            return bool(match) or self.process.poll() is not None

        _wait(is_there, START_TIMEOUT_S)
        if not found:
            tail = self.log.read_text(errors="replace")[-LOG_TAIL_CHARS:].strip()
            raise Permanent("the cluster did not start", code="cluster-start", excerpt=tail or None)
        return found[0]

    def end(self) -> None:
        """Wait until nothing of its session is left, and kill what does not end by itself."""
        _wait(self._is_over, STOP_TIMEOUT_S)
        self.process.kill()
        for process in session_members(self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.process.wait()
        _wait(self._is_over, STOP_TIMEOUT_S)

    def _is_over(self) -> bool:
        return self.process.poll() is not None and not session_members(self.process.pid)


def session_members(session: int) -> list[int]:
    """The processes of a session that still run, as far as the system tells (where there is a /proc).

    >>> os.getpid() in session_members(os.getsid(0)) or not Path("/proc/self/stat").exists()
    True
    """
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if _session_of(path) == session]


def _session_of(process: Path) -> int | None:
    """The session of a process in /proc; None if it ended."""
    try:
        # The name may hold spaces, but ends with the last bracket; the session is the fourth field after it.
        state, _, _, session = (process / "stat").read_text().rpartition(")")[2].split()[:4]
    except OSError:
        return None
    return None if state == "Z" else int(session)


def _wait(is_done: Callable[[], bool], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_done() and time.monotonic() < deadline:
        time.sleep(_POLL_S)


def _environment(folder: Path, java: Java) -> dict[str, str]:
    """The environment of the daemons, which executors and their Python workers inherit."""
    for name in ("conf", "local", "tmp"):
        (folder / name).mkdir()
    settings = folder / "conf" / "log4j2.properties"
    settings.write_text(_LOG_SETTINGS)
    options = (f"-Djava.io.tmpdir={folder / 'tmp'}", f"-Dlog4j2.configurationFile={settings.as_uri()}")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    wanted = {
        **inherited,
        **program_variables(java),
        # Java also keeps a file of figures for each process, outside of the folder for temporary files.
        "JDK_JAVA_OPTIONS": " ".join((inherited.get("JDK_JAVA_OPTIONS", ""), "-XX:-UsePerfData", *options)).strip(),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(_packages()), inherited.get("PYTHONPATH")))),
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": LOOPBACK,
        "TMPDIR": str(folder / "tmp"),
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _packages() -> Path:
    """The folder from which this Comity was imported."""
    return Path(comity.__file__).parents[1]
