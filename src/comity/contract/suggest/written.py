"""A proposal as a contract file, with what a person must know as comments."""

from __future__ import annotations

import json
from collections.abc import Iterator

from comity.contract.suggest.proposal import Proposal, ProposedAttribute, Side, Unmatched
from comity.event.types import AttributeType, EventType
from comity.expression.render import render_path


def contract_text(proposal: Proposal) -> str:
    """The contract file. It loads as it is, with everything that is not known commented out."""
    lines = [*_head(proposal), f"contract: {_quoted(proposal.contract)}"]
    lines += [
        f"founders: [{_quoted(proposal.left.namespace)}, {_quoted(proposal.right.namespace)}]",
        "",
        *_type(proposal),
    ]
    if proposal.tables:
        lines += ["", "tables:", *_tables(proposal)]
    lines += ["", "members:", *_member(proposal, proposal.left, "left"), *_member(proposal, proposal.right, "right")]
    return "\n".join(lines) + "\n"


def _head(proposal: Proposal) -> Iterator[str]:
    yield f"# Proposed for {proposal.left.qualified_name} and {proposal.right.qualified_name}."
    if proposal.decisions:
        yield "# To decide:"
    for number, one in enumerate(proposal.decisions, start=1):
        yield _comment(f"{number:>3}. {one.question} [{one.code}].")


def _type(proposal: Proposal) -> Iterator[str]:
    yield "types:"
    yield f"  {_quoted(proposal.type_name)}:"
    yield "    attributes:"
    for one in proposal.attributes:
        yield f"      {_quoted(one.name)}: {declaration(one.type)}  {_comment(_why(one))}"
    for left in proposal.unmatched:
        kept = declaration(left.attribute.type.as_optional())
        yield f"      # {_quoted(_flat(left))}: {kept}  # only {left.type.namespace} has it"


def _why(one: ProposedAttribute) -> str:
    of = " and ".join(", ".join(side.names) or "the envelope" for side in (one.left, one.right))
    return f"{one.confidence} of 100, {of}: {'; '.join(one.reasons)}"


def _tables(proposal: Proposal) -> Iterator[str]:
    for name, rows in proposal.tables.items():
        inner = ", ".join(f"{_quoted(key)}: {_value(value)}" for key, value in rows.items())
        yield f"  {_quoted(name)}: {{{inner}}}"


def _member(proposal: Proposal, type: EventType, side: str) -> Iterator[str]:
    yield f"  {_quoted(type.namespace)}:"
    yield f"    type: {_quoted(type.name)}"
    given: list[tuple[ProposedAttribute, Side]] = [(one, getattr(one, side)) for one in proposal.attributes]
    yield "    map:" if any(made.expression for _, made in given) else "    map: {}"
    for one, made in given:
        if made.expression is None:
            yield _comment(f"{one.name}: …, made from {', '.join(made.names)}", "      ")
        else:
            yield f"      {_quoted(one.name)}: {_quoted(made.expression)}"
    for left in proposal.unmatched:
        if left.type is type:
            yield _comment(f"{_quoted(_flat(left))}: {_quoted(render_path(left.attribute.path))}", "      ")


def _flat(one: Unmatched) -> str:
    return "_".join(one.attribute.path)


def _comment(text: str, lead: str = "") -> str:
    printable = "".join(char if char.isprintable() else " " for char in text)
    return f"{lead}# {printable}"


def _quoted(text: object) -> str:
    """A text as YAML: a plain name as it is, anything else in double quotes."""
    if isinstance(text, str) and all(part.isidentifier() and part.isascii() for part in text.split(".")):
        return text if text.lower() not in _NOT_PLAIN else f'"{text}"'
    inner = (char if char.isprintable() and char not in '"\\' else f"\\U{ord(char):08x}" for char in str(text))
    return '"' + "".join(inner) + '"'


def _value(value: object) -> str:
    """A value of a table."""
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


_NOT_PLAIN = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf"})


def declaration(type: AttributeType) -> str:
    """An attribute's declaration in one line: short where that says all.

    >>> from comity.event.kinds import Kind
    >>> declaration(AttributeType(Kind.FLOAT, True, "degC")), declaration(AttributeType(Kind.STRING, concept="City"))
    ('float degC?', '{kind: string, concept: City}')
    """
    if not (type.concept or type.attributes or type.element or type.context):
        return str(type)
    fields = [f"kind: {type.kind}"]
    fields += [f"unit: {_quoted(type.unit)}"] if type.unit else []
    fields += [f"context: {json.dumps(type.context, default=dict)}"] if type.context else []
    fields += [f"concept: {_quoted(type.concept)}"] if type.concept else []
    if type.attributes:
        inner = ", ".join(f"{_quoted(name)}: {declaration(one)}" for name, one in type.attributes.items())
        fields.append(f"attributes: {{{inner}}}")
    fields += [f"of: {declaration(type.element)}"] if type.element else []
    fields += ["optional: true"] if type.optional else []
    return f"{{{', '.join(fields)}}}"
