"""What is true of every page: its links lead somewhere, it fits the code, and it names no machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, blocks, generator, name_of

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (?P<title>.+)$", re.M)
_FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
_FORBIDDEN = re.compile(
    r"(?<![\w.])/(?:home|root|work|tmp|usr|opt|Users|var)/|[A-Z]:\\|\b(?:pypi\.org|pythonhosted|conda\.|repo1?\.maven|localhost)\b"
    r"|index-url|shields\.io",
    re.I,
)

every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


def prose(page: Path) -> str:
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as links spell them."""
    titles = (found["title"] for found in _HEADING.finditer(prose(page)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for found in _LINK.finditer(prose(page)):
        target, _, anchor = found["target"].partition("#")
        if re.match(r"https?:", target):
            continue
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{found['target']} does not exist"
        assert not anchor or anchor in anchors(there), f"{found['target']} has no such heading"


@every_page
def test_no_page_names_a_machine_or_a_registry(page: Path) -> None:
    found = _FORBIDDEN.search(page.read_text(encoding="utf-8"))
    assert found is None, found


@every_page
def test_fences_are_closed_and_named(page: Path) -> None:
    assert page.read_text(encoding="utf-8").count("\n```") % 2 == 0
    assert all(block.language for block in blocks(page))


def test_every_page_is_linked_from_the_index() -> None:
    linked = {
        (DOCS / found["target"].partition("#")[0]).resolve() for found in _LINK.finditer(prose(DOCS / "index.md"))
    }
    assert not [name_of(page) for page in PAGES[1:] if page != DOCS / "index.md" and page.resolve() not in linked]


def test_generated_pages_fit_the_code() -> None:
    assert not generator().stale()


def test_the_check_of_generated_pages_runs_on_its_own() -> None:
    command = [sys.executable, str(DOCS / "generate.py"), "--check"]
    environment = {"PYTHONPATH": str(ROOT / "src")}
    assert subprocess.run(command, env=environment, check=False).returncode == 0


def test_every_error_code_is_explained() -> None:
    generate = generator()
    meanings = generate.error_meanings()
    used = set(generate.codes_in_source()) | set(meanings["computed"])
    assert used == set(meanings["errors"]) | set(meanings["records"])


def test_every_public_name_is_in_the_documentation() -> None:
    import comity

    text = " ".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert not [name for name in comity.__all__ if not re.search(rf"\b{name}\b", text)]
