"""Dead letters, offered once more: those that are taken leave their file, the others stay with their attempts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec

from comity.connect.courier import Courier, Settled
from comity.connect.dead_letters import (
    NO_NOTIFICATION,
    DeadLetter,
    RewrittenLetters,
    read_dead_letters,
    replacing,
)
from comity.connect.progress import KeyLog, SinkProgress, sink_progress
from comity.limits import limits


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many dead letters of a sink were taken, and how many are left."""

    subscriber: str
    sink: str
    taken: int
    left: int


def replay_sink(
    out: Path, subscriber: str, sink: str, courier: Courier, give_up: Callable[[], bool] = lambda: False
) -> Replayed:
    """Offer the dead letters of one sink again; what the courier is stopped before stays.

    After a crash the file is as it was; whoever uses the sink next first removes those that were taken. While another
    process sends to the sink this one waits, until `give_up`; then it raises `Retryable`.
    """
    with sink_progress(out, subscriber, sink, give_up) as progress:
        progress.settle()
        log = progress.replay_log()
        try:
            taken, left = _replay(progress, log, courier, subscriber)
            log.remove()
        finally:
            log.close()
    return Replayed(subscriber, sink, taken, left)


def _replay(progress: SinkProgress, log: KeyLog, courier: Courier, subscriber: str) -> tuple[int, int]:
    if not progress.dead_letters.exists():
        return 0, 0
    courier.begin()
    letters = read_dead_letters(progress.dead_letters)
    taken, goes_on = 0, True
    with replacing(progress.dead_letters) as kept:
        while goes_on and (chunk := list(islice(letters, limits().max_messages_in_flight))):
            current = _Round(chunk, log, kept)
            goes_on = courier.carry([one.as_message(subscriber) for one in current.offered], current.note)
            current.keep_rest()
            taken += current.taken
        for letter in letters:
            kept.keep(letter)
    return taken, kept.count


class _Round:
    """Some dead letters that are offered: takes note of what became of them."""

    def __init__(self, letters: Sequence[DeadLetter], log: KeyLog, kept: RewrittenLetters) -> None:
        self.offered = [letter for letter in letters if letter.code != NO_NOTIFICATION]
        self.taken = 0
        self._log, self._kept = log, kept
        self._settled = 0
        for letter in letters:
            if letter.code == NO_NOTIFICATION:  # nothing makes it one
                kept.keep(letter)

    def note(self, settled: Sequence[Settled]) -> None:
        """Log what was taken, keep what was not."""
        taken = [one for one in settled if one.failure is None]
        if taken:
            self._log.add(one.message.key for one in taken)
        for one, letter in zip(settled, self.offered[self._settled :]):
            if one.failure is not None:
                self._kept.keep(_tried_again(letter, one.as_dead_letter()))
        self._settled += len(settled)
        self.taken += len(taken)

    def keep_rest(self) -> None:
        """Keep what was not offered, because the replay was stopped."""
        for letter in self.offered[self._settled :]:
            self._kept.keep(letter)


def _tried_again(before: DeadLetter, now: DeadLetter) -> DeadLetter:
    if not now.attempts:
        return before
    return msgspec.structs.replace(
        now,
        attempts=before.attempts + now.attempts,
        first_tried=before.first_tried or now.first_tried,
        message=before.message,
    )
