"""Generated taxonomies: inheritance, structs, lists, units, concepts and contexts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from comity.event import EVENT, AttributeType, EventType, Kind, Taxonomy
from comity.event.context import NO_CONTEXT, Context
from tests.event.generate import names

_SCALARS = [kind for kind in Kind if kind not in (Kind.STRUCT, Kind.LIST)]
type_names = st.from_regex(r"[A-Z][A-Za-z0-9_]{0,6}", fullmatch=True).filter(lambda name: name != "Event")
odd_names = st.sampled_from(
    ["id", "src", "ts", "source", "time", "type", "data", "item", "value", "x", "Event", "name"]
)
texts = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cn", "Cc"]), min_size=1, max_size=12)
words = texts.map(str.strip).filter(bool)
contexts = st.just(NO_CONTEXT) | st.builds(
    lambda accuracy, method: Context({"accuracy": accuracy, "method": method}),
    st.floats(0, 10, allow_nan=False),
    st.fixed_dictionaries({"value": words, "context": st.fixed_dictionaries({"year": st.integers(1900, 2100)})}),
)


def _scalar(kind: Kind, optional: bool, unit: str | None, concept: str | None, context: Context) -> AttributeType:
    return AttributeType(kind, optional, unit if kind.is_number else None, concept, context=context)


scalars = st.builds(
    _scalar,
    st.sampled_from(_SCALARS),
    st.booleans(),
    st.sampled_from([None, "degC", "1000 USD", "m/s^2"]),
    st.none() | words,
    contexts,
)


def _mandatory(attribute: AttributeType) -> AttributeType:
    from dataclasses import replace

    return replace(attribute, optional=False)


def _nested(inner: st.SearchStrategy[AttributeType]) -> st.SearchStrategy[AttributeType]:
    attributes = st.dictionaries(names | odd_names, inner, min_size=1, max_size=3)
    concept = st.none() | words
    return st.builds(
        lambda optional, inside, concept: AttributeType(Kind.STRUCT, optional, None, concept, inside),
        st.booleans(),
        attributes,
        concept,
    ) | st.builds(
        lambda optional, element, concept: AttributeType(
            Kind.LIST, optional, None, concept, element=_mandatory(element)
        ),
        st.booleans(),
        inner,
        concept,
    )


attributes = st.recursive(scalars, _nested, max_leaves=4)


@st.composite
def taxonomies(draw: Any) -> Taxonomy:
    """Up to four types, each below the root or below an earlier one, in any order."""
    namespace = draw(names)
    types: list[EventType] = []
    for name in draw(
        st.lists(type_names | st.sampled_from(["BaseEventType", "baseEvent"]), min_size=1, max_size=4, unique=True)
    ):
        parent = draw(st.sampled_from([EVENT, *types]))
        own = draw(st.dictionaries(names | odd_names, attributes, max_size=3))
        own = {key: one for key, one in own.items() if key not in parent.attributes}
        types.append(EventType(name, namespace, parent, own, draw(st.booleans()), draw(st.none() | words)))
    return Taxonomy(namespace, draw(st.permutations(types)))
