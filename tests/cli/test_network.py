"""`comity pub`, `sub`, `advertise` and `top` against brokers in processes of their own."""

import json
import os
import pty
import signal
from contextlib import suppress

import pytest
from tests.server.peers import BrokerProcess

LINE = '{"id":"%d","source":"/desk","type":"stocks.Quote","data":{"symbol":"%s","price":%s}}\n'


@pytest.fixture(scope="module")
def brokers(tmp_path_factory):
    """Two that are linked; the first one stores."""
    west = BrokerProcess("west", ["--store", str(tmp_path_factory.mktemp("west"))]).start()
    east = BrokerProcess("east", ["--peer", west.address]).start()
    yield f"comity://{west.address}", f"comity://{east.address}"
    east.end()
    west.end()


@pytest.fixture
def west(brokers):
    return brokers[0]


@pytest.fixture
def quotes(write):
    return write("quotes.jsonl", LINE % (1, "XY", 44) + LINE % (2, "XY", 46.5) + LINE % (3, "AB", 47))


def until_subscribed(process):
    """The line by which a subscriber says that nothing is missed from here on."""
    line = process.stderr.readline().decode()
    assert "subscribed" in line
    return line


def until_known(comity, url, entries):
    """Wait until a broker has been told of so many filters by its neighbours."""
    while True:
        told = json.loads(comity("top", url, "--once", "--format", "json").out)["brokers"]["west"]
        if sum(link["subscriptions"] for link in told["links"]) >= entries:
            return


def test_sub_prints_what_pub_publishes_at_another_broker(comity, start, brokers, quotes):
    west, east = brokers
    with start("sub", east, "price > 45", "--count", "2") as reader:
        assert until_subscribed(reader) == "subscribed at east: price > 45\n"
        until_known(comity, west, 1)
        result = comity("pub", west, quotes)
        assert (result.code, result.out, result.err) == (0, "3 events published at west\n", "")
        out, _ = reader.communicate(timeout=60)
    assert reader.returncode == 0
    assert out.decode() == "stocks.Quote 2: symbol XY, price 46.5\nstocks.Quote 3: symbol AB, price 47\n"


def test_sub_prints_events_as_they_were_published(comity, start, west, quotes, tmp_path):
    with start("sub", west, "symbol = 'XY'", "--count", "2", "--format", "json") as reader:
        assert json.loads(until_subscribed(reader)) == {"subscribed": "symbol = 'XY'", "broker": "west"}
        comity("pub", west, quotes)
        out, _ = reader.communicate(timeout=60)
    published = [json.loads(line) for line in (tmp_path / "quotes.jsonl").read_text().splitlines()]
    assert [json.loads(line)["data"] for line in out.splitlines()] == [one["data"] for one in published[:2]]


def test_durable_sub_goes_on_behind_what_it_printed(comity, start, west, write):
    first = comity("sub", west, "price > 45", "--durable", "night", "--forget")
    assert first.code == 0
    with start("sub", west, "price > 45", "--durable", "night", "--count", "1") as reader:
        until_subscribed(reader)
        comity("pub", west, write("more.jsonl", "".join(LINE % (number, "XY", 50) for number in range(10, 14))))
        assert reader.communicate(timeout=60)[0].decode().split(":")[0] == "stocks.Quote 10"
    rest = comity("sub", west, "price > 45", "--durable", "night", "--count", "3", "--format", "json")
    assert [json.loads(line)["id"] for line in rest.out.splitlines()] == ["11", "12", "13"]


def test_interrupted_sub_leaves_with_130(start, west):
    with start("sub", west) as reader:
        until_subscribed(reader)
        reader.send_signal(signal.SIGINT)
        out, err = reader.communicate(timeout=60)
    assert (reader.returncode, out, err) == (130, b"", b"")


def test_terminated_sub_leaves_with_143(start, west):
    with start("sub", west) as reader:
        until_subscribed(reader)
        reader.send_signal(signal.SIGTERM)
        out, err = reader.communicate(timeout=60)
    assert (reader.returncode, out, err) == (143, b"", b"")


def test_pub_reads_standard_input_as_it_comes(start, west):
    with start("sub", west, "--count", "1") as reader, start("pub", west, "-", stdin=-1) as writer:
        until_subscribed(reader)
        writer.stdin.write((LINE % (1, "XY", 44)).encode())
        writer.stdin.flush()
        assert reader.communicate(timeout=60)[0] == b"stocks.Quote 1: symbol XY, price 44\n"
        assert writer.communicate(timeout=60)[0] == b"1 event published at west\n"


def test_pub_counts_what_is_no_event_and_keeps_it(comity, west, write, tmp_path):
    events = write("mixed.jsonl", LINE % (1, "XY", 44) + "nonsense\n")
    result = comity("pub", west, events, "--rejected", "bad.jsonl", "--format", "json")
    assert json.loads(result.out) == {"broker": "west", "published": 1, "rejected": 1}
    assert json.loads((tmp_path / "bad.jsonl").read_text())["raw"] == "nonsense"
    assert comity("pub", west, events, "--fail-on-rejected", "any").code == 1


def test_pub_tells_what_the_broker_refused(comity, west, write):
    line = '{"id":"1","source":"/desk","type":"comity.network.Subscribed","data":{}}\n'
    result = comity("pub", west, write("reserved.jsonl", line))
    assert result.code == 1
    assert "reserved-type" in result.err


def test_wrong_filter_is_told_with_its_place(comity, west):
    result = comity("sub", west, "price >")
    assert result.code == 2
    lines = result.err.splitlines()
    assert lines[0] == "error: 1:8: the expression ends too early [syntax]"
    assert lines[1:3] == ["  price >", "         ^"]
    assert result.err.count("hint:") == 1


@pytest.mark.parametrize("command", ["pub", "sub", "advertise", "top"])
def test_no_broker_is_told(comity, command, quotes):
    more = {"pub": [quotes], "advertise": ["x > 1"], "top": ["--once"]}.get(command, [])
    result = comity(command, "comity://127.0.0.1:1", *more)
    assert result.code == 1
    assert "no broker at comity://127.0.0.1:1: Connection refused" in result.err + result.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["sub", "http://somewhere"], "bad-address"),
        (["sub", "comity://127.0.0.1:1", "--forget"], "bad-usage"),
        (["pub", "comity://127.0.0.1:1", "-", "more.jsonl"], "bad-usage"),
        (["pub", "comity://127.0.0.1:1", "-", "--token", "none.txt"], "unreadable-file"),
    ],
)
def test_misuse_is_refused(comity, arguments, code):
    result = comity(*arguments, "--format", "json")
    assert result.code == 2
    assert json.loads(result.err)["errors"][0]["code"] == code


def test_advertise_holds_until_it_is_interrupted(comity, start, west):
    with start("advertise", west, "price > 3") as holder:
        assert holder.stdout.readline() == b"advertised at west: price > 3\n"
        holder.send_signal(signal.SIGINT)
        holder.communicate(timeout=60)
    assert holder.returncode == 130


def test_top_finds_the_brokers_behind_links(comity, brokers):
    result = comity("top", brokers[1], "--once")
    assert result.code == 0
    heads, *rows = [line.split() for line in result.out.splitlines() if line]
    assert heads[:3] == ["broker", "strategy", "clients"]
    assert [row[0] for row in rows if row[1] == "covering"] == ["east", "west"]
    assert {" ".join(row[:3]) for row in rows if "←" in row} == {"east ← west", "west ← east"}


def test_top_tells_all_as_json(comity, brokers):
    told = json.loads(comity("top", *brokers, "--once", "--format", "json").out)
    assert sorted(told["brokers"]) == ["east", "west"]
    assert told["unreached"] == {}
    assert set(told["brokers"]["east"]["rates"]) == {"events_in_s", "events_out_s", "unwanted", "processor"}


def test_top_looks_again_and_again(start, west):
    with start("top", west, "--interval", "0.2", "--format", "json") as watcher:
        looks = [json.loads(watcher.stdout.readline()) for _ in range(3)]
        watcher.send_signal(signal.SIGINT)
        watcher.communicate(timeout=60)
    assert watcher.returncode == 130
    assert all("west" in one["brokers"] for one in looks)


def test_top_moves_where_somebody_looks(start, west):
    ours, its = pty.openpty()
    with start("top", west, "--interval", "0.2", stdout=its, stderr=its, env={"TERM": "xterm"}) as watcher:
        os.close(its)
        shown = b""
        while shown.count(b"west") < 3:
            shown += os.read(ours, 65_536)
        watcher.send_signal(signal.SIGINT)
        with suppress(OSError):  # what a terminal says when nobody is at its other end any more
            while os.read(ours, 65_536):
                pass
    os.close(ours)
    assert watcher.returncode == 130
    assert b"strategy" in shown
