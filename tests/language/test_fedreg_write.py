"""FedReg out: what is printed reads back as the same filter, and what is not printed has a reason."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.event.kinds import Kind
from comity.event.types import AttributeType, EventType
from comity.expression.bind import bind_filter
from comity.expression.evaluate import holds
from comity.expression.parse import parse
from comity.expression.tree import Expression, disjunction
from comity.language.fedreg.read import read_fedreg
from comity.language.fedreg.write import to_fedreg
from comity.language.language import PrintedProfiles
from comity.profile import Profile, Terms
from comity.testing.filters import BASE, typed_filters, typed_scope
from comity.testing.samples import events

FILTERS = st.one_of(typed_filters().map(lambda texts: texts[0]), typed_filters().map(lambda texts: texts[-1]))
LOGGED = EventType(
    "LoggedOn",
    "lab",
    own={
        "user": AttributeType(Kind.STRING),
        "host": AttributeType(Kind.STRING, optional=True),
        "at": AttributeType(Kind.TIMESTAMP),
        "load": AttributeType(Kind.FLOAT, optional=True),
        "place": AttributeType(Kind.STRUCT, attributes={"room": AttributeType(Kind.STRING)}),
        "tags": AttributeType(Kind.LIST, element=AttributeType(Kind.STRING), optional=True),
        "src": AttributeType(Kind.STRING, optional=True),
    },
)


def printed(where: str, terms: Terms | None = None) -> PrintedProfiles:
    return to_fedreg([replace(Profile.of("s", where, on="LoggedOn"), terms=terms or Terms())], {"LoggedOn": LOGGED})


def read_back(text: str, on: str, type: EventType) -> Expression:
    return disjunction([one.where.tree for one in read_fedreg(text, {on: type})])


@given(FILTERS, st.data())
def test_what_is_printed_reads_back_as_the_same_filter(text: str, data: st.DataObject) -> None:
    tree = bind_filter(parse(text), typed_scope())
    found = to_fedreg([Profile.of("s", text, on="Base")], {"Base": BASE})
    again = bind_filter(read_back(found.text, "Base", BASE), typed_scope())
    for event in data.draw(st.lists(events(BASE), min_size=5, max_size=10)):
        if found.left:
            assert holds(again, event) or not holds(tree, event)
        else:
            assert holds(again, event) is holds(tree, event)


def test_most_filters_are_printed_wholly() -> None:
    exact = []

    @given(FILTERS)
    def count(text: str) -> None:
        exact.append(not to_fedreg([Profile.of("s", text, on="Base")], {"Base": BASE}).left)

    count()
    assert sum(exact) > len(exact) / 4


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("user = 'ann'", "<user>ann</user>"),
        ("user like 'Main Street, %'", "<user>Main Street, *</user>"),
        ("user contains 'a*'", r"<user>*a\**</user>"),
        ("user = ' ann'", "<user xce:filter=\"= ' ann'\"/>"),
        ("user like 'a_'", "<user xce:filter=\"~ 'a(?s:.)'\"/>"),
        ("user in ('a', 'b')", "<user xce:filter=\"= 'a' || = 'b'\"/>"),
        ("not user = 'a'", "<user xce:filter=\"!= 'a'\"/>"),
        ("load between 1 and 2.5", '<load xce:filter="&gt;= 1 &amp;&amp; &lt;= 2.5"/>'),
        ("5 < load and (load < 9 or load = 10)", '<load xce:filter="&gt; 5 &amp;&amp; (&lt; 9 || = 10)"/>'),
        ("time_of_day(at) < duration('PT18H')", '<at xce:filter="&lt; 18:00"/>'),
        ("at > 2026-05-01", '<at xce:filter="&gt; 2026-05-01T00:00:00Z"/>'),
        ("place.room = '1'", "<room>1</room>"),
        ("known(user) = true", '<user xce:filter="known()"/>'),
        ("event.id = '7'", "<id>7</id>"),
        ("exists host", "<host xce:filter=\"~ '(?s).*'\"/>"),
    ],
)
def test_to_fedreg_writes_the_shortest_form(where: str, shown: str) -> None:
    found = printed(where)
    assert (found.left, shown in found.text) == ((), True), found.text


def test_a_choice_between_attributes_becomes_several_templates() -> None:
    found = printed("(user = 'a' or host = 'b') and load > 1")
    assert found.left == ()
    assert found.text.count("<xce:Template") == 2
    assert found.text.count('<load xce:filter="&gt; 1"/>') == 2


@pytest.mark.parametrize(
    ("where", "code"),
    [
        ("user = host", "attribute-against-attribute"),
        ("load + 1 > 2", "no-arithmetic"),
        ("lower(user) = 'a'", "function-not-supported"),
        ("not host = 'a'", "missing-value-semantics"),
        ("exists load", "operator-not-supported"),
        ("not exists host", "missing-value-semantics"),
        ("tags contains 'a'", "attribute-not-visible"),
        ("event.source = 'a'", "attribute-not-visible"),
        ("is LoggedOn", "operator-not-supported"),
        ("false", "operator-not-supported"),
        ("user = 'a\x01'", "kind-not-supported"),
    ],
)
def test_what_cannot_be_said_is_left_out_with_its_reason(where: str, code: str) -> None:
    found = printed(f"user != 'x' and {where}" if where != "false" else where)
    assert [one.code for one in found.left] == [code]
    if where != "false":
        assert "!= 'x'" in found.text


def test_meta_information_comes_back() -> None:
    terms = Terms((time(22, 0, 30), time(6)), datetime(2027, 1, 1, tzinfo=UTC), 100, ("house_a", "street"))
    found = printed("user = 'a'", terms)
    (again,) = read_fedreg(found.text, {"LoggedOn": LOGGED})
    assert again.terms == terms
    assert '<xce:meta type="qos">real-time</xce:meta>' in found.text
