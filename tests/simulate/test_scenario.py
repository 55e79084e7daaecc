"""`comity simulate`: the file, the table, the picture."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from comity.errors import Faults
from comity.simulate.costs import Costs
from comity.simulate.run import simulate
from comity.simulate.scenario import read_scenario
from tests.cli.conftest import comity, write  # noqa: F401

EXAMPLES = Path(__file__).parents[2] / "examples" / "simulations"


def costs(name: str, seed: int | None = None) -> dict[tuple[str, bool], Costs]:
    runs = simulate(read_scenario(EXAMPLES / name), EXAMPLES, seed=seed)
    return {(run.costs.strategy, run.costs.advertisements): run.costs for run in runs}


def test_four_brokers_by_hand() -> None:
    """Ada and Bob are three hops away, Eve two, and Jim wants what nobody publishes."""
    found = costs("four_brokers.yaml")
    assert {one.deliveries for one in found.values()} == {3 + 5 + 1}
    flooding, simple, covering = (found[name, False] for name in ("flooding", "simple", "covering"))
    assert (flooding.link_events, flooding.unwanted, flooding.entries) == (18, 1, 0)
    assert (simple.link_events, simple.unwanted, simple.entries) == (17, 0, 15)
    assert covering.entries == 12
    assert found["simple", True].entries == 11
    assert all(not one.findings for one in found.values())


def test_perfect_strategies_forward_what_simple_forwards() -> None:
    found = costs("stocks.yaml")
    perfect = [one for one in found.values() if one.strategy in ("simple", "identity", "covering", "merging")]
    assert len({(one.link_events, one.unwanted, one.deliveries, one.busiest_link) for one in perfect}) == 1
    for advertisements in (False, True):
        sizes = [found[name, advertisements].entries for name in ("simple", "identity", "covering", "merging")]
        assert sizes == sorted(sizes, reverse=True)
    assert all(not one.findings for one in found.values())


def test_failures_leave_nothing_wrong_behind_and_a_seed_gives_the_same_again() -> None:
    first, again, other = costs("failures.yaml"), costs("failures.yaml"), costs("failures.yaml", seed=4)
    assert first == again != other
    assert all(one.lost and one.mean_delay_ms and not one.findings for one in first.values())


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("topology: {brokers: 3}", {"missing-key"}),
        ("simulation: s\ntopology: {brokers: 3}", {"bad-value"}),
        ("simulation: s\ntopology: {brokers: 200000}\nmarket: {}", {"bad-value"}),
        ("simulation: s\ntopology: {brokers: 3}\nmarket: {events: 2000000}", {"bad-value"}),
        ("simulation: s\ntopology: {brokers: 1}\nmarket: {}", {"bad-value"}),
        ("simulation: s\ntopology: {links: [[a, b], [b, c], [c, a]]}\nmarket: {}", {"bad-value"}),
        ("simulation: s\ntopology: {brokers: 3}\nclients: {A: {at: b9}}", {"unknown-broker"}),
        ("simulation: s\ntopology: {brokers: 3}\nmarket: {}\nfaults: [{at_s: 1, crash: b9}]", {"unknown-broker"}),
        ("simulation: s\ntopology: {brokers: 3}\nmarket: {}\nfaults: [{at_s: 1}]", {"bad-value"}),
        ("simulation: s\ntopology: {brokers: 3}\nclients: {A: {at: b1, subscribe: x >}}", {"syntax"}),
        ("simulation: s\ntopology: {brokers: 3}\nmarket: {}\nevents: [{by: A, data: {}}]", {"unknown-client"}),
    ],
)
def test_what_is_wrong_in_the_file_is_told(tmp_path: Path, text: str, codes: set[str]) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Faults) as raised:
        read_scenario(file)
    assert {error.code for error in raised.value.errors} == codes
    assert all(error.place is not None and error.place.line for error in raised.value.errors)


def test_the_command_prints_a_table_and_draws(comity, tmp_path) -> None:  # type: ignore[no-untyped-def] # noqa: F811
    result = comity("simulate", EXAMPLES / "four_brokers.yaml", "--svg", "four.svg")
    assert result.code == 0, result.err
    assert "flooding  no         0        0        0          6.0        6      5.6%          9" in result.out
    picture = ElementTree.parse(tmp_path / "four.svg")
    lines = [
        line for line in picture.iter("{http://www.w3.org/2000/svg}line") if float(line.get("stroke-width", 0)) > 1
    ]
    assert len(lines) >= 9 * 3
    titles = {title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")}
    assert "b3 – b4: 6 events, 17% unwanted" in titles


def test_the_command_as_json(comity) -> None:  # type: ignore[no-untyped-def] # noqa: F811
    result = comity("simulate", EXAMPLES / "failures.yaml", "--format", "json", "--seed", "5")
    told = json.loads(result.out)
    assert (result.code, told["seed"], len(told["policies"])) == (0, 5, 3)
    assert told["policies"][0]["strategy"] == "simple"


def test_quotes_of_a_file(comity, write) -> None:  # type: ignore[no-untyped-def] # noqa: F811
    write("quotes.csv", "symbol,date,close,volume\nA,1,10.5,100\nB'C,1,20,900000\nA,2,11.5,200\nB'C,2,21,9000\n")
    text = "simulation: s\ntopology: {brokers: 3}\nmarket: {quotes: quotes.csv, events: 8, subscriptions: 5}\n"
    write("scenario.yaml", text)
    assert comity("simulate", "scenario.yaml").code == 0
    write("quotes.csv", "symbol,price\nA,x\n")
    refused = comity("simulate", "scenario.yaml")
    assert (refused.code, "bad-quote" in refused.err) == (2, True)
