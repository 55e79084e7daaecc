"""The page on the architecture tells of every package and where it is, and how imports go, as that is checked."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "comity"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TABLE = PAGE[PAGE.index("## Packages") : PAGE.index("Imports go one way")]


def rows() -> dict[str, str]:
    """By name, without what follows it (`/`, `.py`): what the page says that it holds."""
    found: dict[str, str] = {}
    for names, holds in re.findall(r"^\| (`.*?) \| (.*) \|$", TABLE, re.M):
        for name in re.findall(r"`(\w+)(?:/|\.py)`", names):
            assert name not in found, f"{name} stands there twice"
            found[name] = holds
    return found


def test_the_table_has_every_package_and_no_other() -> None:
    there = {one.stem for one in SOURCE.iterdir() if one.suffix == ".py" and not one.stem.startswith("__")}
    there |= {one.parent.name for one in SOURCE.glob("*/__init__.py")}
    assert rows().keys() == there


def test_folders_that_it_names_are_there() -> None:
    named = {f"{package}/{folder}" for package, holds in rows().items() for folder in re.findall(r"`(\w+)/`", holds)}
    assert "event/formats" in named
    assert [one for one in sorted(named) if not (SOURCE / one).is_dir()] == []


def test_imports_go_as_they_are_checked() -> None:
    told = PAGE[PAGE.index("Imports go one way") : PAGE.index("`make check` verifies it")]
    layers = [set(re.findall(r"\w+", layer)) for layer in re.findall(r"`([^`]+)`", told)]
    known = rows().keys()
    (checked, *_) = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    wanted = [set(re.findall(r"\w+", layer)) & known for layer in checked["layers"]]
    assert layers == [layer for layer in wanted if layer and layer != {"testing"}]
