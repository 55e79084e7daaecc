"""Notifications on standard output."""

import os

import pytest

from comity.connect.connectors.stdout import StdoutSink
from comity.connect.registry import open_sink
from comity.connect.specs import SinkSpec
from comity.errors import Faults, Permanent
from comity.testing.sink_conformance import message, notification


def test_deliver_writes_to_the_standard_output_of_now(capfdbinary, tmp_path):
    sink = open_sink(SinkSpec("screen", "house_a", "stdout"), tmp_path)
    sink.deliver([message(notification(1)), message(notification(2))])
    assert capfdbinary.readouterr().out == notification(1) + b"\n" + notification(2) + b"\n"


def test_deliver_to_a_reader_that_went_away():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb", buffering=0) as stream, pytest.raises(Permanent) as caught:
        StdoutSink(stream).deliver([message(notification(1))])
    assert caught.value.code == "output-closed"


def test_options_are_none(tmp_path):
    with pytest.raises(Faults):
        open_sink(SinkSpec("screen", "house_a", "stdout", {"colour": "red"}), tmp_path)
