"""Languages: the one door, for our own and for those that other packages bring."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.errors import Faults, Misuse, Permanent
from comity.federation import load
from comity.federation.text_profiles import _suffixes
from comity.language.files import parse_profiles, read_profiles
from comity.language.languages import language, languages
from comity.profile import Profile
from comity.profile.entries import write_entries

Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a distribution that brings the language of topics, or something else under its name."""

    def forget() -> None:
        languages.cache_clear()
        _suffixes.cache_clear()

    def install(brings: str) -> None:
        site = tmp_path / "site"
        meta = site / "topics-1.0.dist-info"
        meta.mkdir(parents=True)
        shutil.copy(Path(__file__).parent / "topics.py", site / "topic_language.py")
        (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: topics\nVersion: 1.0\n")
        (meta / "entry_points.txt").write_text(f"[comity.languages]\ntopics = topic_language:{brings}\n")
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.delitem(sys.modules, "topic_language", raising=False)
        forget()

    yield install
    forget()


def test_a_language_of_another_package_is_read_where_profiles_are(install: Install, tmp_path: Path) -> None:
    install("TOPICS")
    path = tmp_path / "mine.topics"
    path.write_text("hot = /house/Heat\nwet = /cellar/Leak\n".replace("= /", "= "))
    hot, wet = read_profiles(path)
    assert (hot.name, hot.on, hot.where.text) == ("hot", "Heat", "event.source = 'house'")
    write = language("topics").write
    assert write is not None
    assert write([hot, wet], {}).text == path.read_text()
    assert [one.code for one in write([Profile.of("a", "x > 1", on="T")], {}).left] == ["operator-not-supported"]


def test_faults_of_such_a_language_have_their_places_and_names_are_checked(install: Install) -> None:
    install("TOPICS")
    _, faults = parse_profiles("a = s/T\nb = s\na = s/U\nc d = s/T", "f.topics")
    assert [(str(fault.place), fault.code) for fault in faults] == [
        ("f.topics:2:1", "syntax"),
        ("f.topics:3:1", "duplicate-profile"),
        ("f.topics:4:1", "bad-name"),
    ]


def test_its_files_are_profiles_of_a_federation(install: Install, tmp_path: Path) -> None:
    install("TOPICS")
    folder = tmp_path / "city"
    (folder / "profiles").mkdir(parents=True)
    (folder / "house.yaml").write_text("domain: house\ntypes: {Heat: {attributes: {value: float}}}\n")
    (folder / "profiles" / "house.topics").write_text("hot = attic/Heat")
    assert load(folder).profiles["hot"].text == "event.source = 'attic'"
    (folder / "profiles" / "house.topics").write_text("hot = attic/Haet")
    with pytest.raises(Faults, match="unknown type `Haet`"):
        load(folder)


@pytest.mark.parametrize("brings", ["_read", "NOTHING"])
def test_a_broken_plugin_is_named(install: Install, brings: str) -> None:
    install(brings)
    with pytest.raises(Permanent) as caught:
        languages()
    assert (caught.value.code, caught.value.hint) == ("broken-language", f"it is topic_language:{brings}")


def test_an_unknown_language_has_a_hint() -> None:
    with pytest.raises(Misuse) as caught:
        language("fedrag")
    assert (caught.value.code, caught.value.hint) == ("unknown-language", "did you mean `fedreg`?")


FEDREG = """<xce:Subscription>
  <xce:Template type="Heat"><value filter="> 30"/></xce:Template>
  <xce:Template type="common.Heat"><value filter="> 40"/><xce:meta type="qos">bulk</xce:meta></xce:Template>
</xce:Subscription>
"""


def test_fedreg_in_a_federation_is_a_profile_like_others(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "house.yaml").write_text("domain: house\ntypes: {Heat: {attributes: {value: float}}}\n")
    contract = (
        "contract: common\ntypes: {Heat: {attributes: {value: float}}}\nmembers: {house: {type: Heat, map: same}}\n"
    )
    (tmp_path / "common.yaml").write_text(contract)
    (tmp_path / "profiles" / "house.fedreg").write_text(FEDREG)
    found = load(tmp_path).profiles
    assert {name: (one.type.qualified_name, one.text, one.priority) for name, one in found.items()} == {
        "house": ("house.Heat", "value > 30", 0),
        "house_2": ("common.Heat", "value > 40", -100),
    }


TEXTS = st.text("aé'\": {}[]#,\\\n-|>", max_size=8)


@given(
    where=st.one_of(TEXTS.map(lambda text: "room = '" + text.replace("'", "''") + "'"), st.just("x > 5 and y is true")),
    on=st.sampled_from(["Heat", "urn:a:b", "common.Heat"]),
    domain=st.sampled_from([None, "house"]),
)
def test_what_is_written_as_yaml_reads_back_the_same(where: str, on: str, domain: str | None) -> None:
    try:
        profile = Profile.of("hot", where, on=on, domain=domain)
    except Misuse:
        return
    profiles, faults = parse_profiles(write_entries([profile]), "p.yaml")
    assert (profiles, faults) == ([profile], [])
