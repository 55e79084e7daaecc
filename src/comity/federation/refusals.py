"""What no contract may be: refused although each of its parts reads well."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass

from comity.document import Document, did_you_mean
from comity.errors import ComityError
from comity.federation.model import Contract
from comity.federation.parties import Party

_Path = tuple[str | int, ...]


def unknown_party(document: Document, path: _Path, name: str, parties: AbstractMapping[str, Party]) -> ComityError:
    """The fault of a name that no domain has, nor a federation inside."""
    hint = did_you_mean(name, parties)
    return document.fault(f"there is no domain {name!r}", path, code="unknown-domain", key=True, hint=hint)


@dataclass(frozen=True, slots=True)
class Refusals:
    """Looks at one contract, among those that were read before it."""

    document: Document
    contract: Contract
    parties: AbstractMapping[str, Party]
    others: AbstractMapping[str, Contract]
    federation: str
    """The name of the federation that it belongs to, which may be its authority."""

    def __iter__(self) -> Iterator[ComityError]:
        yield from self._of_founders()
        yield from self._of_authority()
        yield from self._of_lone_members()
        yield from self._of_type()

    def _of_founders(self) -> Iterator[ComityError]:
        founders = self.contract.founders
        if founders and self.contract.authority:
            message = "a contract is founded by two domains or by an authority, not by both"
            yield self.document.fault(message, ("authority",), code="bad-founders", key=True)
        if founders and len(set(founders)) != 2:
            message = f"two different domains found a contract, not {', '.join(founders)}"
            hint = "a contract between two types of one domain is refused; a global one has an `authority`"
            yield self.document.fault(message, ("founders",), code="bad-founders", key=True, hint=hint)
        for at, founder in enumerate(founders):
            if founder not in self.parties:
                yield unknown_party(self.document, ("founders", at), founder, self.parties)
            elif founder not in self.contract.members:
                message = f"the founder {founder} is no member: it has no mapping to the contract type"
                yield self.document.fault(message, ("founders", at), code="bad-founders")

    def _of_authority(self) -> Iterator[ComityError]:
        authority = self.contract.authority
        if authority is None or authority in self.parties or authority == self.federation:
            return
        known = [*self.parties, self.federation]
        hint = did_you_mean(authority, known) or f"an authority is a domain, or the federation: {', '.join(known)}"
        message = f"there is no domain {authority!r} to be the authority"
        yield self.document.fault(message, ("authority",), code="unknown-domain", hint=hint)

    def _of_lone_members(self) -> Iterator[ComityError]:
        """Two types of one domain make no contract; an authority may open one in which nobody else is yet."""
        members = self.contract.members
        if self.contract.founders or self.contract.authority or len(members) != 1:
            return
        ((name, mappings),) = members.items()
        if len(mappings) > 1:
            message = f"a contract between types of one domain, {name}, is refused"
            hint = "let another domain join, or name the `authority` that opens it to others"
            yield self.document.fault(message, ("members", name), code="bad-founders", key=True, hint=hint)

    def _of_type(self) -> Iterator[ComityError]:
        """Its type is that of no other contract."""
        type = self.contract.type
        for other in self.others.values():
            alike = other.type.name == type.name and other.type.attributes == type.attributes
            if alike and other.federation == self.contract.federation:
                message = f"the contract {other.name} has the same type"
                hint = "join that contract, instead of making a second one"
                path = ("types", type.name)
                yield self.document.fault(message, path, code="duplicate-contract-type", hint=hint)
