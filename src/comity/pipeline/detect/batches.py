"""Patterns on a stream, batch by batch: how far time comes with a batch, and what is kept after it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from comity.connect.folder import PATTERNS
from comity.pattern.bank import LaterPatterns
from comity.pipeline.detect.buckets import BucketDetection, HasPatterns, PatternWork, Times
from comity.pipeline.detect.ends import EndFile, Ends, ToldAtEnds
from comity.pipeline.detect.patterns import bucket_count
from comity.pipeline.detect.seen import Extracted
from comity.pipeline.detect.state import PatternStates, Progress
from comity.pipeline.guest import is_remote

_FEWEST_BUCKETS = 2
_BUCKETS_A_CORE = 2


@dataclass(frozen=True, slots=True)
class StreamTime:
    """How far a stream comes with a batch."""

    before: Progress
    lateness_us: int
    start: int | None = None
    """Where traces start; without it, with the first event."""

    def after(self, seen: Extracted, work: PatternWork) -> Progress:
        """The progress after it; the files of what is kept are those before it."""
        after = self.before.after(seen, self.lateness_us)
        start = after.start if self.start is None else self.start
        silences = frozenset(_silences(work).values())
        return replace(after, start=start, bodies=_digest(work.bank.bodies), silences=silences)

    def times(self, seen: Extracted, work: PatternWork) -> Times:
        after = self.after(seen, work)
        is_begun = after.start is not None and after.done is not None and after.start <= after.done
        return Times(self.before.done, after.done, after.start if is_begun else None, came=_came(self.before, work))

    def is_moved(self, seen: Extracted, work: PatternWork) -> bool:
        after = self.after(seen, work)
        moved = (self.before.watermark, self.before.bodies) != (after.watermark, after.bodies)
        return moved and after.watermark is not None


@dataclass(frozen=True, slots=True)
class EndOfTime:
    """A stream has ended after a batch: what is kept is all there is."""

    last: Progress

    def times(self, seen: Extracted, work: PatternWork) -> Times:
        return Times(self.last.done, None, self.last.start, self.last.newest, _came(self.last, work))

    def is_moved(self, seen: Extracted, work: PatternWork) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class PatternBatches:
    """The patterns of a stream whose results are in a folder."""

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
        known = self.states.before(number)
        if known is not None:
            return known
        cores = bucket_count(spark) if is_remote(spark) else spark.sparkContext.defaultParallelism
        buckets = self.buckets or max(_FEWEST_BUCKETS, _BUCKETS_A_CORE * cores)
        return Progress(buckets, self.compiled, start=self.start)

    def detection(self, number: int, before: Progress, shared: HasPatterns) -> BucketDetection:
        """What detects the buckets of an attempt at a batch."""
        time = StreamTime(before, self.lateness_us, self.start)
        return BucketDetection(shared, before.buckets, time, self.states.attempt(number, before.files))

    def save(self, number: int, detection: BucketDetection, seen: Extracted) -> None:
        """Note what is kept after a batch whose buckets are all detected."""
        assert isinstance(detection.moving, StreamTime)
        assert detection.states is not None
        after = detection.moving.after(seen, detection.work)
        self.states.save(number, replace(after, files=detection.states.after()))

    def pass_by(self, number: int, before: Progress, seen: Extracted) -> None:
        """Note how far time has come in a batch that no pattern asks for anything; nothing is kept of earlier ones."""
        after = before.after(seen, self.lateness_us)
        self.states.save(number, replace(after, bodies="", silences=frozenset(), files={}))

    def told_at_ends(self, number: int) -> ToldAtEnds:
        """What was reported at ends before a batch, and is not reported in it again.

        What was reported at an end after the batch, which is done again, does not count any more.
        """
        ends = self.states.ends
        if ends.last_batch is not None and ends.last_batch >= number:
            ends = ends.before(number)
            self.states.save_ends(ends)
        return ends.told(self.states.folder)

    def end(self, shared: HasPatterns) -> BucketDetection:
        """What detects what closes if nothing comes after the last batch.

        What is kept stays as it is: should the stream go on, it goes on as if it had not ended.
        """
        number = self.states.last_batch
        assert number is not None, "there was a batch"
        last = self.states.after(number)
        return BucketDetection(shared, last.buckets, EndOfTime(last), self.states.reading(last.files))

    def earlier_ends(self) -> Ends:
        """What was told at ends before the last batch, as far as it could be found again."""
        number = self.states.last_batch
        assert number is not None, "there was a batch"
        return self.states.ends.before(number, self.states.after(number).done)

    @contextmanager
    def ending(self, number: int, known: Ends, new: Sequence[EndFile]) -> Iterator[None]:
        """What is new at the end after a batch is published when the block ends well."""
        ends = replace(known, unpublished=number, files=(*known.files, *new))
        self.states.save_ends(ends)
        yield
        self.states.save_ends(replace(ends, unpublished=None))


def _came(before: Progress, work: PatternWork) -> LaterPatterns | None:
    """The patterns with silences that were not there when there were events already."""
    came = frozenset(number for number, body in _silences(work).items() if body not in before.silences)
    return LaterPatterns(before.newest, came) if came and before.newest is not None else None


def _silences(work: PatternWork) -> dict[int, str]:
    return {number: _digest([work.bank.bodies[number]]) for number in work.silent}


def _digest(bodies: Sequence[str]) -> str:
    return hashlib.blake2b(" ".join(bodies).encode(), digest_size=16).hexdigest()
