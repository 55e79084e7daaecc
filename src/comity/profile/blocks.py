"""The text form of composite profiles.

    profile hot_and_unventilated
    on Heat h ; not Ventilation v within 5 min
    where h.value > 30 degC and v.room = h.room
    duplicates first
    consume delete

`profile` begins a line. The other clauses come in any order, each at most once. A clause ends where the next one
begins; `where` and `ties`, in which the words of clauses may be attributes, end only at one that begins a line. So a
short profile fits into one line, with `where` last. `#` begins a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from comity.errors import ComityError, Faults, Misuse, Place
from comity.pattern.composite import Composite
from comity.pattern.text.clauses import build_composite
from comity.pattern.text.words import CLAUSES
from comity.profile.profile import Profile, check_name
from comity.profile.spot import Spot

_WORDS = "|".join((*CLAUSES, *(word.upper() for word in CLAUSES)))
# Texts end with their line here, so that a missing quote does not swallow the profiles behind it.
_TOKEN = re.compile(
    r"#[^\n]*"
    r"|'(?:[^'\n]|'')*'"
    r'|"(?:[^"\n]|"")*"'
    r"|`[^`\n]+`"
    rf"|(?P<indent>^[ \t]*)?(?<![\w.\-])(?P<word>{_WORDS})(?![\w\-])",
    re.M,
)
_COMMENT = re.compile(r"#[^\n]*")
_NAME = re.compile(r"[ \t]*(?P<name>[^\s#]*)")
_TO_THE_LINE = ("where", "ties")


def parse_composite(text: str) -> tuple[str, Composite]:
    """The name and the content of the one profile in a text.

    >>> name, composite = parse_composite("profile hot on Heat h where h.value > 30")
    >>> name, composite.pattern, composite.where.text
    ('hot', Operand(name='h', type='Heat'), 'h.value > 30')
    """
    found = parse_composites(text)
    composite = found[0].composite if len(found) == 1 else None
    if composite is None:
        raise Misuse(f"expected one profile, not {len(found)}", code="syntax", hint="it begins with `profile NAME`")
    return found[0].name, composite


def parse_composites(text: str, file: str | None = None) -> list[Profile]:
    """The profiles of a text, in their order; raises `Faults` with everything that is wrong, each with its place."""
    found, faults = scan_composites(text, file)
    if faults:
        raise Faults(faults)
    return found


def scan_composites(text: str, file: str | None = None, begin: int = 0) -> tuple[list[Profile], list[ComityError]]:
    """The good profiles of a text from an index on, and what is wrong with the others."""
    found: list[Profile] = []
    faults: list[ComityError] = []
    lines = _Lines(text, file)
    blocks = list(_blocks(text, begin))
    stray = _first_visible(text, begin, blocks[0].begin if blocks else len(text))
    if stray is not None:
        faults.append(lines.spot(stray).fault("a profile begins with `profile NAME`"))
    for block in blocks:
        profile, wrong = _read(block, lines)
        found += [profile] if profile else []
        faults += wrong
    return found, sorted(faults, key=_line_and_column)


def _line_and_column(error: ComityError) -> tuple[int, int]:
    place = error.place or Place()
    return place.line or 0, place.column or 0


@dataclass(frozen=True, slots=True)
class _Clause:
    """A word that begins a clause, where it stands, and the span of the text behind it."""

    word: str
    begin: int
    text_begin: int
    text_end: int


@dataclass(frozen=True, slots=True)
class _Block:
    """A profile: its name, and its clauses. Indexes are those of the text."""

    begin: int
    name: str
    name_begin: int
    name_end: int
    end: int
    clauses: list[_Clause] = field(default_factory=list)


@dataclass(slots=True)
class _Lines:
    """Gives the spots of a text; it is asked for them mostly in their order, and counts on from the last one."""

    text: str
    file: str | None
    _line: int = 1
    _at: int = 0

    def spot(self, index: int) -> Spot:
        if index < self._at:
            self._line -= self.text.count("\n", index, self._at)
        else:
            self._line += self.text.count("\n", self._at, index)
        self._at = index
        return Spot(self.file, self._line, index - self.text.rfind("\n", 0, index))


def _words(text: str, begin: int) -> Iterator[tuple[str, int, int]]:
    """The words that begin clauses, with their spans; that of `profile` goes on to the end of the name."""
    inside, at = "", begin
    while found := _TOKEN.search(text, at):
        at = found.end()
        word = (found["word"] or "").lower()
        if not word or (found["indent"] is None and (word == "profile" or inside in ("", *_TO_THE_LINE))):
            continue
        if word == "profile":
            name = _NAME.match(text, at)
            assert name is not None, "it matches nothing, too"
            at = name.end()
        inside = word
        yield word, found.start("word"), at


def _blocks(text: str, begin: int) -> Iterator[_Block]:
    """The profiles, split into clauses whose texts are not read yet."""
    block: _Block | None = None
    words = [*_words(text, begin), ("", len(text), len(text))]
    for (word, start, text_begin), (_, end, _) in pairwise(words):
        if word == "profile":
            if block:
                yield block
            name = text[start + len(word) : text_begin].strip()
            block = _Block(start, name, text_begin - len(name), text_begin, end)
        elif block:
            content = text[text_begin:end]
            skipped = len(content) - len(content.lstrip()) if content.strip() else 0
            block.clauses.append(_Clause(word, start, text_begin + skipped, text_begin + len(content.rstrip())))
    if block:
        yield block


def _first_visible(text: str, begin: int, end: int) -> int | None:
    """The index of the first character that is neither space nor in a comment."""
    bare = _COMMENT.sub(lambda comment: " " * len(comment[0]), text[begin:end])
    return begin + len(bare) - len(bare.lstrip()) if bare.strip() else None


def _read(block: _Block, lines: _Lines) -> tuple[Profile | None, list[ComityError]]:
    spot = lines.spot(block.begin)
    faults: list[ComityError] = []
    try:
        check_name(block.name)
    except Misuse as error:
        faults.append(lines.spot(block.name_begin).located(error))
    stray = _first_visible(lines.text, block.name_end, block.end)
    if stray is not None:
        hint = "behind the name comes a clause: on, where, duplicates, consume, limit, ties by, version"
        faults.append(lines.spot(stray).fault("this does not fit here", hint))
    texts: dict[str, str] = {}
    parts: dict[str, Spot] = {}
    for clause in block.clauses:
        if clause.word in texts:
            faults.append(lines.spot(clause.begin).fault(f"there is a second `{clause.word}`"))
            continue
        texts[clause.word] = lines.text[clause.text_begin : clause.text_end]
        parts[clause.word] = lines.spot(clause.text_begin)
    if "on" not in texts:
        faults.append(spot.fault(f"the profile {block.name!r} has no `on`", "write `on` and a pattern: `on Heat h`"))
    composite, wrong = build_composite(texts, lambda error, part: parts.get(part, spot).located(error))
    faults += wrong
    return (None if faults or composite is None else spot.profile(block.name, composite, parts)), faults
