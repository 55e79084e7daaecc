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
    from comity.connect.target import TableTarget
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
    """Raise `Misuse` for what does not work with tables."""
    if request.results is not Results.DELTA:
        return
    check_delta()
    place = Place(request.shown)
    if not on_spark:
        hint = "leave out --engine local, or choose another form of results"
        raise Misuse("tables are written on Spark", code="no-local-tables", place=place, hint=hint)
    if request.federation.sinks or request.print_lines:
        hint = "write a folder of JSON Lines or Parquet for them, or leave out `deliver:` and --print"
        raise Misuse(
            "sinks are sent what is in files, not in tables", code="no-sinks-of-tables", place=place, hint=hint
        )


def table_target(request: RunRequest, *, goes_on: bool = False) -> TableTarget | None:
    """The tables that a run writes; those of an earlier one are removed if they may be, or gone on with."""
    from comity.connect.tables.parts import TableLayout
    from comity.connect.target import TableTarget

    if request.tables is None:
        return None
    target = TableTarget(request.tables, TableLayout({} if request.is_typed else None))
    if request.overwrite and not request.tables.is_local:
        target.commits.remove()
    if not goes_on and target.commits.has_results():
        hint = "choose another place, or pass --overwrite"
        raise Misuse("there are tables already", code="not-empty", place=Place(request.shown), hint=hint)
    return target
