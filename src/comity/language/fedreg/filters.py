"""Filter expressions: predicates on one attribute, whose left side is left out.

From tight to loose: `< > <= >=` (and `~ !~`, functions, parentheses), `= !=`, `&&`, `||`. An `=` between two predicates
compares their truth; so `< 18 != > 9` is an exclusive or. A value alone is equal to it, and values in a row, `'111'
='222'`, are alternatives.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from comity.errors import Misuse
from comity.event.kinds import Kind
from comity.event.types import AttributeType
from comity.expression.parse import error_at
from comity.expression.regex.parse import parse_regex
from comity.expression.tree import (
    TRUE,
    Attribute,
    Call,
    Compare,
    Expression,
    Literal,
    Not,
    TextTest,
    conjunction,
    disjunction,
)
from comity.language.fedreg.values import comparison
from comity.limits import limits

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")|(?P<mark>&&|\|\||<=|>=|==|!=|!~|[<>=~(),])"
    r"|(?P<bare>[^\s'\"<>=!~&|(),]+))"
)
MOST_LEVELS = 50
"""Parentheses within each other: each takes some of the stack of Python."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_RELATIONS = ("<", ">", "<=", ">=")


@dataclass(frozen=True, slots=True)
class _Token:
    group: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class _Predicate:
    node: Expression
    is_value: bool = False
    """Whether it is a value that the attribute equals, so that more of them may follow."""


def parse_filter(text: str, attribute: Attribute, declared: AttributeType | None) -> Expression:
    """The filter on an attribute; errors point into the text.

    >>> from comity.expression.render import render
    >>> render(parse_filter("='111' ||='222'", Attribute(("room",)), None))
    "room = '111' or room = '222'"
    """
    bound = limits().max_filter_chars
    if len(text) > bound:
        raise Misuse(f"the filter has more than {bound:,} characters", code="expression-too-long")
    parser = _Parser(text, _tokens(text), attribute, declared)
    found = parser.disjunction(0)
    if parser.at < len(parser.tokens):
        raise parser.error("this does not fit here")
    return found


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            closed = "this text has no closing quote" if text[at] in "'\"" else f"{text[at]!r} does not fit here"
            raise error_at(text, at, Misuse(closed, code="syntax"))
        tokens.append(_Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup)))
        at = found.end()
    return tokens


@dataclass(slots=True)
class _Parser:
    text: str
    tokens: list[_Token]
    attribute: Attribute
    declared: AttributeType | None
    at: int = 0

    def error(self, message: str, hint: str | None = None, at: int | None = None) -> Misuse:
        place = self.tokens[self.at].at if self.at < len(self.tokens) else len(self.text.rstrip())
        return error_at(self.text, place if at is None else at, Misuse(message, code="syntax", hint=hint))

    def mark(self) -> str:
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        return token.text.replace("==", "=") if token and token.group == "mark" else ""

    def disjunction(self, depth: int) -> Expression:
        if depth > MOST_LEVELS:
            raise self.error(f"the filter is nested more than {MOST_LEVELS} levels deep")
        items = [self.conjunction(depth)]
        while self.mark() == "||":
            self.at += 1
            items.append(self.conjunction(depth))
        return disjunction(items)

    def conjunction(self, depth: int) -> Expression:
        items = [self.equality(depth)]
        while self.mark() == "&&":
            self.at += 1
            items.append(self.equality(depth))
        return conjunction(items)

    def equality(self, depth: int) -> Expression:
        found: _Predicate | None = None
        while self.at < len(self.tokens) and self.mark() not in ("&&", "||", ")", ","):
            found = self.next_predicate(found, depth)
        if found is None:
            raise self.error("a predicate is missing", "write < 5, = 'text', ~ 'pattern', or a function")
        return found.node

    def next_predicate(self, left: _Predicate | None, depth: int) -> _Predicate:
        """What stands before, together with the predicate that follows."""
        begin = self.tokens[self.at].at
        symbol = self.mark()
        if symbol not in ("=", "!="):
            return self.beside(left, self.relational(depth), begin)
        self.at += 1
        if left is not None and not left.is_value and self.compares_truth():
            right = self.truth() if self.is_truth_value() else self.relational(depth).node
            same = disjunction([conjunction([left.node, right]), conjunction([Not(left.node), Not(right)])])
            return _Predicate(same if symbol == "=" else Not(same))
        return self.beside(left, _Predicate(self.compared(symbol), symbol == "="), begin)

    def beside(self, left: _Predicate | None, right: _Predicate, begin: int) -> _Predicate:
        if left is None:
            return right
        if left.is_value and right.is_value:
            return _Predicate(disjunction([left.node, right.node]), True)
        raise self.error("an operator is missing", "write && or || between predicates", at=begin)

    def compares_truth(self) -> bool:
        return self.mark() in (*_RELATIONS, "~", "!~", "(") or self.is_call() or self.is_truth_value()

    def is_truth_value(self) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at].text in ("true", "false")

    def truth(self) -> Expression:
        self.at += 1
        return Literal(self.tokens[self.at - 1].text == "true")

    def relational(self, depth: int) -> _Predicate:
        symbol = self.mark()
        if symbol in _RELATIONS:
            self.at += 1
            return _Predicate(self.compared(symbol))
        if symbol in ("~", "!~"):
            self.at += 1
            return _Predicate(self.matched(symbol == "!~"))
        if symbol == "(":
            self.at += 1
            inner = self.disjunction(depth + 1)
            self.close()
            return _Predicate(inner)
        if self.is_call():
            return _Predicate(self.call())
        return _Predicate(self.compared("="), True)

    def close(self) -> None:
        if self.mark() != ")":
            raise self.error("a parenthesis is not closed")
        self.at += 1

    def value(self) -> tuple[str, bool, int]:
        """The text of a value, whether it is in quotes, and where it stands; words in a row are one value."""
        if self.at >= len(self.tokens) or self.tokens[self.at].group == "mark":
            raise self.error("a value is missing")
        first = self.tokens[self.at]
        self.at += 1
        if first.group == "text":
            return first.text[1:-1].replace(first.text[0] * 2, first.text[0]), True, first.at
        words = [first.text]
        while self.at < len(self.tokens) and self.tokens[self.at].group == "bare" and not self.is_call():
            words.append(self.tokens[self.at].text)
            self.at += 1
        return " ".join(words), False, first.at

    def compared(self, symbol: str) -> Expression:
        text, quoted, at = self.value()
        try:
            return comparison(self.attribute, self.declared, symbol, text, quoted)
        except Misuse as error:
            raise error_at(self.text, at, error) from None

    def matched(self, negated: bool) -> Expression:
        text, _, at = self.value()
        try:
            parse_regex(text)
            self.check_is_text()
        except Misuse as error:
            raise error_at(self.text, at, error) from None
        return TextTest("matches", self.attribute, text, negated)

    def check_is_text(self) -> None:
        if self.declared is not None and self.declared.kind is not Kind.STRING:
            message = f"regular expressions are for texts, and {self.attribute.name} is of kind {self.declared.kind}"
            raise Misuse(message, code="wrong-kind", hint="compare it with < > = instead")

    def is_call(self) -> bool:
        if self.at + 1 >= len(self.tokens):
            return False
        name, after = self.tokens[self.at : self.at + 2]
        return name.group == "bare" and after.text == "(" and bool(_NAME.fullmatch(name.text))

    def call(self) -> Expression:
        """A function of the attribute and of more values, which says yes or no."""
        name = self.tokens[self.at].text
        self.at += 2
        arguments: list[Expression] = [self.attribute]
        while self.mark() != ")":
            text, quoted, _ = self.value()
            made = comparison(self.attribute, None, "<", text, quoted)
            assert isinstance(made, Compare)
            arguments.append(made.right)
            if self.mark() == ",":
                self.at += 1
            elif self.mark() != ")":
                raise self.error("a parenthesis is not closed")
        self.close()
        return Compare("=", Call(name, tuple(arguments)), TRUE)
