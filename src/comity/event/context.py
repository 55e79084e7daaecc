"""Contexts: what must be known of a value to understand it, beyond its kind and its unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Context(Mapping[str, Any]):
    """Named properties, each a text, a number, true or false, a list, or a context of its own; it never changes.

    Contexts are equal if their properties are, in whatever order they were written.

    >>> context = Context({"codes": "alpha2", "method": {"value": "census", "context": {"year": 2020}}})
    >>> context["method"]["context"]["year"], context == {"method": context["method"], "codes": "alpha2"}
    (2020, True)
    """

    __slots__ = ("_properties",)
    _properties: dict[str, Any]

    def __init__(self, properties: Mapping[str, Any] | None = None) -> None:
        self._properties = {name: _frozen(value) for name, value in (properties or {}).items()}

    def __getitem__(self, name: str) -> Any:
        return self._properties[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._properties)

    def __len__(self) -> int:
        return len(self._properties)

    def __hash__(self) -> int:
        return hash(frozenset(self._properties.items()))

    def __reduce__(self) -> tuple[type[Context], tuple[dict[str, Any]]]:
        return Context, (self._properties,)

    def __repr__(self) -> str:
        return f"Context({self._properties!r})"

    def __str__(self) -> str:
        return "{" + ", ".join(f"{name}: {value}" for name, value in self._properties.items()) + "}"


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Context(value)
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


NO_CONTEXT = Context()
