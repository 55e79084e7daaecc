"""Choice among the occurrences that close at one point of time, and what becomes of them: reports.

This is items 55 and 58 of docs/semantics.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from comity.pattern.occurrence import Occurrence, Seen
from comity.pattern.parameters import Parameters
from comity.pattern.report import Happening, Report

Chosen = Mapping[str, Seen | tuple[Seen, ...]]


def choose(found: Sequence[Occurrence], order: Sequence[str], parameters: Parameters) -> list[Occurrence]:
    """The occurrences that are left when each operand has chosen, one after the other."""
    left = list(found)
    for operand in order:
        candidates = sorted({one.bound[operand] for one in left if operand in one.bound}, key=lambda seen: seen.order)
        positions = parameters.of(operand).choose(len(candidates))
        taken = {candidates[at].order for at in positions}
        left = [one for one in left if operand not in one.bound or one.bound[operand].order in taken]
    return left


def collected(found: Iterable[Occurrence], parameters: Parameters) -> list[tuple[Occurrence, Chosen]]:
    """The occurrences, those that differ only in collected operands put together.

    Where nothing is collected, occurrences of the same events can still be different ones: of different silences.
    """
    groups: dict[tuple[object, ...], list[Occurrence]] = {}
    for one in found:
        plain = tuple((name, seen.order) for name, seen in sorted(one.bound.items()) if not _collects(name, parameters))
        lists = tuple(sorted(name for name in one.bound if _collects(name, parameters)))
        groups.setdefault((plain, lists, None if lists else one.start, one.end), []).append(one)
    return [_together(group, parameters) for group in groups.values()]


def reports_of(found: Iterable[Occurrence], profile: str, parameters: Parameters) -> list[Report]:
    """A report for each, in their order; those with one identity are one."""
    unique: dict[str, Report] = {}
    for whole, chosen in collected(sorted(found, key=lambda one: one.order), parameters):
        events = {name: _events(seen) for name, seen in sorted(chosen.items())}
        report = Report(profile, whole.start[0], whole.end[0], events, parameters.version)
        unique.setdefault(report.id, report)
    return list(unique.values())


def _collects(operand: str, parameters: Parameters) -> bool:
    return parameters.of(operand).collect


def _together(group: list[Occurrence], parameters: Parameters) -> tuple[Occurrence, Chosen]:
    one = group[0]
    whole = Occurrence(min(each.start for each in group), one.end, one.bound)
    lists: dict[str, Seen | tuple[Seen, ...]] = dict(one.bound)
    for name in one.bound:
        if _collects(name, parameters):
            lists[name] = tuple(sorted({each.bound[name] for each in group}, key=lambda seen: seen.order))
    return whole, lists


def _events(seen: Seen | tuple[Seen, ...]) -> Happening | tuple[Happening, ...]:
    return tuple(one.event for one in seen) if isinstance(seen, tuple) else seen.event
