"""A federation whose files change while it runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from comity.errors import ComityError, Misuse
from comity.federation import load
from comity.federation.watch import Removed, WatchedFederation

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


@dataclass
class Disturbed:
    """A clock that moves on with each sleep, and things that happen to the files at a time."""

    events: dict[float, Callable[[], object]] = field(default_factory=dict)
    now_s: float = 0.0

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        for at in [one for one in self.events if one <= self.now_s]:
            self.events.pop(at)()


@dataclass
class Watching:
    """A federation that is watched, and all that was told of it."""

    folder: Path
    time: Disturbed = field(default_factory=Disturbed)
    faults: list[str] = field(default_factory=list)
    removed: list[Removed] = field(default_factory=list)

    def __post_init__(self) -> None:
        take = lambda error: self.faults.append(error.code)  # noqa: E731
        self.watched = WatchedFederation(self.folder, take, self.removed.append, self.time.clock, self.time.sleep)
        self.before = self.watched.current()

    def is_as_before(self) -> bool:
        return self.watched.current() is self.before


@pytest.fixture
def watching(folder: Path) -> Watching:
    return Watching(folder)


def test_a_contract_file_that_is_removed_is_told_once_and_then_counts(watching: Watching) -> None:
    contract = watching.folder / "contracts" / "fire.yaml"
    contract.unlink()
    after = watching.watched.current()
    assert watching.time.now_s >= 2
    assert after.contracts.keys() == watching.before.contracts.keys() - {"fire"}
    (removed,) = watching.removed
    assert (removed.files, removed.contracts, removed.profiles) == ((contract,), ("fire",), ())
    assert "fire.yaml" in str(removed)
    assert "without contract fire" in str(removed)
    assert watching.watched.current() is after
    assert len(watching.removed) == 1


def test_a_table_that_no_contract_names_any_more_is_not_told_as_removed(folder: Path) -> None:
    contract = folder / "contracts" / "fire.yaml"
    text = contract.read_text().replace(
        "{niedrig: 1, mittel: 2, hoch: 3}", "{file: levels.csv, key: word, value: level}"
    )
    contract.write_text(text)
    contract.with_name("levels.csv").write_text("word,level\nniedrig,1\nmittel,2\nhoch,3\n")
    watching = Watching(folder)
    contract.unlink()
    assert "fire" not in watching.watched.current().contracts
    without = watching.time.now_s
    contract.write_text(text)
    assert "fire" in watching.watched.current().contracts
    assert watching.time.now_s - without < 1
    assert [removed.files for removed in watching.removed] == [(contract,)]


def test_a_file_that_is_removed_and_written_again_is_a_replacement(watching: Watching) -> None:
    profiles = next((watching.folder / "profiles").glob("*.yaml"))
    text = profiles.read_text().replace("serious_fires", "grave_fires")
    profiles.unlink()
    watching.time.events[1.5] = lambda: profiles.write_text(text)
    after = watching.watched.current()
    assert "grave_fires" in after.profiles
    assert "serious_fires" not in after.profiles
    assert not watching.removed
    assert not watching.faults


def test_a_file_that_comes_back_as_it_was_is_no_loss(watching: Watching) -> None:
    contract = watching.folder / "contracts" / "fire.yaml"
    aside = contract.with_suffix(".bak")
    contract.rename(aside)
    watching.time.events[0.5] = lambda: aside.rename(contract)
    assert watching.watched.current().contracts.keys() == watching.before.contracts.keys()
    assert not watching.removed


@pytest.mark.parametrize(
    "first", ["", "profiles:\n", "profiles:\n  serious_fires: {domain: fire_station, on: Incident}\n"]
)
def test_a_file_that_is_written_in_pieces_counts_when_it_is_whole(watching: Watching, first: str) -> None:
    profiles = next((watching.folder / "profiles").glob("*.yaml"))
    rest = profiles.read_text()[len(first) :] if not first.strip() else "  all: {domain: fire_station, on: Incident}\n"
    profiles.write_text(first)

    def go_on() -> None:
        with profiles.open("a") as stream:
            stream.write(rest)

    watching.time.events[0.08] = go_on
    after = watching.watched.current()
    assert after.profiles.keys() == load(watching.folder).profiles.keys()
    assert profiles.stat().st_size == len((first + rest).encode())
    assert not watching.faults


def test_a_file_that_stays_empty_is_a_fault_and_changes_nothing(watching: Watching) -> None:
    (watching.folder / "contracts" / "fire.yaml").write_text("")
    assert watching.is_as_before()
    assert watching.faults == ["faults"]
    assert not watching.removed
    assert watching.is_as_before()
    assert len(watching.faults) == 1


def test_an_editor_that_renames_a_new_file_into_place_changes_it(watching: Watching) -> None:
    profiles = next((watching.folder / "profiles").glob("*.yaml"))
    new = profiles.with_name(f".{profiles.name}.swp")
    new.write_text(profiles.read_text().replace("serious_fires", "grave_fires"))
    new.replace(profiles)
    assert "grave_fires" in watching.watched.current().profiles
    assert watching.time.now_s < 1
    assert not watching.removed


def test_a_folder_that_is_replaced_as_a_whole_does_not_end_the_stream(watching: Watching) -> None:
    aside = watching.folder.with_name("aside")
    watching.folder.rename(aside)
    assert watching.is_as_before()
    assert watching.faults == ["no-such-directory"]
    aside.rename(watching.folder)
    assert watching.watched.current().contracts.keys() == watching.before.contracts.keys()
    assert len(watching.faults) == 1
