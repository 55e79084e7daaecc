"""Notes of files that made Spark fail, beside the results of a stream.

Such a file is noted before its batch is tried again, so that the batch treats it in the same way whenever it is done
again.
"""

from __future__ import annotations

from dataclasses import dataclass
from logging import WARNING
from pathlib import Path

import msgspec

from comity.connect.folder import QUARANTINE
from comity.logs import log
from comity.pipeline.doubts import NO_DOUBTS, Doubts
from comity.storage.durable import write_whole

_NOTE = ".doubts-"


@dataclass(frozen=True, slots=True)
class DoubtNotes:
    """The notes of a stream, in the folder in which the files themselves are kept."""

    out: Path

    def doubts(self, batch: int) -> Doubts:
        """What was noted of the files of a batch in an earlier attempt at it."""
        try:
            noted = msgspec.json.decode(self._note(batch).read_bytes(), type=_Noted)
        except FileNotFoundError:
            return NO_DOUBTS
        return Doubts(frozenset(noted.whole), noted.unreadable)

    def note(self, batch: int, doubts: Doubts) -> None:
        """Note which files of a batch made Spark fail, to last."""
        for file in doubts.whole:
            log("file in doubt", level=WARNING, file=file, batch=batch)
        write_whole(self._note(batch), msgspec.json.encode(_Noted(sorted(doubts.whole), dict(doubts.unreadable))))

    def forget(self, batch: int) -> None:
        """Drop the notes of earlier batches, which are not done again."""
        for note in (self.out / QUARANTINE).glob(f"{_NOTE}*"):
            if int(note.stem.removeprefix(_NOTE)) < batch:
                note.unlink()

    def _note(self, batch: int) -> Path:
        return self.out / QUARANTINE / f"{_NOTE}{batch:08d}.json"


class _Noted(msgspec.Struct):
    whole: list[str]
    unreadable: dict[str, str]
