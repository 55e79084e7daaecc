"""What CONTRIBUTING.md and SECURITY.md name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("CONTRIBUTING.md", "SECURITY.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:tests|docs|comity)/[\w/.]+)`", text))
    named |= {link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link}
    assert named
    assert [path for path in named if not (ROOT / path).exists() and not (ROOT / "src" / path).exists()] == []


def test_every_target_of_make_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    named = set(re.findall(r"`make ([a-z]+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    assert named
    assert named <= targets


def test_every_package_of_the_walks_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    walks = text[text.index("## Two walks") : text.index("## How the code reads")]
    named = set(re.findall(r"`([a-z]+(?:/[a-z]+)?)`", walks))
    assert "expression" in named
    assert [one for one in named if not (ROOT / "src/comity" / one).is_dir()] == []
