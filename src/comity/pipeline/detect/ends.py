"""What patterns reported because a stream ended, which may go on after that: it is not reported again.

Identities are in files that workers write; a note names those that count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from comity.connect.key_files import DeliveredKeys, Keys, as_keys
from comity.connect.sealed import Purpose, read_sealed, sealed
from comity.pattern.told import ids_of
from comity.storage.durable import write_whole

STATE = Purpose(
    "what is kept of patterns between batches",
    "put back a copy of the results folder, or remove `.patterns` in it while no stream runs: patterns then begin "
    "anew, and what had begun is not reported",
    code="broken-state",
)


@dataclass(frozen=True, slots=True)
class EndReport:
    """A report that was made because the stream ended, as it was noted before there were files."""

    end: int
    """The time at which it occurs."""
    batch: int
    """The last batch before that end."""


@dataclass(frozen=True, slots=True)
class EndFile:
    """A file of identities of such reports."""

    name: str
    batch: int
    """The last batch before that end."""
    latest: int
    """The time at which the last of them occurs."""


@dataclass(frozen=True, slots=True)
class Ends:
    """What was reported at the ends of a stream, which may have gone on after them."""

    unpublished: int | None = None
    """The last batch before an end of which the reports are noted, and perhaps not published."""
    reports: Mapping[str, EndReport] = field(default_factory=dict)
    """By identity; noted before there were files."""
    files: tuple[EndFile, ...] = ()

    @property
    def last_batch(self) -> int | None:
        """The last batch before any of these ends."""
        batches = [one.batch for one in self.files] + [one.batch for one in self.reports.values()]
        return max(batches, default=None)

    def before(self, batch: int, since: int | None = None) -> Ends:
        """Those of ends before a batch, as far as they can be found again when the time up to `since` is done."""
        reports = {
            name: one for name, one in self.reports.items() if one.batch < batch and (since is None or one.end > since)
        }
        files = tuple(one for one in self.files if one.batch < batch and (since is None or one.latest > since))
        is_left = self.unpublished is not None and self.unpublished < batch
        return Ends(self.unpublished if is_left else None, reports, files)

    def told(self, folder: Path) -> ToldAtEnds:
        """The same for workers; the files are in a folder."""
        return ToldAtEnds(str(folder), tuple(one.name for one in self.files), tuple(self.reports))


@dataclass(frozen=True, slots=True)
class ToldAtEnds:
    """What was told at ends, as workers look into it."""

    folder: str = ""
    files: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()

    def without(self, told: pa.Table) -> pa.Table:
        """The reports that were not told at an end, each once."""
        if not told.num_rows:
            return told
        is_new = DeliveredKeys(self._keys()).take(as_keys([ids_of(told)]))
        return told if is_new.all() else told.filter(pa.array(is_new))

    def note(self, name: str, batch: int, ids: bytes, latest: int) -> EndFile:
        """Write the identities of what is told at another end."""
        write_whole(Path(self.folder, name), sealed(ids))
        return EndFile(name, batch, latest)

    def _keys(self) -> list[Keys]:
        """The identities, sorted."""
        contents = [[read_sealed(Path(self.folder, name), STATE)] for name in self.files]
        found = [as_keys(one) for one in (*contents, [bytes.fromhex(one) for one in self.ids])]
        return [one.at(one.order()) for one in found if len(one)]


NOTHING_TOLD = ToldAtEnds()
