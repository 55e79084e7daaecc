"""Kernels stand alone: what they import is compiled with them, so an edit elsewhere does not compile them again."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import comity

ROOT = Path(comity.__file__).parent
FOLDERS = ("event/scan/kernels", "match/kernels", "pattern/flat/kernels")


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
