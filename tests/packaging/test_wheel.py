"""The wheel, as somebody has it who has no checkout: installed into an environment of its own, used from there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from tests.docs.pages import blocks

ROOT = Path(__file__).parents[2]
_NOT_BUILT_FROM = shutil.ignore_patterns(
    ".*", "__pycache__", "build", "dist", "*.egg-info", "tests", "docs", "benchmarks"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing is left in the tree."""
    source, built = tmp_path_factory.mktemp("source") / "comity", tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, source, ignore=_NOT_BUILT_FROM, symlinks=True)
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(built), str(source))
    return next(built.glob("comity-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel. Ours lends it what it depends on (hundreds of megabytes), but not this tree."""
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    _pip("--python", str(environment / "bin" / "python"), "install", "--no-deps", str(wheel))
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return environment / "bin"


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet", *arguments]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def call(program: Path, *arguments: str, cwd: Path) -> str:
    """What it prints; it must end well."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([program, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


def test_metadata_describes_the_project(wheel: Path) -> None:
    told = metadata(wheel)
    assert told["Description-Content-Type"] == "text/markdown"
    assert "Subscribe once" in str(told.get_payload())
    assert told["License-Expression"] == "Apache-2.0"


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    """What is in the tree and not in the wheel works here and nowhere else."""
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    kept = subprocess.run(["git", "ls-files", "src", "examples"], cwd=ROOT, capture_output=True, text=True, check=False)
    if kept.returncode:
        pytest.skip("this tree is no checkout: there is no list of its files")
    inside = {path.removeprefix("src/") for path in kept.stdout.splitlines() if path.startswith("src/")}
    examples = {f"comity/{path}" for path in kept.stdout.splitlines() if path.startswith("examples/")}
    assert not (inside - {"comity/examples"} | examples) - held


def test_the_program_is_that_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    where = call(installed / "python", "-c", "import comity; print(comity.__file__)", cwd=tmp_path)
    assert where.startswith(str(installed.parent))


def test_demo_in_this_process(installed: Path, tmp_path: Path) -> None:
    told = call(installed / "comity", "demo", "--engine", "local", cwd=tmp_path)
    assert "police receives, in its own types and units" in told


def test_demo_on_spark(installed: Path, tmp_path: Path) -> None:
    assert "This ran on Spark" in call(installed / "comity", "demo", cwd=tmp_path)


def test_an_example_is_copied_and_run_on_spark(installed: Path, tmp_path: Path) -> None:
    call(installed / "comity", "examples", "bus_location", cwd=tmp_path)
    command = ["run", "examples/bus_location", "--events", "examples/bus_location/events", "--out", "results"]
    assert "records read" in call(installed / "comity", *command, cwd=tmp_path)


def test_the_examples_of_the_readme(installed: Path, tmp_path: Path) -> None:
    """The test of the pages, in a tree that has pages, examples and tests, and no source."""
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("docs", "examples", "tests/docs", "tests/kafka"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shared = [path for path in (ROOT / "tests").glob("*.py") if not path.name.startswith("test_")]
    for path in shared:
        shutil.copy(path, tmp_path / "tests")
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "pythonpath=.", "tests/docs/test_examples.py"]
    told = call(installed / "python", *arguments, "-k", "test_page and README", cwd=tmp_path)
    assert "1 passed" in told


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the how-to about connectors, with the source that filters as a package of its own."""
    folder = tmp_path_factory.mktemp("plugin")
    for block in blocks(ROOT / "docs" / "how-to" / "add-a-connector.md"):
        if block.file is not None and "dist-info" not in block.file:
            target = folder / block.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.body, encoding="utf-8")
    (folder / "package").mkdir()
    shutil.copy(folder / "plugin" / "ranges.py", folder / "package")
    (folder / "package" / "pyproject.toml").write_text(PLUGIN, encoding="utf-8")
    return folder


PLUGIN = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "ranges"
version = "1.0"

[project.entry-points."comity.connectors"]
ranges = "ranges:CONNECTOR"

[tool.setuptools]
py-modules = ["ranges"]
"""


def test_a_plugin_that_filters(installed: Path, plugin: Path) -> None:
    """A connector of another package, installed beside the wheel, is asked for what it can filter."""
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(plugin / "built"), str(plugin / "package"))
    (built,) = (plugin / "built").glob("ranges-*.whl")
    _pip("--python", str(installed / "python"), "install", "--no-deps", str(built))
    assert "asked for number > 990" in call(installed / "comity", "explain", "counters", cwd=plugin)
    told = call(installed / "comity", "run", "counters", "--out", "counted", "--engine", "local", cwd=plugin)
    assert "10 records read" in told
    assert "late: 5" in told
    suite = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "plugin/test_ranges.py"]
    assert "passed" in call(installed / "python", *suite, cwd=plugin)
