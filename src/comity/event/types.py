"""Types of attributes and of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from comity.event.context import NO_CONTEXT, Context
from comity.event.kinds import Kind
from comity.keyed import Keyed

ENVELOPE_NAME = "event"
"""The first name that is reserved for the envelope: `event.id`, `event.time`, …"""


@dataclass(frozen=True, slots=True)
class AttributeType:
    """What an attribute holds. A struct has `attributes`, a list has an `element`, a number may have a `unit`.

    The unit is the whole of unit or currency and scale, `1000 USD`; `context` has what was declared beside it: `codes`,
    `accuracy`, and whatever else.

    >>> AttributeType(Kind.POINT).at(("x",)).kind
    <Kind.FLOAT: 'float'>
    """

    kind: Kind
    optional: bool = False
    unit: str | None = None
    concept: str | None = None
    attributes: Mapping[str, AttributeType] = field(default_factory=dict, hash=False)
    element: AttributeType | None = None
    context: Context = NO_CONTEXT

    @property
    def codes(self) -> str | None:
        """The system of codes that a text is of, as its context says."""
        found = self.context.get("codes")
        return found if isinstance(found, str) else None

    def at(self, path: tuple[str, ...]) -> AttributeType | None:
        """The type at a path inside this one, optional if any step to it is; None if nothing can stand there."""
        found, optional = self, self.optional
        for name in path:
            inner = _POINT_PARTS.get(name) if found.kind is Kind.POINT else found.attributes.get(name)
            if inner is None:
                return None
            found, optional = inner, optional or inner.optional
        return found if found.optional == optional else found.as_optional()

    def as_optional(self) -> AttributeType:
        """The same type, but optional."""
        return replace(self, optional=True)

    def __str__(self) -> str:
        of = f" of {self.element}" if self.element else ""
        unit, context = (f" {part}" if part else "" for part in (self.unit, self.context))
        return f"{self.kind.value}{of}{unit}{context}{'?' if self.optional else ''}"


_POINT_PARTS = {"x": AttributeType(Kind.FLOAT), "y": AttributeType(Kind.FLOAT)}

ENVELOPE: Mapping[str, AttributeType] = {
    "id": AttributeType(Kind.STRING),
    "source": AttributeType(Kind.STRING),
    "type": AttributeType(Kind.STRING),
    "time": AttributeType(Kind.TIMESTAMP),
    "subject": AttributeType(Kind.STRING, optional=True),
    "sequence": AttributeType(Kind.INT, optional=True),
    "mode": AttributeType(Kind.STRING, optional=True),
    "version": AttributeType(Kind.STRING, optional=True),
}
"""The attributes that every event has under the reserved name `event`."""

MODES = ("live", "past", "replay")
"""The values of `event.mode`."""


@dataclass(frozen=True, slots=True)
class EventType(Keyed):
    """A record type. `own` are the attributes it adds to those of its parent, `attributes` are all of them.

    >>> alarm = EventType("Alarm", "house", own={"room": AttributeType(Kind.STRING)})
    >>> fire = EventType("Fire", "house", parent=alarm, own={"heat": AttributeType(Kind.FLOAT, optional=True)})
    >>> fire.qualified_name, list(fire.attributes), fire.lineage
    ('house.Fire', ['room', 'heat'], ('house.Fire', 'house.Alarm'))
    """

    name: str
    namespace: str
    parent: EventType | None = field(default=None, hash=False, repr=False)
    own: Mapping[str, AttributeType] = field(default_factory=dict, hash=False)
    abstract: bool = field(default=False, hash=False)
    description: str | None = field(default=None, compare=False)
    version: str | None = field(default=None, hash=False)
    """What an event says as its `typeversion`, if it says one; None when it may say anything."""
    attributes: Mapping[str, AttributeType] = field(init=False, compare=False, repr=False)
    qualified_name: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        inherited = self.parent.attributes if self.parent else {}
        object.__setattr__(self, "attributes", {**inherited, **self.own})
        object.__setattr__(self, "qualified_name", f"{self.namespace}.{self.name}" if self.namespace else self.name)

    def attribute_at(self, path: tuple[str, ...]) -> AttributeType | None:
        """The type of the attribute at a dotted path, `event.…` for the envelope; None if there is none.

        It is optional if any step of the path is.
        """
        if not path:
            return None
        if path[0] == ENVELOPE_NAME:
            return ENVELOPE.get(path[1]) if len(path) == 2 else None
        first = self.attributes.get(path[0])
        return first.at(path[1:]) if first is not None else None

    @property
    def lineage(self) -> tuple[str, ...]:
        """The qualified names from this type up to the root."""
        own = (self.qualified_name,)
        return own + self.parent.lineage if self.parent else own


EVENT = EventType("Event", "", abstract=True, description="The root of every taxonomy.")
