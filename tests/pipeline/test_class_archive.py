"""The archive of Spark's classes: where it is, who takes it, and that Java really begins with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from comity.errors import Misuse, Permanent
from comity.pipeline.class_archive import archive_being_made, archive_of, archive_options
from comity.pipeline.java import Java

STARTS = """\
import sys
from comity.pipeline.session import spark_session, stop_session
spark = spark_session("local[1]", brief=True, config={"spark.driver.extraJavaOptions": sys.argv[1]})
print(spark.range(3).count())
stop_session(spark)
"""


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    """A Java that cannot run, with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    program = tmp_path / "java" / "bin" / "java"
    (program.parents[1] / "lib" / "server").mkdir(parents=True)
    (program.parents[1] / "lib" / "server" / "classes.jsa").touch()
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    return Java("PATH", 17, program.parents[1], program)


def test_there_is_no_archive_at_first(java: Java) -> None:
    assert archive_options(java) == ()


def test_an_archive_that_was_written_is_taken(java: Java) -> None:
    with archive_being_made(java) as (option, _):
        Path(option.partition("=")[2]).write_bytes(b"classes")
    archive = archive_of(java)
    assert archive is not None
    assert archive.read_bytes() == b"classes"
    assert archive_options(java)[0] == f"-XX:SharedArchiveFile={archive}"
    assert [file.name for file in archive.parent.iterdir()] == [archive.name]


def test_another_java_has_another_archive(java: Java) -> None:
    before = archive_of(java)
    assert java.program is not None
    java.program.write_text("#!/bin/sh\n# another\n")
    assert archive_of(java) != before


def test_a_java_that_writes_nothing_is_told(java: Java) -> None:
    with pytest.raises(Permanent) as raised, archive_being_made(java):
        pass
    assert raised.value.code == "no-class-archive"
    assert archive_options(java) == ()


def test_without_a_home_there_is_no_place_for_it(java: Java, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    assert archive_options(java) == ()
    with pytest.raises(Misuse) as raised, archive_being_made(java):
        pass
    assert raised.value.code == "no-cache-folder"


@pytest.mark.slow
@pytest.mark.spark
def test_spark_begins_with_the_archive_that_warm_up_made(tmp_path: Path) -> None:
    said = run(["-m", "comity", "warm-up", "--format", "json"])
    assert Path(json.loads(said)["archive"]).stat().st_size > 50_000_000
    log = tmp_path / "classes.log"
    assert run(["-c", STARTS, f"-Xlog:class+load:file={log}"]) == "3\n"
    loaded = [line for line in log.read_text().splitlines() if "org.apache.spark.SparkContext " in line]
    assert len(loaded) == 1
    assert loaded[0].endswith("source: shared objects file (top)")


@pytest.mark.slow
@pytest.mark.spark
def test_spark_begins_though_its_archive_is_broken(tmp_path: Path) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path)}
    archive = run(
        [
            "-c",
            "from comity.pipeline.class_archive import *; from comity.pipeline.java import find_java; "
            "print(archive_of(find_java()))",
        ],
        cache,
    )
    Path(archive.strip()).parent.mkdir(parents=True, exist_ok=True)
    Path(archive.strip()).write_bytes(b"no archive" * 1_000)
    assert run(["-c", STARTS, ""], cache) == "3\n"


def run(arguments: list[str], variables: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
