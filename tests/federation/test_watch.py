"""A federation whose files change while it runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from comity.errors import ComityError, Misuse
from comity.federation.watch import WatchedFederation

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"
PAIR = """profiles:
  spreading:
    domain: fire_station
    on: Incident a ; Incident b {frame}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "city"))


def test_current_takes_a_composite_profile_that_is_added(folder: Path) -> None:
    faults: list[ComityError] = []
    watched = WatchedFederation(folder, faults.append)
    assert not watched.current().composites
    (folder / "profiles" / "more.yaml").write_text(PAIR.format(frame="within 10 min"))
    assert list(watched.current().composites) == ["spreading"]
    assert not faults


def test_current_stays_when_a_profile_is_added_whose_state_has_no_bound(folder: Path) -> None:
    faults: list[ComityError] = []
    watched = WatchedFederation(folder, faults.append)
    before = watched.current()
    (folder / "profiles" / "more.yaml").write_text(PAIR.format(frame=""))
    assert watched.current() is before
    assert [one.code for one in faults] == ["unbounded-pattern"]


def test_current_refuses_to_begin_with_such_a_profile(folder: Path) -> None:
    (folder / "profiles" / "more.yaml").write_text(PAIR.format(frame=""))
    with pytest.raises(Misuse, match="without bound"):
        WatchedFederation(folder).current()


def test_current_takes_a_text_of_profiles_that_is_added(folder: Path) -> None:
    watched = WatchedFederation(folder)
    assert not watched.current().composites
    (folder / "profiles" / "fire_station.txt").write_text("profile spreading on Incident a ; Incident b within 1 h\n")
    assert list(watched.current().composites) == ["spreading"]
