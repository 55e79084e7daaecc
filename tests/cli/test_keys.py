"""`comity keys` and `comity gateway init`: who is who."""

from __future__ import annotations

import json
import stat

import pytest


@pytest.fixture
def keys(comity, tmp_path, monkeypatch):
    """An authority, and a house that it admitted."""
    monkeypatch.chdir(tmp_path)
    for name in ("street", "house"):
        assert comity("keys", "new", f"{name}.key").code == 0
    signed = comity("keys", "sign", "street.key", "house.key.pub", "--domain", "house", "--federation", "street")
    assert signed.code == 0, signed.err
    return tmp_path


def test_a_private_key_is_nobody_elses_and_is_not_written_over(comity, keys):
    private = keys / "house.key"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    before = private.read_text()
    again = comity("keys", "new", "house.key")
    assert (again.code, private.read_text()) == (2, before)
    assert "key-exists" in again.err


def test_show_says_what_a_file_is_and_no_secret(comity, keys):
    secret = (keys / "house.key").read_text().strip()
    shown = [comity("keys", "show", name, "--format", "json") for name in ("house.key", "house.key.pub")]
    assert all(secret not in one.out for one in shown)
    private, public = (json.loads(one.out) for one in shown)
    assert private["key"] == public["key"]
    document = json.loads(comity("keys", "show", "house.identity", "--format", "json").out)
    assert (document["domain"], document["federation"], document["key_id"]) == ("house", "street", public["key"])
    assert "identity of house in street" in comity("keys", "show", "house.identity").out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["keys", "show", "empty"], "bad-key"),
        (["keys", "show", "no-file"], "no-such-file"),
        (["keys", "sign", "street.key", "house.key", "--domain", "a/b", "--federation", "street"], "bad-name"),
        (["keys", "sign", "empty", "house.key.pub", "--domain", "house", "--federation", "street"], "bad-key"),
        (["keys", "sign", "street.key", "empty", "--domain", "house", "--federation", "street"], "bad-key"),
        (["contract", "show", "."], "no-gateway"),
        (["gateway", "sync", "."], "no-gateway"),
    ],
)
def test_what_is_wrong_is_told(comity, keys, arguments, code):
    (keys / "empty").write_text("")
    result = comity(*arguments)
    assert result.code == 2
    assert code in result.err


def test_a_gateway_is_of_the_key_that_the_authority_signed(comity, keys):
    (keys / "home").mkdir()
    (keys / "home" / "house.yaml").write_text("domain: house\ntypes: {Enter: {attributes: {room: string}}}\n")
    options = ["--identity", "house.identity", "--authority", "street.key.pub", "--broker"]
    address = "comity://127.0.0.1:7470"
    for key, broker, code in [("street.key", address, "bad-identity"), ("house.key", "http://a", "bad-address")]:
        result = comity("gateway", "init", "home", "--key", key, *options, broker)
        assert (result.code, code in result.err) == (2, True)
    other = comity("gateway", "init", "home", "--key", "house.key", *options[:3], "house.key.pub", "--broker", address)
    assert "bad-identity" in other.err
    result = comity("gateway", "init", "home", "--key", "house.key", *options, address, "--format", "json")
    assert json.loads(result.out) == {"domain": "house", "federation": "street", "broker": address}
    assert comity("contract", "show", "home").err.strip() == "nobody has proposed a contract yet"
    assert json.loads(comity("contract", "show", "home", "--format", "json").out) == []
