"""Deterministic automata over Unicode characters: the general form of a set of strings.

An automaton here is always complete and minimal, and its states are numbered in the order in which they are met, so
two automata accept the same strings exactly when they are equal. Surrogates are no characters; the alphabet closes the
gap that they leave, and its members are called symbols here. A state's moves are ranges of symbols: `starts[i]` up to
the next start leads to `targets[i]`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from functools import lru_cache

from comity.errors import Permanent
from comity.expression.regex.tree import Regex
from comity.filter.sets.cuts import DIFFERENCE, INTERSECTION, UNION, Cuts
from comity.filter.sets.minimal import Moves, minimal
from comity.filter.sets.positions import position_automaton
from comity.filter.sets.symbols import SYMBOLS, nicest_char, to_char, to_symbol
from comity.limits import limits


class TooLarge(Permanent):
    """The exact answer needs more states than `max_automaton_states`; a relation then answers unknown."""


def _check_states(count: int) -> None:
    bound = limits().max_automaton_states
    if count > bound:
        raise TooLarge(
            f"the automaton needs more than {bound} states",
            code="automaton-too-large",
            hint="raise COMITY_MAX_AUTOMATON_STATES, or use a simpler pattern",
        )


class Automaton:
    """A regular set of strings.

    >>> from comity.expression.regex.parse import parse_regex
    >>> words = Automaton.of_regex(parse_regex("(ab)*"))
    >>> words.accepts("abab"), words.accepts("aba"), words == Automaton.of_regex(parse_regex("(?:ab(ab)*)?"))
    (True, False, True)
    """

    __slots__ = ("_hash", "accepting", "moves")

    def __init__(self, accepting: tuple[bool, ...], moves: tuple[Moves, ...]) -> None:
        """Takes a minimal automaton as it is; use the constructors below."""
        self.accepting = accepting
        self.moves = moves
        self._hash = hash((accepting, moves))

    @classmethod
    def of(cls, accepting: list[bool], moves: list[Moves]) -> Automaton:
        """The automaton with these states, the first being the start."""
        return cls(*minimal(accepting, moves))

    @classmethod
    def of_regex(cls, regex: Regex) -> Automaton:
        """The texts that the pattern matches as a whole."""
        return cls.of(*position_automaton(regex, _check_states))

    @classmethod
    def of_cuts(cls, cuts: Cuts) -> Automaton:
        """The strings of a union of intervals, given by its cuts."""
        return cls.of(*_cuts_automaton(cuts))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Automaton):
            return NotImplemented
        return self is other or (
            self._hash == other._hash and self.accepting == other.accepting and self.moves == other.moves
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"<Automaton of {len(self.accepting)} states>"

    # Questions

    def accepts(self, text: str) -> bool:
        """Whether the text is in the set."""
        state = 0
        for char in text:
            starts, targets = self.moves[state]
            state = targets[bisect_right(starts, to_symbol(ord(char))) - 1]
        return self.accepting[state]

    @property
    def is_empty(self) -> bool:
        return self.accepting == (False,)

    @property
    def is_full(self) -> bool:
        return self.accepting == (True,)

    def is_constant(self, state: int) -> bool:
        """Whether nothing that follows changes the answer any more."""
        return self.moves[state][1] == (state,)

    def meets(self, other: Automaton, table: int) -> bool:
        """Whether the truth table of `cuts` takes any string; stops at the first."""
        pairs = _pairs(self, other, table)
        return any(table >> (self.accepting[left] + 2 * other.accepting[right]) & 1 for left, right in pairs)

    def covers(self, other: Automaton) -> bool:
        """Whether every string of the other is in this one."""
        return not other.meets(self, DIFFERENCE)

    @property
    def is_finite(self) -> bool:
        """Whether the set holds finitely many strings."""
        return self._is_acyclic(besides_full=False)

    def members(self, most: int) -> tuple[str, ...] | None:
        """All strings of the set in their order; None when there are more than `most`."""
        if not self.is_finite:
            return None
        found: list[str] = []
        for text in self._walk():
            if len(found) == most:
                return None
            found.append(text)
        return tuple(found)

    def shortest(self) -> str | None:
        """A shortest string of the set, in letters and digits where there is a choice; None when it is empty.

        >>> from comity.expression.regex.parse import parse_regex
        >>> Automaton.of_regex(parse_regex(".{2}x")).shortest()
        'aax'
        """
        distance = self._distances()
        if 0 not in distance:
            return None
        state, text = 0, ""
        while not self.accepting[state]:
            step = distance[state] - 1
            ways = [way for way in self._ranges(state) if distance.get(way[2]) == step]
            char, state = min((nicest_char(low, high), target) for low, high, target in ways)
            text += char[1]
        return text

    # Operations

    def complement(self) -> Automaton:
        """The strings that are not in the set."""
        return Automaton(tuple(not accepting for accepting in self.accepting), self.moves)

    def intersect(self, other: Automaton) -> Automaton:
        """The strings in both."""
        return _product(self, other, INTERSECTION)

    def union(self, other: Automaton) -> Automaton:
        """The strings in either."""
        return _product(self, other, UNION)

    def difference(self, other: Automaton) -> Automaton:
        """The strings in this one only."""
        return _product(self, other, DIFFERENCE)

    def as_cuts(self, most: int) -> Cuts | None:
        """The same set as cuts; None when it is no union of intervals, or takes more than `most` steps."""
        if not self._is_acyclic(besides_full=True):
            return None
        cuts: list[str] = []
        todo = [("", 0)]
        for _ in range(most):
            prefix, state = todo.pop()
            if self.accepting[state] != bool(len(cuts) & 1):
                cuts.append(prefix)
            if not self.is_constant(state):
                parts = self._parts(state, most)
                if parts is None:
                    return None
                todo += [(prefix + to_char(symbol), target) for symbol, target in reversed(parts)]
            if not todo:
                return tuple(cuts)
        return None

    def _parts(self, state: int, most: int) -> list[tuple[int, int]] | None:
        """The moves of a state, one for each symbol where the answer is still open."""
        parts: list[tuple[int, int]] = []
        for low, high, target in self._ranges(state):
            if self.is_constant(target):
                parts.append((low, target))
            elif high - low >= most:
                return None
            else:
                parts += [(symbol, target) for symbol in range(low, high + 1)]
        return parts

    def _ranges(self, state: int) -> Iterator[tuple[int, int, int]]:
        starts, targets = self.moves[state]
        for at, target in enumerate(targets):
            yield starts[at], (starts[at + 1] if at + 1 < len(starts) else SYMBOLS) - 1, target

    def _is_acyclic(self, besides_full: bool) -> bool:
        """Whether no path comes back to a state, apart from the dead one, and if asked for the full one."""
        left_out = [self.is_constant(q) and (besides_full or not self.accepting[q]) for q in range(len(self.moves))]
        entries = [0] * len(self.moves)
        for state, (_, targets) in enumerate(self.moves):
            for target in () if left_out[state] else targets:
                entries[target] += 1
        ready = [0] if not entries[0] and not left_out[0] else []
        seen = 0
        while ready:
            seen += 1
            for target in self.moves[ready.pop()][1]:
                entries[target] -= 1
                if not entries[target] and not left_out[target]:
                    ready.append(target)
        return seen == left_out.count(False)

    def _distances(self) -> dict[int, int]:
        """How many characters each state is away from acceptance."""
        sources: list[set[int]] = [set() for _ in self.moves]
        for state, (_, targets) in enumerate(self.moves):
            for target in targets:
                sources[target].add(state)
        distance = {state: 0 for state, accepting in enumerate(self.accepting) if accepting}
        todo = deque(distance)
        while todo:
            state = todo.popleft()
            for source in sources[state]:
                if source not in distance:
                    distance[source] = distance[state] + 1
                    todo.append(source)
        return distance

    def _walk(self) -> Iterator[str]:
        """The strings of a finite set in code point order."""
        path: list[Iterator[tuple[str, int]]] = [iter([("", 0)])]
        while path:
            step = next(path[-1], None)
            if step is None:
                path.pop()
                continue
            text, state = step
            if self.accepting[state]:
                yield text
            path.append(self._continuations(text, state))

    def _continuations(self, text: str, state: int) -> Iterator[tuple[str, int]]:
        for low, high, target in self._ranges(state):
            if not self.is_constant(target):
                for symbol in range(low, high + 1):
                    yield text + to_char(symbol), target


def _pairs(left: Automaton, right: Automaton, table: int) -> Iterator[tuple[int, int]]:
    """The pairs of states that a common text leads to, as far as the table may still take something."""
    seen = {(0, 0)}
    todo = deque(seen)
    while todo:
        pair = todo.popleft()
        yield pair
        for target in _common_moves(left.moves[pair[0]], right.moves[pair[1]])[1]:
            if target not in seen:
                _check_states(len(seen))
                seen.add(target)
                if _outcome(left, right, target, table) is not False:
                    todo.append(target)


def _outcome(left: Automaton, right: Automaton, pair: tuple[int, int], table: int) -> bool | None:
    """What the table says for every text from this pair of states on; None when that depends on the text."""
    possible = 0b1111
    if left.is_constant(pair[0]):
        possible &= 0b1010 if left.accepting[pair[0]] else 0b0101
    if right.is_constant(pair[1]):
        possible &= 0b1100 if right.accepting[pair[1]] else 0b0011
    taken = possible & table
    return False if not taken else True if taken == possible else None


def _common_moves(left: Moves, right: Moves) -> tuple[list[int], list[tuple[int, int]]]:
    """The moves of a pair of states on their common ranges."""
    starts_left, targets_left = left
    starts_right, targets_right = right
    starts = sorted({*starts_left, *starts_right})
    targets: list[tuple[int, int]] = []
    at_left = at_right = 0
    for start in starts:
        if at_left + 1 < len(starts_left) and starts_left[at_left + 1] == start:
            at_left += 1
        if at_right + 1 < len(starts_right) and starts_right[at_right + 1] == start:
            at_right += 1
        targets.append((targets_left[at_left], targets_right[at_right]))
    return starts, targets


@lru_cache(maxsize=512)
def _product(left: Automaton, right: Automaton, table: int) -> Automaton:
    numbers = {(0, 0): 0}
    order = [(0, 0)]
    settled: dict[bool, int] = {}  # pairs with the same answer for ever are one state
    moves: list[Moves] = []
    for pair in order:  # grows while we go
        starts, targets = _common_moves(left.moves[pair[0]], right.moves[pair[1]])
        for target in targets:
            if target in numbers:
                continue
            outcome = _outcome(left, right, target, table)
            if outcome in settled:
                numbers[target] = settled[outcome]
                continue
            numbers[target] = len(order)
            order.append(target)
            if outcome is not None:
                settled[outcome] = numbers[target]
        _check_states(len(order))
        moves.append((tuple(starts), tuple([numbers[target] for target in targets])))
    accepting = [bool(table >> (left.accepting[p] + 2 * right.accepting[q]) & 1) for p, q in order]
    return Automaton.of(accepting, moves)


def _cuts_automaton(cuts: Cuts) -> tuple[list[bool], list[Moves]]:
    """One state for each beginning of a cut, where the answer is open, and two where it is settled."""
    children: dict[str, set[int]] = {"": set()}
    for cut in cuts:
        for length, char in enumerate(cut):
            children.setdefault(cut[:length], set()).add(to_symbol(ord(char)))
            children.setdefault(cut[: length + 1], set())
        _check_states(len(children))
    numbers = {prefix: number for number, prefix in enumerate(children)}
    settled = len(numbers)
    accepting = [bool(bisect_right(cuts, prefix) & 1) for prefix in children] + [False, True]
    moves: list[Moves] = []
    for prefix, symbols in children.items():
        starts, targets = [0], [settled + (bisect_right(cuts, prefix) & 1)]
        for symbol in sorted(symbols):
            starts.append(symbol)
            targets.append(numbers[prefix + to_char(symbol)])
            if symbol + 1 < SYMBOLS:
                starts.append(symbol + 1)
                targets.append(settled + (bisect_left(cuts, prefix + to_char(symbol + 1)) & 1))
        moves.append(_tidy(starts, targets))
    moves += [((0,), (settled,)), ((0,), (settled + 1,))]
    return accepting, moves


def _tidy(starts: list[int], targets: list[int]) -> Moves:
    """Moves without the ranges that hold nothing."""
    kept = [at for at in range(len(starts)) if starts[at] < (starts[at + 1] if at + 1 < len(starts) else SYMBOLS)]
    return tuple([starts[at] for at in kept]), tuple([targets[at] for at in kept])
