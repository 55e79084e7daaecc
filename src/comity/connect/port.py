"""The port: what a source gives, what a sink takes, and what a connector says about itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Unpack, runtime_checkable

from comity.errors import ErrorParts, Permanent, Retryable
from comity.event.formats.jsonlines import Rejected, TypeLookup
from comity.event.taxonomy import Taxonomy

if TYPE_CHECKING:  # they take a while to import, and whoever has a model or a language has imported it
    from pydantic import BaseModel

    from comity.connect.frames import FrameSource
    from comity.language.language import Language

Position = Any
"""Where to go on after a restart: a JSON value that only its source understands. None is the beginning."""


@dataclass(frozen=True, slots=True)
class Capability:
    """What a connector can do: data for the planner and for the conformance suites.

    >>> Capability(can_replay=True, ordered=True).live
    False
    """

    filters: str = "none"
    """Source: the name of the language of filters that it understands; one with `none` gives everything."""
    can_replay: bool = False
    """Source: it can be opened at any position that it ever gave, and goes on with the very next record."""
    ordered: bool = False
    """Records come, or messages are kept, in one order that is the same after a restart."""
    live: bool = False
    """Source: it has no end; when there is nothing now, there may be something later."""
    idempotent: bool = False
    """Sink: a message that is repeated with the same key has no further effect."""
    durable: bool = False
    """Source: what was not acknowledged survives a crash. Sink: what was taken survives one."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record as it came: a line of CloudEvents JSON and where it stood, or why it cannot be turned into one.

    >>> Record(b"{}", "events.jsonl", 3).is_rejected
    False
    """

    line: bytes
    file: str | None = None
    number: int | None = None
    rejected: Rejected | None = None

    @property
    def is_rejected(self) -> bool:
        """Whether the source itself refuses it; then `line` is the text as it came."""
        return self.rejected is not None


@dataclass(frozen=True, slots=True)
class Batch:
    """Some records, and the position after them. One without records says when it is worth asking again.

    `wake_at_s` is in seconds of `time.monotonic`; without it one may ask again at once. Records that a source left out,
    because nobody asked for them, lie before the position like those that it gave.
    """

    records: tuple[Record, ...]
    position: Position
    wake_at_s: float | None = None


@dataclass(frozen=True, slots=True)
class TypeAsk:
    """Which events of a type a source is to give, and what of each."""

    type: str
    """The qualified name, as in the `type` of CloudEvents."""
    native: str | None = None
    """The condition, in the source's language; None is every event of the type."""
    attributes: tuple[str, ...] | None = None
    """The attributes that somebody reads, without those inside of them; None is all. Others may be left out."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a source is to give. Two that are equal are the same to every source.

    What is left to be filtered here is not part of it: the plan has it, and changes of it are no business of a source.

    >>> Ask((TypeAsk("house.Fire", "heat > 86.0"),)).of("house.Fire").native
    'heat > 86.0'
    >>> Ask((TypeAsk("house.Fire"),)).of("house.Leak") is None, FOR_EVERYTHING.of("house.Leak")
    (True, TypeAsk(type='house.Leak', native=None, attributes=None))
    """

    types: tuple[TypeAsk, ...] | None = None
    """The types of which somebody wants events; None is everything, whatever its type."""

    def of(self, type: str) -> TypeAsk | None:
        """What is asked for of the events of a type; None is nothing."""
        if self.types is None:
            return TypeAsk(type)
        return next((one for one in self.types if one.type == type), None)


FOR_EVERYTHING = Ask()
"""What sources without a language of filters are asked for."""


@runtime_checkable
class Source(Protocol):
    """Where records come from. It is used by one thread: open, then batches, then close.

    A source has three duties: the next batch, when to wake, and the position to resume from.
    """

    @property
    def capability(self) -> Capability:
        """What this source can do, with its options."""
        ...

    def open(self, position: Position = None) -> None:
        """Begin after `position`; None is the beginning. Raises `Misuse`, `Retryable` or `Permanent`."""
        ...

    def next_batch(self, max_records: int) -> Batch | None:
        """At most `max_records` records, without waiting for more of them; None at the end of a bounded source."""
        ...

    def acknowledge(self, position: Position) -> None:
        """Everything up to `position` is kept elsewhere and need not be given again."""
        ...

    def close(self) -> None:
        """Let go of everything; a second time does nothing."""
        ...


@runtime_checkable
class FilteringSource(Source, Protocol):
    """A source that is opened with an ask: one whose capability names a language of filters.

    Of a type that it is asked for it gives the events for which the native condition holds, and no others. Records that
    it cannot read, and events of types that it was not asked for, it may give or leave out.
    """

    def open(self, position: Position = None, ask: Ask = FOR_EVERYTHING) -> None:
        """Begin after `position`, with the ask that was in force there. Raises as that of any source."""
        ...

    def change(self, ask: Ask) -> None:
        """Give, from here on, what another ask is for. Whatever was given was acknowledged before.

        What both asks want is neither lost nor given twice. What only the new one wants comes from here on, and of what
        only the old one wants some may still come. Raises `Retryable` or `Permanent`; the old ask is then in force.
        """
        ...


@dataclass(frozen=True, slots=True)
class Message:
    """One notification for a sink: `line` is CloudEvents JSON without a line end, `key` is unique per notification."""

    subscriber: str
    profile: str
    key: str
    """JSON text of `[profile, source, id]`."""
    line: bytes


@runtime_checkable
class Sink(Protocol):
    """Where notifications go. It is used by one thread: deliver as often as wanted, then close."""

    @property
    def capability(self) -> Capability:
        """What this sink can do, with its options."""
        ...

    def deliver(self, messages: Sequence[Message]) -> None:
        """Hand messages over in their order; on return all of them were taken.

        Raises `NotTaken` (or any other `Retryable`) when it may be tried again, `Refused` when one message never will
        be taken, and any other `Permanent` or `Misuse` when the sink takes none at all.
        """
        ...

    def close(self) -> None:
        """Let go of everything; a second time does nothing."""
        ...


class NotTaken(Retryable):
    """A sink cannot take more now: the first `taken` messages were, the others may be offered again."""

    def __init__(
        self, message: str, *, code: str, taken: int = 0, retry_after_s: float | None = None, **told: Unpack[ErrorParts]
    ) -> None:
        super().__init__(message, code=code, **told)
        self.taken = taken
        self.retry_after_s = retry_after_s


class Refused(Permanent):
    """A sink refuses one message for good: the first `taken` were taken, that at index `taken` never will be.

    Those after it were not looked at and may be offered again.
    """

    def __init__(self, message: str, *, code: str, taken: int = 0, **told: Unpack[ErrorParts]) -> None:
        super().__init__(message, code=code, **told)
        self.taken = taken


@dataclass(frozen=True, slots=True)
class Setting:
    """What a connector is told beside its options: who it is for, where relative paths begin, and the types."""

    name: str
    domain: str
    base: Path
    types: Taxonomy | TypeLookup | None = field(default=None, hash=False)
    """For sources whose cells are read by the kind that a type declares, such as CSV."""
    require_time: bool = False


@dataclass(frozen=True, slots=True)
class Connector:
    """A kind of source or sink, under which files name it, and how to make one."""

    kind: str
    capability: Capability
    options: type[BaseModel]
    """A pydantic model that forbids unknown keys; an instance of it is given to `source` and `sink`."""
    main_option: str | None = None
    """The option that may stand alone: `{files: events}` is `{files: {path: events}}`."""
    source: Callable[[Any, Setting], Source] | None = None
    language: Callable[[Any], Language] | None = None
    """The language of filters that the source understands with these options, where it is one of its own."""
    sink: Callable[[Any, Setting], Sink] | None = None
    frames: Callable[[Any, Setting], FrameSource] | None = None
    """In place of `source`, if it is one that Spark reads by itself."""
