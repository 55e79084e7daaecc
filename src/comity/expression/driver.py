"""Runs the tables that Lark makes of a grammar: the same language and the same callbacks as Lark's own driver, some ten
times faster.

Lark makes an object with line and column of every token, and lists of what fits for every state. Here tokens are plain
texts, white space is skipped by the same match that finds the token, and a chain of rules that only rename a value
(`sum: product`, `product: unary`, …) is followed once and remembered. It says nothing about a text that does not fit:
Lark's driver does, when it reads that text again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from lark import Lark
from lark.parse_tree_builder import ChildFilter, ExpandSingleChild

_END = "$END"
_Reduction = tuple[int, str, Callable[[list[Any]], Any] | None]
"""How many values become one, the name that it has then, and what makes it; None: it stays what it is."""


class Unfit(Exception):
    """The text is not of the language."""


class Driver:
    """The language of a grammar, for texts that are likely to fit.

    `skipped` is the pattern of what the grammar ignores.
    """

    def __init__(self, lark: Lark, skipped: str, start: str = "start") -> None:
        frontend: Any = lark.parser
        table = frontend.parser._parse_table
        made = frontend.parser_conf.callbacks
        self._start: int = table.start_states[start]
        self._end: int = table.end_states[start]
        self._actions: dict[int, dict[str, int | _Reduction]] = {
            state: {str(name): _action(argument, made) for name, (_, argument) in actions.items()}
            for state, actions in table.states.items()
        }
        self._skipped = re.compile(f"(?:{skipped})*+")
        self._tokens = {state: _tokens(lexer, skipped).match for state, lexer in frontend.lexer.lexers.items()}
        self._renamed: dict[tuple[int, int, str], int] = {}

    def parse(self, text: str) -> Any:
        """What the callbacks make of the text; raises `Unfit` when it is not of the language."""
        actions, tokens, renamed, end = self._actions, self._tokens, self._renamed, self._end
        states, values = [self._start], list[Any]()
        state, position = self._start, 0
        while True:
            found = tokens[state](text, position)
            if found is not None:
                kind = found.lastgroup or ""
                value, position = found[found.lastindex or 0], found.end()
            else:
                kind, value = self._at_end(text, position), ""
            action = actions[state].get(kind)
            while action.__class__ is tuple:
                size, name, make = action
                if make is None:
                    key = (states[-2], state, kind)
                    known = renamed.get(key)
                    states[-1] = state = self._rename(key) if known is None else known
                else:
                    made = make(values[-size:])
                    del values[-size:], states[-size:]
                    state = actions[states[-1]][name]  # type: ignore[assignment]
                    if state == end:
                        return made
                    states.append(state)
                    values.append(made)
                action = actions[state].get(kind)
            if action is None:
                raise Unfit
            state = action  # type: ignore[assignment]
            states.append(state)
            values.append(value)

    def _at_end(self, text: str, position: int) -> str:
        skipped = self._skipped.match(text, position)
        if skipped is None or skipped.end() < len(text):
            raise Unfit
        return _END

    def _rename(self, key: tuple[int, int, str]) -> int:
        """The state after all rules that only rename the value on top."""
        below, state, kind = key
        while True:
            action = self._actions[state].get(kind)
            if not isinstance(action, tuple) or action[2] is not None:
                break
            state = self._actions[below][action[1]]  # type: ignore[assignment]
        self._renamed[key] = state
        return state


def _action(argument: Any, made: dict[Any, Callable[[list[Any]], Any]]) -> int | _Reduction:
    """A state to go to, or a rule to apply."""
    if isinstance(argument, int):
        return argument
    callback = made[argument]
    renames = len(argument.expansion) == 1 and isinstance(callback, ExpandSingleChild)
    return len(argument.expansion), str(argument.origin.name), None if renames else _plain(callback)


def _plain(callback: Any) -> Callable[[list[Any]], Any]:
    """What Lark's wrappers around a callback do, without their generality.

    A wrapper says which values of a rule count (`to_include`: its place, whether it is a list of its own, and how many
    missing ones stand before it). A rule without a callback, which Lark makes for `(…)*`, is a list.
    """
    if isinstance(callback, partial):
        return list
    if isinstance(callback, ExpandSingleChild):
        make = _plain(callback.node_builder)
        return lambda values: values[0] if len(values) == 1 else make(values)
    if not isinstance(callback, ChildFilter):
        return callback  # type: ignore[no-any-return]
    make, after = _plain(callback.node_builder), getattr(callback, "append_none", 0)
    included = [(place, expand, sum(missing)) for place, expand, *missing in callback.to_include]
    if not after and not any(expand or missing for _, expand, missing in included):
        places = [place for place, _, _ in included]
        return lambda values: make([values[place] for place in places])
    if make is list and included[0][:2] == (0, True) and len(included) == 2:
        last = included[1][0]
        return lambda values: values[0].append(values[last]) or values[0]

    def filtered(values: list[Any]) -> Any:
        kept: list[Any] = []
        for place, expand, missing in included:
            kept += [None] * missing
            kept += values[place] if expand else (values[place],)
        return make(kept + [None] * after)

    return filtered


def _tokens(lexer: Any, skipped: str) -> re.Pattern[str]:
    """The tokens that fit a state, each a group with its name, after what is ignored."""
    patterns = [part.pattern for part in lexer.scanner._mres]
    return re.compile(f"(?:{skipped})*+(?:{'|'.join(patterns)})")
