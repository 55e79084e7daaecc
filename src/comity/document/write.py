"""Writing data as YAML that our reader reads back as it was."""

from __future__ import annotations

import re
from typing import Any

import yaml  # type: ignore[import-untyped, unused-ignore]

_FOLDED = re.compile("[\r\x85\u2028\u2029]")


def write_yaml(data: Any) -> str:
    """The text of a file.

    >>> print(write_yaml({"profiles": {"hot": {"on": "Fire", "where": "heat > 40"}}}), end="")
    profiles:
      hot:
        on: Fire
        where: heat > 40
    """
    written: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return written


class _Dumper(yaml.SafeDumper):  # type: ignore[misc, unused-ignore]
    """Writes no aliases, which our files do not have, and no words in quotes that mean themselves to our reader."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def text(self, data: str) -> Any:
        """YAML 1.2 knows more numbers than the library does, and fewer line ends."""
        style = "'" if data[:1] in "+-.0123456789" else None
        if _FOLDED.search(data):
            style = '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.text)
# `on`, `off`, `yes` and `no` are words to our reader.
_Dumper.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":bool") or first in "tTfF"]
    for first, resolvers in yaml.SafeDumper.yaml_implicit_resolvers.items()
}
