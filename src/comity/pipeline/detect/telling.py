"""Reports on their way into results: written by workers, each once, with records that were rejected and late events.

A task has the reports whose identities fall into its bucket, from whatever trace: of events that were sent twice with
different keys, two traces can make one report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from uuid import uuid4

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from comity.connect.folder import LATE, REJECTED, Results
from comity.connect.staged import StagedResults
from comity.event.formats.table import is_file_fault
from comity.event.reasons import ReasonCounts
from comity.limits import Limits, limits
from comity.pattern.told import TOLD, ids_of, lines_of
from comity.pipeline.detect.buckets import BucketWorker
from comity.pipeline.detect.ends import EndFile, ToldAtEnds
from comity.pipeline.detect.parcels import PARCELS, BucketParcels, Parcel, by_bucket, exchanged, parcel
from comity.pipeline.detect.seen import Extracted
from comity.pipeline.in_worker import in_worker
from comity.pipeline.write import BatchWritten, BucketWritten


@dataclass(slots=True)
class BucketTold(BucketWritten):
    """What a task wrote."""

    late: int = 0
    seen: Extracted = field(default_factory=Extracted)
    end: EndFile | None = None
    """The identities of what was told because a stream ended."""


@dataclass(slots=True)
class ToldBatch(BatchWritten):
    """What all tasks wrote."""

    buckets: Sequence[BucketTold] = ()  # type: ignore[assignment]

    @property
    def seen(self) -> Extracted:
        """What passed by."""
        return reduce(Extracted.beside, (one.seen for one in self.buckets), Extracted())

    @property
    def late(self) -> int:
        """Events that came too late."""
        return sum(one.late for one in self.buckets)

    @property
    def ends(self) -> list[EndFile]:
        """The files of identities that were told because a stream ended."""
        return [one.end for one in self.buckets if one.end is not None]


@dataclass(frozen=True, slots=True)
class ReportWriter:
    """The worker's side: writes the reports of a bucket."""

    folder: str
    """Where files of results stand until they are published."""
    results: Results
    names: tuple[str, ...]
    """By pattern, the profile."""
    targets: tuple[str, ...]
    """By pattern, who is told."""
    known: ToldAtEnds
    """What was told before."""
    end: tuple[int, str] | None = None
    """At the end of a stream: the last batch, and what the names of files of identities begin with."""
    bounds: Limits = field(default_factory=limits)

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What became of each bucket."""
        with in_worker(self.bounds):
            for bucket, came in by_bucket(batches).items():
                yield parcel(bucket, Parcel.DONE, msgspec.json.encode(self._write(bucket, came)))

    def _write(self, bucket: int, came: BucketParcels) -> BucketTold:
        staged = StagedResults(Path(self.folder), self.results, f"part-{uuid4().hex}")
        reasons, faults = ReasonCounts(), list[str]()
        new = self._new(came)
        delivered = self._write_reports(new, staged)
        for line in came.refused:
            if is_file_fault(reasons.take(msgspec.json.decode(line))):
                faults.append(line.decode())
            staged.put(REJECTED, line)
        if came.late:
            staged.put_all(LATE, pa.array(list(came.late), pa.binary()))
        staged.close()
        return BucketTold(
            [(file.to, str(file.path), file.day, None) for file in staged.files],
            [],
            [],
            delivered,
            dict(reasons.counts),
            {code: dict(record) for code, record in reasons.examples.items()},
            faults,
            len(came.late),
            came.seen,
            self._note_end(bucket, new),
        )

    def _new(self, came: BucketParcels) -> pa.Table:
        return self.known.without(pa.concat_tables([*came.tables, TOLD.empty_table()]))

    def _write_reports(self, told: pa.Table, staged: StagedResults) -> dict[str, int]:
        numbers = told.column("pattern").to_numpy()
        counts = np.bincount(numbers, minlength=len(self.names))
        for to in dict.fromkeys(self.targets[number] for number in np.flatnonzero(counts)):
            own = told
            if len(set(self.targets)) > 1:
                is_own = np.array([target == to for target in self.targets])
                own = told.filter(pa.array(is_own[numbers]))
            if self.results is Results.JSONL:
                staged.put(to, bytes(lines_of(own)[:-1]))
            else:
                staged.put_all(to, pa.array([line[:-1] for line in own.column("line").to_pylist()], pa.binary()))
        return {self.names[number]: int(counts[number]) for number in np.flatnonzero(counts)}

    def _note_end(self, bucket: int, told: pa.Table) -> EndFile | None:
        if self.end is None or not told.num_rows:
            return None
        batch, start = self.end
        latest = int(np.max(told.column("end").to_numpy()))
        return self.known.note(f"{start}-{bucket}", batch, ids_of(told), latest)


def tell(parcels: DataFrame, worker: BucketWorker, writer: ReportWriter) -> ToldBatch:
    """Detect what parcels hold, and write what is reported: one job."""
    buckets = worker.detection.buckets
    reports = exchanged(parcels, buckets).mapInArrow(worker.batches, PARCELS)
    done = exchanged(reports, buckets).mapInArrow(writer.batches, PARCELS).collect()
    return ToldBatch([msgspec.json.decode(bytes(row["content"]), type=BucketTold) for row in done])
