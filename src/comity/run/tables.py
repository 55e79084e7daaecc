"""Tables and topics as results of a run: what does not work with them is said before anything is touched."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from comity.connect.destination import check_delta
from comity.connect.folder import Results
from comity.connect.topics.place import check_client
from comity.errors import Misuse, Place
from comity.federation.receivers import receivers

if TYPE_CHECKING:
    from comity.connect.target import Target
    from comity.connect.topics.target import TopicTarget
    from comity.run.request import RunRequest


@contextmanager
def removed_if_passing(request: RunRequest) -> Iterator[None]:
    """Removes the folder of a run after the block, if nothing of it is kept."""
    try:
        yield
    finally:
        if request.is_passing:
            shutil.rmtree(request.out, ignore_errors=True)


def check_tables(request: RunRequest, *, on_spark: bool) -> None:
    """Raise `Misuse` for what does not work with tables, with files that are typed, or with topics."""
    if request.results is Results.DELTA:
        check_delta()
    elif request.results is Results.KAFKA:
        check_client()
    elif not request.is_typed:
        return
    place = Place(request.shown)
    if not on_spark:
        hint = "leave out --engine local, or choose another form of results"
        form = "topics" if request.results is Results.KAFKA else "typed columns"
        raise Misuse(f"{form} are written on Spark", code="no-local-tables", place=place, hint=hint)
    if request.federation.sinks or request.print_lines:
        hint = "write JSON Lines for them, or Parquet without --typed, or leave out `deliver:` and --print"
        reason = "sinks are sent what is in files without types, not in tables or topics"
        raise Misuse(reason, code="no-sinks-of-tables", place=place, hint=hint)


def target_of(request: RunRequest, *, goes_on: bool = False) -> Target | None:
    """Where results go that are no files without types: the topics, the tables or the files that a run writes."""
    return typed_target(request, goes_on=goes_on) if request.topics is None else topic_target(request, goes_on=goes_on)


def topic_target(request: RunRequest, *, goes_on: bool = False) -> TopicTarget:
    """The topics that a run writes, which must be there."""
    from comity.connect.topics.target import TopicTarget

    assert request.topics is not None, "results go into topics"
    targets = receivers(request.federation)
    if not goes_on:
        request.topics.check(targets)
    return TopicTarget(request.out, request.topics, lambda: targets)


def typed_target(request: RunRequest, *, goes_on: bool = False) -> Target | None:
    """The tables or the typed files that a run writes; None for any other form of results.

    Tables of an earlier one are removed if they may be, or gone on with.
    """
    from comity.connect.tables.parts import TableLayout
    from comity.connect.target import FolderTarget, TableTarget

    if request.tables is None and request.is_typed:
        return FolderTarget(request.out, request.results, lambda: request.federation.domains, layout=TableLayout({}))
    if request.tables is None:
        return None
    target = TableTarget(request.tables, TableLayout({} if request.is_typed else None))
    if request.overwrite and not request.tables.is_local:
        target.commits.remove()
    if not goes_on and target.commits.has_results():
        hint = "choose another place, or pass --overwrite"
        raise Misuse("there are tables already", code="not-empty", place=Place(request.shown), hint=hint)
    return target
