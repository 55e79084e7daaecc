"""Profile files: what domains subscribe to, bound to the types that they can see."""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from pathlib import Path

from comity.contract.deliver_in import deliver_in
from comity.contract.mapping import Mapping
from comity.document import Document, did_you_mean, validate
from comity.errors import ComityError, Faults, Misuse
from comity.event.types import EVENT
from comity.expression.bind import bind_text
from comity.expression.parse import error_at
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.tree import TRUE, Attribute, Call, Compare, Expression, Literal, conjunction, disjunction
from comity.federation.model import OPERAND, CompositeSubscription, Contract, Domain, Subscription
from comity.federation.names import Names
from comity.federation.parties import taxonomy_of
from comity.federation.schema import ActiveFile, ProfileFile, ProfilesFile
from comity.pattern.bound import BoundPattern
from comity.pattern.composite import Composite
from comity.pattern.text.clauses import build_composite
from comity.pattern.tree import operands
from comity.profile.files import is_composite_entry, scan_profiles
from comity.profile.profile import Locate, Profile, part_of

_Path = tuple[str | int, ...]


@dataclass(slots=True)
class ProfileReader:
    """Reads files of profiles; gathers faults, so that all of them are told at once."""

    domains: AbstractMapping[str, Domain]
    contracts: AbstractMapping[str, Contract]
    """Those of the federation itself, by the names that its files give them."""
    areas: AbstractMapping[str, frozenset[str]]
    """What a scope can name: domains, and federations, each with the domains it stands for."""
    names: Names
    simple: dict[str, Subscription] = field(default_factory=dict)
    composite: dict[str, CompositeSubscription] = field(default_factory=dict)
    faults: list[ComityError] = field(default_factory=list)
    _deliveries: dict[tuple[object, ...], dict[str, Mapping]] = field(default_factory=dict)

    def take(self, document: Document) -> None:
        """Read the profiles of a file."""
        for name, given in validate(document, ProfilesFile).profiles.items():
            try:
                self._take_profile(document, name, given)
            except Faults as found:
                self.faults += found.errors
            except ComityError as error:
                self.faults.append(error)

    def take_text(self, path: Path, domain: str) -> None:
        """Read the composite profiles of a file that is text or RDL, for the domain that subscribes."""
        profiles, faults = scan_profiles(path)
        self.faults += faults
        for one in profiles:
            try:
                self._take_written(one, domain)
            except ComityError as error:
                self.faults.append(error)

    def _take_written(self, profile: Profile, domain: str) -> None:
        if profile.composite is None:
            hint = "name its type: a block `profile NAME` with `on TYPE`, or a YAML file"
            message = f"in a federation the profile {profile.name!r} needs a type"
            raise Misuse(message, code="missing-key", place=profile.place, hint=hint)
        if profile.name in self.simple or profile.name in self.composite:
            message = f"there are two profiles {profile.name!r}"
            raise Misuse(message, code="duplicate-profile", place=profile.place)
        self._bind_composite(profile.name, profile.composite, ProfileFile(domain=domain, on=""), None, profile.located)

    def _take_profile(self, document: Document, name: str, given: ProfileFile) -> None:
        at = ("profiles", name)
        if OPERAND in name:
            hint = "use letters, digits, underscores, dots and dashes"
            raise document.fault(f"{name!r} cannot name a profile", at, code="bad-name", key=True, hint=hint)
        if name in self.simple or name in self.composite:
            raise document.fault(f"there are two profiles {name!r}", at, code="duplicate-profile")
        if given.domain not in self.domains:
            message, known = f"there is no domain {given.domain!r}", did_you_mean(given.domain, self.domains)
            raise document.fault(message, (*at, "domain"), code="unknown-domain", hint=known)
        sources = self._sources(document, (*at, "scope"), given)
        if is_composite_entry(given.clauses):
            self._take_composite(document, name, given, sources)
        else:
            self._take_simple(document, name, given, sources)

    def _take_simple(self, document: Document, name: str, given: ProfileFile, sources: frozenset[str] | None) -> None:
        at = ("profiles", name)
        try:
            scope = self._visible_type(given.domain, given.on)
        except Misuse as error:
            raise document.fault(error.message, (*at, "on"), code=error.code, hint=error.hint) from None
        try:
            tree = bind_text(given.where, scope)
        except Misuse as error:
            raise document.locate(error, (*at, "where")) from None
        assert scope.type is not None
        deliver = self._delivery(document, (*at, "deliver"), given, scope)
        wanted = _while_registered(tree, given)
        self.simple[name] = Subscription(
            name, given.domain, scope.type, given.where, wanted, deliver, sources, given.priority, _wants_own(given)
        )

    def _take_composite(
        self, document: Document, name: str, given: ProfileFile, sources: frozenset[str] | None
    ) -> None:
        at = ("profiles", name)
        if given.deliver:
            message = "a composite profile reports events, which stay in the terms of their operands"
            raise document.fault(message, (*at, "deliver"), code="no-delivery-context", key=True)

        def locate(error: ComityError, part: str) -> ComityError:
            return document.locate(error, (*at, part))

        composite, faults = build_composite(given.clauses, locate)
        self.faults += faults
        if composite is not None:
            self._bind_composite(name, composite, given, sources, locate)

    def _bind_composite(
        self, name: str, composite: Composite, given: ProfileFile, sources: frozenset[str] | None, locate: Locate
    ) -> None:
        scopes: dict[str, Scope] = {}
        for one in operands(composite.pattern):
            try:
                scopes[one.name] = self._visible_type(given.domain, one.type)
            except Misuse as error:
                found = error_at(given.on, max(given.on.find(one.type or ""), 0), error) if given.on else error
                raise locate(found, "on") from None
        try:
            bound = composite.bind(name, operand_scopes=scopes)
        except Misuse as error:
            raise locate(error, part_of(error, composite)) from None
        asked = tuple(_operand_of(bound, given, operand, scope, sources) for operand, scope in scopes.items())
        self.composite[name] = CompositeSubscription(name, given.domain, bound, asked, given.priority)

    def _visible_type(self, domain: str, name: str | None) -> Scope:
        """A type of the subscriber's own domain, or a contract type under its qualified name."""
        namespace, _, simple = (name or "").rpartition(".")
        contract = self.contracts.get(namespace)
        if contract is not None:
            taxonomy = taxonomy_of(contract)
            return self.names.scope(taxonomy.type(simple), taxonomy)
        taxonomy = self.domains[domain].taxonomy
        return self.names.scope(taxonomy.type(name or EVENT.name), taxonomy)

    def _sources(self, document: Document, at: _Path, given: ProfileFile) -> frozenset[str] | None:
        """The domains whose events are wanted; None for all of them."""
        found: set[str] = set()
        for number, name in enumerate(given.scope):
            if name not in self.areas:
                hint = did_you_mean(name, self.areas)
                message = f"there is no domain or federation {name!r}"
                raise document.fault(message, (*at, number), code="unknown-domain", hint=hint)
            found |= self.areas[name]
        return frozenset(found) if given.scope else None

    def _delivery(self, document: Document, at: _Path, given: ProfileFile, scope: Scope) -> dict[str, Mapping]:
        """The mappings into the context that the subscriber named; the same objects for the same wish."""
        if not given.deliver:
            return {}
        assert scope.type is not None
        assert scope.taxonomy is not None
        key = (scope.type.qualified_name, *sorted((name, str(wish)) for name, wish in given.deliver.items()))
        if key not in self._deliveries:
            below = scope.taxonomy.subtypes(scope.type.qualified_name)
            try:
                made = {one.qualified_name: deliver_in(replace(scope, type=one), given.deliver) for one in below}
            except Misuse as error:
                raise document.fault(error.message, at, code=error.code, hint=error.hint) from None
            self._deliveries[key] = {name: mapping for name, mapping in made.items() if mapping is not None}
        return self._deliveries[key]


def _operand_of(
    bound: BoundPattern, given: ProfileFile, operand: str, scope: Scope, sources: frozenset[str] | None
) -> Subscription:
    """What an operand subscribes to."""
    assert scope.type is not None, "operands in a federation have a type"
    tree = bound.asked(operand)  # only events of its type come on the routes to it
    wanted = _while_registered(tree, given)
    name = f"{bound.name}{OPERAND}{operand}"
    own = _wants_own(given)
    return Subscription(name, given.domain, scope.type, render(tree), wanted, {}, sources, given.priority, own)


def _wants_own(given: ProfileFile) -> bool:
    """Whether the domain's own events come back to it; to name oneself in the scope asks for it, too."""
    return given.own or given.domain in given.scope


# A profile that is registered for a part of the day, or until some time, wants only what happens meanwhile.


def _while_registered(tree: Expression, given: ProfileFile) -> Expression:
    parts = [] if tree == TRUE else [tree]
    if given.active is not None:
        parts.append(_in_day(given.active))
    if given.expires is not None:
        parts.append(Compare("<", _EVENT_TIME, Literal(given.expires)))
    return conjunction(parts)


_EVENT_TIME = Attribute(("event", "time"))
_TIME_OF_DAY = Call("time_of_day", (_EVENT_TIME,))


def _in_day(active: ActiveFile) -> Expression:
    """From the beginning up to, and not including, the end, which may be on the next day."""
    begin, end = _since_midnight(active.begin), _since_midnight(active.until or time(0))
    after, before = Compare(">=", _TIME_OF_DAY, Literal(begin)), Compare("<", _TIME_OF_DAY, Literal(end))
    if begin < end:
        return conjunction([after, before])
    return disjunction([after, before]) if end else after


def _since_midnight(moment: time) -> timedelta:
    return datetime.combine(datetime.min, moment) - datetime.min
