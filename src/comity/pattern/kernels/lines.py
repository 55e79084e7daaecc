"""From reports as columns to their identities and lines, without an object for any of them.

Texts are in arrays of bytes with the places where each begins, and the end of the last. None of them needs an escape in
JSON, and all times are in the calendar: whoever calls has looked. `members` of a report are the events in it, in their
order; operands are written in the order of their names, `by_rank` says which these are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from comity.compiled import inlined, kernel
from comity.pattern.kernels.digest import digest

_QUOTE, _COMMA, _OPEN, _CLOSE, _BRACE = ord('"'), ord(","), ord("["), ord("]"), ord("}")
_DAY_US = 86_400_000_000
_ZERO = ord("0")


class ReportTexts(NamedTuple):
    """What stands in the lines of a pattern's reports."""

    texts: Any
    profile: Any
    """By pattern: where its name begins among the texts, and where it ends; in quotes."""
    versions: Any
    by_rank: Any
    """By pattern and rank: an operand, or -1."""
    operand: Any
    """By pattern and rank: where the text of an operand begins, and where it ends; in quotes, with a colon."""
    is_collected: Any


class Members(NamedTuple):
    """The events of reports."""

    offsets: Any
    """By report, its first member; and the number of members."""
    operand: Any
    sources: Any
    source_at: Any
    ids: Any
    id_at: Any


class Lines(NamedTuple):
    """What is made."""

    ids: Any
    texts: Any
    places: Any
    """By report, where its line begins; and the end of the last."""
    content: Any
    """Scratch: what the identity is the digest of."""
    words: Any
    order: Any
    """Scratch: the members of a report, sorted."""


@inlined
def put(texts: Any, begin: Any, end: Any, out: Any, at: Any) -> Any:
    """Copies a text; gives the place behind it."""
    for place in range(begin, end):
        out[at] = texts[place]
        at += 1
    return at


@inlined
def put_quoted(texts: Any, begin: Any, end: Any, out: Any, at: Any) -> Any:
    """Copies a text in quotes."""
    out[at] = _QUOTE
    at = put(texts, begin, end, out, at + 1)
    out[at] = _QUOTE
    return at + 1


@inlined
def put_digits(number: Any, digits: Any, out: Any, at: Any) -> Any:
    """Writes a number with so many digits."""
    for place in range(digits):
        out[at + digits - 1 - place] = _ZERO + number % 10
        number //= 10
    return at + digits


@inlined
def put_number(number: Any, out: Any, at: Any) -> Any:
    """Writes a number."""
    if number < 0:
        out[at] = ord("-")
        at += 1
        number = -number
    digits, rest = 1, number // 10
    while rest > 0:
        digits += 1
        rest //= 10
    return put_digits(number, digits, out, at)


@inlined
def put_moment(time_us: Any, out: Any, at: Any) -> Any:
    """Writes a time as RFC 3339 has it, in quotes; microseconds only if there are any."""
    day, rest = time_us // _DAY_US, time_us % _DAY_US
    # From days since 1970 to a date of the proleptic calendar, in years that begin in March.
    since = day + 719_468
    era = since // 146_097
    of_era = since - era * 146_097
    year_of_era = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    day_of_month = of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    out[at] = _QUOTE
    at = put_digits(year, 4, out, at + 1)
    out[at] = ord("-")
    at = put_digits(month, 2, out, at + 1)
    out[at] = ord("-")
    at = put_digits(day_of_month, 2, out, at + 1)
    out[at] = ord("T")
    at = put_digits(rest // 3_600_000_000, 2, out, at + 1)
    out[at] = ord(":")
    at = put_digits(rest // 60_000_000 % 60, 2, out, at + 1)
    out[at] = ord(":")
    at = put_digits(rest // 1_000_000 % 60, 2, out, at + 1)
    if rest % 1_000_000 != 0:
        out[at] = ord(".")
        at = put_digits(rest % 1_000_000, 6, out, at + 1)
    out[at] = ord("Z")
    out[at + 1] = _QUOTE
    return at + 2


@inlined
def compared(texts: Any, at: Any, one: Any, other: Any) -> Any:
    """Negative, zero or positive, as a text is before another one, equal to it, or behind it."""
    first, second = at[one], at[other]
    while first < at[one + 1] and second < at[other + 1]:
        difference = np.int64(texts[first]) - np.int64(texts[second])
        if difference != 0:
            return difference
        first += 1
        second += 1
    return (at[one + 1] - first) - (at[other + 1] - second)


@inlined
def compared_members(members: Any, one: Any, other: Any) -> Any:
    """The same for events, by source and id."""
    found = compared(members.sources, members.source_at, one, other)
    return found if found != 0 else compared(members.ids, members.id_at, one, other)


@inlined
def put_identities(members: Any, begin: Any, end: Any, order: Any, out: Any, at: Any) -> Any:
    """Writes source and id of each event once, in order."""
    count = 0
    for member in range(begin, end):
        place = count
        while place > 0 and compared_members(members, order[place - 1], member) > 0:
            order[place] = order[place - 1]
            place -= 1
        order[place] = member
        count += 1
    out[at] = _OPEN
    at += 1
    for place in range(count):
        member = order[place]
        if place > 0:
            if compared_members(members, order[place - 1], member) == 0:
                continue
            out[at] = _COMMA
            at += 1
        out[at] = _OPEN
        at = put_quoted(members.sources, members.source_at[member], members.source_at[member + 1], out, at + 1)
        out[at] = _COMMA
        at = put_quoted(members.ids, members.id_at[member], members.id_at[member + 1], out, at + 1)
        out[at] = _CLOSE
        at += 1
    out[at] = _CLOSE
    return at + 1


@inlined
def put_events(names: Any, pattern: Any, members: Any, begin: Any, end: Any, out: Any, at: Any) -> Any:
    """Writes the id of each operand's event, or the ids that it collected."""
    is_first = True
    for rank in range(names.by_rank.shape[1]):
        operand = names.by_rank[pattern, rank]
        is_collected = names.is_collected[pattern, rank] != 0
        found = 0
        for member in range(begin, end):
            if operand < 0 or members.operand[member] != operand:
                continue
            if found == 0:
                if not is_first:
                    out[at] = _COMMA
                    at += 1
                is_first = False
                at = put(names.texts, names.operand[pattern, rank, 0], names.operand[pattern, rank, 1], out, at)
            if is_collected:
                out[at] = _OPEN if found == 0 else _COMMA
                at += 1
            at = put_quoted(members.ids, members.id_at[member], members.id_at[member + 1], out, at)
            found += 1
        if is_collected and found > 0:
            out[at] = _CLOSE
            at += 1
    return at


@kernel
def write_lines(keys: Any, names: Any, members: Any, patterns: Any, starts: Any, ends: Any, lines: Any) -> Any:
    """Writes identities and lines of all reports; `keys` are the texts of what stands between, one behind the other.

    Gives how many bytes the lines have.
    """
    texts, key_at = keys
    out, content = lines.texts, lines.content
    at = 0
    for report in range(len(patterns)):
        pattern = patterns[report]
        begin, end = members.offsets[report], members.offsets[report + 1]
        head, tail = names.profile[pattern, 0], names.profile[pattern, 1]

        content[0] = _OPEN
        size = put(names.texts, head, tail, content, 1)
        content[size] = _COMMA
        size = put_number(names.versions[pattern], content, size + 1)
        content[size] = _COMMA
        size = put_number(starts[report], content, size + 1)
        content[size] = _COMMA
        size = put_number(ends[report], content, size + 1)
        content[size] = _COMMA
        size = put_identities(members, begin, end, lines.order, content, size + 1)
        content[size] = _CLOSE
        digest(content, size + 1, lines.words, lines.ids, 16 * report)

        lines.places[report] = at
        at = put(texts, key_at[0], key_at[1], out, at)
        at = put(names.texts, head, tail, out, at)
        at = put(texts, key_at[1], key_at[2], out, at)
        for byte in range(16):
            for half in range(2):
                digit = (lines.ids[16 * report + byte] >> (4 - 4 * half)) & 15
                out[at] = _ZERO + digit if digit < 10 else ord("a") - 10 + digit
                at += 1
        at = put(texts, key_at[2], key_at[3], out, at)
        at = put_moment(starts[report], out, at)
        at = put(texts, key_at[3], key_at[4], out, at)
        at = put_moment(ends[report], out, at)
        at = put(texts, key_at[4], key_at[5], out, at)
        at = put_events(names, pattern, members, begin, end, out, at)
        out[at] = _BRACE
        out[at + 1] = _BRACE
        out[at + 2] = ord("\n")
        at += 3
    lines.places[len(patterns)] = at
    return at
