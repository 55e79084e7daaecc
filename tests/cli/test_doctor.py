"""`comity doctor`: what it finds, and that it says so when something is wrong."""

import json
import os
import socket
from pathlib import Path

import pytest

from comity.errors import Misuse
from comity.run import doctor
from comity.run.doctor import Check, Status


def _found(comity, *arguments):
    result = comity("doctor", *arguments, "--format", "json")
    told = json.loads(result.out)
    assert result.code == (0 if told["ok"] else 1)
    return {one["check"]: one for one in told["checks"]}


def test_a_machine_that_runs_these_tests_is_well(comity, tmp_path):
    result = comity("doctor", "--out", tmp_path / "a" / "b")
    assert result.code == 0
    for name in ("python", "java", "memory", "disk", "results folder", "loopback", "clock", "open files"):
        assert f" {name}: " in result.out
    assert "none failed" in result.err


def test_a_port_that_is_taken_and_a_master_that_is_not_there(comity):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = _found(comity, "--port", port, "--master", f"spark://127.0.0.1:{port}")
        assert (found[f"port {port}"]["status"], found["master"]["status"]) == ("failure", "ok")
    found = _found(comity, "--port", port, "--master", f"spark://127.0.0.1:{port}")
    assert (found[f"port {port}"]["status"], found["master"]["status"]) == ("ok", "failure")
    assert "7077" in found["master"]["hint"]


def test_no_java(comity, monkeypatch):
    monkeypatch.setattr(doctor, "find_java", _raising(Misuse("none", code="java-not-found", hint="install it")))
    found = _found(comity)["java"]
    assert (found["status"], found["found"], found["hint"]) == ("failure", "none", "install it")


def test_results_in_a_file(comity, write):
    assert _found(comity, "--out", write("results", ""))["results folder"]["status"] == "failure"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_results_where_nothing_can_be_written(comity, tmp_path):
    tmp_path.chmod(0o500)
    assert _found(comity, "--out", tmp_path / "out")["results folder"]["status"] == "failure"


def test_check_memory():
    assert doctor.check_memory(2_000, 1_999).status is Status.FAILURE
    assert doctor.check_memory(2_000, 3_999).status is Status.WARNING
    assert doctor.check_memory(2_000, 4_000).status is Status.OK
    assert doctor.spark_memory_bytes() >= 1 << 30


def test_check_clock():
    assert doctor.check_clock(0.0).status is Status.FAILURE
    assert doctor.check_clock(4_000_000_000.0).status is Status.WARNING


def test_check_packages():
    assert doctor.check_packages("nosuchpackage").status is Status.WARNING
    assert doctor.check_packages("typer").status is Status.OK


@pytest.mark.parametrize(
    ("bound", "is_met"),
    [(">=0.20,<99", True), (">=99", False), ("<0.1", False), ("==99", False), ("!=99", True), ("", True)],
)
def test_package_fault(bound, is_met):
    assert (doctor.package_fault(f"typer{bound}") is None) is is_met


def test_check_master_that_cannot_be_tried():
    assert doctor.check_master("yarn").status is Status.WARNING
    assert doctor.check_master("local[2]").status is Status.OK
    assert doctor.check_master("spark://nowhere").status is Status.FAILURE


def test_a_check_that_breaks_is_a_failure():
    found = Check("x", _raising(ZeroDivisionError("by\nzero"))).run()
    assert (found.status, found.text) == (Status.FAILURE, "ZeroDivisionError: by")


@pytest.mark.slow
def test_spark_really_starts(start):
    process = start("doctor", "--spark", "--master", "local[1]", "--format", "json")
    out, err = process.communicate(timeout=180)
    spark = json.loads(out)["checks"][-1]
    assert (process.returncode, spark["status"]) == (0, "ok"), err
    assert "Python worker" in spark["found"]
    assert not list(Path.cwd().glob("spark-warehouse"))


def _raising(error):
    def fail(*_):
        raise error

    return fail
