"""`comity units`: whether a text is a unit, what it measures, and what a value is in another one."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.failure import BAD_INPUT
from comity.cli.options import argument, group
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption
from comity.errors import ComityError, Misuse

if TYPE_CHECKING:
    from comity.meaning.ucum.parse import UnitPart

EXAMPLE = "Example:  comity units convert 86 degF degC"
CHECK_EXAMPLE = "Example:  comity units check 'mm[Hg]' km/h furlong --ucum"
CONVERT_EXAMPLE = "Example:  comity units convert 120 'mm[Hg]' kPa"
SHOW_EXAMPLE = "Example:  comity units show 'kg.m/s2'"

app = group("Check, convert and explain units.")

UcumOption = Annotated[bool, typer.Option("--ucum", help="Read units as UCUM codes, and as nothing else.")]


@app.command(epilog=CHECK_EXAMPLE)
def check(
    units: Annotated[list[str], argument("UNIT…", "Texts to check.")],
    ucum: UcumOption = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Say of each text whether it is a unit. Leaves with 2 if one is not."""
    checked = [(unit, _error(unit, ucum)) for unit in units]
    if format is Format.JSON:
        write_json([{"unit": unit, "valid": error is None, **_why(error)} for unit, error in checked])
    else:
        for unit, error in checked:
            console().print(f"{unit}: {'a unit' if error is None else error.message}")
    if any(error for _, error in checked):
        raise typer.Exit(BAD_INPUT)


# A negative number is an argument here, not an option.
@app.command(epilog=CONVERT_EXAMPLE, context_settings={"ignore_unknown_options": True})
def convert(
    value: Annotated[str, argument("NUMBER", "The number to convert.")],
    source: Annotated[str, argument("UNIT", "Its unit.")],
    target: Annotated[str, argument("TARGET", "The unit that is wanted.")],
    ucum: UcumOption = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Convert a number from one unit into another, exactly wherever the units are rational."""
    from comity.meaning.number import print_number

    result = _converted(value, source, target, ucum)
    exact = isinstance(result, Fraction)
    shown = print_number(result) if isinstance(result, Fraction) else repr(result)
    if format is Format.JSON:
        fraction = {"fraction": str(result)} if exact else {}
        write_json({"value": float(result), "text": shown, "unit": target, "exact": exact, **fraction})
    else:
        console().print(f"{shown} {target}")


@app.command(epilog=SHOW_EXAMPLE)
def show(
    unit: Annotated[str, argument("UNIT", "A unit.")],
    ucum: UcumOption = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Show what a unit measures, and what it is in base units."""
    facts = _facts(unit, ucum)
    if format is Format.JSON:
        write_json(facts)
        return
    for name, fact in facts.items():
        console().print(f"{name:>10}  {', '.join(fact) if isinstance(fact, list) else fact}")


def _error(unit: str, ucum: bool) -> ComityError | None:
    from comity.meaning import ucum as codes
    from comity.meaning.units import check_unit

    try:
        codes.check(unit) if ucum else check_unit(unit)
    except ComityError as error:
        return error
    return None


def _why(error: ComityError | None) -> dict[str, Any]:
    return {} if error is None else {"error": error.as_dict()}


def _converted(value: str, source: str, target: str, ucum: bool) -> Fraction | float:
    from comity.meaning import ucum as codes
    from comity.meaning.number import exact
    from comity.meaning.ucum.unit import PREFIX
    from comity.meaning.units import conversion

    number = exact(value)
    if ucum:
        return codes.convert(number, source, target)
    pair = [text.removeprefix(PREFIX) for text in (source, target)]
    if all(text.startswith(PREFIX) or _means_ucum_only(text) for text in (source, target)):
        return codes.convert(number, *pair)
    return conversion(source, target).apply(number)


def _means_ucum_only(unit: str) -> bool:
    """Whether a text is a UCUM code and has no other reading, so that also curves such as [pH] can be converted."""
    from comity.meaning.ucum import is_ucum
    from comity.meaning.ucum.unit import is_marked
    from comity.meaning.units import conversion

    if is_marked(unit) or not is_ucum(unit):
        return is_ucum(unit)
    try:
        return conversion(unit, f"ucum:{unit}").is_identity
    except Misuse:
        return False


def _facts(unit: str, ucum: bool) -> dict[str, Any]:
    from comity.meaning import ucum as codes
    from comity.meaning.units import dimension

    facts: dict[str, Any] = {"unit": unit}
    if not ucum:
        facts["measures"] = dimension(unit)
    if ucum or _means_ucum_only(unit):
        code = unit.removeprefix("ucum:")
        facts |= {"ucum": code, "parts": _parts(code), "base": codes.dimension(code), **_in_base(code)}
    elif codes.is_ucum(unit):
        facts["note"] = f"UCUM has another unit of this code: ucum:{unit}"
    return facts


def _parts(code: str) -> list[str]:
    from comity.meaning import ucum as codes

    return [_spelled(part) for part in codes.parse(code)]


def _spelled(part: UnitPart) -> str:
    name = str(part.of) if isinstance(part.of, int) else part.of.name
    return name if part.exponent == 1 else f"{name} ^ {part.exponent}"


def _in_base(code: str) -> dict[str, Any]:
    from comity.meaning import ucum as codes
    from comity.meaning.number import print_number

    found = codes.linear(code)
    if found is None:
        return {"scale": "a curve, no multiple of base units"}
    offset = {"offset": print_number(found.offset)} if found.offset else {}
    return {"factor": print_number(found.factor), **offset}
