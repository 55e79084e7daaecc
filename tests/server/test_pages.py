"""What the page about networks says of options, limits, metrics and codes is there."""

from __future__ import annotations

import re
from dataclasses import fields

from tests.conftest import ROOT
from typer.main import get_command

from comity.cli.main import app
from comity.limits import Limits
from comity.server.metrics import NodeMetrics
from comity.wire import LinkStatus, NodeStatus

_PAGE = (ROOT / "docs" / "how-to" / "run-a-network.md").read_text().replace("benchmarks/broker.py --quick", "")


def test_every_option_is_one_of_the_command() -> None:
    commands = [get_command(app).commands[name] for name in ("serve", "pub", "top")]  # type: ignore[attr-defined]
    known = {option for command in commands for one in command.params for option in one.opts}
    assert set(re.findall(r"(?<!\w)--[a-z][a-z-]+", _PAGE)) <= known


def test_every_limit_is_one() -> None:
    named = set(re.findall(r"`(max_\w+)`", _PAGE))
    assert named
    assert named <= {field.name for field in fields(Limits)}


def test_every_metric_is_told() -> None:
    metrics = NodeMetrics()
    link = LinkStatus(name="b", is_up=True)
    metrics.take(
        NodeStatus(
            request=0,
            name="a",
            instance="",
            strategy="covering",
            advertisements=False,
            uptime_s=1.0,
            links=(link,),
            refused={"cycle": 1},
        )
    )
    told = metrics.render().decode()
    for name in re.findall(r"`(comity_\w+)", _PAGE):
        assert re.search(rf"^{name}\b", told, re.M), name
