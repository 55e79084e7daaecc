"""From a pattern to a deterministic automaton, by way of its positions (Glushkov's construction).

Each character class of the pattern, with repetitions written out, is a position. A state is the set of positions that
can read the next character, held as the bits of one number, and whether the text may end here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from comity.expression.regex.tree import Alternation, Chars, Concatenation, Ranges, Regex, Repeat
from comity.filter.sets.minimal import Moves
from comity.filter.sets.symbols import SYMBOLS, to_symbol

_LINKS_PER_STATE = 50  # links between positions that we are ready to make for each state that the bound allows

Part = tuple[bool, int, list[int]]
"""Of a part of a pattern: whether it matches the empty text, the bits of its first positions, its last positions."""


def position_automaton(regex: Regex, check_states: Callable[[int], None]) -> tuple[list[bool], list[Moves]]:
    """Accepting flags and moves of an automaton for the pattern; `check_states` gets their number and may raise."""
    positions = _Positions(check_states)
    nullable, first, last = positions.add(regex)
    return _determinise(positions, nullable, first, sum(1 << at for at in set(last)), check_states)


class _Positions:
    def __init__(self, check_states: Callable[[int], None]) -> None:
        self.ranges: list[Ranges] = []
        self.follow: list[int] = []
        self.links = 0
        self.check_states = check_states

    def add(self, regex: Regex) -> Part:
        if isinstance(regex, Chars):
            return self.add_chars(regex)
        if isinstance(regex, Repeat):
            return self.add_repeat(regex)
        return self.add_choice(regex) if isinstance(regex, Alternation) else self.add_sequence(regex)

    def add_chars(self, regex: Chars) -> Part:
        at = len(self.ranges)
        self.check_states(at)
        self.ranges.append(regex.ranges)
        self.follow.append(0)
        return False, 1 << at, [at]

    def add_choice(self, regex: Alternation) -> Part:
        nullable, first, last = False, 0, []
        for item in regex.items:
            part = self.add(item)
            nullable, first = nullable or part[0], first | part[1]
            last += part[2]
        return nullable, first, last

    def add_sequence(self, regex: Concatenation) -> Part:
        nullable, first = True, 0
        last: list[int] = []
        for item in regex.items:
            part = self.add(item)
            self.link(last, part[1])
            first |= part[1] if nullable else 0
            last = last + part[2] if part[0] else part[2]
            nullable = nullable and part[0]
        return nullable, first, last

    def add_repeat(self, regex: Repeat) -> Part:
        copies = max(regex.low, 1) if regex.high is None else regex.high
        least, first = regex.low, 0
        before: list[int] = []
        last: list[int] = []
        for count in range(1, copies + 1):
            nullable, begin, end = self.add(regex.item)
            # Copies that read nothing can be left out, so each copy that is used reads something.
            least = 0 if nullable else least
            first = first or begin
            self.link(before, begin)
            if count >= least:
                last += end
            before = end
        if regex.high is None:
            self.link(before, begin)
        return least == 0, first, last

    def link(self, sources: list[int], targets: int) -> None:
        self.links += len(sources)
        self.check_states(self.links // _LINKS_PER_STATE)
        for source in sources:
            self.follow[source] |= targets


def _determinise(
    positions: _Positions, nullable: bool, first: int, last: int, check_states: Callable[[int], None]
) -> tuple[list[bool], list[Moves]]:
    starts, readers = _atoms(positions.ranges)
    numbers = {(first, nullable): 0}
    order = [(first, nullable)]
    state_after: dict[int, int] = {}  # by the positions that read the character
    moves: list[Moves] = []
    for ready, _ in order:  # grows while we go
        targets: list[int] = []
        for reader in readers:
            reading = ready & reader
            if reading not in state_after:
                state = (_followers(reading, positions.follow), bool(reading & last))
                if state not in numbers:
                    numbers[state] = len(order)
                    order.append(state)
                state_after[reading] = numbers[state]
            targets.append(state_after[reading])
        check_states(max(len(order), len(order) * len(readers) // (4 * _LINKS_PER_STATE)))
        moves.append(_compressed(starts, targets))
    return [accepting for _, accepting in order], moves


def _followers(reading: int, follow: list[int]) -> int:
    ready = 0
    while reading:
        lowest = reading & -reading
        ready |= follow[lowest.bit_length() - 1]
        reading ^= lowest
    return ready


def _atoms(ranges: list[Ranges]) -> tuple[list[int], list[int]]:
    """The alphabet cut where any class begins or ends, and the positions that read each piece."""
    users: dict[Ranges, int] = {}
    for at, own in enumerate(ranges):
        users[own] = users.get(own, 0) | 1 << at
    as_symbols = [([(to_symbol(low), to_symbol(high) + 1) for low, high in own], bits) for own, bits in users.items()]
    edges = {0} | {edge for own, _ in as_symbols for pair in own for edge in pair}
    starts = sorted(edges - {SYMBOLS})
    readers = [0] * len(starts)
    for pairs, bits in as_symbols:
        for low, high in pairs:
            for at in range(bisect_left(starts, low), bisect_left(starts, high)):
                readers[at] |= bits
    return starts, readers


def _compressed(starts: list[int], targets: list[int]) -> Moves:
    kept = [at for at in range(len(starts)) if at == 0 or targets[at] != targets[at - 1]]
    return tuple([starts[at] for at in kept]), tuple([targets[at] for at in kept])
