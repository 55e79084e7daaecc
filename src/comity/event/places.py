"""Files of events wherever they are: those that a path, an address or a pattern stands for, and what is in one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from comity.errors import Misuse, Place
from comity.event.event import Event
from comity.event.files import event_files, read_events, unreadable
from comity.event.formats.jsonlines import Rejected, TypeLookup
from comity.event.formats.parquet import trusted_footer
from comity.event.formats.table import SUFFIXES, UNREADABLE, is_event_name
from comity.event.taxonomy import Taxonomy
from comity.event.window import Window
from comity.storage.access import NO_ACCESS, StorageAccess
from comity.storage.lookup import FoundPlace, entries_in, full_name, is_pattern, look_up, on_this_machine, opened
from comity.storage.place import is_address

if TYPE_CHECKING:
    import pyarrow.parquet

_NOT_HERE = ("no-such-file", "too-large-file")


def event_files_at(place: str, access: StorageAccess = NO_ACCESS) -> list[FoundPlace]:
    """The files of events at a place, by absolute paths or addresses: a file, those right in a folder, or those for
    which a pattern stands, itself or by their folders. Raises `Misuse` if there is none.
    """
    if not is_address(place) and not stands_for_several(place):
        return [_local(path) for path in event_files(Path(full_name(place)))]
    found = look_up(place, access)
    files = [file for one in found for file in _files_of(one, access)]
    if not found:
        what = "nothing has such a name" if is_pattern(place) else "no such file"
        raise Misuse(what, code="no-such-file", place=Place(place))
    if not files:
        reason = f"no files {' or '.join('*' + one for one in SUFFIXES)} in it"
        raise Misuse(reason, code="no-event-files", place=Place(place))
    return files


def stands_for_several(place: str) -> bool:
    """Whether it is a pattern, and no file of this machine is called so."""
    return is_pattern(place) and (is_address(place) or not Path(full_name(place)).exists())


@contextmanager
def readable_file(file: str, access: StorageAccess = NO_ACCESS) -> Iterator[Path]:
    """A file of events on this machine while the block runs; `Misuse` of a file that cannot be read if it cannot be
    fetched.
    """
    with ExitStack() as stack:
        try:
            path = stack.enter_context(on_this_machine(file, access))
        except Misuse as error:
            if error.code not in _NOT_HERE:
                raise
            raise Misuse(f"cannot be read: {error.message}", code=UNREADABLE, place=Place(file)) from error
        yield path


def footer_of(file: str, access: StorageAccess = NO_ACCESS) -> pyarrow.parquet.FileMetaData | None:
    """The footer of a file of Parquet that may be read by columns, wherever it is; None as for `trusted_footer`."""
    if not is_address(file):
        return trusted_footer(file)
    try:
        with opened(file, access) as (content, size):
            return trusted_footer(file, file=content, size=size)
    except FileNotFoundError:
        return None


def read_or_reject(
    file: str,
    types: Taxonomy | TypeLookup | None = None,
    *,
    window: Window | None = None,
    access: StorageAccess = NO_ACCESS,
) -> Iterator[Event | Rejected]:
    """The events of one file of many, which must have a time; a file that cannot be read is rejected as one record."""
    try:
        with readable_file(file, access) as path:
            yield from read_events(path, types, require_time=True, name=file, window=window)
    except Misuse as error:
        if error.code != UNREADABLE:
            raise
        yield unreadable(file, error.message)


def _local(path: Path) -> FoundPlace:
    name = path.resolve()
    return FoundPlace(str(name), name.is_dir(), name.stat().st_size)


def _files_of(found: FoundPlace, access: StorageAccess) -> Iterator[FoundPlace]:
    if not found.is_folder:
        yield found
        return
    for one in entries_in(found.name, access):
        if not one.is_folder and is_event_name(one.name):
            yield FoundPlace(f"{found.name}/{one.name}", False, one.size)
