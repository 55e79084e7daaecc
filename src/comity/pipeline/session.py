"""Starts Spark inside this process: quiet, without configuration, and leaving nothing behind."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pyspark
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from comity.errors import Misuse, Permanent
from comity.pipeline.class_archive import archive_options
from comity.pipeline.java import Java, find_java
from comity.pipeline.launch import Runtime, environment, launch, log_tail

# How Comity's plans expect SQL to behave, wherever Spark runs.
SQL_SETTINGS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "32768",
    # Spark would look up and note the line of code for each part of an expression, in several calls to Java.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

_LOCAL = re.compile(r"local(?:\[\s*(?P<cores>\d+|\*)\s*(?:,\s*\d+\s*)?\])?")
_LOOPBACK_CLUSTER = re.compile(r"spark://(?:127\.0\.0\.1|localhost):\d+")
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_PYTHON = "spark.pyspark.python"
_KILLED = re.compile(r"Application has been killed\. Reason: (?P<reason>.+)")

_runtime: Runtime | None = None


def spark_session(
    master: str | None = None,
    *,
    app_name: str = "comity",
    config: Mapping[str, str] | None = None,
    brief: bool = False,
    verbose: bool = False,
    patience_s: float | None = None,
) -> SparkSession:
    """The Spark session of this process, started if there is none.

    Without a master Spark runs here, on all cores (`local[*]`), or where `spark-submit` has put us. `config` overrides
    every setting; options for Java are added to ours. The nodes of a cluster use the Python of `spark.pyspark.python`,
    of the variable PYSPARK_PYTHON, or the one at the same path as ours. A `brief` session starts a job in half the time
    and runs long ones slower. With `verbose` Spark's log goes to standard error. Java may take `patience_s` to end.

    >>> spark = spark_session("local[2]")  # doctest: +SKIP
    >>> spark.range(3).count()  # doctest: +SKIP
    3
    """
    if SparkContext._active_spark_context is not None:
        return _join(master, config or {})
    if master is None and not _is_submitted():
        master = "local[*]"
    return _start(master, app_name, _for_brief_jobs(config or {}) if brief else config or {}, verbose, patience_s)


def stop_session(spark: SparkSession) -> None:
    """Stops Spark, and if we started it ends Java and removes its files; the next session starts afresh."""
    if _runtime is not None:
        _runtime.hurry()
    spark.stop()
    _end_runtime()


def abandon_session() -> None:
    """End the Java that we started at once: calls to it that are under way fail, and nobody waits for their answers."""
    if _runtime is not None:
        _runtime.kill()


def _for_brief_jobs(config: Mapping[str, str]) -> dict[str, str]:
    """Java's optimising compiler takes more than it gives when the job is over in seconds."""
    return {**config, _JAVA_OPTIONS: f"{config.get(_JAVA_OPTIONS, '')} -XX:TieredStopAtLevel=1".strip()}


def local_cores(master: str) -> int | None:
    """How many cores a local master uses; None if the master is not local.

    >>> local_cores("local[3]"), local_cores("local"), local_cores("spark://host:7077")
    (3, 1, None)
    """
    match = _LOCAL.fullmatch(master)
    if match is None:
        return None
    cores = match["cores"] or "1"
    return _available_cores() if cores == "*" else int(cores)


def _available_cores() -> int:
    # A container may be given fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _is_submitted() -> bool:
    # spark-submit starts Java first and us second.
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _join(master: str | None, config: Mapping[str, str]) -> SparkSession:
    """A session on the Spark that runs already; somebody else's session keeps its own settings."""
    with environment({"SPARK_REMOTE": None}):
        spark = SparkSession.builder.getOrCreate()
    if master not in (None, spark.sparkContext.master):
        raise _already_running(f"on {spark.sparkContext.master}, not on {master}")
    if _runtime is None:
        spark = spark.newSession()
    for key, value in {**SQL_SETTINGS, **config}.items():
        if spark.conf.isModifiable(key):
            spark.conf.set(key, value)
        elif spark.sparkContext.getConf().get(key) != value:
            raise _already_running(f"and {key} cannot be changed any more")
    return spark


def _already_running(how: str) -> Misuse:
    return Misuse(f"Spark runs already, {how}", code="spark-running", hint="stop the running session first")


def _start(
    master: str | None, app_name: str, config: Mapping[str, str], verbose: bool, patience_s: float | None
) -> SparkSession:
    """A session on a Spark of its own, or nothing left of the attempt."""
    # Java's own settings cannot be changed any more, so a process that is left from before is of no use.
    _end_runtime()
    folder = Path(tempfile.mkdtemp(prefix="comity-spark-"))
    try:
        java = find_java() if _needs_java() else None
        settings = _settings(master, app_name, folder, config, verbose, java)
        with environment(_variables(master, java)):
            return _start_context(settings, folder, verbose, patience_s)
    except (PySparkException, Py4JError) as error:
        failure = _not_started(master, error, folder)
        _give_up(folder)
        raise failure from error
    except BaseException:
        _give_up(folder)
        raise


def _start_context(settings: Mapping[str, str], folder: Path, verbose: bool, patience_s: float | None) -> SparkSession:
    global _runtime
    if _needs_java():
        _runtime = launch(settings, folder, verbose=verbose, patience_s=patience_s)
        SparkContext._gateway = _runtime.gateway
        SparkContext._jvm = _runtime.gateway.jvm
    _choose_python(SparkContext(conf=SparkConf().setAll(list(settings.items()))))
    return SparkSession.builder.getOrCreate()


def _choose_python(context: SparkContext) -> None:
    # Only spark-submit heeds this setting, which may also stand in the defaults of the cluster.
    chosen = context.getConf().get(_PYTHON)
    if chosen and local_cores(str(context.master)) is None:
        context.pythonExec = chosen


def _needs_java() -> bool:
    return SparkContext._gateway is None and not _is_submitted()


def _settings(
    master: str | None, app_name: str, folder: Path, config: Mapping[str, str], verbose: bool, java: Java | None
) -> dict[str, str]:
    settings = {"spark.app.name": app_name, "spark.ui.showConsoleProgress": "false", **SQL_SETTINGS}
    if master is not None:
        settings["spark.master"] = master
        cores = local_cores(master)
        if cores is not None:
            settings |= _embedded_settings(cores, folder, verbose)
        elif _LOOPBACK_CLUSTER.fullmatch(master):
            settings |= _LOOPBACK_SETTINGS
    options = [
        text for text in (settings.get(_JAVA_OPTIONS), _archive(config, java), config.get(_JAVA_OPTIONS)) if text
    ]
    settings |= config
    if options:
        settings[_JAVA_OPTIONS] = " ".join(options)
    return settings


def _archive(config: Mapping[str, str], java: Java | None) -> str:
    """The options for the archive of classes, unless somebody says which, or makes one."""
    is_chosen = any(option in config.get(_JAVA_OPTIONS, "") for option in ("SharedArchiveFile", "ArchiveClassesAtExit"))
    return "" if java is None or is_chosen else " ".join(f'"{option}"' for option in archive_options(java))


def _embedded_settings(cores: int, folder: Path, verbose: bool) -> dict[str, str]:
    for name in ("local", "tmp"):
        (folder / name).mkdir()
    return {
        **_LOOPBACK_SETTINGS,
        "spark.driver.memory": "2g",
        _JAVA_OPTIONS: _java_options(folder, verbose),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.files.minPartitionNum": str(4 * cores),  # so that no core waits long for the last part
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }


# The name of this machine may lead elsewhere, and nobody but us is to reach what stays on it.
_LOOPBACK_SETTINGS: Mapping[str, str] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}


def _java_options(folder: Path, verbose: bool) -> str:
    log_settings = Path(__file__).with_name("log4j2.properties")
    options = (
        "-XX:-DontCompileHugeMethods",  # filters of many profiles become one long method, which must not stay slow
        f"-Djava.io.tmpdir={folder / 'tmp'}",
        f"-Dlog4j2.configurationFile={log_settings.as_uri()}",
        f"-Dcomity.log.level={'warn' if verbose else 'error'}",
    )
    return " ".join(f'"{option}"' for option in options)


def _variables(master: str | None, java: Java | None) -> dict[str, str | None]:
    """Environment variables for the start; None takes one away."""
    variables: dict[str, str | None] = {"SPARK_REMOTE": None}
    if java is not None:
        variables["JAVA_HOME"] = str(java.home) if java.home else None
    if master is not None and local_cores(master) is not None:
        # Another Spark or another Python that the machine is set up for would not fit this one.
        variables |= {
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
    elif master is not None:
        variables["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON") or sys.executable
        if _LOOPBACK_CLUSTER.fullmatch(master):
            variables["SPARK_LOCAL_IP"] = "127.0.0.1"
    return variables


def _not_started(master: str | None, error: Exception, folder: Path) -> Permanent:
    cause = str(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)
    log = log_tail(folder)
    # When a cluster refuses us, the error only says that Spark is stopped, in many lines; the log says why.
    killed = _KILLED.search(log or "")
    reason = killed["reason"] if killed else cause.strip().partition("\n")[0]
    where = f" on {master}" if master else ""
    return Permanent(f"Spark did not start{where}: {reason}", code="spark-start", excerpt=None if killed else log)


def _give_up(folder: Path) -> None:
    _end_runtime()
    shutil.rmtree(folder, ignore_errors=True)


def _end_runtime() -> None:
    """Ends the Java process that we started, if any, together with the Spark in it."""
    global _runtime
    if _runtime is None or _runtime.owner != os.getpid():
        return
    runtime, _runtime = _runtime, None
    runtime.hurry()
    _stop_context()
    SparkContext._gateway = None
    SparkContext._jvm = None
    runtime.end()


def _stop_context() -> None:
    # Java may have ended before us, and then there is nobody left to be told.
    with warnings.catch_warnings(), suppress(Py4JError, OSError):
        warnings.simplefilter("ignore", RuntimeWarning)
        context = SparkContext._active_spark_context
        if context is not None:
            context.stop()


atexit.register(_end_runtime)
