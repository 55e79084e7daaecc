"""How long matching one event takes, beside public matchers that take one event at a time.

`python benchmarks/match_singly.py [--sizes 100,1000,…] [--workloads text,med,broad,alike] [--quick] [--out FILE]`

The peers are a-tree and event-ruler (`public_match.py` fetches and builds them). A peer is given profiles that its
language can say, and ours the same ones beside it: the answers must be equal. Everybody takes one event after the
other, on one core; times are processor time, the best of several passes over the same events. What an event is made
from differs, and a row says it. Ours is an index, from an `Event` to a list of numbers or to an array of them, and from
JSON text, which msgspec decodes, to a list; a dict that has paths as keys is shown beside. The ratio says how many
times as long as ours a peer takes: as ours from an `Event`, the quicker of list and array, or where it takes JSON text,
as ours from JSON text.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time
from typing import Any

import msgspec

from comity.event.event import Event
from comity.expression.tree import Expression
from comity.match.index import ProfileIndex

from peers import CannotRun  # isort: skip
from public_match import PUBLIC_PEERS, PublicPeer, can_say, run_public  # isort: skip
from workload_match import World  # isort: skip

EVENTS = 1_000
SAMPLE = 20_000
RUNS, LEAST_S = 15, 1.0
"""A pass may take a fraction of a millisecond: there are so many that one of them is not disturbed."""
WORKLOADS = ("text", "med", "broad", "alike")
OURS = {"list": "Event to list", "array": "Event to array", "dict": "dict to list", "text": "JSON text to list"}


@dataclass(frozen=True)
class Single:
    """One engine and one way to give it an event."""

    workload: str
    profiles: int
    matches_per_event: float
    engine: str
    form: str
    us: float
    ratio: float
    """How many times as long as ours it takes."""


def measure(world: World, workload: str, size: int, peer: PublicPeer) -> list[Single]:
    """A peer and ours on the same profiles."""
    profiles = said_by(peer, world, workload, size)
    rows = [
        {name: value for name, value in row.items() if value is not None}
        for row in world.events(EVENTS, seed=3).to_pylist()
    ]
    index = ProfileIndex.build(profiles, sample=world.events(SAMPLE, seed=99))
    answers = [sorted(index.match_one(event)) for event in as_events(rows)]
    ours = measure_ours(index, rows)
    run = run_public(peer, profiles, rows)
    if run.answers != answers:
        wrong = next(at for at in range(EVENTS) if run.answers[at] != answers[at])
        raise SystemExit(f"{peer.name} and the index differ on event {wrong} of {workload}")
    least = {form: ours["text"] if form == "text" else min(ours["list"], ours["array"]) for form in peer.forms}
    per_event = sum(map(len, answers)) / EVENTS
    found = [Single(workload, size, per_event, "Comity", OURS[form], us, 1.0) for form, us in ours.items()]
    for form, meaning in peer.forms.items():
        us = run.seconds[form] / EVENTS * 1e6
        found.append(Single(workload, size, per_event, peer.name, meaning, us, us / least[form]))
    return found


def said_by(peer: PublicPeer, world: World, workload: str, size: int) -> list[Expression]:
    """So many profiles that a peer can say."""
    drawn = (profile for profile in world.profiles(2 * size + 100, workload) if can_say(peer, profile))
    found = [profile for _, profile in zip(range(size), drawn, strict=False)]
    assert len(found) == size
    return found


def as_events(rows: list[dict[str, Any]]) -> list[Event]:
    """Events in our own form."""
    return [Event("1", "/benchmark", "Reading", data=row) for row in rows]


def measure_ours(index: ProfileIndex, rows: list[dict[str, Any]]) -> dict[str, float]:
    """The time for an event in microseconds, by form."""
    events, texts = as_events(rows), [json.dumps(row).encode() for row in rows]
    records = [{(name,): value for name, value in row.items()} for row in rows]
    decode = msgspec.json.Decoder().decode

    def from_text(text: bytes) -> list[int]:
        return index.match_one(Event("1", "/benchmark", "Reading", data=decode(text)))

    return {
        "list": least_us(index.match_one, events),
        "array": least_us(index.ids_of, events),
        "dict": least_us(index.match_one, records),
        "text": least_us(from_text, texts),
    }


def least_us(match: Callable[[Any], Any], events: list[Any]) -> float:
    """The least time of several passes; results are dropped, as by the peers."""
    least, total, runs = float("inf"), 0.0, 0
    while runs < RUNS or total < LEAST_S:
        start = process_time()
        for event in events:
            match(event)
        seconds = process_time() - start
        least, total, runs = min(least, seconds), total + seconds, runs + 1
    return least / len(events) * 1e6


def compare(world: World, workload: str, size: int) -> Iterator[Single]:
    """All peers; one that cannot run says why."""
    for peer in PUBLIC_PEERS:
        try:
            found = measure(world, workload, size, peer)
        except CannotRun as error:
            print(f"{workload:<8}{size:>9,}  {peer.name}: {error}", flush=True)
            continue
        for result in found:
            print_row(result)
        yield from found


def print_head() -> None:
    print(f"{'workload':<8}{'profiles':>9}{'matches':>10}  {'engine':<18}{'event':<31}{'µs':>9}{'ratio':>9}")


def print_row(result: Single) -> None:
    name = f"{result.engine:<18}{result.form:<31}"
    ratio = "" if result.engine == "Comity" else f"{result.ratio:>7,.2f} ×"
    size = f"{result.workload:<8}{result.profiles:>9,}{result.matches_per_event:>10,.1f}"
    print(f"{size}  {name}{result.us:>9,.2f}{ratio:>9}", flush=True)


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100,1000,10000,100000", help="numbers of profiles, with commas between")
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="workloads, with commas between them")
    parser.add_argument("--quick", action="store_true", help="100 and 1,000 profiles")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "match_singly.json")
    options = parser.parse_args()
    sizes = [100, 1000] if options.quick else [int(size) for size in options.sizes.split(",")]
    world, results = World(), []
    print_head()
    for workload in options.workloads.split(","):
        for size in sizes:
            results += compare(world, workload, size)
    machine = {"machine": platform.machine(), "python": platform.python_version()}
    report = {**machine, "results": [asdict(result) for result in results]}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
