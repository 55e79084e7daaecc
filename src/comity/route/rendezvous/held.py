"""What clients of a node hold, and in the trees of which types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import assert_never

from comity.errors import Misuse
from comity.route.broker import RoutingBroker
from comity.route.changes import Change, Hold, Leave, Release
from comity.route.filters import RouteFilter
from comity.route.messages import Key, Topic

_Held = tuple[Topic, str, Key]


class HeldTypes:
    """The types of every subscription and advertisement."""

    def __init__(self) -> None:
        self._types: dict[_Held, tuple[str, ...]] = {}
        self._of_type: dict[str, dict[_Held, None]] = {}
        self._advertised: Counter[str] = Counter()

    def is_advertised(self, type: str) -> bool:
        """Whether some client publishes the type."""
        return self._advertised[type] > 0

    def types_of_client(self, client: str) -> list[str]:
        """The types of which a client holds anything."""
        own = (types for (_, name, _), types in self._types.items() if name == client)
        return list(dict.fromkeys(type for types in own for type in types))

    def by_type(
        self, changes: Iterable[Change], types: Callable[[RouteFilter], Iterable[str]]
    ) -> dict[str, list[Change]]:
        """The changes in each tree, which count from now on."""
        found: dict[str, list[Change]] = {}
        for change in changes:
            match change:
                case Hold(topic, client, key, filter):
                    self._add((topic, client, key), change, tuple(types(filter)), found)
                case Release(topic, client, key):
                    self._remove((topic, client, key), found)
                case Leave(client):
                    for held in [held for held in self._types if held[1] == client]:
                        self._remove(held, found)
                case _:
                    assert_never(change)
        return found

    def _add(self, held: _Held, change: Change, types: tuple[str, ...], found: dict[str, list[Change]]) -> None:
        topic, client, key = held
        if held in self._types:
            raise Misuse(f"{client} has {key!r} already", code="duplicate-key", hint="take it back first")
        self._types[held] = types
        for type in types:
            self._of_type.setdefault(type, {})[held] = None
            if topic is Topic.ADVERTISEMENTS:
                self._advertised[type] += 1
            found.setdefault(type, []).append(change)

    def _remove(self, held: _Held, found: dict[str, list[Change]]) -> None:
        topic, client, key = held
        if held not in self._types:
            raise Misuse(f"{client} has no {key!r}", code="unknown-key")
        for type in self._types[held]:
            self._drop(held, type)
            found.setdefault(type, []).append(Release(topic, client, key))
        del self._types[held]

    def end(self, type: str) -> list[_Held]:
        """A type has gone. Gives what is left without any type; it stands, for nothing, until it is taken back."""
        gone = list(self._of_type.get(type, ()))
        for held in gone:
            self._drop(held, type)
        return [held for held in gone if not self._types[held]]

    def forget_ended(self, type: str, broker: RoutingBroker) -> None:
        """Forget what has ended in a tree with its lease."""
        for held in [held for held in self._of_type.get(type, ()) if not broker.is_held(*held)]:
            self._drop(held, type)
            if not self._types[held]:
                del self._types[held]

    def _drop(self, held: _Held, type: str) -> None:
        self._types[held] = tuple(one for one in self._types[held] if one != type)
        del self._of_type[type][held]
        if not self._of_type[type]:
            del self._of_type[type]
        if held[0] is Topic.ADVERTISEMENTS:
            self._advertised[type] -= 1
            if not self._advertised[type]:
                del self._advertised[type]
