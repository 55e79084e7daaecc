"""Files that a gateway keeps in the folder of its domain: what other domains publish, and the contracts in force."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from comity.document import write_yaml
from comity.event.schemas.domain_file import type_declaration
from comity.event.types import EVENT
from comity.federation.model import Federation
from comity.gateway.agreements import Agreement, Revision, agreements
from comity.gateway.declared import check_domain
from comity.gateway.messages import Declaration
from comity.gateway.steps import GatewayState
from comity.storage.durable import write_whole

_KEPT = "# Kept by the gateway of this domain: what you write here is lost.\n"


def published(federation: Federation, domain: str) -> Declaration:
    """What a domain of a federation lets others see."""
    own = federation.domains[domain]
    types = {one.name: type_declaration(one) for one in own.published_taxonomy().types}
    told: Declaration = {"domain": domain}
    if own.description:
        told["description"] = own.description
    return told | {"types": types}


def narrowed(declaration: Declaration, names: Iterable[str]) -> Declaration:
    """What a domain declares of some types, and of those that they extend."""
    taxonomy = check_domain(declaration["domain"], declaration)
    wanted = {ancestor for name in names for ancestor in taxonomy.type(name).lineage if ancestor != EVENT.name}
    types = {one.name: declaration["types"][one.name] for one in taxonomy.types if one.qualified_name in wanted}
    return {"domain": declaration["domain"], "types": types}


def keep_files(root: Path, state: GatewayState, domain: str) -> None:
    """Let the files that the gateway keeps be what it knows. Files of others are left alone."""
    mine = [one for one in agreements(state.facts) if one.in_force() is not None and domain in one.parties]
    domains = {name: known.declaration for name, known in state.domains.items() if name != domain}
    for agreement in mine:
        assert agreement.current is not None
        for name in agreement.parties - {domain}:
            domains[name] = _with_types(domains.get(name), agreement.current.domains[name])
    _keep(root / "domains", domains)
    _keep(root / "contracts", {one.name: _in_force(one) for one in mine})


def keep_proposed(root: Path, state: GatewayState, domain: str, revision: Revision) -> None:
    """The same, as it would be if a form were in force."""
    keep_files(root, state, domain)
    domains = {name: told for name, told in revision.domains.items() if name != domain}
    for name, told in domains.items():
        _write(root / "domains" / f"{name}.yaml", told)
    _write(root / "contracts" / f"{revision.contract}.yaml", revision.declaration)


def _in_force(agreement: Agreement) -> Declaration:
    declaration = agreement.in_force()
    assert declaration is not None
    return declaration


def _with_types(known: Declaration | None, agreed: Declaration) -> Declaration:
    """What is agreed of types counts, also when their domain publishes others by now."""
    return {**(known or agreed), "types": {**(known or agreed)["types"], **agreed["types"]}}


def _keep(folder: Path, declarations: dict[str, Declaration]) -> None:
    for path in folder.glob("*.yaml"):
        if path.stem not in declarations and is_kept(path):
            path.unlink()
    for name, declaration in declarations.items():
        path = folder / f"{name}.yaml"
        if not path.exists() or is_kept(path):
            _write(path, declaration)


def is_kept(path: Path) -> bool:
    """Whether a file is one that the gateway wrote."""
    with path.open(encoding="utf-8", errors="replace") as stream:
        return stream.readline() == _KEPT


def _write(path: Path, declaration: Declaration) -> None:
    content = (_KEPT + write_yaml(declaration)).encode()
    if not path.exists() or path.read_bytes() != content:  # whoever watches it would take it for a change
        write_whole(path, content)
