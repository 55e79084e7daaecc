"""`comity relate`: how two filters stand to each other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from comity.cli.options import argument, option
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption, TypesOption, read_types
from comity.errors import ComityError, Faults, Misuse, Place

if TYPE_CHECKING:
    from comity.expression.scope import Scope
    from comity.filter.filter import Filter
    from comity.filter.relations import Answer

EXAMPLE = "Example:  comity relate 'temperature > 30 degC' 'temperature > 95 degF'"

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("?", "yellow")}


def relate(
    first: Annotated[str, argument("F", "A filter.")],
    second: Annotated[str, argument("G", "Another filter.")],
    types: TypesOption = None,
    type_name: Annotated[str | None, option("NAME", "The type of --types that both are about.", "--type")] = None,
    rates: Annotated[Path | None, option("FILE", "CSV file of exchange rates, for money.")] = None,
    ontology: Annotated[Path | None, option("FILE", "Concepts that units of --types must fit, on top of ours.")] = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Tell whether two filters are satisfiable, identical, overlap or cover each other, and merge them.

    Each answer is yes, no or unknown, with an event that shows it. Without types an attribute has the kinds that its
    constraints give it, and numbers are dense.
    """
    found = _related(*_filters(first, second, _scope(types, type_name, rates, ontology)))
    if format is Format.JSON:
        write_json(_as_json(found), indent=2)
    else:
        _print(found)


@dataclass(frozen=True, slots=True)
class _Related:
    """Two filters and every answer about them."""

    first: Filter
    second: Filter
    satisfiable: tuple[Answer, Answer]
    identical: Answer
    overlaps: Answer
    covers: Answer
    covered_by: Answer
    merge: str

    def witnesses(self) -> Iterator[tuple[str, Answer]]:
        """Whether there is an event for both, for the first only, for the second only; with the event."""
        yield "both", self.overlaps
        yield "first_only", self.covered_by.negated()
        yield "second_only", self.covers.negated()


def _scope(types: Path | None, type_name: str | None, rates: Path | None, ontology: Path | None) -> Scope:
    from comity.expression.scope import Scope
    from comity.meaning.rates import Rates

    known_rates = Rates.read(rates) if rates is not None else None
    if types is None and type_name is None and ontology is None:
        return Scope(convert_open_units=True, rates=known_rates)
    if types is None:
        option = "--ontology" if type_name is None else "--type"
        raise Misuse(f"{option} needs --types", code="missing-option", hint="name the file that declares the type")
    if ontology is not None:
        _check_concepts(types, ontology)
    taxonomy = read_types(types)
    if type_name is None:
        known = ", ".join(one.name for one in taxonomy.types)
        raise Misuse("--types needs --type", code="missing-option", hint=f"one of: {known}")
    return Scope(taxonomy.type(type_name), taxonomy, rates=known_rates)


def _check_concepts(types: Path, ontology: Path) -> None:
    """Refuse types whose units do not measure what their concepts are, by an ontology of the user's own."""
    from comity.document import read_document
    from comity.federation.concepts import misfits
    from comity.meaning.builtin import builtin
    from comity.meaning.ontology_file import read_ontology

    faults: list[ComityError] = list(
        misfits(read_document(types), read_types(types), read_ontology(ontology, onto=builtin()))
    )
    if faults:
        raise Faults(faults)


def _filters(first: str, second: str, scope: Scope) -> tuple[Filter, Filter]:
    """Both filters in one scope; raises `Faults` with what is wrong in either."""
    filters: list[Filter] = []
    faults: list[ComityError] = []
    for name, text in (("F", first), ("G", second)):
        try:
            filters.append(_filter(text, scope))
        except ComityError as error:
            faults.append(error.located(name, 1, 1))
            # What a bad filter left behind is no measure for the other one.
            scope = replace(scope, open_units={}, open_texts={})
    if faults:
        raise Faults(faults)
    return filters[0], filters[1]


def _filter(text: str, scope: Scope) -> Filter:
    from comity.filter.filter import Filter

    try:
        text.encode()
    except UnicodeEncodeError as error:  # bytes of the command line that are no UTF-8 come as lone surrogates
        place = Place(line=1, column=error.start + 1)
        raise Misuse("the filter is not UTF-8 text", code="not-utf-8", place=place) from None
    return Filter(text, scope)


def _related(first: Filter, second: Filter) -> _Related:
    from comity.filter.relations import Answer

    identical = first.identical(second)
    same = Answer(True) if identical else None
    return _Related(
        first,
        second,
        satisfiable=(first.satisfiable(second), second.satisfiable(first)),
        identical=identical,
        overlaps=first.overlaps(second),
        covers=same or first.covers(second),
        covered_by=same or second.covers(first),
        merge=_merged(first, second),
    )


def _merged(first: Filter, second: Filter) -> str:
    """The text of the merger, with the units of open attributes if it then still means the same."""
    from comity.expression.bind import bind_text
    from comity.expression.render import render
    from comity.expression.scope import Scope
    from comity.expression.with_units import with_units
    from comity.filter.merge import merge

    tree = merge(first.tree, second.tree, first.scope)
    if first.scope.type is not None:
        return render(tree)
    text = render(with_units(tree, first.scope.open_units))
    try:
        alone = Scope(convert_open_units=True, rates=first.scope.rates)
        return text if bind_text(text, alone) == tree else render(tree)
    except Misuse:
        return render(tree)


def _as_json(found: _Related) -> dict[str, Any]:
    return {
        "satisfiable": [answer.value for answer in found.satisfiable],
        "identical": found.identical.value,
        "overlaps": found.overlaps.value,
        "covers": found.covers.value,
        "covered_by": found.covered_by.value,
        "merge": found.merge,
        "witness": {name: _event(answer) for name, answer in found.witnesses()},
    }


def _event(answer: Answer) -> dict[str, Any] | None:
    from comity.event.formats.jsonlines import encode

    if not answer or answer.witness is None:
        return None
    return dict(json.loads(encode(answer.witness)))


def _print(found: _Related) -> None:
    out = console()
    out.print(f"F  {found.first.text}")
    out.print(f"G  {found.second.text}")
    out.print()
    answers = {
        "F satisfiable": found.satisfiable[0],
        "G satisfiable": found.satisfiable[1],
        "identical": found.identical,
        "overlap": found.overlaps,
        "F covers G": found.covers,
        "G covers F": found.covered_by,
    }
    for question, answer in answers.items():
        mark, style = _MARKS[answer.value]
        out.print(f"  {question:<15}", end="")
        out.print(mark, style=style)
    out.print()
    out.print(f"merger     {found.merge}")
    out.print()
    titles = {"both": "F and G", "first_only": "F, not G", "second_only": "G, not F"}
    for name, answer in found.witnesses():
        out.print(f"{titles[name]:<10} {_shown(answer, whole=_reads_envelope(found))}")


def _shown(answer: Answer, *, whole: bool) -> str:
    event = _event(answer)
    if event is not None:
        return json.dumps(event if whole else event["data"], ensure_ascii=False)
    return {True: "there are such events", False: "no event", None: "unknown"}[answer.value]


def _reads_envelope(found: _Related) -> bool:
    """Whether the envelope of an event matters, and not its data alone."""
    from comity.expression.tree import Attribute, IsType, walk

    if found.first.scope.type is not None:
        return True
    parts = [part for one in (found.first, found.second) for part in walk(one.tree)]
    return any(isinstance(part, IsType) or (isinstance(part, Attribute) and part.path[0] == "event") for part in parts)
