"""Profiles that shall become part of a federation, and the texts that they are read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from comity.errors import Faults, Misuse, Place
from comity.federation.subscriptions import check_complete
from comity.language.files import is_text_form, parse_profiles
from comity.pattern.text.clauses import PARAMETERS
from comity.profile.entries import entry_of
from comity.profile.profile import Profile


@dataclass(frozen=True, slots=True)
class NewProfile:
    """A profile that shall become part of a federation; a composite one has a pattern in place of a type."""

    name: str
    domain: str
    on: str
    where: str = "true"
    description: str | None = None
    parameters: Mapping[str, str | int] = field(default_factory=dict, hash=False)
    """Of a composite profile, what it says by the words of `PARAMETERS`."""
    terms: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """How it is registered and delivered, by the words of `TERMS`."""

    @property
    def fields(self) -> dict[str, Any]:
        """What its entry in a file holds."""
        told = {"domain": self.domain, "on": self.on, "where": self.where, "description": self.description}
        return {key: value for key, value in told.items() if value is not None} | {**self.parameters, **self.terms}

    @classmethod
    def of(cls, profile: Profile) -> NewProfile:
        """A profile that was read, as it would be written."""
        said = entry_of(profile)
        parameters = {word: said[word] for word in PARAMETERS if word in said}
        terms = profile.terms.fields
        return cls(profile.name, said["domain"], said["on"], said["where"], profile.description, parameters, terms)


def _misplaced_domain(domain: str | None) -> Misuse:
    if domain is None:
        hint = "say it with --domain NAME"
        return Misuse("profiles as text do not name the domain that subscribes", code="bad-usage", hint=hint)
    hint = "leave --domain out; it is for composite profiles as text"
    return Misuse("the profiles of a YAML file name their domains", code="bad-usage", hint=hint)


def read_new_profiles(text: str, file: str, domain: str | None = None) -> list[NewProfile]:
    """The profiles of a text in the form of a profile file, or composite ones of a domain, as text or RDL.

    >>> read_new_profiles("profiles: {hot: {domain: house, on: Fire, where: heat > 40}}", "new.yaml")[0].where
    'heat > 40'
    >>> read_new_profiles("profile hot on Heat h ; Heat i within 5 min limit 9", "new.txt", "house")[0].fields["on"]
    'Heat h ; Heat i within 5 min'
    """
    profiles, faults = parse_profiles(text, file)
    if faults:
        raise Faults(faults)
    if not profiles:
        raise Misuse("there are no profiles in it", code="missing-key", place=Place(file))
    if is_text_form(text, file) == (domain is None):
        raise _misplaced_domain(domain)
    named = [replace(one, domain=one.domain or domain) for one in profiles]
    for one in named:
        check_complete(one)
    return [NewProfile.of(one) for one in named]
