"""`comity xslt` on the files of a user."""

import json

import pytest
from typer.testing import CliRunner

from comity.cli.xslt import app
from comity.errors import Misuse

FILES = {
    "federation.yaml": "federation: buses\n",
    "city.yaml": (
        "domain: city\ntypes:\n"
        "  Bus: {attributes: {line: string, street: string, town: string}}\n"
        "  NightBus: {extends: Bus, attributes: {fare: float?}}\n"
    ),
    "house.yaml": "domain: house\ntypes:\n  Seen: {attributes: {text: string}}\n",
    "contract.yaml": (
        "contract: location\ntypes:\n  Location: {attributes: {line: string, place: string}}\n"
        "members:\n  city: {type: Bus, map: {line: line, place: \"street + ', ' + town\"}}\n"
        'observers:\n  house: {type: Seen, map: {text: "upper(place)"}}\n'
    ),
}
EVENT = "<{0}><id>1</id><src>city</src><line>7</line><street>Elm</street><town>Bonn</town></{0}>"


@pytest.fixture
def buses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "buses"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def _call(*arguments):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


@pytest.mark.parametrize("type", ["Bus", "NightBus"])
def test_what_write_prints_can_be_run(buses, tmp_path, type):
    (tmp_path / "to.xsl").write_text(_call("write", buses, "--contract", "location", "--member", "city"))
    (tmp_path / "event.xml").write_text(EVENT.format(type))
    expected = "<Location><id>1</id><src>city</src><line>7</line><place>Elm, Bonn</place></Location>"
    assert _call("run", "to.xsl", "event.xml") == f"{expected}\n"
    assert json.loads(_call("run", "to.xsl", "event.xml", "--format", "json")) == {"text": expected}


def test_write_prints_the_mapping_of_an_observer(buses):
    assert "upper-case" in _call("write", buses, "--contract", "location", "--observer", "house")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--contract", "nothing", "--member", "city"], "unknown-contract"),
        (["--contract", "location"], "bad-usage"),
        (["--contract", "location", "--member", "house"], "unknown-domain"),
        (["--contract", "location", "--member", "city", "--type", "Tram"], "unknown-domain"),
    ],
)
def test_write_refuses(buses, options, code):
    with pytest.raises(Misuse) as raised:
        _call("write", buses, *options)
    assert raised.value.code == code


def test_run_takes_functions_of_a_file(buses, tmp_path):
    (tmp_path / "f.py").write_text(
        "import comity\n\n\n@comity.extension(takes=('int',), gives='string')\ndef twice(n):\n    return str(2 * n)\n"
    )
    (tmp_path / "a.xsl").write_text(
        '<xsl:template match="Bus"><Out><xsl:value-of select="extend:twice(line)"/></Out></xsl:template>'
    )
    (tmp_path / "event.xml").write_text(EVENT.format("Bus"))
    assert _call("run", "a.xsl", "event.xml", "--functions", "f.py") == "<Out>14</Out>\n"


@pytest.mark.parametrize(
    ("stylesheet", "event", "code"),
    [
        ("<a", EVENT.format("Bus"), "bad-xml"),
        ("<a/>", EVENT.format("Bus"), "bad-stylesheet"),
        ('<xsl:template match="*"><b/></xsl:template>', "<a", "bad-xml"),
        ('<xsl:template match="*"><xsl:copy-of select="doc(\'x\')"/></xsl:template>', "<a/>", "stylesheet-not-closed"),
        ('<xsl:template match="*"><xsl:value-of select="1 idiv 0"/></xsl:template>', "<a/>", "stylesheet-failed"),
    ],
)
def test_run_refuses(buses, tmp_path, stylesheet, event, code):
    (tmp_path / "a.xsl").write_text(stylesheet)
    (tmp_path / "event.xml").write_text(event)
    with pytest.raises(Misuse) as raised:
        _call("run", "a.xsl", "event.xml")
    assert raised.value.code == code
