"""Profiles of domains, bound to the types that they can see."""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta

from comity.contract.deliver_in import deliver_in
from comity.contract.mapping import Mapping
from comity.document import did_you_mean
from comity.errors import ComityError, Faults, Misuse
from comity.event.types import EVENT, EventType
from comity.expression.parse import error_at
from comity.expression.render import render
from comity.expression.scope import Scope
from comity.expression.tree import TRUE, Attribute, Call, Compare, Expression, Literal, conjunction, disjunction
from comity.federation.model import OPERAND, CompositeSubscription, Contract, Domain, Subscription
from comity.federation.names import Names
from comity.federation.parties import taxonomy_of
from comity.keyed import digest
from comity.language.language import Reading
from comity.pattern.bound import BoundPattern
from comity.pattern.composite import Composite
from comity.pattern.tree import operands
from comity.profile.profile import Profile, part_of
from comity.profile.terms import Terms
from comity.visible import has_hidden


@dataclass(slots=True)
class ProfileReader:
    """Binds profiles; gathers faults, so that all of them are told at once."""

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

    def types_of(self, domain: str) -> dict[str, EventType]:
        """The types that profiles of a domain can be on, by the names that they have there."""
        own = {one.name: one for one in self.domains[domain].taxonomy.types}
        return own | {f"{name}.{one.type.name}": one.type for name, one in self.contracts.items()}

    def take(self, reading: Reading, domain: str | None = None) -> None:
        """Bind the profiles of a file; `domain` subscribes to those that do not say it."""
        profiles, faults = reading
        self.faults += faults
        for profile in profiles:
            try:
                self._take(replace(profile, domain=profile.domain or domain))
            except Faults as found:
                self.faults += found.errors
            except ComityError as error:
                self.faults.append(error)

    def _take(self, profile: Profile) -> None:
        check_complete(profile)
        if profile.name in self.simple or profile.name in self.composite:
            message = f"there are two profiles {profile.name!r}"
            raise Misuse(message, code="duplicate-profile", place=profile.place)
        domain = profile.domain or ""
        if domain not in self.domains:
            error = Misuse(
                f"there is no domain {domain!r}", code="unknown-domain", hint=did_you_mean(domain, self.domains)
            )
            raise profile.located(error, "domain")
        if profile.composite is not None:
            self.composite[profile.name] = self._composite(profile, domain, profile.composite)
        else:
            self.simple[profile.name] = self._simple(profile, domain)

    def _simple(self, profile: Profile, domain: str) -> Subscription:
        try:
            scope = self._visible_type(domain, profile.on)
        except Misuse as error:
            raise profile.located(error, "on") from None
        tree = _while_registered(profile.bind(scope), profile.terms)
        assert scope.type is not None
        deliver = self._delivery(profile, scope)
        sources, terms = self._sources(profile), profile.terms
        own = _wants_own(terms, domain)
        return Subscription(
            profile.name, domain, scope.type, profile.where.text, tree, deliver, sources, terms.priority, own
        )

    def _composite(self, profile: Profile, domain: str, composite: Composite) -> CompositeSubscription:
        if profile.terms.deliver:
            message = "a composite profile reports events, which stay in the terms of their operands"
            raise profile.located(Misuse(message, code="no-delivery-context"), "deliver")
        scopes: dict[str, Scope] = {}
        for one in operands(composite.pattern):
            try:
                scopes[one.name] = self._visible_type(domain, one.type)
            except Misuse as error:
                at = max(composite.text.find(one.type or ""), 0)
                raise profile.located(error_at(composite.text, at, error) if composite.text else error, "on") from None
        try:
            bound = composite.bind(profile.name, operand_scopes=scopes)
        except Misuse as error:
            raise profile.located(error, part_of(error, composite)) from None
        sources, terms = self._sources(profile), profile.terms
        # Without it, profiles of other scopes and times that ask for the same would share their candidates.
        whose = (domain, *sorted(sources or ()), _wants_own(terms, domain))
        feed = digest(whose, str(terms.active), terms.expires)
        bound = replace(bound, feed=feed)
        asked = tuple(_operand_of(bound, domain, operand, scope, sources, terms) for operand, scope in scopes.items())
        return CompositeSubscription(profile.name, domain, bound, asked, terms.priority)

    def _visible_type(self, domain: str, name: str | None) -> Scope:
        """A type of the subscriber's own domain, or a contract type under its qualified name."""
        namespace, _, simple = (name or "").rpartition(".")
        contract = self.contracts.get(namespace)
        if contract is not None:
            taxonomy = taxonomy_of(contract)
            return self.names.scope(taxonomy.type(simple), taxonomy)
        taxonomy = self.domains[domain].taxonomy
        return self.names.scope(taxonomy.type(name or EVENT.name), taxonomy)

    def _sources(self, profile: Profile) -> frozenset[str] | None:
        """The domains whose events are wanted; None for all of them."""
        found: set[str] = set()
        for number, name in enumerate(profile.terms.scope):
            if name not in self.areas:
                hint = did_you_mean(name, self.areas)
                error = Misuse(f"there is no domain or federation {name!r}", code="unknown-domain", hint=hint)
                raise profile.located(error, f"scope.{number}")
            found |= self.areas[name]
        return frozenset(found) if profile.terms.scope else None

    def _delivery(self, profile: Profile, scope: Scope) -> dict[str, Mapping]:
        """The mappings into the context that the subscriber named; the same objects for the same wish."""
        wishes = profile.terms.deliver
        if not wishes:
            return {}
        assert scope.type is not None
        assert scope.taxonomy is not None
        key = (scope.type.qualified_name, *sorted((name, str(wish)) for name, wish in wishes.items()))
        if key not in self._deliveries:
            below = scope.taxonomy.subtypes(scope.type.qualified_name)
            try:
                made = {one.qualified_name: deliver_in(replace(scope, type=one), wishes) for one in below}
            except Misuse as error:
                raise profile.located(error, "deliver") from None
            self._deliveries[key] = {name: mapping for name, mapping in made.items() if mapping is not None}
        return self._deliveries[key]


def check_complete(profile: Profile) -> None:
    """Refuse a profile that lacks what it needs in a federation."""
    if OPERAND in profile.name or has_hidden(profile.name):
        hint = "use letters, digits, underscores, dots and dashes"
        raise Misuse(f"{profile.name!r} cannot name a profile", code="bad-name", place=profile.place, hint=hint)
    faults: list[ComityError] = []
    if profile.domain is None:
        faults.append(profile.located(Misuse("`domain` is missing", code="missing-key"), "domain"))
    if profile.on is None and profile.composite is None:
        hint = "name its type: `{on: TYPE, where: FILTER}` in a YAML file, or a block `profile NAME` with `on TYPE`"
        message = f"in a federation the profile {profile.name!r} needs a type"
        faults.append(Misuse(message, code="missing-key", place=profile.place, hint=hint))
    if faults:
        raise Faults(faults)


def _operand_of(
    bound: BoundPattern, domain: str, operand: str, scope: Scope, sources: frozenset[str] | None, terms: Terms
) -> Subscription:
    """What an operand subscribes to."""
    assert scope.type is not None, "operands in a federation have a type"
    tree = bound.asked(operand)  # only events of its type come on the routes to it
    wanted = _while_registered(tree, terms)
    name = f"{bound.name}{OPERAND}{operand}"
    own = _wants_own(terms, domain)
    return Subscription(name, domain, scope.type, render(tree), wanted, {}, sources, terms.priority, own)


def _wants_own(terms: Terms, domain: str) -> bool:
    """Whether the domain's own events come back to it; to name oneself in the scope asks for it, too."""
    return terms.own or domain in terms.scope


# A profile that is registered for a part of the day, or until some time, wants only what happens meanwhile.


def _while_registered(tree: Expression, terms: Terms) -> Expression:
    parts = [] if tree == TRUE else [tree]
    if terms.active is not None:
        parts.append(_in_day(*terms.active))
    if terms.expires is not None:
        parts.append(Compare("<", _EVENT_TIME, Literal(terms.expires)))
    return conjunction(parts)


_EVENT_TIME = Attribute(("event", "time"))
_TIME_OF_DAY = Call("time_of_day", (_EVENT_TIME,))


def _in_day(since: time, until: time) -> Expression:
    """From the beginning up to, and not including, the end, which may be on the next day."""
    begin, end = _since_midnight(since), _since_midnight(until)
    after, before = Compare(">=", _TIME_OF_DAY, Literal(begin)), Compare("<", _TIME_OF_DAY, Literal(end))
    if begin < end:
        return conjunction([after, before])
    return disjunction([after, before]) if end else after


def _since_midnight(moment: time) -> timedelta:
    return datetime.combine(datetime.min, moment) - datetime.min
