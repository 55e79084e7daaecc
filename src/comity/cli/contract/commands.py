"""`comity contract check` and `comity contract test`: what mappings keep and lose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.options import FederationArgument, group, option
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption
from comity.errors import Misuse, Place

if TYPE_CHECKING:
    from rich.console import Console

    from comity.contract.mapping import Mapping
    from comity.contract.properties import AttributeProperties, Loss, MappingProperties
    from comity.contract.round_trip import RoundTrip, RoundTripDifference
    from comity.event.event import Event
    from comity.federation import Contract, Federation

EXAMPLE = "Example:  comity contract check examples/active_city"
CHECK_EXAMPLE = "Example:  comity contract check examples/active_city --contract fire --strict"
TEST_EXAMPLE = "Example:  comity contract test examples/active_city --contract fire --count 500"

_SHOWN = 10

app = group("Check, test, suggest and compare contracts; make, change, join and leave them with other domains.")

ContractOption = Annotated[
    str | None,
    option("NAME", "Only this contract, also of federations inside.", "--contract"),
]


@dataclass(frozen=True, slots=True)
class _Use:
    """A mapping in a contract, and who has it in which role."""

    contract: Contract
    role: str
    domain: str
    mapping: Mapping

    @property
    def title(self) -> str:
        ends = f"{self.mapping.source.qualified_name} → {self.mapping.target.qualified_name}"
        return f"{self.role} {self.domain}: {ends}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "contract": self.contract.name,
            "role": self.role,
            "domain": self.domain,
            "source": self.mapping.source.qualified_name,
            "target": self.mapping.target.qualified_name,
        }


@app.command(epilog=CHECK_EXAMPLE)
def check(
    federation: FederationArgument,
    contract: ContractOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Leave with 1 if everyday events are rejected or something is lost.")
    ] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Show for every mapping what is total, lossless and order preserving, and what is lost.

    What is claimed is proved from the expressions; what is denied comes with an example. A faithful mapping has an
    inverse, so that a domain can observe the contract in its own type with `map: inverse`.
    """
    from comity.contract.properties import properties
    from comity.federation import load

    found = [(use, properties(use.mapping)) for use in _uses(load(federation), contract)]
    if format is Format.JSON:
        write_json({"mappings": [use.as_dict() | _properties_dict(one) for use, one in found]}, indent=2)
    else:
        _print_check(console(), found)
    if strict and not all(one.is_faithful for _, one in found):
        raise typer.Exit(1)


@app.command("test", epilog=TEST_EXAMPLE)
def try_out(
    federation: FederationArgument,
    contract: ContractOption = None,
    events: Annotated[list[str] | None, option("PATH", "Events: a file or folder; may be repeated.")] = None,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="Without --events: so many samples a type.")] = 200,
    seed: Annotated[int, typer.Option(metavar="N", help="Without --events: another seed, other samples.")] = 0,
    format: FormatOption = Format.TEXT,
) -> None:
    """Send sample events to the contract's type and back, and report what comes back otherwise.

    The way back is the derived inverse, or else the domain's own observer mapping. Leaves with 1 if a mapping that is
    said to be lossless loses something, or rejects what it is said to accept: a wrong declaration of an extension
    function, or a bug.
    """
    from comity.federation import load

    loaded = load(federation)
    given = _read_events(loaded, events) if events else None
    found = [(use, _tested(use, given, count, seed)) for use in _uses(loaded, contract) if use.role == "member"]
    if format is Format.JSON:
        write_json({"mappings": [use.as_dict() | _trip_dict(one) for use, one in found]}, indent=2)
    else:
        _print_test(console(), found)
    if not all(one.is_as_claimed for _, one in found):
        raise typer.Exit(1)


def _uses(federation: Federation, name: str | None) -> Iterator[_Use]:
    for contract in _contracts(federation, name):
        for role, by_domain in (("member", contract.members), ("observer", contract.observers)):
            for domain, mappings in by_domain.items():
                yield from (_Use(contract, role, domain, mapping) for mapping in mappings)


def _contracts(federation: Federation, name: str | None) -> list[Contract]:
    from comity.document import did_you_mean

    if name is None:
        return list(federation.contracts.values())
    inside = [one for known, one in federation.contracts.items() if known.endswith(f".{name}")]
    found = [federation.contracts[name]] if name in federation.contracts else inside
    if not found:
        hint = did_you_mean(name, federation.contracts) or f"known: {', '.join(sorted(federation.contracts))}"
        raise Misuse(f"there is no contract {name!r}", code="unknown-contract", hint=hint)
    return found


# check


def _print_check(shown: Console, found: list[tuple[_Use, MappingProperties]]) -> None:
    contract = None
    for use, one in found:
        if use.contract is not contract:
            contract = use.contract
            shown.print(
                f"contract {contract.name}, {contract.kind.value}: {contract.type.qualified_name}", style="bold"
            )
        shown.print(f"  {use.title}")
        for line in (*_verdicts(one), *_table([_row(attribute) for attribute in one.attributes])):
            shown.print(f"    {line}")
        for loss in one.lost:
            shown.print(f"    lost: {'.'.join(loss.path)}: {loss.text}{_example(loss)}", style="yellow")
    faithful = sum(one.is_faithful for _, one in found)
    mappings = "1 mapping" if len(found) == 1 else f"{len(found)} mappings"
    console(stderr=True).print(f"{mappings} checked, {faithful} of them faithful", style="dim")


def _verdicts(one: MappingProperties) -> Iterator[str]:
    from comity.contract.properties import Fidelity, Total
    from comity.expression.render import render
    from comity.expression.tree import TRUE

    yield f"total: {one.total.value}" + ("" if one.total is Total.ALWAYS else f"; accepted when {render(one.accepted)}")
    bound = f"; a number x comes back within {_bound(one)}" if one.lossless is Fidelity.ROUNDING else ""
    within = "" if one.within == TRUE or one.inverse is None else f"; when {render(one.within)}"
    yield f"lossless: {one.lossless.value}{bound}{within}"
    if one.inverse is None:
        yield "inverse: none can be derived"
        return
    declared = f" (as declared of {', '.join(one.inversion.declared)})" if one.inversion.declared else ""
    yield f"inverse{declared}: " + ", ".join(
        f"{'.'.join(path)} = {render(made)}" for path, made in one.inverse.expressions
    )


def _bound(one: MappingProperties) -> str:
    parts = [f"{float(one.relative):.1e} |x|"] if one.relative else []
    return " + ".join([*parts, f"{float(one.absolute):.1e}"] if one.absolute else parts)


def _row(one: AttributeProperties) -> tuple[str, ...]:
    from comity.contract.properties import Total
    from comity.expression.render import render

    orders = "; ".join(f"{order} in {'.'.join(path)}" for path, order in one.order.items())
    when = "" if one.total is Total.ALWAYS else f" (when {render(one.when)})"
    declared = f" (declared: {', '.join(one.declared)})" if one.declared else ""
    made = render(one.made_from)
    return ".".join(one.path), f"= {made}", f"total {one.total.value}{when}", _kept(one), orders + declared


def _kept(one: AttributeProperties) -> str:
    if one.injective is None:
        return "constant"
    words = {"exact": "keeps all", "up to rounding": "keeps all up to rounding", "no": "loses something"}
    return words.get(one.injective.value, "may lose something") + _collapsed(one)


def _collapsed(one: AttributeProperties) -> str:
    """Two values that become one, if such are known."""
    from comity.expression.evaluate import evaluate
    from comity.expression.tree import attributes

    if one.collision is None:
        return ""
    first, second = one.collision
    differ = [path for path in sorted(attributes(one.made_from)) if first.get(path) != second.get(path)]
    told = (_values(event, differ) for event in one.collision)
    return f": {' and '.join(told)} both give {_value(evaluate(one.made_from, first))}"


def _values(event: Event, paths: list[tuple[str, ...]]) -> str:
    if len(paths) == 1:
        return _value(event.get(paths[0]))
    return ", ".join(f"{'.'.join(path)} {_value(event.get(path))}" for path in paths)


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Rows in columns, as wide as their widest cell but no wider than a line can bear."""
    widths = [min(max(map(len, column)), 48) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _example(loss: Loss) -> str:
    if loss.example is None:
        return " (no example found)"
    first, second = (_value(event.get(loss.path)) for event in loss.example)
    return f", as with {first} and {second}"


def _value(value: Any) -> str:
    from comity.expression.clauses import value_text

    return "missing" if value is None else value_text(value)


def _properties_dict(one: MappingProperties) -> dict[str, Any]:
    from comity.expression.render import render

    inverse = one.inverse
    return {
        "total": one.total.value,
        "accepted_when": render(one.accepted),
        "rejected_example": _event_dict(one.rejected),
        "lossless": one.lossless.value,
        "within": render(one.within),
        "relative_error": float(one.relative),
        "absolute_error": float(one.absolute),
        "faithful": one.is_faithful,
        "declared": list(one.inversion.declared),
        "inverse": None if inverse is None else {".".join(path): render(made) for path, made in inverse.expressions},
        "attributes": [_attribute_dict(attribute) for attribute in one.attributes],
        "lost": [
            {
                "attribute": ".".join(loss.path),
                "code": loss.code,
                "reason": loss.text,
                "example": None if loss.example is None else [_event_dict(event) for event in loss.example],
            }
            for loss in one.lost
        ],
    }


def _attribute_dict(one: AttributeProperties) -> dict[str, Any]:
    from comity.expression.render import render

    return {
        "attribute": ".".join(one.path),
        "expression": render(one.made_from),
        "total": one.total.value,
        "value_when": render(one.when),
        "missing_example": _event_dict(one.without_value),
        "injective": one.injective.value if one.injective else None,
        "order": {".".join(path): str(order) for path, order in one.order.items()},
        "declared": list(one.declared),
    }


def _event_dict(event: Event | None) -> Any:
    import json

    from comity.event.formats.jsonlines import encode

    return None if event is None else json.loads(encode(event))


# test


def _read_events(federation: Federation, paths: list[str]) -> list[Event]:
    from comity.event.event import Event
    from comity.event.files import read_events

    found = [one for path in paths for one in read_events(path, federation.find_type)]
    events = [one for one in found if isinstance(one, Event)]
    if len(events) < len(found):
        refused = f"{len(found) - len(events)} records are no events of the federation and are left out"
        console(stderr=True).print(refused, style="yellow")
    if not events:
        place = Place(", ".join(paths))
        raise Misuse("there are no events in it", code="no-events", place=place, hint="leave out --events for samples")
    return events


def _tested(use: _Use, given: list[Event] | None, count: int, seed: int) -> RoundTrip:
    from random import Random

    from comity.contract.properties import properties
    from comity.contract.round_trip import round_trip
    from comity.contract.sample import sample_events

    mapping = use.mapping
    if given is None:
        around = [made for _, made in mapping.expressions]
        events = list(sample_events(mapping.source, count, around=around, chance=Random(seed)))
    else:
        events = [event for event in given if event.type == mapping.source.qualified_name]
    observers = use.contract.observers.get(use.domain, ())
    own = [one for one in observers if one.target.qualified_name in mapping.source.lineage]
    claimed, observer = properties(mapping), next(iter([*own, *observers]), None)
    present = [(one.path, one.when) for one in claimed.attributes]
    return round_trip(mapping, events, claimed.inversion, observer, accepted=claimed.accepted, present=present)


def _print_test(shown: Console, found: list[tuple[_Use, RoundTrip]]) -> None:
    for use, one in found:
        shown.print(f"contract {use.contract.name}, {use.title}")
        shown.print(f"  {_way_back(one)}; {_counts(one)}")
        for way, counted in (("", one.rejected), (" on the way back", one.rejected_back)):
            for (path, reason), count in counted.most_common():
                shown.print(f"  rejected{way}, {count} times: {path}: {reason}", style="yellow")
        if one.unexpected:
            against = "events were rejected, or got no value, that were said to be accepted"
            shown.print(f"  {one.unexpected} {against}", style="red")
        for difference in one.differences[:_SHOWN]:
            shown.print(f"  {_difference(difference)}", style="red" if difference.breaks_a_claim else "yellow")
        if len(one.differences) > _SHOWN:
            shown.print(f"  … and {len(one.differences) - _SHOWN:,} more")
    broken = sum(not one.is_as_claimed for _, one in found)
    verdict = f"{broken} of {len(found)} mappings are not what they are said to be" if broken else "all is as claimed"
    console(stderr=True).print(verdict, style="red" if broken else "green")


def _way_back(one: RoundTrip) -> str:
    if one.back is None:
        return "no way back: no inverse and no observer mapping of the domain"
    if one.is_derived:
        return "back through the derived inverse"
    return f"back through the observer mapping to {one.back.target.qualified_name}"


def _counts(one: RoundTrip) -> str:
    events = "1 event" if one.events == 1 else f"{one.events:,} events"
    return f"{events}, {one.refused} rejected, {one.rounded} rounded, {len(one.differences)} differences"


def _difference(one: RoundTripDifference) -> str:
    place = f"event {one.event.id}, {'.'.join(one.path)}"
    return f"{place}: {_value(one.before)} came back as {_value(one.after)}: {one.reason}"


def _trip_dict(one: RoundTrip) -> dict[str, Any]:
    return {
        "events": one.events,
        "back": None if one.back is None else "inverse" if one.is_derived else one.back.target.qualified_name,
        "refused": one.refused,
        "against_what_was_said": one.unexpected,
        "rounded": one.rounded,
        "rejected": _reasons(one.rejected.most_common()),
        "rejected_back": _reasons(one.rejected_back.most_common()),
        "as_claimed": one.is_as_claimed,
        "differences": [
            {
                "event": _event_dict(difference.event),
                "attribute": ".".join(difference.path),
                "before": _value(difference.before),
                "after": _value(difference.after),
                "reason": difference.reason,
                "breaks_a_claim": difference.breaks_a_claim,
            }
            for difference in one.differences
        ],
    }


def _reasons(counted: list[tuple[tuple[str, str], int]]) -> list[dict[str, Any]]:
    return [{"attribute": path, "reason": reason, "count": count} for (path, reason), count in counted]
