"""The in-process runner into folders, as the Spark runner writes them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from comity.connect.claim import locked_folder
from comity.connect.folder import REJECTED, Results, landed_source
from comity.connect.notification import notification_line
from comity.connect.staged import staged_results
from comity.engine.live import STORED, LiveEngine, Pushed
from comity.engine.outcome import Notification
from comity.engine.run import run
from comity.event.formats.jsonlines import encode
from comity.event.reasons import ReasonCounts
from comity.plan.stages import Plan, Summary


def run_into_folder(plan: Plan, events: Iterable[Pushed], out: Path, *, results: Results = Results.JSONL) -> Summary:
    """Deliver the events into a folder for each subscriber, and what is refused into `rejected`."""
    delivered: Counter[str] = Counter()
    reasons = ReasonCounts()
    engine = LiveEngine(plan, STORED)
    with locked_folder(out), staged_results(out, [*plan.subscribers, REJECTED], results) as staged:
        for outcome in run(plan, events, engine=engine):
            if isinstance(outcome, Notification):
                delivered[outcome.profile] += 1
                staged.put(outcome.subscriber, notification_line(encode(outcome.event), outcome.profile))
            else:
                origin = landed_source(outcome.source_file)
                refused = {**outcome.as_dict(), **({"origin": origin} if origin else {})}
                reasons.take(refused)
                staged.put(REJECTED, json.dumps(refused, ensure_ascii=False).encode())
    told = {name: delivered[name] for name in plan.profiles}
    return Summary(
        engine.counts.records,
        reasons.total,
        told,
        matched=engine.counts.matched,
        rejected_by_code=dict(reasons.counts),
        rejected_examples=reasons.examples,
    )
