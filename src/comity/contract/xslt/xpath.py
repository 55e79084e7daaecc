"""Bound expressions as XPath 3.1: the empty sequence is a missing value.

Ints are xs:integer, floats xs:double, timestamps xs:dateTime in UTC, durations xs:dayTimeDuration, bytes
xs:base64Binary, points arrays of two doubles. What is more than an operator of XPath is a function of `library.xsl`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from comity.contract.xslt.literals import xpath_literal, xpath_text
from comity.contract.xslt.patterns import to_xpath_regex
from comity.errors import Misuse
from comity.event.kinds import NUMBERS, Kind, comparable, kind_of
from comity.event.schemas.names import identifier
from comity.event.types import ENVELOPE_NAME, EventType
from comity.expression.evaluate import compare
from comity.expression.functions import FUNCTIONS, Arguments, NoCounterpartError, XPathCall
from comity.expression.kinds import Kinds, kinds_of
from comity.expression.like import like_to_regex
from comity.expression.regex.parse import parse_regex
from comity.expression.render import render
from comity.expression.tree import (
    And,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Compare,
    Conditional,
    Exists,
    Expression,
    Extension,
    In,
    IsType,
    Literal,
    Lookup,
    Negative,
    Not,
    Or,
    TextTest,
)

_READ: Mapping[Kind, str] = {
    Kind.BOOL: "xs:boolean(.)",
    Kind.INT: "xs:integer(.)",
    Kind.FLOAT: "xs:double(.)",
    Kind.STRING: "string()",
    Kind.TIMESTAMP: "c:time(.)",
    Kind.DURATION: "xs:dayTimeDuration(.)",
    Kind.BYTES: "xs:base64Binary(.)",
    Kind.POINT: "c:point(x, y)",
}
_TEXT_TESTS = {"starts with": "starts-with", "ends with": "ends-with", "contains": "contains"}


def refused(node: Expression, reason: str) -> Misuse:
    """The error of an expression that XSLT cannot compute as it is meant."""
    hint = "write this attribute of the mapping without it, or leave the mapping to Comity"
    return Misuse(f"{render(node)} cannot be printed as XSLT: {reason}", code="not-in-xslt", hint=hint)


@dataclass(slots=True)
class XPath:
    """Prints expressions over one type; gathers the tables and the extension functions that they use."""

    type: EventType
    tables: dict[str, Lookup] = field(default_factory=dict)
    """By the name of the variable that holds them."""
    extensions: set[str] = field(default_factory=set)

    def value(self, node: Expression) -> str:
        """An expression that gives the value, or the empty sequence."""
        kinds = self.kinds(node)
        match node:
            case Literal(value):
                return xpath_literal(value, node)
            case Attribute(path):
                return self._attribute(path)
            case Arithmetic():
                return self._arithmetic(node)
            case Negative(operand):
                negated = "c:span(xs:dayTimeDuration('PT0S') - {})" if Kind.DURATION in kinds else "c:number(-({}))"
                return negated.format(self.value(operand))
            case Conditional(condition, then, otherwise):
                return f"(if ({self.truth(condition)}) then {self.value(then)} else {self.value(otherwise)})"
            case Lookup():
                return self._lookup(node)
            case Extension():
                return self._extension(node)
            case Call():
                return self._call(node)
        return f"({self.truth(node)})"

    def truth(self, node: Expression) -> str:
        """An expression that is true or false."""
        match node:
            case And(items):
                return " and ".join(f"({self.truth(item)})" for item in items)
            case Or(items):
                return " or ".join(f"({self.truth(item)})" for item in items)
            case Not(item):
                return f"not({self.truth(item)})"
            case Exists(Attribute(path)):
                return f"exists({self._path(path)})"
            case IsType(_, names):
                return f"{self._type()} = ({', '.join(map(xpath_text, names))})"
            case Compare():
                return self._compare(node)
            case Between(operand, low, high, negated):
                first, second, third = self._met(node, operand, low, high)
                return f"{'c:outside' if negated else 'c:between'}({first}, {second}, {third})"
            case In():
                return self._in(node)
            case TextTest():
                return self._text_test(node)
            case Literal(bool(value)):
                return f"{str(value).lower()}()"
        raise refused(node, "it is not a condition")

    def kinds(self, node: Expression) -> Kinds:
        """The kinds of the values; those that XPath could not tell apart as we do are refused."""
        found = kinds_of(node, self._declared)
        if len(found) > 1 and not found <= NUMBERS:
            raise refused(node, f"its values are of several kinds ({', '.join(sorted(found))})")
        return found

    def _declared(self, path: tuple[str, ...]) -> Kinds:
        declared = self.type.attribute_at(path)
        return frozenset({declared.kind} if declared else ())

    def _attribute(self, path: tuple[str, ...]) -> str:
        kind = next(iter(self.kinds(Attribute(path))), None)
        if kind is None:
            raise refused(Attribute(path), f"{self.type.name} has no such attribute, only a subtype has")
        if path == (ENVELOPE_NAME, "type"):
            return self._type()
        if kind is Kind.STRUCT or kind is Kind.LIST:
            return self._path(path)
        return f"{self._path(path)}/{_READ[kind]}"

    def _path(self, path: tuple[str, ...]) -> str:
        if path[0] == ENVELOPE_NAME:
            return f"@{path[1]}"
        return "/".join(map(identifier, path))

    def _type(self) -> str:
        namespace = f"{self.type.namespace}." if self.type.namespace else ""
        return f"({xpath_text(namespace)} || local-name())"

    def _arithmetic(self, node: Arithmetic) -> str:
        left, right = self.kinds(node.left), self.kinds(node.right)
        if Kind.STRING in left and Kind.STRING in right:
            return f"c:join([{', '.join(self._joined(node))}])"
        if not left or not right or not self.kinds(node):
            return "()"
        one, other = self.value(node.left), self.value(node.right)
        if left <= NUMBERS and right <= NUMBERS:
            named = {"/": "c:divide", "%": "c:remainder"}.get(node.operator)
            return f"{named}({one}, {other})" if named else f"c:number({one} {node.operator} {other})"
        return self._time_arithmetic(node.operator, left, right, one, other)

    def _time_arithmetic(self, symbol: str, left: Kinds, right: Kinds, one: str, other: str) -> str:
        match symbol, next(iter(left)), next(iter(right)):
            case "-", Kind.TIMESTAMP, Kind.TIMESTAMP:
                return f"({one} - {other})"
            case "+" | "-", Kind.DURATION, Kind.DURATION:
                return f"c:span({one} {symbol} {other})"
            case "+" | "-", _, _:
                return f"c:moment({one} {symbol} {other})"
            case "/", Kind.DURATION, Kind.DURATION:
                return f"c:divide(c:microseconds({one}), c:microseconds({other}))"
            case "/", _, _:
                return f"c:span-of(c:divide(c:microseconds({one}), {other}))"
            case _, Kind.DURATION, _:
                return f"c:span-of(c:number(c:microseconds({one}) * {other}))"
        return f"c:span-of(c:number({one} * c:microseconds({other})))"

    def _joined(self, node: Expression) -> list[str]:
        """The parts of a concatenation, in their order."""
        if isinstance(node, Arithmetic) and node.operator == "+":
            return [*self._joined(node.left), *self._joined(node.right)]
        return [self.value(node)]

    def _lookup(self, node: Lookup) -> str:
        keys = self.kinds(node.key)
        if Kind.POINT in keys or keys & {Kind.STRUCT, Kind.LIST}:
            raise refused(node, "a table cannot be looked up by this kind of key")
        rows: list[tuple[object, object]] = []
        for known, value in node.rows:
            fits = any(comparable(kind_of(known), kind) for kind in keys)
            if fits and not any(compare("=", known, earlier) for earlier, _ in rows):
                rows.append((known, value))
        table = Lookup(node.table, node.key, tuple(rows))
        name = next((name for name, other in self.tables.items() if other.rows == table.rows), None)
        if name is None:
            name = f"table-{len(self.tables) + 1}"
            self.tables[name] = table
        return f"({self.value(node.key)} ! ${name}(.))"

    def _call(self, node: Call) -> str:
        texts = tuple(map(self.value, node.arguments))
        if node.function == "coalesce":
            return f"({', '.join(texts)})[1]"
        form = FUNCTIONS[node.function].xpath
        if form is None:
            raise refused(node, "the function has no counterpart")
        if isinstance(form, str):
            return form.format(*texts)
        try:
            return form(XPathCall(texts, self._arguments(node), xpath_text))
        except NoCounterpartError as error:
            raise refused(node, str(error)) from None

    def _arguments(self, node: Call) -> Arguments:
        constants = (argument.value if isinstance(argument, Literal) else None for argument in node.arguments)
        return Arguments(tuple(map(self.kinds, node.arguments)), tuple(constants))

    def _extension(self, node: Extension) -> str:
        """A call with texts as they stand in events, which gives such a text."""
        if node.function.gives in (Kind.STRUCT, Kind.LIST, Kind.POINT):
            raise refused(node, f"the function gives a {node.function.gives}, which is no text")
        self.extensions.add(node.name)
        arguments = [self._argument(argument) for argument in node.arguments]
        if any(self.kinds(argument) & {Kind.STRUCT, Kind.LIST, Kind.POINT} for argument in node.arguments):
            raise refused(node, "an argument is no text")
        return f"(extend:{node.name}({', '.join(arguments)}) ! {_READ[node.function.gives]})"

    def _argument(self, node: Expression) -> str:
        text = "c:float-text({})" if Kind.FLOAT in self.kinds(node) else "({} ! string(.))"
        return text.format(self.value(node))

    def _compare(self, node: Compare) -> str:
        kinds = self.kinds(node.left) | self.kinds(node.right)
        one, other = self._met(node, node.left, node.right)
        if kinds == {Kind.POINT}:
            return f"c:{'same' if node.operator == '=' else 'other'}-point({one}, {other})"
        return f"{one} {node.operator} {other}" if one != "()" and other != "()" else "false()"

    def _met(self, node: Expression, *operands: Expression) -> list[str]:
        """Operands that are compared with each other; none of them ever has a value where the kinds do not fit."""
        kinds = [self.kinds(operand) for operand in operands]
        every = frozenset[Kind]().union(*kinds)
        if every & {Kind.STRUCT, Kind.LIST}:
            raise refused(node, "structs and lists are compared as a whole")
        if Kind.STRING in every and every & {Kind.TIMESTAMP, Kind.DURATION}:
            raise refused(node, "a text is compared with a time")
        if len(every) > 1 and not every <= NUMBERS:
            return ["()" for _ in operands]
        mixed = len(every) > 1
        return [f"c:exact({self.value(operand)})" if mixed else self.value(operand) for operand in operands]

    def _in(self, node: In) -> str:
        kinds = self.kinds(node.operand)
        items = [
            item for item in node.items if any(comparable(one, kind) for one in self.kinds(item) for kind in kinds)
        ]
        if not items:
            return "false()"
        if Kind.POINT in kinds:
            raise refused(node, "points are compared with a list")
        operand, *written = self._met(node, node.operand, *items)
        listed = f"({', '.join(written)})"
        return f"c:none-of({operand}, {listed})" if node.negated else f"{operand} = {listed}"

    def _text_test(self, node: TextTest) -> str:
        kinds = self.kinds(node.operand)
        if Kind.LIST in kinds:
            raise refused(node, "it looks into a list")
        if kinds != {Kind.STRING}:
            return "false()"
        wanted = str(not node.negated).lower()
        return f"({self.value(node.operand)} ! {self._test(node)}) = {wanted}()"

    def _test(self, node: TextTest) -> str:
        if node.operator in _TEXT_TESTS:
            return f"{_TEXT_TESTS[node.operator]}(., {xpath_text(node.text, node)})"
        regex = like_to_regex(node.text) if node.operator == "like" else parse_regex(node.text)
        return f"matches(., {xpath_text(to_xpath_regex(regex))})"
