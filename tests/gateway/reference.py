"""Which forms of contracts hold, computed in the plainest way. It shares no code with what it judges."""

from __future__ import annotations

from typing import NamedTuple

from comity.gateway.agreements import Revision


class Fact(NamedTuple):
    """What a domain said about a form."""

    what: str
    digest: str
    by: str
    revision: Revision | None = None


Held = tuple[str, frozenset[str]]
"""The digest of a form that holds, and who has left it."""


def _parties(revision: Revision) -> set[str]:
    return {name for role in ("members", "observers") for name in revision.declaration.get(role, {})}


def _says(revision: Revision, domain: str) -> list[object]:
    declaration = revision.declaration
    return [declaration["members"].get(domain), declaration["observers"].get(domain), revision.domains.get(domain)]


def _deciding(revision: Revision) -> set[str]:
    declaration = revision.declaration
    if declaration.get("founders"):
        return set(declaration["founders"])
    return {declaration["authority"]} if declaration.get("authority") else _parties(revision)


def chains(facts: list[Fact]) -> dict[str, list[Held]]:
    """By first form, those that held one after the other."""
    forms = {fact.digest: fact.revision for fact in facts if fact.revision is not None}

    def said(what: str, digest: str) -> set[str]:
        return {fact.by for fact in facts if fact.digest == digest and fact.what == what}

    def holds(digest: str, held: list[Held]) -> bool:
        revision = forms[digest]
        before, left = (forms[held[-1][0]], held[-1][1]) if held else (None, frozenset())
        must = set()
        for name in _deciding(revision):
            if name not in left or name in _parties(revision):
                must.add(name)
        for name in _parties(revision):
            if before is None or name in left or _says(before, name) != _says(revision, name):
                must.add(name)
        if before is not None:
            there = {name for name in _deciding(before) if name not in left}
            must |= there if there else {name for name in _parties(before) if name not in left}
        agreed = said("propose", digest) | said("agree", digest)
        return all(name in agreed and name not in said("refuse", digest) for name in must)

    found: dict[str, list[Held]] = {}
    for first, revision in forms.items():
        if revision.before:
            continue
        held: list[Held] = []
        following = [first]
        while any(holds(one, held) for one in following):
            digest = min(one for one in following if holds(one, held))
            parties = _parties(forms[digest])
            agreed = said("propose", digest) | said("agree", digest)
            left = {name for name in (held[-1][1] if held else ()) if name in parties and name not in agreed}
            held.append((digest, frozenset(left | (said("leave", digest) & parties))))
            following = [one for one, each in forms.items() if each.before == digest]
        found[first] = held
    return found
