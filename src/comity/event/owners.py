"""Whose files these are: the source of a domain brings events of that domain's types, and of no other's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from comity.event.types import EventType
from comity.event.validate import Fault, fault
from comity.storage.lookup import matches

Domains = frozenset[str]


@dataclass(frozen=True, slots=True)
class OwnTypes:
    """The types of some domains, out of all; an event of another type is foreign.

    >>> types = {"house.Fire": EventType("Fire", "house"), "bank.Alarm": EventType("Alarm", "bank")}
    >>> own = OwnTypes(types.get, frozenset({"house"}))
    >>> own("house.Fire") is not None, own("bank.Alarm"), own.fault("bank.Alarm").code, own.fault("x.Y").code
    (True, None, 'foreign-type', 'unknown-type')
    """

    all: Callable[[str], EventType | None]
    domains: Domains

    def __call__(self, name: str) -> EventType | None:
        found = self.all(name)
        return found if found is not None and found.namespace in self.domains else None

    def fault(self, name: str) -> Fault:
        """Why an event of a type that is not among them is refused."""
        if self.all(name) is None:
            return unknown_type(name)
        whose = " and ".join(sorted(self.domains))
        reason = f"is a type of another domain; this is a source of {whose}" if whose else "comes from no domain"
        return fault("event.type", name, reason, "foreign-type")


def unknown_type(name: str) -> Fault:
    """The fault of an event whose type nobody has."""
    return fault("event.type", name, "is not a known type", "unknown-type")


@dataclass(frozen=True, slots=True)
class Owners:
    """By file or folder, as absolute paths or addresses: the domains that name it as a source. Without any, nobody is
    held to it.

    Where a file comes from is told by its path alone, so it is told the same after a crash.

    >>> owners = Owners.of([("/events/a", "a"), ("/events/both.jsonl", "a"), ("/events/both.jsonl", "b")])
    >>> owners.domains("/events/a/1.jsonl"), sorted(owners.domains("/events/both.jsonl")), owners.domains("/x.jsonl")
    (frozenset({'a'}), ['a', 'b'], frozenset())
    >>> Owners().domains("/x.jsonl") is None
    True
    """

    by_path: Mapping[str, Domains] | None = field(default=None, hash=False)
    patterns: tuple[tuple[str, str], ...] = ()
    """Patterns of such files and folders, each with the domain that names it."""

    @classmethod
    def of(cls, given: Iterable[tuple[str | Path, str]], patterns: Iterable[tuple[str, str]] = ()) -> Owners:
        """From paths or patterns and the domains that name them; one may come several times."""
        found: dict[str, Domains] = {}
        for path, domain in given:
            found[str(path)] = found.get(str(path), frozenset()) | {domain}
        return cls(found, tuple(patterns))

    def domains(self, file: str) -> Domains | None:
        """The domains whose events a file may hold; None when it may hold those of all.

        They are those that name the file, and those that name the nearest folder around it. A file that nobody names
        may hold nobody's.
        """
        if self.by_path is None:
            return None
        around = next((own for one in _folders_around(file) if (own := self._naming(one))), frozenset())
        return self._naming(file) | around

    def _naming(self, path: str) -> Domains:
        """The domains that name just this file or folder."""
        assert self.by_path is not None, "it was asked whose it is"
        named = self.by_path.get(path, frozenset())
        return named | {domain for pattern, domain in self.patterns if matches(path, pattern)}

    def types(self, file: str, all: Callable[[str], EventType | None]) -> Callable[[str], EventType | None]:
        """The types that events of a file may have, out of all."""
        domains = self.domains(file)
        return all if domains is None else OwnTypes(all, domains)


def _folders_around(file: str) -> Iterator[str]:
    """The nearest first."""
    while "/" in file:
        file = file.rpartition("/")[0]
        yield file or "/"


ANYBODY = Owners()
"""Of events that somebody names for a run: who runs it answers for all domains."""
