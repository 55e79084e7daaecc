"""`comity lint`: every fault of files, with its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comity.cli.failure import BAD_INPUT, errors_in
from comity.cli.options import argument
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption
from comity.errors import ComityError, Faults, Misuse, Place
from comity.storage.place import is_address

if TYPE_CHECKING:
    from comity.document import Document
    from comity.federation import Federation

EXAMPLE = "Example:  comity lint types.yaml profiles.txt examples/two_houses"

_YAML = (".yaml", ".yml")
_PROFILES = (".txt", ".profiles", ".rdl")
_FEDERATION = ("federation.yaml", "federation.yml")


def lint(
    paths: Annotated[list[str], argument("PATH…", "Files of types, profiles, contracts; federations, also s3a://….")],
    format: FormatOption = Format.TEXT,
) -> None:
    """Check type, contract, profile and federation files.

    A directory is a federation. A file that belongs to one (a directory above it has a federation.yaml) is checked
    together with it. Leaves with 0 if all is well, and with 2 and a line for each fault if not. A file in a federation
    that nothing reads, and a profile that no event can reach, get a note, which is no fault.
    """
    faults = [fault for path in paths for fault in _faults(path)]
    notes = [] if faults else [note for path in paths for note in _notes(path)]
    if format is Format.JSON:
        told = {"faults": [fault.as_dict() for fault in faults], "notes": [note.as_dict() for note in notes]}
        write_json({"paths": len(paths), **told})
    else:
        _print(faults, notes, len(paths))
    if faults:
        raise typer.Exit(BAD_INPUT)


def _notes(path: str) -> list[ComityError]:
    """What is no fault of a federation, but perhaps not what was meant."""
    from comity.federation import load

    if is_address(path):
        return list(_unreached(path, load(path)))
    if not Path(path).is_dir():
        return []
    federation = load(path)
    return [*_unread(Path(path), federation), *_unreached(path, federation)]


def _unread(path: Path, federation: Federation) -> Iterator[ComityError]:
    from comity.federation.text_profiles import unread_files

    hint = "YAML files end in .yaml or .yml; profiles as text begin with `profile NAME` or `rule NAME`; see files.md"
    for file in unread_files(path, federation):
        yield Misuse("nothing reads this file", code="unread-file", place=Place(str(file)), hint=hint)


def _unreached(path: str, federation: Federation) -> Iterator[ComityError]:
    """Profiles and operands to which no type of any domain leads."""
    from comity.plan import compile_plan

    reached = set(compile_plan(federation).subscriptions)
    for subscription in federation.subscriptions():
        if subscription.name not in reached:
            about = f"no event can reach {subscription.name!r}: nobody sends what becomes a {subscription.type.name}"
            hint = f"a member of a contract, a wider `scope`, or `own: true`, if {subscription.domain} means its own"
            yield Misuse(about, code="unreached-profile", place=Place(path), hint=hint)


def _print(faults: list[ComityError], notes: list[ComityError], checked: int) -> None:
    out = console()
    for fault in (*faults, *notes):
        where = f"{fault.place}: " if fault.place else ""
        out.print(f"{where}{fault.message} [{fault.code}]")
        if fault.hint:
            out.print(f"    hint: {fault.hint}", style="dim")
    paths = "1 path" if checked == 1 else f"{checked} paths"
    count = "1 fault" if len(faults) == 1 else f"{len(faults) or 'no'} faults"
    beside = f", {len(notes)} note{'s' if len(notes) > 1 else ''}" if notes else ""
    console(stderr=True).print(f"{paths} checked, {count}{beside}", style="red" if faults else "green")


def _faults(path: str) -> list[ComityError]:
    from comity.federation import load

    try:
        if is_address(path):
            load(path)
        else:
            _check(Path(path))
    except ComityError as error:
        return errors_in(error)
    return []


def _check(path: Path) -> None:
    if path.is_dir():
        _check_federation(path)
    elif path.suffix in _YAML:
        _check_yaml(path)
    elif path.suffix in _PROFILES or not path.exists():
        _check_text(path)
    else:
        hint = f"files that can be checked end in {', '.join(_YAML + _PROFILES)}"
        raise Misuse("what is in this file cannot be told", code="unknown-file", place=Place(str(path)), hint=hint)


def _check_text(path: Path) -> None:
    from comity.federation.text_profiles import text_profile_files

    root = _federation_around(path)
    if root is not None and path.resolve() in {one.resolve() for one in text_profile_files(root)}:
        _check_federation(root, only=path)
    else:
        _check_profiles(path)


def _check_node(path: Path) -> None:
    from comity.node.settings import check_node_file

    check_node_file(path)


def _check_yaml(path: Path) -> None:
    from comity.document import read_document
    from comity.federation.files import NODE_FILE

    if path.name == NODE_FILE:
        _check_node(path)
        return
    document = read_document(path)
    keys = document.data if isinstance(document.data, dict) else {}
    root = _federation_around(path)
    if root is not None:
        _check_federation(root, only=path)
    elif "contract" in keys or "federation" in keys:
        _check_federation(path.parent, only=path)
    elif "profiles" in keys:
        _check_profiles(path)
    elif keys.keys() & {"domain", "namespace", "types"}:
        _check_types(document)
    else:
        hint = "its first key is one of domain, types, contract, profiles, federation"
        raise document.fault("what is in this file cannot be told", (), code="unknown-file", hint=hint)


def _check_types(document: Document) -> None:
    from comity.event.taxonomy import Taxonomy
    from comity.federation.endpoints import read_sinks, read_sources
    from comity.federation.schema import DOMAIN_KEYS
    from comity.meaning.units import check_unit

    more = DOMAIN_KEYS if "domain" in document.data else ("description",)
    taxonomy = Taxonomy.from_document(document, ignore=more, check_unit=check_unit)
    read_sources(document, taxonomy.namespace)
    read_sinks(document, taxonomy.namespace)


def _check_profiles(path: Path) -> None:
    from comity.match.match import check_profiles

    check_profiles(path)


def _check_federation(directory: Path, only: Path | None = None) -> None:
    """Check all the files of a federation, and tell the faults of one of them or of all."""
    from comity.federation import load
    from comity.federation.files import NODE_FILE

    try:
        load(directory)
        if (directory / NODE_FILE).is_file():
            _check_node(directory / NODE_FILE)
    except ComityError as error:
        faults = errors_in(error)
        if only is not None:
            faults = [fault for fault in faults if _is_in(fault, only)]
        if faults:
            raise Faults(faults) from None


def _is_in(fault: ComityError, path: Path) -> bool:
    file = fault.place.file if fault.place else None
    return file is None or Path(file).resolve() == path.resolve()


def _federation_around(path: Path) -> Path | None:
    """The nearest directory above a file that says it is a federation; spelt as the file is, if it can be."""
    above = (*path.parents, *path.resolve().parents)
    return next((one for one in above if any((one / name).is_file() for name in _FEDERATION)), None)
