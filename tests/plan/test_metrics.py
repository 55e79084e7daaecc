"""Metrics of a run: totals over batches, in a text that Prometheus reads, with a bounded number of series."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from comity.connect.delivered import DeliveredSize
from comity.limits import limited
from comity.plan.metrics import RunMetrics
from comity.plan.stages import Summary


def samples(metrics: RunMetrics) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(metrics.render().decode())
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


def test_batches_add_up() -> None:
    metrics = RunMetrics("city")
    first = Summary(
        records=10,
        rejected=3,
        delivered={"hot": 2},
        late=1,
        matched=2,
        rejected_by_code={"syntax": 2},
        dead={"room": 1},
        seconds={"match": 0.5},
    )
    metrics.take(first, at_s=100.0, lag_s=2.0)
    metrics.take(Summary(records=5, rejected=0, delivered={"hot": 1, "cold": 4}, seconds={"match": 0.25}), at_s=101.0)
    assert samples(metrics) == {
        ("comity_run", "city"): 1,
        ("comity_records_total",): 15,
        ("comity_rejected_total", "syntax"): 2,
        ("comity_rejected_total", "unknown"): 1,
        ("comity_late_total",): 1,
        ("comity_matched_total",): 2,
        ("comity_delivered_total", "hot"): 3,
        ("comity_delivered_total", "cold"): 4,
        ("comity_dead_letters_total", "room"): 1,
        ("comity_stage_seconds_total", "match"): 0.75,
        ("comity_batches_total",): 2,
        ("comity_last_batch_timestamp_seconds",): 101,
        ("comity_lag_seconds",): 2,
    }


def test_profiles_beyond_the_bound_are_counted_together_and_keep_their_series() -> None:
    with limited(max_metric_profiles=2):
        metrics = RunMetrics("city")
    metrics.take(Summary(1, 0, {"a": 1, "b": 2, "c": 3}), at_s=0)
    metrics.take(Summary(1, 0, {"d": 4, "c": 5, "a": 6}), at_s=0)
    found = {key[1]: value for key, value in samples(metrics).items() if key[0] == "comity_delivered_total"}
    assert found == {"a": 7, "b": 2, "other": 12}


def test_labels_may_hold_anything() -> None:
    metrics = RunMetrics('a "city"\n\\')
    metrics.take(Summary(1, 0, {'p"\\\n': 1}), at_s=0)
    assert samples(metrics)["comity_delivered_total", 'p"\\\n'] == 1


def test_two_runs_share_nothing() -> None:
    one, other = RunMetrics("a"), RunMetrics("b")
    one.take(Summary(1, 0), at_s=0)
    assert samples(other)["comity_records_total",] == 0


def test_what_a_stream_remembers() -> None:
    metrics = RunMetrics("city")
    assert not [name for name, *_ in samples(metrics) if name.startswith("comity_remembered")]
    metrics.remember(DeliveredSize(0, 4_096, None))
    metrics.remember(DeliveredSize(7, 8_192, "1970-01-03"))
    found = {name: value for (name, *_), value in samples(metrics).items() if name.startswith("comity_remembered")}
    assert found == {
        "comity_remembered_notifications": 7,
        "comity_remembered_bytes": 8_192,
        "comity_remembered_oldest_timestamp_seconds": 2 * 86_400,
    }
