"""Rules, types and what the detector of composite rules goes on from, as rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from comity.errors import Misuse
from comity.limits import limits
from comity.node.catalog import TypeVersion
from comity.node.rules import BoundRule, RuleKind, RuleText, StoreKind
from comity.node.tables import rules_changed
from comity.server.store.desk import Desk
from comity.server.store.port import StoredSubscription

_OF_RULES = "rules"
"""The key under which a store keeps that a subscriber has rules for which something waits."""
_FIELDS = "subscriber, name, kind, text, language, store, since, made_us"
_RULE = f"number, {_FIELDS}"
_DETECTOR = "comity/detector"
"""Who reads the log for composite rules: no subscriber can have such a name."""


@dataclass(frozen=True, slots=True)
class KeptRule:
    """A rule of a subscriber. It is about what stands in the log behind the number `since`."""

    number: int
    subscriber: str
    rule: RuleText
    kind: RuleKind
    since: int
    made_us: int


def add_rules(desk: Desk, subscriber: str, rules: Iterable[tuple[RuleText, BoundRule]]) -> list[KeptRule]:
    """Keep rules, all or none; one that the subscriber has just like that already stays as it is."""
    return [_add(desk, subscriber, text, bound) for text, bound in rules]


def _add(desk: Desk, subscriber: str, text: RuleText, bound: BoundRule) -> KeptRule:
    database = desk.database
    known = find_rule(database, subscriber, text.name)
    if known is not None:
        if known.rule == text:
            return known
        hint = "remove that one first, or choose another name"
        raise Misuse(f"you have another rule {text.name!r}", code="rule-name-in-use", hint=hint)
    (count,) = database.execute("select count(*) from rule where subscriber = ?", (subscriber,)).fetchone()
    if count >= limits().max_subscriber_rules:
        hint = "remove some first, or raise COMITY_MAX_SUBSCRIBER_RULES"
        raise Misuse(f"you have {count:,} rules already", code="too-many", hint=hint)
    values = (subscriber, text.name, bound.kind, text.text, text.language, text.store, desk.last, desk.at_us)
    insert = f"insert into rule ({_FIELDS}) values (?, ?, ?, ?, ?, ?, ?, ?)"
    number = database.execute(insert, values).lastrowid
    assert number is not None, "a row was inserted"
    types = sorted(bound.types) if bound.types is not None else ["*"]
    database.executemany("insert into rule_type values (?, ?)", [(number, one) for one in types])
    if bound.kind is RuleKind.COMPOSITE:
        database.execute("insert or ignore into detection values (1, ?, null)", (desk.last,))
        database.execute("insert or ignore into cursor values (?, ?, 0)", (_DETECTOR, desk.last))
    if text.store is not StoreKind.NONE:
        desk.keep(StoredSubscription(subscriber, _OF_RULES, ""))
    rules_changed(desk)
    return KeptRule(number, subscriber, text, bound.kind, desk.last, desk.at_us)


def remove_rule(desk: Desk, subscriber: str, name: str) -> KeptRule | None:
    """Take a rule away, with all that is there for it alone; None if the subscriber has no such rule."""
    found = find_rule(desk.database, subscriber, name)
    if found is None:
        return None
    desk.database.execute("delete from rule where number = ?", (found.number,))
    desk.database.execute("delete from rule_type where rule = ?", (found.number,))
    _clean_up(desk, subscriber)
    rules_changed(desk)
    return found


def remove_subscriber(desk: Desk, name: str) -> list[KeptRule]:
    """Take a subscriber away, with everything of theirs; gives the rules that there were."""
    found = read_rules_of(desk.database, name)
    database = desk.database
    database.execute("delete from rule_type where rule in (select number from rule where subscriber = ?)", (name,))
    for table, column in (("rule", "subscriber"), ("token", "name"), ("numbered", "publisher"), ("subscriber", "name")):
        database.execute(f"delete from {table} where {column} = ?", (name,))
    _clean_up(desk, name)
    for _ in found:
        rules_changed(desk)
    return found


def _clean_up(desk: Desk, subscriber: str) -> None:
    """What only rules need that are gone: the cursor of a subscriber, and the state of the detector."""
    database = desk.database
    waiting = "select 1 from rule where subscriber = ? and store != 'none' limit 1"
    if database.execute(waiting, (subscriber,)).fetchone() is None:
        desk.drop(subscriber, _OF_RULES)
    if database.execute("select 1 from rule where kind = 'composite' limit 1").fetchone() is None:
        database.execute("delete from detection")
        database.execute("delete from cursor where client = ?", (_DETECTOR,))


def find_rule(database: sqlite3.Connection, subscriber: str, name: str) -> KeptRule | None:
    """The rule of a name that a subscriber has."""
    select = f"select {_RULE} from rule where subscriber = ? and name = ?"
    row = database.execute(select, (subscriber, name)).fetchone()
    return None if row is None else _rule(row)


def read_rules_of(database: sqlite3.Connection, subscriber: str | None = None) -> list[KeptRule]:
    """The rules of a subscriber, or of all, in the order in which they came."""
    select = f"select {_RULE} from rule where subscriber = ifnull(?, subscriber) order by number"
    return [_rule(row) for row in database.execute(select, (subscriber,))]


def _rule(row: tuple[int, str, str, str, str, str | None, str, int, int]) -> KeptRule:
    number, subscriber, name, kind, text, language, store, since, made_us = row
    return KeptRule(
        number, subscriber, RuleText(name, text, language, StoreKind(store)), RuleKind(kind), since, made_us
    )


# Types


def add_types(desk: Desk, versions: Iterable[TypeVersion]) -> None:
    """Keep versions of types."""
    rows = [(one.name, one.version, json.dumps(one.declaration), desk.at_us) for one in versions]
    desk.database.executemany("insert into type_version values (?, ?, ?, ?)", rows)


def read_types(database: sqlite3.Connection) -> list[TypeVersion]:
    """All versions that are kept."""
    rows = database.execute("select name, version, declaration from type_version order by version, name")
    return [TypeVersion(name, version, json.loads(declaration)) for name, version, declaration in rows]


# The detector of composite rules


@dataclass(frozen=True, slots=True)
class DetectionState:
    """How far the log was detected in, and what has to be known of it to go on; None: nothing yet."""

    position: int
    state: bytes | None


def keep_detection(desk: Desk, found: DetectionState) -> None:
    """Keep how far the detector is, if there is still something to detect."""
    desk.database.execute("update detection set position = ?, state = ?", (found.position, found.state))
    desk.advance(_DETECTOR, found.position, 0)


def read_detection(database: sqlite3.Connection) -> DetectionState | None:
    """Where the detector goes on; None when there is no composite rule."""
    row = database.execute("select position, state from detection").fetchone()
    return None if row is None else DetectionState(*row)
