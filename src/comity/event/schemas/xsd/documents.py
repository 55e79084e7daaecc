"""The documents that make up one XML Schema: the one that was named, and the files that it includes and imports."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from comity.document import read_text
from comity.errors import Misuse
from comity.event.schemas.xml_text import parse_xml
from comity.event.schemas.xsd.nodes import children, local

FOLLOWED = ("include", "import", "redefine", "override")
MAX_DOCUMENTS = 500
"""Files that one schema may be made of."""


@dataclass(frozen=True, slots=True)
class SchemaDocument:
    """One document of a schema, and whether its types are of the namespace that is read."""

    root: Any
    file: str | None
    own: bool = True

    def nodes(self) -> list[Any]:
        """What stands at its top."""
        return list(children(self.root)) if local(self.root) == "schema" else [self.root]

    def refers_to(self, node: Any) -> str | None:
        """The path that an include or import names; None if it names none on this machine."""
        location = urlsplit(node.get("schemaLocation") or "")
        if self.file is None or not location.path or location.scheme not in ("", "file"):
            return None
        return os.path.realpath(os.path.join(os.path.dirname(self.file), unquote(location.path)))


def documents_of(root: Any, file: str | None, note: Callable[[str], None]) -> list[SchemaDocument]:
    """The document of a root, and those that it leads to, as far as they are files; nothing is fetched.

    `note` is told when the files cannot be found out.
    """
    first = SchemaDocument(root, file)
    if file is None or not any(local(node) in FOLLOWED for node in first.nodes()):
        return [first]
    space = root.get("targetNamespace")
    found = [first]
    for path in _files(file, note):
        shown = os.path.join(os.path.dirname(file), os.path.relpath(path, os.path.dirname(os.path.realpath(file))))
        try:
            other = parse_xml(read_text(path), shown)
        except Misuse as error:
            note(f"`{shown}` is not followed: {error.message}")
            continue
        found.append(SchemaDocument(other, shown, other.get("targetNamespace") in (space, None)))
    return found


def _files(file: str, note: Callable[[str], None]) -> list[str]:
    """The other files of a schema, as a library finds them that knows all the ways to refer to them."""
    import xmlschema  # it takes a while to import

    own = os.path.dirname(xmlschema.__file__)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the reader notes what it does not find
            schema = xmlschema.XMLSchema11(
                os.path.abspath(file), build=False, validation="skip", allow="local", defuse="always"
            )
    except (xmlschema.XMLSchemaException, SyntaxError, ValueError, OSError, RecursionError) as error:
        note(f"its includes and imports are not followed: {_first_line(error)}")
        return []
    found = sorted(path for path in _paths(schema) if not path.startswith(own) and path != os.path.realpath(file))
    if len(found) > MAX_DOCUMENTS:
        note(f"of {len(found)} files that it leads to {MAX_DOCUMENTS} are followed")
    return found[:MAX_DOCUMENTS]


def _paths(schema: Any) -> Iterator[str]:
    for one in schema.maps.iter_schemas():
        address = urlsplit(one.url or "")
        if address.scheme == "file":
            yield os.path.realpath(Path(unquote(address.path)))


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
