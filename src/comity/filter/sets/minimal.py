"""The minimal automaton: merge the states that no text can tell apart, and number the rest as they are met."""

from __future__ import annotations

from collections import defaultdict

Moves = tuple[tuple[int, ...], tuple[int, ...]]
"""The starts of the symbol ranges of a state (the first is 0), and the state that each leads to."""


def minimal(accepting: list[bool], moves: list[Moves]) -> tuple[tuple[bool, ...], tuple[Moves, ...]]:
    """The one smallest complete automaton for the same strings, with state 0 as the start.

    >>> minimal([False, True, True], [((0,), (1,)), ((0,), (2,)), ((0,), (1,))])
    ((False, True), (((0,), (1,)), ((0,), (1,))))
    """
    return _number(_classes(accepting, moves), accepting, moves)


def _classes(accepting: list[bool], moves: list[Moves]) -> list[int]:
    """The class of each state.

    A class that falls apart gives new names to all but its largest part, and only states that lead to renamed ones are
    looked at again, so a state is renamed a logarithmic number of times.
    """
    sources = _sources(moves)
    class_of = [int(flag) for flag in accepting]
    members: dict[int, set[int]] = {0: set(), 1: set()}
    for state, name in enumerate(class_of):
        members[name].add(state)
    dirty = set(range(len(moves)))
    while dirty:
        by_class: dict[int, list[int]] = defaultdict(list)
        for state in dirty:
            by_class[class_of[state]].append(state)
        dirty = set()
        signatures = {name: _group(states, class_of, moves) for name, states in by_class.items()}
        for name, groups in signatures.items():
            for state in _split(name, groups, members, class_of):
                dirty |= sources[state]
    return class_of


def _sources(moves: list[Moves]) -> list[set[int]]:
    sources: list[set[int]] = [set() for _ in moves]
    for state, (_, targets) in enumerate(moves):
        for target in targets:
            sources[target].add(state)
    return sources


def _group(states: list[int], class_of: list[int], moves: list[Moves]) -> list[set[int]]:
    """The states, put together by the classes that their moves lead to."""
    groups: dict[Moves, set[int]] = defaultdict(set)
    for state in states:
        groups[_merged(moves[state], class_of)].add(state)
    return list(groups.values())


def _split(name: int, groups: list[set[int]], members: dict[int, set[int]], class_of: list[int]) -> list[int]:
    """Divide a class; gives the states that got a new name. Members outside the groups are a group of their own."""
    whole = members[name]
    rest = len(whole) - sum(map(len, groups))
    largest = max(groups, key=len)
    keep = None if rest >= len(largest) else largest
    if keep is not None and rest:
        untouched = whole.difference(*groups)
        groups = [*groups, untouched]
    renamed: list[int] = []
    for group in groups:
        if group is keep:
            continue
        new = len(members)
        members[new] = group
        whole -= group
        for state in group:
            class_of[state] = new
        renamed += group
    return renamed


def _merged(moves: Moves, name_of: list[int]) -> Moves:
    """The moves by the names of their targets, neighbours with one name put together."""
    starts: list[int] = []
    names: list[int] = []
    for start, target in zip(*moves, strict=True):
        name = name_of[target]
        if not names or names[-1] != name:
            starts.append(start)
            names.append(name)
    return tuple(starts), tuple(names)


def _number(
    class_of: list[int], accepting: list[bool], moves: list[Moves]
) -> tuple[tuple[bool, ...], tuple[Moves, ...]]:
    """Number the classes in the order in which the moves meet them."""
    example = {name: state for state, name in enumerate(class_of)}
    order = [class_of[0]]
    number = {class_of[0]: 0}
    merged: list[Moves] = []
    for name in order:  # grows while we go
        starts, names = _merged(moves[example[name]], class_of)
        for target in names:
            if target not in number:
                number[target] = len(order)
                order.append(target)
        merged.append((starts, tuple([number[target] for target in names])))
    return tuple([accepting[example[name]] for name in order]), tuple(merged)
