"""What a run did so far, as metrics in the text format of Prometheus.

Counters only grow, and a profile that once has a metric of its own keeps it, so that rates over time stay true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Protocol

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from comity.connect.delivered import DeliveredSize
from comity.language.reasons import shortened
from comity.limits import limits
from comity.plan.stages import Summary

OTHER = "other"
"""The label under which everything beyond the bound is counted."""
UNKNOWN = "unknown"


@dataclass(slots=True)
class _ByLabel:
    """Numbers by label; the first labels get one each, the others share one."""

    bound: int
    numbers: dict[str, float] = field(default_factory=dict)

    def add(self, numbers: Mapping[str, float]) -> None:
        for label, number in numbers.items():
            own = label in self.numbers or len(self.numbers.keys() - {OTHER}) < self.bound
            key = label if own else OTHER
            self.numbers[key] = self.numbers.get(key, 0) + number


class SourceFigures(Protocol):
    """What is known of the sources of a run."""

    def records(self) -> Mapping[str, int]:
        """By source, how many records it sent."""
        ...

    def asked(self) -> Iterator[tuple[str, str, str]]:
        """What each is asked for: its name, the type of the events, the filter."""
        ...


class RunMetrics(Collector):
    """Takes the summaries of a run, a batch at a time; gives the metrics of all of them. Threads may share it.

    >>> metrics = RunMetrics("city")
    >>> metrics.take(Summary(records=3, rejected=1, delivered={"hot": 2}), at_s=1_700_000_000)
    >>> [line for line in metrics.render().decode().splitlines() if line.startswith("comity_delivered")]
    ['comity_delivered_total{profile="hot"} 2.0']
    """

    def __init__(self, federation: str) -> None:
        bound = limits().max_metric_profiles
        self._federation = federation
        self._lock = Lock()
        self._counts = {"records": 0, "late": 0, "matched": 0, "batches": 0}
        self._delivered, self._dead = _ByLabel(bound), _ByLabel(bound)
        self._rejected, self._seconds = _ByLabel(bound), _ByLabel(bound)
        self._lag_s: float | None = None
        self._last_batch_s: float | None = None
        self._remembered: DeliveredSize | None = None
        self.sources: SourceFigures | None = None
        """Where records come from, if not from files."""
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def take(self, summary: Summary, *, at_s: float, lag_s: float | None = None) -> None:
        """Count a batch that ended at a time (seconds since 1970); `lag_s` is how old its oldest file was then."""
        unnamed = summary.rejected - sum(summary.rejected_by_code.values())
        with self._lock:
            for name, count in (("records", summary.records), ("late", summary.late), ("matched", summary.matched)):
                self._counts[name] += count
            self._counts["batches"] += 1
            self._delivered.add(summary.delivered)
            self._dead.add(summary.dead)
            self._rejected.add(summary.rejected_by_code)
            self._rejected.add({UNKNOWN: unnamed} if unnamed > 0 else {})
            self._seconds.add(summary.seconds)
            self._last_batch_s = at_s
            self._lag_s = lag_s if lag_s is not None else self._lag_s

    def remember(self, remembered: DeliveredSize) -> None:
        """Take how much a stream remembers of what it delivered."""
        with self._lock:
            self._remembered = remembered

    def render(self) -> bytes:
        """Everything in the text format of Prometheus."""
        return bytes(generate_latest(self.registry))

    def collect(self) -> Iterator[Metric]:
        """The metrics, for the registry."""
        with self._lock:
            yield from list(self._metrics())

    def _metrics(self) -> Iterator[Metric]:
        yield _gauge("comity_run", "The federation that runs.", {self._federation: 1}, "federation")
        yield CounterMetricFamily("comity_records", "Records read.", value=self._counts["records"])
        yield _counter("comity_rejected", "Records rejected, by the code of the reason.", self._rejected, "code")
        late = "Events that some profile wanted and that came late; they are delivered."
        yield CounterMetricFamily("comity_late", late, value=self._counts["late"])
        yield CounterMetricFamily("comity_matched", "Events that some profile wanted.", value=self._counts["matched"])
        yield _counter("comity_delivered", "Notifications, by profile.", self._delivered, "profile")
        yield _counter("comity_dead_letters", "Notifications that a sink did not take.", self._dead, "sink")
        yield _counter("comity_stage_seconds", "Seconds spent, by stage.", self._seconds, "stage")
        yield CounterMetricFamily("comity_batches", "Batches done.", value=self._counts["batches"])
        if self._last_batch_s is not None:
            text = "When the last batch ended, in seconds since 1970."
            yield GaugeMetricFamily("comity_last_batch_timestamp_seconds", text, value=self._last_batch_s)
        if self._lag_s is not None:
            text = "Age of the oldest file of the last batch when the batch was done, in seconds."
            yield GaugeMetricFamily("comity_lag_seconds", text, value=self._lag_s)
        if self.sources is not None:
            yield from _sources(self.sources)
        if self._remembered is not None:
            yield from _memory(self._remembered)


def _sources(sources: SourceFigures) -> Iterator[Metric]:
    sent = CounterMetricFamily("comity_source_records", "Records that a source sent.", labels=["source"])
    for source, count in sources.records().items():
        sent.add_metric([source], count)
    yield sent
    text = "What a source is asked for, in its own language, by the type of the events."
    asked = GaugeMetricFamily("comity_source_asked", text, labels=["source", "type", "asked"])
    for source, type, filter in sources.asked():
        asked.add_metric([source, type, shortened(filter)], 1)
    yield asked


def _memory(remembered: DeliveredSize) -> Iterator[Metric]:
    text = "Notifications that are remembered, so that none is delivered twice."
    yield GaugeMetricFamily("comity_remembered_notifications", text, value=remembered.count)
    text = "Bytes that remembering them takes on the disk."
    yield GaugeMetricFamily("comity_remembered_bytes", text, value=remembered.size_bytes)
    if remembered.oldest_day is not None:
        oldest_s = datetime.fromisoformat(remembered.oldest_day).replace(tzinfo=UTC).timestamp()
        text = "The day of the oldest one, in seconds since 1970."
        yield GaugeMetricFamily("comity_remembered_oldest_timestamp_seconds", text, value=oldest_s)


def _counter(name: str, text: str, by_label: _ByLabel, label: str) -> Metric:
    family = CounterMetricFamily(name, text, labels=[label])
    for value, number in by_label.numbers.items():
        family.add_metric([value], number)
    return family


def _gauge(name: str, text: str, numbers: Mapping[str, float], label: str) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, number in numbers.items():
        family.add_metric([value], number)
    return family
