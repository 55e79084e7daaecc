"""The error family: what went wrong, where, and what to do next.

Three branches say who has to act. `Misuse` is bad input (the caller mends it; the command line exits with 2),
`Retryable` is a passing condition (try again), `Permanent` is neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from comity.visible import visible


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: a file, a line and column in it (from 1), or an attribute path.

    >>> print(Place(file="types.yaml", line=3, column=7))
    types.yaml:3:7
    """

    file: str | None = None
    line: int | None = None
    column: int | None = None
    path: str | None = None

    def __str__(self) -> str:
        parts = [part for part in (self.file, self.line, self.column) if part is not None]
        text = ":".join(str(part) for part in parts)
        if self.path:
            return f"{text} ({self.path})" if text else self.path
        return text

    def within(self, file: str | None, line: int, column: int) -> Place:
        """The same place, seen from a file whose text at (line, column) holds ours."""
        own_line, own_column = self.line or 1, self.column or 1
        shifted = column + own_column - 1 if own_line == 1 else own_column
        return Place(file=file, line=line + own_line - 1, column=shifted, path=self.path)


class ErrorParts(TypedDict, total=False):
    """What an error may tell beside its message and code."""

    place: Place | None
    hint: str | None
    excerpt: str | None


class ComityError(Exception):
    """Base of every error that Comity raises on purpose.

    `code` is stable and meant for programs; `place` and `hint` are meant for people.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        place: Place | None = None,
        hint: str | None = None,
        excerpt: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.place = place
        self.hint = hint
        self.excerpt = excerpt

    def __str__(self) -> str:
        """Its lines; foreign text in them cannot add one."""
        where = f"{self.place}: " if self.place and str(self.place) else ""
        lines = [visible(f"{where}{self.message} [{self.code}]")]
        if self.excerpt:
            lines.append(visible(self.excerpt, line_ends=True))
        if self.hint:
            lines.append(visible(f"hint: {self.hint}"))
        return "\n".join(lines)

    def located(self, file: str | None, line: int, column: int) -> ComityError:
        """A copy of this error whose place is seen from the file that holds the faulty text."""
        place = (self.place or Place()).within(file, line, column)
        return type(self)(self.message, code=self.code, place=place, hint=self.hint, excerpt=self.excerpt)

    def as_dict(self) -> dict[str, object]:
        """The one JSON shape of an error."""
        place = self.place or Place()
        fields = {
            "code": self.code,
            "message": self.message,
            "file": place.file,
            "line": place.line,
            "column": place.column,
            "path": place.path,
            "hint": self.hint,
        }
        return {key: value for key, value in fields.items() if value is not None}


class Misuse(ComityError):
    """The input is wrong and will stay wrong: mend it."""


class Retryable(ComityError):
    """The same call may succeed later."""


class Permanent(ComityError):
    """The call failed and will fail again, through no fault of the input."""


class Faults(Misuse):
    """Several errors found in one pass, so that all of them can be mended at once."""

    def __init__(self, errors: list[ComityError]) -> None:
        self.errors = errors
        super().__init__("\n".join(str(error) for error in errors), code="faults")

    def __str__(self) -> str:
        return self.message
