"""Rules: what a subscriber wants to be told of, read from a text in any language of profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from comity.errors import ComityError, Faults, Misuse
from comity.event.event import Event
from comity.event.taxonomy import Taxonomy
from comity.expression.compile import compile_filter
from comity.expression.tree import TRUE, Expression
from comity.language.files import parse_profiles, types_of
from comity.language.languages import languages
from comity.limits import limits
from comity.match.match import bind_profiles
from comity.pattern.bound import BoundPattern
from comity.pattern.bounds import check_bounded, unbounded
from comity.pattern.composite import Composite
from comity.pattern.tree import operands
from comity.profile.patterns import as_simple, bind_patterns
from comity.profile.profile import Profile
from comity.profile.terms import NO_TERMS


class RuleKind(StrEnum):
    """What a rule is about: any event of a type, those that fulfil a condition, or several events together."""

    SIMPLE = "simple"
    FILTERED = "filtered"
    COMPOSITE = "composite"


class StoreKind(StrEnum):
    """What waits for a subscriber who is not there: nothing, the newest of a rule, or everything."""

    NONE = "none"
    LAST = "last"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule as its subscriber wrote it. A text may hold several; then each of them has the whole of it.

    `language` is None where the text tells it by how it begins.
    """

    name: str
    text: str
    language: str | None = None
    store: StoreKind = StoreKind.ALL


@dataclass(frozen=True)
class BoundRule:
    """A rule with the meaning that the types give it."""

    name: str
    kind: RuleKind
    types: frozenset[str] | None
    """The types of its events; None for all of them."""
    tree: Expression = TRUE
    pattern: BoundPattern | None = None
    limit: int | None = None
    """How many events of an operand are kept, where the rule itself does not say what bounds them."""

    @cached_property
    def test(self) -> Callable[[Event], bool]:
        """Whether an event of one of its types fulfils a rule about single events."""
        return compile_filter(self.tree)

    def wants(self, event: Event) -> bool:
        """Whether a rule about single events is about this one.

        >>> heat = BoundRule("heat", RuleKind.SIMPLE, frozenset({"house.Heat"}))
        >>> heat.wants(Event("1", "/a", "house.Heat")), heat.wants(Event("1", "/a", "house.Light"))
        (True, False)
        """
        return self.pattern is None and (self.types is None or event.type in self.types) and bool(self.test(event))


def read_rules(text: str, language: str | None, taxonomy: Taxonomy) -> list[BoundRule]:
    """The rules of a text; raises `Faults` with everything that is wrong, each with its place."""
    if len(text) > limits().max_rule_chars:
        hint = "send it in parts, or raise COMITY_MAX_RULE_CHARS"
        raise Misuse(f"the text has {len(text):,} characters", code="expression-too-long", hint=hint)
    profiles, faults = parse_profiles(text, _file(language), types_of(taxonomy))
    found: list[BoundRule] = []
    for profile in profiles:
        try:
            found.append(_bound(profile, taxonomy))
        except Faults as several:
            faults += several.errors
        except ComityError as error:
            faults.append(error)
    if faults:
        raise Faults(faults)
    if not found:
        raise Misuse(
            "there is no rule in it", code="no-rule", hint="write `rule NAME onEvent TYPE e;` or `NAME: FILTER`"
        )
    return found


def bound_again(rule: RuleText, taxonomy: Taxonomy) -> BoundRule:
    """A rule that was read before, over the types as they are now."""
    return next(one for one in read_rules(rule.text, rule.language, taxonomy) if one.name == rule.name)


def rules_that_break(rules: Iterable[RuleText], taxonomy: Taxonomy) -> int:
    """How many rules have no meaning any more over other types."""
    broken = 0
    for rule in rules:
        try:
            bound_again(rule, taxonomy)
        except ComityError:
            broken += 1
    return broken


def _file(language: str | None) -> str:
    """A name by which the language of a text is known; without one its beginning tells it."""
    if language is None:
        return "rules"
    known = {one.name: one for one in languages().values() if one.read is not None}
    if language not in known:
        names = ", ".join(sorted(known))
        raise Misuse(f"{language[:60]!r} is no language of rules", code="unknown-language", hint=f"one of {names}")
    return "rules" + next(iter(known[language].suffixes), "")


def _bound(profile: Profile, taxonomy: Taxonomy) -> BoundRule:
    if profile.domain not in (None, taxonomy.namespace):
        hint = "leave `domain` out"
        raise profile.located(Misuse("this rule is of another domain", code="unknown-domain", hint=hint), "domain")
    if profile.terms != NO_TERMS:
        named = ", ".join(profile.terms.fields)
        hint = "leave them out; a node delivers every event of a rule, as it was published"
        raise profile.located(Misuse(f"a node keeps no such terms: {named}", code="unkept-terms", hint=hint), named)
    simple = as_simple(profile)
    return _composite(simple, taxonomy) if simple.composite is not None else _simple(simple, taxonomy)


def _simple(profile: Profile, taxonomy: Taxonomy) -> BoundRule:
    (bound,) = bind_profiles([profile], taxonomy)
    is_plain = bound.tree == TRUE
    return BoundRule(bound.name, RuleKind.SIMPLE if is_plain else RuleKind.FILTERED, bound.types, bound.tree)


def _composite(profile: Profile, taxonomy: Taxonomy) -> BoundRule:
    """A rule over several events. What bounds nothing itself keeps a number of events, which is told."""
    bound, limit = _pattern(profile, taxonomy), None
    if unbounded([bound]):
        limit = limits().max_operand_events
        assert profile.composite is not None, "only a composite profile has a pattern"
        bound = _pattern(replace(profile, composite=_limited(profile.composite, limit)), taxonomy)
        check_bounded([bound])
    named = {one.type for one in operands(bound.pattern)}
    types = frozenset(one.qualified_name for name in named if name is not None for one in taxonomy.subtypes(name))
    return BoundRule(profile.name, RuleKind.COMPOSITE, None if None in named else types, pattern=bound, limit=limit)


def _pattern(profile: Profile, taxonomy: Taxonomy) -> BoundPattern:
    bound, faults = bind_patterns([profile], taxonomy)
    if faults:
        raise Faults(faults)
    return bound[0]


def _limited(composite: Composite, limit: int) -> Composite:
    return replace(composite, parameters=replace(composite.parameters, limit=limit))
