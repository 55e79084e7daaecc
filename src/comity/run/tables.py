"""Tables as results of a run: what does not work with them is said before anything is touched."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from comity.connect.destination import check_delta
from comity.connect.folder import Results
from comity.errors import Misuse, Place

if TYPE_CHECKING:
    from comity.connect.target import Target
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
    """Raise `Misuse` for what does not work with tables, or with files that are typed."""
    if request.results is Results.DELTA:
        check_delta()
    elif not request.is_typed:
        return
    place = Place(request.shown)
    if not on_spark:
        hint = "leave out --engine local, or choose another form of results"
        raise Misuse("typed columns are written on Spark", code="no-local-tables", place=place, hint=hint)
    if request.federation.sinks or request.print_lines:
        hint = "write JSON Lines for them, or Parquet without --typed, or leave out `deliver:` and --print"
        reason = "sinks are sent what is in files without types, not in tables"
        raise Misuse(reason, code="no-sinks-of-tables", place=place, hint=hint)


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
