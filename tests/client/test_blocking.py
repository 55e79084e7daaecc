"""The words without `await`, in a script: against a broker in a process of its own."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import comity
from comity.client import EventsRefused
from comity.errors import ComityError, Misuse, Retryable
from tests.server.peers import BrokerProcess, line


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    store: Path = tmp_path_factory.mktemp("store")
    broker = BrokerProcess("north", ["--store", str(store)]).start()
    yield broker
    broker.end()


@pytest.fixture
def url(process: BrokerProcess) -> str:
    return f"comity://{process.address}"


def test_script_publishes_and_subscribes(url: str) -> None:
    with comity.connect(url) as node:
        assert node.broker == "north"
        with node.subscribe("n > 2") as subscription:
            assert node.publish([line(1), line(3), line(4)]) == 3
            assert [next(subscription).id, next(subscription).id] == ["3", "4"]
        assert list(subscription) == []
        assert node.status().name == "north"
        node.advertise("n > 2").cancel()


def test_durable_one_goes_on_behind_the_last_event_that_was_handled(url: str) -> None:
    with comity.connect(url, name="script") as node:
        events = node.subscribe(durable="orders")
        node.publish([line(number) for number in range(5)])
        for event in events:
            if event.id == "2":
                break
    with comity.connect(url, name="script") as node:
        events = node.subscribe(durable="orders")
        assert [next(events).id, next(events).id] == ["3", "4"]
        events.cancel()


def test_errors_are_raised_where_they_are_made(url: str) -> None:
    with comity.connect(url) as node:
        with pytest.raises(Misuse) as told:
            node.subscribe("n >")
        assert told.value.code == "syntax"
        with pytest.raises(EventsRefused):
            node.publish(b"[]")
    with pytest.raises(ComityError, match="closed-session"):
        node.publish(line(1))


def test_no_broker_leaves_no_thread() -> None:
    before = threading.active_count()
    with pytest.raises(Retryable, match="no-broker"), comity.connect("comity://127.0.0.1:1"):
        pass
    assert threading.active_count() == before


def test_broker_that_hangs_is_told_in_time(process: BrokerProcess, url: str) -> None:
    assert process.process is not None
    with comity.connect(url, timeout_s=0.3) as node:
        process.process.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(Retryable, match="no-answer"):
                node.publish(line(1))
        finally:
            process.process.send_signal(signal.SIGCONT)
        assert node.publish(line(2)) == 1


def test_function_and_package_have_one_name() -> None:
    import comity.connect.port  # makes `comity.connect` the package

    assert callable(comity.connect)
    with pytest.raises(Misuse, match="bad-address"):
        comity.connect("nowhere")
