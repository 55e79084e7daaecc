"""Large files of lines, scanned as columns: what `Detection` finds event by event, found many times as fast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa

from comity.engine.detect import Detection
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, decode
from comity.event.formats.table import format_of
from comity.event.taxonomy import Taxonomy
from comity.limits import limits
from comity.match.line_candidates import LineCandidates
from comity.pattern.rows import ReportRow

SCANNED_BYTES = 16_000_000
"""Bytes of all files from which on scanning pays for the seconds that its kernels take to load."""
_BLOCK_BYTES = 16_777_216


def can_scan(files: Sequence[Path]) -> bool:
    """Whether the files are lines of JSON, and large enough."""
    return (
        all(format_of(one).is_plain_lines for one in files)
        and sum(one.stat().st_size for one in files) >= SCANNED_BYTES
    )


@dataclass(slots=True)
class ScannedDetection:
    """Detection over lines of events of known types; the figures are those of the detection."""

    detection: Detection
    taxonomy: Taxonomy
    _tables: list[pa.Table] = field(default_factory=list, init=False)

    def over_files(self, files: Sequence[Path]) -> Iterator[ReportRow]:
        """The reports over all events in the files."""
        from comity.event.scan.scanner import LineScanner  # its kernels take a second to load

        stream = self.detection.stream()
        concrete = [one for one in self.taxonomy.types if not one.abstract]
        scanner = LineScanner(concrete, require_time=True)
        candidates = LineCandidates(stream.bank, concrete, scanner, stream.extraction)
        for file in files:
            self._take(file, candidates)
        self.detection.events += candidates.events
        yield from stream.finish_with(pa.concat_tables(self._tables), self.detection.until)

    def _take(self, file: Path, candidates: LineCandidates) -> None:
        for first, lines in _blocks(file):
            block = _Block(file, first, lines, self.taxonomy)
            take_one = partial(self._take_one, block, candidates)
            self._tables.append(candidates.take(pa.array(lines, pa.binary()), take_one, until=self.detection.until))

    def _take_one(self, block: _Block, candidates: LineCandidates, number: int) -> None:
        self.detection.take_one(block.decode(number), candidates.singly)


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines of a file, from the line with a number on."""

    file: Path
    first: int
    lines: Sequence[bytes]
    taxonomy: Taxonomy

    def decode(self, at: int) -> Event | Rejected:
        number = self.first + at
        return decode(self.lines[at], self.taxonomy, require_time=True, line_number=number, source_file=str(self.file))


def _blocks(file: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Whole lines, and the number of the first of them."""
    number, rest = 1, b""
    with file.open("rb") as stream:
        while block := stream.read(max(_BLOCK_BYTES, limits().max_record_bytes)):
            *lines, rest = (rest + block).split(b"\n")
            if lines:
                yield number, lines
                number += len(lines)
    if rest:
        yield number, [rest]
