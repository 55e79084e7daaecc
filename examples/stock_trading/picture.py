"""What the strategies cost, as bars beside each other: an SVG file that stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _BAR, _GAP, _LEFT, _HEAD = 760, 20, 8, 110, 56
_INK, _SOFT, _FILL = "#1e293b", "#64748b", "#2563eb"
_FONT = "font-family=\"system-ui,-apple-system,'Segoe UI',Roboto,sans-serif\""


def bars(title: str, panels: Mapping[str, Mapping[str, int]], notes: Sequence[str]) -> str:
    """A panel for each figure, with a bar for each strategy, drawn to the scale of the panel's largest."""
    height = _HEAD + sum(_panel_height(figures) for figures in panels.values()) + 20 * len(notes) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" {_FONT} fill="{_INK}">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="24" y="34" font-size="18" font-weight="600">{escape(title)}</text>',
    ]
    top = _HEAD
    for name, figures in panels.items():
        parts += _panel(name, figures, top)
        top += _panel_height(figures)
    parts += [_text(24, top + 16 + 20 * number, note, _SOFT) for number, note in enumerate(notes)]
    return "\n".join([*parts, "</svg>\n"])


def _panel_height(figures: Mapping[str, int]) -> int:
    return 34 + len(figures) * (_BAR + _GAP) + 14


def _panel(name: str, figures: Mapping[str, int], top: int) -> list[str]:
    most = max([*figures.values(), 1])
    parts = [f'<text x="24" y="{top + 18}" font-size="13" font-weight="600">{escape(name)}</text>']
    for number, (strategy, figure) in enumerate(figures.items()):
        y = top + 34 + number * (_BAR + _GAP)
        width = round((_WIDTH - _LEFT - 120) * figure / most, 1)
        parts.append(_text(24, y + 15, strategy))
        parts.append(f'<rect x="{_LEFT}" y="{y}" width="{width}" height="{_BAR}" rx="3" fill="{_FILL}"/>')
        parts.append(_text(_LEFT + width + 8, y + 15, f"{figure:,}"))
    return parts


def _text(x: float, y: float, text: str, fill: str = _INK) -> str:
    return f'<text x="{x}" y="{y}" font-size="13" fill="{fill}">{escape(text)}</text>'
