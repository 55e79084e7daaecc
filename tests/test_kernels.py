"""Kernels stand alone: what they import is compiled with them, so an edit elsewhere does not compile them again."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import comity

ROOT = Path(comity.__file__).parent
FOLDERS = (
    "event/scan/kernels",
    "match/kernels",
    "pattern/flat/kernels",
    "pattern/kernels",
    "route/kernels",
    "simulate/kernels",
)


@pytest.mark.parametrize("folder", FOLDERS)
def test_kernels_import_kernels_only(folder: str) -> None:
    own = "comity." + folder.replace("/", ".")
    for file in (ROOT / folder).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("comity"):
                assert node.module == "comity.compiled" or (node.module or "").startswith(own + "."), file


def test_all_kernels_are_in_these_folders() -> None:
    decorated = {
        path.parent.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if any(f"\n@{name}\n" in path.read_text() for name in ("kernel", "inlined", "operation"))
    }
    assert decorated == set(FOLDERS)


PROGRAM = """
from typing import Any, NamedTuple

import numpy as np

from comity.compiled import kernel


class Buffers(NamedTuple):
    values: Any


@kernel
def total(buffers: Any) -> Any:
    found = 0
    for value in buffers.values:
        found += value
    return found


print(total(Buffers(np.arange(4))))
"""


def test_what_was_compiled_for_a_class_of_another_name_is_compiled_again(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for program in (PROGRAM, PROGRAM.replace("Buffers", "Renamed")):
        (tmp_path / "summing.py").write_text(program)
        command = [sys.executable, "-c", "import summing"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.stdout == "6\n", done.stderr
