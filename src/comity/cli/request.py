"""What a run was asked to do, and what runs over stored events and over streams share."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comity.cli.rejected import FailOn
from comity.cli.session import Format, Session
from comity.connect.claim import RUN_FILE
from comity.connect.private import open_private
from comity.logs import log

if TYPE_CHECKING:
    from comity.cli.inputs import EventSources
    from comity.connect.folder import Results
    from comity.connect.outbox import DeliveryEvent, Outbox
    from comity.federation import Federation
    from comity.plan import Summary


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A federation, its events, and where the results go."""

    folder: Path
    federation: Federation
    sources: EventSources
    out: Path
    master: str | None
    spark_config: Mapping[str, str]
    results: Results
    print_lines: bool
    format: Format
    session: Session
    fail_on: FailOn = FailOn.ALL

    def remember(self) -> None:
        """Note in the results folder which federation has the sinks, for `comity replay`."""
        with open_private(self.out / RUN_FILE, "wb") as stream:
            stream.write(json.dumps({"federation": str(self.folder.resolve())}).encode() + b"\n")

    @contextmanager
    def sending(self) -> Iterator[Outbox | None]:
        """The outbox to the sinks of the federation, and to standard output if that is wanted; None without any."""
        from comity.connect.connectors.stdout import StdoutSink
        from comity.connect.outbox import Outbox, open_sinks

        sinks = open_sinks(self.federation.sinks, self.folder)
        if self.print_lines:
            for domain in self.federation.domains:
                sinks.setdefault(domain, {})["standard-output"] = StdoutSink()
        if not sinks:
            yield None
            return
        outbox = Outbox(self.out, sinks, on_event=_log_delivery, priorities=self.federation.priorities())
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
