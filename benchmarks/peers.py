"""What benchmarks need to run engines of others: their programs are found, built into a folder of their own, and run on
one core. A peer that cannot run says why."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE / ".peers"
TIMEOUT_S = 1800


class CannotRun(Exception):
    """A peer cannot run here; the text says why."""


def tool(name: str) -> str:
    """The path of a program that builds or runs a peer."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=str(Path(home, "bin"))) if home else None
    if found := found or shutil.which(name):
        return found
    if name.startswith("java"):
        raise CannotRun(f"no {name}: a JDK (17 or newer) is needed, on the PATH or at JAVA_HOME")
    raise CannotRun(f"no {name} on the PATH")


def run_tool(command: list[str], complaint: str, folder: Path | None = None) -> None:
    """Run a program, and say what went wrong if it failed."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise CannotRun(f"{complaint}:\n{(done.stderr or done.stdout)[-2000:]}")


def compile_java(main: str, sources: Sequence[Path], jars: Path, classes: Path) -> None:
    """The classes of a peer's program, made if a source is newer."""
    made = classes / f"{main}.class"
    if not made.exists() or made.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        # Siddhi's jars hold an annotation processor that fails on records.
        options = ["-proc:none", "-nowarn", "-d", str(classes), "-cp", f"{jars}/*"]
        run_tool([tool("javac"), *options, *map(str, sources)], f"{main} does not compile")


def java(main: str, classes: Path, jars: Path, options: Sequence[str] = ()) -> list[str]:
    """The command of a program in Java that has one core."""
    one_core = ["-XX:ActiveProcessorCount=1", "-XX:+UseSerialGC", "-Xms2g", "-Xmx6g"]
    return [tool("java"), *one_core, *options, "-cp", f"{classes}{os.pathsep}{jars}/*", main]


def on_one_core(command: list[str], name: str, timeout_s: float = TIMEOUT_S) -> str:
    """The last line that a program prints, run on one core."""
    if taskset := shutil.which("taskset"):
        command = [taskset, "-c", str(min(os.sched_getaffinity(0))), *command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise CannotRun(f"{name} took more than {timeout_s:,.0f} s") from None
    if done.returncode or not done.stdout.strip():
        raise CannotRun(f"{name} failed:\n{done.stderr[-2000:]}")
    return done.stdout.splitlines()[-1]
