"""What a strategy costs in a run, as one row of a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from comity.route.messages import Entry, Topic
from comity.route.policy import Policy
from comity.simulate.checks import topics
from comity.simulate.door import BrokerDoor
from comity.simulate.network import Network


@dataclass(frozen=True, slots=True)
class Costs:
    """One policy in one run."""

    strategy: str
    advertisements: bool
    brokers: int
    subscriptions: int
    events: int
    entries: int
    """Subscriptions in the tables of all brokers about their neighbours, at the end."""
    largest_table: int
    """Entries of the broker that has most."""
    offers: int
    """Advertisements in these tables."""
    control_messages: int
    changed_entries: int
    """Entries that control messages brought or took."""
    link_events: int
    """Events that went over links, each link counted."""
    busiest_link: int
    """Events on the way that most took."""
    unwanted: int
    """Events on links whose receiver had no use for them."""
    deliveries: int
    lost: int
    """Messages that were on a link when it broke."""
    refused: int
    mean_delay_ms: float | None
    """Virtual time from publication to delivery; None where events did not take time."""
    longest_delay_ms: float | None
    findings: tuple[str, ...]
    """Invariants that did not hold."""

    @property
    def unwanted_share(self) -> float:
        """Of the events on links."""
        return self.unwanted / self.link_events if self.link_events else 0.0

    @property
    def events_per_link(self) -> float:
        """Events on one link, both ways, on average."""
        return self.link_events / max(self.brokers - 1, 1)


def costs_of(network: Network, policy: Policy, *, timed: bool) -> Costs:
    """The row of a run, as it stands now; `timed` when events took virtual time."""
    counters = network.counters
    wanted = _sizes(network, Topic.SUBSCRIPTIONS)
    delivered = max(counters.delivered, 1)
    return Costs(
        strategy=policy.strategy.value,
        advertisements=policy.advertisements,
        brokers=len(network.live),
        subscriptions=sum(1 for _ in network.truth.every(Topic.SUBSCRIPTIONS)),
        events=counters.published,
        entries=sum(wanted),
        largest_table=max(wanted, default=0),
        offers=sum(_sizes(network, Topic.ADVERTISEMENTS)),
        control_messages=sum(counters.control.values()),
        changed_entries=counters.changed_entries,
        link_events=sum(counters.events.values()),
        busiest_link=max(counters.events.values(), default=0),
        unwanted=sum(counters.unwanted.values()),
        deliveries=counters.delivered,
        lost=counters.lost,
        refused=counters.refused,
        mean_delay_ms=counters.delay_s / delivered * 1e3 if timed else None,
        longest_delay_ms=counters.longest_delay_s * 1e3 if timed else None,
        findings=tuple(map(str, network.findings)),
    )


def _sizes(network: Network, topic: Topic) -> list[int]:
    """Entries of each broker."""
    return [len(entries_of(steps, topic)) for steps in network.live.values()]


def entries_of(broker: BrokerDoor, topic: Topic) -> list[Entry]:
    """All that a broker's neighbours told it. Who floods was told nothing."""
    if topic not in topics(broker.policy):
        return []
    return [entry for neighbour in broker.neighbours for entry in broker.table(neighbour, topic)]


HEADINGS = ("strategy", "ads", "entries", "largest", "control", "events/link", "busiest", "unwanted", "delivered")


def rows(costs: Iterable[Costs]) -> list[tuple[str, ...]]:
    """The table as texts."""
    return [
        (
            one.strategy,
            "yes" if one.advertisements else "no",
            f"{one.entries:,}",
            f"{one.largest_table:,}",
            f"{one.control_messages:,}",
            f"{one.events_per_link:,.1f}",
            f"{one.busiest_link:,}",
            f"{one.unwanted_share:.1%}",
            f"{one.deliveries:,}",
        )
        for one in costs
    ]


def aligned(table: Iterable[tuple[str, ...]], headings: tuple[str, ...] = HEADINGS) -> list[str]:
    """The rows below their headings, in columns; texts to the left, numbers to the right."""
    every = [headings, *table]
    widths = [max(len(row[column]) for row in every) for column in range(len(headings))]
    return [
        "  ".join(
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in every
    ]
