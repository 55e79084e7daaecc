"""The rules of a node in memory, by who has them and by what they are about."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from comity.event.event import Event
from comity.event.taxonomy import Taxonomy
from comity.node.detection import CompositeRule
from comity.node.entries import LogEntry, LoggedReport
from comity.node.rule_rows import KeptRule
from comity.node.rules import BoundRule, bound_again

_ANY = "*"
"""In place of a type: rules about events of all types."""


@dataclass(frozen=True, slots=True)
class ActiveRule:
    """A rule as it is kept, and what it means."""

    kept: KeptRule
    bound: BoundRule

    @property
    def number(self) -> int:
        """What tells it from all rules that were ever there."""
        return self.kept.number

    @property
    def is_composite(self) -> bool:
        """Whether it is about several events, so that the detector finds what it reports."""
        return self.bound.pattern is not None


class RuleBook:
    """All rules, as they stand in the base after so many changes."""

    def __init__(self, kept: Iterable[KeptRule], changes: int, taxonomy: Taxonomy) -> None:
        self.changes = changes
        self._rules: dict[int, ActiveRule] = {}
        self._of: dict[str, dict[int, ActiveRule]] = defaultdict(dict)
        self._about: dict[str, dict[int, ActiveRule]] = defaultdict(dict)
        self._changed = asyncio.Condition()
        for one in kept:
            self._put(ActiveRule(one, bound_again(one.rule, taxonomy)))

    def of(self, subscriber: str) -> Collection[ActiveRule]:
        """The rules of a subscriber."""
        return self._of[subscriber].values() if subscriber in self._of else ()

    def all(self) -> Collection[ActiveRule]:
        """The rules of everybody."""
        return self._rules.values()

    def composites(self) -> list[CompositeRule]:
        """What the detector looks for."""
        return [
            CompositeRule.of(rule.number, rule.kept.since, rule.bound.pattern)
            for rule in self._rules.values()
            if rule.bound.pattern is not None
        ]

    def wanting(self, entry: LogEntry) -> list[ActiveRule]:
        """The rules that an entry of the log is for, of all subscribers."""
        match entry.content:
            case LoggedReport(rule=number):
                found = self._rules.get(number)
                return [found] if found is not None else []
            case Event() as event:
                near = [*self._about.get(event.type, {}).values(), *self._about.get(_ANY, {}).values()]
                return [rule for rule in near if rule.kept.since < entry.sequence and rule.bound.wants(event)]

    async def take(self, added: Iterable[ActiveRule] = (), removed: Iterable[int] = ()) -> None:
        """Note changes that were committed, each of which counts as one."""
        for rule in added:
            if rule.number not in self._rules:
                self._put(rule)
                self.changes += 1
        for number in removed:
            self._remove(self._rules.pop(number))
            self.changes += 1
        async with self._changed:
            self._changed.notify_all()

    async def reached(self, changes: int) -> None:
        """Wait until what the base knew after so many changes is known here."""
        if self.changes < changes:
            async with self._changed:
                await self._changed.wait_for(lambda: self.changes >= changes)

    def rebind(self, taxonomy: Taxonomy) -> None:
        """Give all rules the meaning that they have over other types."""
        rules = [ActiveRule(rule.kept, bound_again(rule.kept.rule, taxonomy)) for rule in self._rules.values()]
        self._of.clear()
        self._about.clear()
        for rule in rules:
            self._put(rule)

    def _put(self, rule: ActiveRule) -> None:
        self._rules[rule.number] = rule
        self._of[rule.kept.subscriber][rule.number] = rule
        for type in _types(rule):
            self._about[type][rule.number] = rule

    def _remove(self, rule: ActiveRule) -> None:
        for table, keys in ((self._of, [rule.kept.subscriber]), (self._about, _types(rule))):
            for key in keys:
                del table[key][rule.number]
                if not table[key]:
                    del table[key]


def _types(rule: ActiveRule) -> list[str]:
    """Where a rule about single events is looked for; the detector looks for the others."""
    if rule.is_composite:
        return []
    return [_ANY] if rule.bound.types is None else list(rule.bound.types)
