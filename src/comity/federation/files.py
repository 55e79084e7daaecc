"""A federation is a directory of YAML files: domains, contracts, profiles. What a file holds is told by its first
key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from comity.connect.specs import SinkSpec, SourceSpec
from comity.contract.mapping import Mapping, read_mapping
from comity.document import Document, did_you_mean, read_document, validate
from comity.errors import ComityError, Faults, Misuse, Place
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, EventType
from comity.expression.bind import bind_text
from comity.expression.parse import error_at
from comity.expression.render import render
from comity.expression.scope import Scope, Table
from comity.federation.endpoints import read_sinks, read_sources
from comity.federation.model import OPERAND, CompositeSubscription, Contract, Domain, Federation, Subscription
from comity.federation.schema import (
    CONTRACT_KEYS,
    DOMAIN_KEYS,
    ContractFile,
    FederationFile,
    MappingFile,
    ProfileFile,
    ProfilesFile,
)
from comity.meaning.units import check_unit
from comity.pattern.bound import BoundPattern
from comity.pattern.text.clauses import build_composite
from comity.pattern.tree import operands
from comity.profile.files import is_composite_entry
from comity.profile.profile import part_of

_SUFFIXES = (".yaml", ".yml")
_RESERVED = ("rejected", "dead-letters", "late")
"""Names that a domain may not have: folders of results are named after domains."""


def load(directory: str | Path) -> Federation:
    """The federation in a directory; raises `Faults` with everything that is wrong in any of its files."""
    root = Path(directory)
    return load_files(federation_files(root), name=root.resolve().name, folder=root)


def federation_files(root: Path) -> list[Path]:
    """The files that make up the federation of a directory."""
    if not root.is_dir():
        raise Misuse("this is not a directory", code="no-such-directory", place=Place(str(root)))
    paths = sorted(path for path in root.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
    if not paths:
        raise Misuse("there is no YAML file in it", code="no-federation-files", place=Place(str(root)))
    return paths


def load_files(paths: list[Path], *, name: str, folder: Path | None = None) -> Federation:
    """The federation that these files make up."""
    reader = _Reader(name, folder)
    for path in paths:
        reader.take_file(path)
    return reader.federation()


@dataclass(slots=True)
class _Reader:
    """Gathers files and faults; what builds on others (contracts, then profiles) is read after them."""

    name: str
    folder: Path | None = None
    faults: list[ComityError] = field(default_factory=list)
    domains: dict[str, Domain] = field(default_factory=dict)
    contracts: dict[str, Contract] = field(default_factory=dict)
    profiles: dict[str, Subscription] = field(default_factory=dict)
    composites: dict[str, CompositeSubscription] = field(default_factory=dict)
    sources: list[SourceSpec] = field(default_factory=list)
    sinks: list[SinkSpec] = field(default_factory=list)
    _contract_files: list[Document] = field(default_factory=list)
    _profile_files: list[Document] = field(default_factory=list)

    def take_file(self, path: Path) -> None:
        with_faults = self._guarded(lambda: read_document(path))
        if with_faults is None:
            return
        document = with_faults
        keys = document.data if isinstance(document.data, dict) else {}
        if "domain" in keys:
            self._guarded(lambda: self._take_domain(document))
        elif "contract" in keys:
            self._contract_files.append(document)
        elif "profiles" in keys:
            self._profile_files.append(document)
        elif "federation" in keys:
            self.name = getattr(self._guarded(lambda: validate(document, FederationFile)), "federation", self.name)
        else:
            hint = "its first key is one of domain, contract, profiles, federation"
            self.faults.append(document.fault("this is no federation file", (), code="unknown-file", hint=hint))

    def federation(self) -> Federation:
        for document in self._contract_files:
            self._guarded(partial(self._take_contract, document))
        for document in self._profile_files:
            self._guarded(partial(self._take_profiles, document))
        if self.faults:
            raise Faults(self.faults)
        sources, sinks = tuple(self.sources), tuple(self.sinks)
        return Federation(
            self.name, self.domains, self.contracts, self.profiles, sources, sinks, self.folder, self.composites
        )

    def _guarded(self, read: Callable[[], Any]) -> Any:
        """The result, or None with the fault kept, so that reading goes on."""
        try:
            return read()
        except Faults as found:
            self.faults += found.errors
        except ComityError as error:
            self.faults.append(error)
        return None

    def _take_domain(self, document: Document) -> None:
        self._check_reserved(document)
        taxonomy = Taxonomy.from_document(document, ignore=DOMAIN_KEYS, check_unit=check_unit)
        if taxonomy.namespace in self.domains:
            raise document.fault(f"there are two domains {taxonomy.namespace!r}", ("domain",), code="duplicate-domain")
        description = document.data.get("description")
        self.domains[taxonomy.namespace] = Domain(taxonomy.namespace, taxonomy, description)
        self.sources += self._guarded(lambda: read_sources(document, taxonomy.namespace)) or ()
        self.sinks += self._guarded(lambda: read_sinks(document, taxonomy.namespace)) or ()

    def _check_reserved(self, document: Document) -> None:
        name = document.data["domain"]
        if name in _RESERVED:
            raise document.fault(f"the name {name!r} is reserved", ("domain",), code="reserved-name")

    def _take_contract(self, document: Document) -> None:
        content = validate(document, ContractFile)
        taxonomy = Taxonomy.from_document(document, ignore=CONTRACT_KEYS, check_unit=check_unit)
        if content.contract in self.contracts or content.contract in self.domains:
            raise document.fault(f"the name {content.contract!r} is taken", ("contract",), code="duplicate-contract")
        common = taxonomy.types[0]
        tables: dict[str, Table] = dict(content.tables)
        members = {
            domain: tuple(self._member_mappings(document, ("members", domain), given, common, tables))
            for domain, given in content.members.items()
        }
        observers = {
            domain: tuple(self._observer_mappings(document, ("observers", domain), given, taxonomy, tables))
            for domain, given in content.observers.items()
        }
        self.contracts[content.contract] = Contract(content.contract, common, members, observers, content.description)

    def _member_mappings(
        self, document: Document, at: tuple[str, str], given: _Given, common: EventType, tables: dict[str, Table]
    ) -> Iterator[Mapping]:
        for path, one in _each(at, given):
            local = self._local_type(document, path, at[1], one.type)
            if local is not None:
                taxonomy = self.domains[at[1]].taxonomy
                yield self._mapping(document, path, one, Scope(local, taxonomy, tables), common)

    def _observer_mappings(
        self, document: Document, at: tuple[str, str], given: _Given, contract: Taxonomy, tables: dict[str, Table]
    ) -> Iterator[Mapping]:
        for path, one in _each(at, given):
            local = self._local_type(document, path, at[1], one.type)
            if local is not None:
                yield self._mapping(document, path, one, Scope(contract.types[0], contract, tables), local)

    def _local_type(self, document: Document, path: tuple[Any, ...], domain: str, name: str) -> EventType | None:
        if domain not in self.domains:
            self.faults.append(
                document.fault(
                    f"there is no domain {domain!r}",
                    path[:2],
                    code="unknown-domain",
                    key=True,
                    hint=did_you_mean(domain, self.domains),
                )
            )
            return None
        try:
            return self.domains[domain].taxonomy.type(name)
        except Misuse as error:
            self.faults.append(document.fault(error.message, (*path, "type"), code=error.code, hint=error.hint))
            return None

    def _mapping(
        self, document: Document, path: tuple[Any, ...], given: MappingFile, scope: Scope, target: EventType
    ) -> Mapping:
        mapping, faults = read_mapping(given.map, scope, target)
        for name, error in faults:
            if name and (error.place is not None or error.code == "syntax"):
                self.faults.append(document.locate(error, (*path, "map", name)))
            else:
                at = (*path, "map", name) if name else (*path, "map")
                self.faults.append(document.fault(error.message, at, code=error.code, key=True, hint=error.hint))
        return mapping

    def _take_profiles(self, document: Document) -> None:
        for name, given in validate(document, ProfilesFile).profiles.items():
            if OPERAND in name:
                hint = "use letters, digits, underscores, dots and dashes"
                error = document.fault(
                    f"{name!r} cannot name a profile", ("profiles", name), code="bad-name", key=True, hint=hint
                )
                self.faults.append(error)
            elif name in self.profiles or name in self.composites:
                error = document.fault(f"there are two profiles {name!r}", ("profiles", name), code="duplicate-profile")
                self.faults.append(error)
            else:
                self._guarded(partial(self._take_profile, document, name, given))

    def _take_profile(self, document: Document, name: str, given: ProfileFile) -> None:
        at = ("profiles", name)
        if given.domain not in self.domains:
            hint = did_you_mean(given.domain, self.domains)
            raise document.fault(
                f"there is no domain {given.domain!r}", (*at, "domain"), code="unknown-domain", hint=hint
            )
        if is_composite_entry(given.clauses):
            self._take_composite(document, name, given)
            return
        try:
            scope = self._visible_type(given.domain, given.on)
        except Misuse as error:
            raise document.fault(error.message, (*at, "on"), code=error.code, hint=error.hint) from None
        try:
            tree = bind_text(given.where, scope)
        except Misuse as error:
            raise document.locate(error, (*at, "where")) from None
        assert scope.type is not None
        self.profiles[name] = Subscription(name, given.domain, scope.type, given.where, tree)

    def _take_composite(self, document: Document, name: str, given: ProfileFile) -> None:
        at = ("profiles", name)
        composite, faults = build_composite(given.clauses, lambda error, part: document.locate(error, (*at, part)))
        self.faults += faults
        if composite is None:
            return
        scopes: dict[str, Scope] = {}
        for one in operands(composite.pattern):
            try:
                scopes[one.name] = self._visible_type(given.domain, one.type)
            except Misuse as error:
                found = error_at(given.on, max(given.on.find(one.type or ""), 0), error)
                raise document.locate(found, (*at, "on")) from None
        try:
            bound = composite.bind(name, operand_scopes=scopes)
        except Misuse as error:
            raise document.locate(error, (*at, part_of(error, composite))) from None
        subscriptions = tuple(_operand_of(bound, given.domain, operand, scope) for operand, scope in scopes.items())
        self.composites[name] = CompositeSubscription(name, given.domain, bound, subscriptions)

    def _visible_type(self, domain: str, name: str | None) -> Scope:
        """A type of the subscriber's own domain, or a contract type under its qualified name."""
        contract = self.contracts.get((name or "").rpartition(".")[0])
        if contract is not None and name is not None:
            taxonomy = Taxonomy(contract.name, [contract.type])
            return Scope(taxonomy.type(name), taxonomy)
        taxonomy = self.domains[domain].taxonomy
        return Scope(taxonomy.type(name or EVENT.name), taxonomy)


def _operand_of(bound: BoundPattern, domain: str, operand: str, scope: Scope) -> Subscription:
    """What an operand subscribes to."""
    assert scope.type is not None, "operands in a federation have a type"
    tree = bound.asked(operand)  # only events of its type come on the routes to it
    return Subscription(f"{bound.name}{OPERAND}{operand}", domain, scope.type, render(tree), tree)


_Given = MappingFile | list[MappingFile]


def _each(at: tuple[Any, ...], given: _Given) -> Iterator[tuple[tuple[Any, ...], MappingFile]]:
    if isinstance(given, MappingFile):
        yield at, given
    else:
        yield from (((*at, number), one) for number, one in enumerate(given))
