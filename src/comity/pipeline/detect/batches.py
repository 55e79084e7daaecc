"""Patterns on a stream, batch by batch: what was staged of a batch is detected together with what is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from comity.connect.folder import PATTERNS
from comity.pattern.bank import LaterPatterns
from comity.pattern.rows import ReportRow
from comity.pipeline.detect.buckets import BucketJob, HasPatterns, PatternWork, Times, detect_buckets
from comity.pipeline.detect.extract import LATE, Extracted, staged_files, staged_lines
from comity.pipeline.detect.patterns import reports_of
from comity.pipeline.detect.state import EndReport, Ends, PatternStates, Progress

_FEWEST_BUCKETS = 2
_BUCKETS_A_CORE = 2


@dataclass(frozen=True, slots=True)
class PatternBatches:
    """Detects the patterns of a stream whose results are in a folder."""

    out: Path
    lateness_us: int
    start: int | None = None
    """Where traces start; without it, with the first event."""
    buckets: int | None = None
    """Over how many buckets traces are spread, when the stream begins; it stays so."""
    compiled: bool = True
    """Whether compiled code detects what it can; that stays so, too."""

    @property
    def states(self) -> PatternStates:
        """What is kept."""
        return PatternStates(self.out / PATTERNS)

    def before(self, number: int, spark: SparkSession) -> Progress:
        """How far the stream had come when the batch began."""
        cores = spark.sparkContext.defaultParallelism
        buckets = self.buckets or max(_FEWEST_BUCKETS, _BUCKETS_A_CORE * cores)
        return self.states.before(number) or Progress(buckets, self.compiled, start=self.start)

    def detect(
        self, number: int, before: Progress, seen: Extracted, staged: Path, shared: HasPatterns, spark: SparkSession
    ) -> list[str]:
        """Detect what was staged of a batch; gives the files of reports, which are beside it."""
        after = self._after(before, seen, shared.value)
        jobs = {bucket: self._job(number, bucket, before, staged) for bucket in _touched(before, after, staged, shared)}
        is_begun = after.start is not None and after.done is not None and after.start <= after.done
        came = _came(before, shared.value)
        times = Times(before.done, after.done, after.start if is_begun else None, came=came)
        done = detect_buckets(list(jobs.values()), shared, before.buckets, times, spark)
        versions = {bucket: version for bucket, version in before.versions.items() if bucket not in jobs}
        versions |= {one.bucket: number for one in done if one.kept}
        self.states.save(number, replace(after, versions=versions))
        return [jobs[one.bucket].reports for one in done if one.reports]

    def pass_by(self, number: int, before: Progress, seen: Extracted) -> None:
        """Note how far time has come in a batch that no pattern asks for anything; nothing is kept of earlier ones."""
        after = before.after(seen, self.lateness_us)
        self.states.save(number, replace(after, bodies="", silences=frozenset(), versions={}))

    def told_at_ends(self, number: int) -> frozenset[str]:
        """The ids of what was reported at ends before a batch, and is not reported in it again.

        What was reported at an end after the batch, which is done again, does not count any more.
        """
        ends = self.states.ends
        if any(one.batch >= number for one in ends.reports.values()):
            ends = ends.before(number)
            self.states.save_ends(ends)
        return frozenset(ends.reports)

    def finish(self, staged: Path, shared: HasPatterns, spark: SparkSession) -> list[str]:
        """What closes if nothing comes after the last batch, as files of reports beside `staged`.

        What is kept stays as it is: should the stream go on, it goes on as if it had not ended.
        """
        number = self.states.last_batch
        assert number is not None, "there was a batch"
        last = self.states.after(number)
        jobs = [
            replace(self._job(number, bucket, last, staged), candidates=(), after=None)
            for bucket in range(last.buckets)
            if bucket in last.versions or shared.value.has_silence(bucket, last.buckets)
        ]
        times = Times(last.done, None, last.start, last.newest, _came(last, shared.value))
        detect_buckets(jobs, shared, last.buckets, times, spark)
        return [job.reports for job in jobs]

    @contextmanager
    def ending(self, found: Iterable[ReportRow]) -> Iterator[tuple[int, list[ReportRow]]]:
        """The last batch, and what is new of what was found at its end; it is published when the block ends well."""
        number = self.states.last_batch
        assert number is not None, "there was a batch"
        known = self.states.ends.before(number, self.states.after(number).done)
        new = [one for one in found if one.id not in known.reports]
        reports = {**known.reports, **{one.id: EndReport(one.end, number) for one in new}}
        self.states.save_ends(Ends(number, reports))
        yield number, new
        self.states.save_ends(Ends(None, reports))

    def _after(self, before: Progress, seen: Extracted, work: PatternWork) -> Progress:
        after = before.after(seen, self.lateness_us)
        start = after.start if self.start is None else self.start
        silences = frozenset(_silences(work).values())
        return replace(after, start=start, bodies=_digest(work.bank.bodies), silences=silences)

    def _job(self, number: int, bucket: int, before: Progress, staged: Path) -> BucketJob:
        version = before.versions.get(bucket)
        return BucketJob(
            bucket,
            staged_files(str(staged), bucket),
            None if version is None else self.states.file(bucket, version),
            reports_of(staged, bucket),
            self.states.file(bucket, number),
        )


def _touched(before: Progress, after: Progress, staged: Path, shared: HasPatterns) -> Iterator[int]:
    """The buckets that have candidates, or in which something can be due or no longer asked for."""
    is_moved = (before.watermark, before.bodies) != (after.watermark, after.bodies)
    for bucket in range(before.buckets):
        is_waiting = bucket in before.versions or shared.value.has_silence(bucket, before.buckets)
        if (is_moved and is_waiting and after.watermark is not None) or staged_files(str(staged), bucket):
            yield bucket


def _came(before: Progress, work: PatternWork) -> LaterPatterns | None:
    """The patterns with silences that were not there when there were events already."""
    came = frozenset(number for number, body in _silences(work).items() if body not in before.silences)
    return LaterPatterns(before.newest, came) if came and before.newest is not None else None


def _silences(work: PatternWork) -> dict[int, str]:
    return {number: _digest([work.bank.bodies[number]]) for number in work.silent}


def late_lines(staged: Path) -> list[bytes]:
    """The events that came too late, each once: it may have done so for several operands."""
    return [line.encode() for line in sorted(set(staged_lines(str(staged), LATE)))]


def _digest(bodies: Sequence[str]) -> str:
    return hashlib.blake2b(" ".join(bodies).encode(), digest_size=16).hexdigest()
