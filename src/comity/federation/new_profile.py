"""Profiles that shall become part of a federation, and the texts that they are read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from comity.document import parse_document, validate
from comity.errors import Faults, Misuse
from comity.federation.schema import TERMS, ProfileFile, ProfilesFile
from comity.pattern.text.clauses import PARAMETERS
from comity.pattern.text.render import composite_clauses
from comity.profile.files import is_text_form, parse_profiles
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
    def of_entry(cls, name: str, entry: ProfileFile) -> NewProfile:
        """The profile that an entry of a file holds."""
        given = {word: getattr(entry, word) for word in PARAMETERS}
        said = {word: value for word, value in given.items() if value is not None}
        terms = entry.model_dump(mode="json", by_alias=True, exclude_unset=True, include=set(TERMS))
        return cls(name, entry.domain, entry.on, entry.where, entry.description, said, terms)


def read_new_profiles(text: str, file: str, domain: str | None = None) -> list[NewProfile]:
    """The profiles of a text in the form of a profile file, or composite ones of a domain, as text or RDL.

    >>> read_new_profiles("profiles: {hot: {domain: house, on: Fire, where: heat > 40}}", "new.yaml")[0].where
    'heat > 40'
    >>> read_new_profiles("profile hot on Heat h ; Heat i within 5 min limit 9", "new.txt", "house")[0].fields["on"]
    'Heat h ; Heat i within 5 min'
    """
    if is_text_form(text, file):
        return _read_text_form(text, file, domain)
    if domain is not None:
        hint = "leave --domain out; it is for composite profiles as text"
        raise Misuse("the profiles of a YAML file name their domains", code="bad-usage", hint=hint)
    document = parse_document(text, file)
    found = validate(document, ProfilesFile).profiles
    if not found:
        raise document.fault("there are no profiles in it", ("profiles",), code="missing-key")
    return [NewProfile.of_entry(name, one) for name, one in found.items()]


def _read_text_form(text: str, file: str, domain: str | None) -> list[NewProfile]:
    profiles, faults = parse_profiles(text, file)
    if faults:
        raise Faults(faults)
    if domain is None:
        hint = "say it with --domain NAME"
        raise Misuse("profiles as text do not name the domain that subscribes", code="bad-usage", hint=hint)
    return [new_profile_of(profile, domain) for profile in profiles]


def new_profile_of(profile: Profile, domain: str) -> NewProfile:
    """A composite profile that was read from a text, for the domain that subscribes."""
    if profile.composite is None:
        hint = "write it in a YAML file, with `on`, or add it with --on TYPE"
        message = f"the profile {profile.name!r} has no type, which it needs in a federation"
        raise Misuse(message, code="missing-key", place=profile.place, hint=hint)
    said = composite_clauses(profile.composite)
    parameters = {
        word: int(said[word]) if word in ("limit", "version") else said[word] for word in PARAMETERS if word in said
    }
    return NewProfile(profile.name, domain, said["on"], said.get("where", "true"), None, parameters)
