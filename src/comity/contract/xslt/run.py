"""Stylesheets that are run: without files, without a network, and with our functions.

The processor has no functions in Python, so a stylesheet gets ours by asking: a call that it cannot answer yet is
noted, the function is called here, and the stylesheet runs again with the answer, until nothing is asked any more.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from lxml import etree  # type: ignore[import-untyped, unused-ignore]

from comity.contract.xslt.form import READERS, text_of, value_of
from comity.document import read_text
from comity.errors import Misuse, Place
from comity.event.kinds import Kind, Value
from comity.event.schemas.xml_text import parse_xml
from comity.expression.extensions import ExtensionFunction

XSL = "http://www.w3.org/1999/XSL/Transform"
FUNCTIONS_URI = "urn:comity:functions"
"""The namespace of extension functions in stylesheets."""
_RUN_URI = "urn:comity:run"
_ASKED = "urn:comity:asked "
_MOST_ROUNDS = 100

_SETTINGS = {
    "http://saxon.sf.net/feature/allowedProtocols": "",
    "http://saxon.sf.net/feature/allow-external-functions": "false",
    "http://saxon.sf.net/feature/disableXslEvaluate": "true",
}
_OUTSIDE = frozenset(
    ("include", "import", "use-package", "import-schema", "source-document", "result-document", "evaluate", "stream")
)
_OUTSIDE_CALLS = re.compile(
    r"(?<![\w:.-])(?:fn:)?(document|doc|doc-available|collection|uri-collection|unparsed-text[a-z-]*|json-doc|transform"
    r"|environment-variable|available-environment-variables|stream-available|function-lookup|load-xquery-module)\s*\("
)
_TEXTS = re.compile(r"'[^']*'|\"[^\"]*\"")

_FRAGMENT = re.compile(r"\s*<xsl:template\b")
_AROUND = (
    f'<xsl:stylesheet version="3.0" xmlns:xsl="{XSL}" xmlns:xs="http://www.w3.org/2001/XMLSchema" '
    f'xmlns:extend="{FUNCTIONS_URI}" exclude-result-prefixes="#all">'
)
_lock = threading.RLock()


@dataclass(frozen=True, slots=True)
class Stylesheet:
    """The text of a stylesheet and the functions that it may call. It can be sent to other processes.

    >>> echo = '<xsl:template match="a"><b><xsl:value-of select="."/></b></xsl:template>'
    >>> Stylesheet(echo).run("<a>1</a>")
    '<b>1</b>'
    """

    text: str
    functions: tuple[ExtensionFunction, ...] = ()
    file: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, given: str | Path, functions: Mapping[str, ExtensionFunction] | None = None) -> Stylesheet:
        """The stylesheet of a file or of a text, checked."""
        file = str(given) if isinstance(given, Path) else None
        text = read_text(given) if isinstance(given, Path) else given
        made = cls(text, tuple((functions or {}).values()), file)
        made.tree()
        with _lock:
            _compiled(made)
        return made

    def tree(self) -> Any:
        """The stylesheet as XML; a fragment as in the seeds, templates alone, is put into a stylesheet."""
        wrapped = f"{_AROUND}{self.text}</xsl:stylesheet>" if _FRAGMENT.match(self.text) else self.text
        root = parse_xml(wrapped, self.file)
        for element in root.iter():
            _check_closed(element, self.file)
        return root

    def run(self, event: str) -> str:
        """What becomes of an event in XML; `Misuse` with code stylesheet-failed when the stylesheet fails."""
        with _lock:
            executable = _compiled(self)
            node = _processor().parse_xml(xml_text=event)
            answers: dict[str, Any] = {}
            for _ in range(_MOST_ROUNDS):
                text, asked = _round(executable, node, answers)
                if not asked - answers.keys():
                    return _result(text, self.file)
                answers |= {question: self._answer(question) for question in asked - answers.keys()}
        raise _failed("its functions call each other without end", self.file)

    def _answer(self, question: str) -> Any:
        name, *texts = json.loads(question)
        function = next(one for one in self.functions if one.name == name)
        arguments = tuple(_argument(text, kinds) for text, kinds in zip(texts, function.takes, strict=True))
        result = function.call(arguments)
        proc = _processor()
        return proc.empty_sequence() if result is None else proc.make_string_value(text_of(result))


def _argument(text: str | None, kinds: frozenset[Kind]) -> Value | None:
    """A text as the first kind that the function takes and the text can be."""
    if text is None:
        return None
    found = (value_of(text, kind) for kind in (Kind.STRING, *READERS) if kind in kinds)
    return next((value for value in found if value is not None), None)


def _check_closed(element: Any, file: str | None) -> None:
    """Refuse what reads or writes outside the event; the processor would do so, too, but only when it gets there."""
    if not isinstance(element.tag, str):
        return
    found = element.tag.removeprefix(f"{{{XSL}}}")
    if found not in _OUTSIDE:
        calls = (_OUTSIDE_CALLS.search(_TEXTS.sub("''", str(text))) for text in element.attrib.values())
        found = next((f"{call[1]}()" for call in calls if call), "")
    if found:
        message = f"{found} reaches for something outside the event"
        place = Place(file, element.sourceline)
        raise Misuse(message, code="stylesheet-not-closed", place=place, hint="use extension functions and tables")


@cache
def _processor() -> Any:
    from saxonche import PySaxonProcessor  # type: ignore[import-not-found, unused-ignore]

    made = PySaxonProcessor(license=False)
    for name, value in _SETTINGS.items():
        made.set_configuration_property(name, value)
    return made


@lru_cache(maxsize=64)
def _compiled(stylesheet: Stylesheet) -> Any:
    from saxonche import PySaxonApiError  # type: ignore[import-not-found, unused-ignore]

    root = stylesheet.tree()
    for element in _added(stylesheet.functions):
        root.append(element)
    text = etree.tostring(root, encoding="unicode")
    try:
        made = _processor().new_xslt30_processor().compile_stylesheet(stylesheet_text=text)
    except PySaxonApiError as error:
        raise _not_compiled(str(error), stylesheet) from None
    made.set_save_xsl_message(True)
    made.set_property("!method", "xml")
    made.set_property("!omit-xml-declaration", "yes")
    made.set_property("!indent", "no")
    return made


def _first_message(told: str) -> str:
    """What the processor says of the first error; it breaks long messages into lines, often in front of the name.

    >>> _first_message(" Error in {f(room)} on line 2:\\n  XPST0017  Cannot find a function named\\n  Q{http://a}f().\\n")
    'Cannot find a function named f(), in `f(room)`'
    """
    parts = re.split(r"^\s*Error", told, flags=re.MULTILINE)
    head, _, said = next((part for part in parts if part.strip()), told).partition("\n")
    message = " ".join(said.split()) or " ".join(told.split())
    message = re.sub(r"^[A-Z]{4}\d{4}\s+", "", message).replace(" External function calls have been disabled", "")
    message = re.sub(r"(?<!\.)\.$", "", re.sub(r"Q\{[^}]*\}", "", message))
    within = re.match(r" in \{(.{1,200})\}", head)
    return f"{message}, in `{within[1]}`" if within else message


def _not_compiled(told: str, stylesheet: Stylesheet) -> Misuse:
    line = re.search(r"on line (\d+)", told)
    message = _first_message(told)
    known = ", ".join(sorted(one.name for one in stylesheet.functions)) or "none"
    hint = f"extension functions: {known}" if "function" in message else None
    place = Place(stylesheet.file, int(line[1]) if line else None)
    return Misuse(message, code="bad-stylesheet", place=place, hint=hint)


def _round(executable: Any, node: Any, answers: dict[str, Any]) -> tuple[str, set[str]]:
    """The result of one run, and the calls that it could not answer."""
    from saxonche import PySaxonApiError  # type: ignore[import-not-found, unused-ignore]

    executable.clear_xsl_messages()
    executable.set_parameter(f"{{{_RUN_URI}}}answers", _processor().make_map2(answers))
    executable.set_initial_template_parameters(False, {f"{{{_RUN_URI}}}event": node})
    try:
        text = executable.call_template_returning_string(f"{{{_RUN_URI}}}run")
    except PySaxonApiError as error:
        text = f'<failed xmlns="{_RUN_URI}">{_escaped(str(error).strip())}</failed>'
    told = executable.get_xsl_messages()
    messages = [told.item_at(index).string_value for index in range(told.size)] if told is not None else []
    return text or "", {one.removeprefix(_ASKED) for one in messages if one.startswith(_ASKED)}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _result(text: str, file: str | None) -> str:
    if not text.startswith("<run:failed ") and not text.startswith("<failed "):
        return text
    root = parse_xml(text, file)
    code = root.get("code")
    raise _failed(f"{code}: {root.text}" if code else root.text or "", file)


def _failed(message: str, file: str | None) -> Misuse:
    return Misuse(message, code="stylesheet-failed", place=Place(file) if file else None)


_ANSWERS = f"""
<xsl:param name="run:answers" select="map {{}}" version="3.0" xmlns:xsl="{XSL}" xmlns:run="{_RUN_URI}"/>
"""
_RUN = f"""
<xsl:template name="run:run" version="3.0" xmlns:xsl="{XSL}" xmlns:run="{_RUN_URI}"
              xmlns:err="http://www.w3.org/2005/xqt-errors" exclude-result-prefixes="#all">
  <xsl:param name="run:event"/>
  <xsl:try rollback-output="yes">
    <xsl:apply-templates select="$run:event"/>
    <xsl:catch>
      <run:failed code="{{local-name-from-QName($err:code)}}"><xsl:value-of select="$err:description"/></run:failed>
    </xsl:catch>
  </xsl:try>
</xsl:template>
"""
_FUNCTION = """
<xsl:function name="extend:{name}" version="3.0" xmlns:xsl="{xsl}" xmlns:extend="{extend}" xmlns:run="{run}"
              xmlns:map="http://www.w3.org/2005/xpath-functions/map" xmlns:xs="http://www.w3.org/2001/XMLSchema">
  {parameters}
  <xsl:variable name="question" select="serialize([{members}], map {{ 'method': 'json' }})"/>
  <xsl:choose>
    <xsl:when test="map:contains($run:answers, $question)">
      <xsl:sequence select="$run:answers($question) ! xs:untypedAtomic(.)"/>
    </xsl:when>
    <xsl:otherwise><xsl:message select="'{asked}' || $question"/></xsl:otherwise>
  </xsl:choose>
</xsl:function>
"""


def _added(functions: tuple[ExtensionFunction, ...]) -> Iterator[Any]:
    """What a stylesheet needs beside itself to be run."""
    yield etree.fromstring(_ANSWERS)
    yield etree.fromstring(_RUN)
    for function in functions:
        names = [f"a{number}" for number, _ in enumerate(function.takes)]
        text = _FUNCTION.format(
            name=function.name,
            parameters="".join(f'<xsl:param name="{name}"/>' for name in names),
            members=", ".join([f"'{function.name}'", *(f"${name}[1] ! string(.)" for name in names)]),
            asked=_ASKED,
            xsl=XSL,
            extend=FUNCTIONS_URI,
            run=_RUN_URI,
        )
        yield etree.fromstring(text)
