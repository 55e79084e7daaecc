"""What others declare: contracts and types in messages, as files of a federation have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from comity.document import DataDocument, validate
from comity.errors import Misuse
from comity.event.taxonomy import Taxonomy
from comity.federation.schema import DOMAIN_KEYS, ContractFile
from comity.gateway.agreements import Revision
from comity.gateway.keys import check_plain_name
from comity.gateway.messages import Declaration
from comity.meaning.units import check_unit

_OF_DOMAINS = ("domain", "description", "types")
"""What others may know of a domain. Its sources and sinks are its own business."""


def check_revision(revision: Revision) -> None:
    """Raises `Misuse` for what is no contract, or one that does not stand for itself."""
    declaration = revision.declaration
    validate(DataDocument(declaration, (), Path()), ContractFile)
    for name in (revision.contract, *sorted(revision.concerned)):
        check_plain_name(name)
    files = _files(declaration)
    if files:
        hint = "write rows into the contract, and expressions in place of functions and stylesheets"
        raise Misuse(f"a proposed contract names files: {', '.join(files)}", code="contract-of-files", hint=hint)
    foreign = revision.domains.keys() ^ revision.parties
    if foreign:
        reason = f"types are told of some who are no parties, or not of all: {', '.join(sorted(foreign))}"
        raise Misuse(reason, code="bad-message")
    for name, declared in revision.domains.items():
        check_domain(name, declared)


def check_domain(name: str, declared: Declaration) -> Taxonomy:
    """The types that somebody says a domain has; raises `Misuse` for what are none."""
    more = sorted(declared.keys() - set(_OF_DOMAINS))
    if declared.get("domain") != name or more:
        reason = f"{name} is told of with {', '.join(more)}" if more else f"what is told of {name} has another name"
        raise Misuse(reason, code="bad-message")
    return Taxonomy.from_document(DataDocument(declared, (), Path()), ignore=DOMAIN_KEYS, check_unit=check_unit)


def _files(declaration: Declaration) -> list[str]:
    """Files that a contract names; they are not sent along."""
    found = [str(given.get("file")) for given in _entries(declaration, "functions")]
    found += [str(given["file"]) for given in _entries(declaration, "tables") if "file" in given]
    for role in ("members", "observers"):
        parts = [
            part for given in _values(declaration, role) for part in (given if isinstance(given, list) else [given])
        ]
        found += [str(part["xslt"]) for part in parts if isinstance(part, dict) and "xslt" in part]
    return sorted(found)


def _values(declaration: Declaration, key: str) -> list[Any]:
    found = declaration.get(key)
    return list(found.values()) if isinstance(found, dict) else []


def _entries(declaration: Declaration, key: str) -> list[dict[str, Any]]:
    return [one for one in _values(declaration, key) if isinstance(one, dict)]
