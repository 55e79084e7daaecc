"""Currencies: the codes of ISO 4217, each of which is a unit, and their English names."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

_NAME = "money_"
_CODE = re.compile(r"(?<![A-Za-z0-9_])[A-Z]{3}(?![A-Za-z0-9_])")


@cache
def currencies() -> Mapping[str, str]:
    """The name of each currency by its code.

    >>> currencies()["EUR"]
    'euro'
    """
    text = resources.files(__package__).joinpath("currencies.csv").read_text(encoding="utf-8")
    return {row["code"]: row["name"] for row in csv.DictReader(text.splitlines())}


def is_currency(unit: str) -> bool:
    """Whether a unit is a currency; codes are in capitals.

    >>> is_currency("USD"), is_currency("usd"), is_currency("km")
    (True, False, False)
    """
    return len(unit) == 3 and unit.isupper() and unit in currencies()


def with_money(registry: Any, text: str) -> str:
    """A unit's text as a registry of units reads it, where each currency is a unit with a dimension of its own."""

    def named(code: str) -> str:
        name = f"{_NAME}{code}"
        if is_currency(code) and name not in registry:
            registry.define(f"{name} = [{name}]")
        return name if is_currency(code) else code

    return _CODE.sub(lambda found: named(found[0]), text)


def without_money(powers: Mapping[str, Any]) -> dict[str, Any]:
    """The powers of a product, its currencies named by their codes.

    >>> without_money({"money_USD": 1, "kilogram": -1})
    {'USD': 1, 'kilogram': -1}
    """
    return {name.replace(_NAME, ""): power for name, power in powers.items()}


def as_money(powers: Mapping[str, Any]) -> dict[str, Any]:
    """The powers of a dimension, in which the one currency, if there is one, is money.

    >>> as_money({"[money_USD]": 1, "[mass]": -1})
    {'[money]': 1, '[mass]': -1}
    """
    kinds = [name for name in powers if name.startswith(f"[{_NAME}")]
    only = kinds[0] if len(kinds) == 1 else None
    return without_money({"[money]" if name == only else name: power for name, power in powers.items()})


def renamed(unit: str, old: str, new: str) -> str:
    """The unit with another currency.

    >>> renamed("USD/kg", "USD", "EUR")
    'EUR/kg'
    """
    return _CODE.sub(lambda found: new if found[0] == old else found[0], unit)
