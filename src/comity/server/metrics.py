"""What a node did so far, as metrics in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from comity.limits import limits
from comity.wire import LinkStatus, NodeStatus

_OF_LINKS = {
    "events_in": "Events that came over a link.",
    "events_out": "Events that went over a link.",
    "bytes_in": "Bytes that came over a link.",
    "bytes_out": "Bytes that went over a link.",
    "control_in": "Messages about subscriptions and advertisements that came over a link.",
    "control_out": "Messages about subscriptions and advertisements that went over a link.",
    "unwanted": "Events that came over a link and that nobody wants here or behind here.",
    "passed_through": "Events that went over a link in batches that went on as they came.",
    "repeats": "Events that came over a link again, and were left out.",
    "dropped": "Events that did not go over a link because the neighbour takes them in too slowly.",
}
_NOW_OF_LINKS = {
    "subscriptions": "Filters that a neighbour wants, now.",
    "subscriptions_told": "Filters that a neighbour was told, now.",
    "queued_bytes": "Bytes that wait to be sent to a neighbour, now.",
    "unacknowledged": "Stored events, more or less, that a neighbour has yet to acknowledge, now.",
}


class NodeMetrics(Collector):
    """Takes what a node tells of itself from time to time; other threads read it.

    >>> metrics = NodeMetrics()
    >>> metrics.take(NodeStatus(request=0, name="a", instance="", strategy="covering", advertisements=False,
    ...     uptime_s=1.0, links=(LinkStatus(name="b", is_up=True, events_in=7),)))
    >>> [line for line in metrics.render().decode().splitlines() if line.startswith("comity_link_events_in")]
    ['comity_link_events_in_total{neighbour="b"} 7.0']
    """

    def __init__(self) -> None:
        self._status: NodeStatus | None = None
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def take(self, status: NodeStatus) -> None:
        """What the node tells now."""
        self._status = status

    def render(self) -> bytes:
        """Everything in the text format of Prometheus."""
        return bytes(generate_latest(self.registry))

    def collect(self) -> Iterator[Metric]:
        """The metrics, for the registry."""
        status = self._status
        if status is not None:
            yield from _of_node(status)
            yield from _of_links(status.links[: limits().max_metric_profiles])


def _of_node(status: NodeStatus) -> Iterator[Metric]:
    node = GaugeMetricFamily("comity_node", "The node that runs.", labels=["name", "strategy"])
    node.add_metric([status.name, status.strategy], 1)
    yield node
    yield CounterMetricFamily("comity_events_in", "Events that came in.", value=status.events_in)
    yield CounterMetricFamily("comity_events_out", "Events that went out, to each receiver.", value=status.events_out)
    yield CounterMetricFamily("comity_node_seconds", "Seconds of computing.", value=status.cpu_s)
    yield GaugeMetricFamily("comity_clients", "Clients that are connected.", value=status.clients_here)
    yield GaugeMetricFamily("comity_node_bytes", "The most memory that the node has had.", value=status.memory_bytes)
    dropped = "Events for clients, connected or away, that were not sent to them because they are too slow."
    yield GaugeMetricFamily("comity_client_dropped", dropped, value=sum(client.dropped for client in status.clients))
    refused = CounterMetricFamily("comity_refused", "Events, requests and connections refused.", labels=["code"])
    for code, count in status.refused.items():
        refused.add_metric([code], count)
    yield refused


def _of_links(links: tuple[LinkStatus, ...]) -> Iterator[Metric]:
    up = GaugeMetricFamily("comity_link_up", "Whether a link is up.", labels=["neighbour"])
    for link in links:
        up.add_metric([link.name], int(link.is_up))
    yield up
    for name, text in _OF_LINKS.items():
        yield _family(CounterMetricFamily(f"comity_link_{name}", text, labels=["neighbour"]), name, links)
    for name, text in _NOW_OF_LINKS.items():
        yield _family(GaugeMetricFamily(f"comity_link_{name}", text, labels=["neighbour"]), name, links)


def _family(
    family: CounterMetricFamily | GaugeMetricFamily, name: str, links: tuple[LinkStatus, ...]
) -> CounterMetricFamily | GaugeMetricFamily:
    for link in links:
        if link.is_up:
            family.add_metric([link.name], getattr(link, name))
    return family
