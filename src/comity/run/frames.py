"""Sources that Spark reads by itself, in a run: which of them it can read, and that nothing tells their secrets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from comity.connect.frames import FrameSource
from comity.connect.registry import frame_source
from comity.connect.specs import SourceSpec
from comity.errors import ComityError, Misuse
from comity.run.observer import Notice, Observer


def stored_frames(specs: Sequence[SourceSpec], folder: Path, observer: Observer, *, alone: bool) -> list[FrameSource]:
    """Those that a run over stored events reads; the others are told of, and refused if nothing else is there."""
    found = [frame_source(spec, folder) for spec in specs]
    endless = [one for one in found if not one.is_stored]
    names = _names(endless)
    if alone and endless and len(endless) == len(found):
        raise Misuse(f"these sources are live: {names}", code="live-source", hint="run it with --stream")
    if endless:
        observer.warning(Notice(f"left out, since they are read by streams only: {names}", "live-sources-left-out"))
    return [one for one in found if one.is_stored]


def streamed_frames(specs: Sequence[SourceSpec], folder: Path) -> tuple[FrameSource, ...]:
    """All of them, as a stream reads them; raises `Misuse` if one has no stream."""
    found = tuple(frame_source(spec, folder) for spec in specs)
    still = [one for one in found if not one.is_streamed]
    if still:
        hint = "run it without --stream, or bring what is new there by a topic or by files"
        raise Misuse(f"these sources are no streams: {_names(still)}", code="stored-source", hint=hint)
    return found


def refuse_frames(specs: Sequence[SourceSpec], hint: str = "leave out --engine local") -> None:
    """Raise `Misuse` if there is a source that only Spark reads."""
    if specs:
        names = ", ".join(f"{spec.domain}.{spec.name} ({spec.kind})" for spec in specs)
        raise Misuse(f"these sources are read by Spark only: {names}", code="read-by-spark", hint=hint)


@contextmanager
def secrets_hidden(sources: Sequence[FrameSource]) -> Iterator[None]:
    """What goes wrong inside is told without what the sources keep secret."""
    try:
        yield
    except ComityError as error:
        if not any(secret in str(error) for one in sources for secret in one.secrets):
            raise
        raise _hidden(error, sources) from None


def _hidden(error: ComityError, sources: Sequence[FrameSource]) -> ComityError:
    message, excerpt = error.message, error.excerpt
    for one in sources:
        message, excerpt = one.hidden(message), None if excerpt is None else one.hidden(excerpt)
    return type(error)(message, code=error.code, place=error.place, hint=error.hint, excerpt=excerpt)


def _names(sources: Sequence[FrameSource]) -> str:
    return ", ".join(one.full_name for one in sources)
