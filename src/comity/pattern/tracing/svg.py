"""Just enough of SVG to draw timelines: elements as text, in the order of drawing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from xml.sax.saxutils import escape, quoteattr

_NARROW, _WIDE = frozenset(" .,:;'|!()[]{}ijlIftr/-"), frozenset("mwMWQO@%—…≥≤")


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide a text is, rather too much than too little.

    >>> text_width("iii", 10) < text_width("abc", 10) < text_width("MMM", 10)
    True
    """
    per_em = sum(0.38 if one in _NARROW else 0.95 if one in _WIDE else 0.68 if one.isupper() else 0.62 for one in text)
    return per_em * size * (1.08 if bold else 1)


def fitted(text: str, size: float, width: float) -> str:
    """The text, cut with … if it is wider.

    >>> fitted("abcdefghij", 10, 40)
    'abcd…'
    """
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def wrapped(text: str, size: float, width: float) -> list[str]:
    """The text in lines that are no wider, broken between words.

    >>> wrapped("one two three", 10, 50)
    ['one two', 'three']
    """
    lines: list[str] = []
    for word in text.split(" "):
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [fitted(line, size, width) for line in lines]


class Canvas:
    """Elements one after the other; later ones lie above."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def element(self, tag: str, **attributes: object) -> None:
        """An element without content."""
        self._lines.append(f"<{tag}{_attributes(attributes)}/>")

    def text(self, content: str, x: float, y: float, **attributes: object) -> None:
        """A line of text; its baseline is at y."""
        told = _attributes({"x": x, "y": y, **attributes})
        self._lines.append(f"<text{told}>{escape(_clean(content))}</text>")

    @contextmanager
    def group(self, title: str = "", **attributes: object) -> Iterator[None]:
        """Elements that belong together, with a tooltip."""
        self._lines.append(f"<g{_attributes(attributes)}>")
        if title:
            self._lines.append(f"<title>{escape(_clean(title))}</title>")
        yield
        self._lines.append("</g>")

    def document(self, width: float, height: float, title: str, style: str) -> str:
        """The whole picture."""
        size = f'width="{_number(width)}" height="{_number(height)}" viewBox="0 0 {_number(width)} {_number(height)}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={quoteattr(_clean(title))}>'
        lines = [head, f"<title>{escape(_clean(title))}</title>", f"<style>{style}</style>", *self._lines, "</svg>"]
        return "\n".join(lines) + "\n"


def _attributes(attributes: dict[str, object]) -> str:
    found = ((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items() if value is not None)
    return "".join(f" {name}={quoteattr(_value(value))}" for name, value in found)


def _value(value: object) -> str:
    return _number(value) if isinstance(value, int | float) else _clean(str(value))


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _clean(text: str) -> str:
    """XML has no way to write control characters and halves of surrogate pairs."""
    return "".join(one if one.isprintable() or one == " " else "�" for one in text)
