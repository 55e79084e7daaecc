"""The text of patterns and of composite profiles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comity.errors import Faults, Misuse
from comity.expression.parse import parse
from comity.language.rdl.read import scan_rdl
from comity.limits import limited
from comity.pattern.parameters import ALL, COLLECT, FIRST, LAST, Consume, Duplicates, Parameters
from comity.pattern.text.parse import parse_pattern
from comity.pattern.text.render import render_pattern
from comity.pattern.tree import Absent, Both, Either, Operand, Selection, Sequence, Silence, Together, operands
from comity.profile.blocks import parse_composite, parse_composites, scan_composites

S = 1_000_000
A, B, C, N = (Operand(name, name) for name in "ABCN")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("A", A),
        ("Heat h", Operand("h", "Heat")),
        ("house.Fire f", Operand("f", "house.Fire")),
        ("house.Fire", Operand("Fire", "house.Fire")),
        ("Event e", Operand("e")),
        ("`First` `last`", Operand("last", "First")),
        ("(((A)))", A),
        ("A | B | C", Either((A, B, C))),
        ("A & B & C", Both((A, B, C))),
        ("A : B : C", Together((A, B, C))),
        ("A ; B ; C", Sequence((A, B, C))),
        ("(A ; B) ; C", Sequence((Sequence((A, B)), C))),
        ("A | B ; C & N : Event e", Either((A, Sequence((B, Both((C, Together((N, Operand("e")))))))))),
        ("A & B within 5 min", Both((A, B), 300 * S)),
        ("A ; B\n  within 5 min # or so\n", Sequence((A, B), 300 * S)),
        ("A : B tolerance 2 s", Together((A, B), 2 * S)),
        ("A : B tolerance 2 s & C", Both((Together((A, B), 2 * S), C))),
        ("A ; not N ; B", Sequence((A, Absent(N), B))),
        ("A ; not N within 5 s", Sequence((A, Absent(N)), 5 * S)),
        ("not N ; B", Sequence((Absent(N), B))),
        ("not N ; B within 5 s", Sequence((Absent(N), B), 5 * S)),
        ("A ; not (B | C) ; N", Sequence((A, Absent(Either((B, C))), N))),
        ("not N within 5 s", Silence(N, 5 * S)),
        ("(not N within 5 s) ; B", Sequence((Silence(N, 5 * S), B))),
        ("A ; not (not N within 2 s) ; B", Sequence((A, Absent(Silence(N, 2 * S)), B))),
        ("first A", Selection(A, 1, 1)),
        ("last A", Selection(A, None, None)),
        ("A[1]", Selection(A, 1, 1)),
        ("A[2..4]", Selection(A, 2, 4)),
        ("Heat[2] h", Selection(Operand("h", "Heat"), 2, 2)),
        ("Heat h[2]", Selection(Operand("h", "Heat"), 2, 2)),
        ("(A ; B within 3 s)[2]", Selection(Sequence((A, B), 3 * S), 2, 2)),
        ("last (A[2..3])", Selection(Selection(A, 2, 3), None, None)),
        ("NOT A ; FIRST B WITHIN 1 s", Sequence((Absent(A), Selection(B)), S)),
        # a frame is about the whole group in which it stands last
        ("(A ; B) within 5 s", Sequence((A, B), 5 * S)),
        ("(A ; B within 2 s) ; C within 5 s", Sequence((Sequence((A, B), 2 * S), C), 5 * S)),
        ("A | B ; C within 5 s", Either((A, Sequence((B, C), 5 * S)))),
        ("A ; B | (C & N within 2 s) within 5 s", Either((Sequence((A, B), 5 * S), Both((C, N), 2 * S)))),
        ("(A | B ; C) | N within 5 s", Either((Either((A, Sequence((B, C), 5 * S))), N))),
        ("A | B ; not N within 5 s", Either((A, Sequence((B, Absent(N)), 5 * S)))),
    ],
)
def test_parse_pattern(text, tree):
    assert parse_pattern(text) == tree


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("A ; A ; A", "A A2 A3"),
        ("A A2 ; A ; A ; B", "A2 A A3 B"),
        ("A ; B A ; A", "A2 A A3"),
        ("x.A & y.A", "A A2"),
        ("Event & Event", "Event Event2"),
    ],
)
def test_parse_pattern_names_operands_by_their_types(text, names):
    assert [operand.name for operand in operands(parse_pattern(text))] == names.split()


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("7 us", 7),
        ("7 ms", 7_000),
        ("0.1 s", 100_000),
        ("1.5h", 5_400 * S),
        ("2 days", 172_800 * S),
        ("1 week", 604_800 * S),
        ("1 month", 2_629_800 * S),
        ("1 year", 31_557_600 * S),
        ("0.0000015 s", 2),  # a half is rounded to the even one
        ("10000 years", 315_576_000_000 * S),
    ],
)
def test_parse_pattern_takes_every_unit_of_time(text, length):
    assert parse_pattern(f"A ; B within {text}").within == length


@pytest.mark.parametrize(
    ("text", "column", "message", "code"),
    [
        ("", 1, "ends too early", "syntax"),
        ("A ;", 4, "ends too early", "syntax"),
        ("A ; ; B", 5, "';' does not fit", "syntax"),
        ("A $ B", 3, "'\\$' does not fit", "syntax"),
        ("(A ; B", 7, "ends too early", "syntax"),
        ("A ; B)", 6, "does not fit", "syntax"),
        ("A ; not B", 5, "at the end needs a time frame", "syntax"),
        ("C | A ; not B", 9, "at the end needs a time frame", "syntax"),
        ("(A ; not B) within 5 s", 6, "at the end needs a time frame", "syntax"),
        ("not A", 1, "by itself needs a time frame", "syntax"),
        ("A ; (not B) ; C", 6, "by itself needs a time frame", "syntax"),
        ("A & not B", 5, "part of `&`", "syntax"),
        ("A : not B within 5 s", 5, "part of `:`", "syntax"),
        ("not A | B", 1, "part of `|`", "syntax"),
        ("not A ; not B within 5 s", 9, "nothing but `not`", "syntax"),
        ("A ; not not B ; C", 9, "`not` of a `not`", "syntax"),
        ("A[0]", 3, "from 1", "syntax"),
        ("A[2.5]", 3, "from 1", "syntax"),
        ("A[99999999999999]", 3, "from 1", "syntax"),
        ("A[3..2]", 3, "position 3 is behind position 2", "syntax"),
        ("A[2][3]", 6, "two selections", "syntax"),
        ("A[2] a[3]", 8, "two selections", "syntax"),
        ("first A[2]", 7, "two selections", "syntax"),
        ("A and B", 3, "does not fit", "syntax"),
        ("A where", 3, "cannot name an operand", "syntax"),
        ("A Limit ; B", 3, "cannot name an operand", "syntax"),
        ("A event ; B", 3, "cannot name an operand", "syntax"),
        ("`two words`", 1, "needs a name", "syntax"),
        ("A h ; B h", 9, "two operands are named 'h'", "duplicate-operand"),
        ("A ; B within 5", 14, "needs a unit", "syntax"),
        ("A ; B within 5 km", 14, "no unit of time", "incompatible-units"),
        ("A ; B within 5 parsnips", 14, "no unit", "unknown-unit"),
        ("A ; B within 0 s", 14, "no time", "duration-out-of-range"),
        ("A ; B within 0.1 us", 14, "no time", "duration-out-of-range"),
        ("A ; B within 20000 years", 14, "longer", "duration-out-of-range"),
        (f"A ; B within {'9' * 5000} s", 14, "longer", "duration-out-of-range"),
        ("A ; B within 5 s within 3 s", 18, "two time frames", "syntax"),
        ("(A ; B within 5 s) within 3 s", 20, "two time frames", "syntax"),
        ("A ; B within 5 s ; C", 18, "does not fit", "syntax"),
        ("A within 5 s", 3, "nothing in this group", "syntax"),
        ("A | B within 5 s", 7, "nothing in this group", "syntax"),
        ("A : B within 5 s", 7, "nothing in this group", "syntax"),
        ("first (A ; B) within 5 s", 15, "nothing in this group", "syntax"),
        ("A tolerance 5 s", 3, "that of `:`", "syntax"),
    ],
)
def test_parse_pattern_refuses(text, column, message, code):
    with pytest.raises(Misuse, match=message) as caught:
        parse_pattern(text)
    assert (caught.value.code, caught.value.place.line, caught.value.place.column) == (code, 1, column)
    line, caret = caught.value.excerpt.split("\n")
    assert caret.index("^") < 70
    assert line.strip() in text[:200]


def test_parse_pattern_points_into_the_right_line():
    with pytest.raises(Misuse) as caught:
        parse_pattern("Heat h ;\n  not Fire f ;\n  Smoke s[0]")
    assert (caught.value.place.line, caught.value.place.column) == (3, 11)
    assert caught.value.excerpt == "    Smoke s[0]\n            ^"


@pytest.mark.parametrize(("text", "hint"), [("A and B", "`&`"), ("A or B", "`|`"), ("A;B within 1 s;C", "parentheses")])
def test_parse_pattern_hints(text, hint):
    with pytest.raises(Misuse) as caught:
        parse_pattern(text)
    assert hint in caught.value.hint


def test_parse_pattern_bounds():
    assert parse_pattern("(" * 10_000 + "A" + ")" * 10_000) == A
    with pytest.raises(Misuse) as caught:
        parse_pattern("first (" * 300 + "A" + ")" * 300)
    assert caught.value.code == "expression-too-deep"
    with limited(max_filter_chars=8), pytest.raises(Misuse) as caught:
        parse_pattern("A ; B ; C")
    assert caught.value.code == "expression-too-long"


WORDS = ["A", "B b", "not", "first", "last", "within", "5 s", "tolerance", "[2..3]", "(", ")", ";", "&", "|", ":", "1"]
CLAUSES = ["profile p", "on A a", "where a.x > 1", "limit", "ties by x", "'", "`", "#", "\n", "duplicates a 2,", "\n  "]
RULES = ["rule r", "onEvent", "where", "a.time", "b.x", ",", "!", "==", ">", "and", "-", "/", "//", '"', "true", "\n"]


def _place(text):
    """Where the text is wrong; None if it is right, and rendered to the same."""
    try:
        pattern = parse_pattern(text)
    except Misuse as error:
        return error.place
    assert parse_pattern(render_pattern(pattern)) == pattern
    return None


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_parse_pattern_of_anything_gives_a_pattern_or_an_error_with_its_place(text):
    place = _place(text)
    assert place is None or (place.line == 1 and 1 <= place.column <= len(text) + 1)


@given(st.lists(st.sampled_from(WORDS + CLAUSES + RULES), max_size=20).map(" ".join))
def test_texts_of_anything_give_profiles_or_errors_with_their_places(text):
    for found, faults in (scan_composites(text, "f"), scan_rdl(text, "f")):
        assert all(1 <= fault.place.line <= text.count("\n") + 1 for fault in faults)
        assert all(text.split("\n")[one.spot.line - 1][one.spot.column - 1 :].strip() for one in found)


# Profiles

HOT = """\
# too hot
profile hot_and_unventilated
on Heat h ; not Ventilation v within 5 min  # or fans
where h.value > 30 degC
  and v.room = h.room
duplicates first
consume delete
"""


def test_parse_composite():
    name, composite = parse_composite(HOT)
    assert name == "hot_and_unventilated"
    assert composite.pattern == Sequence((Operand("h", "Heat"), Absent(Operand("v", "Ventilation"))), 300 * S)
    assert composite.where.tree == parse("h.value > 30 degC and v.room = h.room")
    assert composite.parameters == Parameters(duplicates=FIRST, consume=Consume.DELETE)
    assert composite.bind(name).key.paths("v") == (("room",),)


def test_parse_composite_with_every_clause_in_another_order():
    text = "profile p\nversion 2\nties by event.sequence\nlimit 1000\nwhere a.x = 1\nconsume reapply\non A a\n"
    assert parse_composite(text)[1].parameters == Parameters(
        consume=Consume.REAPPLY, limit=1000, ties=("event", "sequence"), version=2
    )


def test_parse_composite_in_one_line():
    condition = "a.limit > 3 and b.on and b.version = 1"
    _, composite = parse_composite(f"profile p version 2 on A a ; B b limit 5 where {condition}")
    assert composite.parameters == Parameters(version=2, limit=5)
    assert composite.where.text == condition


@pytest.mark.parametrize(
    ("text", "general", "own"),
    [
        ("first", FIRST, {}),
        ("LAST", LAST, {}),
        ("collect", COLLECT, {}),
        ("2", Duplicates(2, 2), {}),
        ("2nd", Duplicates(2, 2), {}),
        ("2..4", Duplicates(2, 4), {}),
        ("2 to 4", Duplicates(2, 4), {}),
        ("a first", ALL, {"a": FIRST}),
        ("all, a first,\n  b 3rd  # yes", ALL, {"a": FIRST, "b": Duplicates(3, 3)}),
        ("b collect, first", FIRST, {"b": COLLECT}),
    ],
)
def test_duplicates(text, general, own):
    parameters = parse_composite(f"profile p\non A a ; B b\nduplicates {text}")[1].parameters
    assert (parameters.duplicates, parameters.own_duplicates) == (general, own)


def test_parse_composites_of_several():
    text = "PROFILE a\nON A\nprofile on on B\n\n  profile c.1-x\n  on C"
    assert [(one.name, one.composite.pattern, str(one.place)) for one in parse_composites(text)] == [
        ("a", A, "1:1"),
        ("on", B, "3:1"),
        ("c.1-x", C, "5:3"),
    ]


def test_scan_composites_has_every_fault_with_its_place():
    text = """\
what is this
profile a b
on A ; not B
where x >
  and
duplicates v first, 2..1
consume none
consume keep
limit 0
ties by 5
version x
profile
on A a
profile c
limit 5
profile d
on A a ; not V v within 5 s
duplicates a first, v last
profile e!
on A
where 'abc
profile f
on A ; B within 2 kg
where 1 + 2
duplicates a b c
profile good
on A a
profile g
on A a
duplicates all, first
ties
limit
  duplicates a last a
profile h
on A a
limit > 5
"""
    found, faults = scan_composites(text, "f")
    assert [one.name for one in found] == ["good"]
    assert [(str(fault.place), fault.code) for fault in faults] == [
        ("f:1:1", "syntax"),
        ("f:2:11", "syntax"),
        ("f:3:8", "syntax"),
        ("f:5:3", "syntax"),
        ("f:6:21", "syntax"),
        ("f:7:9", "syntax"),
        ("f:8:1", "syntax"),
        ("f:9:7", "syntax"),
        ("f:10:9", "syntax"),
        ("f:11:9", "syntax"),
        ("f:12:8", "bad-name"),
        ("f:14:1", "syntax"),
        ("f:18:21", "unknown-operand"),
        ("f:19:9", "bad-name"),
        ("f:21:7", "syntax"),
        ("f:23:17", "incompatible-units"),
        ("f:24:7", "not-a-filter"),
        ("f:25:12", "syntax"),
        ("f:30:17", "syntax"),
        ("f:31:5", "syntax"),
        ("f:32:6", "syntax"),
        ("f:33:3", "syntax"),
        ("f:36:7", "syntax"),
    ]


def test_a_quote_that_is_not_closed_does_not_swallow_the_next_profile():
    found, faults = scan_composites("profile a\non A\nwhere x = 'y\nprofile b\non B\nwhere x = 'y'")
    assert [one.name for one in found] == ["b"]
    assert [str(fault.place) for fault in faults] == ["3:11"]


def test_words_of_clauses_in_texts_and_comments_and_backticks_are_none():
    text = "profile a # profile b\non A # where\nwhere x = 'limit 5' # limit 6\n  and `limit` = 7 and a.on"
    assert parse_composite(text)[1].where.tree == parse("x = 'limit 5' and `limit` = 7 and a.on")


@pytest.mark.parametrize("text", ["", "# nothing", "profile a on A\nprofile b on B"])
def test_parse_composite_of_none_or_two(text):
    with pytest.raises(Misuse, match="expected one profile"):
        parse_composite(text)


def test_parse_composite_errors_of_binding_point_into_the_condition():
    (written,) = parse_composites("profile a\non A a ; B b\nwhere a.x > 1 and\n  z.y > 1")
    with pytest.raises(Misuse) as caught:
        written.composite.bind("a")
    assert str(written.locate(caught.value, "where").place) == "4:3 (z.y)"


def test_faults_of_a_text_come_together():
    with pytest.raises(Faults) as caught:
        parse_composites("profile a\nprofile b\n")
    assert len(caught.value.errors) == 2


# What section 2 of "A Meta-Service for Event Notification" has operators and parameters for.


@pytest.mark.parametrize(
    ("operator", "text", "tree"),
    [
        ("(E1 | E2)", "A | B", Either((A, B))),
        ("(E1, E2)_T", "A & B within 1 h", Both((A, B), 3_600 * S)),
        ("(E1; E2)_T", "A ; B within 1 h", Sequence((A, B), 3_600 * S)),
        ("not E_T", "not N within 1 h", Silence(N, 3_600 * S)),
        ("(E1 : E2)", "A : B", Together((A, B))),
        ("E^[i]", "A[3]", Selection(A, 3, 3)),
        (
            "((E1 | E2); E3^[2])_T",
            "(A | B) ; C[2] within 1 h",
            Sequence((Either((A, B)), Selection(C, 2, 2)), 3_600 * S),
        ),
    ],
)
def test_operators_of_the_paper(operator, text, tree):
    assert parse_pattern(text) == tree


@pytest.mark.parametrize("consume", ["keep", "delete", "reapply"])
@pytest.mark.parametrize("duplicates", ["first", "last", "all", "2nd", "2 to 4"])
def test_parameters_of_the_paper(duplicates, consume):
    text = f"profile p\non A ; B within 5 s\nduplicates {duplicates}\nconsume {consume}"
    assert parse_composite(text)[1].parameters.consume.value == consume
