"""Generated asks: types, filters over them, and records that come near to the constants of the filters."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from comity.connect.port import Ask, TypeAsk
from comity.event.event import Event
from comity.event.formats.jsonlines import Rejected, decode
from comity.event.kinds import Kind
from comity.event.taxonomy import Taxonomy
from comity.event.types import EVENT, AttributeType, EventType
from comity.expression.bind import bind_text
from comity.expression.render import render_path
from comity.expression.scope import Scope
from comity.expression.tree import Expression
from comity.language.ask import JointAsk, Want, asked_of_source
from comity.language.language import Language
from comity.testing.filters import Tests, filters, flag_tests, number_tests, struct_tests, text_tests
from comity.testing.samples import values

END = "conformance.End"
"""The type of the record behind all others, which everybody asks for."""

_INNER = {"n": AttributeType(Kind.INT), "w": AttributeType(Kind.STRING, optional=True)}
_NEAR: Mapping[Kind, SearchStrategy[Any]] = {
    Kind.INT: st.integers(-4, 4) | values(Kind.INT),
    Kind.FLOAT: st.sampled_from([-2.5, -1.0, 0.0, 0.5, 1, 2, 2.5, 3, 2**53 + 1]) | values(Kind.FLOAT),
    Kind.STRING: st.sampled_from(["", "a", "b", "ab", "ba", "aa", "aba", "abab"]) | values(Kind.STRING),
    Kind.BOOL: st.booleans(),
}
_TESTS: Mapping[Kind, Callable[[str], SearchStrategy[str]]] = {
    Kind.INT: cache(number_tests),
    Kind.FLOAT: cache(number_tests),
    Kind.STRING: cache(text_tests),
    Kind.BOOL: cache(flag_tests),
    Kind.STRUCT: cache(struct_tests),
}
_NAMES = ("x", "y", "room", "note", "In", "größe")


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A type, what some profiles want of its events, and records: the last one is of type `END`."""

    type: EventType
    wants: tuple[tuple[Want, ...], ...]
    """For each ask in turn, what the profiles want."""
    lines: tuple[bytes, ...]

    def asks(self, language: Language) -> list[JointAsk]:
        """What a source with this language is asked for, in turn."""
        return [asked_of_source(wants, language, type=self.type) for wants in self.wants]

    def events(self) -> list[Event]:
        """The records but the last one, as Comity reads them."""
        found = [decode(line, Taxonomy("conformance", [self.type])) for line in self.lines[:-1]]
        assert not any(isinstance(one, Rejected) for one in found)
        return [one for one in found if isinstance(one, Event)]

    def as_ask(self, joint: JointAsk, attributes: tuple[str, ...] | None = None) -> Ask:
        """What the source is opened with."""
        native = None if joint.asks_for_everything else joint.text
        own = () if joint.asks_for_nothing else (TypeAsk(self.type.qualified_name, native, attributes),)
        return Ask((*own, TypeAsk(END)))


def inquiries(*, asks: int = 1, max_records: int = 12) -> SearchStrategy[Inquiry]:
    """So many asks in turn, each on behalf of one to three profiles, and records for them."""
    return _types().flatmap(lambda type: _about(type, asks, max_records))


def _about(type: EventType, asks: int, max_records: int) -> SearchStrategy[Inquiry]:
    tests: Tests = {(name,): _TESTS[one.kind](render_path((name,))) for name, one in type.attributes.items()}
    some = filters(tests, 3 * asks, max_leaves=4).map(lambda texts: [_bound(text, type) for text in texts])
    counts = st.lists(st.integers(1, 3), min_size=asks, max_size=asks)
    records = st.lists(_data(type.attributes), min_size=1, max_size=max_records)
    return st.builds(lambda trees, sizes, data: _inquiry(type, trees, sizes, data), some, counts, records)


def _bound(text: str, type: EventType) -> Expression:
    return bind_text(text, Scope(type=type, taxonomy=Taxonomy("conformance", [type])))


def _inquiry(type: EventType, trees: list[Expression], sizes: list[int], data: list[dict[str, Any]]) -> Inquiry:
    left = iter(trees)
    wants = tuple(tuple(Want(f"p{at}", next(left)) for at in range(size)) for size in sizes)
    lines = [_line(str(at), type.qualified_name, one) for at, one in enumerate(data)]
    return Inquiry(type, wants, (*lines, _line("end", END, {})))


def _line(id: str, type: str, data: dict[str, Any]) -> bytes:
    event = {"specversion": "1.0", "id": id, "source": "/conformance", "type": type, "time": "2026-11-15T18:00:00Z"}
    return json.dumps({**event, "data": data}).encode()


@st.composite
def _types(draw: st.DrawFn) -> EventType:
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=4, unique=True))
    return EventType("Reading", "conformance", EVENT, own={name: _attribute(draw) for name in names})


def _attribute(draw: st.DrawFn) -> AttributeType:
    kind = draw(st.sampled_from(sorted(_TESTS)))
    return AttributeType(kind, optional=draw(st.booleans()), attributes=_INNER if kind is Kind.STRUCT else {})


def _data(attributes: Mapping[str, AttributeType]) -> SearchStrategy[dict[str, Any]]:
    drawn = {
        name: _data(one.attributes) if one.kind is Kind.STRUCT else _NEAR[one.kind] for name, one in attributes.items()
    }
    mandatory = {name: one for name, one in drawn.items() if not attributes[name].optional}
    return st.fixed_dictionaries(
        mandatory, optional={name: one for name, one in drawn.items() if name not in mandatory}
    )
