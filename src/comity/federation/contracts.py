"""Contract files: a common type, and how members and observers take part in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from comity.contract.compose import compose
from comity.contract.invert import invert
from comity.contract.mapping import Mapping, read_mapping
from comity.document import Document, validate
from comity.errors import ComityError, Faults, Misuse
from comity.event.taxonomy import Taxonomy
from comity.event.types import EventType
from comity.expression.extensions import ExtensionFunction, load_functions
from comity.expression.scope import Scope, Table
from comity.federation.model import Contract
from comity.federation.names import Names
from comity.federation.parties import Party
from comity.federation.refusals import Refusals, unknown_party
from comity.federation.schema import CONTRACT_KEYS, ContractFile, EarlierFile, MappingFile, Mappings
from comity.federation.tables import read_table
from comity.meaning.units import check_unit

_Path = tuple[str | int, ...]
_Role = Literal["members", "observers"]


@dataclass(slots=True)
class ContractReader:
    """Reads one contract; gathers faults, so that all of them are told at once."""

    document: Document
    parties: AbstractMapping[str, Party]
    contracts: AbstractMapping[str, Contract]
    """Those that were read before."""
    names: Names
    """The rates, codes and functions of the federation."""
    federation: str
    """The name of the federation."""
    inside: str = ""
    """What stands before the names of contracts of a federation that is inside another one."""
    faults: list[ComityError] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    """What was read beside the contract's own file."""
    _versions: dict[int, Taxonomy] = field(default_factory=dict)
    _own_types: set[str] = field(default_factory=set)
    _upgrades: dict[int, Mapping] = field(default_factory=dict)
    _downgrades: dict[int, Mapping] = field(default_factory=dict)
    _as_given: dict[tuple[str, str, int], Mapping] = field(default_factory=dict)
    """The mappings of members, to the version that each keeps to."""

    def read(self) -> Contract:
        """The contract; good only if no fault was noted."""
        content = validate(self.document, ContractFile)
        taxonomy = self._taxonomy(self.document, CONTRACT_KEYS)
        self.names = replace(self.names, tables=self._tables(content), functions=self._functions(content))
        self._read_versions(content, taxonomy)
        members = self._mappings(content, "members", {})
        observers = self._mappings(content, "observers", members)
        contract = Contract(
            self.inside + content.contract,
            taxonomy.types[0],
            members,
            observers,
            content.description,
            content.version,
            content.authority,
            tuple(content.founders),
            self.inside.rstrip(".") or None,
            {number: one.types[0] for number, one in self._versions.items() if number != content.version},
            frozenset(self._own_types),
        )
        self.faults += Refusals(self.document, contract, self.parties, self.contracts, self.federation)
        return contract

    # What the contract is made of

    def _taxonomy(self, document: Document, ignore: Sequence[str]) -> Taxonomy:
        found = Taxonomy.from_document(document, ignore=ignore, check_unit=check_unit)
        if not self.inside:
            return found
        namespace = self.inside + found.namespace
        return Taxonomy(namespace, [replace(one, namespace=namespace) for one in found.types])

    @property
    def _folder(self) -> Path:
        return self.document.folder

    def _beside(self, file: str) -> Path:
        self.files.append(self._folder / file)
        return self.files[-1]

    def _tables(self, content: ContractFile) -> dict[str, Table]:
        found: dict[str, Table] = {}
        for name, given in content.tables.items():
            try:
                found[name] = read_table(given, self._folder)
            except ComityError as error:
                self.faults.append(error)
            if isinstance(given.get("file"), str):
                self._beside(str(given["file"]))
        return found

    def _functions(self, content: ContractFile) -> dict[str, ExtensionFunction]:
        found = dict(self.names.functions)
        for name, given in content.functions.items():
            try:
                found[name] = load_functions(self._beside(given.file))[name]
            except KeyError:
                message = f"{given.file} marks no function {name!r}"
                hint = "put @comity.extension(…) before its definition"
                path = ("functions", name, "file")
                self.faults.append(self.document.fault(message, path, code="unknown-function", hint=hint))
            except ComityError as error:
                self.faults.append(error)
        return found

    # Versions

    def _read_versions(self, content: ContractFile, current: Taxonomy) -> None:
        """The types of all versions, and the mappings from each to the next one and back."""
        self._versions = {content.version: current}
        places: dict[int, int] = {}
        for at, given in enumerate(content.earlier):
            if given.version >= content.version or given.version in self._versions:
                message = f"version {given.version} is not before version {content.version}, or there twice"
                path = ("earlier", at, "version")
                self.faults.append(self.document.fault(message, path, code="bad-version"))
                continue
            part = self.document.part(("earlier", at), {"contract": content.contract})
            self._versions[given.version] = self._taxonomy(part, ("version", "upgrade", "downgrade"))
            places[given.version] = at
        for older, newer in pairwise(sorted(self._versions)):
            self._read_step(content.earlier[places[older]], ("earlier", places[older]), newer)

    def _read_step(self, given: EarlierFile, path: _Path, newer: int) -> None:
        older = given.version
        old, new = self._versions[older], self._versions[newer]
        up = self._made(given.upgrade, (*path, "upgrade"), self._scope(old), new.types[0], None)
        if up is not None:
            self._upgrades[older] = up
        if given.downgrade is not None:
            down = self._made(given.downgrade, (*path, "downgrade"), self._scope(new), old.types[0], up)
            if down is not None:
                self._downgrades[older] = down

    def _scope(self, taxonomy: Taxonomy) -> Scope:
        return self.names.scope(taxonomy.types[0], taxonomy)

    def _chain(self, version: int, steps: dict[int, Mapping], *, down: bool) -> list[Mapping]:
        """The mappings between a version and the current one."""
        between = [number for number in sorted(self._versions)[:-1] if number >= version]
        return [steps[number] for number in (reversed(between) if down else between) if number in steps]

    # Members and observers

    def _mappings(
        self, content: ContractFile, role: _Role, members: AbstractMapping[str, tuple[Mapping, ...]]
    ) -> dict[str, tuple[Mapping, ...]]:
        found: dict[str, tuple[Mapping, ...]] = {}
        for name, given in getattr(content, role).items():
            party = self._party(name, (role, name))
            if party is not None:
                own = members.get(name, ())
                each = _each((role, name), given)
                made = {path: self._mapping(content, role, party, path, one, own) for path, one in each}
                found[name] = tuple(one for one in made.values() if one is not None)
                self._check_once(role, party, made)
        return found

    def _take_own(self, given: MappingFile, path: _Path, role: _Role, type: EventType) -> None:
        """Note that an observer wants its own events back in a type."""
        if given.own and role == "members":
            message = "`own` is for observers: whether their own events come back to them"
            self.faults.append(self.document.fault(message, (*path, "own"), code="bad-value", key=True))
        elif given.own:
            self._own_types.add(type.qualified_name)

    def _check_once(self, role: _Role, party: Party, made: AbstractMapping[_Path, Mapping | None]) -> None:
        """One mapping for each type: with two, it would be chance which values of an event somebody sees."""
        places: dict[str, _Path] = {}
        for path, mapping in made.items():
            if mapping is None:
                continue
            type, word = (mapping.source, "from") if role == "members" else (mapping.target, "to")
            first = places.setdefault(type.qualified_name, path)
            if first != path:
                message = f"a second mapping {word} {type.name} of {party.name}; the first is at {self._place(first)}"
                hint = "an event goes through a contract once: keep one of them, or make it one with `if … then …`"
                self.faults.append(self.document.fault(message, (*path, "type"), code="duplicate-mapping", hint=hint))

    def _place(self, path: _Path) -> str:
        return str(self.document.place((*path, "type")))

    def _party(self, name: str, path: _Path) -> Party | None:
        if name in self.parties:
            return self.parties[name]
        self.faults.append(unknown_party(self.document, path, name, self.parties))
        return None

    def _mapping(
        self,
        content: ContractFile,
        role: _Role,
        party: Party,
        path: _Path,
        given: MappingFile,
        members: tuple[Mapping, ...],
    ) -> Mapping | None:
        local = self._local_type(party, path, given.type, role)
        version = given.version or content.version
        if version not in self._versions:
            message = f"the contract has no version {version}"
            hint = f"versions: {', '.join(map(str, sorted(self._versions)))}"
            self.faults.append(self.document.fault(message, (*path, "version"), code="bad-version", hint=hint))
            return None
        if local is None:
            return None
        type, taxonomy = local
        self._take_own(given, path, role, type)
        if role == "members":
            made = self._given(given, path, self.names.scope(type, taxonomy), self._versions[version].types[0], None)
            if made is None:
                return None
            self._as_given[party.name, type.qualified_name, version] = made
            return _composed([made, *self._chain(version, self._upgrades, down=False)])
        back = self._as_given.get((party.name, type.qualified_name, version))
        if given.map == "inverse" and back is None:  # it keeps to another version than the member mapping
            whole = next((one for one in members if one.source.qualified_name == type.qualified_name), None)
            return self._inverse((*path, "map"), whole)
        made = self._given(given, path, self._scope(self._versions[version]), type, back)
        steps = self._chain(version, self._downgrades, down=True)
        missing = len([number for number in self._versions if version <= number < content.version]) - len(steps)
        if missing:
            message = f"nothing leads from version {content.version} back to version {version}"
            hint = "add `downgrade` to the earlier version"
            self.faults.append(self.document.fault(message, path, code="no-downgrade", hint=hint))
        return None if made is None else _composed([*steps, made])

    def _local_type(self, party: Party, path: _Path, name: str, role: _Role) -> tuple[EventType, Taxonomy] | None:
        at = (*path, "type")
        try:
            found = party.find(name)
        except Misuse as error:
            if name.rpartition(".")[0] in {one.removeprefix(self.inside) for one in self.contracts}:
                message = f"{name} is the type of a contract, and contracts are made between types of domains"
                hint = "let the domain join that contract, or observe it in a type of its own"
                self.faults.append(self.document.fault(message, at, code="contract-of-contracts", hint=hint))
            else:
                self.faults.append(self.document.fault(error.message, at, code=error.code, hint=error.hint))
            return None
        if role == "members" and not party.publishes(found[0]):
            message = f"{party.name} does not publish {found[0].name}"
            hint = f"add it to `publish` of the domain {party.name}"
            self.faults.append(self.document.fault(message, at, code="not-published", hint=hint))
        return found

    def _given(
        self, given: MappingFile, path: _Path, scope: Scope, target: EventType, back: Mapping | None
    ) -> Mapping | None:
        if given.xslt is not None:
            return self._stylesheet(given.xslt, (*path, "xslt"), scope, target)
        assert given.map is not None, "the shape of the file asks for one of both"
        return self._made(given.map, (*path, "map"), scope, target, back)

    def _stylesheet(self, file: str, path: _Path, scope: Scope, target: EventType) -> Mapping | None:
        from comity.contract.xslt import read_stylesheet  # what reads XML takes long to load, and few need it

        assert scope.type is not None
        try:
            return read_stylesheet(self._beside(file), scope.type, target, scope.functions)
        except Misuse as error:
            placed = error if error.place is not None and error.place.file else self.document.locate(error, path)
            self.faults.append(placed)
            return None

    def _made(
        self, texts: dict[str, str] | str, path: _Path, scope: Scope, target: EventType, back: Mapping | None
    ) -> Mapping | None:
        """The mapping that the file describes; `back` is the one that `inverse` turns round."""
        assert scope.type is not None
        if texts == "inverse":
            return self._inverse(path, back)
        if isinstance(texts, str):
            texts = {name: name for name in target.attributes if name in scope.type.attributes}
        mapping, faults = read_mapping(texts, scope, target)
        for name, error in faults:
            written = self._is_written((*path, name))
            if name and written and (error.place is not None or error.code == "syntax"):
                self.faults.append(self.document.locate(error, (*path, name)))
            else:
                at = (*path, name) if name and written else path
                self.faults.append(self.document.fault(error.message, at, code=error.code, key=True, hint=error.hint))
        return mapping

    def _is_written(self, path: _Path) -> bool:
        found: Any = self.document.data
        for step in path:
            if not isinstance(found, list | dict) or (isinstance(found, dict) and step not in found):
                return False
            found = found[step]  # type: ignore[index]
        return True

    def _inverse(self, path: _Path, back: Mapping | None) -> Mapping | None:
        if back is None:
            message = "there is no mapping that could be turned round"
            hint = "`inverse` needs a mapping of this domain under `members`, for the same type"
            self.faults.append(self.document.fault(message, path, code="no-inverse", hint=hint))
            return None
        found = invert(back)
        if found.mapping is None:
            lost = ", ".join(".".join(one) for one in found.obstacles)
            message = f"the mapping of {back.source.qualified_name} cannot be turned round: {lost} does not come back"
            hint = "`comity contract check` shows what is lost; write the expressions instead"
            self.faults.append(self.document.fault(message, path, code="no-inverse", hint=hint))
        return found.mapping


def read_contract(reader: ContractReader) -> Contract:
    """The contract; raises `Faults` with everything that is wrong."""
    contract = reader.read()
    if reader.faults:
        raise Faults(reader.faults)
    return contract


def _each(at: _Path, given: Mappings) -> Iterator[tuple[_Path, MappingFile]]:
    if isinstance(given, MappingFile):
        yield at, given
    else:
        yield from (((*at, number), one) for number, one in enumerate(given))


def _composed(steps: list[Mapping]) -> Mapping:
    first, *rest = steps
    for step in rest:
        first = compose(first, step)
    return first
