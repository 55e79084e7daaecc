"""`comity fedreg` on the files of a user."""

import json

import pytest
from typer.testing import CliRunner

from comity.cli.fedreg import app
from comity.errors import Misuse
from comity.federation import load

WATCH = """<xce:Subscription><xce:Template type="breakInEvent">
  <xce:meta type="disposal">18:00</xce:meta><xce:meta type="register">09:00</xce:meta>
  <xce:meta type="qos">bulk</xce:meta><xce:meta type="scope">house_a</xce:meta>
  <houseNum xce:filter="< 30 && != 13"/><street>South *</street>
</xce:Template></xce:Subscription>"""
FILES = {
    "federation.yaml": "federation: street\n",
    "house_a.yaml": (
        "domain: house_a\ntypes:\n  BreakIn: {attributes: {houseNum: int, street: string}}\n"
        "  breakInEvent: {attributes: {houseNum: int, street: string}}\n"
    ),
    "house_b.yaml": "domain: house_b\ntypes:\n  breakInEvent: {attributes: {houseNum: int, street: string}}\n",
    "profiles.yaml": (
        "profiles:\n  mine:\n    domain: house_b\n    on: breakInEvent\n    where: houseNum = 7 or street like '%x'\n"
    ),
}


@pytest.fixture
def street(tmp_path):
    folder = tmp_path / "street"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def _call(*arguments):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_read_prints_profiles_that_the_federation_takes(street, tmp_path):
    file = tmp_path / "watch.xml"
    file.write_text(WATCH)
    result = _call("read", file, "--domain", "house_b", "--federation", street)
    (street / "more.yaml").write_text(result.stdout)
    found = load(street).profiles["watch"]
    assert found.text == "houseNum < 30 and houseNum != 13 and street like 'South %'"
    assert (found.priority, found.sources) == (-100, {"house_a"})


def test_read_as_json_without_types(tmp_path):
    file = tmp_path / "watch.xml"
    file.write_text(WATCH)
    found = json.loads(_call("read", file, "--name", "mine", "--format", "json").stdout)
    assert found["profiles"]["mine"] == {
        "on": "breakInEvent",
        "where": "houseNum < 30 and houseNum not in (13, '13') and street like 'South %'",
        "active": {"from": "09:00", "until": "18:00"},
        "priority": -100,
        "scope": ["house_a"],
    }


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--domain", "nobody", "--federation", "street"], "unknown-domain"),
        (["--federation", "street"], "unknown-domain"),
        (["--federation", "street", "--types", "street/house_a.yaml"], "bad-usage"),
        (["--at", "yesterday"], "bad-usage"),
    ],
)
def test_read_refuses(street, tmp_path, monkeypatch, options, code):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "watch.xml").write_text(WATCH)
    with pytest.raises(Misuse) as raised:
        _call("read", "watch.xml", *options)
    assert raised.value.code == code


def test_write_prints_what_read_understands(street, tmp_path):
    result = _call("write", street, "--profile", "mine")
    file = tmp_path / "mine.xml"
    file.write_text(result.stdout)
    found = json.loads(_call("read", file, "--domain", "house_b", "--federation", street, "--format", "json").stdout)
    assert [one["where"] for one in found["profiles"].values()] == ["houseNum = 7", "street like '%x'"]


def test_write_tells_what_is_left_out(street):
    profiles = "profiles:\n  two: {domain: house_b, on: breakInEvent, where: houseNum * 2 > 7}\n"
    (street / "more.yaml").write_text(profiles)
    found = json.loads(_call("write", street, "--profile", "two", "--format", "json").stdout)
    assert [one["code"] for one in found["left"]] == ["no-arithmetic"]
    assert "no-arithmetic" in _call("write", street, "--profile", "two").stderr


def test_write_refuses_an_unknown_profile(street):
    with pytest.raises(Misuse) as raised:
        _call("write", street, "--profile", "yours")
    assert raised.value.code == "unknown-profile"


NESTED = {
    "federation.yaml": "federation: city\n",
    "police.yaml": "domain: police\ntypes: {Case: {attributes: {n: int}}}\n",
    "street/federation.yaml": "federation: street\nboundary: [alarm]\n",
    "street/house.yaml": "domain: house\ntypes: {Alarm: {attributes: {n: int, room: string}}}\n",
    "street/shop.yaml": "domain: shop\ntypes: {Bell: {attributes: {n: int}}}\n",
    "street/alarm.yaml": (
        "contract: alarm\ntypes: {Alarm: {attributes: {n: int, room: string}}}\n"
        "members: {house: {type: Alarm, map: same}}\n"
    ),
    "burglary.yaml": (
        "contract: burglary\ntypes: {Burglary: {attributes: {n: int}}}\n"
        "members: {street: {type: alarm.Alarm, map: same}}\n"
    ),
}


@pytest.fixture
def city(tmp_path):
    for name, text in NESTED.items():
        (tmp_path / "city" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "city" / name).write_text(text)
    return tmp_path / "city"


def template(type, inside=""):
    return f'<xce:Subscription>\n<xce:Template type="{type}">{inside}</xce:Template></xce:Subscription>'


@pytest.mark.parametrize("type", ["alarm.Alarm", "street.alarm.Alarm", "Alarm"])
def test_read_in_a_federation_inside_prints_the_name_that_a_profile_uses(city, tmp_path, type):
    (tmp_path / "watch.xml").write_text(template(type, "<n xce:filter='> 3'/>"))
    result = _call("read", tmp_path / "watch.xml", "--domain", "shop", "--federation", city)
    assert "on: alarm.Alarm\n" in result.stdout
    (city / "street" / "more.yaml").write_text(result.stdout)
    assert load(city).profiles["watch"].type.qualified_name == "street.alarm.Alarm"


@pytest.mark.parametrize(
    ("domain", "type", "inside", "code"),
    [
        ("shop", "burglary.Burglary", "", "unknown-type"),  # it is of the federation around
        ("police", "street.alarm.Alarm", "", "unknown-type"),  # it is of the federation inside
        ("shop", "alarm.Alarm", "<n xce:filter=\"~ '2.*'\"/>", "wrong-kind"),
        ("shop", "alarm.Alarm", '<n xce:filter="unheard_of()"/>', "unknown-function"),
        ("shop", "alarm.Alarm", '<xce:meta type="scope">house nobody</xce:meta>', "unknown-domain"),
        ("shop", "alarm.Alarm", '<xce:meta type="disposal">role:guard</xce:meta>', "bad-meta"),
        ("shop", "alarm.Alarm", '<xce:meta type="disposal">18:00 Europe/Berlin</xce:meta>', "bad-meta"),
    ],
)
def test_read_refuses_what_the_federation_would_refuse(city, tmp_path, domain, type, inside, code):
    (tmp_path / "watch.xml").write_text(template(type, inside))
    with pytest.raises(Misuse) as raised:
        _call("read", tmp_path / "watch.xml", "--domain", domain, "--federation", city)
    (error,) = getattr(raised.value, "errors", [raised.value])
    assert (error.code, error.place.file, error.place.line) == (code, str(tmp_path / "watch.xml"), 2)


def test_read_says_that_times_of_day_are_in_utc(tmp_path):
    zoned = '<xce:meta type="disposal">18:00+02:00</xce:meta><xce:meta type="register">01:00+02:00</xce:meta>'
    (tmp_path / "watch.xml").write_text(template("T", zoned))
    result = _call("read", tmp_path / "watch.xml", "--format", "json")
    assert json.loads(result.stdout)["profiles"]["watch"]["active"] == {"from": "23:00", "until": "16:00"}
    assert "in UTC" in result.stderr
