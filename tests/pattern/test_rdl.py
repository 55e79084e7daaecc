"""RDL: the six rules of the paper as they are printed, what its grammar allows, and what is refused."""

import pytest
from tests.pattern.letters import RULES

from comity.errors import Faults, Misuse
from comity.expression.parse import parse
from comity.language.rdl.read import is_rdl, parse_rdl, scan_rdl
from comity.pattern.text.render import render_composite
from comity.pattern.tree import Both, Operand


def _one(text):
    ((_, composite),) = parse_rdl(text)
    return composite


def _where(condition, events="A a, B b"):
    return _one(f"rule r onEvent {events} where {condition}").where.tree


def test_the_six_rules_of_the_paper():
    h1, h2 = Operand("h1", "HeatEvent"), Operand("h2", "HeatEvent")
    rules = parse_rdl(RULES)
    assert [(name, rule.pattern, rule.where.tree) for name, rule in rules] == [
        ("rule1", h1, parse("true")),
        ("rule2", Operand("s1", "StockExchangeEvent"), parse("true")),
        ("rule3", h1, parse("h1.value > 25")),
        ("rule4", h1, parse("h1.value > 25 and h1.value < 37")),
        (
            "rule5",
            Both((Operand("t1", "Temperature"), Operand("h1", "Humidity"))),
            parse("t1.value < 27 and h1.value < 70"),
        ),
        (
            "rule6",
            Both((h1, h2, Operand("l1", "LightEvent"))),
            parse("h1.value > h2.value + 5 and h1.event.time > h2.event.time + 5 s and l1.lightvalue > 3000"),
        ),
    ]
    for name, rule in rules:
        rule.bind(name)


@pytest.mark.parametrize(
    "text",
    [
        "rule r; onEvent A a, B b; where a.x > 1;",
        "rule r onEvent A a, B b where a.x > 1",
        "rule r;onEvent A a,B b;;where(a.x>1);",
        "rule r onEvent A a , B b ; where (a.x > 1));",
        "// all\nrule r // one\nonEvent A a, B b // two\nwhere a.x > 1 // three",
    ],
)
def test_semicolons_and_a_last_parenthesis_may_be_there_or_not(text):
    rule = _one(text)
    assert (rule.pattern, rule.where.tree) == (Both((Operand("a", "A"), Operand("b", "B"))), parse("a.x > 1"))


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("true", "true"),
        ("!false", "not false"),
        ("!a.x == 1 and b.y != 2", "not (a.x = 1) and b.y != 2"),
        ("a.x >= 1 or a.x <= 2 and b.y < 3", "a.x >= 1 or (a.x <= 2 and b.y < 3)"),
        ("(a.x > 1 or a.x < 2) and !(b.y > 3)", "(a.x > 1 or a.x < 2) and not (b.y > 3)"),
        ("(a.x) + 2 * 3 > (b.y - -1) / 2", "a.x + 2 * 3 > (b.y - -1) / 2"),
        ("a.x - 1 - 2 > -b.y", "a.x - 1 - 2 > -b.y"),
        ("a.flag == true", "a.flag = true"),
        ('a.name == "it\'s"', "a.name = 'it''s'"),
        ("a.device.load > 1.5", "a.device.load > 1.5"),
        # the attributes of the class Event
        ("a.eventType == b.eventType", "a.event.type = b.event.type"),
        ("a.sequenceNo < b.sequenceNo + 1", "a.event.sequence < b.event.sequence + 1"),
        ("a.device.time > 1", "a.device.time > 1"),
        # times are in milliseconds
        ("a.time == b.time", "a.event.time = b.event.time"),
        ("a.time > b.time - 1500", "a.event.time > b.event.time - 1500 ms"),
        ("5000 + a.time > b.time", "a.event.time + 5 s > b.event.time"),
        ("a.time - b.time > 5000", "a.event.time - b.event.time > 5 s"),
        ("5000 >= a.time - b.time", "5 s >= a.event.time - b.event.time"),
        ("2 * (a.time - b.time) > 0.5", "(a.event.time - b.event.time) * 2 > 0.5 ms"),
        ("(a.time - b.time) / 2 > 100 - 1", "(a.event.time - b.event.time) / 2 > (100 - 1) * 1 ms"),
        (
            "(a.time - b.time) / (b.time - a.time) > 2",
            "(a.event.time - b.event.time) / (b.event.time - a.event.time) > 2",
        ),
        ("a.time > b.time + b.delay", "a.event.time > b.event.time + b.delay * 1 ms"),
        ("a.time > b.time + 5 * 60 * 1000", "a.event.time > b.event.time + 5 * 60 * 1000 * 1 ms"),
        ("-(a.time - b.time) > 1000", "-(a.event.time - b.event.time) > 1 s"),
    ],
)
def test_conditions(text, meaning):
    composite = _one(f"rule r onEvent A a, B b where {text};")
    assert composite.where.tree == parse(meaning)
    composite.bind("r")


def test_an_event_may_be_left_out_where_there_is_one():
    assert _where("value > 25 and time == h.time", "Heat h") == parse("h.value > 25 and h.event.time = h.event.time")


def test_the_class_event_is_every_type():
    assert _one("rule r onEvent Event e, house.Heat h").pattern == Both((Operand("e"), Operand("h", "house.Heat")))


def test_rules_render_as_profiles():
    assert [render_composite(*rule) for rule in parse_rdl(RULES)][4] == (
        "profile rule5\non Temperature t1 & Humidity h1\nwhere t1.value < 27 and h1.value < 70"
    )


@pytest.mark.parametrize(
    ("text", "place", "code"),
    [
        ("hello", "1:1", "syntax"),
        ("rule", "1:5", "syntax"),
        ("rule r", "1:7", "syntax"),
        ("rule r onEvent A", "1:17", "syntax"),
        ("rule r onEvent A a,", "1:20", "syntax"),
        ("rule r onEvent A a where", "1:25", "syntax"),
        ("rule r onEvent A a\nwhere a.x = 1", "2:11", "syntax"),
        ("rule r onEvent A a\nwhere a.x > 1))", "2:15", "syntax"),
        ("rule r onEvent A a\nwhere ((a.x > 1)", "2:17", "syntax"),
        ("rule r onEvent A a\nwhere a.x", "2:10", "syntax"),
        ("rule r onEvent A a\nwhere a.x $ 1", "2:11", "syntax"),
        ("rule r onEvent A a, B a", "1:23", "duplicate-operand"),
        ("rule r onEvent A a, B b\nwhere x > 1", "2:7", "unknown-operand"),
        ("rule r onEvent A a\nwhere a > 1", "2:7", "not-a-value"),
        ("rule r onEvent A a\nwhere a.x > 99999999999999999999", "2:13", "integer-out-of-range"),
        ("rule r onEvent A a\nwhere a.time > 1000", "2:7", "wrong-kind"),
        ("rule r onEvent A a\nwhere a.x > 1 and a.time + a.time > 1", "2:19", "wrong-kind"),
        ("rule r onEvent A a\nwhere 5 - a.time > 1", "2:7", "wrong-kind"),
        ("rule r onEvent A a\nwhere a.time * 2 > 1", "2:7", "wrong-kind"),
        ("rule r onEvent A a\nwhere -a.time > 1", "2:7", "wrong-kind"),
        ("rule r onEvent A a\nwhere " + "!" * 1000 + "true", "2:1007", "expression-too-deep"),
    ],
)
def test_parse_rdl_refuses(text, place, code):
    with pytest.raises(Faults) as caught:
        parse_rdl(text)
    (fault,) = caught.value.errors
    assert (str(fault.place), fault.code) == (place, code)


def test_scan_rdl_gives_the_good_rules_beside_the_faults():
    text = "// mine\nrule a onEvent A a where a.x >;\nrule b onEvent B b; rule c onEvent;\n\n  rule d\n  onEvent D d"
    found, faults = scan_rdl(text, "f.rdl")
    assert [(one.name, str(one.place)) for one in found] == [("b", "f.rdl:3:1"), ("d", "f.rdl:5:3")]
    assert [str(fault.place) for fault in faults] == ["f.rdl:2:31", "f.rdl:3:35"]


def test_errors_of_binding_point_into_the_condition():
    (written,) = scan_rdl("rule a\nonEvent A a, B b\nwhere a.x > 1\n  and b.event.nope > 1;", "f.rdl")[0]
    with pytest.raises(Misuse) as caught:
        written.composite.bind("a")
    assert str(written.locate(caught.value, "where").place) == "f.rdl:4:7 (b.event.nope)"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("rule a onEvent A a", True),
        ("\n // x\n  rule\n a", True),
        ("rule: x > 1", False),
        ("rules: 5", False),
        ("a: x = 'rule b'", False),
    ],
)
def test_is_rdl(text, answer):
    assert is_rdl(text) is answer


def test_no_rules():
    assert parse_rdl(" // nothing\n") == []


def test_deep_parentheses_are_no_depth():
    assert _where("(" * 5_000 + "a.x > 1" + ")" * 5_000) == parse("a.x > 1")
