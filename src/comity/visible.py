"""Foreign text made visible: what steers a terminal, or turns the order of letters round, is written out.

Names, identifiers and records come from others. A line end in one of them could forge a line of output, an escape
sequence could colour, move or rename what stands on the terminal, a bidirectional override could show a name as another
one. Such characters are written as JSON writes them (`\\u001b`), so that JSON stays JSON and means the same.
"""

from __future__ import annotations

import json
import re

_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, of the terminal too, but for the tab; line ends are dealt with apart
    "\xad\u061c\u180e\u200b\u200e\u200f\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # without a shape
    "\u2028\u2029\u202a-\u202e"  # line ends of Unicode, and overrides of the direction
    "\ud800-\udfff"  # halves of characters
)
_HIDDEN_OR_LINE_END = re.compile(f"[\n{_HIDDEN}]")
_HIDDEN_ONLY = re.compile(f"[{_HIDDEN}]")


def visible(text: str, *, line_ends: bool = False) -> str:
    """The text with its hidden characters written out; line ends, too, unless they are the caller's own.

    >>> print(visible("fires\\n\\x1b[2Jerror: none"))
    fires\\n\\u001b[2Jerror: none
    """
    pattern = _HIDDEN_ONLY if line_ends else _HIDDEN_OR_LINE_END
    return pattern.sub(_written_out, text)


def visible_bytes(content: bytes) -> bytes:
    """The same for lines of UTF-8 on their way to a terminal.

    >>> visible_bytes(b'{"id": "\\xc2\\x9b2J"}\\n')
    b'{"id": "\\\\u009b2J"}\\n'
    """
    return visible(content.decode(errors="replace"), line_ends=True).encode()


def has_hidden(text: str) -> bool:
    """Whether there is something in it that a reader would not see.

    >>> has_hidden("Bad, oben"), has_hidden("fires\\n")
    (False, True)
    """
    return _HIDDEN_OR_LINE_END.search(text) is not None


def _written_out(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if found[0] != "\x7f" else "\\u007f"
