"""What a source is asked for on behalf of many profiles: one filter that lets pass whatever any of them wants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from comity.event.types import EventType
from comity.expression.scope import Scope
from comity.expression.simplify import simplify
from comity.expression.tree import FALSE, TRUE, TRUTH, Attribute, Expression, Literal, children, walk
from comity.expression.uncovered import uncovered
from comity.filter.relations import covers
from comity.language.fold import either
from comity.language.language import Language
from comity.language.reasons import Reason
from comity.language.split import Split

_MOST_COMPARED = 12
"""Native parts of which those that others cover are left out; with more of them comparing takes too long."""


@dataclass(frozen=True, slots=True)
class Want:
    """What one profile wants of the events of a source, in the source's terms."""

    profile: str
    condition: Expression


@dataclass(frozen=True, slots=True)
class Part:
    """What is left to do here for one profile, and why."""

    want: Want
    residual: Expression
    """Together with what the source is asked for, it is the condition."""
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class JointAsk:
    """What a source is asked for of one type, for all profiles: true is everything, false nothing."""

    native: Expression
    text: str
    parts: tuple[Part, ...]
    reasons: tuple[Reason, ...] = ()

    @property
    def asks_for_everything(self) -> bool:
        return self.native == TRUE

    @property
    def asks_for_nothing(self) -> bool:
        return self.native == FALSE


def asked_of_source(wants: Sequence[Want], language: Language, *, type: EventType | None = None) -> JointAsk:
    """The least that a source must send so that no profile misses anything, as far as its language can say it.

    >>> from comity.expression.parse import parse
    >>> from comity.language.parquet import PARQUET
    >>> wants = [Want("attic", parse("room = 'attic'")), Want("hot", parse("room = 'roof' and lower(note) = 'hot'"))]
    >>> asked_of_source(wants, PARQUET).text
    "room = 'attic' OR (room = 'roof' AND note IS NOT NULL)"
    """
    if language.capability.is_nothing:
        return asked_for_everything(wants, Reason("source-has-no-filter", ""))
    splits = [language.split(want.condition, type=type) for want in wants]
    unbounded = tuple(
        Reason("profile-without-bound", want.profile)
        for want, found in zip(wants, splits, strict=True)
        if found.native == TRUE
    )
    together = Split(TRUE, TRUE) if unbounded else _together([one.native for one in splits], language, type)
    parts = tuple(_part(want, found, together.native) for want, found in zip(wants, splits, strict=True))
    return _ask(together.native, language, parts, (*unbounded, *together.reasons))


def asked_for_everything(wants: Iterable[Want], why: Reason) -> JointAsk:
    """Everything is asked for, and every profile is checked here."""
    return JointAsk(TRUE, "everything", tuple(Part(want, want.condition, ()) for want in wants), (why,))


def _ask(native: Expression, language: Language, parts: tuple[Part, ...], reasons: tuple[Reason, ...]) -> JointAsk:
    text = "everything" if native == TRUE else "nothing" if native == FALSE else language.render(native)
    return JointAsk(native, text, parts, reasons)


def _part(want: Want, found: Split, native: Expression) -> Part:
    """What the source was asked for on behalf of others must be taken away again."""
    return Part(want, found.residual if found.native == native else want.condition, found.reasons)


def _together(natives: list[Expression], language: Language, type: EventType | None) -> Split:
    """The union of native parts, said once more in the language: it may have no `or`, or no room."""
    distinct = list(dict.fromkeys(natives))
    if type is not None and 1 < len(distinct) <= _MOST_COMPARED and all(map(_is_plain, distinct)):
        scope = Scope(type)
        distinct = uncovered(distinct, lambda outer, inner: bool(covers(outer, inner, scope)))
    union = either(distinct)
    return language.split(union if type is None else simplify(union, type), type=type)


def _is_plain(native: Expression) -> bool:
    """Whether it compares attributes with constants only: there the relations between filters are exact."""
    return all(isinstance(node, (Attribute, Literal, *TRUTH)) for node in walk(native)) and not _relates(native)


def _relates(native: Expression) -> bool:
    return any(sum(isinstance(part, Attribute) for part in children(node)) > 1 for node in walk(native))
