"""Generated types, mappings between them, filters on their targets, and events for these, placed at the edges.

A mapping is made of features: each brings attributes of its own to both types, and the expressions between them.
Together they use everything that mappings can say: what keeps everything and what loses something.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from hypothesis import strategies as st

from comity.contract.collide import trial_events
from comity.contract.mapping import Mapping, read_mapping
from comity.contract.sample import beside, changed
from comity.event.event import Event
from comity.event.kinds import INT_MAX, Kind, kind_of
from comity.event.taxonomy import Taxonomy
from comity.event.types import ENVELOPE_NAME, EVENT, AttributeType, EventType
from comity.expression.bind import bind_text
from comity.expression.scope import Scope
from comity.expression.tree import (
    Attribute,
    Between,
    Compare,
    Expression,
    In,
    Literal,
    walk,
)
from comity.testing.expressions import SAMPLE, events, value_expressions
from comity.testing.expressions import filters as sample_filters
from comity.testing.texts import Declared, filter_text, paths_of

_UNITS = (("degC", "degF", "kelvin"), ("km", "m", "mile"))
_TABLES: dict[str, dict[Any, Any]] = {
    "levels": {"low": 1, "high": 3, "": 2},
    "same": {"a": 1, "ab": 1, "b": 2},
    "names": {"low": "niedrig", "high": "hoch", "a": "b"},
}


@dataclass(slots=True)
class MappingDraft:
    """A mapping while it is made."""

    chance: Random
    source: dict[str, AttributeType] = field(default_factory=dict)
    target: dict[str, AttributeType] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def takes(self, kind: Kind, **more: Any) -> str:
        """A new attribute of the source, mandatory or not."""
        name = f"{kind.value}_{len(self.source)}"
        self.source[name] = AttributeType(kind, more.pop("optional", self.chance.random() < 0.4), **more)
        return name

    def gives(self, kind: Kind, text: str, **more: Any) -> str:
        """A new attribute of the target, made from an expression."""
        name = f"{kind.value}_to_{len(self.target)}"
        self.target[name] = AttributeType(kind, more.pop("optional", self.chance.random() < 0.6), **more)
        self.texts[name] = text
        return name

    def one_of(self, *texts: str) -> str:
        return self.chance.choice(texts)


def _renamed(draft: MappingDraft) -> None:
    kind = draft.chance.choice([kind for kind in Kind if kind not in (Kind.STRUCT, Kind.LIST)])
    draft.gives(kind, draft.takes(kind))


def _counted(draft: MappingDraft) -> None:
    n = draft.takes(Kind.INT)
    draft.gives(Kind.INT, draft.one_of(f"{n} + 5", f"10 - {n}", f"{n} * 3 - 1", f"-{n}", f"2 * {n}", f"{n} % 3"))


def _measured(draft: MappingDraft) -> None:
    group = draft.chance.choice(_UNITS)
    kind = draft.chance.choice((Kind.FLOAT, Kind.FLOAT, Kind.INT))
    name = draft.takes(kind, unit=draft.chance.choice(group))
    draft.gives(Kind.FLOAT, name, unit=draft.chance.choice(group))


def _scaled(draft: MappingDraft) -> None:
    x = draft.takes(draft.chance.choice((Kind.FLOAT, Kind.INT)))
    draft.gives(
        Kind.FLOAT,
        draft.one_of(x, f"{x} * 2.5 + 1", f"{x} / 3", f"1 - {x} * 0.1", f"{x} * 4.0", f"{x} / 8", f"{x} * 0.3"),
    )


def _rounded(draft: MappingDraft) -> None:
    x = draft.takes(Kind.FLOAT)
    draft.gives(Kind.INT, draft.one_of(f"floor({x})", f"ceil({x} * 10)", f"int({x})", f"floor(abs({x}))"))


def _looked_up(draft: MappingDraft) -> None:
    key = draft.takes(Kind.STRING)
    kind, text = draft.chance.choice(
        (
            (Kind.INT, f"lookup('levels', {key})"),
            (Kind.INT, f"lookup('same', {key})"),
            (Kind.STRING, f"lookup('names', {key})"),
            (Kind.FLOAT, f"lookup('levels', {key}) * 0.5"),
        )
    )
    draft.gives(kind, text)


def _joined(draft: MappingDraft) -> None:
    whole = draft.one_of(
        "{a} + ', ' + {b}",
        "'no. ' + {a}",
        "{a} + ' end'",
        "text({n}) + ' ' + {a}",
        "{a} + '/' + text({n})",
        "text({n}) + '-' + {a}",
        "{a} + '2' + text({n})",
        "lookup('names', {a}) + ':' + {b}",
        "{a} + {b}",
        "{a} + text({n}) + ' ' + {b}",
    )
    kinds = {"a": Kind.STRING, "b": Kind.STRING, "n": Kind.INT}
    names = {name: draft.takes(kind) for name, kind in kinds.items() if f"{{{name}}}" in whole}
    draft.gives(Kind.STRING, whole.format(**names))
    if draft.chance.random() < 0.4:
        draft.gives(Kind.STRING, names["a"])


def _taken_apart(draft: MappingDraft) -> None:
    whole = draft.takes(Kind.STRING)
    first, second = draft.chance.choice(
        (
            (f"before({whole}, ', ')", f"after({whole}, ', ')"),
            (f"before_last({whole}, ', ')", f"after_last({whole}, ', ')"),
            (f"substring({whole}, 1, 2)", f"substring({whole}, 3)"),
            (f"before({whole}, ', ')", f"after_last({whole}, ', ')"),
        )
    )
    is_optional = draft.chance.random() < 0.3
    draft.gives(Kind.STRING, first, optional=is_optional)
    draft.gives(Kind.STRING, second, optional=is_optional)


def _spelled(draft: MappingDraft) -> None:
    kind = draft.chance.choice((Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.TIMESTAMP))
    draft.gives(Kind.STRING, f"text({draft.takes(kind)})")


def _folded(draft: MappingDraft) -> None:
    text = draft.takes(Kind.STRING)
    draft.gives(
        Kind.STRING, draft.one_of(f"lower({text})", f"upper({text})", f"trim({text})", f"replace({text}, 'a', 'b')")
    )


def _flagged(draft: MappingDraft) -> None:
    flag = draft.takes(Kind.BOOL)
    kind, text = draft.chance.choice(
        (
            (Kind.STRING, f"if {flag} then 'yes' else 'no'"),
            (Kind.BOOL, f"(not {flag})"),
            (Kind.INT, f"if {flag} = true then 1 else if {flag} = false then 0 else 1"),
            (Kind.STRING, f"if {flag} then 'yes' else 'yes'"),
        )
    )
    draft.gives(kind, text)


def _chosen(draft: MappingDraft) -> None:
    x, how = draft.takes(Kind.FLOAT), draft.takes(Kind.STRING)
    n = draft.takes(Kind.INT)
    kind, text = draft.chance.choice(
        (
            (Kind.FLOAT, f"if {how} = 'a' then {x} * 2 else {x} - 32"),
            (Kind.FLOAT, f"if exists {how} then {x} else 1"),
            (Kind.INT, f"if {n} < 100 then {n} * 2 else {n} + 1000"),
            (Kind.INT, f"if {n} < 100 then {n} else 7"),
            (Kind.FLOAT, f"if event.time < 2024-01-01T00:00:00Z then {x} * 1.5 else {x} * 1.25"),
            (Kind.FLOAT, f"coalesce({x}, 1.5)"),
            (Kind.INT, f"if {x} > 200 then 3 else if {x} > 140 then 2 else 1"),
        )
    )
    draft.gives(kind, text)
    draft.gives(Kind.STRING, how)


def _structured(draft: MappingDraft) -> None:
    inner = {
        "town": AttributeType(Kind.STRING, draft.chance.random() < 0.5),
        "number": AttributeType(Kind.INT, draft.chance.random() < 0.5),
    }
    match draft.chance.randrange(3):
        case 0:
            name = draft.takes(Kind.STRUCT, attributes=inner)
            draft.gives(Kind.STRUCT, name, attributes=inner)
        case 1:
            name = draft.takes(Kind.STRUCT, attributes=inner)
            draft.gives(Kind.STRING, f"{name}.town")
            draft.gives(Kind.INT, f"{name}.number")
        case _:
            made = draft.gives(Kind.STRUCT, "", attributes=inner)
            del draft.texts[made]
            draft.texts[f"{made}.town"] = draft.takes(Kind.STRING)
            draft.texts[f"{made}.number"] = f"{draft.takes(Kind.INT)} + 1"


def _placed(draft: MappingDraft) -> None:
    if draft.chance.random() < 0.5:
        draft.gives(Kind.POINT, f"point({draft.takes(Kind.FLOAT)}, {draft.takes(Kind.INT)})")
    else:
        place = draft.takes(Kind.POINT)
        draft.gives(Kind.FLOAT, f"{place}.x")
        draft.gives(Kind.FLOAT, f"{place}.y * 2")


def _timed(draft: MappingDraft) -> None:
    start, span = draft.takes(Kind.TIMESTAMP), draft.takes(Kind.DURATION)
    kind, text = draft.chance.choice(
        (
            (Kind.TIMESTAMP, f"{start} + {span}"),
            (Kind.TIMESTAMP, f"{start} - 1 h"),
            (Kind.FLOAT, f"{span} / 1 min"),
            (Kind.DURATION, f"{span} * 3"),
            (Kind.DURATION, f"{span} / 3"),
            (Kind.INT, f"year({start})"),
        )
    )
    draft.gives(kind, text)
    if draft.chance.random() < 0.7:
        draft.gives(Kind.TIMESTAMP, start)


def _added(draft: MappingDraft) -> None:
    draft.gives(Kind.STRING, draft.one_of("'12 Main Street'", "event.source", "event.type"))


FEATURES = (
    *(_renamed, _counted, _measured, _scaled, _rounded, _looked_up, _joined, _taken_apart, _spelled, _folded),
    *(_flagged, _chosen, _structured, _placed, _timed, _added),
)


def drafted_mapping(chance: Random) -> Mapping:
    """A mapping of one to four features.

    >>> found = drafted_mapping(Random(1))
    >>> found.source.qualified_name, found.target.qualified_name
    ('plant.Reading', 'shared.Common')
    """
    draft = MappingDraft(chance)
    for feature in chance.choices(FEATURES, k=chance.choice((1, 1, 1, 2, 3, 4))):
        feature(draft)
    if chance.random() < 0.2:
        draft.takes(Kind.INT)
    source = EventType("Reading", "plant", EVENT, own=draft.source)
    target = EventType("Common", "shared", EVENT, own=draft.target)
    mapping, faults = read_mapping(draft.texts, Scope(source, Taxonomy("plant", [source]), _TABLES), target)
    assert not faults, faults
    return mapping


def mappings() -> st.SearchStrategy[Mapping]:
    """Mappings of a few features, named by the seed of their making so that a failing one can be made again."""
    return st.integers(0, 2**32 - 1).map(lambda seed: drafted_mapping(Random(seed)))


_COPY = EventType(
    "Copy", "shared", EVENT, own={name: declared.as_optional() for name, declared in SAMPLE.attributes.items()}
)


def sample_mappings() -> st.SearchStrategy[Mapping]:
    """Mappings from `SAMPLE` to a type with the same attributes, of any expressions at all."""
    single = [(name, declared.kind) for name, declared in _COPY.attributes.items()]
    each = {(name,): value_expressions(kind, 1) for name, kind in single if kind not in (Kind.STRUCT, Kind.LIST)}
    whole = {(name,): st.just(Attribute((name,))) for name, kind in single if kind in (Kind.STRUCT, Kind.LIST)}
    made = st.fixed_dictionaries({}, optional={**each, **whole})
    return made.map(lambda found: Mapping(SAMPLE, _COPY, tuple(found.items())))


def filters_for(mapping: Mapping) -> st.SearchStrategy[Expression]:
    """Filters on the target of a mapping."""
    if mapping.target == _COPY:
        return sample_filters()
    target = mapping.target
    paths = paths_of({name: _declared(one) for name, one in target.attributes.items()})
    scope = Scope(target, Taxonomy(target.namespace, [target]))
    texts = st.integers(0, 2**32 - 1).map(lambda seed: filter_text(Random(seed), paths, (target.name,)))
    return texts.map(lambda text: bind_text(text, scope))


def _declared(one: AttributeType) -> Declared:
    found: Declared = {"kind": one.kind.value, "optional": one.optional}
    if one.unit:
        found["unit"] = "km" if one.unit == "mile" else one.unit
    if one.attributes:
        found["attributes"] = {name: _declared(inner) for name, inner in one.attributes.items()}
    return found


def events_for(mapping: Mapping) -> st.SearchStrategy[Event]:
    """Events of the source type: any, and those that are likely to show what the mapping loses."""
    if mapping.source == SAMPLE:
        return events()
    return st.one_of(events(mapping.source), st.sampled_from(trial_events(mapping)))


def edge_events(tree: Expression, event: Event, type: EventType, most: int = 20) -> Iterator[Event]:
    """The event with other values: those beside the constants with which a filter compares its attributes."""
    found = [
        event.replace(data=changed(event.data, path, value))
        for path, constant in _compared(tree)
        if (declared := _settable(type, path)) is not None
        for value in _in_kind(beside(constant), declared.kind)
    ]
    step = max(1, len(found) // most)
    yield from found[::step][:most]


def _settable(type: EventType, path: tuple[str, ...]) -> AttributeType | None:
    """The declaration of an attribute that can be given another value: not of the envelope, nor a coordinate."""
    around = [type.attribute_at(path[:end]) for end in range(1, len(path))]
    inside_structs = all(one is not None and one.kind is Kind.STRUCT for one in around)
    return type.attribute_at(path) if path[0] != ENVELOPE_NAME and inside_structs else None


def _in_kind(some: Iterator[Any], kind: Kind) -> Iterator[Any]:
    """The values of the kind; ints become floats where these are wanted."""
    for value in some:
        if kind_of(value) is Kind.INT and kind is Kind.FLOAT and abs(value) <= INT_MAX:
            yield float(value)
        elif kind_of(value) is kind:
            yield value


def _compared(tree: Expression) -> Iterator[tuple[tuple[str, ...], Any]]:
    for node in walk(tree):
        match node:
            case Compare(_, Attribute(path), Literal(value)):
                yield path, value
            case Between(Attribute(path), Literal(low), Literal(high)):
                yield path, low
                yield path, high
            case In(Attribute(path), items):
                yield from ((path, item.value) for item in items if isinstance(item, Literal))


def follow_up(first: Mapping, chance: Random) -> Mapping:
    """A mapping from the target of another one: each attribute as it is, or changed, or left out."""
    source = first.target
    target: dict[str, AttributeType] = {}
    texts: dict[str, str] = {}
    for name, declared in source.attributes.items():
        if chance.random() < 0.2:
            continue
        own = f"{name}_then"
        target[own] = replace(declared, optional=chance.random() < 0.6, unit=None)
        texts[own] = _changed_text(name, declared, chance)
    of = EventType(f"{source.name}Then", "further", EVENT, own=target)
    mapping, faults = read_mapping(texts, Scope(source, Taxonomy(source.namespace, [source]), _TABLES), of)
    assert not faults, faults
    return mapping


def _changed_text(name: str, declared: AttributeType, chance: Random) -> str:
    if declared.unit is not None:
        return f"value({name}, '{declared.unit}')"
    changed_texts = {
        Kind.INT: (name, f"{name} + 1", f"coalesce({name}, 7)", f"if exists {name} then {name} * 2 else 0"),
        Kind.FLOAT: (name, f"{name} * 2", f"{name} - 0.5", f"if {name} > 1 then {name} else 1.5"),
        Kind.STRING: (name, f"'<' + {name}", f"lower({name})", f"lookup('names', {name})", f"coalesce({name}, '')"),
        Kind.BOOL: (name, f"(not {name})"),
    }
    return chance.choice(changed_texts.get(declared.kind, (name,)))
