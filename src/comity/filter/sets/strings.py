"""Exact sets of strings in code point order: unions of intervals where that is enough, automata where it is not."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache

from comity.expression.like import Wildcard, like_to_regex, like_tokens
from comity.expression.regex.parse import parse_regex
from comity.expression.regex.tree import ANY_RUN, Concatenation, Regex, literal
from comity.filter.sets import cuts as lines
from comity.filter.sets.automaton import Automaton
from comity.filter.sets.cuts import DIFFERENCE, INTERSECTION, UNION, Cuts
from comity.filter.sets.symbols import after_prefix

_MAX_CUTS_FROM_AUTOMATON = 256  # steps that an automaton may take to be written as intervals
_MAX_TESTED = 4096  # strings of a finite set that are tested one by one rather than put in an automaton


class StringSet:
    r"""A set of strings.

    An interval holds its lower end and not its upper one, which is no loss: the string next to s is s + "\0", so
    `x > s` begins there and `x <= s` ends there. The empty string is the least cut. A set that takes more than that
    holds an automaton instead; one that an operation makes simple again goes back to intervals, so equal sets compare
    equal unless one of them is an automaton of very many intervals; then both cover each other.

    >>> words = StringSet.prefix("ab").intersect(StringSet.suffix("z"))
    >>> words.contains("abz"), words.covers(StringSet.of(["abz", "abbz"])), words.sample()
    (True, True, 'abz')
    """

    __slots__ = ("_automaton", "_cuts")

    def __init__(self, cuts: Cuts | None, automaton: Automaton | None = None) -> None:
        """Takes a normal form as it is; use the constructors below."""
        self._cuts = cuts
        self._automaton = automaton

    @classmethod
    def all(cls) -> StringSet:
        """Every string."""
        return _ALL

    @classmethod
    def none(cls) -> StringSet:
        """No string."""
        return _NONE

    @classmethod
    def of(cls, strings: Iterable[str]) -> StringSet:
        """Just these strings."""
        cuts: list[str] = []
        for text in sorted(set(strings)):
            if cuts and cuts[-1] == text:
                cuts.pop()
            else:
                cuts.append(text)
            cuts.append(text + "\0")
        return cls(tuple(cuts))

    @classmethod
    def compare(cls, operator: str, text: str) -> StringSet:
        r"""The strings that stand in the relation `= != < <= > >=` to a text.

        >>> StringSet.compare(">", "a").intersect(StringSet.compare("<", "a\0")).is_empty
        True
        """
        below = ("", text) if text else ()
        up_to = ("", text + "\0")
        if operator in ("<", ">="):
            found = cls(below)
            return found if operator == "<" else found.complement()
        if operator in ("<=", ">"):
            return cls(up_to) if operator == "<=" else cls((text + "\0",))
        return cls.of([text]) if operator == "=" else cls.of([text]).complement()

    @classmethod
    def prefix(cls, text: str) -> StringSet:
        """The strings that begin with the text."""
        end = after_prefix(text)
        return cls((text,) if end is None else (text, end))

    @classmethod
    def suffix(cls, text: str) -> StringSet:
        """The strings that end with the text."""
        return _of_regex(Concatenation((ANY_RUN, literal(text)))) if text else _ALL

    @classmethod
    def containing(cls, text: str) -> StringSet:
        """The strings in which the text stands somewhere."""
        return _of_regex(Concatenation((ANY_RUN, literal(text), ANY_RUN))) if text else _ALL

    @classmethod
    def like(cls, pattern: str) -> StringSet:
        """The strings that a LIKE pattern matches."""
        match like_tokens(pattern):
            case (str(text), Wildcard.RUN):
                return cls.prefix(text)
            case (str(text),):
                return cls.of([text])
        return _of_regex(like_to_regex(pattern))

    @classmethod
    def matching(cls, regex: str | Regex) -> StringSet:
        """The strings that a regular expression matches as a whole."""
        return _of_regex(parse_regex(regex) if isinstance(regex, str) else regex)

    @classmethod
    def of_automaton(cls, automaton: Automaton) -> StringSet:
        """The strings that an automaton accepts."""
        cuts = automaton.as_cuts(_MAX_CUTS_FROM_AUTOMATON)
        return cls(cuts, automaton if cuts is None else None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StringSet):
            return NotImplemented
        if self._cuts is None or other._cuts is None:
            return self._cuts is other._cuts and self._automaton == other._automaton
        return self._cuts == other._cuts

    def __hash__(self) -> int:
        return hash(self._automaton if self._cuts is None else self._cuts)

    def __repr__(self) -> str:
        if self._cuts is None:
            return f"StringSet({self._automaton!r})"
        return f"StringSet{self._cuts!r}"

    # Operations

    def union(self, other: StringSet) -> StringSet:
        """The strings in either."""
        if self._cuts is not None and other._cuts is not None:
            if self._cuts == other._cuts or not other._cuts:
                return self
            return StringSet(lines.combine(self._cuts, other._cuts, UNION)) if self._cuts else other
        if self.is_empty or other.is_full or other is self:
            return other
        if other.is_empty or self.is_full:
            return self
        return StringSet.of_automaton(self.automaton().union(other.automaton()))

    def intersect(self, other: StringSet) -> StringSet:
        """The strings in both."""
        if self._cuts is not None and other._cuts is not None:
            return StringSet(lines.intersection(self._cuts, other._cuts))
        if self.is_empty or other.is_full or other is self:
            return self
        if other.is_empty or self.is_full:
            return other
        for few, rest in ((self, other), (other, self)):
            if (members := few._tested_members()) is not None:
                return StringSet.of(filter(rest.contains, members))
        return StringSet.of_automaton(self.automaton().intersect(other.automaton()))

    def difference(self, other: StringSet) -> StringSet:
        """The strings in this one only."""
        if self._cuts is not None and other._cuts is not None:
            return StringSet(lines.combine(self._cuts, other._cuts, DIFFERENCE))
        if self.is_full:
            return other.complement()
        return self if other.is_empty else self.intersect(other.complement())

    def complement(self) -> StringSet:
        """All other strings."""
        if self._cuts is not None:
            return StringSet(lines.complement(self._cuts, ""))
        return StringSet(None, self.automaton().complement())

    # Questions

    @property
    def is_empty(self) -> bool:
        return self._cuts == ()

    @property
    def is_full(self) -> bool:
        return self._cuts == ("",)

    def __contains__(self, text: str) -> bool:
        return self.contains(text)

    def contains(self, text: str) -> bool:
        """Whether the string is in the set."""
        if self._cuts is not None:
            return bool(bisect_right(self._cuts, text) & 1)
        return self.automaton().accepts(text)

    def covers(self, other: StringSet) -> bool:
        """Whether every string of the other set is in this one."""
        if self._cuts is not None and other._cuts is not None:
            return lines.within(other._cuts, self._cuts)
        if self.is_full or other.is_empty or self is other:
            return True
        if self.is_empty or other.is_full:
            return False  # the other one holds an automaton, which is neither empty nor full
        members = other._tested_members()
        if members is not None:
            return all(map(self.contains, members))
        return self.automaton().covers(other.automaton())

    def overlaps(self, other: StringSet) -> bool:
        """Whether some string is in both."""
        if self._cuts is not None and other._cuts is not None:
            return bool(lines.intersection(self._cuts, other._cuts))
        for few, rest in ((self, other), (other, self)):
            if (members := few._tested_members()) is not None:
                return any(map(rest.contains, members))
        return self.automaton().meets(other.automaton(), INTERSECTION)

    @property
    def is_interval_union(self) -> bool:
        """Whether the set is held as intervals; then `intervals` gives them."""
        return self._cuts is not None

    def intervals(self) -> Iterator[tuple[str, str | None]]:
        """The intervals of a set that is held as such: the lower end is in, the upper one is not, None is no end."""
        if self._cuts is None:
            raise ValueError("the set is no union of intervals")
        for at in range(0, len(self._cuts), 2):
            yield self._cuts[at], self._cuts[at + 1] if at + 1 < len(self._cuts) else None

    @property
    def is_finite(self) -> bool:
        """Whether the set holds finitely many strings."""
        if self._cuts is not None:
            return all(_is_run(low, high) for low, high in self.intervals())
        return self.automaton().is_finite

    def members(self, most: int = 1000) -> tuple[str, ...] | None:
        """The strings of the set in their order; None when there are more than `most`.

        >>> StringSet.matching("a[b-d]?").members()
        ('a', 'ab', 'ac', 'ad')
        """
        if self._cuts is None:
            return self.automaton().members(most)
        if len(self._cuts) > 2 * most or not self.is_finite:
            return None
        runs = [(low, len(high) - len(low)) for low, high in self.intervals() if high is not None]
        if sum(count for _, count in runs) > most:
            return None
        return tuple(low + "\0" * count for low, counts in runs for count in range(counts))

    def _tested_members(self) -> tuple[str, ...] | None:
        return self.members(_MAX_TESTED) if self._cuts is not None else None

    def sample(self) -> str:
        """A member that is easy to read."""
        if self._cuts is None:
            shortest = self.automaton().shortest()
            assert shortest is not None  # an empty automaton is held as intervals
            return shortest
        if not self._cuts:
            raise ValueError("an empty set has no member")
        return next(filter(self.contains, _plain_strings(self._cuts)), self._cuts[0])

    def automaton(self) -> Automaton:
        """The set as an automaton; may raise `TooLarge`."""
        if self._automaton is None:
            assert self._cuts is not None
            self._automaton = Automaton.of_cuts(self._cuts)
        return self._automaton


def _is_run(low: str, high: str | None) -> bool:
    r"""Whether only finitely many strings, low, low\0, low\0\0 and so on, lie below high."""
    return high is not None and high.startswith(low) and not high[len(low) :].strip("\0")


def _plain_strings(cuts: Cuts) -> Iterator[str]:
    """Readable strings near the lower ends."""
    yield "a"
    for low in cuts[::2][:50]:
        if low and low.isprintable():
            yield low
        stem = low.rstrip("\0")
        for end in "a0A!~":
            yield stem + end
            yield stem[:-1] + end
    yield ""


@lru_cache(maxsize=1024)
def _of_regex(regex: Regex) -> StringSet:
    return StringSet.of_automaton(Automaton.of_regex(regex))


_ALL, _NONE = StringSet(("",)), StringSet(())
