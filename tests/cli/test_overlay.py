"""`comity serve --overlay rendezvous`, and the commands of clients against such a network."""

import json
import signal

import pytest
from tests.cli.test_network import LINE, until_subscribed
from tests.server.peers import BrokerProcess

from comity.route.rendezvous.ring import nearest

_NAMES = ("north", "east", "west")


@pytest.fixture(scope="module")
def url():
    """One of three in a circle."""
    brokers = []
    for name in _NAMES:
        peers = [word for broker in brokers for word in ("--peer", broker.address)]
        brokers.append(BrokerProcess(name, ["--overlay", "rendezvous", *peers]).start())
    yield f"comity://{brokers[0].address}"
    for broker in brokers:
        broker.end()


def look(comity, url):
    """What all tell of themselves, once they know each other."""
    while True:
        seen = json.loads(comity("top", url, "--once", "--format", "json").out)["brokers"]
        if len(seen) == 3 and all(len(one["overlay"]["nodes"]) == 3 for one in seen.values()):
            return seen


def test_pub_sub_and_top_work_in_an_overlay(comity, start, url, write):
    east = f"comity://{look(comity, url)['east']['address']}"
    quotes = write("quotes.jsonl", LINE % (1, "XY", 44) + LINE % (2, "XY", 46.5))
    of_type = "event.type = 'stocks.Quote'"
    wanted = f"{of_type} and price > 45"
    with start("advertise", url, of_type) as offering, start("sub", east, wanted, "--count", "1") as reader:
        until_subscribed(reader)
        while not any(type["subscriptions"] for one in look(comity, url).values() for type in one["overlay"]["types"]):
            pass
        assert comity("pub", url, quotes, "--advertise", of_type).out == "2 events published at north\n"
        assert reader.communicate(timeout=60)[0] == b"stocks.Quote 2: symbol XY, price 46.5\n"
        shown = comity("top", url, "--once").out.splitlines()
        line = next(line for line in shown if line.startswith("stocks.Quote"))
        assert line.split()[1] == nearest(_NAMES, "stocks.Quote", 1)[0]
        assert line.endswith("east, north, west"), "the record is kept by the rendezvous and two more"
        offering.send_signal(signal.SIGINT)


def test_a_filter_without_a_type_is_refused(comity, url):
    result = comity("sub", url, "price > 45", "--count", "1")
    assert result.code == 2
    assert "no-event-type" in result.err
    assert "event.type" in result.err


@pytest.mark.parametrize(
    "more", [["--generic"], ["--store", "store"], ["--notices"], ["--strategy", "flooding"]], ids=lambda more: more[0]
)
def test_options_that_do_not_go_with_an_overlay_are_refused_with_the_next_step(comity, more):
    result = comity("serve", "--broker", "north", "--overlay", "rendezvous", *more)
    assert result.code == 2
    assert f"--overlay and {' '.join(more[:1] if more[0] == '--store' else more)} do not go together" in result.err
    assert "bad-usage" in result.err
