"""What nodes of a rendezvous overlay tell each other of types, between the form on the wire and that of the routing."""

from __future__ import annotations

from typing import assert_never

from comity.route.rendezvous.messages import (
    Attach,
    KeepRecord,
    Passed,
    Publish,
    RecordKept,
    TypeGone,
    TypeRecord,
)
from comity.wire import AttachTree, HandedOn, KeptType, RemovedType, SaidType
from comity.wire.faults import malformed

TypeMessage = AttachTree | SaidType | HandedOn | RemovedType
PlainTypeControl = Attach | Publish | Passed | TypeGone
"""All but what is told in the tree of a type, which has the form of what is told in any tree."""


def written_type_control(control: PlainTypeControl) -> TypeMessage:
    """The message for what the routing tells a neighbour."""
    match control:
        case Attach(type, on):
            return AttachTree(type, on)
        case Publish(record):
            return _said(record)
        case Passed():
            return _handed_on(control)
        case TypeGone(type):
            return RemovedType(type)
        case _:
            assert_never(control)


def _handed_on(passed: Passed) -> HandedOn:
    match passed.body:
        case KeepRecord(record, by):
            return HandedOn(passed.to, by, passed.hops, record=_said(record))
        case RecordKept(type, version, by, life):
            return HandedOn(passed.to, by, passed.hops, kept=KeptType(type, version, life))
        case _:
            assert_never(passed.body)


def _said(record: TypeRecord) -> SaidType:
    return SaidType(record.name, record.definition, record.version, record.removed)


def read_type_control(message: TypeMessage) -> PlainTypeControl:
    """What a neighbour told."""
    match message:
        case AttachTree(type, on):
            return Attach(type, on)
        case SaidType():
            return Publish(_record(message))
        case HandedOn(to, by, hops, record, kept):
            if record is not None:
                return Passed(to, KeepRecord(_record(record), by), hops)
            if kept is not None:
                return Passed(to, RecordKept(kept.name, kept.version, by, kept.life), hops)
            raise malformed("something that is handed on, and is nothing")
        case RemovedType(type):
            return TypeGone(type)
        case _:
            assert_never(message)


def _record(said: SaidType) -> TypeRecord:
    return TypeRecord(said.name, said.definition, said.version, said.removed)
