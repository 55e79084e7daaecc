"""Public matchers that take one event at a time: a-tree (a crate in Rust) and event-ruler (Java).

They come from their public packages, which cargo and Maven fetch on the first run; their programs (`peers_match/`) are
built into `benchmarks/.peers`. Without these tools a peer says so, and is left out. Each is given the same profiles as
ours in its own language, and gives the numbers of those that match each event. What a-tree cannot say (a prefix) it is
not asked: `can_say` tells, and ours is measured on the same profiles.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers import CACHE, HERE, CannotRun, compile_java, java, on_one_core, run_tool, tool
from workload_match import SPECS

from comity.expression.tree import And, Attribute, Between, Compare, Exists, Expression, In, Literal, TextTest

SOURCES = HERE / "peers_match"
TIMEOUT_S = 400
KINDS = {spec.name: spec.kind for spec in SPECS}
Row = Mapping[str, Any]


@dataclass(frozen=True)
class PublicPeer:
    """A matcher: how profiles and events are said in its language, and the command of its program."""

    name: str
    write: Callable[[Expression], str]
    event: Callable[[Row], str]
    forms: Mapping[str, str]
    """What its program calls each way of giving it an event, and what it is."""
    command: Callable[[], list[str]]
    attributes: str = ""
    """The attributes and their kinds, where it wants to know them first."""


@dataclass(frozen=True)
class PublicRun:
    """Processor time in seconds, by form for one pass over the events; and for each event the profiles that match."""

    build_s: float
    seconds: Mapping[str, float]
    answers: list[list[int]]


def can_say(peer: PublicPeer, profile: Expression) -> bool:
    """Whether a peer's language has a form of the profile."""
    try:
        return bool(peer.write(profile))
    except CannotRun:
        return False


def run_public(peer: PublicPeer, profiles: Sequence[Expression], rows: Sequence[Row]) -> PublicRun:
    """A peer on profiles and events, in a process of its own."""
    command = peer.command()
    with tempfile.TemporaryDirectory() as folder:
        texts = [peer.attributes] if peer.attributes else []
        texts += [_lines(map(peer.write, profiles)), _lines(map(peer.event, rows))]
        files = [Path(folder, str(number)) for number in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
        answers = Path(folder, "answers")
        said = json.loads(on_one_core([*command, *map(str, files), str(answers)], peer.name, TIMEOUT_S))
        found = [sorted(map(int, line.split())) for line in answers.read_text().splitlines()]
    return PublicRun(said.pop("build"), said, found)


def _lines(texts: Iterable[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


# event-ruler: a rule is an object; each attribute has a list of alternatives


def as_rule(profile: Expression) -> str:
    """A profile in the language of event-ruler."""
    parts = profile.items if isinstance(profile, And) else (profile,)
    return json.dumps(dict(_rule_part(part) for part in parts))


def _rule_part(part: Expression) -> tuple[str, list[Any]]:
    match part:
        case Exists(Attribute((name,))):
            return name, [{"exists": True}]
        case TextTest("starts with", Attribute((name,)), text):
            return name, [{"prefix": text}]
        case In(Attribute((name,)), items):
            return name, [_rule_value(item.value) for item in items if isinstance(item, Literal)]
        case Between(Attribute((name,)), Literal(low), Literal(high)):
            return name, [{"numeric": ["=", low] if low == high else [">=", low, "<=", high]}]
        case Compare("!=", Attribute((name,)), Literal(value)):
            return name, [{"anything-but": [value]}]
        case Compare("=", Attribute((name,)), Literal(value)):
            return name, [_rule_value(value)]
        case Compare(symbol, Attribute((name,)), Literal(value)):
            return name, [{"numeric": [symbol, value]}]
        case _:
            raise CannotRun(f"event-ruler has no form of {part}")


def _rule_value(value: Any) -> Any:
    return value if isinstance(value, str | bool) else {"numeric": ["=", value]}


def _ruler() -> list[str]:
    """The command of our program for event-ruler, built if it is not there."""
    tool("java")
    jars, classes = CACHE / "event-ruler", CACHE / "event-ruler-classes"
    if not jars.exists():
        project = _copied("event-ruler-project", "pom.xml")
        copy = ["-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        run_tool([tool("mvn"), *copy], "event-ruler cannot be downloaded", project)
    compile_java("RulerPeer", [SOURCES / "RulerPeer.java"], jars, classes)
    return java("RulerPeer", classes, jars)


# a-tree: an expression over attributes that have a type


def as_expression(profile: Expression) -> str:
    """A profile in the language of a-tree."""
    parts = profile.items if isinstance(profile, And) else (profile,)
    return " and ".join(f"({_tree_part(part)})" for part in parts)


def _tree_part(part: Expression) -> str:
    match part:
        case Exists(Attribute((name,))):
            return f"{name} is not null"
        case In(Attribute((name,)), items):
            return f"{name} in ({', '.join(_tree_value(name, i.value) for i in items if isinstance(i, Literal))})"
        case Between(Attribute((name,)), Literal(low), Literal(high)):
            return f"{name} >= {_tree_value(name, low)} and {name} <= {_tree_value(name, high)}"
        case Compare("=", Attribute((name,)), Literal(bool(value))):
            return name if value else f"not {name}"
        case Compare(symbol, Attribute((name,)), Literal(value)):
            return f"{name} {'<>' if symbol == '!=' else symbol} {_tree_value(name, value)}"
        case _:
            raise CannotRun(f"a-tree has no form of {part}")


def _tree_value(name: str, value: Any) -> str:
    if KINDS[name] == "string":
        return f'"{value}"'
    return f"{value:.5f}" if KINDS[name] == "float" else str(value).lower()


def _tree_event(row: Row) -> str:
    fields = [(name, KINDS[name], value) for name, value in row.items()]
    return "\t".join(
        f"{name} {kind} {value if kind == 'string' else _tree_value(name, value)}" for name, kind, value in fields
    )


def _tree() -> list[str]:
    """The command of our program for a-tree, built if it is not there."""
    project = _copied("a-tree", "Cargo.toml", "atree_peer.rs")
    run_tool([tool("cargo"), "build", "--release", "--quiet"], "a-tree cannot be built", project)
    return [str(project / "target" / "release" / "atree-peer")]


def _copied(folder: str, *names: str) -> Path:
    """A folder to build in, with the files of a project; those that did not change are left alone."""
    project = CACHE / folder
    project.mkdir(parents=True, exist_ok=True)
    for name in names:
        if not (project / name).exists() or (project / name).read_bytes() != (SOURCES / name).read_bytes():
            shutil.copy(SOURCES / name, project)
    return project


A_TREE = PublicPeer(
    "a-tree 0.6.1",
    as_expression,
    _tree_event,
    {"given": "event in its own form", "built": "event from typed values"},
    _tree,
    _lines(f"{kind} {name}" for name, kind in KINDS.items()),
)
RULER = PublicPeer(
    "event-ruler 1.8.1",
    as_rule,
    json.dumps,
    {"given": "event parsed from JSON before", "text": "event from JSON text"},
    _ruler,
)
PUBLIC_PEERS = (A_TREE, RULER)
