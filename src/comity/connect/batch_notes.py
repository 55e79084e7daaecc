"""What counts after each batch of a stream: a note with the number of the batch, in a folder of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from comity.connect.sealed import Purpose, read_note, sealed_note
from comity.storage.durable import write_whole

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BatchNotes(Generic[T]):
    """The notes in a folder."""

    folder: Path
    kind: type[T]
    purpose: Purpose

    def numbers(self) -> list[int]:
        """The batches that have one, in their order."""
        return sorted(int(path.stem) for path in self.folder.glob("*.json"))

    def before(self, number: int) -> int | None:
        """The last batch before one, None if there was none."""
        return max((one for one in self.numbers() if one < number), default=None)

    def read(self, number: int) -> T:
        """What counts after a batch; raises `Permanent` if that is damaged or missing."""
        path = self._path(number)
        found = read_note(path, self.kind, self.purpose)
        if found is None:
            raise self.purpose.broken(path, "the file is missing")
        return found

    def save(self, number: int, note: T) -> None:
        """Let this count after a batch."""
        write_whole(self._path(number), sealed_note(note))

    def keep_two(self, upto: int) -> list[T]:
        """Remove all but those of a batch and of the one before it, with which it would begin again; gives the two."""
        kept = {number: self.read(number) for number in [one for one in self.numbers() if one <= upto][-2:]}
        for number in self.numbers():
            if number not in kept:
                self._path(number).unlink()
        return list(kept.values())

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.json"
