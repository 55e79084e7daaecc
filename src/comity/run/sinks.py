"""Where a run's notifications go beside the folder of results: the sinks that the federation's domains name."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from comity.connect.connectors.stdout import StdoutSink
from comity.connect.outbox import DeliveryEvent, Outbox, open_sinks
from comity.logs import log

if TYPE_CHECKING:
    from comity.plan import Summary
    from comity.run.request import RunRequest


@contextmanager
def sending(request: RunRequest) -> Iterator[Outbox | None]:
    """The outbox to the sinks of the federation, and to standard output if that is wanted; None without any."""
    sinks = open_sinks(request.federation.sinks, request.folder)
    if request.print_lines:
        for domain in request.federation.domains:
            sinks.setdefault(domain, {})["standard-output"] = StdoutSink()
    if not sinks:
        yield None
        return
    outbox = Outbox(request.out, sinks, on_event=_log_delivery, priorities=request.federation.priorities())
    try:
        yield outbox
    finally:
        outbox.close()


def _log_delivery(event: DeliveryEvent) -> None:
    log(f"sink {event.kind}", subscriber=event.subscriber, sink=event.sink, count=event.count, reason=event.reason)


def sent(outbox: Outbox | None, summary: Summary) -> Summary:
    """Send what is published; the summary with what sinks did not take."""
    if outbox is None:
        return summary
    started = time.monotonic()
    dead = {f"{one.subscriber}/{one.sink}": one.dead_letters for one in outbox.send() if one.dead_letters}
    return replace(summary, dead=dead, seconds={**summary.seconds, "send": time.monotonic() - started})


def log_summary(event: str, summary: Summary, **fields: Any) -> None:
    """Note what a run or a batch did."""
    log(
        event,
        records=summary.records,
        rejected=summary.rejected,
        late=summary.late,
        delivered=sum(summary.delivered.values()),
        dead=sum(summary.dead.values()),
        **fields,
    )
