"""Where results go: what a path or an address and a form of results make of it, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from comity.connect.destination import Destination
from comity.connect.folder import Results
from comity.errors import Misuse
from comity.storage.access import NO_ACCESS

ADDRESS = "s3a://lake/alarms"


@pytest.mark.parametrize("form", [one for one in Results if one is not Results.KAFKA])
def test_a_path_is_a_folder_which_holds_tables_if_results_are_such(form: Results, tmp_path: Path) -> None:
    for text in (str(tmp_path), f"file://{tmp_path}"):
        to = Destination.of(text, form, NO_ACCESS, is_stream=True)
        assert to.folder == tmp_path
        assert (to.tables is not None) == (form is Results.DELTA)
        assert not to.is_passing


def test_at_an_address_there_are_tables_and_their_state_elsewhere(tmp_path: Path) -> None:
    to = Destination.of(ADDRESS, Results.DELTA, NO_ACCESS, state=tmp_path, is_stream=True, typed=True)
    assert to.tables is not None
    assert (to.folder, to.tables.address, to.is_passing, to.is_typed) == (tmp_path, ADDRESS, False, True)
    passing = Destination.of(ADDRESS, Results.DELTA, NO_ACCESS)
    assert passing.is_passing
    passing.folder.rmdir()


@pytest.mark.parametrize(
    ("out", "form", "options", "code"),
    [
        (ADDRESS, Results.JSONL, {}, "no-renaming"),
        (ADDRESS, Results.PARQUET, {}, "no-renaming"),
        (ADDRESS, Results.DELTA, {"is_stream": True}, "no-state"),
        ("out", Results.DELTA, {"state": Path("state")}, "needless-state"),
        ("out", Results.JSONL, {"typed": True}, "not-typed"),
        ("ftp://host/out", Results.DELTA, {}, "unknown-storage"),
        ("s3://key:secret@lake/out", Results.DELTA, {}, "secret-in-address"),
    ],
)
def test_what_cannot_be_is_refused(out: str, form: Results, options: dict[str, object], code: str) -> None:
    with pytest.raises(Misuse, match=code):
        Destination.of(out, form, NO_ACCESS, **options)  # type: ignore[arg-type]
